# SPDX-License-Identifier: Apache-2.0
"""jbpfd beside another build of it, on hosts where little happens and on a busy one: what each keeps in memory, and the CPU
it takes. The two take turns on the same JVMs; only these are sampled, so that what else runs on the machine
costs neither."""
import glob
import os
import re
import subprocess
import time

from jvms import SMALL, Jvms
from programs import Jbpfd, descriptors, mapped_bytes
from spawn import NotMeasured

QUIET = {"threads": 1, "duty": 2, "options": SMALL}
LOADS = {"no JVM": {"count": 0, **QUIET}, "1 JVM, 2 % busy": {"count": 1, **QUIET}, "8 JVMs, each 2 % busy": {"count": 8, **QUIET},
         "1 JVM, 2 busy threads": {"count": 1, "threads": 2, "duty": 100}}
WINDOWS = 3  # of one turn
KERNEL_STACK_BYTES = 16384  # of a thread, x86-64 and arm64


def builds(path):
    """The two programs: what was just built, and the other one."""
    if not os.access(path, os.X_OK):
        raise NotMeasured(f"--beside: '{path}' is no program")
    return Jbpfd, type("OtherJbpfd", (Jbpfd,), {"name": "other", "daemon": os.path.abspath(path)})


def status_numbers(pattern, field):
    """Sum of a field of files like /proc/PID/status over what the pattern finds."""
    total = 0
    for path in glob.glob(pattern):
        try:
            with open(path, encoding="ascii", errors="replace") as file:
                total += int(re.search(rf"^{field}:\s+(\d+)", file.read(), re.M)[1])
        except (OSError, TypeError):  # it has ended
            pass
    return total


def wakeups(pids):
    return sum(status_numbers(f"/proc/{pid}/task/*/status", "voluntary_ctxt_switches") for pid in pids)


def kernel_bytes(pids):
    """What the kernel keeps for them: page tables, stacks of threads, BPF maps and programs."""
    tables = sum(status_numbers(f"/proc/{pid}/status", "VmPTE") for pid in pids) * 1024
    threads = sum(status_numbers(f"/proc/{pid}/status", "Threads") for pid in pids)
    return (tables + threads * KERNEL_STACK_BYTES + sum(descriptors(pids, "map").values())
            + sum(descriptors(pids, "prog").values()))


def turn(program, seconds):
    """One turn of a program that was not started yet."""
    with program:
        time.sleep(program.warm_s)
        pids = program.cgroup.pids()
        cpu, woken, begin = program.cpu_seconds(), wakeups(pids), time.monotonic()
        time.sleep(seconds)
        windows = (time.monotonic() - begin) / program.window_s
        took, switches = program.cpu_seconds() - cpu, wakeups(pids) - woken
        pids = program.cgroup.pids()
        return {"cpu_ms": took / windows * 1000, "wakeups": switches / windows, "kernel": kernel_bytes(pids) / 1024,
                "memory": sum(mapped_bytes(pid) for pid in pids) / 1024, "processes": len(pids),
                "anonymous": sum(status_numbers(f"/proc/{pid}/smaps_rollup", "Pss_Anon") for pid in pids)}


def rows(report, turns):
    def each(key):
        return {name: [one[key] for one in done] for name, done in turns.items()}

    report.beside("memory of its processes (Pss)", "KiB", each("memory"),
                  notes={name: f"{done[-1]['processes']} processes" for name, done in turns.items()})
    report.beside("  of it anonymous, which no other program has a part in", "KiB", each("anonymous"))
    report.beside("memory of the kernel for it: pages, stacks, BPF", "KiB", each("kernel"))
    report.beside("CPU of its processes, per window", "ms", each("cpu_ms"))
    report.beside("wakeups, per window", "", each("wakeups"))


def load(report, bench, pids):
    turns = {}
    for number in range(bench.rounds):
        order = builds(bench.beside)
        for program in order if number % 2 == 0 else order[::-1]:
            done = turn(program(bench.work, 99, window_s=bench.seconds, pids=pids), WINDOWS * bench.seconds)
            turns.setdefault(program.name, []).append(done)
    rows(report, turns)


def beside(report, bench):
    """This jbpfd beside another build of it (--beside, --against)."""
    if not bench.beside:
        report.missing("memory and CPU beside another build", "needs --beside PROGRAM or --against COMMIT")
        return
    for name, jvms_of_it in LOADS.items():
        report.at(name)
        with Jvms(bench.work, **jvms_of_it) as jvms, subprocess.Popen(["sleep", "infinity"]) as idle:
            try:
                jvms.wait_busy(bench.settle)
                load(report, bench, jvms.pids() or [idle.pid])
            finally:
                idle.kill()
