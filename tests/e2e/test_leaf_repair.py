# SPDX-License-Identifier: Apache-2.0
"""The caller of the method on top: Callers.java says what each method's only caller is."""
import time
from collections import Counter

import pytest

from harness.containers import JDKS, java
from harness.folded import kind, plain

SECONDS = 20
WARM_UP = 8
FREQUENCY = 499
# Stubs and the methods that lead to them. Other stubs have callers of all sorts.
STUB_CALLERS = {
    "vtable chunks": {"Callers.virtuals", "Callers.interfaces"},
}
# Not compiled: frames of other kinds have no leaf to be repaired.
COMPILED = ("j", "1")


def edges_of(container):
    return {callee: caller for callee, caller in
            (line.split()[1:] for line in container.logs().splitlines() if line.startswith("EDGE "))}


def judge_leaf(frames, edges):
    """What is above the leaf: "right", "missing" (its caller's caller is there instead), "wrong";
    None: not a leaf about whose caller something is known."""
    user = [frame for frame in frames if kind(frame) != "k"]
    if len(user) < 3:
        return None
    leaf, above = plain(user[-1]), plain(user[-2])
    if leaf in STUB_CALLERS:
        if above in STUB_CALLERS[leaf]:
            return "right"
        return "missing" if above in {edges[caller] for caller in STUB_CALLERS[leaf]} else "wrong"
    if leaf not in edges or kind(user[-1]) not in COMPILED:
        return None
    if above == edges[leaf]:
        return "right"
    return "missing" if above == edges.get(edges[leaf]) else "wrong"


def wrong_edges(folded, edges):
    """Pairs of frames deeper in the stacks that cannot be."""
    wrong = Counter()
    for frames, count in folded.stacks:
        names = [plain(frame) for frame in frames if kind(frame) != "k"]
        for above, name in zip(names[:-1], names[1:-1]):
            if name in edges and above != edges[name]:
                wrong[f"{above};{name}"] += count
    return wrong


@pytest.fixture(scope="module", params=JDKS)
def profile(request, engine, tmp_path_factory):
    """Text, counters and edges of a profile of the program after its warm-up."""
    from harness.daemon import Daemon
    flags = ["-XX:CompileCommand=dontinline,Callers*.*"]
    container = engine.start_ready(f"callers{request.param}", java("Callers", 600, flags=flags, inline=True),
                                   "EDGE", jdk=request.param)
    time.sleep(WARM_UP)
    daemon = Daemon(tmp_path_factory.mktemp("leaf"), "--pid", container.pid, "--frequency", FREQUENCY)
    daemon.start().wait_ready()
    time.sleep(SECONDS)
    assert daemon.stop() == 0, daemon.log()
    edges = edges_of(container)
    container.remove()
    streams = daemon.list_json()
    assert len(streams) == 1, streams
    return daemon.dump(), streams[0], edges


def test_leaf_has_its_own_caller_or_at_least_no_other(profile):
    folded, stream, edges = profile
    leaves = Counter()
    wrong = Counter()
    for frames, count in folded.stacks:
        verdict = judge_leaf(frames, edges)
        if verdict:
            leaves[verdict] += count
        if verdict == "wrong":
            wrong[";".join(frames[-4:])] += count
    known = leaves["right"] + leaves["missing"]
    print(f"leaves: {dict(leaves)}, counters: repaired {stream['repaired_samples']}, "
          f"unrepaired {stream['unrepaired_samples']} of {stream['jit_leaf_samples']}")
    assert not wrong, wrong.most_common(5)
    assert known >= 1000, f"{folded}"
    assert leaves["missing"] < 0.05 * known, f"{leaves} {folded}"


def test_callers_deeper_in_the_stack_are_right(profile):
    folded, _, edges = profile
    wrong = wrong_edges(folded, edges)
    assert sum(wrong.values()) <= 0.001 * folded.total, wrong.most_common(5)


def test_counters_tell_how_much_was_repaired(profile):
    """The program calls all the time: many of its leaves lack a caller when they are taken."""
    _, stream, _ = profile
    leaves, repaired = stream["jit_leaf_samples"], stream["repaired_samples"]
    assert 0 < leaves <= stream["samples"]
    assert repaired + stream["unrepaired_samples"] <= leaves
    assert repaired >= 0.05 * leaves, stream
    assert stream["unrepaired_samples"] < 0.05 * leaves, stream
