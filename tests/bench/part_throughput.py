# SPDX-License-Identifier: Apache-2.0
"""Does a profiled program get less done? Its operations per second with a profiler and, before and after, without;
many short rounds. The effect is the mean of their logarithms with its 95 % interval: where that is wider than the
effect, the width is what could have been seen."""
import math
import time

from jvms import Jvms
from programs import Bpftrace, Jbpfd, Perf, Stackid
from report import mean_and_margin

WINDOW_S = 2  # so that a round of some seconds has all that a window has: more often than in life


def rates(jvms, seconds):
    """Operations per second, and per second of the JVM's CPU time (what others do to the host is in the first)."""
    operations, cpu, begin = jvms.operations(), jvms.cpu_seconds(), time.monotonic()
    time.sleep(seconds)
    operations = jvms.operations() - operations
    return operations / (time.monotonic() - begin), operations / (jvms.cpu_seconds() - cpu)


def round_of(bench, jvms, program, hz, seconds, before):
    """Logarithms of with / without, and the rates after it; `before`: those before."""
    options = {"window_s": WINDOW_S} if program in (Jbpfd, Stackid) else {}
    with program(bench.work, hz, **options) as running:
        time.sleep(WINDOW_S + 0.5 if program is Jbpfd else 0.5)
        during = rates(jvms, seconds)
        running.stop(limit_s=2)
    after = rates(jvms, seconds)
    return [math.log(b / math.sqrt(a * c)) for a, b, c in zip(before, during, after)], after


def show(report, name, logs, unit_note):
    mean, margin = mean_and_margin(logs)
    effect, least = (math.exp(mean) - 1) * 100, margin * 100
    report.row(name, effect, "%", rounds=len(logs), margin=least, note=f"+- {least:.2g}: a smaller effect cannot be seen; "
               + unit_note)


def throughput(report, bench):
    """What a JVM with 2 busy threads gets done, with against without."""
    pairs = [(Jbpfd, 99), (Perf, 99), (Jbpfd, 999), (Perf, 999)]
    if bench.full:
        pairs += [(Stackid, 99), (Stackid, 999), (Bpftrace, 99)]
    pairs = [(program, hz) for program, hz in pairs if not program.why_not()]
    seconds = 2.0 if bench.seconds >= 10 else bench.seconds / 4
    logs = {pair: [] for pair in pairs}
    with Jvms(bench.work, 1, 2, 100, seed=bench.seed) as jvms:
        jvms.wait_busy(bench.settle * 2)
        rates_now = rates(jvms, seconds)
        for _ in range(bench.pairs):
            for pair in bench.random.sample(pairs, len(pairs)):
                ratio, rates_now = round_of(bench, jvms, *pair, seconds, rates_now)
                logs[pair].append(ratio)
    for (program, hz), rounds in logs.items():
        name = f"{program.name}, {hz} Hz"
        show(report, f"operations per second: {name}", [wall for wall, _ in rounds], "window of 2 s")
        show(report, f"  per second of the program's own CPU: {name}", [cpu for _, cpu in rounds], "others left out")
