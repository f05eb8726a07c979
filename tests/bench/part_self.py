# SPDX-License-Identifier: Apache-2.0
"""What jbpfd spends its CPU on: jbpf samples it, with names, beside a JVM that is warm and fifty that are mostly idle."""
import os
import subprocess
import time

from jvms import Jvms
from machine import JBPF, ROOT
from part_compare import BUSY, FIFTY
from programs import Cgroup, Jbpfd

HZ, SECONDS = 4999, 90
PICTURE = os.path.join(ROOT, "docs", "jbpfd.svg")


class Contained(Jbpfd):
    """In a control group that is named as one of Docker's: so it can be asked for, with all its processes and no other's."""

    def __init__(self, work, hz, **options):
        super().__init__(work, hz, **options)
        self.cgroup.remove()
        self.container = f"{os.getpid():064x}"
        self.cgroup = Cgroup(f"docker-{self.container}.scope")


def own(report, bench):
    """A flame graph of jbpfd, which docs/cost.md shows; docs/jbpfd.svg."""
    seconds, other = 10 if bench.quick else SECONDS, os.path.join(bench.work, "fifty")
    os.mkdir(other)
    with Jvms(bench.work, seed=bench.seed, **BUSY) as one, Jvms(other, seed=bench.seed, **FIFTY) as fifty:
        one.wait_busy(0)
        fifty.wait_busy(bench.settle)
        with Contained(bench.work, 99, window_s=bench.seconds) as daemon:
            time.sleep(daemon.warm_s + bench.seconds)
            before = daemon.cpu_seconds()
            subprocess.run([JBPF, "record", "--container", daemon.container, "--frequency", str(HZ), "-d", f"{seconds}s", "-o", PICTURE], check=True)
            report.row("CPU of jbpfd's processes", (daemon.cpu_seconds() - before) / seconds * 100, "% core")
