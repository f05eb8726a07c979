# SPDX-License-Identifier: Apache-2.0
"""How jbpfd's cost grows, one thing at a time: CPU, memory, and the time to end a window, against samples, JVMs, threads, depth,
containers and new processes. Each point is a jbpfd of its own beside a load of its own."""
import contextlib
import os
import re
import signal
import subprocess
import time
import urllib.request

from bpf_stats import BpfStats
from jvms import JAVA, SMALL, Jvms, compile_java
from programs import Jbpfd, cgroup_root
from turns import measure

METRICS = "127.0.0.1:7097"
HOST_CPUS, HOST_HZ = 128, 99  # the host whose samples are taken here, by fewer CPUs at a higher rate
HOST_RATE = HOST_CPUS * HOST_HZ // os.cpu_count()
WINDOW_S, HOST_WINDOW_S = 5, 10
STOPPED_BEFORE_S, STOPPED_S = 0.05, 4
# Of N together some tenth of a core.
SLOW = "my $n = shift; while (1) { my $s = 0; $s += $_ % 7 for 1 .. 2000; select undef, undef, undef, 0.001 * $n }"
SHORT = "my $s = 0; $s += $_ % 7 for 1 .. 30000"  # lives for some milliseconds
SPAWNS = f"while (1) {{ system 'perl', '-e', '{SHORT}'; select undef, undef, undef, 1 / $ARGV[0] }}"


class Metered(Jbpfd):
    """Says how long the end of its last window took."""

    def command(self):
        return [*super().command(), "--metrics", METRICS]

    def samples(self):
        return 0  # not asked, and on a starved host none may be written yet

    def window_end_ms(self):
        with urllib.request.urlopen(f"http://{METRICS}/metrics", timeout=10) as answer:
            seconds = re.search(r"^jbpf_window_last_end_duration_seconds (\S+)", answer.read().decode(), re.M)
        return float(seconds[1]) * 1000


@contextlib.contextmanager
def processes(commands):
    """Their pids."""
    started = []
    try:
        for command in commands:
            started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        yield [process.pid for process in started]
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


@contextlib.contextmanager
def containers(count):
    """Control groups that are named as Docker names them, with a process each."""
    parent = os.path.join(cgroup_root(), f"jbpf-bench-{os.getpid()}-containers")
    folders = [os.path.join(parent, f"docker-{number:064x}.scope") for number in range(count)]
    try:
        for folder in folders:
            os.makedirs(folder)
        enter = 'echo 0 > "$1/cgroup.procs" && exec perl -e "$2" "$3"'
        with processes(["sh", "-c", enter, "sh", folder, SLOW, str(count)] for folder in folders):
            yield
    finally:
        for folder in [*folders, parent]:
            for _ in range(50):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)
                if not os.path.isdir(folder):
                    break
                time.sleep(0.05)


@contextlib.contextmanager
def jvms(bench, **load):
    with Jvms(bench.work, seed=bench.seed, **load) as started:
        started.wait_busy(bench.settle)
        yield started.pids()


@contextlib.contextmanager
def distinct(bench, count):
    """A JVM of two busy threads with so many stacks. Inlined methods are no frames of a stack."""
    classes = compile_java(bench.work, "distinct", [os.path.join(JAVA, "Distinct.java")])
    with processes([["java", "-XX:+PreserveFramePointer", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Distinct.*",
                     "-cp", classes, "Distinct", "2", str(count)]]):
        time.sleep(bench.settle)
        yield


def replayed_ms(program, pids):
    """How long the end of a window takes while its load stands still: what was sampled is worked off, and nobody holds the CPUs."""
    time.sleep(program.window_s - time.time() % program.window_s + program.window_s - STOPPED_BEFORE_S)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(STOPPED_BEFORE_S + STOPPED_S)
    took = program.window_end_ms()
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    return took


def window_ends(program, pids):
    asked = {"end_ms": program.window_end_ms()}
    return {**asked, "replayed_ms": replayed_ms(program, pids)} if program.hz == HOST_RATE else asked


def point(report, bench, curve, number, load, hz=99, window_s=WINDOW_S):
    """One jbpfd beside one load."""
    report.at(f"{curve}: {number}")
    with load as pids, BpfStats():
        turn = measure(Metered(bench.work, hz, window_s=window_s), 2 * window_s, 0, ask=lambda program: window_ends(program, pids))
    more = {"curve": curve, "x": number}
    report.row("samples per second", turn.sampler_runs, "/s", **more)
    report.row("CPU of jbpfd's processes", turn.cpu * 100, "% core", **more)
    report.row("CPU of its BPF programs", turn.bpf * 100, "% core", **more)
    report.row("memory of jbpfd + BPF maps", turn.memory / (1 << 20), "MiB", **more)
    report.row("time to end a window", turn.extra["end_ms"], "ms", note=f"a window of {window_s} s, the load goes on", **more)
    if "replayed_ms" in turn.extra:
        took = turn.extra["replayed_ms"]
        report.row("time to end a window of these samples, the load stopped", took, "ms", "<= 1000", took <= 1000)


def curves(report, bench):
    """How the cost grows with samples, JVMs, threads, depth, distinct stacks, containers, new processes; 99 Hz but for the first."""
    busy = {"count": 8, "threads": 1, "duty": 100}
    for hz in (99, 999, HOST_RATE):
        name = f"samples per second and CPU ({HOST_RATE}: those of {HOST_CPUS} CPUs at {HOST_HZ} Hz)"
        point(report, bench, name, hz, jvms(bench, **busy), hz, HOST_WINDOW_S if hz == HOST_RATE else WINDOW_S)
    for count in (1, 10, 100):
        point(report, bench, "JVMs, each 1 % busy", count, jvms(bench, count=count, threads=1, duty=1, options=SMALL))
    for count in (1, 10, 100, 1000):
        point(report, bench, "threads of one JVM, each 1 % busy", count, jvms(bench, count=1, threads=count, duty=1))
    for frames in (16, 128, 512, 1000):
        point(report, bench, "frames of a stack, 2 busy threads", frames, jvms(bench, count=1, threads=2, duty=100, depth=frames,
                                                                              options=("-Xss4m",)))
    for count in (1, 10, 100, 1000, 10000):
        point(report, bench, "distinct stacks of 2 busy threads", count, distinct(bench, count))
    for count in (1, 10, 100, 1000):
        point(report, bench, "containers with a process each, a tenth of a core together", count, containers(count))
    for rate in (1, 10, 100, 300):
        point(report, bench, "new programs per second", rate, processes([["perl", "-e", SPAWNS, str(rate)]]))
