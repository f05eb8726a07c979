# SPDX-License-Identifier: Apache-2.0
"""Blocked threads: where jbpf says that they wait is, method by method from the first to the last, where the JVM itself
says so (Thread.print, what jstack shows). With and without frame pointers. JBPF_BLOCKED_ALL=1 takes all JDKs."""
import os
import re

import pytest

from harness.containers import JDKS, java
from harness.folded import Folded, kind, plain
from harness.jvm_truth import ask
from harness.programs import BIN, run

pytestmark = pytest.mark.live

IS_ALL = os.environ.get("JBPF_BLOCKED_ALL") == "1"
SECONDS = 2
THREADS = 23  # of Blocked.java
THREAD = re.compile(r'^"(b-[a-z]+)"', re.M)
FRAME = re.compile(r"^\tat ([^(\n]+)\(", re.M)


def canonical(name):
    """As jbpf writes names: without module, and without what numbers a class that the JVM made up."""
    name = re.sub(r"^(\w[\w.]*@[^/]*|app/)/", "", name)
    return re.sub(r"/0x[0-9a-f]+", "", re.sub(r"\$\$Lambda[$/][^.]*", "$$Lambda", name))


def said_by_jvm(pid):
    """{thread: its methods, the first one first}"""
    parts = THREAD.split(ask(pid, "Thread.print"))[1:]
    return {name: [canonical(frame) for frame in reversed(FRAME.findall(text.split("\n\n")[0]))]
            for name, text in zip(parts[::2], parts[1::2])}


def recorded(path, pid):
    """{thread: [(its methods, all frames, count)]}. Where files took too long to be read, on a busy host, first stacks
    end in libc, and the next recording has another chance."""
    for _ in range(10):
        result = run(BIN / "jbpf", "record", "--event", "off-cpu", "--idle", "--threads", "-p", pid, "-d", f"{SECONDS}s",
                     "--format", "folded", "-o", path)
        assert result.returncode == 0, result.stderr
        found = {}
        for frames, count in Folded(path.read_text()).stacks:
            methods = [canonical(plain(frame)) for frame in frames if kind(frame) in "j10i"]
            found.setdefault(frames[0], []).append((methods, ";".join(frames), count))
        if all(methods for name, stacks in found.items() if name.startswith("b-") for methods, _, _ in stacks):
            break
    return found


@pytest.mark.long("at most 2 % wrong and 46 samples in 2 s: how soon its files are read and passes come, is the host's")
@pytest.mark.parametrize("has_flag", [False, True], ids=["noflag", "flag"])
@pytest.mark.parametrize("jdk", JDKS if IS_ALL else [8, 25])
def test_blocked_threads_are_where_the_jvm_says_they_are(engine, tmp_path, jdk, has_flag):
    command = java("Blocked", 600, frame_pointer=has_flag, inline=True)
    container = engine.start_ready(f"blocked-{jdk}-{has_flag}", command, "READY", jdk=jdk)
    pid = container.pid
    found = recorded(tmp_path / "waits.folded", pid)
    truth = said_by_jvm(pid)
    container.remove()
    assert len(truth) == THREADS and all(truth.values()), truth
    assert set(truth) <= set(found), set(truth) - set(found)
    total = sum(count for thread in truth for _, _, count in found[thread])
    wrong = [(thread, count, truth[thread], text) for thread in truth for methods, text, count in found[thread]
             if methods != truth[thread]]
    depth = sum(map(len, truth.values()))
    print(f"JDK {jdk}, flag {has_flag}: {total} samples of {len(truth)} threads and {depth} frames, {len(wrong)} wrong")
    assert total >= THREADS * SECONDS, found
    assert sum(count for _, count, _, _ in wrong) <= 0.02 * total, "\n".join(map(str, wrong[:5]))
