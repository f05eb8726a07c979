# SPDX-License-Identifier: Apache-2.0
"""Where a run took place: what a reader needs to judge it or to repeat it, and whether the machine was busy with
something else."""
import os
import platform
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
JBPFD = os.path.join(BUILD, "bin", "jbpfd")
JBPF = os.path.join(BUILD, "bin", "jbpf")
CPUS = len(os.sched_getaffinity(0))
BUSY_LIMIT = 0.15  # of the CPUs, before anything of ours runs
TICK = os.sysconf("SC_CLK_TCK")


def tool(name):
    """A program of the bench, in the build folder."""
    return os.path.join(BUILD, "tests", "bench", name)


def busy_seconds():
    """CPU seconds the host has spent on anything but idling, so far."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _idle, _iowait, irq, softirq = map(int, file.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / TICK


def busy_share(seconds):
    before, begin = busy_seconds(), time.monotonic()
    time.sleep(seconds)
    return (busy_seconds() - before) / (time.monotonic() - begin) / CPUS


def first_line(*command):
    """What a program says of its version."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return "not there"
    lines = (result.stdout or result.stderr).strip().splitlines()
    return lines[0].strip() if lines else "?"


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return "?"


def cpu_model():
    for line in read("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def memory_gib():
    return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1 << 30), 1)


def describe(seed):
    """Everything that may matter, for the head of the table and for JSON."""
    return {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "cpu": cpu_model(), "cpus": CPUS, "memory_gib": memory_gib(),
        "kernel": platform.release(),
        "perf_event_paranoid": read("/proc/sys/kernel/perf_event_paranoid"),
        "perf_event_max_stack": read("/proc/sys/kernel/perf_event_max_stack"),
        "jbpfd": first_line(JBPFD, "--version"),
        "perf": first_line("perf", "--version"),
        "bpftrace": first_line("bpftrace", "--version"),
        "java": first_line("java", "-version"),
        "load_average": " ".join(f"{x:.2f}" for x in os.getloadavg()),
        "busy_before": round(busy_share(2), 3),
        "seed": seed,
    }
