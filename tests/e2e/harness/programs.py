# SPDX-License-Identifier: Apache-2.0
"""Where things are, and running them: every call has a time limit, so that no test can hang."""
import os
import subprocess
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
BUILD = TOP / os.environ.get("JBPF_BUILD", "build")
BIN = BUILD / "bin"
AIDS = BUILD / "tests" / "e2e"
JAVA_SOURCES = TOP / "tests" / "e2e" / "java"
IMAGE = os.environ.get("JBPF_TEST_IMAGE", "jbpf-test-jre17")
IMAGES = os.environ.get("JBPF_TEST_IMAGES")  # where the runner notes which images are made
CACHE = Path(os.environ.get("JBPF_TEST_CACHE", "/var/cache/jbpf-tests"))


# Limits are only reached by what is broken: on a busy machine, and with sanitizers, all takes longer.
PATIENCE = float(os.environ.get("JBPF_TEST_PATIENCE", "4"))


def run(*command, timeout=60, check=False, **options):
    """Runs to the end, text in and out, no shell."""
    return subprocess.run([str(part) for part in command], timeout=timeout * PATIENCE, check=check, text=True,
                          errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, **options)


def jbpf(name, *arguments, **options):
    """Runs a client: jbpf("dump", "--since", "1h")."""
    return run(BIN / f"jbpf-{name}", *arguments, **options)


def wait_until(check, seconds, what):
    """Polls until check() is true and returns what it returned; fails with `what` at the end."""
    end = time.monotonic() + seconds * PATIENCE
    while True:
        result = check()
        if result:
            return result
        if time.monotonic() >= end:
            raise AssertionError(f"after {seconds * PATIENCE:.0f} s still not: {what}")
        time.sleep(0.1)


def cpu_seconds(pid):
    """CPU time of a process so far."""
    with open(f"/proc/{pid}/stat") as stat:
        ticks = stat.read().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def age_seconds(pid):
    """Since the process began; an exec does not make it younger."""
    with open(f"/proc/{pid}/stat") as stat, open("/proc/uptime") as uptime:
        ticks = int(stat.read().rpartition(")")[2].split()[19])
        return float(uptime.read().split()[0]) - ticks / os.sysconf("SC_CLK_TCK")


def comm_of(pid):
    with open(f"/proc/{pid}/comm") as comm:
        return comm.read().rstrip("\n")


def wait_cpu(pids, seconds):
    """Until each of these has used so much more CPU time: there are samples of it then."""
    goal = {pid: cpu_seconds(pid) + seconds for pid in pids}
    for pid in goal:
        wait_until(lambda: cpu_seconds(pid) >= goal[pid], 300, f"{pid} uses {seconds} s of CPU time")


def lines_of(text):
    return [line for line in text.splitlines() if line.strip()]
