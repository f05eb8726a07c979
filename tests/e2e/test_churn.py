# SPDX-License-Identifier: Apache-2.0
"""Code that comes and goes while it is sampled. Each generated name carries its class's number, and
the program says when each class lived and what CPU time it used: a wrong name shows, either within
its stack or against the program's own account. JBPF_CHURN_SECONDS makes the runs longer (20)."""
import math
import os
import re
import time

import pytest

from harness.containers import java
from harness.folded import assert_rare, plain
from harness.hostile import SANITIZED
from harness.programs import BUILD, run, wait_until

pytestmark = pytest.mark.live

SECONDS = int(os.environ.get("JBPF_CHURN_SECONDS", "20"))
HZ = 99
TOOL = BUILD / "tests" / "tools" / "hotspot_dump"
# Memory of unloaded classes goes to the next ones within milliseconds here. What is not known for
# certain stays unknown; how much that is depends on how soon a busy host lets jbpfd look, and sanitizers
# multiply the CPU time that it needs.
MOST_UNKNOWN = 0.8 if SANITIZED else 0.3
LEAST_NAMED = 0.15 if SANITIZED else 0.3
# A name is believed only when no class was unloaded between the sample and the reading, so this is
# what no rule can see: none so far in 10,000 samples.
MOST_WRONG = 0.0003
# Without the counter of unloaded classes, and with code that is flushed all the time: what took the place of code
# within the 150 ms before it was read, and has a call at the same place, is believed to be it. 0 to 0.1 % were seen.
MOST_WRONG_SMALL_CACHE = 0.003
# Callers before callees. Frames may be missing (a leaf's caller), but never stand the other way round.
RANKS = [("work", r"Gen(\d{4})\.work"), ("spin", r"Gen(\d{4})\.spin(\d{4})"),
         ("lambda class", r"Gen(\d{4})\$\$Lambda\.applyAsDouble"), ("lambda", r"Gen(\d{4})\.lambda\$spin(\d{4})\$\d+"),
         ("helper", r"Gen(\d{4})\.helper(\d{4})"), ("step", r"(?:Base|Next)(\d{4})\.step(\d{4})")]
RANKS = [(name, re.compile(pattern)) for name, pattern in RANKS]


def rank_of(name):
    """(rank, numbers in the name), or (None, numbers) for a frame of another kind."""
    for rank, (_, pattern) in enumerate(RANKS):
        match = pattern.fullmatch(name)
        if match:
            return rank, set(match.groups())
    return None, set(re.findall(r"(?:Gen|Base|Next|spin|helper|step)(\d{4})\b", name))


def what_is_wrong(frames):
    """Why this stack cannot have been, or None; and the number of its class."""
    numbers, last = set(), -1
    for frame in frames[1:]:
        rank, own = rank_of(plain(frame))
        numbers |= own
        if rank is not None:
            if rank <= last:
                return f"{RANKS[last][0]} cannot call {RANKS[rank][0]}", numbers
            last = rank
    return (f"frames of classes {sorted(numbers)}" if len(numbers) > 1 else None), numbers


class Run:
    """One JVM that churned while a daemon watched."""

    def __init__(self, engine, app, module_daemon, jdk, flags, seconds):
        self.jdk, self.flags = jdk, flags
        name = f"churn-{jdk}-{len(flags)}-{seconds}"
        (app / name).unlink(missing_ok=True)  # of an earlier run of the same: workers may share out what needs it
        self.daemon = module_daemon(window="3s", name=name, hz=HZ).start().wait_ready()
        # Half of the classes keep their calls, in the others they are inlined.
        apart = [f"-XX:CompileCommand=dontinline,*{odd}.*" for odd in "13579"]
        self.container = engine.start_ready(
            name, java("Churn", seconds or 600, 2, 120, f"/app/{name}", inline=True, flags=[*flags, *apart]), "READY",
            jdk=jdk, seconds=90)
        pid = self.container.pid
        self.unloads, self.next_unloads = [], 0  # as jbpf reads it
        if not seconds:
            wait_until(lambda: self.count_unloads(pid) and self.has_shown_it(pid), 120, "classes were named, and unloaded")
            (app / name).touch()
        wait_until(lambda: not self.count_unloads(pid), (seconds or 0) + 60, "the JVM ends by itself")
        assert self.daemon.stop() == 0, self.daemon.log()
        self.exit_code = self.container.exit_code
        if self.exit_code == 0:
            wait_until(lambda: "DONE" in self.container.logs(), 30, "the engine has its last words")
        self.log = self.container.logs()
        self.container.remove()
        self.folded = self.daemon.dump("--pid", pid)
        # Before its exec the process was runc's.
        self.stream = max(self.daemon.list_json("--pid", pid), key=lambda stream: stream["samples"])

    def count_unloads(self, pid):
        """Notes now and then how many classes the JVM has unloaded; false when it has ended."""
        if time.monotonic() >= self.next_unloads:
            counted = run(TOOL, pid, "--unloads")
            self.next_unloads = time.monotonic() + 1
            if counted.returncode == 0:
                self.unloads.append(int(counted.stdout))
        return self.container.running()

    def has_shown_it(self, pid):
        """Whether classes were unloaded, and samples of some are named."""
        named = self.daemon.dump("--pid", pid) if self.daemon.has("--pid", pid) else None
        return named and self.unloads[-1:] > [0] and named.samples(lambda frames: what_is_wrong(frames)[1]) >= 100

    def lives(self):
        """CPU seconds by class number, as the program measured them."""
        return {number: int(cpu) / 1e9
                for number, cpu in re.findall(r"^GEN (\d{4}) \d+ \d+ (\d+)$", self.log, re.M)}


CASES = [(8, ()), (17, ()), (25, ()),
         (17, ("-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=5m", "-XX:+PerfDisableSharedMem"))]
LONG = [pytest.param((jdk, flags, SECONDS), id=f"{jdk}{'-small-cache' if flags else ''}",
                     marks=pytest.mark.long("20 s of one JVM more: time")) for jdk, flags in CASES]
# That one ends as soon as it has shown what is judged.
all_runs = pytest.mark.parametrize("churned", [pytest.param((17, (), None), id="17-short"), *LONG], indirect=True)
long_runs = pytest.mark.parametrize("churned", LONG, indirect=True)


@pytest.fixture(scope="module")
def churned(request, engine, app, module_daemon):
    return Run(engine, app, module_daemon, *request.param)


@all_runs
def test_stacks_have_the_names_of_one_class(churned):
    wrong, right = [], 0
    for frames, count in churned.folded.stacks:
        problem, numbers = what_is_wrong(frames)
        if problem:
            wrong.append((count, problem, ";".join(frames[-9:])))
        elif numbers:
            right += count
    wrong_samples = sum(count for count, _, _ in wrong)
    print(f"JDK {churned.jdk}: {right} samples of {len(churned.lives())} classes, {wrong_samples} wrong: {wrong}")
    # by construction: a wrong name is what must not be, but for what the profiled memory allows; assert_rare() has seven sigma
    assert_rare(wrong_samples, right, MOST_WRONG_SMALL_CACHE if churned.flags else MOST_WRONG, wrong)


@long_runs
def test_stacks_have_the_names_of_one_class_figures(churned):
    named = churned.folded.samples(lambda frames: what_is_wrong(frames)[1])
    assert named >= LEAST_NAMED * churned.folded.total and named >= 50, (named, churned.folded)


@all_runs
def test_no_class_has_more_samples_than_it_had_time(churned):
    """A name that outlived its class would get the samples of the code that came after it."""
    lives, found = churned.lives(), {}
    for frames, count in churned.folded.stacks:
        for number in what_is_wrong(frames)[1]:
            found[number] = found.get(number, 0) + count
    assert len(lives) >= 10 and found, (len(lives), len(found))
    unknown_to_the_program = set(found) - set(lives)
    assert not unknown_to_the_program
    for number, samples in found.items():
        expected = lives[number] * HZ
        assert samples <= expected + 7 * math.sqrt(expected) + 3, (number, samples, expected)


@long_runs
def test_what_is_not_named_is_counted(churned):
    stream = churned.stream
    assert stream["jit_source"] == "vmstructs", stream
    assert stream["unknown_jit_frames"] >= stream["ambiguous_frames"]
    unknown = stream["unknown_jit_frames"] / stream["jit_frames"]
    print(f"{stream['samples']} samples, {stream['jit_frames']} JIT frames, {100 * unknown:.2f} % without a name, "
          f"{stream['ambiguous_frames']} ambiguous, {stream['repaired_samples']} leaves repaired")
    assert unknown <= MOST_UNKNOWN


@all_runs
def test_unloaded_classes_are_counted_as_the_jvm_counts_them(churned):
    found, truth = churned.unloads, int(re.search(r"^UNLOADED (\d+)$", churned.log, re.M).group(1))
    assert found and found == sorted(found), found
    assert 0 < found[-1] <= truth, (found[-1], truth)


@all_runs
def test_the_jvm_was_not_harmed(churned):
    assert churned.exit_code == 0 and churned.log.rstrip().endswith("DONE"), churned.log[-800:]
    dead = int(re.search(r"^DEAD (\d+)$", churned.log, re.M).group(1))
    assert dead > 0, "classes were not unloaded: nothing was tested"
    for word in ("Full thread dump", "Exception", "SIGSEGV"):
        assert word not in churned.log
