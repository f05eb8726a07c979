# SPDX-License-Identifier: Apache-2.0
"""Whose CPU it was: threads of a JVM in a container by their names, from the kernel to every format, from the store
and recorded."""
import gzip
import json
import subprocess

import pytest

from harness.containers import java
from harness.folded import Folded, plain
from harness.programs import BIN, Lacking, jbpf, run, wait_until

pytestmark = pytest.mark.live

ENOUGH, FEW = 150, 30  # samples of the smallest thread: for figures, and that it is there
POOL, WORKER = "pool-#-thread-#", "order: worker_7"  # the name's ; and its blank would break the text
FOLDED_WORKER, WORKER_GLOB = "order: worker #", "order*"
JVM_THREADS = ("GC Thread", "VM Thread", "VM Periodic", "C# Compiler", "G# ", "Monitor Defl", "java", "Signal Disp")


@pytest.fixture(scope="module")
def pools(engine, module_daemon, long_tests_too):
    """(container, stopped daemon that stored it)"""
    enough = ENOUGH if long_tests_too else FEW
    container = engine.start_ready("pools", java("Pools", 600), "READY")
    daemon = module_daemon("--pid", container.pid, window="2s").start().wait_ready()
    try:
        wait_until(lambda: of_threads(daemon).get(FOLDED_WORKER, Folded("")).with_frame("Pools.shared") >= enough, 90,
                   "enough samples of the smallest thread")
        wait_until(lambda: any(name.startswith(JVM_THREADS) for name in of_threads(daemon)), 90, "the JVM collects")
        daemon.middle = wait_halves(daemon)
    finally:
        code = daemon.stop()
    assert code == 0, daemon.log()
    container.pause()  # most of what follows reads the store
    return container, daemon


def is_compared(daemon, before, after):
    """A comparison takes the windows that begin in its halves, and leaves out those in which the JVM warmed up, or had too little
    of the CPU to tell."""
    times = ("--before", before, "--after", after)
    whole, one = (jbpf("diff", "--store", daemon.store, *times, *thread, "--format", "folded") for thread in ((), ("--thread", WORKER_GLOB)))
    return "firstPool" in whole.stdout and "secondPool" in one.stdout


def wait_halves(daemon):
    """A moment before and after which there is what can be compared."""
    def middle():
        begins = [begin for begin, _ in daemon.windows()]
        moment = f"@{begins[len(begins) // 2]:.3f}"
        return moment if is_compared(daemon, f"{daemon.since()}..{moment}", f"{moment}..now") else None
    return wait_until(middle, 180, "two halves to compare")


def by_thread(folded):
    """Stacks by thread, without it."""
    threads = {}
    for frames, count in folded.stacks:
        threads.setdefault(frames[0], Folded("")).stacks.append((frames[1:], count))
    return threads


def of_threads(daemon, since=None):
    result = jbpf("dump", "--store", daemon.store, "--since", since or daemon.since(), "--by", "thread")
    return by_thread(Folded(result.stdout)) if result.returncode == 0 else {}


@pytest.mark.long("it waits for samples of the smallest pool and judges the others")
def test_each_stack_is_the_thread_s_that_ran_it(pools):
    threads = of_threads(pools[1])
    assert threads[POOL].with_frame("Pools.firstPool") >= ENOUGH
    assert threads[POOL].with_frame("Pools.secondPool") > 0, "the second pool's thread has the same name but for digits"
    assert threads[FOLDED_WORKER].with_frame("Pools.secondPool") > 0
    assert threads[FOLDED_WORKER].with_frame("Pools.firstPool") == 0
    strangers = [name for name in threads if name not in (POOL, FOLDED_WORKER)]
    for name in strangers:
        assert threads[name].with_frame("Pools.shared") == 0, name
    assert any(name.startswith(JVM_THREADS) for name in strangers), strangers


def test_the_text_is_as_ever_when_threads_are_not_asked_for(pools):
    _, daemon = pools
    plain_text, divided = daemon.dump(), by_thread(daemon.dump("--by", "thread"))
    assert {frames[0] for frames, _ in plain_text.stacks} == {"java"}
    sums = {}
    for thread in divided.values():
        for frames, count in thread.stacks:
            sums[tuple(frames)] = sums.get(tuple(frames), 0) + count
    assert sums == {tuple(frames): count for frames, count in plain_text.stacks}


def test_a_thread_is_selected_by_name_or_glob(pools):
    _, daemon = pools
    threads = of_threads(daemon)
    assert daemon.dump("--thread", POOL).total == threads[POOL].total
    both = daemon.dump("--thread", "*r*#", "--by", "thread")
    assert {frames[0] for frames, _ in both.stacks} >= {POOL, FOLDED_WORKER}
    assert daemon.dump("--thread", "order*", "--kind", "java").with_frame("Pools.firstPool") == 0
    assert daemon.dump_raw("--thread", "nobody").returncode == 3


def test_json_pprof_and_speedscope_tell_the_thread_beside_the_stack(pools, tmp_path):
    _, daemon = pools
    threads = {name: thread.total for name, thread in of_threads(daemon).items()}
    profile = json.loads(daemon.dump_raw("--format", "json").stdout)
    told = {}
    for stack in profile["stacks"]:
        assert sum(thread["count"] for thread in stack["threads"]) <= stack["count"]
        for thread in stack["threads"]:
            told[thread["name"]] = told.get(thread["name"], 0) + thread["count"]
    assert told == threads
    scope = json.loads(daemon.dump_raw("--format", "speedscope").stdout)
    weight = scope["profiles"][0]["endValue"] // profile["samples"]
    assert {one["name"]: one["endValue"] // weight for one in scope["profiles"][1:]} == threads
    out = tmp_path / "threads.pb.gz"
    assert daemon.dump_raw("--format", "pprof", "-o", out).returncode == 0
    raw = gzip.decompress(out.read_bytes())
    assert POOL.encode() in raw and b"thread" in raw


def test_two_times_are_compared_thread_by_thread(pools):
    _, daemon = pools
    times = ["--before", f"{daemon.since()}..{daemon.middle}", "--after", f"{daemon.middle}..now"]
    whole, one = (jbpf("diff", "--store", daemon.store, *times, *thread, "--format", "folded")
                  for thread in ([], ["--thread", WORKER_GLOB]))
    assert whole.returncode == 0 and "firstPool" in whole.stdout, whole
    assert one.returncode == 0 and "secondPool" in one.stdout and "firstPool" not in one.stdout, one
    result = jbpf("diff", "--store", daemon.store, "--days", "1", "--thread", WORKER_GLOB)
    assert result.returncode == 2 and "--thread does not go with --days" in result.stderr


def test_record_tells_threads_of_a_pool_apart_when_it_is_asked_to(pools, tmp_path):
    container, _ = pools
    container.unpause()
    for seconds in (3, 9, 27):
        result = run(BIN / "jbpf", "record", "-p", container.pid, "--threads", "-d", f"{seconds}s", "-o", "-",
                     "--format", "folded", timeout=90)
        assert result.returncode in (0, 3), result.stderr  # 3: nothing was sampled
        threads = by_thread(Folded(result.stdout))
        # All are there, and the JVM's tables were read while they were sampled.
        if {"pool-1-thread-1", "pool-1-thread-2", "pool-1-thread-3", "pool-2-thread-1", WORKER} <= set(threads) and \
                threads[WORKER].with_frame("Pools.secondPool"):
            break
    else:
        raise Lacking(f"not all threads were sampled and named in {seconds} s: {threads}")
    assert threads["pool-2-thread-1"].with_frame("Pools.firstPool") == 0
    assert threads["pool-1-thread-2"].with_frame("Pools.secondPool") == 0
    assert threads[WORKER].with_frame("Pools.firstPool") == 0


def test_a_program_that_renames_its_threads_without_end_is_bounded(tmp_path):
    code = "import ctypes,time\nlibc=ctypes.CDLL(None)\nend=time.time()+600\nn=0\n" \
           "while time.time()<end:\n n+=1\n libc.prctl(15,b'%c%c%c%c'%tuple(97+n//26**i%26 for i in range(4)),0,0,0)\n"
    program = subprocess.Popen(["/usr/bin/python3", "-c", code])
    try:
        for seconds in (4, 12, 36):
            result = run(BIN / "jbpf", "record", "-p", program.pid, "--frequency", 999, "--by", "thread", "-d", f"{seconds}s",
                         "-o", "-", "--format", "folded", timeout=90)
            assert result.returncode in (0, 3), result.stderr  # 3: nothing was sampled
            threads = by_thread(Folded(result.stdout))
            if "[other threads]" in threads:
                break
        else:
            raise Lacking(f"only {len(threads)} names in {seconds} s")
    finally:
        program.kill()
        program.wait()
    windows = seconds // 10 + 1
    assert len(threads) <= 257 * windows + 1, len(threads)
    assert all(plain(name) == name for name in threads)
