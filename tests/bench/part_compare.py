# SPDX-License-Identifier: Apache-2.0
"""jbpfd beside its peers at several loads and rates: CPU, in-kernel time, memory, bytes on disk."""
import statistics
import subprocess

from jvms import SMALL, Jvms
from programs import ALL, Bpftrace, Jbpfd, Perf, Stackid
from spawn import run_cpu
from turns import Scenario, measure, per_200

BUSY = {"count": 1, "threads": 2, "duty": 100}
EIGHT = {"count": 8, "threads": 1, "duty": 20}
NAMING_S = 40  # for who names at its end
FIFTY = {"count": 50, "threads": 1, "duty": 2, "options": SMALL}
BPF_ALONE = (Jbpfd, Stackid)
SOME = tuple(program for program in ALL if program is not Bpftrace)


def turns(bench, hz, programs, rounds, keep=None):
    """Turns on the load that is there."""
    return Scenario(bench.work, programs, hz, bench.seconds, rounds, bench.random).run(4 if bench.tiny else NAMING_S, keep)


def scenario(bench, load, hz=99, depth=0, programs=ALL, rounds=None, keep=None):
    with Jvms(bench.work, depth=depth, seed=bench.seed, **load) as started:
        started.wait_busy(bench.settle)
        return turns(bench, hz, programs, rounds or bench.rounds, keep)


def cpu_rows(report, result, targets=False):
    """CPU while sampling. perf's own work in the kernel is in nobody's account: see part interrupt."""
    notes = {"perf record -g": "without its work in interrupts; names nothing",
             "get_stackid profiler": "names nothing", "bpftrace": "names at its end only"}
    report.beside("CPU, processes and BPF", "% core", result.of(lambda t: (t.cpu + t.bpf) * 100), notes=notes)
    report.beside("  per 200 samples/s", "% core", result.of(lambda t: per_200(t, result.hz)))
    if targets:
        add_targets(report, result)


def add_targets(report, result):
    turns, perf = result.turns["jbpfd"], result.turns.get("perf record -g")
    report.row("CPU of jbpfd's processes", [t.cpu * 100 for t in turns], "% core")
    report.row("CPU of its BPF programs", [t.bpf * 100 for t in turns], "% core")
    ours = [per_200(t, result.hz) for t in turns]
    report.row("CPU of jbpfd + BPF per 200 samples/s", ours, "% core", "<= 0.2", statistics.median(ours) <= 0.2)
    if perf:
        report.row("CPU of perf record, its start and end included", [t.life_cpu * 100 for t in perf], "% core")
        ratio = statistics.median(t.cpu + t.bpf for t in turns) / statistics.median(t.life_cpu for t in perf)
        report.row("jbpfd + BPF / perf record, its start and end included", ratio, "x", "< 1", ratio < 1)


def whole_rows(report, bench, result):
    """CPU of processes and all that samples take from programs: the only account that has perf's interrupts."""
    if not bench.taken:
        report.missing("CPU, processes and all that samples take", "needs part interrupt in the same run")
        return
    taken = {name: statistics.median(ns) for name, ns in bench.taken.items() if ns and not isinstance(ns, str)}
    whole = {name: [(t.cpu + max(taken[name], 0) / 1e9 * t.busy * result.hz) * 100 for t in turns]
             if name in taken else "part interrupt has no figure" for name, turns in result.turns.items()}
    report.beside("CPU, processes and all that samples take", "% core", whole,
                  notes={name: f"{ns:.0f} ns per sample, 16 frames" for name, ns in taken.items()})


def end_rows(report, result):
    ends = {name: ([t.end_cpu for t in turns if t.ended] or "was killed: did not end in time")
            for name, turns in result.turns.items()}
    report.beside("CPU to end, with what it still has to write", "s", ends)


def disk_rows(report, bench, result):
    """As written; what a merged hour of jbpf takes is in part store."""
    fixed = Perf.fixed_bytes(bench.work) if "perf record -g" in result.turns else 0
    sizes = {}
    for name, turns in result.turns.items():
        less = fixed if name == "perf record -g" else 0
        sizes[name] = [max(t.size - less, 0) / t.samples for t in turns if t.samples] or "did not end in time"
    notes = {"perf record -g": f"and {fixed / 1024:.0f} KiB of mappings", "jbpfd": "an open hour; with all names",
             "get_stackid profiler": "addresses only"}
    report.beside("bytes per sample on disk, as written", "B", sizes, notes=notes)


def memory_rows(report, result):
    report.beside("memory: processes, buffers, BPF maps", "MiB", result.of(lambda t: t.memory / (1 << 20)))
    report.beside("most of it resident until its end", "MiB", result.of(lambda t: t.max_rss / (1 << 20)),
                  notes={"bpftrace": "names at its end"})


def kernel_rows(report, result):
    measured = result.of(lambda t: t.ns_per_sample)
    measured["perf record -g"] = "no BPF program: see part interrupt"
    report.beside("in-kernel time per sample (BPF statistics)", "ns", measured)


def perf_naming(program):
    """CPU seconds of perf script: what perf.data still needs until its stacks have names."""
    if not isinstance(program, Perf):
        return {}
    return {"naming": run_cpu(["perf", "script", "-i", program.out], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)}


def named_us(turn, hz):
    """Microseconds of CPU per sample until it is written with names; None where nothing was sampled."""
    if not turn.samples or not turn.ended:
        return None
    at_end = turn.end_cpu + turn.extra.get("naming", 0)
    return ((turn.cpu + turn.bpf) / (turn.busy * hz) + at_end / turn.samples) * 1e6


def naming_rows(report, result):
    measured = {name: [us for us in (named_us(t, result.hz) for t in turns) if us is not None] or "did not end in time"
                for name, turns in result.turns.items()}
    measured["get_stackid profiler"] = "never names"
    report.beside("CPU per sample, from the event to text with names", "us", measured,
                  notes={"perf record -g": "with perf script", "bpftrace": "Java stays addresses"})


def overhead(report, bench):
    """1 JVM, 2 busy threads, 99 Hz."""
    load = {**BUSY, "duty": 20} if bench.tiny else BUSY
    result = scenario(bench, load, rounds=bench.rounds if bench.full else bench.less, keep=perf_naming)
    cpu_rows(report, result, targets=True)
    kernel_rows(report, result)
    memory_rows(report, result)
    disk_rows(report, bench, result)
    end_rows(report, result)
    whole_rows(report, bench, result)
    naming_rows(report, result)


def rate(report, bench):
    """The same at 999 Hz."""
    result = scenario(bench, BUSY, hz=999, programs=ALL if bench.full else BPF_ALONE, rounds=bench.less)
    cpu_rows(report, result)
    kernel_rows(report, result)
    memory_rows(report, result)
    disk_rows(report, bench, result)


def depth(report, bench):
    """The same with deep stacks, 99 Hz."""
    for frames in (16, 128, 512) if bench.full else (512,):
        report.at(f"{frames} frames")
        result = scenario(bench, BUSY, depth=frames, programs=ALL if bench.full else BPF_ALONE, rounds=bench.less)
        cpu_rows(report, result)
        kernel_rows(report, result)
        disk_rows(report, bench, result)


def memory(report, bench):
    """No JVM, 99 Hz; 8 JVMs, each 20 % busy."""
    alone = measure(Jbpfd(bench.work, 99, window_s=bench.seconds), bench.seconds, 0).memory / (1 << 20)
    report.row("memory of jbpfd + BPF maps, no JVM", alone, "MiB", "<= 16", alone <= 16)
    result = scenario(bench, EIGHT, programs=SOME if bench.full else BPF_ALONE, rounds=bench.less)
    cpu_rows(report, result)
    memory_rows(report, result)
    ours = [t.memory / (1 << 20) for t in result.turns["jbpfd"]]
    report.row("memory of jbpfd + BPF maps, 8 JVMs", ours, "MiB", "<= 48", statistics.median(ours) <= 48)


def crowd(report, bench):
    """50 small JVMs, mostly idle, 99 Hz."""
    result = scenario(bench, FIFTY, programs=ALL if bench.full else BPF_ALONE, rounds=bench.less)
    cpu_rows(report, result)
    ours = [(t.cpu + t.bpf) * 100 for t in result.turns["jbpfd"]]
    report.row("CPU of jbpfd + BPF, 50 JVMs", ours, "% core", "<= 0.5", statistics.median(ours) <= 0.5)
    memory_rows(report, result)
    disk_rows(report, bench, result)


def cube(report, bench):
    """All depths, numbers of JVMs and rates (--full)."""
    for frames in (16, 128, 512):
        for name, load in (("1 JVM", BUSY), ("8 JVMs", EIGHT), ("50 JVMs", FIFTY)):
            with Jvms(bench.work, depth=frames, seed=bench.seed, **load) as jvms:
                jvms.wait_busy(bench.settle)
                for hz in (99, 999):
                    report.at(f"{frames} frames, {name}, {hz} Hz")
                    result = turns(bench, hz, ALL, bench.less)
                    cpu_rows(report, result)
                    kernel_rows(report, result)
                    memory_rows(report, result)
                    disk_rows(report, bench, result)
