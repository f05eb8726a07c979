# SPDX-License-Identifier: Apache-2.0
"""Perf maps that a hostile or broken container leaves for the profiler, in a real container.
The addresses are known (jit_spinner), so it is certain which name a frame should have."""
import os

import pytest

from harness.daemon import Daemon
from harness.folded import Folded, plain
from harness.jit import jit_command, jit_processes
from harness.programs import wait_until

pytestmark = pytest.mark.live

ENOUGH = 60  # samples: both of a case's functions are among them
UNKNOWN = "[unknown jit]"
HOST_FILE = "/var/tmp/jbpf-e2e-host-secret"


class Spinner:
    """A jit_spinner of a container, and its /tmp as the host sees it."""

    def __init__(self, process):
        self.pid, self.first, self.second, self.size, inner = process
        self.tmp = f"/proc/{self.pid}/root/tmp"
        self.map = f"{self.tmp}/perf-{inner}.map"

    def line(self, address, name):
        return f"{address} {self.size} {name}\n".encode()

    def write(self, content, owner=12345, path=None):
        path = path or self.map
        with open(path + ".new", "wb") as file:
            file.write(content)
            os.fchown(file.fileno(), owner, owner)
        os.rename(path + ".new", path)

    def both(self, one, two):
        return self.line(self.first, one) + self.line(self.second, two)


def prepare_good(spinner):
    spinner.write(spinner.both("Good::first(int)", "Good::second"))


def prepare_missing(spinner):
    pass


def prepare_fifo(spinner):
    os.mkfifo(spinner.map, 0o666)
    os.chown(spinner.map, 12345, 12345)


def prepare_directory(spinner):
    os.mkdir(spinner.map)


def prepare_link_to_host(spinner):
    """An absolute link: opened carelessly it leads to the host's file, which names the frames."""
    with open(HOST_FILE, "ab") as file:
        os.fchown(file.fileno(), 12345, 12345)
        file.write(spinner.both("Host::secret", "Host::secret"))
    os.symlink(HOST_FILE, spinner.map)


def prepare_link_to_shadow(spinner):
    os.symlink("/etc/shadow", spinner.map)


def prepare_link_inside(spinner):
    """A link within the container: a map that anybody may have put there is not taken either."""
    spinner.write(spinner.both("Linked::first", "Linked::second"), path=f"{spinner.tmp}/elsewhere")
    os.symlink("/tmp/elsewhere", spinner.map)


def prepare_foreign_owner(spinner):
    spinner.write(spinner.both("Foreign::first", "Foreign::second"), owner=4242)


def prepare_two_gib(spinner):
    spinner.write(spinner.both("Huge::first", "Huge::second"))
    os.truncate(spinner.map, 2 << 30)


def prepare_garbage(spinner):
    spinner.write(os.urandom(1 << 20) + b"\n" + b"\xff" * 100 + b" zz\n")


def prepare_half_written(spinner):
    spinner.write(spinner.line(spinner.first, "Half::first") +
                  spinner.line(spinner.second, "Half::second").rstrip(b"\n")[:-3])


def prepare_evil_names(spinner):
    spinner.write(spinner.both("Evil;first\x1b[31m\x07 12", "<script>alert(1)</script>\x01"))


def prepare_endless_line(spinner):
    spinner.write(spinner.line(spinner.first, "Long::first" + "x" * (8 << 20)) +
                  spinner.line(spinner.second, "Long::second"))


def prepare_absurd_sizes(spinner):
    spinner.write(f"{spinner.first} ffffffffffffffff Absurd::first\n"
                  f"fffffffffffffff0 {spinner.size} Absurd::wrap\n"
                  f"-{spinner.second} 10 Absurd::negative\n"
                  f"{spinner.second} {spinner.size}\n"
                  f"{'f' * 40} 1 Absurd::overflow\n".encode())


# How the names begin that must come; of the other cases nothing is named.
NAMES = {"good": ["Good::first", "Good::second"], "half_written": ["Half::first", UNKNOWN], "evil_names": ["Evil:first"],
         "endless_line": ["Long::second"]}
CASES = [name.removeprefix("prepare_") for name in list(globals()) if name.startswith("prepare_")]


@pytest.fixture(scope="module")
def profiled(engine, tmp_path_factory):
    """All cases at once under one daemon, which must live through them."""
    folder = tmp_path_factory.mktemp("maps")
    if os.path.lexists(HOST_FILE):
        os.unlink(HOST_FILE)
    daemon = Daemon(folder, window="2s")
    try:
        container = engine.start("maps", jit_command(len(CASES), 600, 10))
        spinners = {name: Spinner(process) for name, process in zip(CASES, jit_processes(container, len(CASES)))}
        assert len(spinners) == len(CASES), container.logs()
        for name in CASES:
            globals()[f"prepare_{name}"](spinners[name])
        daemon.start().wait_ready()
        daemon.spinners = spinners
        for name in CASES:
            wait_until(lambda: is_complete(name, found_jit_frames(daemon, name)), 120, f"{name} has its samples")
        daemon.alive = daemon.process.poll() is None
        daemon.code = daemon.stop()
        return daemon
    finally:
        daemon.stop()
        engine.remove_all()
        if os.path.lexists(HOST_FILE):
            os.unlink(HOST_FILE)


def found_jit_frames(daemon, name):
    """The names under spin_for, whose callee is always JIT code, or the kernel's when something interrupts it, with
    samples."""
    found = {}
    dumped = daemon.dump_raw("--pid", daemon.spinners[name].pid)
    for frames, count in Folded(dumped.stdout if dumped.returncode == 0 else "").stacks:
        names = [plain(frame) for frame in frames if not frame.endswith("_[k]")]
        if "spin_for" in names[:-1]:
            callee = names[names.index("spin_for") + 1]
            if not callee.startswith(("now_ns", "clock_gettime", "__", "[", "libc.so.6+")) or callee == UNKNOWN:
                found[callee] = found.get(callee, 0) + count
    return found


def is_complete(name, found):
    return sum(found.values()) >= ENOUGH and \
        all(any(one.startswith(begin) for one in found) for begin in NAMES.get(name, []))


def jit_frames(daemon, name):
    found = found_jit_frames(daemon, name)
    assert sum(found.values()) >= ENOUGH, f"{name}: {found} {daemon.dump('--pid', daemon.spinners[name].pid)}"
    return found


def test_daemon_lives_through_all_of_them(profiled):
    assert profiled.alive and profiled.code == 0, profiled.log()


def test_good_map_names_the_frames(profiled):
    names = set(jit_frames(profiled, "good"))
    assert {"Good::first(int)", "Good::second"} <= names or {"Good::first", "Good::second"} <= names, names


@pytest.mark.parametrize("name", ["missing", "fifo", "directory", "link_to_host", "link_to_shadow",
                                  "link_inside", "foreign_owner", "two_gib", "garbage"])
def test_frames_stay_visibly_unknown(profiled, name):
    assert set(jit_frames(profiled, name)) == {UNKNOWN}


def test_no_file_of_the_host_is_read_through_a_link(profiled):
    assert "Host::secret" not in profiled.dump_raw().stdout + profiled.list_text()
    assert "root:" not in profiled.dump_raw("--pid", profiled.spinners["link_to_shadow"].pid).stdout


def test_last_line_without_end_is_not_believed(profiled):
    names = set(jit_frames(profiled, "half_written"))
    assert "Half::first" in names
    assert not any(name.startswith("Half::sec") for name in names), names
    assert UNKNOWN in names


def test_names_cannot_break_the_text(profiled):
    text = profiled.dump_raw("--pid", profiled.spinners["evil_names"].pid).stdout
    assert "\x1b" not in text and "\x07" not in text and "\x01" not in text
    names = set(jit_frames(profiled, "evil_names"))
    assert any(name.startswith("Evil:first") for name in names), names
    html = profiled.dump_raw("--pid", profiled.spinners["evil_names"].pid, "--format", "html").stdout
    assert "<script>alert(1)" not in html
    svg = profiled.dump_raw("--pid", profiled.spinners["evil_names"].pid, "--format", "svg").stdout
    assert "<script>alert(1)" not in svg


def test_endless_line_does_not_hide_the_next_one(profiled):
    names = set(jit_frames(profiled, "endless_line"))
    assert "Long::second" in names, {name[:40] for name in names}


def test_absurd_numbers_name_nothing_wrong(profiled):
    names = set(jit_frames(profiled, "absurd_sizes"))
    assert names <= {UNKNOWN, "Absurd::first"}, names
