# SPDX-License-Identifier: Apache-2.0
"""jbpfd as it stays: ten minutes beside a service that is warm."""
from bpf_stats import BpfStats
from jvms import Jvms
from part_compare import BUSY
from programs import Jbpfd
from turns import measure, per_200

STEADY_S = 600


def steady(report, bench):
    """jbpfd beside 1 JVM with 2 busy threads for ten minutes, 99 Hz."""
    seconds = 2 * bench.seconds if bench.quick else STEADY_S
    with Jvms(bench.work, seed=bench.seed, **BUSY) as jvms, BpfStats():
        jvms.wait_busy(bench.settle)
        turn = measure(Jbpfd(bench.work, 99, window_s=bench.seconds), seconds, 0)
    report.row("CPU of jbpfd's processes", turn.cpu * 100, "% core")
    report.row("CPU of its BPF programs", turn.bpf * 100, "% core")
    ours = per_200(turn, 99)
    report.row("CPU of jbpfd + BPF per 200 samples/s", ours, "% core", "<= 0.2", ours <= 0.2)
    report.row("memory of jbpfd + BPF maps at the end", turn.memory / (1 << 20), "MiB")
