# SPDX-License-Identifier: Apache-2.0
"""Profilers in turns on the same load: what each cost while it ran, and what it left. One turn is a start, a while
until it is as it stays, a measurement of one window, its end."""
import time
from dataclasses import dataclass, field

from bpf_stats import BpfStats
from machine import busy_seconds
from programs import END_S


@dataclass
class Turn:
    """What one turn was seen to cost."""
    cpu: float  # seconds of CPU per second, of all its processes
    bpf: float  # the same, of its BPF programs
    busy: float  # CPUs of the host that were busy meanwhile
    ns_per_sample: float | None  # of its sampling program
    sampler_runs: float  # of that, per second
    memory: int
    end_cpu: float  # seconds to end, name and print
    ended: bool  # by itself
    samples: int
    size: int  # bytes it wrote
    max_rss: int
    life_cpu: float  # seconds of CPU from its start until it had ended, per second it sampled
    extra: dict = field(default_factory=dict)


def bpf_cost(before, after):
    """Seconds; runs, and nanoseconds per run, of the program that samples: the perf_event one that ran most."""
    seconds, sampler = 0.0, (0, 0.0)
    for ident, (kind, runs, run_s) in after.items():
        _, runs_before, run_s_before = before.get(ident, (kind, 0, 0.0))
        seconds += run_s - run_s_before
        if kind == "perf_event":
            sampler = max(sampler, (runs - runs_before, run_s - run_s_before))
    return seconds, sampler[0], sampler[1] / sampler[0] * 1e9 if sampler[0] else None


def measure(program, seconds, end_s, keep=None, ask=None):
    """One turn of a program that was not started yet, which has end_s to end if it names then. `ask`: called with it while it runs,
    `keep`: when it has ended, while what it wrote is there; what they return is kept."""
    with program:
        born = time.monotonic()
        time.sleep(program.warm_s)
        bpf, busy, begin, cpu = program.bpf(), busy_seconds(), time.monotonic(), program.cpu_seconds()
        time.sleep(seconds)
        cpu_after, took, busy_after = program.cpu_seconds(), time.monotonic() - begin, busy_seconds()
        bpf_s, runs, ns_per_sample = bpf_cost(bpf, program.bpf())
        memory, asked = program.memory(), ask(program) if ask else {}
        end_cpu, life = program.cpu_seconds(), time.monotonic() - born
        ended = program.stop(end_s if program.names_at_end else END_S)
        turn = Turn(cpu=(cpu_after - cpu) / took, bpf=bpf_s / took, busy=(busy_after - busy) / took,
                    ns_per_sample=ns_per_sample, sampler_runs=runs / took, memory=memory, end_cpu=program.cpu_seconds() - end_cpu, ended=ended,
                    samples=program.samples() if ended else 0, size=program.out_bytes(), max_rss=program.max_rss,
                    life_cpu=program.cpu_seconds() / life)
        turn.extra = {**asked, **(keep(program) if keep else {})}
    return turn


class Scenario:
    """The turns of all programs at one load and rate."""

    def __init__(self, work, programs, hz, seconds, rounds, random):
        self.work, self.hz, self.seconds, self.rounds, self.random = work, hz, seconds, rounds, random
        self.missing = {program.name: program.why_not() for program in programs}
        self.programs = [program for program in programs if not self.missing[program.name]]
        self.turns = {program.name: [] for program in self.programs}

    def run(self, end_s, keep=None):
        with BpfStats():
            for _ in range(self.rounds):
                order = list(self.programs)
                self.random.shuffle(order)
                for program in order:
                    options = {"window_s": self.seconds} if program.name in ("jbpfd", "get_stackid profiler") else {}
                    turn = measure(program(self.work, self.hz, **options), self.seconds, end_s, keep)
                    self.turns[program.name].append(turn)
        return self

    def of(self, value):
        """program -> value of each turn, or why it could not run."""
        found = dict(self.missing)
        for name, turns in self.turns.items():
            found[name] = [v for v in map(value, turns) if v is not None]
        return found


def per_200(turn, hz):
    """% of a core for 200 samples per second: samples are what was busy, times the rate."""
    return (turn.cpu + turn.bpf) * 100 * 200 / (turn.busy * hz)
