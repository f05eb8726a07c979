# SPDX-License-Identifier: Apache-2.0
"""What one sample takes from the program that is sampled, all of it: the interrupt, perf, the BPF program, cold
caches after. The program itself measures the holes in its time (bench_interrupt); so perf can be compared, too."""
import statistics
import time

from machine import CPUS, tool
from programs import ALL
from spawn import Asked

HZ = 2999  # what ticks and neighbours do to a program is small beside so many samples
DEPTHS = (16, 128, 512)


class Watcher(Asked):
    """bench_interrupt at a depth, on the last CPU."""

    def __init__(self, depth):
        super().__init__(tool("bench_interrupt"), depth, CPUS - 1)

    def holes_per_s(self, seconds):
        """Nanoseconds of holes per second it ran; None when others had the CPU nearly all the time."""
        self.ask()
        time.sleep(seconds)
        seen = self.ask()
        return seen["hole_ns"] / seen["ran_ns"] * 1e9 if seen["ran_ns"] > seconds * 5e7 else None


def one_round(bench, watcher, program, seconds):
    """Nanoseconds that one sample takes: holes with the program less holes before and after it."""
    before = watcher.holes_per_s(seconds / 2)
    with program(bench.work, HZ) as running:
        time.sleep(1)  # what is ready may still be about to sample
        during = watcher.holes_per_s(seconds)
        running.stop(limit_s=2)  # what it does at its end does not matter here
    after = watcher.holes_per_s(seconds / 2)
    if None in (before, during, after):
        return None
    return (during - (before + after) / 2) / HZ


def interrupt(report, bench):
    """What a program loses by one sample, 2999 Hz; hot caches."""
    seconds, rounds = min(1.0, bench.seconds / 2), max(bench.rounds, 3) if bench.rounds > 1 else 1
    missing = {program.name: program.why_not() for program in ALL}
    for depth in DEPTHS if not bench.tiny else DEPTHS[1:2]:
        found = {name: why or [] for name, why in missing.items()}
        with Watcher(depth) as watcher:
            for _ in range(rounds):
                for program in bench.random.sample(ALL, len(ALL)):
                    taken = None if missing[program.name] else one_round(bench, watcher, program, seconds)
                    if taken is not None:
                        found[program.name].append(taken)
        if depth == DEPTHS[0]:
            bench.taken.update(found)
        note = {name: "cut at 127 frames" for name in found if name != "jbpfd"} if depth > 127 else {}
        report.beside(f"taken by one sample, {depth} frames", "ns", found, notes=note)
        for name in ("jbpfd",):
            if found[name]:
                report.row("  of one busy core at 99 Hz", statistics.median(found[name]) * 99 / 1e7, "%")
