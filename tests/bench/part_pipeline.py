# SPDX-License-Identifier: Apache-2.0
"""From samples to a flame graph: jbpfd and jbpf-dump against perf, its collapse, flamegraph.pl. Both see only the
load, so that what else runs on the host does not blur the figure."""
import os
import shutil
import statistics
import subprocess
import tempfile
import time

from jvms import Jvms
from machine import JBPF
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


def record_ours(bench, pid, seconds):
    """CPU seconds per turn: of jbpfd while it samples and names, of jbpf-dump for a page and for a picture."""
    with Jbpfd(bench.work, 99, pids=[pid], window_s=bench.seconds) as daemon:
        time.sleep(daemon.warm_s + bench.seconds)  # names of the warm-up are known
        before, begin = daemon.cpu_seconds(), time.time()
        time.sleep(seconds)
        named = daemon.cpu_seconds() - before
        daemon.stop()
        since = ["--store", daemon.out, "--since", f"@{begin:.3f}"]
        made = {kind: run_cpu([JBPF, "dump", *since, "--format", kind, "-o", os.path.join(bench.work, f"ours.{kind}")])
                for kind in ("html", "svg", "folded")}
    return named, made


def record_perf(bench, pid, seconds):
    with Perf(bench.work, 99, pids=[pid]) as perf:
        time.sleep(0.5)
        before = perf.cpu_seconds()
        time.sleep(seconds)
        perf.stop()
        recorded = perf.cpu_seconds() - before
        text = os.path.join(bench.work, "perf.folded")
        folded, how = collapse(perf.out, text)
        script = run_cpu(["perf", "script", "-i", perf.out], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return recorded, script, folded, picture(text), how


def pipeline(report, bench):
    """CPU from samples to a flame graph, 1 JVM, 2 busy threads, 99 Hz, only that JVM."""
    seconds = bench.seconds * (2 if not bench.tiny else 1)
    ours, peers = [], []
    with Jvms(bench.work, 1, 2, 100, seed=bench.seed) as jvms:
        jvms.wait_busy(bench.settle)
        for _ in range(2 if bench.full else 1):
            ours.append(record_ours(bench, jvms.pids()[0], seconds))
            peers.append(record_perf(bench, jvms.pids()[0], seconds))
    how = peers[0][4]
    report.row(f"jbpf-dump, {seconds} s of samples, html", [made["html"] * 1000 for _, made in ours], "ms")
    report.row("  svg", [made["svg"] * 1000 for _, made in ours], "ms")
    report.row("  folded", [made["folded"] * 1000 for _, made in ours], "ms")
    report.row("jbpfd in that time, naming and writing", [named * 1000 for named, _ in ours], "ms")
    report.row("perf record in that time", [peer[0] * 1000 for peer in peers], "ms")
    report.row("perf script alone", [peer[1] * 1000 for peer in peers], "ms")
    report.row(f"{how}", [peer[2] * 1000 for peer in peers], "ms")
    if peers[0][3] is None:
        report.missing("flamegraph.pl", "not installed: libdevel-nytprof-perl has it")
    else:
        report.row("flamegraph.pl", [peer[3] * 1000 for peer in peers], "ms")
    from_disk = [(p[2] + (p[3] or 0)) / max(made["html"], 0.001) for (_, made), p in zip(ours, peers)]
    strict = [(p[2] + (p[3] or 0)) / (named + max(made["html"], 0.001)) for (named, made), p in zip(ours, peers)]
    whole = [(p[0] + p[2] + (p[3] or 0)) / (named + max(made["html"], 0.001)) for (named, made), p in zip(ours, peers)]
    report.row("peer / jbpf-dump: from what is on disk to the picture", from_disk, "x")
    report.row("peer, recording too / (all of jbpfd + jbpf-dump)", whole, "x")
    report.row("peer / (all of jbpfd + jbpf-dump)", strict, "x", ">= 50", statistics.median(strict) >= 50,
               note="perf record's own CPU left out")
