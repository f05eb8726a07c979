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
# Seconds that any wait has: what comes ends it, so only what is broken takes as long.
LEAST_WAIT = 120
# Seconds between two looks, and times what a look took: who waits leaves the CPUs to what is waited for.
BETWEEN_LOOKS, TIMES_A_LOOK, MOST_BETWEEN_LOOKS = 0.1, 3, 1


class Lacking(AssertionError):
    """Something did not come in time. On a host that is not ours that may be the host's doing, so the test is tried once
    more, alone. Never raise it for what is wrong."""


def run(*command, timeout=60, check=False, **options):
    """Runs to the end, text in and out, no shell."""
    return subprocess.run([str(part) for part in command], timeout=timeout * PATIENCE, check=check, text=True,
                          errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, **options)


def jbpf(name, *arguments, **options):
    """Runs a client: jbpf("dump", "--since", "1h")."""
    return run(BIN / f"jbpf-{name}", *arguments, **options)


class Waited:
    """The longest wait of the test that runs, for the report: one that comes near its limit is a test to mend."""
    seconds, limit = 0, LEAST_WAIT

    @classmethod
    def note(cls, seconds, limit):
        if seconds > cls.seconds:
            cls.seconds, cls.limit = seconds, limit

    @classmethod
    def take(cls):
        taken, cls.seconds = (cls.seconds, cls.limit), 0
        return taken


def wait_until(check, seconds, what):
    """Polls until check() is true and returns what it returned; fails with `what` at the end: a text, or a function
    that makes one of how things are by then."""
    limit = max(seconds * PATIENCE, LEAST_WAIT)
    begin = time.monotonic()
    end = begin + limit
    while True:
        looked = time.monotonic()
        result = check()
        now = time.monotonic()
        if result:
            Waited.note(now - begin, limit)
            return result
        if now >= end:
            said = what() if callable(what) else what
            raise Lacking(f"after {limit:.0f} s still not: {said}")
        time.sleep(min(max(BETWEEN_LOOKS, TIMES_A_LOOK * (now - looked)), MOST_BETWEEN_LOOKS))


def end_all(ends):
    """Calls each, also when one before it has failed; then it fails with what all of them said."""
    failures = []
    for end in ends:
        try:
            end()
        except Exception as error:
            failures.append(error)
    if failures:
        raise AssertionError(f"did not end: {failures}") from failures[0]


def stat_fields(pid):
    """Of /proc/PID/stat, from the state on: the third field of proc(5) is the first here. A process may put any bytes
    into its name, which stands before them."""
    with open(f"/proc/{pid}/stat", errors="surrogateescape") as stat:
        return stat.read().rpartition(")")[2].split()


def cpu_seconds(pid):
    """CPU time of a process so far."""
    return sum(map(int, stat_fields(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


def age_seconds(pid):
    """Since the process began; an exec does not make it younger."""
    ticks = int(stat_fields(pid)[19])
    with open("/proc/uptime") as uptime:
        return float(uptime.read().split()[0]) - ticks / os.sysconf("SC_CLK_TCK")


def comm_of(pid):
    with open(f"/proc/{pid}/comm", errors="surrogateescape") as comm:
        return comm.read().rstrip("\n")


def is_gone(pid):
    """Whether a process has ended, also where its parent has not asked for it yet. (A first thread that ended
    before the others looks the same, but for their number.)"""
    try:
        fields = stat_fields(pid)
    except OSError:
        return True
    return fields[0] in "ZX" and int(fields[17]) <= 1


def life_of(pid):
    """What a process is doing, for messages of failures."""
    try:
        return f"{comm_of(pid)!r} in state {stat_fields(pid)[0]}, {cpu_seconds(pid):.1f} s of CPU time in {age_seconds(pid):.0f} s"
    except OSError:
        return "gone"


def wait_cpu(pids, seconds):
    """Until each of these has used so much more CPU time: there are samples of it then."""
    goal = {pid: cpu_seconds(pid) + seconds for pid in pids}
    for pid in goal:
        wait_until(lambda: cpu_seconds(pid) >= goal[pid], 300, f"{pid} uses {seconds} s of CPU time")


def lines_of(text):
    return [line for line in text.splitlines() if line.strip()]
