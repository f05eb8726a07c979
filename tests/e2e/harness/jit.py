# SPDX-License-Identifier: Apache-2.0
"""Many jit_spinners in one container: a process each, with code of known addresses and a map of its own."""
import re
from collections import namedtuple

from harness.programs import wait_until

JitProcess = namedtuple("JitProcess", "pid first second size inner")  # addresses in hexadecimal, pid in the container
SAID = re.compile(r"^JIT (\w+) (\w+) (\w+) pid (\d+)$", re.M)


def inner_pid(pid):
    with open(f"/proc/{pid}/status") as status:
        return re.search(r"^NSpid:.*\t(\d+)$", status.read(), re.M).group(1)


def jit_command(cnt, seconds, percent):
    """What a container runs to have so many of them; its own first process is a shell that waits."""
    return ["sh", "-c", f"for i in $(seq {cnt}); do /app/jit_spinner {seconds} {percent} & done; wait"]


def jit_processes(container, cnt):
    """All of a container, once they are there, by pid."""
    wait_until(lambda: len(SAID.findall(container.logs())) == cnt, 60, "all spinners work")
    by_inner = {match[3]: match[:3] for match in SAID.findall(container.logs())}
    pids = [(pid, inner_pid(pid)) for pid in container.pids("/app/jit_spinner")]
    return [JitProcess(pid, *by_inner[inner], inner) for pid, inner in pids if inner in by_inner]
