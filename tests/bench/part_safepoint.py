# SPDX-License-Identifier: Apache-2.0
"""Does being read delay a JVM? The time until all its threads stand at a safepoint, while its code cache is read
without pause and, in turn, while another JVM's is: the reader's CPU is in both."""
import os
import re
import signal
import subprocess
import time

from jvms import compile_java
from machine import BUILD, ROOT

HOTSPOT_DUMP = os.path.join(BUILD, "tests", "tools", "hotspot_dump")
REACHED = re.compile(r"Reaching safepoint: (\d+) ns")


class Safepoints:
    """A JVM that stops its threads often, for its collector, and logs how long that took."""

    def __init__(self, work, name):
        classes = compile_java(work, "safepoint", [os.path.join(ROOT, "tests/e2e/java/Mixed.java")])
        self.log = os.path.join(work, f"{name}.log")
        self.process = subprocess.Popen(
            ["java", "-XX:+PreserveFramePointer", "-XX:+UseSerialGC", "-Xmx64m", "-Xmn2m",
             f"-Xlog:safepoint:file={self.log}", "-cp", classes, "Mixed", "3600", "25"], stdout=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def reached(self, begin):
        """Nanoseconds until all threads stood, from this position of the log on; and its end."""
        with open(self.log, encoding="utf-8") as file:
            file.seek(begin)
            text = file.read()
            return [int(ns) for ns in REACHED.findall(text)], file.tell()


def read_for(seconds, pid):
    """The whole code cache of a JVM read again and again; how often."""
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        subprocess.run([HOTSPOT_DUMP, str(pid)], stdout=subprocess.DEVNULL, check=True)
        count += 1
    return count


def safepoint(report, bench):
    """Time to safepoint of a JVM that is read without pause, against one that is not."""
    times, readings = {True: [], False: []}, 0
    with Safepoints(bench.work, "target") as target, Safepoints(bench.work, "other") as other:
        time.sleep(bench.settle * 2)  # most of the compilation is over
        os.kill(other.process.pid, signal.SIGSTOP)
        for round_ in range(2 * max(bench.rounds, 3)):
            is_read = round_ % 2 == 1
            position = target.reached(0)[1]
            count = read_for(bench.seconds / 2, (target if is_read else other).process.pid)
            readings += count if is_read else 0
            times[is_read] += target.reached(position)[0]
        os.kill(other.process.pid, signal.SIGCONT)
    report.row("safepoints seen, code cache not read / read", f"{len(times[False])}/{len(times[True])}", "")
    report.row("times the whole code cache was read meanwhile", readings, "")
    if not times[False] or not times[True]:
        report.missing("time to safepoint", "the JVM made no safepoint in that time")
        return
    for name, rank, bound in (("median", 0.5, 1.2), ("99th percentile", 0.99, 2.0), ("worst", 1.0, None)):
        alone, while_read = (sorted(times[key])[min(int(rank * len(times[key])), len(times[key]) - 1)]
                             for key in (False, True))
        report.row(f"time to safepoint, {name}: not read", alone / 1000, "us")
        report.row(f"time to safepoint, {name}: read without pause", while_read / 1000, "us")
        if bound:
            report.row(f"  ratio of the {name}s", while_read / alone, "x", f"<= {bound}", while_read <= bound * alone)
