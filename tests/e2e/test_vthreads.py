# SPDX-License-Identifier: Apache-2.0
"""Virtual threads (JDK 21 and up): their own stacks, without the carrier's; what lies frozen in the
heap is marked, not left out in silence."""
import pytest

from harness.containers import java
from harness.folded import Folded, assert_rare, kind, plain
from harness.programs import jbpf, wait_until

pytestmark = pytest.mark.live

ENOUGH = 300  # samples of each kind of thread
FROZEN = "[frozen frames]"
ROOT = "[vthread]"


def java_names(frames):
    return [plain(frame) for frame in frames if kind(frame) in "j10i"]


@pytest.fixture(scope="module", params=[21, 25])
def folded(request, engine, module_daemon):
    container = engine.start_ready(f"vthreads-{request.param}", java("Vthreads", 600), "ALIVE", jdk=request.param)
    wait_until(lambda: container.logs().count("ALIVE") >= 4, 60, "it is warmed up")
    daemon = module_daemon(window="3s", name=f"vthreads-{request.param}").start().wait_ready()
    pid = container.pid
    begin = daemon.wait_met([pid])

    def are_enough():
        found = Folded(jbpf("dump", "--store", daemon.store, "--since", f"@{begin:.3f}", "--pid", pid).stdout)
        return all(found.with_frame(name) >= ENOUGH for name in ("Vthreads.steadyMiddle", "Vthreads.yieldBurn")) and \
            found.with_frame(FROZEN) >= ENOUGH
    wait_until(are_enough, 300, "there are enough samples of both kinds of threads")
    assert daemon.stop() == 0, daemon.log()
    result = daemon.dump("--pid", pid, since=begin)
    assert "Full thread dump" not in container.logs()
    container.remove()
    return result


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
def test_thread_that_never_yields_has_its_whole_stack(folded):
    stacks = [(frames, count) for frames, count in folded.stacks
              if any(plain(frame).startswith("Vthreads.steady") for frame in frames)]
    total = sum(count for _, count in stacks)
    assert total >= 200, folded
    whole = 0
    for frames, count in stacks:
        names = java_names(frames)
        chain = ["Vthreads.steadyTop", "Vthreads.steadyMiddle"]
        if frames[1] == ROOT and FROZEN not in frames and [n for n in names if n in chain] == chain:
            whole += count
    assert_rare(total - whole, total, 0.03, folded)


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
def test_thread_that_yields_shows_where_frames_are_frozen(folded):
    stacks = [(frames, count) for frames, count in folded.stacks
              if any(plain(frame) == "Vthreads.yieldBurn" for frame in frames)]
    total = sum(count for _, count in stacks)
    assert total >= 200, folded
    marked = whole = 0
    for frames, count in stacks:
        names = java_names(frames)
        if frames[1:3] == [ROOT, FROZEN]:
            marked += count
        elif frames[1] == ROOT and "Vthreads.yieldTop" in names and "Vthreads.yieldMiddle" in names:
            whole += count  # never yielded yet, or all frames were thawed
    print(f"{total} samples, {marked} with frozen frames, {whole} whole")
    assert marked >= 200, folded
    assert_rare(total - marked - whole, total, 0.03, folded)


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
def test_carriers_are_not_part_of_virtual_threads(folded):
    for frames, _ in folded.stacks:
        if any(plain(frame).startswith("Vthreads.") for frame in frames) and ROOT in frames:
            carrier = [frame for frame in frames if "ForkJoinPool" in frame or "ForkJoinWorkerThread" in frame]
            assert not carrier, ";".join(frames)
    virtual = folded.samples(lambda frames: any(plain(f).startswith(("Vthreads.steady", "Vthreads.yield"))
                                                for f in frames))
    rooted = folded.samples(lambda frames: any(plain(f).startswith(("Vthreads.steady", "Vthreads.yield"))
                                               for f in frames) and frames[1] == ROOT)
    assert_rare(virtual - rooted, virtual, 0.01, folded)
