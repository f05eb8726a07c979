# SPDX-License-Identifier: Apache-2.0
"""Is the profile true? Programs with known shares, depth and system calls, on real JVMs in real
containers; what is measured is compared with what the program itself says it did."""
import re

import pytest

from harness.containers import java
from harness.folded import assert_share, kind, kinds, plain
from harness.programs import jbpf, wait_until

SECONDS = 36


def truth(container):
    """Share of seventy() in CPU time, as the program measured it."""
    seventy, thirty = map(int, re.findall(r"TRUTH (\d+) (\d+)", container.logs())[-1])
    return seventy / (seventy + thirty)


@pytest.fixture(scope="module")
def profiled(engine, tmp_path_factory):
    """Three JVMs, started after the daemon; they end by themselves before the daemon does."""
    from harness.daemon import Daemon
    daemon = Daemon(tmp_path_factory.mktemp("profile"), window="5s").start().wait_ready()
    containers = {
        "shares": engine.start("shares", java("Shares", SECONDS)),
        "syscalls": engine.start("syscalls", java("Syscalls", SECONDS, 50)),
        "deep": engine.start("deep", java("DeepRecursion", SECONDS, 50)),
    }
    for name, container in containers.items():
        wait_until(lambda c=container: not c.running(), SECONDS + 40, f"{name} ends")
        assert container.inspect("{{.State.ExitCode}}") == "0", container.logs()
    assert daemon.stop() == 0, daemon.log()
    daemon.containers = containers
    return daemon


def test_shares_of_two_java_methods_come_out_within_sampling_error(profiled):
    container = profiled.containers["shares"]
    folded = profiled.dump("--container", container.name)
    seventy = folded.with_frame("Shares.seventy")
    thirty = folded.with_frame("Shares.thirty")
    assert_share(seventy, seventy + thirty, truth(container))
    # A JVM that starts, loads and compiles does other things too, but not for long.
    assert seventy + thirty >= 0.85 * folded.total, folded


def test_java_stacks_are_whole_from_the_thread_to_the_method(profiled):
    folded = profiled.dump("--container", profiled.containers["shares"].name)
    stacks = [frames for frames, _ in folded.stacks if "Shares.seventy" in map(plain, frames)]
    for frames in stacks:
        assert frames[0] == "java", frames
        names = [plain(frame) for frame in frames]
        assert names.index("Shares.seventy") > 3, f"flat: {frames}"
    whole = folded.samples(lambda frames: {"Shares.work", "Shares.seventy"} <= set(map(plain, frames)))
    assert whole >= 0.9 * folded.with_frame("Shares.seventy"), folded
    rooted = folded.samples(lambda frames: "Shares.seventy" in map(plain, frames) and
                            any("start_thread" in f or "clone" in f for f in frames[1:4]))
    assert rooted >= 0.95 * folded.with_frame("Shares.seventy"), folded


def test_system_calls_show_kernel_over_native_over_java(profiled):
    folded = profiled.dump("--container", profiled.containers["syscalls"].name)
    under_java = folded.samples(lambda frames: "Syscalls.readPieces" in map(plain, frames))
    assert under_java >= 200, folded
    in_kernel = folded.samples(lambda frames: "Syscalls.readPieces" in map(plain, frames) and
                               kind(frames[-1]) == "k")
    assert in_kernel >= 0.5 * under_java, folded
    # Root to leaf: native thread start, Java, the JDK's native code and libc, kernel.
    layered = folded.samples(lambda frames: re.search(r"^n+j+n+k+$", kinds(frames)) is not None)
    assert layered >= 0.8 * in_kernel, folded


def test_kernel_frames_have_names_and_their_kind(profiled):
    folded = profiled.dump("--container", profiled.containers["syscalls"].name)
    kernel = {plain(frame) for frames, _ in folded.stacks for frame in frames if kind(frame) == "k"}
    assert any("read" in name for name in kernel), kernel
    assert not any(name.startswith("0x") for name in kernel), kernel


def test_recursion_600_deep_is_whole(profiled):
    folded = profiled.dump("--container", profiled.containers["deep"].name)
    at_work = folded.samples(lambda frames: "DeepRecursion.grind" in map(plain, frames))
    assert at_work >= 100, folded
    deep = folded.samples(lambda frames: "DeepRecursion.grind" in map(plain, frames) and
                          [plain(f) for f in frames].count("DeepRecursion.descend") == 600 and
                          "[truncated]" not in frames)
    assert deep >= 0.95 * at_work, f"{deep} of {at_work} stacks have all 600 calls"


def test_warmed_up_jvm_has_almost_no_unknown_frames(profiled):
    """At most 1 % of the frames of the last windows; the first ones see the JVM start."""
    container = profiled.containers["shares"]
    result = jbpf("dump", "--store", profiled.store, "--since",
                  f"@{int(profiled.started) + 15}", "--container", container.name)
    assert result.returncode == 0, result.stderr
    from harness.folded import Folded
    folded = Folded(result.stdout)
    frames = sum(count * (len(stack) - 1) for stack, count in folded.stacks)
    unknown = sum(count * sum(frame.startswith("[") and "unknown" in frame for frame in stack)
                  for stack, count in folded.stacks)
    assert unknown <= 0.01 * frames, f"{unknown} of {frames} frames: {folded}"


def test_c_program_on_the_host_is_named_without_any_jvm(daemon, spinner):
    profiler = daemon(window="2s").start().wait_ready()
    process = spinner("native_spinner", 9)
    assert process.wait(30) == 0
    assert profiler.stop() == 0, profiler.log()
    folded = profiler.dump("--pid", process.pid)
    seventy = folded.with_frame("burn_seventy")
    thirty = folded.with_frame("burn_thirty")
    assert_share(seventy, seventy + thirty, 0.7)
    assert seventy + thirty >= 0.95 * folded.total, folded
    assert all(frames[0] == "native_spinner" for frames, _ in folded.stacks), folded
    assert folded.with_frame("main") >= 0.95 * folded.total, folded
