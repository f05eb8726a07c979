# SPDX-License-Identifier: Apache-2.0
"""Exact waiting: every wait of a thread is measured, short ones are drawn so that sums stay right; what waits for a CPU
does not wait."""
import contextlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from harness.containers import java
from harness.folded import Folded
from harness.programs import AIDS, BIN, Lacking, run, wait_cpu

from test_off_cpu import schedstats, truths

THRESHOLD_US = 1000
# No program did, so they are not shown.
ENDED_BY_NOBODY = re.compile(r" (?!0\.000)\d+\.\d{3} seconds of waiting were ended by timers, devices")


def record(path, *arguments, **options):
    return run(BIN / "jbpf", "record", "--event", "sched", "-o", path, *arguments, timeout=120, **options)


def truth_of(text):
    """{function: us of waiting} of known_waits."""
    found = {}
    for name, ns in re.findall(r"^TRUTH (\w+) (\d+)$", text, re.M):
        found[name] = found.get(name, 0) + int(ns) / 1000
    return found


def assert_waited(found, truth, what):
    """Three standard errors of sums of drawn waits, and two percent for what begins and ends elsewhere."""
    error = 3 * math.sqrt(truth * THRESHOLD_US) + 0.02 * truth + 20000
    assert abs(found - truth) <= error, f"{what}: {found} us, truth {truth:.0f}, +-{error:.0f}"


@pytest.mark.live
@pytest.mark.long("the load lives 4 s by the clock, is named in it, and its sums must agree within some per cent")
@pytest.mark.released
def test_program_waits_where_and_as_long_as_the_kernel_says(tmp_path):
    result = record(tmp_path / "out.folded", "--threshold", "1ms", "--", AIDS / "known_waits", 4)
    assert result.returncode == 0, result.stderr
    truth = truth_of(result.stdout)
    waits = Folded((tmp_path / "out.folded").read_text())
    assert set(truth) == {"sleep_short", "sleep_long", "play_ping", "play_pong", "only_yield"}, result.stdout
    for function, wait_us in truth.items():
        assert_waited(waits.with_frame(function), wait_us, f"{function} {waits}")
    assert waits.samples(lambda frames: "sleep_long" in frames and frames[-1] == "clock_nanosleep_[k]") > 3_000_000, waits
    assert "lost" not in result.stderr, result.stderr


@pytest.mark.live
@pytest.mark.long("how long it waited in 2 s by the clock, and at most 1 % lost: on a busy host it waits for a CPU")
def test_all_formats_tell_time_and_not_samples(tmp_path):
    waiter = subprocess.Popen([AIDS / "waiter", "flips", "2"], stdout=subprocess.PIPE, text=True)
    try:
        waiter.stdout.readline()
        page = record(tmp_path / "out.json", "-p", waiter.pid, "-d", "2s")
        top = record("-", "--format", "top", "-p", waiter.pid, "-d", "1s")
        html = record(tmp_path / "out.html", "-p", waiter.pid, "-d", "1s")
    finally:
        waiter.kill()
        waiter.wait()
    for result in (page, top, html):
        assert result.returncode == 0 and "samples" not in result.stderr, result.stderr
    assert re.search(r"\d\.\d{3} seconds of waiting of 1 process in", page.stderr), page.stderr
    data = json.loads((tmp_path / "out.json").read_text())
    assert (data["event"], data["unit"], data["period"]) == ("sched", "nanoseconds", 1000), data
    assert data["title"].startswith("Exact waiting of process"), data["title"]
    assert data["lost_samples"] <= 0.01 * data["samples"], data
    # Of two threads, two seconds. On a busy host they wait for a CPU most of the time, which is no waiting; what is
    # measured are some 4,000 waits, each of which is a millisecond.
    assert 20_000 < data["samples"] < 4_100_000, data["samples"]
    assert re.search(r"^\d+\.\d{3} seconds of waiting, in microseconds, 1 process$", top.stdout, re.M), top.stdout
    assert '"measured":true' in (tmp_path / "out.html").read_text()


@pytest.mark.live
@pytest.mark.long("shares of 8 s by the clock within 6 points, 95 % named: what is late is the host's")
@pytest.mark.released
def test_java_threads_of_a_container_wait_in_their_methods(engine, tmp_path):
    container = engine.start_ready("sched", java("Waits", 600), "READY")
    before = schedstats(container.pid)
    result = record(tmp_path / "out.folded", "--container", container.name, "--by", "thread", "-d", "8s")
    truth = truths(before, schedstats(container.pid))
    assert result.returncode == 0, result.stderr
    waits = Folded((tmp_path / "out.folded").read_text())

    def waited(thread):
        return waits.samples(lambda frames: frames[0] == thread)

    # The recording begins some time after the look at the truth: t-select shows how much of it there is.
    whole = waited("t-select") / truth["t-select"]
    for thread, method in (("t-park", "Waits.doPark"), ("t-take", "Waits.doTake"), ("t-burn", "Waits.doBurn")):
        assert abs(waited(thread) / whole - truth[thread]) <= 0.06, f"{thread} of {whole}, truth {truth[thread]:.3f} {waits}"
        # Stacks are cut before the recorder knows the JVM's files, which takes long on a host that is overloaded.
        there = waits.samples(lambda frames: frames[0] == thread and "[truncated]" not in frames)
        named = waits.samples(lambda frames: frames[0] == thread and any(method in frame for frame in frames))
        assert named >= 0.95 * there > 0, waits.show(lambda frames: frames[0] == thread)
    long, short = waits.with_frame("Waits.sleepLong"), waits.with_frame("Waits.sleepShort")
    assert abs(long / (long + short) - 0.75) <= 0.03, f"30 ms of 40: {long} {short}"


@pytest.mark.live
def test_who_never_waits_is_told(tmp_path):
    spinner = subprocess.Popen([AIDS / "native_spinner", "600"], stdout=subprocess.DEVNULL)
    try:
        wait_cpu([spinner.pid], 0.2)  # one that is still being loaded waits for the disk
        result = record(tmp_path / "out.folded", "-p", spinner.pid, "-d", "1s")
    finally:
        spinner.kill()
        spinner.wait()
    assert result.returncode == 3 and "has a wait of it ended" in result.stderr, result.stderr


@pytest.mark.live
def test_who_ends_a_wait_is_told_below_whom_it_wakes(tmp_path):
    result = record(tmp_path / "out.folded", "--threshold", "1ms", "--wakers", "--", AIDS / "known_waits", 3)
    assert result.returncode == 0, result.stderr
    waits = Folded((tmp_path / "out.folded").read_text())
    # It is the one window of a recording, which is given up on a host that has no time to name it.
    if waits.samples(lambda frames: frames[-1] == "[not named]"):
        raise Lacking(f"the recording was not named in time: {result.stderr}")
    for woken, waker in (("play_ping", "play_pong"), ("play_pong", "play_ping")):
        # Each wakes the other, by a write. The end of a thread wakes it, too, from no function of the program.
        found = waits.samples(lambda frames: frames[:2] == [woken, "known_waits"] and waker in frames and
                              frames[-1] == "write_[k]")
        assert found, waits
        assert not waits.samples(lambda frames: frames[0] == woken and woken in frames[1:]), waits
    # Timers end these, whoever they interrupt.
    assert not waits.samples(lambda frames: frames[0].startswith("sleep_")), waits
    assert ENDED_BY_NOBODY.search(result.stderr), result.stderr


# Says READY when it has been loaded: from then on it waits for nothing but its disk.
SYNC = """import os, sys
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
os.write(1, b"READY\\n")
while True:
    os.pwrite(file, b"x" * 4096, 0)
    os.fsync(file)
"""


@contextlib.contextmanager
def syncer_beside_writers():
    """Those write without end, as one would who wakes a reader of a socket. The file lies where files outlive the host's
    restart: of one in memory nobody waits for a disk."""
    with tempfile.TemporaryDirectory(prefix="jbpf-sync-", dir="/var/tmp") as folder:
        writers = [subprocess.Popen(["yes"], stdout=subprocess.DEVNULL) for _ in range(os.cpu_count())]
        syncer = subprocess.Popen([sys.executable, "-c", SYNC, Path(folder, "file")], stdout=subprocess.PIPE, text=True)
        try:
            assert syncer.stdout.readline() == "READY\n"
            yield syncer
        finally:
            for process in (syncer, *writers):
                process.kill()
                process.wait()


def switches_of(pid):
    """How often it has waited, as the kernel counts it."""
    return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)[1])


@pytest.mark.live
def test_a_disk_that_answers_is_not_the_program_its_interrupt_came_upon(tmp_path):
    with syncer_beside_writers() as syncer:
        for seconds in (4, 16, 64):
            result = record(tmp_path / "out.folded", "--threshold", "1ms", "--wakers", "-p", syncer.pid, "-d", f"{seconds}s")
            assert result.returncode in (0, 3), result.stderr
            waits = Folded((tmp_path / "out.folded").read_text() if result.returncode == 0 else "")
            assert not waits.samples(lambda frames: frames[1] == "yes"), waits
            # It waits for nothing else: with none that a device has ended the recording says nothing of them.
            if ENDED_BY_NOBODY.search(result.stderr):
                return
        if switches_of(syncer.pid) < 10:
            pytest.skip("no fsync waits here: the disk answers at once, or is in memory")
    raise Lacking(f"in {seconds} s it has not waited for its disk: {waits} {result.stderr}")


def is_java(frames):
    return any("Thread.run" in frame for frame in frames)


@pytest.mark.live
def test_who_ends_the_waits_of_a_container_s_jvm_is_a_java_method(engine, tmp_path):
    container = engine.start_ready("wakers", java("Waits", 600), "READY")
    for seconds in (4, 16, 64):
        result = record(tmp_path / "out.folded", "--threshold", "1ms", "--wakers", "-p", container.pid, "-d", f"{seconds}s")
        waits = Folded((tmp_path / "out.folded").read_text() if result.returncode == 0 else "")
        # Who unlocks, and who puts into the queue; neither is cut.
        ended = {thread: waits.samples(lambda frames, thread=thread, method=method: frames[0] == thread and
                                       any(method in frame for frame in frames[1:]) and is_java(frames[1:]))
                 for thread, method in (("t-reentrant", "ReentrantLock.unlock"), ("t-take", "ArrayBlockingQueue.put"))}
        if all(ended.values()):
            break
    else:
        raise Lacking(f"{seconds} s hold too little: {waits} {result.stderr}")
    # A timer does; a JVM that stops its threads for a moment may, too.
    assert not waits.samples(lambda frames: frames[0] == "t-sleep" and is_java(frames[1:])), waits
    refused = record(tmp_path / "refused.folded", "--wakers", "--container", container.name, "-d", "1s")
    assert refused.returncode == 2 and "--wakers goes with --event sched, and with -p PID" in refused.stderr, refused.stderr


def test_options_that_make_no_sense_are_refused(tmp_path):
    for arguments in (["--event", "sched", "-c", "5"], ["--event", "sched", "--frequency", "99"],
                      ["--event", "sched", "--off-cpu-rate", "5"],
                      ["--event", "off-cpu", "--threshold", "5ms"], ["--event", "sched", "--threshold", "2s"],
                      ["--event", "sched", "--threshold", "1"], ["--event", "sched", "--wakers"],
                      ["--event", "cpu", "--wakers", "-p", "1"]):
        result = run(BIN / "jbpf", "record", *arguments, "-d", "1s", "-o", tmp_path / "x")
        assert result.returncode == 2, (arguments, result.stderr)
    refused = run(BIN / "jbpfd", "--event", "sched", "--store", tmp_path / "s")
    assert refused.returncode == 2, refused.stderr
