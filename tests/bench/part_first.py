# SPDX-License-Identifier: Apache-2.0
"""The first window of a JVM: it starts on a host that is busy, and compiles all that it runs."""
import json
import os
import subprocess
import time

from jvms import JAVA, compile_java
from machine import JBPF
from part_curves import processes
from part_walk import PERL
from programs import Jbpfd
from spawn import NotMeasured

SPINNERS = 2  # busy programs for each CPU
STORED_S = 20
LATE_S = 0.5  # by which jbpfd may end a window late on a host that is busy


def stream_of(daemon, pid):
    """What is stored of a process; None: nothing yet."""
    listed = subprocess.run([JBPF, "dump", "--store", daemon.out, "--list", "--format", "json", "--since", "1h", "--pid", str(pid)],
                            capture_output=True, text=True, check=False).stdout
    streams = json.loads(listed)["streams"] if listed else []
    return streams[0] if streams else None


def first_window(report, daemon, command):
    """The JVM is started when a window has begun."""
    time.sleep(daemon.window_s - time.time() % daemon.window_s + LATE_S)
    cpu = daemon.cpu_seconds()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + daemon.window_s + STORED_S
        while not (stream := stream_of(daemon, process.pid)):
            if time.monotonic() > end:
                raise NotMeasured("its first window was not stored")
            time.sleep(0.1)
        cpu = daemon.cpu_seconds() - cpu
    finally:
        process.kill()
        process.wait()
    report.row("samples of it", stream["samples"], "")
    report.row("frames without a name", stream["unknown_frames"] / stream["frames"] * 100, "%", note="its native ones, too")
    report.row("compiled frames without a name", stream["unknown_jit_frames"] / max(stream["jit_frames"], 1) * 100, "%")
    report.row("stacks that are cut", stream["truncated_samples"] / stream["samples"] * 100, "%")
    report.row("CPU of jbpfd's processes from its start until it is stored", cpu * 1000, "ms", note="what else runs is counted, too")


def first(report, bench):
    """A JVM that starts on a host that is busy: what its first window has of names, and costs."""
    out = os.path.join(bench.work, "out")
    os.mkdir(out)
    classes = compile_java(bench.work, "compile", [os.path.join(JAVA, "Compile.java")], release=11)
    spinners = processes([["perl", "-e", PERL]] * SPINNERS * os.cpu_count())
    with spinners, Jbpfd(bench.work, 99, window_s=bench.seconds) as daemon:
        time.sleep(daemon.warm_s)
        for flag in "+-":
            report.at(f"-XX:{flag}PreserveFramePointer, {SPINNERS} busy programs for each CPU")
            first_window(report, daemon, ["java", f"-XX:{flag}PreserveFramePointer", "-cp", classes, "Compile", out])
