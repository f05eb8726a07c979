# SPDX-License-Identifier: Apache-2.0
"""Is the profile true? Programs with known shares, depth and system calls, on real JVMs in real
containers; what is measured is compared with what the program itself says it did."""
import re
import subprocess
from contextlib import contextmanager

import pytest

from harness.containers import java
from harness.folded import Folded, assert_rare, assert_share, kind, kinds, plain
from harness.programs import AIDS, comm_of, wait_until

pytestmark = pytest.mark.live

ENOUGH = 1500  # samples of named methods: five sigmas are then 6 points of 100
WARM = 500  # of these at least came when the JVM was warm


def truth(container):
    """Share of seventy() in CPU time, as the program measured it."""
    seventy, thirty = map(int, re.findall(r"TRUTH (\d+) (\d+)", container.logs())[-1])
    return seventy / (seventy + thirty)


SYSCALLS = 400  # samples of its method that makes calls


@pytest.fixture(scope="module")
def profiled(engine, module_daemon, long_tests_too):
    """JVMs, started after the daemon and profiled until there is enough to judge, however busy the machine is: three for
    figures; that of which the gate judges something goes on without a pause."""
    daemon = module_daemon(window="5s" if long_tests_too else "2s").start().wait_ready()
    if long_tests_too:
        containers = {
            "shares": engine.start("shares", java("Shares", 1800)),
            "syscalls": engine.start("syscalls", java("Syscalls", 1800, 40)),
            "deep": engine.start("deep", java("DeepRecursion", 1800, 40)),
        }
    else:
        containers = {"syscalls": engine.start("syscalls", java("Syscalls", 1800))}

    def samples(name, method):
        assert daemon.process.poll() is None, daemon.log()
        result = daemon.dump_raw("--container", containers[name].name)
        return Folded(result.stdout).with_frame(method) if result.returncode == 0 else 0

    def wait_figures():
        wait_until(lambda: samples("shares", "Shares.seventy") >= 0.7 * (ENOUGH - WARM), 300, "the JVM is warm")
        daemon.warm = daemon.stored_until()
        wait_until(lambda: samples("shares", "Shares.seventy") >= 0.7 * ENOUGH and
                   samples("deep", "DeepRecursion.grind") >= 300, 300, "enough samples with names in the others")
        daemon.wait_samples({containers["shares"].pid: WARM}, since=daemon.warm)
    try:
        if long_tests_too:
            wait_figures()
        wait_until(lambda: samples("syscalls", "Syscalls.readPieces") >= SYSCALLS, 300, "enough samples of system calls")
    finally:
        code = daemon.stop()
    assert code == 0, daemon.log()
    assert all(container.running() for container in containers.values())
    daemon.containers = containers
    yield daemon
    engine.remove_all()


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
@pytest.mark.released
def test_shares_of_two_java_methods_come_out_within_sampling_error(profiled):
    container = profiled.containers["shares"]
    folded = profiled.dump("--container", container.name)
    seventy = folded.with_frame("Shares.seventy")
    thirty = folded.with_frame("Shares.thirty")
    assert_share(seventy, seventy + thirty, truth(container))
    # A JVM that starts, loads and compiles does other things too, but not for long.
    assert seventy + thirty >= 0.7 * folded.total, folded


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
def test_java_stacks_are_whole_from_the_thread_to_the_method(profiled):
    folded = profiled.dump("--container", profiled.containers["shares"].name)
    in_seventy = folded.with_frame("Shares.seventy")

    def is_whole(frames):
        names = [plain(frame) for frame in frames]
        if "Shares.seventy" not in names or "[truncated]" in names or names[0] != "java":
            return False
        below = names[1:names.index("Shares.seventy")]
        # From the launcher's thread over the JVM's entry into Java: main and work, by their names
        # or as frames of the interpreter, which is all a perf map knows of them.
        if "JavaMain" not in below or "JavaCalls::call_helper" not in below:
            return False
        java = below[below.index("JavaCalls::call_helper") + 1:]
        return sum(name in ("Interpreter", "Shares.work", "Shares.main") for name in java) == 2
    whole = folded.samples(is_whole)
    assert in_seventy >= 100, folded
    assert_rare(in_seventy - whole, in_seventy, 0.05, folded)


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
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
    assert any(re.fullmatch(r"(ksys|vfs)_read", name) for name in kernel), kernel
    assert not any(name.startswith("0x") for name in kernel), kernel


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
def test_recursion_600_deep_is_whole(profiled):
    folded = profiled.dump("--container", profiled.containers["deep"].name)
    at_work = folded.samples(lambda frames: "DeepRecursion.grind" in map(plain, frames))
    assert at_work >= 100, folded
    deep = folded.samples(lambda frames: "DeepRecursion.grind" in map(plain, frames) and
                          [plain(f) for f in frames].count("DeepRecursion.descend") == 600 and
                          "[truncated]" not in frames)
    assert_rare(at_work - deep, at_work, 0.05, "not all 600 calls")


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
def test_warmed_up_jvm_has_almost_no_unknown_frames(profiled):
    """At most 1 % of the frames of the last windows; the first ones see the JVM start."""
    container = profiled.containers["shares"]
    folded = profiled.dump("--container", container.name, since=profiled.warm)
    frames = sum(count * (len(stack) - 1) for stack, count in folded.stacks)
    unknown = sum(count * sum(frame.startswith("[") and "unknown" in frame for frame in stack)
                  for stack, count in folded.stacks)
    assert folded.total >= 0.7 * WARM, folded
    assert_rare(unknown, frames, 0.01, folded)


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
def test_c_program_on_the_host_is_named_without_any_jvm(daemon, spinner):
    profiler = daemon(window="2s").start().wait_ready()
    process = spinner("native_spinner", 600)
    profiler.wait_samples({process.pid: 600})
    assert profiler.stop() == 0, profiler.log()
    whole = profiler.dump("--pid", process.pid)
    # Until its execve() has read the file, from a disk for as long as that takes, it is a copy of this process.
    assert {frames[0] for frames, _ in whole.stacks} <= {"native_spinner", comm_of("self")}, whole
    folded = whole.of("native_spinner")
    seventy = folded.with_frame("burn_seventy")
    thirty = folded.with_frame("burn_thirty")
    assert_share(seventy, seventy + thirty, 0.7)
    assert_rare(folded.total - seventy - thirty, folded.total, 0.05, folded)
    assert_rare(folded.total - folded.with_frame("main"), folded.total, 0.05, folded)


# ---- kernel code that came later ----

@contextmanager
def kernel_spinner(*command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def bpf_spinner(name):
    return kernel_spinner(AIDS / "bpf_spinner", "600", name)


def bpf_names(folded):
    """Of the BPF programs on the stacks, without their tags."""
    found = (re.fullmatch(r"bpf_prog_[0-9a-f]{16}_(\w+)", plain(frame)) for frames, _ in folded.stacks for frame in frames)
    return {match.group(1) for match in found if match}


@pytest.mark.long("the kernel's symbols are read again after half a minute")
def test_bpf_program_that_was_loaded_later_has_its_own_name_or_none(daemon):
    """It lies right behind the first, whose end nothing tells."""
    profiler = daemon(window="2s").start().wait_ready()
    with bpf_spinner("first") as first:
        profiler.wait_samples({first.pid: 1})
        wait_until(lambda: "first" in bpf_names(profiler.dump("--pid", first.pid)), 100, "the first has its name")
        with bpf_spinner("second") as second:
            profiler.wait_samples({second.pid: 1})
            wait_until(lambda: "second" in bpf_names(profiler.dump("--pid", second.pid)), 100, "the second has its name")
            assert profiler.stop() == 0, profiler.log()
    assert bpf_names(profiler.dump("--pid", first.pid)) == {"first"}
    assert bpf_names(profiler.dump("--pid", second.pid)) == {"second"}


def bpf_address(name):
    """Where the program of this name is."""
    with open("/proc/kallsyms") as symbols:
        return next(line.split()[0] for line in symbols if re.search(rf" bpf_prog_[0-9a-f]{{16}}_{name}\t", line))


@pytest.mark.long("the kernel's symbols are read again after ten seconds at the earliest, twice here")
def test_bpf_program_in_the_place_of_another_has_its_own_name_or_none(daemon):
    profiler = daemon(window="1s").start().wait_ready()
    sampled, places = {}, []
    # One after the other, until a place was taken twice: at once, where nobody else loads programs.
    while len(sampled) < 3 or (len(set(places)) == len(places) and len(sampled) < 20):
        name = f"spin{len(sampled)}"
        with bpf_spinner(name) as process:
            places.append(bpf_address(name))
            profiler.wait_samples({process.pid: 1})
            if not sampled:
                wait_until(lambda: bpf_names(profiler.dump("--pid", process.pid)), 100, "the first has a name")
        sampled[name] = process.pid
    assert len(set(places)) < len(places), places
    with bpf_spinner("last") as process:
        profiler.wait_samples({process.pid: 1})
        wait_until(lambda: bpf_names(profiler.dump("--pid", process.pid)), 100, "the last has a name")
        sampled["last"] = process.pid
        assert profiler.stop() == 0, profiler.log()
    for name, pid in sampled.items():
        # What the process loaded; programs that watch it, jbpfd's among them, run in it as well.
        run = {frames[frames.index("bpf_test_run_[k]") + 1] for frames, _ in profiler.dump("--pid", pid).stacks
               if "bpf_test_run_[k]" in frames[:-1]}
        assert not [frame for frame in run if re.match(rf"bpf_prog_[0-9a-f]{{16}}_(?!{name}_\[k\]$)", frame)], (name, run)


@pytest.mark.long("that the program before it has its name shows that there is one to be had: not beside tests that load others")
def test_filter_of_system_calls_has_not_the_name_of_a_bpf_program(daemon):
    """Nothing tells where it lies: here, behind programs that have names."""
    with bpf_spinner("before") as before, kernel_spinner(AIDS / "seccomp_spinner", "600") as process:
        profiler = daemon(window="1s").start().wait_ready()
        profiler.wait_samples({before.pid: 1, process.pid: 100})
        wait_until(lambda: bpf_names(profiler.dump("--pid", before.pid)), 100, "the program has a name")
        profiler.wait_samples({process.pid: 300})
        assert profiler.stop() == 0, profiler.log()
    assert not bpf_names(profiler.dump("--pid", process.pid))
