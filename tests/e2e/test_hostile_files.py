# SPDX-License-Identifier: Apache-2.0
"""Files of hostile containers where the profiler looks: links that lead out in every part of a path,
things that are no files, files that grow, shrink or change while they are read, and what unpacks to
more than there is memory for. Canaries on the host have names that must be nowhere in the profile."""
import lzma
import os
import re
import socket
import stat
import struct
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

from harness.folded import kind, plain
from harness.hostile import LATEST, WINDOW, Watched, heavy
from harness.jit import jit_command, jit_processes
from harness.programs import AIDS, BIN, PATIENCE, run, wait_until

pytestmark = pytest.mark.live

SECONDS = 900
UNKNOWN = "[unknown jit]"
USER = 12345
MOST_MIB = 300  # a map of 256 MiB may be read; nothing of that size is kept
HUGE_MAPS = 4
ENOUGH = 8  # samples in JIT code
KINDS = ("socket", "device", "hard_link", "names", "invalid", "too_many", "growing", "shrinking", "replaced",
         *(f"huge_{i}" for i in range(HUGE_MAPS)))
OUTWARD = ("absolute", "dotdot", "magic")
CANARY = "canary_of_the_host"


class Spinner:
    """One jit_spinner of a container: its host pid, its code, and its map as seen from here."""

    def __init__(self, pid, first, second, size, inner):
        self.pid, self.first, self.second, self.size = pid, first, second, size
        self.map = Path(f"/proc/{pid}/root/tmp/perf-{inner}.map")

    def text(self, name):
        return f"{self.first} {self.size} {name}::first\n{self.second} {self.size} {name}::second\n".encode()

    def write(self, *pieces):
        fresh = self.map.with_suffix(".new")
        with open(fresh, "wb") as file:
            for piece in pieces:
                file.write(piece)
            os.fchown(file.fileno(), USER, USER)
        os.rename(fresh, self.map)


# ---- what is planted ------------------------------------------------------------------------------

def plant_socket(spinner, _):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(spinner.map))
    os.chown(spinner.map, USER, USER)


def plant_device(spinner, _):
    """/dev/zero: who reads it never ends."""
    os.mknod(spinner.map, 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    os.chown(spinner.map, USER, USER)


def plant_hard_link(spinner, _):
    """To a file of another user, which is as good a map as any."""
    victim = spinner.map.with_suffix(".victim")
    victim.write_bytes(spinner.text("HardLink"))
    os.chown(victim, 4242, 4242)
    os.link(victim, spinner.map)


def plant_names(spinner, _):
    """Longer than a line of folded text may be, and ending in what looks like a count."""
    spinner.write(f"{spinner.first} {spinner.size} Long::{'x' * 70000} 12\n".encode(),
                  f"{spinner.second} {spinner.size} Wide::{'y' * 15000} 34\n".encode())


def plant_invalid(spinner, _):
    spinner.write(f"{spinner.first} {spinner.size} ".encode(), b"Invalid::\xff\xc0\xaf\xed\xa0\x80\xc2\x9b\xf8;\x1b[2J\x00 7\n",
                  spinner.text("Plain")[spinner.text("Plain").index(b"\n") + 1:])


def plant_too_many(spinner, _):
    """Lines that overlap one another, more than may be."""
    spinner.write(*([f"{spinner.first} {spinner.size} Many::{number}\n".encode() for number in range(1000)] * 2100))


def plant_huge(spinner, _):
    """As large as a map may just be, in names that are all different."""
    spinner.write(spinner.text("Huge"), *(b"%x 10 %s\n" % (0x1000 * number, b"%015d" % number * 1000)
                                          for number in range(1, heavy(8000, 16000))))


def grow(spinner, stopped):
    with open(spinner.map, "wb", buffering=0) as file:
        os.fchown(file.fileno(), USER, USER)
        file.write(spinner.text("Growing"))
        for number in range(1 << 22):
            if stopped.is_set():
                return
            file.write(f"{0x1000 * number:x} 10 Growing::{number}\n".encode() * 8)
            time.sleep(0.002)


def shrink(spinner, stopped):
    whole = spinner.text("Shrinking") + b"".join(b"%x 10 filler\n" % (0x10 * number) for number in range(200000))
    with open(spinner.map, "wb", buffering=0) as file:
        os.fchown(file.fileno(), USER, USER)
        while not stopped.is_set():
            os.pwrite(file.fileno(), whole, 0)
            time.sleep(0.01)
            os.ftruncate(file.fileno(), 40)
            time.sleep(0.001)


def replace(spinner, stopped):
    number = 0
    while not stopped.is_set():
        number += 1
        spinner.write(spinner.text("Replaced"), b"%x 10 filler\n" % number)
        time.sleep(0.005)


CHANGING = {"growing": grow, "shrinking": shrink, "replaced": replace}


def plant(kind, spinner, stopped):
    """Prepares a case; the thread that goes on changing it, if any."""
    if kind not in CHANGING:
        globals()[f"plant_{kind.rstrip('_0123456789')}"](spinner, stopped)
        return None
    # Whoever ends the tests does not wait for one that nobody has told to stop.
    thread = threading.Thread(target=CHANGING[kind], args=(spinner, stopped), daemon=True)
    thread.start()
    return thread


# ---- the scene ------------------------------------------------------------------------------------

def program_with_debug_file(folder, canary_folder):
    """native_spinner without symbols, and a debug file of its build id, on the host, that gives it
    a canary's names. Path of the program."""
    program = folder / "without_symbols"
    debug = canary_folder / "canary.debug"
    made = [run("objcopy", "--only-keep-debug", "--redefine-sym", f"burn_seventy={CANARY}", AIDS / "native_spinner", debug),
            run("objcopy", "--strip-all", AIDS / "native_spinner", program),
            run("objcopy", f"--add-gnu-debuglink={debug}", program)]
    assert not any(step.returncode for step in made), made
    program.chmod(0o755)
    build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", program).stdout).group(1)
    assert CANARY in run("nm", debug).stdout
    return program, f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"


def with_bomb(folder):
    """A program with MiniDebugInfo of 1 MB that unpacks to gigabytes."""
    packer = lzma.LZMACompressor(preset=1)
    packed = b"".join(packer.compress(bytes(16 << 20)) for _ in range(heavy(12, 256))) + packer.flush()
    bomb = folder / "bomb.xz"
    bomb.write_bytes(packed)
    program = folder / "bomb"
    made = run("objcopy", "--strip-all", "--add-section", f".gnu_debugdata={bomb}", AIDS / "native_spinner", program)
    assert made.returncode == 0, made.stderr
    program.chmod(0o755)
    return program


def with_sections(folder):
    """A program that says it has four thousand million sections, in a file of 3 GiB without blocks."""
    program = folder / "sections"
    data = bytearray((AIDS / "native_spinner").read_bytes())
    at = 2 << 30
    struct.pack_into("<Q", data, 40, at)  # e_shoff
    struct.pack_into("<HH", data, 60, 0, 0xffff)  # e_shnum: in the first section; e_shstrndx: too
    with open(program, "wb") as file:
        file.write(data)
        file.seek(at)
        file.write(struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 0xffffffff, 0xfffffff0, 0, 0, 0))
        file.truncate(3 << 30)
    program.chmod(0o755)
    return program


class Scene:
    def __init__(self, engine, app, module_daemon, canaries):
        self.app, self.canaries = app, canaries
        self.stopped = threading.Event()
        self.spinners, self.threads, self.witness = {}, [], None
        try:
            self.begin(engine, module_daemon)
        except BaseException:
            self.end()
            raise

    def begin(self, engine, module_daemon):
        folder = self.app / "files"
        folder.mkdir(exist_ok=True)
        maps = engine.start("maps", jit_command(len(KINDS), SECONDS, 6))
        self.out = {kind: self.outward(engine, kind) for kind in OUTWARD}
        self.debug = self.debug_link(engine, folder)
        self.broken = {}
        for make in (with_bomb, with_sections):
            program = make(folder)
            self.broken[program.name] = engine.start(f"broken-{program.name}", [f"/app/files/{program.name}", str(SECONDS), "6"])
        self.rewriter = engine.start_ready("rewriter", ["/app/hostile_process", "rewrite", str(SECONDS), "/tmp"], "READY",
                                           options=["--tmpfs", "/tmp:exec"])
        self.witness = subprocess.Popen([AIDS / "native_spinner", str(SECONDS), "8"])
        spinners = [Spinner(*process) for process in jit_processes(maps, len(KINDS))]
        for kind, spinner in zip(KINDS, spinners):
            self.spinners[kind] = spinner
            self.threads.append(plant(kind, spinner, self.stopped))
        self.daemon = module_daemon("--log-level", "debug", window=f"{WINDOW}s", name="files").start().wait_ready()
        self.watched = Watched(self.daemon)

    def outward(self, engine, kind):
        """A container whose /tmp leads to a folder of the host, where a map of its pid lies."""
        target = {"absolute": self.canaries, "dotdot": f"../../../../../../..{self.canaries}",
                  "magic": f"/proc/1/root{self.canaries}"}[kind]
        container = engine.start_ready(f"out-{kind}", [
            "sh", "-c", f"mv /tmp /old && ln -s {target} /tmp && exec /app/jit_spinner {SECONDS} 6"], "JIT", user="0:0")
        [spinner] = [Spinner(container.pid, *match, "1") for match in
                     re.findall(r"^JIT (\w+) (\w+) (\w+) pid 1$", container.logs(), re.M)]
        with open(self.canaries / "perf-1.map", "ab") as file:
            file.write(spinner.text(CANARY))
        return spinner

    def debug_link(self, engine, folder):
        """A container that has links to the host at each place of a debug file."""
        program, by_id = program_with_debug_file(folder, self.canaries)
        places = [by_id, "/app2/canary.debug", "/app2/.debug/canary.debug", "/usr/lib/debug/app2/canary.debug"]
        links = " && ".join(f"mkdir -p {os.path.dirname(place)} && ln -sf {self.canaries}/canary.debug {place}" for place in places)
        return engine.start("debug-links", [
            "sh", "-c", f"{links} && cp /app/files/{program.name} /app2/ && exec /app2/{program.name} {SECONDS} 6"], user="0:0")

    def end(self):
        self.stopped.set()
        for thread in filter(None, self.threads):
            thread.join()
        if self.witness:
            self.witness.kill()
            self.witness.wait()


@pytest.fixture(scope="module")
def canaries():
    """A folder of the host that everybody may read, outside of every container."""
    with tempfile.TemporaryDirectory(prefix="jbpf-canaries-", dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.fixture(scope="module")
def scene(engine, app, module_daemon, canaries):
    before = {path.name: path.read_bytes() for path in canaries.iterdir()}
    assert not before
    scene = Scene(engine, app, module_daemon, canaries)
    try:
        looked_at = [spinner for kind, spinner in scene.spinners.items() if not kind.startswith("huge")]
        scene.daemon.wait_samples({spinner.pid: ENOUGH for spinner in [*looked_at, *scene.out.values()]})
        yield scene
    finally:
        scene.end()


def jit_names(scene, spinner, wanted=()):
    """jit_names_now() once there are enough samples to judge, and one of each name in `wanted`."""
    def are_enough():
        found = jit_names_now(scene, spinner) if scene.daemon.has("--pid", spinner.pid) else {}
        return sum(found.values()) >= ENOUGH and all(any(name.startswith(one) for name in found) for one in wanted)
    wait_until(are_enough, LATEST, f"pid {spinner.pid} has samples in JIT code, {wanted}")
    return jit_names_now(scene, spinner)


def jit_names_now(scene, spinner):
    """Name -> samples of what spin_for() calls in JIT code. What interrupts it there is the kernel's."""
    found = {}
    for frames, count in scene.daemon.dump("--pid", spinner.pid).stacks:
        names = [plain(frame) for frame in frames if kind(frame) != "k"]
        if "spin_for" in names[:-1]:
            callee = names[names.index("spin_for") + 1]
            if callee == UNKNOWN or not callee.startswith(("now_ns", "clock_gettime", "__", "[", "libc.so.6+")):
                found[callee] = found.get(callee, 0) + count
    return found


# ---- tests ----------------------------------------------------------------------------------------

def test_daemon_goes_on_within_its_limits(scene):
    scene.watched.assert_goes_on(scene.witness.pid, "burn_seventy")
    scene.watched.assert_sound()


@pytest.mark.long("memory of the daemon is the host's, too")
def test_daemon_goes_on_within_its_limits_figures(scene):
    scene.watched.assert_goes_on(scene.witness.pid, "burn_seventy")
    scene.watched.assert_bounded(MOST_MIB)


@pytest.mark.parametrize("kind", OUTWARD)
def test_tmp_that_leads_to_the_host_names_nothing(scene, kind):
    names = jit_names(scene, scene.out[kind])
    assert set(names) == {UNKNOWN}, names


def test_links_to_a_debug_file_of_the_host_name_nothing(scene):
    pid = scene.debug.pid
    scene.daemon.wait_samples({pid: 5}, seconds=LATEST)
    folded = scene.daemon.dump("--pid", pid)
    assert not folded.with_frame(CANARY) and not folded.with_frame("burn_thirty"), folded


def test_no_canary_is_anywhere(scene):
    for text in (scene.daemon.dump_raw().stdout, scene.daemon.list_text(), scene.daemon.status("--all"),
                 scene.daemon.dump_raw("--format", "json").stdout):
        assert CANARY not in text
    assert sorted(path.name for path in scene.canaries.iterdir()) == ["canary.debug", "perf-1.map"]


@pytest.mark.parametrize("kind", ["socket", "device", "hard_link"])
def test_what_is_no_map_of_its_own_names_nothing_and_it_is_said(scene, kind):
    spinner = scene.spinners[kind]
    names = jit_names(scene, spinner)
    assert set(names) == {UNKNOWN}, names

    def problem():
        """Known as soon as the parser has looked, which on a busy host is after the first samples."""
        [stream] = [one for one in scene.daemon.list_json("--pid", spinner.pid) if one["comm"] == "jit_spinner"]
        return stream.get("jit_problem", "")
    wait_until(lambda: "refused" in problem(), LATEST, lambda: f"it is said that the map is refused, but {problem()!r}")
    assert spinner.map.lstat().st_uid == (4242 if kind == "hard_link" else USER)


def test_more_lines_than_may_be_name_nothing_wrong(scene):
    names = jit_names(scene, scene.spinners["too_many"])
    assert all(re.fullmatch(r"Many::\d+|\[unknown jit\]", name) for name in names), names


@pytest.mark.parametrize("kind", ["growing", "shrinking", "replaced"])
def test_map_that_changes_while_it_is_read_names_right_or_not_at_all(scene, kind):
    names = jit_names(scene, scene.spinners[kind])
    word = kind.capitalize()
    assert set(names) <= {f"{word}::first", f"{word}::second", UNKNOWN}, names


def test_names_of_any_length_and_bytes_leave_text_that_can_be_read(scene):
    for kind in ("names", "invalid"):
        raw = subprocess.run([BIN / "jbpf-dump", "--store", scene.daemon.store, "--since", scene.daemon.since(), "--pid",
                              str(scene.spinners[kind].pid)], stdout=subprocess.PIPE, timeout=60 * PATIENCE).stdout
        raw.decode("utf-8")  # strictly
        assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", raw)
        assert max(map(len, raw.splitlines())) <= 60 << 10
        for line in raw.splitlines():
            assert not re.search(rb"\s\d+(;| \d+$)", line.rpartition(b" ")[0] + b";"), line[-200:]
    jit_names(scene, scene.spinners["names"], wanted=["Wide::"])


@pytest.mark.parametrize("name", ["bomb", "sections"])
def test_program_that_is_more_than_it_seems_costs_its_names_only(scene, name):
    pid = scene.broken[name].pid

    def is_profiled():
        """By a symbol, by where a function of its unwind information begins, or by the file alone."""
        return scene.daemon.has("--pid", pid) and any(frame in (f"[{name}]", "main") or frame.startswith(f"{name}+0x")
                                                      for frame in scene.daemon.dump("--pid", pid).names())
    wait_until(is_profiled, LATEST, f"{name} is profiled")
    assert scene.broken[name].running()


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
def test_program_that_is_rewritten_while_it_is_read(scene):
    assert scene.rewriter.running(), scene.rewriter.logs()
    pid = scene.rewriter.pid
    wait_until(lambda: scene.daemon.has("--pid", pid) and scene.daemon.dump("--pid", pid).with_frame("work_of_file_a"),
               LATEST, "it is profiled by name")


def test_containers_are_as_they_were(scene):
    """Nothing was written, taken or left open in them."""
    for spinner in scene.out.values():
        names = os.listdir(f"/proc/{spinner.pid}/root/old")
        assert names == [], names
    assert all(os.path.exists(f"/proc/{spinner.pid}") for spinner in scene.spinners.values())
    folder = f"/proc/{scene.spinners['names'].pid}/root/tmp"
    assert all(name.startswith("perf-") for name in os.listdir(folder)), os.listdir(folder)


@pytest.mark.long("memory of the daemon is the host's, too")
def test_daemon_still_lives_figures(scene):
    scene.watched.assert_bounded(MOST_MIB)


def test_daemon_still_lives_and_ends_by_itself(scene):
    scene.watched.assert_goes_on(scene.witness.pid, "burn_seventy")
    scene.watched.assert_sound()
    assert scene.daemon.stop(seconds=LATEST) == 0, scene.daemon.log()[-2000:]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", scene.daemon.log())
