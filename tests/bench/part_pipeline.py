# SPDX-License-Identifier: Apache-2.0
"""From samples to a flame graph: jbpfd and jbpf-dump against perf, its collapse, flamegraph.pl. Both see only the
load, so that what else runs on the host does not blur the figure."""
import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass

from jvms import JAVA, compile_java
from machine import JBPF
from part_compare import BUSY
from part_curves import jvms, processes
from part_walk import PERL
from programs import Jbpfd, Perf
from spawn import run_cpu

FLAMEGRAPHS = ("flamegraph.pl", "/usr/share/perl5/Devel/NYTProf/flamegraph.pl")  # libdevel-nytprof-perl


def flamegraph():
    return next((found for found in map(shutil.which, FLAMEGRAPHS) if found), None) or \
        (FLAMEGRAPHS[1] if os.path.exists(FLAMEGRAPHS[1]) else None)


def collapse(data, text):
    """CPU of making folded text of perf.data, and what was used. stackcollapse-perf.pl is in no Debian package;
    without it perf's own script, which is, does both steps in one process."""
    perl = os.environ.get("STACKCOLLAPSE") or shutil.which("stackcollapse-perf.pl")
    with open(text, "wb") as out:
        if not perl:
            return run_cpu(["perf", "script", "report", "stackcollapse", "-i", data], stdout=out,
                           stderr=subprocess.DEVNULL), "perf script report stackcollapse"
        with tempfile.TemporaryFile() as script:
            cpu = run_cpu(["perf", "script", "-i", data], stdout=script, stderr=subprocess.DEVNULL)
            script.seek(0)
            return cpu + run_cpu(["perl", perl], stdin=script, stdout=out), "perf script | stackcollapse-perf.pl"


def picture(text):
    """CPU of flamegraph.pl on folded text; None where it is not installed."""
    if not flamegraph():
        return None
    with open(text, "rb") as file:
        return run_cpu(["perl", flamegraph(), "--color=java"], stdin=file, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)


def java(bench, name, *arguments):
    classes = compile_java(bench.work, name.lower(), [os.path.join(JAVA, f"{name}.java")], release=11)
    return processes([["java", "-XX:+PreserveFramePointer", "-cp", classes, name, *arguments]])


def loads(bench):
    """Name -> the pid of a process that lives as long as it is needed, in a list."""
    first = {"a JVM, 2 busy threads": jvms(bench, **BUSY)}
    return first if bench.quick else {
        **first,
        "the same, 512 frames": jvms(bench, depth=512, **BUSY),
        "an HTTP service": java(bench, "Service"),
        "a compiler": java(bench, "Compile", bench.work),
        "perl": processes([["perl", "-e", PERL]]),
    }


@dataclass
class Both:
    """Seconds of CPU."""
    named: float
    dumped: float
    recorded: float  # by perf
    folded: float
    how: str
    drawn: float
    samples: int  # perf's

    def ours(self):
        return self.named + max(self.dumped, 0.001)

    def theirs(self):
        return self.folded + self.drawn


def record_both(bench, pids, seconds):
    """jbpfd and perf record in the same time, and what makes pictures of what they leave."""
    with Jbpfd(bench.work, 99, pids=pids, window_s=bench.seconds) as daemon:
        time.sleep(daemon.warm_s + bench.seconds)  # names of the warm-up are known
        with Perf(bench.work, 99, pids=pids) as perf:
            time.sleep(0.5)
            before, begin, perf_before = daemon.cpu_seconds(), time.time(), perf.cpu_seconds()
            time.sleep(seconds)
            named = daemon.cpu_seconds() - before
            perf.stop()
            recorded = perf.cpu_seconds() - perf_before
            daemon.stop()
            since = ["--store", daemon.out, "--since", f"@{begin:.3f}"]
            dumped = run_cpu([JBPF, "dump", *since, "-o", os.path.join(bench.work, "ours.html")])
            text = os.path.join(bench.work, "perf.folded")
            folded, how = collapse(perf.out, text)
            return Both(named, dumped, recorded, folded, how, picture(text) or 0, perf.samples())


def pipeline(report, bench):
    """CPU from samples to a flame graph, five loads (--quick: one), 99 Hz, each sampled alone, by both at once."""
    if not flamegraph():
        report.missing("flamegraph.pl", "not installed: libdevel-nytprof-perl has it")
    for name, load in loads(bench).items():
        report.at(name)
        with load as pids:
            both = record_both(bench, pids, bench.seconds * (2 if not bench.tiny else 1))
        report.row("jbpfd, naming and writing", both.named * 1000, "ms", note=f"perf has {both.samples} samples of that time")
        report.row("jbpf-dump, html", both.dumped * 1000, "ms")
        report.row("perf record", both.recorded * 1000, "ms")
        report.row(both.how, both.folded * 1000, "ms")
        if flamegraph():
            report.row("flamegraph.pl", both.drawn * 1000, "ms")
        report.row("peer / jbpf-dump: from what is on disk to the picture", both.theirs() / max(both.dumped, 0.001), "x")
        report.row("peer, recording too / (all of jbpfd + jbpf-dump)", (both.recorded + both.theirs()) / both.ours(), "x")
        ratio = both.theirs() / both.ours()
        report.row("peer / (all of jbpfd + jbpf-dump)", ratio, "x", ">= 50", ratio >= 50, note="perf record's own CPU left out")
