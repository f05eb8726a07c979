#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Judges what a guest of check-kernels left: judge.py RELEASE FOLDER [ARCH]. One line per test, the last line
counts: "N passed, N failed". --count prints how many tests there are.

All programs are known (tests/kernels/KernelTree.java, tests/bpf/load.c, tests/e2e/native_spinner.c), so
names and depths must be exact. How many samples there are depends on how busy the host is: limits on
few of them have room for bad luck, of one in a million."""
import json
import math
import os
import re
import subprocess
import sys
from functools import cached_property
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "e2e"))

from harness.folded import Folded, assert_rare, kind, plain  # noqa: E402

HZ = 99
RECURSION = 300
JAVA_RECURSION = 40
CONTAINER = "0123456789abcdef" * 4
LOADS = ("java", "spinner", "recurse", "syscalls")
TREE = re.compile(r"main(;trunk(;left(;leftLeaf)?|(;climb){1,%d}|(;climb){%d};rightLeaf)?)?$"
                  % (JAVA_RECURSION, JAVA_RECURSION))
ENTRY = {"x86_64": ["entry_SYSCALL_64_after_hwframe", "do_syscall_64"],
         "aarch64": ["el0t_64_sync", "el0t_64_sync_handler"]}
FULL = re.compile(r"main;trunk(;left;leftLeaf|(;climb){%d};rightLeaf)$" % JAVA_RECURSION)


class Guest:
    """What it left, and what the clients of this host say of its store."""

    def __init__(self, release, folder, arch="x86_64"):
        self.release, self.folder, self.arch = release, Path(folder), arch
        self.version = tuple(int(number) for number in re.findall(r"\d+", release)[:2])

    def text(self, name):
        return (self.folder / name).read_text(errors="replace")

    def client(self, name, *arguments):
        result = subprocess.run([TOP / os.environ.get("JBPF_BUILD", "build") / name, *map(str, arguments)], timeout=120, text=True,
                                errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
        assert result.returncode == 0, f"{name} {arguments}: {result.returncode} {result.stderr}"
        return result.stdout

    def dump(self, *arguments, since=1):
        return self.client("bin/jbpf-dump", "--store", self.folder / "store", "--since", f"@{since}", *arguments)

    def load(self, name):
        """(pid, CPU seconds while jbpfd sampled) of one of LOADS."""
        match = re.search(rf"^{name}=(\d+) (\d+)$", self.text("ticks.end"), re.M)
        assert match, f"{name} was not started: {self.text('ticks.end')}"
        return int(match[1]), int(match[2]) / 100

    @cached_property
    def folded(self):
        return {name: Folded(self.dump("--pid", self.load(name)[0])) for name in LOADS}

    @cached_property
    def named(self):
        """The same since the first window of each that had names: before, a starved guest may have had none."""
        since = int(self.text("named.at"))
        return {name: Folded(self.dump("--pid", self.load(name)[0], since=since)) for name in LOADS}

    @cached_property
    def streams(self):
        return json.loads(self.dump("--list", "--format", "json"))["streams"]

    @cached_property
    def windows(self):
        """(hosts, streams), each a dictionary per window."""
        hosts, streams = [], []
        for line in self.client("tests/tools/store_windows", self.folder / "store").splitlines():
            what, start, duration, boot, samples, *rest = line.split()
            assert what in ("host", "stream"), line
            window = {key: int(value) for key, value in (field.split("=") for field in rest)}
            window.update(start=int(start), duration=int(duration), boot=int(boot), samples=int(samples))
            (hosts if what == "host" else streams).append(window)
        return hosts, streams


def by_process(folded, comm):
    """Stacks of the program itself, not of the shell it was before."""
    return [(frames, count) for frames, count in folded.stacks if frames[0] == comm]


def test_guest_ran_to_its_end(guest):
    assert guest.text("run.exit").strip() == "0", guest.text("run.exit")
    for program in ("jbpfd", "dump", "status"):
        assert guest.text(f"{program}.exit").strip() == "0", f"{program} failed: {guest.text('clients.err')}"
    oops = re.findall(r".*(?:Oops|BUG: unable to handle|general protection).*", guest.text("dmesg"))
    assert not oops, oops


def test_check_finds_all_there(guest):
    text = guest.text("check.txt")
    assert guest.text("check.exit").strip() == "0", text + guest.text("check.err")
    bad = [line for line in text.splitlines() if line.startswith(("less", "FAIL"))]
    if guest.version < (5, 13):  # which Landlock came with
        bad = [line for line in bad if not line.startswith("less  Landlock")]
    if guest.arch != "x86_64":  # JVMs need the flag
        bad = [line for line in bad if not line.startswith("less  stack walk")]
    if guest.version < (5, 18):
        bad = [line for line in bad if not line.startswith("less  off-cpu")]
    assert not bad, bad
    assert guest.release in text


def test_program_fits_the_kernel(guest):
    """bpf_task_pt_regs came with 5.15: without it the other variant is loaded."""
    taken = re.search(r"samples are taken by (\w+)", guest.text("jbpfd.log"))
    assert taken, guest.text("jbpfd.log")[-500:]
    assert taken[1] == ("oncpu" if guest.version >= (5, 15) else "oncpu_compat"), (taken[1], guest.version)
    assert re.search(rf" samples at {HZ} Hz ", guest.text("jbpfd.log"))


def test_c_functions_have_their_names(guest):
    stacks = by_process(guest.named["spinner"], "native_spinner")
    names = [([plain(frame) for frame in frames if kind(frame) == "n"], count) for frames, count in stacks]
    work = [(frames, count) for frames, count in names if "main" in frames]
    whole = sum(count for _, count in work)
    assert whole >= 30, f"only {whole} samples: {stacks[:5]}"
    counts = {leaf: sum(count for frames, count in work if frames[-2:] == ["main", leaf])
              for leaf in ("burn_seventy", "burn_thirty")}
    in_leaves = sum(counts.values())
    # Else in main itself, or in a clock of libc or the vdso below a function.
    assert_rare(whole - in_leaves, whole, 0.1, work)
    # 70 : 30 of an undisturbed CPU. One that the host takes away in mid-slice ends the slice, without
    # samples: then both get the same number.
    assert 0.35 <= counts["burn_seventy"] / in_leaves <= 0.85, counts


def test_c_recursion_has_its_exact_depth(guest):
    stacks = by_process(guest.named["recurse"], "load")
    deep = [([plain(frame) for frame in frames if kind(frame) == "n"], count) for frames, count in stacks]
    deep = [(frames, count) for frames, count in deep if "recurse" in frames]
    whole = sum(count for _, count in deep)
    assert whole >= 30, f"only {whole} samples below recurse(): {stacks[:5]}"
    # On the way down for a moment at the start; else at the bottom, all of it in one row.
    wrong = [(frames[:4], frames.count("recurse"), count) for frames, count in deep
             if frames[frames.index("recurse"):][:RECURSION] != ["recurse"] * RECURSION]
    assert_rare(sum(count for *_, count in wrong), whole, 0.01, wrong)
    deeper = [frames for frames, _ in deep if frames.count("recurse") > RECURSION]
    assert not deeper, deeper[0][:5]
    burning = sum(count for frames, count in deep if frames[-1] in ("burn", "burn_until"))
    # Libc's and the vdso's clock_gettime; a process of a busy guest may have had its time there.
    assert burning >= 0.8 * whole, (burning, whole)


def test_native_stacks_reach_their_first_function(guest):
    """Libc's frames between main and _start keep no frame pointers: they are found by its unwind table."""
    stacks = by_process(guest.named["recurse"], "load")
    below_main = [(frames, count) for frames, count in stacks if "main" in map(plain, frames)]
    whole = sum(count for frames, count in below_main if plain(frames[1]) == "_start")
    total = sum(count for _, count in below_main)
    assert total >= 30, stacks[:5]
    # Those of the first moments were walked by frame pointers; a guest's moments are seconds.
    assert whole >= 0.5 * total, (whole, total, [frames[:5] for frames, _ in below_main[:5]])


def java_main_thread(guest):
    """(words of KernelTree's methods, count) of the thread that runs main, once its code is known."""
    folded = guest.named["java"]
    prefix = "KernelTree."
    found = []
    for frames, count in folded.stacks:
        methods = [plain(frame)[len(prefix):] for frame in frames if frame.startswith(prefix)]
        if methods:
            found.append((";".join(methods), count, frames))
    return found


def test_java_methods_have_their_names(guest):
    found = java_main_thread(guest)
    whole = sum(count for _, count, _ in found)
    assert whole >= 30, f"only {whole} samples below KernelTree.main"
    # A method that was being entered or left may miss its caller; that is told in the counts.
    wrong = [(count, ";".join(frames)) for methods, count, frames in found if not TREE.match(methods)]
    assert_rare(sum(count for count, _ in wrong), whole, 0.02, wrong[:3])
    unknown = [(count, ";".join(frames)) for _, count, frames in found
               if any(frame.startswith(("[unknown", "[truncated")) for frame in frames)]
    assert_rare(sum(count for count, _ in unknown), whole, 0.01, unknown[:3])


def test_java_stacks_have_their_exact_depth(guest):
    found = java_main_thread(guest)
    whole = sum(count for _, count, _ in found)
    full = sum(count for methods, count, _ in found if FULL.match(methods))
    sides = {leaf: sum(count for methods, count, _ in found if methods.endswith(leaf))
             for leaf in ("leftLeaf", "rightLeaf")}
    assert_rare(whole - full, whole, 0.15, [(count, methods[-60:]) for methods, count, _ in found][:5])
    assert min(sides.values()) >= 0.15 * whole, sides


def test_jvm_is_named_by_its_own_tables(guest):
    pid = guest.load("java")[0]
    stream = max((s for s in guest.streams if s["pid"] == pid), key=lambda s: s["samples"])
    assert stream["jit_source"] == "vmstructs" and stream["jvm_version"], stream
    streams = json.loads(guest.text("status.json"))["streams"]
    assert any(s["pid"] == pid for s in streams), streams


def test_kernel_frames_have_their_names(guest):
    stacks = by_process(guest.named["syscalls"], "load")
    kernel = [([plain(frame) for frame in frames if kind(frame) == "k"], count) for frames, count in stacks]
    whole = sum(count for _, count in kernel)
    calls = [(frames, count) for frames, count in kernel if "vfs_read" in frames]
    assert whole >= 30, f"only {whole} samples of a program that does system calls"
    assert sum(count for _, count in calls) >= 0.5 * whole, stacks[:5]
    for frames, _ in calls:
        assert frames[:2] == ENTRY[guest.arch] or "asm_" in frames[0] or "_irq" in frames[0], frames
    every = [(frame, count) for folded in guest.folded.values() for frames, count in folded.stacks
             for frame in frames if kind(frame) == "k"]
    unnamed = [(frame, count) for frame, count in every if frame.startswith("[")]
    # Code of BPF programs and trampolines is in no symbol table of old kernels.
    assert_rare(sum(count for _, count in unnamed), sum(count for _, count in every), 0.005, unnamed[:5])


def test_container_is_known_by_its_cgroup(guest):
    pid = guest.load("java")[0]
    found = json.loads(guest.dump("--container", CONTAINER[:12], "--list", "--format", "json"))["streams"]
    assert {stream["pid"] for stream in found} == {pid}, found
    assert all(stream["container_id"] == CONTAINER for stream in found), found


def test_samples_are_as_many_as_cpu_time(guest):
    for name in LOADS:
        seconds = guest.load(name)[1]
        expected, found = seconds * HZ, guest.folded[name].total
        # Emulated timers are late when the host is busy, and what is late is left out.
        assert 0.1 * expected <= found <= 1.1 * expected + 5 * math.sqrt(expected) + 5, (name, found, expected)


def test_a_cpu_that_was_away_is_sampled_or_named(guest):
    """Its event is off for good, and its number is in the list as before; jbpfd may have no right to open another."""
    assert guest.text("cpu.exit").strip() == "0", guest.text("console") if (guest.folder / "console").exists() else ""
    pid, ticks = map(int, re.match(r"back=(\d+) (\d+)", guest.text("cpu.back")).groups())
    if "probe: CPU 1 came online and is not sampled" in guest.text("jbpfd.log"):
        told = json.loads(guest.text("status.cpu"))
        assert not told["is_well"] and any("1 CPU that came online later is not sampled" in problem
                                           for problem in told["host_problems"]), told["host_problems"]
        return
    found = Folded(guest.dump("--pid", pid)).total
    assert found >= 0.1 * ticks / 100 * HZ, (pid, ticks, found)


def test_sampling_goes_on_after_a_suspend(guest):
    """On each CPU; or it is told of the one that it had no right to open an event on again."""
    assert guest.text("suspend.exit").strip() == "0" and "PM: suspend exit" in guest.text("dmesg"), guest.text("dmesg")[-2000:]
    first, second = (tuple(map(int, line.split())) for line in guest.text("suspend.back").splitlines())
    problems = json.loads(guest.text("status.suspend"))["host_problems"]
    is_told = any("that came online later is not sampled" in problem for problem in problems)
    for pid, ticks in [first] if is_told else [first, second]:
        found = Folded(guest.dump("--pid", pid)).total
        assert found >= 0.1 * ticks / 100 * HZ, (pid, ticks, found)


def test_nothing_is_lost_unexplained(guest):
    hosts, streams = guest.windows
    counted = sum(window["samples"] for window in hosts)
    kept = sum(window["samples"] for window in streams)
    explained = sum(window["memory"] + window["undecided"] + window["given_up"] for window in hosts)
    assert counted > 0 and counted == kept + explained, (counted, kept, explained)
    for window in streams:
        assert window["text"] == window["samples"], window
    for reason in ("counts_full", "no_map", "store", "memory", "stack_buffer", "kernel_stack"):
        lost = sum(window[reason] for window in hosts)
        assert_rare(lost, counted, 0.001, reason)


def test_windows_leave_no_gap(guest):
    hosts, streams = guest.windows
    assert len(hosts) >= 2, hosts
    for before, after in zip(hosts, hosts[1:]):
        assert before["boot"] + before["duration"] == after["boot"], (before, after)
    assert {window["boot"] for window in streams} <= {window["boot"] for window in hosts}


def test_guest_and_host_read_the_same(guest):
    assert guest.text("all.folded") == guest.dump()
    guest.client("bin/jbpf-store", "check", "--store", guest.folder / "store")


def test_waiting_threads_are_seen_or_refused_by_name(guest):
    if guest.version < (5, 18):  # which bpf_copy_from_user_task() came with
        assert guest.text("waits.exit").strip() == "1" and "needs 5.18" in guest.text("waits.err"), guest.text("waits.err")
        return
    assert guest.text("waits.exit").strip() == "0", guest.text("waits.err")
    waits = Folded(guest.text("waits.folded"))
    # The launcher's first thread waits for the one that runs main(); its threads of the VM wait for work.
    assert waits.with_frame("futex") >= 10, waits
    assert waits.with_frame("start_thread") or waits.with_frame("Thread::call_run"), waits


def test_each_wait_is_measured_or_refused_by_name(guest):
    if guest.version < (5, 15) or guest.arch != "x86_64":
        assert guest.text("sched.exit").strip() == "1" and "sched cannot be recorded on this kernel: it needs" in \
            guest.text("sched.err"), guest.text("sched.err")
        return
    assert guest.text("sched.exit").strip() == "0", guest.text("sched.err")
    waits = Folded(guest.text("sched.folded"))
    assert waits.with_frame("futex") >= 1_000_000, waits  # microseconds of threads of the VM, at least


TESTS = [value for name, value in sorted(globals().items()) if name.startswith("test_")]


def main():
    if sys.argv[1:] == ["--count"]:
        print(len(TESTS))
        return 0
    release, folder, *arch = sys.argv[1:]
    guest = Guest(release, folder, *arch)
    failed = 0
    for test in TESTS:
        name = f"{release} {test.__name__.removeprefix('test_')}"
        try:
            test(guest)
            print(f"ok     {name}")
        except (AssertionError, OSError, ValueError, KeyError, subprocess.SubprocessError) as problem:
            failed += 1
            print(f"FAILED {name}: {str(problem)[:2000]}")
    print(f"{len(TESTS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
