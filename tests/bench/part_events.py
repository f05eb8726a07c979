# SPDX-License-Identifier: Apache-2.0
"""Events beside CPU time: what the passes over all threads take, what a program at its worst loses by them and by page
faults that are sampled, and what all of them add to the store and to memory. jbpfd with them and jbpfd with CPU time alone
take turns on the same load."""
import contextlib
import glob
import math
import os
import statistics
import subprocess
import time

from jvms import JAVA, Jvms, compile_java
from machine import BUILD, CPUS, read, tool
from part_beside import status_numbers
from programs import Jbpfd, Program
from report import mean_and_margin
from spawn import Asked, NotMeasured

WAITER = os.path.join(BUILD, "tests", "e2e", "waiter")
IDLE_THREADS = 5000
FIVE = {"count": 5, "threads": 30, "duty": 1, "options": ("-Xmx64m", "-XX:+UseSerialGC")}
EIGHT = {"count": 8, "threads": 1, "duty": 20}
STORE_WINDOWS = 6
FAULTS_PERIOD = 64  # one fault of so many is sampled
WORST_WINDOW_S = 2  # more often than in life
WALKED_S = 10  # until each of 5000 new threads was walked, 640 in a second, and its symbols are read
LOADS = {"collections": ["Load", "2", "40"], "service": ["Service"]}


class Cpu(Jbpfd):
    """CPU time alone, as before there were other events."""
    name = "cpu"
    events = "cpu"

    def command(self):
        return [*super().command(), "--event", self.events]


class OffCpu(Cpu):
    name = "off-cpu"
    events = "cpu,off-cpu"


class PageFaults(Cpu):
    name = "page-faults"
    events = "cpu,page-faults"


class AllEvents(Cpu):
    name = "all"
    events = "cpu,off-cpu,page-faults"


class Hooked(Program):
    """What bcc's offcputime does at each context switch (switches.bpf.c)."""
    name = "offcputime's hook"

    def command(self):
        return [tool("bench_switches")]

    def is_ready(self):
        return "sampling" in self.said()


def pass_process(program):
    """The process that visits the threads; BPF runs as part of it, so that its CPU time is all that a pass takes."""
    for pid in program.cgroup.pids():
        if read(f"/proc/{pid}/comm") == "jbpfd-offcpu":
            return pid
    raise NotMeasured("jbpfd has no process of the passes")


def cpu_ns(pid):
    return int(read(f"/proc/{pid}/schedstat").split()[0])


def user_threads():
    """Of the host, without the kernel's own, which have no memory."""
    return status_numbers("/proc/[0-9]*/status", "Threads") - kernel_threads()


def kernel_threads():
    return sum(1 for path in glob.glob("/proc/[0-9]*/statm") if read(path).startswith("0 "))


def pass_share(bench, settle_s):
    """(part of a core that the passes take, that of jbpfd whole, threads of the host)"""
    with OffCpu(bench.work, 99, window_s=bench.seconds) as daemon:
        time.sleep(daemon.warm_s + settle_s)
        pid, seconds = pass_process(daemon), bench.seconds
        begin, passes, whole = time.monotonic(), cpu_ns(pid), daemon.cpu_seconds()
        time.sleep(seconds)
        took = time.monotonic() - begin
        return (cpu_ns(pid) - passes) / 1e9 / took, (daemon.cpu_seconds() - whole) / took, user_threads()


def pass_rows(report, bench):
    with Jvms(bench.work, seed=bench.seed, **FIVE) as jvms:
        jvms.wait_busy(bench.settle)
        report.at("5 JVMs of 30 threads, each thread 1 % busy")
        turns = [pass_share(bench, 0) for _ in range(bench.less)]
        shares = [share * 100 * 200 / threads for share, _, threads in turns]
        report.row("CPU of the passes per 200 threads", shares, "% core", "<= 0.3", statistics.median(shares) <= 0.3,
                   note=f"{turns[-1][2]} threads on the host")
        report.row("CPU of jbpfd, cpu and off-cpu, all its processes", [whole * 100 for _, whole, _ in turns], "% core")
    report.at(f"{IDLE_THREADS} idle threads")
    with waiting(IDLE_THREADS):
        turns = [pass_share(bench, WALKED_S) for _ in range(bench.less)]
        shares = [share * 100 for share, _, _ in turns]
        report.row("CPU of the passes", shares, "% core", "<= 0.5", statistics.median(shares) <= 0.5,
                   note=f"{turns[-1][2]} threads on the host")
        report.row("CPU of jbpfd, cpu and off-cpu, all its processes", [whole * 100 for _, whole, _ in turns], "% core")


@contextlib.contextmanager
def waiting(threads):
    with subprocess.Popen([WAITER, "threads", str(threads)], stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout.readline() != "READY\n":
                raise NotMeasured(f"{threads} threads cannot be had here")
            yield
        finally:
            process.kill()


class AtItsWorst(Asked):
    """bench_events on the last CPU."""

    def __init__(self, kind):
        super().__init__(tool("bench_events"), kind, CPUS - 1)

    def rates(self, seconds):
        """Operations per second, and per second of its own CPU time (what others do to the host is in the first)."""
        self.ask()
        time.sleep(seconds)
        seen = self.ask()
        return seen["operations"] / seen["ns"] * 1e9, seen["operations"] / seen["cpu_ns"] * 1e9


def rates_beside(bench, program, worst):
    with program(bench.work, 99, window_s=WORST_WINDOW_S) as running:
        time.sleep(running.warm_s)
        return worst.rates(bench.seconds / 2)


def timed_faults(bench, program, worst):
    """(ns of an ordinary fault, what a sampled one takes more): bench_events.c"""
    with program(bench.work, 99, window_s=WORST_WINDOW_S) as running:
        time.sleep(running.warm_s)
        worst.ask()
        time.sleep(bench.seconds / 2)
        seen = worst.ask()
        if not seen["block_cnt"]:
            raise NotMeasured("others fault on this CPU all the time")
        return tuple(seen[name] / seen["block_cnt"] for name in ("ordinary_ns", "sampled_ns"))


def lost_by_sampling(plain, sampled):
    """(ns that a sampled fault takes more, % that a program of faults loses), of each turn; both are of timed_faults()."""
    return [(most - usual, (most - usual) / (FAULTS_PERIOD * ordinary) * 100) for (ordinary, usual), (_, most) in zip(plain, sampled)]


def fault_rows(report, bench):
    """What is lost by one fault of PERIOD that is sampled."""
    plain, sampled = [], []
    with AtItsWorst("faults") as worst:
        for _ in range(bench.less):
            plain.append(timed_faults(bench, Cpu, worst))
            sampled.append(timed_faults(bench, PageFaults, worst))
    more, lost = zip(*lost_by_sampling(plain, sampled))
    report.row("a page fault, one after the other", [ordinary for ordinary, _ in plain], "ns")
    report.row("  the slowest place of 64 takes more: jbpfd with cpu alone", [extra for _, extra in plain], "ns")
    report.row("  one that is sampled takes more than that", more, "ns")
    report.row("  lost beside page-faults", lost, "%", "<= 5", statistics.median(lost) <= 5)


def switch_rows(report, bench):
    """Nothing of jbpf's runs at a switch, so that the passes are all that can be lost; what is lost is measured, too."""
    with AtItsWorst("switches"):
        shares = [pass_share(bench, 0)[0] * 100 for _ in range(bench.less)]
    report.row("CPU of the passes beside a ping-pong", shares, "% core", "<= 1", statistics.median(shares) <= 1)
    loss_rows(report, bench, (OffCpu, Hooked))
    perf_row(report, bench)


def loss_rows(report, bench, programs):
    """What a ping-pong loses beside these programs, of what it does beside jbpfd with CPU time alone."""
    logs, plain = {program: [] for program in programs}, []
    with AtItsWorst("switches") as worst:
        for _ in range(bench.pairs if bench.full else bench.rounds):
            order = bench.random.sample([Cpu, *programs], len(programs) + 1)
            rates = {program: rates_beside(bench, program, worst) for program in order}
            plain.append(rates[Cpu][0])
            for program in programs:
                logs[program].append([math.log(b / a) for a, b in zip(rates[Cpu], rates[program])])
    report.row("switches per second, jbpfd with cpu alone", plain, "/s")
    for program in programs:
        for at, name in enumerate((f"switches lost beside {program.name}", "  per second of its own CPU, others left out")):
            mean, margin = mean_and_margin([one[at] for one in logs[program]])
            lost, margin = (1 - math.exp(mean)) * 100, margin * 100
            report.row(name, lost, "%", rounds=len(plain), margin=margin,
                       note=f"+- {margin:.2g}: a smaller effect cannot be seen")


def perf_row(report, bench):
    """perf's own recording of waits is not in every build of it."""
    said = subprocess.run(["perf", "record", "--off-cpu", "-a", "-o", os.path.join(bench.work, "perf.data"), "--", "true"],
                          capture_output=True, text=True, check=False).stderr
    if "off-cpu" in said:
        report.missing("switches lost beside perf record --off-cpu", "this perf cannot: built without BPF")


def tree_bytes(out, event):
    return sum(os.path.getsize(path) for path in glob.glob(f"{out}/v1/{event}/**/*.zst", recursive=True))


@contextlib.contextmanager
def real_loads(bench):
    """Their pids; nothing else is sampled, so that the neighbours write nothing."""
    classes = compile_java(bench.work, "events", glob.glob(f"{JAVA}/*.java"), release=17)
    processes = []
    try:
        for load in LOADS.values():
            processes.append(subprocess.Popen(["java", "-Xmx128m", "-XX:+PreserveFramePointer", "-cp", classes, *load],
                                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        time.sleep(bench.settle)
        yield [process.pid for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def store_rows(report, bench):
    report.at("2 JVMs: " + ", ".join(LOADS))
    with real_loads(bench) as pids, AllEvents(bench.work, 99, window_s=bench.seconds, pids=pids) as daemon:
        time.sleep(bench.seconds * STORE_WINDOWS + 2)
        daemon.stop()
        sizes = {event: tree_bytes(daemon.out, event) for event in AllEvents.events.split(",")}
    for event, size in sizes.items():
        report.row(f"bytes written of {event}", size / 1024, "KiB", note=f"{STORE_WINDOWS} windows of {bench.seconds} s, an open hour")
    ratio = sum(sizes.values()) / sizes["cpu"]
    report.row("  bytes of all events / of cpu alone", ratio, "x", "<= 2", ratio <= 2)


def memory_mib(bench, program, pids):
    with program(bench.work, 99, window_s=bench.seconds, pids=pids) as daemon:
        time.sleep(daemon.warm_s + bench.seconds)
        return daemon.memory() / (1 << 20)


def memory_rows(report, bench):
    report.at("8 JVMs, each 20 % busy")
    with Jvms(bench.work, seed=bench.seed, **EIGHT) as jvms:
        jvms.wait_busy(bench.settle)
        turns = {program.name: [memory_mib(bench, program, jvms.pids())] for program in (Cpu, AllEvents)}
    report.row("memory of jbpfd + BPF maps: cpu alone", turns["cpu"], "MiB")
    report.row("memory of jbpfd + BPF maps: all events", turns["all"], "MiB", "<= 48", statistics.median(turns["all"]) <= 48)


def events(report, bench):
    """off-cpu and page-faults beside CPU time alone: what they take, from whom, and where they are kept."""
    pass_rows(report, bench)
    report.at("a program at its worst")
    switch_rows(report, bench)
    fault_rows(report, bench)
    store_rows(report, bench)
    memory_rows(report, bench)
