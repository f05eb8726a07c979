# SPDX-License-Identifier: Apache-2.0
"""The process that parses files of containers: it has no rights, ends with jbpfd, is started again
when it is killed, and hostile files cost nobody else a name."""
import itertools
import lzma
import os
import shutil
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from harness.neighbours import Cgroup
from harness.processes import children_of
from harness.programs import AIDS, Lacking, wait_cpu, wait_until

pytestmark = pytest.mark.live

SPINNER = AIDS / "native_spinner"
PROGRAMS_CNT = itertools.count()


def status_of(pid):
    """/proc/PID/status as a dictionary; empty when the process is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


def parsers_of(daemon):
    """Pids of the parser processes of a daemon, without those that have ended: children of its launcher."""
    found = []
    launchers = children_of(daemon.process.pid)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        status = status_of(pid)
        if (status.get("Name") == "jbpfd-parser" and int(status["PPid"]) in launchers
                and not status["State"].startswith("Z")):
            found.append(int(pid))
    return found


def parser_of(daemon):
    return wait_until(lambda: parsers_of(daemon), 20, "jbpfd has a parser process")[0]


def only_descriptor(pid):
    """What its one descriptor is, as soon as it is not at work on a file. Raises OSError when it is gone."""
    wait_until(lambda: os.listdir(f"/proc/{pid}/fd") == ["0"], 30, f"process {pid} has no descriptor but 0")
    return os.readlink(f"/proc/{pid}/fd/0")


def facts_of_a_parser(daemon):
    """Pid, status, descriptor, maps and limits of one parser; each container's files get another one."""
    def look():
        try:
            pid = parser_of(daemon)
            # It has its name first, and gives up its rights then.
            if int(status_of(pid).get("CapPrm", "f"), 16) != 0:
                return None
            descriptor, process = only_descriptor(pid), Path(f"/proc/{pid}")
            maps, limits = (process / "maps").read_text(), (process / "limits").read_text()
        except OSError:
            return None
        status = status_of(pid)
        return (pid, status, descriptor, maps, limits) if status and maps else None
    return wait_until(look, 60, "a parser lives while it is looked at")


def kill_a_parser(daemon):
    """Its pid. One that has just ended by itself is not killed: the next one is."""
    def kill():
        pid = parser_of(daemon)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return None
        return pid
    return wait_until(kill, 20, "a parser was killed")


class Programs:
    """Programs to profile, ended with the test. They have a cgroup, and so an account, of their own: files that fail,
    of this test or of others beside it, use up what an account may have failing."""

    def __init__(self, folder):
        self.folder, self.started = folder, []
        self.cgroup = Cgroup(f"jbpf-tests/parser-{os.getpid()}-{next(PROGRAMS_CNT)}")

    def start(self, *command):
        process = subprocess.Popen(["sh", "-c", f'{self.cgroup.enter()} && exec "$@"', "sh", *map(str, command)],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.started.append(process)
        return process

    def spinner(self, name):
        """A file of its own, so that it has to be parsed."""
        shutil.copy(SPINNER, self.folder / name)
        return self.start(self.folder / name, "600")

    def stop(self):
        for process in self.started:
            process.kill()
            process.communicate()
        self.cgroup.end()


@pytest.fixture
def programs(tmp_path):
    programs = Programs(tmp_path)
    yield programs
    programs.stop()


def wait_named(daemon, pid, frame="burn_seventy"):
    try:
        wait_until(lambda: daemon.has("--pid", pid) and frame in daemon.dump("--pid", pid).names(), 120,
                   f"'{frame}' is in the stacks of pid {pid}")
    except Lacking as error:
        raise Lacking(f"{error}; log: {daemon.log()}") from None


# ---- rights -------------------------------------------------------------------------------------

def test_parser_has_no_rights_and_one_descriptor(daemon):
    jbpfd = daemon(window="1s").start().wait_ready()
    pid, status, descriptor, maps, limits = facts_of_a_parser(jbpfd)
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[kind], 16) == 0, f"{kind} is {status[kind]}"
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2", "system calls are not filtered"
    assert status["Threads"] == "1"
    assert descriptor.startswith("socket:")
    shared = [line for line in maps.splitlines() if line.split()[1][3] == "s"]
    assert not shared, shared
    assert "Max core file size        0                    0" in limits
    assert jbpfd.stop() == 0
    wait_until(lambda: not status_of(pid), 20, "the parser has ended with jbpfd")


def test_parser_ends_with_a_jbpfd_that_is_killed(daemon):
    jbpfd = daemon(window="1s").start().wait_ready()
    pid = parser_of(jbpfd)
    jbpfd.stop(signal.SIGKILL)
    # Whoever inherits it may leave a zombie.
    wait_until(lambda: status_of(pid).get("State", "Z").startswith("Z"), 20, "the parser has ended, too")


# ---- failures -----------------------------------------------------------------------------------

def test_killed_parser_is_replaced_and_nothing_is_lost(daemon, programs):
    jbpfd = daemon(window="1s").start().wait_ready()
    before = kill_a_parser(jbpfd)
    spinner = programs.spinner("after")
    wait_named(jbpfd, spinner.pid)
    after, status, *_ = facts_of_a_parser(jbpfd)
    assert after != before
    # Started by a jbpfd that has given up its own rights by now.
    assert int(status["CapPrm"], 16) == 0 and status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    assert jbpfd.stop() == 0


def elf(sections, section_cnt=None, code=b"\xcc" * 512):
    """A 64-bit library with one code segment and the given (name, type, flags, bytes, link) sections."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name, *_ in sections) + b".shstrtab\0"
    sections = [("", 0, 0, b"", 0), *sections, (".shstrtab", 3, 0, names, 0)]
    at, body, headers, name_at = 0x1000, b"", b"", 0
    body = code
    for name, kind, flags, data, link in sections:
        name_at = names.index(b"\0" + name.encode() + b"\0") + 1 if name else 0
        headers += struct.pack("<IIQQQQIIQQ", name_at, kind, flags, at if flags & 4 else 0, at + len(body),
                               len(data), link, 0, 1, 24 if kind in (2, 11) else 0)
        body += data
    count = len(sections) if section_cnt is None else section_cnt
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 64, at + len(body), 0, 64, 56, 1,
                         64, count, len(sections) - 1)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, at + len(code), at + len(code), 4096)
    return (header + segment).ljust(at, b"\0") + body + headers


def symbols(names):
    """.symtab over the code, one function per name, and its strings."""
    strings, table = b"\0", b"\0" * 24
    step = max(1, 512 // len(names))
    for i, name in enumerate(names):
        table += struct.pack("<IBBHQQ", len(strings), 0x12, 0, 1, 0x1000 + i * step % 512, step)
        strings += name + b"\0"
    return [(".text", 1, 6, b"", 0), (".symtab", 2, 0, table, 3), (".strtab", 3, 0, strings, 0)]


def hostile_files(folder):
    packed = lzma.compress(bytes(48 << 20), preset=0)
    deep = b"_Z1f" + b"P" * 3500 + b"i"
    wide = b"_ZN" + b"1a" * 1500 + b"Ev"
    files = {
        "garbage.so": b"\x7fELF\2\1\1" + bytes(range(256)) * 40,
        "sections.so": elf(symbols([b"one"]), section_cnt=65535),
        "bomb.so": elf([(".text", 1, 6, b"", 0), (".gnu_debugdata", 1, 0, packed, 0)]),
        "names.so": elf(symbols([deep, wide, b"_Z" + b"N" * 4000, b"\x1b[31mred;\n"])),
        "libjvm.so": elf([(".text", 1, 6, b"", 0), (".dynsym", 11, 0, b"\xff" * 4800, 3), (".dynstr", 3, 0, b"x", 0)]),
        "libc.so.6": elf(symbols([b"x"] * 20000)),
        "link.so": elf([(".text", 1, 6, b"", 0), (".gnu_debuglink", 1, 0, b"../../etc/shadow\0\0\0\0", 0)]),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in files]


# Maps each file as code, runs none of it, and spins.
MAPPER = """
import ctypes, mmap, os, sys
for path in sys.argv[1:]:
    fd = os.open(path, os.O_RDONLY)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    assert libc.mmap(None, os.path.getsize(path), 5, 2, fd, 0) != ctypes.c_void_p(-1).value
print("mapped", flush=True)
while True:
    pass
"""


def test_hostile_files_cost_nobody_else_a_name(daemon, programs, tmp_path):
    files = hostile_files(tmp_path)
    jbpfd = daemon(window="1s").start().wait_ready()
    mapper = programs.start(sys.executable, "-c", MAPPER, *files)
    assert mapper.stdout.readline() == "mapped\n"
    wait_cpu([mapper.pid], 1)
    wait_until(lambda: jbpfd.has("--pid", mapper.pid), 60, "the process with hostile files is sampled")
    spinner = programs.spinner("innocent")
    wait_named(jbpfd, spinner.pid)
    assert jbpfd.process.poll() is None, jbpfd.log()
    assert jbpfd.stop() == 0
    assert "\x1b" not in jbpfd.log()
