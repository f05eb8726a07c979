# SPDX-License-Identifier: Apache-2.0
"""System calls in the place of a process that runs: see take_over.c. What an attacker could do who runs
code of his own in it, without any."""
import contextlib
import errno
import platform
import re
import subprocess
from pathlib import Path

import pytest

from harness.programs import AIDS, wait_until

CALLS_HEADER = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
VDSO = re.compile(r"^(\w+)-(\w+) r-xp .*\[vdso\]$", re.M)
SCRATCH_BYTES = 1 << 16
OPENERS = {"openat", "openat2", "open_by_handle_at", "socket", "memfd_create", "pidfd_open", "perf_event_open", "bpf",
           "io_uring_setup", "userfaultfd", "fsopen", "inotify_init1"}
DENIALS = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EROFS}
KILLED, ENDED = "killed", "ended"  # by the kernel's filter; otherwise
PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS = 3, 0x22


def call_numbers():
    """Of all system calls, by name."""
    if platform.machine() != "x86_64":
        pytest.skip("calls are made in the place of others on x86-64 only")
    return {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)", CALLS_HEADER.read_text())}


def call_address(pid):
    """Of a system call instruction in the memory of a process: the kernel maps some into each, after it has given the
    process its new name (fs/binfmt_elf.c, load_elf_binary())."""
    found = wait_until(lambda: VDSO.search(Path(f"/proc/{pid}/maps").read_text()), 60, "a program is mapped")
    start, end = (int(part, 16) for part in found.groups())
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(start)
        return start + memory.read(end - start).index(b"\x0f\x05")


class Gone(Exception):
    """The process has ended, and not for what was asked of it: its jbpfd did that, or it had nothing to do any more."""


@contextlib.contextmanager
def gone_if_missing():
    try:
        yield
    except (FileNotFoundError, ProcessLookupError) as error:
        raise Gone(str(error)) from None


def is_denied(result):
    return result == KILLED or -result in DENIALS


class TakenOver:
    """Held while it is open. call("openat", -100, b"/etc/passwd", 1): bytes are put into its memory, with a
    NUL behind them; the result is the kernel's, -errno when it failed, or "killed"."""

    def __init__(self, pid, until=None):
        """Of thread `pid`, or, with `until`, of its next child once that came back from this system call."""
        self.numbers = call_numbers()
        which = ["child", str(pid)] if until else ["thread", str(pid)]
        with gone_if_missing():
            self.address = call_address(pid)
        self.helper = subprocess.Popen([AIDS / "take_over", *which, hex(self.address),
                                        *([str(self.numbers[until])] if until else [])],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.memory, self.is_gone, self.opened = None, False, []
        if until:
            assert self.answer() == "waiting"

    def answer(self):
        line = self.helper.stdout.readline().rstrip("\n")
        said = "" if line else self.helper.stderr.read()
        if line == ENDED or "No such process" in said or "it has ended" in said:
            self.is_gone = True
            raise Gone(said)
        assert line, said
        return line

    def __enter__(self):
        word, pid = self.answer().split()
        assert word == "ready"
        self.pid = int(pid)
        with gone_if_missing():
            self.memory = open(f"/proc/{self.pid}/mem", "r+b", buffering=0)
        self.scratch = self.plain_call("mmap", 0, SCRATCH_BYTES, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0)
        assert self.scratch > 0, f"no memory for arguments in process {self.pid}: {self.scratch}"
        self.used = 0
        return self

    def __exit__(self, *_):
        if self.memory:
            if not self.is_gone:
                self.plain_call("munmap", self.scratch, SCRATCH_BYTES)
            self.memory.close()
        self.helper.stdin.close()
        assert self.helper.wait(60) == 0 or self.is_gone, self.helper.stderr.read()
        self.helper.stdout.close()
        self.helper.stderr.close()

    def put(self, content):
        """The address of these bytes in its memory, until the next step."""
        place = self.scratch + self.used
        self.used += (len(content) + 16) & ~15
        assert self.used <= SCRATCH_BYTES
        self.memory.seek(place)
        self.memory.write(content + b"\0")
        return place

    def get(self, place, length):
        self.memory.seek(place)
        return self.memory.read(length)

    def plain_call(self, name, *numbers):
        self.helper.stdin.write(" ".join(str(number) for number in (self.numbers[name], *numbers)) + "\n")
        self.helper.stdin.flush()
        answer = self.answer()
        self.is_gone = not answer.lstrip("-").isdigit()
        if self.is_gone:
            return answer
        if name in OPENERS and int(answer) >= 0:
            self.opened.append(int(answer))
        return int(answer)

    def call(self, name, *arguments):
        return self.plain_call(name, *(self.put(one) if isinstance(one, bytes) else one for one in arguments))

    def try_step(self, step):
        """What the step's last call said; descriptors that it leaves are closed."""
        self.used = 0
        result = step(self)
        while self.opened and not self.is_gone:
            self.plain_call("close", self.opened.pop())
        return result
