# SPDX-License-Identifier: Apache-2.0
"""JVMs without frame pointers whose leafs are stubs: their callers are proved from the code."""
import pytest

from harness.containers import JDKS_THAT_MUST_BE, java
from harness.daemon import Daemon
from harness.folded import assert_rare, kind, plain
from harness.programs import cpu_seconds, wait_until

pytestmark = [pytest.mark.live, pytest.mark.released]

WARM_UP = 12  # seconds of CPU time
FREQUENCY = 499
SAMPLES = 3000
# Leafs.java calls stubs from these alone, and each of these from Leafs.rounds alone.
OWN = {"Leafs.digests", "Leafs.copies", "Leafs.sorts", "Leafs.equals", "Leafs.rounds", "Leafs.main"}


@pytest.mark.long("1 % and 5 % of the samples may be cut: how soon leaf rules are in place is the host's")
@pytest.mark.parametrize("jdk", JDKS_THAT_MUST_BE)
def test_stubs_have_their_callers_after_the_warm_up(engine, tmp_path, jdk):
    container = engine.start_ready(f"leafs{jdk}", java("Leafs", 600, frame_pointer=False), "READY", jdk=jdk)
    pid = container.pid
    wait_until(lambda: cpu_seconds(pid) >= WARM_UP, 300, "it is warmed up")
    daemon = Daemon(tmp_path, "--pid", pid, "--frequency", FREQUENCY, window="2s")
    daemon.start().wait_ready()
    # Where nothing could be guessed the first sample at an address is cut; rules are in place soon after.
    daemon.wait_samples({pid: SAMPLES})
    first = daemon.list_json()[0]
    # What could be guessed, and is proved, is whole from the first sample on.
    assert_rare(first["truncated_by"].get("unproved_leaf", 0), first["samples"], 0.05, first)
    daemon.wait_samples({pid: first["samples"] + SAMPLES})
    assert daemon.stop() == 0, daemon.log()
    container.remove()
    both = daemon.list_json()[0]
    samples = both["samples"] - first["samples"]
    cut = both["truncated_by"].get("unproved_leaf", 0) - first["truncated_by"].get("unproved_leaf", 0)
    assert_rare(cut, samples, 0.01, (first, both))

    stubs = wrong = 0
    for frames, count in daemon.dump().stacks:
        user = [frame for frame in frames if kind(frame) != "k"]
        if "StubRoutines" not in user[-1] or len(user) < 3 or "[truncated]" in user:
            continue
        stubs += count
        # The method that called the stub is one of ours, or of the library below one of ours.
        names = [plain(frame) for frame in user[:-1]]
        if not OWN.intersection(names) or names[-1].startswith(("JavaCalls", "jni_", "start_thread")):
            wrong += count
    assert stubs > 100, "hardly any stubs were sampled"
    assert_rare(wrong, stubs, 0.01, "callers of stubs")


# Callers.java calls through these stubs from two methods alone.
VIRTUAL = {"Callers.virtuals", "Callers.interfaces"}


@pytest.mark.long("a share of the stubs may lack a caller: how soon leaf rules are in place is the host's")
def test_stubs_of_virtual_calls_have_their_callers_after_the_warm_up(engine, tmp_path):
    flags = ["-XX:CompileCommand=dontinline,Callers*.*"]
    container = engine.start_ready("virtual", java("Callers", 600, frame_pointer=False, flags=flags, inline=True), "EDGE")
    pid = container.pid
    wait_until(lambda: cpu_seconds(pid) >= WARM_UP, 300, "it is warmed up")
    daemon = Daemon(tmp_path, "--pid", pid, "--frequency", FREQUENCY, window="2s")
    daemon.start().wait_ready()
    daemon.wait_samples({pid: SAMPLES})
    begin = daemon.stored_until()
    daemon.wait_samples({pid: SAMPLES}, since=begin)
    assert daemon.stop() == 0, daemon.log()
    container.remove()
    folded = daemon.dump(since=begin).only(lambda frames: "vtable chunks" in frames)
    assert folded.total >= 30, folded
    assert_rare(folded.samples(lambda frames: "[truncated]" in frames), folded.total, 0.05, folded)
    assert_rare(folded.samples(lambda frames: plain(frames[frames.index("vtable chunks") - 1]) not in VIRTUAL),
                folded.total, 0.05, folded)


# Searches.java: who calls whom. indexOf() is C2's code in the midst of search().
SEARCH_CALLERS = {"Searches.search": {"Searches.one", "Searches.other"}, "Searches.one": {"Searches.rounds"},
                  "Searches.other": {"Searches.rounds"}}


@pytest.mark.long("1 % of the stacks may be cut: how soon leaf rules are in place is the host's")
@pytest.mark.parametrize("jdk", JDKS_THAT_MUST_BE)
def test_code_that_saves_the_stack_pointer_has_its_callers(engine, tmp_path, jdk):
    flags = [f"-XX:CompileCommand=dontinline,Searches.{name}" for name in ("search", "one", "other", "rounds")]
    container = engine.start_ready(f"searches{jdk}", java("Searches", 600, frame_pointer=False, flags=flags, inline=True),
                                   "READY", jdk=jdk)
    pid = container.pid
    wait_until(lambda: cpu_seconds(pid) >= WARM_UP, 300, "it is warmed up")
    daemon = Daemon(tmp_path, "--pid", pid, "--frequency", FREQUENCY, window="2s")
    daemon.start().wait_ready()
    daemon.wait_samples({pid: SAMPLES // 2})
    begin = daemon.stored_until()
    daemon.wait_samples({pid: SAMPLES // 2}, since=begin)
    assert daemon.stop() == 0, daemon.log()
    container.remove()
    folded = daemon.dump(since=begin).only(lambda frames: any(plain(frame) == "Searches.search" for frame in frames))
    assert folded.total >= SAMPLES / 6, folded
    assert_rare(folded.samples(lambda frames: "[truncated]" in frames), folded.total, 0.01, folded)

    def is_illegal(frames):
        names = [plain(frame) for frame in frames]
        return any(caller not in SEARCH_CALLERS[name] and not caller.startswith("[")
                   for caller, name in zip(names, names[1:]) if name in SEARCH_CALLERS)
    assert folded.samples(is_illegal) == 0, folded.show(is_illegal)
