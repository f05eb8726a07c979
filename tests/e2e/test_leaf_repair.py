# SPDX-License-Identifier: Apache-2.0
"""The caller of the method on top: Callers.java says what each method's only caller is."""
from collections import Counter

import pytest

from harness.containers import JDKS_THAT_MUST_BE, each_jdk, java
from harness.folded import assert_rare, kind, plain
from harness.programs import cpu_seconds, wait_until

pytestmark = pytest.mark.live

SAMPLES = 1500
WARM_UP = 5  # seconds of CPU time
FREQUENCY = 1999
# Stubs and the methods that lead to them. Other stubs have callers of all sorts.
STUB_CALLERS = {
    "vtable chunks": {"Callers.virtuals", "Callers.interfaces"},
}
# Not compiled: frames of other kinds have no leaf to be repaired.
COMPILED = ("j", "1")


def is_unnamed(frame):
    """An interpreted caller of which it was not taken which method it is, or what stands for a frame without a name and
    for the rest of a stack: that is less, and nothing wrong."""
    return frame == "Interpreter" or frame.startswith("[")


def edges_of(container):
    return {callee: caller for callee, caller in
            (line.split()[1:] for line in container.logs().splitlines() if line.startswith("EDGE "))}


def judge_leaf(frames, edges):
    """What is above the leaf: "right", "unnamed", "missing" (its caller's caller is there instead)
    or "wrong"; None: not a leaf about whose caller something is known."""
    user = [frame for frame in frames if kind(frame) != "k"]
    if len(user) < 3:
        return None
    leaf, above = plain(user[-1]), plain(user[-2])
    if leaf in STUB_CALLERS:
        callers = STUB_CALLERS[leaf]
    elif leaf in edges and kind(user[-1]) in COMPILED:
        callers = {edges[leaf]}
    else:
        return None
    if above in callers:
        return "right"
    if is_unnamed(above):
        return "unnamed"
    return "missing" if above in {edges.get(caller) for caller in callers} else "wrong"


def wrong_edges(folded, edges):
    """Pairs of frames deeper in the stacks that cannot be."""
    wrong = Counter()
    for frames, count in folded.stacks:
        names = [plain(frame) for frame in frames if kind(frame) != "k"]
        for above, name in zip(names[:-1], names[1:-1]):
            if name in edges and above != edges[name] and not is_unnamed(above):
                wrong[f"{above};{name}"] += count
    return wrong


@pytest.fixture(scope="module", params=each_jdk(17, of=JDKS_THAT_MUST_BE))
def profile(request, engine, module_daemon):
    """Text, counters and edges of a profile of the program after its warm-up."""
    flags = ["-XX:CompileCommand=dontinline,Callers*.*"]
    container = engine.start_ready(f"callers{request.param}", java("Callers", 600, flags=flags, inline=True),
                                   "EDGE", jdk=request.param)
    pid = container.pid
    wait_until(lambda: cpu_seconds(pid) >= WARM_UP, 300, "it is warmed up")
    daemon = module_daemon("--pid", container.pid, "--frequency", FREQUENCY).start().wait_ready()
    daemon.wait_samples({pid: SAMPLES})
    assert daemon.stop() == 0, daemon.log()
    edges = edges_of(container)
    container.remove()
    streams = daemon.list_json()
    assert len(streams) == 1, streams
    return daemon.dump(), streams[0], edges


def leaves_of(profile):
    """How many leaves have what above them; and, of the wrong ones, the stacks' ends."""
    folded, _, edges = profile
    leaves, wrong = Counter(), Counter()
    for frames, count in folded.stacks:
        verdict = judge_leaf(frames, edges)
        if verdict:
            leaves[verdict] += count
        if verdict == "wrong":
            wrong[";".join(frames[-4:])] += count
    return leaves, wrong


def test_leaf_has_its_own_caller_or_at_least_no_other(profile):
    leaves, wrong = leaves_of(profile)
    assert not wrong, wrong.most_common(5)
    assert leaves["right"], (leaves, profile)


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
@pytest.mark.released
def test_leaf_has_its_own_caller_or_at_least_no_other_figures(profile):
    folded, stream, _ = profile
    leaves, _ = leaves_of(profile)
    known = sum(leaves.values())
    print(f"leaves: {dict(leaves)}, counters: repaired {stream['repaired_samples']}, "
          f"unrepaired {stream['unrepaired_samples']} of {stream['jit_leaf_samples']}")
    assert known >= 200, f"{folded}"
    assert_rare(leaves["missing"], known, 0.05, f"{leaves} {folded}")
    assert_rare(leaves["unnamed"], known, 0.02, f"{leaves} {folded}")


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
def test_callers_deeper_in_the_stack_are_right(profile):
    folded, _, edges = profile
    wrong = wrong_edges(folded, edges)
    assert_rare(sum(wrong.values()), folded.total, 0.001, wrong.most_common(5))


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
def test_counters_tell_how_much_was_repaired(profile):
    """The program calls all the time: many of its leaves lack a caller when they are taken."""
    _, stream, _ = profile
    leaves, repaired = stream["jit_leaf_samples"], stream["repaired_samples"]
    assert 0 < leaves <= stream["samples"]
    assert repaired + stream["unrepaired_samples"] <= leaves
    assert repaired >= 0.05 * leaves, stream
    assert_rare(stream["unrepaired_samples"], leaves, 0.05, stream)
