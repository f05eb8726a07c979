# SPDX-License-Identifier: Apache-2.0
"""What the BPF side takes of real JVMs: the Method* of every interpreted frame, and a leaf that does
not make each sample a stack of its own."""
import math
import platform
import re
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from live import AIDS, END_BAD_FP, END_ROOT, TOP, assert_nothing_lost, load, sample as live_sample, settled, total

pytestmark = pytest.mark.live

METHOD_BIT = 1 << 63
JAVA = TOP / "tests" / "e2e" / "java"

if not shutil.which("javac"):
    pytest.skip("no JDK on this host", allow_module_level=True)


@contextmanager
def jvm(name, begin, *options):
    """A running JVM, and where hotspot_dump finds its code: [low, high) of all, and of the interpreter."""
    with tempfile.TemporaryDirectory() as classes:
        subprocess.run(["javac", "--release", "8", "-Xlint:-options", "-d", classes, JAVA / f"{name}.java"],
                       check=True)
        command = ["java", "-XX:+PreserveFramePointer", "-Xmx64m", *options, "-cp", classes, name, "900"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            for line in process.stdout:
                if line.startswith(begin):
                    break
            dump = AIDS.parent / "tools" / "hotspot_dump"
            text = subprocess.check_output([dump, str(process.pid), "--ranges"], text=True)
            ranges = dict(re.findall(r"^(\w+)=0x([0-9a-f]+-0x[0-9a-f]+)$", text, re.M))
            numbers = [int(part, 16) for key in ("code", "interpreter") for part in ranges[key].split("-")]
            yield process, numbers
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def sample(process, ranges, until):
    """Counts from when the range was known, until that is true of them."""
    def known(data):
        return [item for item in settled(data, process.pid) if "user" in item]
    data = live_sample("--range", ":".join(f"{number:x}" for number in ranges), "--pid", process.pid,
                       "--frequency", 299, until=lambda data: until(known(data)))
    assert_nothing_lost(data)
    return data, known(data)


def interpreted(counts, ranges):
    """(depth, word after its address, samples) of each frame in the interpreter."""
    for item in counts:
        words = item["user"]["ips"]
        for depth, (word, after) in enumerate(zip(words, words[1:] + [0])):
            if ranges[2] <= word < ranges[3]:
                yield depth, after, item["count"]


def is_unmade(depth, after):
    """Between mov rbp, rsp and the push of its Method* a frame holds what was there before
    (generate_fixed_frame(), templateInterpreterGenerator_x86.cpp)."""
    return depth == 0 and not after & METHOD_BIT


def test_every_interpreted_frame_has_its_method():
    def methods(counts):
        return {after & ~METHOD_BIT for depth, after, _ in interpreted(counts, ranges) if not is_unmade(depth, after)}
    with jvm("Interp", "READY", "-Xint") as (process, ranges):
        # main, work, one to six, a constructor, grind; and what they call of the JDK.
        _, counts = sample(process, ranges, until=lambda counts: total(counts) > 300 and len(methods(counts)) >= 8)
        for item in counts:
            words = item["user"]["ips"]
            for word, after in zip(words, words[1:]):
                assert ranges[2] <= word < ranges[3] or not after & METHOD_BIT, f"{word:x}"
        assert all(after & METHOD_BIT or is_unmade(depth, after) for depth, after, _ in interpreted(counts, ranges))
        assert len(methods(counts)) < 200
        # They are in memory of this process that is not code.
        maps = [line.split()[0].split("-") for line in Path(f"/proc/{process.pid}/maps").read_text().splitlines()]
        for method in methods(counts):
            assert any(int(low, 16) <= method < int(high, 16) for low, high in maps)
            assert not ranges[0] <= method < ranges[1]


@pytest.mark.long("one sample in a hundred may lack it, and frames per sample: shares")
def test_every_interpreted_frame_has_its_method_figures():
    with jvm("Interp", "READY", "-Xint") as (process, ranges):
        _, counts = sample(process, ranges, until=lambda counts: total(counts) > 1000)
    frames = list(interpreted(counts, ranges))
    unmade_cnt = sum(count for depth, after, count in frames if is_unmade(depth, after))
    # One in a hundred, and five standard errors of so few.
    most = 0.01 * total(counts)
    assert unmade_cnt <= most + 5 * math.sqrt(most), (unmade_cnt, total(counts))
    assert sum(count for _, _, count in frames) - unmade_cnt > 5 * total(counts)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the stub's frame is like any other elsewhere")
@pytest.mark.parametrize("is_stub", [True, False], ids=["stub", "other code"])
def test_a_stack_goes_on_behind_the_stub_of_an_entry_barrier_alone(is_stub):
    """Its frame has a cookie, ~0, where others have their return address, and that a word further up. The same words in
    the frame of other code are no frame: two ints of -1 are such words, too."""
    leaf, code = 0x5000000000, 0x5000010000
    words = [code + 16 * i for i in range(1, 9)]
    told = [f"{word:x}" for word in words]
    told[2:3] = [told[2] + "stub" * is_stub, "f" * 16]
    with load(900, f"{leaf:x}", *told, program="fake_stack") as process:
        _, counts = sample(process, [code, code + 4096, code + 4096, code + 8192],
                           until=lambda counts: total(counts) > 20)
    for item in counts:
        found, end = item["user"]["ips"], item["user"]["end"]
        wanted = (words, END_ROOT) if is_stub else (words[:3], END_BAD_FP)
        assert (found, end) == ([leaf, *wanted[0]], wanted[1]), [f"{word:x}" for word in found]


def sample_callers(least):
    """(data, counts, ranges) of compiled code that calls."""
    options = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Callers*.*"]
    with jvm("Callers", "EDGE", *options) as (process, ranges):
        return *sample(process, ranges, until=lambda counts: total(counts) > least), ranges


def test_the_leaf_is_taken_of_all_and_makes_few_stacks_more():
    data, counts, ranges = sample_callers(300)
    missing = [item for item in counts
               if (ranges[0] <= item["user"]["ips"][0] < ranges[1]) != ("leaf_words" in item["user"])]
    assert missing == []
    assert data["counters"]["leaf_unread"] == 0


@pytest.mark.long("a ratio of few stacks, by where the ticks hit")
def test_the_leaf_is_taken_of_all_and_makes_few_stacks_more_figures():
    _, counts, _ = sample_callers(2000)
    chains, stacks = set(), set()
    for item in counts:
        user = item["user"]
        chain = (*user["ips"], user["end"])
        chains.add(chain)
        stacks.add((chain, *user.get("leaf_words", ()), user.get("leaf_code")))
    assert len(stacks) <= 1.1 * len(chains) + 2, (len(stacks), len(chains))
