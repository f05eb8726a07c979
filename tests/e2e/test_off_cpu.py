# SPDX-License-Identifier: Apache-2.0
"""What threads wait for: each thread's share in each method is what the kernel says of that thread, idle ones are set
apart, and nothing that a process does to itself keeps the others from being seen."""
import contextlib
import json
import math
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness.containers import JDKS, java
from harness.daemon import CLOCK_SLACK
from harness.folded import Folded
from harness.neighbours import Cgroup
from harness.programs import AIDS, BIN, Lacking, comm_of, jbpf, run, wait_until

RATE = 30
SECONDS = 12
# Thread and method of Waits.java in which it waits; that may be some of its time only.
METHODS = {"t-park": "Waits.doPark", "t-read": "Waits.doRead", "t-select": "Waits.doSelect",
           "t-take": "Waits.doTake", "t-burn": "Waits.doBurn"}


def schedstats(pid):
    """When, and {comm: (ns on a CPU, ns waiting for one)} of its threads."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            run_ns, delay_ns, _ = (task / "schedstat").read_text().split()
            found[(task / "comm").read_text().strip()] = (int(run_ns), int(delay_ns))
        except OSError:
            pass  # it has ended
    return time.monotonic_ns(), found


def truths(before, after):
    """The part of the time that each thread waited for something else than a CPU."""
    (began, first), (ended, last) = before, after
    return {name: 1 - sum(last[name][i] - first[name][i] for i in (0, 1)) / (ended - began)
            for name in last if name in first}


def record(path, *arguments, seconds=SECONDS, event="off-cpu", **options):
    return run(BIN / "jbpf", "record", "--event", event, "-d", f"{seconds}s", "-o", path, *arguments,
               timeout=60 + seconds, **options)


def record_until(enough, path, *arguments, **options):
    """Records longer and longer until it holds enough: how soon passes come is the host's. Returns the last result, and
    what it recorded."""
    for seconds in (1, 4, 16, 64):
        result = record(path, *arguments, seconds=seconds, **options)
        assert result.returncode in (0, 3), result.stderr
        waits = Folded(path.read_text() if result.returncode == 0 else "")
        if enough(result, waits):
            return result, waits
    raise Lacking(f"{seconds} s hold too little: {waits} {result.stderr}")


def wait_until_it_waits(waiter, states):
    """Of all its threads, in order: the first one says READY before the others have run."""
    assert waiter.stdout.readline() == "READY\n"

    def states_now():
        return "".join(sorted((task / "stat").read_text().rpartition(")")[2].split()[0]
                              for task in Path(f"/proc/{waiter.pid}/task").iterdir()))
    wait_until(lambda: states_now() == states, 60, lambda: f"its threads wait: {states_now()}, not {states}")


def assert_share(found, whole, truth, what):
    """Three standard errors, and a point for what begins and ends elsewhere."""
    error = 3 * math.sqrt(max(truth * (1 - truth), 0.01) / whole) + 0.01
    print(f"{what.split()[0]} {100 * found / whole:.1f} %, truth {100 * truth:.1f} +- {100 * error:.1f}")
    assert abs(found / whole - truth) <= error, f"{what}: {found / whole:.3f}, truth {truth:.3f}, +-{error:.3f}"


def waits_for_ever(frames):
    return any("Waits.lambda$main" in caller and "Object.wait" in callee for caller, callee in zip(frames, frames[1:]))


@pytest.mark.live
@pytest.mark.long("shares of 12 s by the clock against the kernel's: passes that come late change them")
@pytest.mark.released
@pytest.mark.parametrize("jdk", JDKS)
def test_java_threads_wait_where_and_as_long_as_they_do(jdk, engine, daemon):
    container = engine.start_ready(f"waits-{jdk}", java("Waits", 600), "READY", jdk=jdk)
    one = daemon("--event", "cpu,off-cpu", "--off-cpu-rate", RATE, "--pid", container.pid, window="2s").start().wait_ready()

    def waits_now(since, event="off-cpu"):
        return Folded(jbpf("dump", "--store", one.store, "--event", event, "--idle", "--pid", container.pid,
                           "--since", f"@{int(since)}").stdout)

    # It knows the JVM's code and the tables of its files.
    begin = time.time()
    wait_until(lambda: time.time() > begin + 4 and waits_now(time.time() - 3).total and "[truncated]" not in
               waits_now(time.time() - 3).names(), 90, "stacks are whole")
    begin, before = time.time(), schedstats(container.pid)
    time.sleep(SECONDS)
    truth = truths(before, schedstats(container.pid))
    assert one.stop() == 0, one.log()
    waits = waits_now(begin + 2)  # windows that began since
    # t-idle has a sample for each pass. It runs in no window, unless the kernel wakes it for nothing in one.
    passes, idle = waits.samples(waits_for_ever), waits.samples(lambda frames: waits_for_ever(frames) and frames[1] == "[idle]")
    assert passes >= RATE * SECONDS / 6 and idle >= passes - RATE * 2, (passes, idle, waits)
    for thread, method in METHODS.items():
        assert_share(waits.with_frame(method), passes, truth[thread], f"{thread} {waits}")
    long, short = waits.with_frame("Waits.sleepLong"), waits.with_frame("Waits.sleepShort")
    assert_share(long + short, passes, truth["t-sleep"], "t-sleep")
    assert_share(long, long + short, 0.75, "30 ms of 40")
    cut = waits.samples(lambda frames: any(frame in ("[truncated]", "[stack lost]", "[cut]") for frame in frames))
    assert cut <= 0.01 * waits.total, waits.show(lambda frames: "[truncated]" in frames)
    # On a file system in memory it waits for nothing; else in state D, and for some locks of the kernel.
    synced = waits.with_frame("Waits.doFsync")
    assert synced <= passes * (truth["t-fsync"] + 0.1), (synced, passes, truth["t-fsync"])
    print(f"{waits.total} samples, {cut} cut, doFsync {synced} of {passes}")
    locks = waits_now(begin + 2, "lock")
    # Where the JVM's library has no symbols, as Debian's of JDK 8, its monitors have no names.
    monitors = [] if jdk == 8 else ["Waits.doSync"]
    for method in ["Waits.doPark", "Waits.doReentrant", "Waits.doTake", *monitors]:
        assert locks.with_frame(method) == waits.with_frame(method), (method, locks, waits)
    for method in ("Waits.doRead", "Waits.doSelect", "Waits.sleepLong"):
        assert not locks.with_frame(method), (method, locks)
    assert waits.samples(lambda frames: frames[-1] == "futex_[k]") > waits.total / 2, waits


@pytest.mark.live
def test_idle_threads_are_hidden_until_they_are_asked_for(tmp_path):
    waiter = subprocess.Popen([AIDS / "waiter", "threads", "5"], stdout=subprocess.PIPE, text=True)
    try:
        wait_until_it_waits(waiter, "SSSSSS")
        hidden, _ = record_until(lambda result, _: "not shown" in result.stderr, tmp_path / "hidden.txt",
                                 "-p", waiter.pid, "--format", "folded")
        begin = time.monotonic()
        shown, waits = record_until(lambda _, waits: waits.total >= 6 * 5, tmp_path / "shown.txt",
                                    "-p", waiter.pid, "--format", "folded", "--idle")
        elapsed = time.monotonic() - begin
    finally:
        waiter.kill()
        waiter.wait()
    assert hidden.returncode == 3 and "not shown" in hidden.stderr, hidden.stderr
    assert shown.returncode == 0, shown.stderr
    assert all(frames[1] == "[idle]" and frames[-1] == "pause_[k]" for frames, _ in waits.stacks), waits
    # by construction: each thread has one sample of each pass at most, and there are ten in a second of the same clock
    assert 6 * 5 <= waits.total <= 6 * (10 * elapsed + 1), (elapsed, waits)


@pytest.mark.live
@pytest.mark.long("1,200 threads must have 6,000 samples in 7 s by the clock, 98 % of them walked")
def test_samples_of_threads_that_are_yet_to_be_walked_get_their_stacks(tmp_path):
    """More new threads than are walked in a second: none of them runs, so none loses its first samples."""
    waiter = subprocess.Popen([AIDS / "waiter", "threads", "1200"], stdout=subprocess.PIPE, text=True)
    try:
        waiter.stdout.readline()
        result = record(tmp_path / "out.folded", "-p", waiter.pid, "--idle", seconds=7)
    finally:
        waiter.kill()
        waiter.wait()
    assert result.returncode == 0, result.stderr
    waits = Folded((tmp_path / "out.folded").read_text())
    assert waits.total > 1200 * 5, waits
    assert waits.with_frame("thread_waits") > 0.98 * waits.total and not waits.with_frame("[cut]"), waits


@pytest.mark.live
def test_daemon_stores_waiting_beside_cpu_time(daemon):
    began = time.time()
    one = daemon("--event", "cpu,off-cpu", "--log-level", "debug", window="2s").start().wait_ready()
    # As many as run for some milliseconds of a second: waking up is all that they do.
    waiter = subprocess.Popen([AIDS / "waiter", "flips", "40"], stdout=subprocess.PIPE, text=True)
    try:
        waiter.stdout.readline()
        flips = time.time()

        def has(event, *when):
            return jbpf("dump", "--store", one.store, "--event", event, "--pid", waiter.pid, *when).returncode == 0

        def has_both(*when):
            return all(has(event, *when) for event in ("cpu", "off-cpu"))
        wait_until(lambda: has_both("--since", f"@{flips:.3f}"), 60, "both events are in the first half")
        middle = one.stored_until()
        assert has_both("--since", f"@{flips:.3f}", "--until", f"@{middle:.3f}"), (flips, middle, one.windows())
        # A comparison takes the windows that begin in its halves, a dump those that reach into its time.
        second = wait_until(lambda: [begin for begin, _ in one.windows() if begin >= middle], 60, "a window of the second half")[0]
        wait_until(lambda: has_both("--since", f"@{second + CLOCK_SLACK:.3f}"), 60, "both events are in the second half")
        wait_until(lambda: one.dump("--event", "off-cpu", "--pid", waiter.pid, since=flips).samples(
            lambda frames: frames[-1] == "clock_nanosleep_[k]"), 60, "its sleep was seen")
        wait_until(lambda: one.dump("--event", "off-cpu", "--idle", "--pid", waiter.pid, since=flips).with_frame("[idle]"), 60,
                   "its first thread is idle")
    finally:
        waiter.kill()
        waiter.wait()
    assert one.stop() == 0, one.log()
    waits = one.dump("--event", "off-cpu", "--pid", waiter.pid)
    assert waits.samples(lambda frames: frames[-1] == "clock_nanosleep_[k]") > 0, waits
    assert not any("[idle]" in frames for frames, _ in waits.stacks), waits
    everyone = one.dump("--event", "off-cpu", "--idle")
    assert everyone.samples(lambda frames: frames[1] == "[idle]") > 0, everyone
    status = json.loads(one.status("--json"))["events"]
    assert status["off-cpu"]["on"] == 1 and status["off-cpu"]["period"] >= 100_000_000, status
    listed = json.loads(one.dump_raw("--event", "off-cpu", "--pid", waiter.pid, "--format", "json").stdout)
    assert (listed["event"], listed["unit"]) == ("off-cpu", "nanoseconds"), listed
    # Both as one picture, in microseconds.
    cpu, wall = one.dump("--pid", waiter.pid), one.dump("--event", "wall", "--pid", waiter.pid)
    if " passes a second for " not in one.log():  # of a host with many threads a window's samples may stand for more
        sampled = cpu.total * (10**6 // one.hz) + waits.total * (listed["period"] // 1000)
        ready = sum(stream.get("run_delay_ns", 0) for stream in one.list_json("--event", "off-cpu", "--pid", waiter.pid)) / 1000
        waited = wall.with_frame("[waiting for a CPU]")
        assert wall.total == sampled + waited, (cpu, waits, wall)
        # by construction: the sum of each window is rounded down to a microsecond
        assert ready - len(one.windows()) <= waited <= ready, (ready, waited)
    whole = json.loads(one.dump_raw("--event", "wall", "--pid", waiter.pid, "--format", "json").stdout)
    assert (whole["event"], whole["unit"], whole["period"], whole["samples"]) == ("wall", "nanoseconds", 1000, wall.total)
    table = one.dump_raw("--event", "wall", "--by", "comm", "--format", "top", "--pid", waiter.pid).stdout
    assert "THREADS" in table and "MICROSECONDS" in table and "waiter" in table, table
    compared = run(BIN / "jbpf", "diff", "--store", one.store, "--event", "wall", "--pid", waiter.pid, "--before",
                   f"@{int(began - 2)}..@{middle:.3f}", "--after", f"@{middle:.3f}..now")
    assert compared.returncode == 0 and "threads" in compared.stdout, compared
    assert run(BIN / "jbpf", "store", "check", "--store", one.store).returncode == 0


def run_delay_ns(pid):
    """How long its threads were ready and had no CPU, as the kernel says."""
    return sum(delay for _, delay in schedstats(pid)[1].values())


def stop(pids):
    """No thread of them gets a CPU, or waits for one, from now on."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: all(re.search(r"^State:\tT", status.read_text(), re.M)
                           for pid in pids for status in Path(f"/proc/{pid}/task").glob("*/status")),
               30, f"{pids} are stopped")


@pytest.mark.live
@pytest.mark.long("5 s by the clock must lie between two passes, which on a busy host come late, and agree within 5 %")
def test_waiting_for_a_cpu_is_what_the_kernel_says(engine, daemon):
    command = ["sh", "-c", "echo READY; while :; do :; done"]
    burners = {name: engine.start_ready(name, command, "READY", options=options).pid
               for name, options in (("limited", ["--cpus=0.2"]), ("free", []))}
    stop(burners.values())
    before = {name: run_delay_ns(pid) for name, pid in burners.items()}
    one = daemon("--event", "cpu,off-cpu", window="1s").start().wait_ready()
    wait_until(lambda: len(one.windows()) > 1, 60, "there was a pass")
    for pid in burners.values():
        os.kill(pid, signal.SIGCONT)
    time.sleep(5)
    stop(burners.values())
    truth = {name: run_delay_ns(pid) - before[name] for name, pid in burners.items()}
    seen = len(one.windows())
    wait_until(lambda: len(one.windows()) > seen + 2, 60, "there was a pass after that")
    assert one.stop() == 0, one.log()
    streams = one.list_json("--event", "off-cpu")
    for name, pid in burners.items():
        known = sum(stream.get("run_delay_ns", 0) for stream in streams if stream["pid"] == pid)
        assert abs(known - truth[name]) <= 0.05 * truth[name] + 100_000_000, (name, known, truth[name], one.log())
        # Its one thread ran or waited for a CPU, all the time in which it was not stopped.
        wall = one.dump("--event", "wall", "--pid", pid)
        assert 4_500_000 < wall.total < 5_500_000 + 100_000, (name, wall)
        assert wall.with_frame("[waiting for a CPU]") == pytest.approx(known / 1000, abs=1000), (name, known, wall)
    assert truth["limited"] > 1_000_000_000, "its quota is used up"
    assert re.search(r"CPUWAIT.*\n(.*\n)*.*limited.* \d+\.\d\ds ", one.list_text("--event", "off-cpu"))
    status = json.loads(one.status("--json"))["events"]["off-cpu"]
    assert status["run_delay_ns"] >= 0.95 * truth["limited"] - 100_000_000, status
    assert " s for a CPU" in one.status()
    # Of CPU time it is nothing.
    assert not any("run_delay_ns" in stream for stream in one.list_json()), one.list_json()
    assert "CPUWAIT" not in one.list_text()


def offcpu_child(one):
    """The process of a daemon that runs the passes."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "comm").read_text().strip() == "jbpfd-offcpu" and \
                    re.search(rf"^PPid:\t{one.process.pid}$", (folder / "status").read_text(), re.M):
                return int(folder.name)
        except OSError:
            pass
    return None


def confined_child(one, seconds, *others):
    """Another one than these, once it has given up its rights."""
    def child():
        pid = offcpu_child(one)
        return pid not in (None, *others) and "Seccomp:\t2" in Path(f"/proc/{pid}/status").read_text() and pid
    return wait_until(child, seconds, lambda: f"it begins, another one than {others}; log: {one.log()}")


def off_cpu_told(one):
    """What the stored windows of off-cpu say of it; nothing while there are none."""
    result = jbpf("status", "--store", one.store, "--event", "off-cpu", "--json")
    return json.loads(result.stdout)["events"]["off-cpu"] if result.returncode == 0 else {}


@pytest.mark.live
@pytest.mark.long("exactly two restarts and under 20 % of a CPU: a starved process of the passes is replaced, too")
def test_process_of_the_passes_holds_one_descriptor_and_is_replaced_when_it_dies(daemon):
    one = daemon("--event", "off-cpu", window="2s").start().wait_ready()
    child = confined_child(one, 30)
    status = Path(f"/proc/{child}/status").read_text()
    assert re.search(r"^CapPrm:\t0+$", status, re.M) and re.search(r"^Seccomp:\t2$", status, re.M), status
    assert sorted(os.listdir(f"/proc/{child}/fd")) == ["0", "1"], "the socket and the program"
    os.kill(child, signal.SIGKILL)
    child = confined_child(one, 30, child)
    os.kill(child, signal.SIGSTOP)
    confined_child(one, 60, child)  # one that makes no passes is replaced
    assert "has made no pass for" in one.log()
    waiter = subprocess.Popen([AIDS / "waiter", "flips", "1"], stdout=subprocess.DEVNULL)
    time.sleep(5)
    waiter.kill()
    waiter.wait()
    wait_until(lambda: off_cpu_told(one).get("restarts") == 2, 60, "a window tells of both restarts")
    told = off_cpu_told(one)
    assert told["restarts"] == 2 and told["passes"] > 0 and told["threads"] > 10 and told["unread_processes"] == 0, told
    assert 0 < told["cpu_ppm"] < 200_000, told
    table = one.status("--event", "off-cpu")
    assert "stacks whole" in table and "its process was begun again 2 times" in table, table
    assert one.stop() == 0, one.log()
    assert one.dump("--event", "off-cpu", "--pid", waiter.pid).total > 0, one.log()
    assert "cpu was not sampled in this time: it is missing in wall" in one.dump_raw("--event", "wall").stderr


@pytest.mark.live
@pytest.mark.parametrize("kind", ["file", "page"])
def test_memory_that_could_keep_a_reader_waiting_is_not_read(kind, tmp_path):
    """A stack that is a mapping of a file could be on a server that never answers; or a page comes when its process wants."""
    path = tmp_path / "stack"
    path.write_bytes(bytes(1 << 16))

    def kinds_of(waits):
        """Samples of the thread on that memory, and of the other one."""
        paused = waits.only(lambda frames: frames[-1] == "pause_[k]")
        cut = paused.with_frame("[truncated]")
        return cut, paused.total - cut
    waiter = subprocess.Popen([AIDS / "waiter", kind, *([path] if kind == "file" else [])], stdout=subprocess.PIPE, text=True)
    try:
        wait_until_it_waits(waiter, "SS")
        # Of a busy host the process of the passes may be late and replaced; one that reads that memory always is.
        record_until(lambda result, waits: min(kinds_of(waits)) >= 5 and "another one" not in result.stderr,
                     tmp_path / "out.folded", "-p", waiter.pid, "--idle")
    finally:
        waiter.kill()
        waiter.wait()


@pytest.mark.live
def test_uninterruptible_sleep_is_told_with_the_kernel_s_stack_and_is_never_idle(tmp_path):
    waiter = subprocess.Popen([AIDS / "waiter", "disk"], stdout=subprocess.PIPE, text=True)

    def asleep_in(waits):
        """As long as the library's tables are not read, a stack may lack the caller."""
        return waits.only(lambda frames: frames[-1] == "[disk sleep]").with_frame("thread_waits_for_page")
    try:
        wait_until_it_waits(waiter, "DS")
        _, waits = record_until(lambda _, waits: asleep_in(waits) >= 5 and waits.with_frame("[idle]"), tmp_path / "all.folded",
                                "-p", waiter.pid, "--idle")
        _, disks = record_until(lambda _, disks: asleep_in(disks), tmp_path / "disk.folded", "-p", waiter.pid, event="disk")
    finally:
        waiter.kill()
        waiter.wait()
    assert asleep_in(waits) == waits.with_frame("thread_waits_for_page"), waits
    assert all(frames[-1] == "[disk sleep]" for frames, _ in disks.stacks), disks
    assert all("do_syscall_64_[k]" in frames or os.uname().machine != "x86_64" for frames, _ in disks.stacks), disks
    assert not disks.with_frame("[idle]"), disks


@contextlib.contextmanager
def named_waiter(folder, word, *arguments, **options):
    """One by a name that no other process of the host has, so that it can be recorded by that."""
    name = folder / f"{word}{os.getpid()}"
    name.symlink_to(AIDS / "waiter")
    waiter = subprocess.Popen([name, *arguments], stdout=subprocess.PIPE, text=True, **options)
    try:
        assert waiter.stdout.readline() == "READY\n"
        assert comm_of(waiter.pid) == name.name
        yield waiter
    finally:
        waiter.kill()
        waiter.wait()


def assert_only_seen(seen, never, path):
    """Both are recorded together: that one has no samples says something only when the passes came that gave the other
    one some."""
    seen, never = comm_of(seen.pid), comm_of(never.pid)

    def is_seen(_, waits):
        assert not waits.of(never).total, waits
        return waits.of(seen).total >= 12
    record_until(is_seen, path, "--comm", seen, "--comm", never, "--idle")


@pytest.fixture
def cgroup():
    made = Cgroup(f"jbpf-tests/frozen-{os.getpid()}")
    yield made
    made.end()


@pytest.mark.live
@pytest.mark.parametrize("how", ["stopped", "frozen"])
def test_threads_that_stand_still_do_not_wait(how, cgroup, tmp_path):
    """By a signal, or as docker pause does it."""
    with named_waiter(tmp_path, "awake", "threads", "3") as awake, named_waiter(tmp_path, "still", "threads", "3") as still:
        (cgroup.folder / "cgroup.procs").write_text(str(still.pid))
        if how == "stopped":
            stop([still.pid])
        else:
            (cgroup.folder / "cgroup.freeze").write_text("1")
            wait_until(lambda: "frozen 1" in (cgroup.folder / "cgroup.events").read_text(), 30, "it is frozen")
        assert_only_seen(awake, still, tmp_path / "out.folded")
        os.kill(still.pid, signal.SIGCONT)
        (cgroup.folder / "cgroup.freeze").write_text("0")
        _, after = record_until(lambda _, waits: waits.total >= 4, tmp_path / "after.folded", "-p", still.pid, "--idle")
    assert after.samples(lambda frames: frames[-1] == "pause_[k]"), after


@pytest.mark.live
def test_who_opted_out_is_not_visited(tmp_path):
    out = dict(os.environ, JBPF_PROFILE="off")
    with named_waiter(tmp_path, "seen", "flips", "2") as seen, named_waiter(tmp_path, "shy", "flips", "2", env=out) as shy:
        assert_only_seen(seen, shy, tmp_path / "out.folded")


def test_options_that_make_no_sense_are_refused(tmp_path):
    for arguments in (["--event", "off-cpu", "-c", "5"], ["--event", "off-cpu", "--frequency", "99"],
                      ["--event", "cpu", "--off-cpu-rate", "5"], ["--event", "page-faults", "--idle"],
                      ["--event", "off-cpu", "--off-cpu-rate", "0"], ["--event", "lock", "-c", "5"],
                      ["--event", "lock", "--frequency", "5"]):
        result = run(BIN / "jbpf", "record", *arguments, "-d", "1s", "-o", tmp_path / "x")
        assert result.returncode == 2, (arguments, result.stderr)
    for arguments in (["dump", "--idle"], ["dump", "--event", "wall", "--list"], ["status", "--event", "wall"],
                      ["dump", "--event", "lock", "--lines", "--format", "top"], ["diff", "--event", "wall", "--days", "1"]):
        assert run(BIN / "jbpf", *arguments, "--store", tmp_path).returncode == 2, arguments
