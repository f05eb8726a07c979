# SPDX-License-Identifier: Apache-2.0
"""What a JVM takes from its Java heap: by uprobes, for a recording that asks for it, and gone with it."""
import os
import pty
import re
import signal
import subprocess
from pathlib import Path

import pytest

from harness.containers import NEWEST_JDKS, java
from harness.folded import Folded, plain
from harness.programs import BIN, Lacking, run, wait_until

BREAKPOINT = 0xcc  # int3 of x86
PAGE = 4096
CLASSES = {"growThree": "byte[]", "growTwo": "long[][]", "growOne": "GrowHeap[]"}


def grow_heap(engine, name, **options):
    """A JVM that allocates 640 KiB at a time, outside of threads' buffers, once /tmp/go is there."""
    command = java("GrowHeap", "/tmp/go", flags=["-XX:+UseG1GC", "-XX:G1HeapRegionSize=1m", "-Xms32m", "-Xmx1g"])
    return engine.start_ready(name, [part for part in command if part != "-Xmx96m"], "READY", **options)


class Recording:
    """jbpf record without an end, once it has begun."""
    def __init__(self, pid, path):
        self.log = b""
        self.terminal, slave = pty.openpty()
        self.process = subprocess.Popen([BIN / "jbpf", "record", "--event", "alloc", "-p", str(pid), "-d", "1h", "-o", path],
                                        stdout=subprocess.DEVNULL, stderr=slave)
        os.close(slave)
        os.set_blocking(self.terminal, False)

    def said(self):
        try:
            self.log += os.read(self.terminal, 65536)
        except OSError:
            pass  # nothing new, or it has ended
        return self.log.decode(errors="replace")

    def wait_begun(self):
        wait_until(lambda: "Ctrl-C ends it here" in self.said() or self.process.poll() is not None, 120,
                   lambda: f"the recording has begun: {self.log}")
        assert self.process.poll() is None, self.log

    def end(self, number):
        self.process.send_signal(number)
        code = self.process.wait(120)
        self.said()
        os.close(self.terminal)
        return code


def is_nameless(frame):
    """As "[not named]", or the JVM's loop that runs any method."""
    return frame.startswith("[") or plain(frame) == "Interpreter"


def missing_of(found, said):
    """What is in the sum and, as the recording itself says, in no method: what could not be named in time."""
    nameless = found.samples(lambda frames: any(map(is_nameless, frames)) and not any("GrowHeap." in frame for frame in frames))
    lost = re.search(r"lost: ([\d.]+) MiB", said)
    return nameless + ((float(lost[1]) + 0.05) * 1024 if lost else 0)  # it is rounded


def assert_allocation_is_told(engine, tmp_path, jdk):
    container = grow_heap(engine, f"alloc-{jdk}", jdk=jdk)
    recording = Recording(container.pid, tmp_path / "out.folded")
    recording.wait_begun()
    engine.docker("exec", container.id, "touch", "/tmp/go")
    wait_until(lambda: "TRUTH" in container.logs(), 120, "it has grown")
    assert recording.end(signal.SIGINT) == 0, recording.log
    said = recording.log.decode()
    assert "sums are right, shares of methods lean" in said and " MiB of allocation" in said, said
    truth = [int(number) // 1024 for number in container.logs().split("TRUTH ")[1].split()[:3]]
    found = Folded((tmp_path / "out.folded").read_text())
    missing = missing_of(found, said)
    for (method, name), true in zip(CLASSES.items(), truth):
        mine = found.with_frame(f"GrowHeap.{method}")
        assert true - missing <= mine <= true, f"{method}: {mine} KiB, truth {true}, missing {missing}: {said} {found}"
        if not mine:
            raise Lacking(f"nothing of {method} was named in time: {said} {found}")
        of_class = found.samples(lambda frames: frames[-1] == name and any(method in frame for frame in frames))
        assert of_class == mine, f"{method} allocates {name}: {found}"
    assert container.running()


@pytest.mark.live
def test_what_a_jvm_allocates_is_told_by_method_and_class(engine, tmp_path):
    assert_allocation_is_told(engine, tmp_path, 17)


@pytest.mark.live
@pytest.mark.long("more JVMs, with the same verdict")
@pytest.mark.parametrize("jdk", [11, 21, 25, *NEWEST_JDKS])
def test_what_other_jvms_allocate_is_told_by_method_and_class(jdk, engine, tmp_path):
    assert_allocation_is_told(engine, tmp_path, jdk)


def breakpoints(pid):
    """Bytes of libjvm.so's code in this process that are not those of its file, but breakpoints."""
    found = []
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        place, rights, offset, _, _, *path = line.split()
        if not path or not path[0].endswith("/libjvm.so") or "x" not in rights:
            continue
        start, end = (int(part, 16) for part in place.split("-"))
        with open(f"/proc/{pid}/mem", "rb") as memory, open(f"/proc/{pid}/map_files/{start:x}-{end:x}", "rb") as file:
            memory.seek(start)
            file.seek(int(offset, 16))
            mine, true = memory.read(end - start), file.read(end - start)
        for page in range(0, len(true), PAGE):
            if mine[page:page + PAGE] != true[page:page + PAGE]:
                found += [at for at in range(page, page + PAGE) if mine[at] != true[at] and mine[at] == BREAKPOINT]
    return found


@pytest.mark.live
def test_breakpoints_go_with_the_recorder_however_it_ends(engine, tmp_path):
    container = grow_heap(engine, "alloc-killed")
    assert not breakpoints(container.pid)
    recording = Recording(container.pid, tmp_path / "out.folded")
    wait_until(lambda: len(breakpoints(container.pid)) == 2 or recording.process.poll() is not None, 120,
               lambda: f"both are set: {recording.said()}")
    recording.end(signal.SIGKILL)
    wait_until(lambda: not breakpoints(container.pid), 120, "they are gone")
    engine.docker("exec", container.id, "touch", "/tmp/go")
    wait_until(lambda: "TRUTH" in container.logs(), 120, "the JVM goes on")


@pytest.mark.live
def test_who_cannot_be_recorded_is_told_why(engine, tmp_path):
    """Debian's libjvm.so of JDK 8 has no symbols; a process without a libjvm.so has none, either."""
    bare = subprocess.Popen(["sleep", "600"])
    try:
        old = grow_heap(engine, "alloc-8", jdk=8)
        for pid, why in ((old.pid, "no symbols of the functions that allocate"), (bare.pid, "it is no HotSpot JVM")):
            result = run(BIN / "jbpf", "record", "--event", "alloc", "-p", pid, "-d", "1s", "-o", tmp_path / "x")
            assert result.returncode == 1 and why in result.stderr, result.stderr
        assert not breakpoints(old.pid)
    finally:
        bare.kill()
        bare.wait()
    off = grow_heap(engine, "alloc-off", options=["-e", "JBPF_PROFILE=off"])
    result = run(BIN / "jbpf", "record", "--event", "alloc", "-p", off.pid, "-d", "1s", "-o", tmp_path / "x")
    assert result.returncode == 1 and "opted out" in result.stderr, result.stderr
    result = run(BIN / "jbpf", "record", "--event", "alloc", "--ignore-opt-out", "-p", off.pid, "-o", tmp_path / "x")
    assert result.returncode == 2 and "sets breakpoints" in result.stderr, result.stderr
    assert not breakpoints(off.pid)
