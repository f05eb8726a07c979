# SPDX-License-Identifier: Apache-2.0
"""What a sample takes in the kernel where there are no frame pointers: by unwind tables, by a JVM's own description of
its code, and in programs as they are. Time per frame is the difference between two depths."""
import contextlib
import glob
import os
import signal
import statistics
import subprocess
import time

from bpf_stats import BpfStats
from jvms import JAVA, compile_java
from machine import JBPF, tool
from programs import Jbpfd
from spawn import NotMeasured
from turns import measure

SHALLOW, DEEP = 16, 144
SECONDS, WINDOW_S = 4, 2  # of one turn: some 400 samples at 99 Hz
PERL = "sub f { my ($n) = @_; return $n < 1 ? g() : f($n - 1) } " \
       "sub g { my $s = 0; $s += $_ % 7 for 1 .. 9999; $s } f(3) while 1"
STEADY = ("-XX:+UseSerialGC", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Depth.*")


class ByFramePointers(Jbpfd):
    """The walk without tables, which sees two frames: what a sample costs without them."""

    def command(self):
        return [*super().command(), "--unwind", "fp"]


def java(bench, flag, depth):
    classes = compile_java(bench.work, "depth", [os.path.join(JAVA, "Depth.java")])
    return ["java", f"-XX:{flag}PreserveFramePointer", *STEADY, "-cp", classes, "Depth", str(depth)]


def service(bench, flag):
    classes = compile_java(bench.work, "service", [os.path.join(JAVA, "Service.java")], release=11)
    return ["java", f"-XX:{flag}PreserveFramePointer", "-XX:+UseSerialGC", "-cp", classes, "Service"]


class Target:
    """A program on one CPU, so that it stays next to its caches; it runs in its turns only."""

    def __init__(self, bench, command):
        self.process = subprocess.Popen(["taskset", "-c", str(os.cpu_count() - 1), *command], stdout=subprocess.DEVNULL)
        self.pid = self.process.pid
        try:
            time.sleep(bench.settle if command[0] == "java" else 1)
            if self.process.poll() is not None:
                raise NotMeasured(f"{command[0]} ended")
            os.kill(self.pid, signal.SIGSTOP)
        except BaseException:
            self.end()
            raise

    @contextlib.contextmanager
    def running(self):
        os.kill(self.pid, signal.SIGCONT)
        try:
            yield self.pid
        finally:
            os.kill(self.pid, signal.SIGSTOP)

    def end(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def frames_of(program, pid):
    """(mean number of frames of its samples, share that is cut)"""
    text = subprocess.run([JBPF, "dump", "--store", program.out, "--since", "1d", "--pid", str(pid)], check=True,
                          capture_output=True, text=True, errors="replace").stdout
    stacks = [(line.rpartition(" ")[0].split(";"), int(line.rpartition(" ")[2])) for line in text.splitlines()]
    samples = sum(count for _, count in stacks)
    if not samples:
        raise NotMeasured("nothing was sampled")
    return (sum(count * (len(frames) - 1) for frames, count in stacks) / samples,
            sum(count for frames, count in stacks if "[truncated]" in frames) / samples)


def cpu_seconds(pid):
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(path, encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def turn(bench, target, hz, program=Jbpfd):
    """(ns per sample, mean number of frames, share that is cut) of one program. Runs on behalf of others, which are
    not sampled, are on its bill: few on a quiet host, and short."""
    with target.running() as pid:
        begin, cpu = time.monotonic(), cpu_seconds(pid)
        found = measure(program(bench.work, hz, window_s=WINDOW_S, pids=[pid]), SECONDS, 0,
                        lambda ended: {"frames": frames_of(ended, pid)})
        busy = (cpu_seconds(pid) - cpu) / (time.monotonic() - begin)
    frames, cut = found.extra["frames"]
    return found.ns_per_sample * found.sampler_runs / (hz * busy), frames, cut


def per_frame(report, bench, figure, command_of, target):
    """Two depths in turns; their difference by that of the frames that were seen."""
    found = []
    with Target(bench, command_of(SHALLOW)) as flat, Target(bench, command_of(DEEP)) as high:
        for _ in range(bench.less):
            shallow, deep = (turn(bench, one, 999) for one in (flat, high))
            if deep[1] - shallow[1] < (DEEP - SHALLOW) / 2:
                raise NotMeasured(f"{figure}: {shallow[1]:.0f} and {deep[1]:.0f} frames were seen")
            found.append((deep[0] - shallow[0]) / (deep[1] - shallow[1]))
    report.row(figure, found, "ns", f"<= {target}" if target else None,
               0 < statistics.median(found) <= target if target else None)


def sample_rows(report, turns, figure, target=None):
    microseconds = [ns / 1000 for ns, _, _ in turns]
    report.row(figure, microseconds, "us", f"<= {target}" if target else None,
               statistics.median(microseconds) <= target if target else None,
               note=f"{statistics.median(frames for _, frames, _ in turns):.0f} frames, "
                    f"{statistics.median(cut for _, _, cut in turns) * 100:.1f} % cut")


def per_sample(report, bench, what, command, target):
    """With tables and without them in turns: what a sample takes at all is the machine's."""
    walks = {Jbpfd: [], ByFramePointers: []}
    with Target(bench, command) as one:
        for _ in range(bench.less):
            for program, turns in bench.random.sample(sorted(walks.items(), key=lambda walk: walk[0].__name__), len(walks)):
                turns.append(turn(bench, one, 99, program))
    sample_rows(report, walks[Jbpfd], f"a sample of {what}", target)
    sample_rows(report, walks[ByFramePointers], "  the same by frame pointers alone")


def walk(report, bench):
    """In-kernel time by BPF statistics: a frame by its table and by a JVM's rules (999 Hz), programs (99 Hz)."""
    with BpfStats():
        per_frame(report, bench, "a native frame by its table", lambda depth: [tool("bench_frames"), str(depth)], 100)
        per_frame(report, bench, "a compiled Java frame, without the flag", lambda depth: java(bench, "-", depth), 150)
        per_sample(report, bench, "perl", ["perl", "-e", PERL], 6)
        per_sample(report, bench, "a service without the flag", service(bench, "-"), 15)
        if bench.full:
            per_frame(report, bench, "a compiled Java frame, with the flag", lambda depth: java(bench, "+", depth), None)
            per_sample(report, bench, "a service with the flag", service(bench, "+"), None)
