# SPDX-License-Identifier: Apache-2.0
"""What the BPF side takes of real JVMs: the Method* of every interpreted frame, and a leaf that does
not make each sample a stack of its own."""
import math
import re
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from live import AIDS, TOP, assert_nothing_lost, of_pid, sample as live_sample, total

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
        command = ["java", "-XX:+PreserveFramePointer", "-Xmx64m", *options, "-cp", classes, name, "60"]
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


def sample(process, ranges, *args):
    """Counts from when the range was known."""
    def known(data):
        return [item for item in of_pid(data, process.pid) if item["window"] > 0]
    data = live_sample("--range", ":".join(f"{number:x}" for number in ranges), "--pid", process.pid,
                       "--windows", 5, *args, until=lambda data: total(known(data)) > 100)
    assert_nothing_lost(data)
    return data, known(data)


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
def test_every_interpreted_frame_has_its_method():
    with jvm("Interp", "READY", "-Xint") as (process, ranges):
        _, counts = sample(process, ranges, "--seconds", 4, "--frequency", 299)
        methods = set()
        frame_cnt = 0
        unmade_cnt = 0
        for item in counts:
            words = item["user"]["ips"]
            for depth, (word, after) in enumerate(zip(words, words[1:] + [0])):
                if ranges[2] <= word < ranges[3]:
                    # Between mov rbp, rsp and the push of its Method* a frame holds what was there before
                    # (generate_fixed_frame(), templateInterpreterGenerator_x86.cpp).
                    if depth == 0 and not after & METHOD_BIT:
                        unmade_cnt += item["count"]
                        continue
                    assert after & METHOD_BIT, f"{word:x}"
                    methods.add(after & ~METHOD_BIT)
                    frame_cnt += item["count"]
                else:
                    assert not after & METHOD_BIT, f"{word:x}"
        # One in a hundred, and five standard errors of so few.
        most = 0.01 * total(counts)
        assert unmade_cnt <= most + 5 * math.sqrt(most), (unmade_cnt, total(counts))
        # main, work, one to six, a constructor, grind; and what they call of the JDK.
        assert frame_cnt > 5 * total(counts)
        assert 8 <= len(methods) < 200
        # They are in memory of this process that is not code.
        maps = [line.split()[0].split("-") for line in Path(f"/proc/{process.pid}/maps").read_text().splitlines()]
        for method in methods:
            assert any(int(low, 16) <= method < int(high, 16) for low, high in maps)
            assert not ranges[0] <= method < ranges[1]


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
def test_the_leaf_is_taken_of_all_and_makes_few_stacks_more():
    options = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Callers*.*"]
    with jvm("Callers", "EDGE", *options) as (process, ranges):
        data, counts = sample(process, ranges, "--seconds", 8, "--frequency", 299)
    chains, stacks = set(), set()
    missing = 0
    for item in counts:
        user = item["user"]
        chain = (*user["ips"], user["end"])
        chains.add(chain)
        stacks.add((chain, *user.get("leaf_words", ()), user.get("leaf_code")))
        in_code = ranges[0] <= user["ips"][0] < ranges[1]
        missing += (in_code != ("leaf_words" in user)) * item["count"]
    assert missing == 0
    assert data["counters"]["leaf_unread"] == 0
    assert len(stacks) <= 1.1 * len(chains) + 2, (len(stacks), len(chains))
