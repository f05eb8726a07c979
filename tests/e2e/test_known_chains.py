# SPDX-License-Identifier: Apache-2.0
"""Stacks of JVMs with and without -XX:+PreserveFramePointer, of a program whose every chain of calls is
known: none is impossible, and hardly any is cut. JBPF_CHAINS_ALL=1 takes all JDKs and compilers."""
import os
import re
import time

import pytest

from harness.chains import NAMELESS, TRUNCATED, verdict, wait_whole
from harness.containers import JDKS, NEWEST_JDKS, java
from harness.folded import assert_rare, kind, plain
from harness.programs import wait_until

pytestmark = [pytest.mark.live, pytest.mark.released]

COMPILERS = {
    "default": [], "c1": ["-XX:TieredStopAtLevel=1"], "c2": ["-XX:-TieredCompilation"], "int": ["-Xint"],
    "comp": ["-Xcomp"], "flag": ["-XX:+PreserveFramePointer"],
    # Of JDK 11 alone, and without regard to the flag.
    "graal": ["-XX:+UnlockExperimentalVMOptions", "-XX:+EnableJVMCI", "-XX:+UseJVMCICompiler",
              "-XX:+PreserveFramePointer"],
    # A third of the methods is never compiled: compiled code calls interpreted code and the other way round.
    "mixed": ["-XX:CompileCommand=exclude,Chains.b*"],
    "mixed with the flag": ["-XX:CompileCommand=exclude,Chains.b*", "-XX:+PreserveFramePointer"],
}
ALL_JDKS = JDKS + NEWEST_JDKS
COLLECTORS = {"Serial": ALL_JDKS, "Parallel": ALL_JDKS, "G1": ALL_JDKS, "Z": ALL_JDKS[1:], "Shenandoah": ALL_JDKS[1:]}
FLAGS = dict(COMPILERS, **{name: ["-XX:+UnlockExperimentalVMOptions", f"-XX:+Use{name}GC"] for name in COLLECTORS})
SOME = [(25, "mixed"), (8, "c1"), (17, "default"), (11, "graal")]
IS_ALL = os.environ.get("JBPF_CHAINS_ALL") == "1"
CASES = [(jdk, compiler) for jdk in ALL_JDKS for compiler in COMPILERS
         if (compiler != "graal" or jdk == 11) and compiler != "mixed with the flag"] if IS_ALL else SOME
CASES += [(jdk, name) for name, jdks in COLLECTORS.items() for jdk in jdks] if IS_ALL else []
ENOUGH = 2500 if IS_ALL else 800
# x87 instructions of JDK 8 push into the middle of a frame.
CUT_SHARE = {8: 0.015}


def start_chains(engine, jdk, compiler):
    command = java("Chains", 900, frame_pointer=False, flags=["-XX:-Inline", *FLAGS[compiler]], inline=True)
    return engine.start_ready(f"chains-{jdk}-{compiler.replace(' ', '-')}", command, "READY", jdk=jdk)


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def case(request, engine, daemon):
    jdk, compiler = request.param
    container = start_chains(engine, jdk, compiler)
    profiler = daemon("--frequency", "999", window="2s").start().wait_ready()
    pid = container.pid
    wait_whole(profiler, pid)
    begin = time.time() + 2
    profiler.wait_samples({pid: ENOUGH}, since=begin)
    assert profiler.stop() == 0, profiler.log()
    result = profiler.dump("--pid", pid, since=begin)
    version = profiler.status_json()[pid]["jvm_version"]
    assert version.endswith(" with Graal (JVMCI)") == (compiler == "graal"), version
    container.remove()
    return jdk, compiler, result


@pytest.mark.long("at most 0.5 % of the stacks may be cut: how soon code is read is the host's")
def test_no_chain_is_impossible_and_hardly_any_is_cut(case):
    jdk, compiler, folded = case
    counts = dict.fromkeys(("whole", "impossible", "leaf", "cut"), 0)
    bad = []
    for frames, count in folded.stacks:
        found = verdict(frames)
        if found:
            counts[found] += count
        if found in ("impossible", "cut"):
            bad.append((count, found, ";".join(frames)))
    print(f"JDK {jdk} {compiler}: {counts}")
    assert counts["impossible"] == 0, "\n".join(map(str, bad[:5]))
    assert counts["whole"] >= ENOUGH / 4, counts
    assert_rare(counts["cut"], counts["whole"] + counts["cut"], CUT_SHARE.get(jdk, 0.005), bad)


BARRIER = "BarrierSetNMethod::nmethod_stub_entry_barrier"


@pytest.mark.long("how soon it is known where code is, by which the stub is told, is the host's")
@pytest.mark.parametrize("jdk", ALL_JDKS[2:] if IS_ALL else [17])
def test_stacks_go_on_behind_entry_barriers(engine, daemon, jdk):
    """The collector arms them at each of its cycles, so that each method runs into its own at its next call."""
    flags = ["-XX:-Inline", "-XX:+UseZGC", "-XX:ZCollectionInterval=0.001"]
    container = engine.start_ready(f"barriers-{jdk}", java("Chains", 900, flags=flags, inline=True), "READY", jdk=jdk)
    profiler = daemon("--frequency", "999", window="2s").start().wait_ready()
    pid = container.pid
    wait_whole(profiler, pid)
    begin = profiler.stored_until()
    profiler.wait_samples({pid: 1}, since=begin)
    wait_until(lambda: profiler.dump("--pid", pid, since=begin).with_frame(BARRIER) >= 10, 120, "barriers are sampled")
    assert profiler.stop() == 0, profiler.log()
    folded = profiler.dump("--pid", pid, since=begin).only(lambda frames: BARRIER in frames)
    container.remove()
    assert folded.samples(lambda frames: verdict(frames) == "whole") >= 1, folded
    assert not folded.samples(lambda frames: TRUNCATED in frames or verdict(frames) == "impossible"), folded


@pytest.mark.long("how soon it is known where code is, which the callers' methods need, is the host's")
@pytest.mark.parametrize("jdk", ALL_JDKS if IS_ALL else [17])
def test_interpreted_callers_of_compiled_leafs_are_there_with_their_names(engine, daemon, jdk):
    """By frame pointers the caller of a leaf without a frame is passed over, and all interpreted callers have the same
    few return addresses."""
    container = start_chains(engine, jdk, "mixed with the flag")
    profiler = daemon("--frequency", "999", window="2s").start().wait_ready()
    pid = container.pid
    wait_whole(profiler, pid)
    begin = profiler.stored_until()
    profiler.wait_samples({pid: 4000}, since=begin)
    assert profiler.stop() == 0, profiler.log()
    folded = profiler.dump("--pid", pid, since=begin).only(lambda frames: kind(frames[-1]) in "1j" and verdict(frames))
    container.remove()
    assert folded.samples(lambda frames: kind(frames[-2]) == "0") >= 20, folded

    def lacks_its_caller(frames):
        return verdict(frames) == "impossible" or frames[-2] == "Interpreter"
    assert not folded.samples(lacks_its_caller), folded.show(lacks_its_caller)


def record_warm(engine, daemon, jdk, setting, samples):
    """Of chains that have run for 3,000 samples since the first whole ones, when nearly all rules are known."""
    container = start_chains(engine, jdk, setting)
    profiler = daemon("--frequency", "999", window="2s").start().wait_ready()
    pid = container.pid
    wait_whole(profiler, pid)
    profiler.wait_samples({pid: 3000})
    begin = profiler.stored_until()
    profiler.wait_samples({pid: samples}, since=begin)
    assert profiler.stop() == 0, profiler.log()
    folded = profiler.dump("--pid", pid, since=begin)
    container.remove()
    return folded


def is_cut_in_the_interpreter(frames):
    return [frame for frame in frames[1:] if kind(frame) != "k"] == [TRUNCATED, "Interpreter"]


@pytest.mark.long("at most 1 % of the stacks may be cut: how soon rules are known is the host's")
@pytest.mark.parametrize("jdk", ALL_JDKS if IS_ALL else [17])
def test_interpreted_methods_are_whole_while_their_frame_is_made(engine, daemon, jdk):
    """The first sample at each of these addresses is cut."""
    folded = record_warm(engine, daemon, jdk, "int", 2500)
    assert_rare(folded.samples(is_cut_in_the_interpreter), folded.total, 0.01, folded.show(is_cut_in_the_interpreter))


@pytest.mark.long("at most 3 % of the stacks may be cut: how soon rules are known is the host's")
@pytest.mark.parametrize("jdk", ALL_JDKS if IS_ALL else [25])
def test_where_interpreted_code_is_interrupted_no_chain_is_impossible(engine, daemon, jdk):
    """While its frame is made, and when it is gone, rbp is a compiled caller's, where earlier frames left theirs."""
    folded = record_warm(engine, daemon, jdk, "mixed with the flag", 10000)

    def is_interrupted(frames):
        return next(kind(frame) for frame in reversed(frames) if kind(frame) != "k") == "0"

    def is_wrong(frames):
        return is_interrupted(frames) and verdict(frames) == "impossible"
    assert folded.samples(is_interrupted) >= 5000, folded
    assert not folded.samples(is_wrong), folded.show(is_wrong)
    assert_rare(folded.samples(is_cut_in_the_interpreter), folded.total, 0.03, folded.show(is_cut_in_the_interpreter))


# Who calls whom in Churn.java; what other methods these call is nobody's concern here.
CALLERS = {
    r"Churn\.oneClass": r"Churn\.churn", r"Gen\d+\.work": r"Churn\.oneClass", r"Gen(\d+)\.spin\d+": r"Gen\d+\.work",
    r"Gen\d+\$\$Lambda.*\.applyAsDouble": r"Gen\d+\.spin\d+",
    r"Gen\d+\.lambda\$spin\d+\$\d+": r"Gen\d+\$\$Lambda.*\.applyAsDouble",
    r"Gen\d+\.helper\d+": r"Gen\d+\.(spin\d+|lambda\$spin\d+\$\d+)", r"(Base|Next)\d+\.step\d+": r"Gen\d+\.helper\d+",
}
CHURN_CASES = [(jdk, cache) for jdk in ALL_JDKS for cache in ("5m", "48m")] if IS_ALL else [(17, "5m")]


# A code cache of 5 MB, a fiftieth of the default, is flushed all the time: code whose class lives can go and have another
# method in its place within the 100 ms till it is read, at 999 samples a second 11 of 4,000 at most in 20 runs.
MOST_WRONG_CHURNED = 0.003


def is_wrong_churn(frames):
    """Not of one class alone, or a method's caller is not its caller; what has no name tells nothing."""
    names = [plain(frame) for frame in frames]
    if len({number for name in names for number in re.findall(r"(?:Gen|Base|Next|spin|helper|step)(\d{4})\b", name)}) > 1:
        return True
    for caller, name in zip(names, names[1:]):
        wanted = next((wanted for pattern, wanted in CALLERS.items() if re.fullmatch(pattern, name)), None)
        if wanted and not caller.startswith(("[", *NAMELESS)) and not re.fullmatch(wanted, caller):
            return True
    return False


@pytest.mark.long("at most 0.3 % wrong: code may go before it is read, and how soon it is read is the host's")
@pytest.mark.alone  # code that goes before it is read on a busy host has the names of what took its place
@pytest.mark.parametrize("jdk,cache", CHURN_CASES)
def test_no_chain_is_impossible_while_code_comes_and_goes(engine, daemon, jdk, cache):
    """Classes are unloaded, their code is flushed, and other code takes its place."""
    command = java("Churn", 900, 2, 120, frame_pointer=False, inline=True,
                   flags=["-XX:+UseSerialGC", f"-XX:ReservedCodeCacheSize={cache}"])
    container = engine.start_ready(f"churned-{jdk}", command, "READY", jdk=jdk)
    profiler = daemon("--frequency", "999", window="2s").start().wait_ready()
    begin = profiler.wait_met([container.pid])
    profiler.wait_samples({container.pid: 2 * ENOUGH}, since=begin)
    assert profiler.stop() == 0, profiler.log()
    folded = profiler.dump("--pid", container.pid, since=begin)
    container.remove()
    steps = folded.samples(lambda frames: any("helper" in frame for frame in frames))
    assert steps >= ENOUGH / 4, folded
    assert_rare(folded.samples(is_wrong_churn), folded.total, MOST_WRONG_CHURNED, folded.show(is_wrong_churn))


LAYER = re.compile(r"Layers\$\w+\.layer(\d)")
LAYER_FLAGS = {"osr": ["-XX:-Inline"], "deopt": [], "virtual": []}
LAYER_CASES = [(jdk, mode, has_flag) for mode in LAYER_FLAGS for jdk in ALL_JDKS for has_flag in (False, True)
               if mode != "virtual" or jdk >= 21] if IS_ALL else [(17, "osr", False), (17, "deopt", False),
                                                                  (25, "virtual", False)]


def layers_verdict(frames):
    """"whole", "frozen" (the first layers are in the heap), "cut", "impossible"; None when it is not the program's, or
    has a frame without a name, of code that was not read in time on a busy host."""
    layers = [int(match.group(1)) for match in map(LAYER.fullmatch, map(plain, frames)) if match]
    if not layers or any(frame.startswith(NAMELESS) for frame in frames):
        return None
    if layers != list(range(layers[0], layers[0] + len(layers))):
        return "impossible"
    if TRUNCATED in frames:
        return "cut"
    if "[frozen frames]" in frames:
        return "frozen"
    return "whole" if layers[0] == 0 else "impossible"


@pytest.mark.long("at most 2 % of the stacks may be cut: how soon code is read is the host's")
@pytest.mark.parametrize("jdk,mode,has_flag", LAYER_CASES)
def test_layers_follow_each_other_in_code_that_was_replaced_given_up_or_is_of_a_virtual_thread(engine, daemon, jdk, mode,
                                                                                               has_flag):
    command = java("Layers", mode, 900, frame_pointer=has_flag, flags=LAYER_FLAGS[mode], inline=True)
    container = engine.start_ready(f"layers-{jdk}-{mode}", command, "READY", jdk=jdk)
    profiler = daemon("--frequency", "999", window="2s").start().wait_ready()
    pid = container.pid
    begin = profiler.wait_met([pid])
    wait_until(lambda: profiler.dump("--pid", pid, since=begin).samples(
        lambda frames: layers_verdict(frames) in ("whole", "frozen")) >= 100, 120, "stacks are whole")
    begin = profiler.stored_until()
    profiler.wait_samples({pid: ENOUGH}, since=begin)
    # Of code that is given up all the time a busy host names a part of the stacks only.
    most = "frozen" if mode == "virtual" else "whole"
    wait_until(lambda: profiler.dump("--pid", pid, since=begin).samples(
        lambda frames: layers_verdict(frames) == most) >= ENOUGH / 10, 120, f"{ENOUGH // 10} stacks are {most}")
    assert profiler.stop() == 0, profiler.log()
    folded = profiler.dump("--pid", pid, since=begin)
    container.remove()
    counts = {found: folded.samples(lambda frames: layers_verdict(frames) == found)
              for found in ("whole", "frozen", "cut", "impossible")}
    print(f"JDK {jdk} {mode}, flag {has_flag}: {counts}")
    assert counts["impossible"] == 0, folded.show(lambda frames: layers_verdict(frames) == "impossible")
    assert mode == "virtual" or not counts["frozen"], counts
    assert_rare(counts["cut"], sum(counts.values()), 0.02, folded.show(lambda frames: layers_verdict(frames) == "cut"))
    if mode == "deopt":  # what was inlined in a frame that waits to be deoptimised is not known, and that is said
        assert folded.samples(lambda frames: "[unknown jit]" in frames) > 0, folded
    if mode == "osr":  # each layer is called once, so only replaced code is compiled
        compiled = folded.samples(lambda frames: any(LAYER.fullmatch(plain(frame)) and kind(frame) in "1j" for frame in frames))
        assert compiled >= counts["whole"] / 10, folded
