# SPDX-License-Identifier: Apache-2.0
"""A time of less than a minute: jbpf dump gives the stacks that were sampled in it and no others, as far as it is known
when each was sampled, and says where it is not."""
import subprocess
import time

import pytest

from harness.folded import Folded
from harness.programs import AIDS, Lacking, jbpf, wait_until
from harness.store import make_store

START = 1700000000
CELL = 20  # milliseconds
ENOUGH = 60  # samples of each of the two functions


def script(start):
    """Of one process ten samples with moments; of another three of four, by two threads; of a third one none."""
    early = "".join(f"\t*{100 + 10 * i} 0\n" for i in range(4))
    late = "".join(f"\t*{5000 + 20 * i} 1\n" for i in range(6))
    following = "".join(f"\t*{i} 0\n" for i in range(10))
    return f"""
window start={start} pid=42 samples=10 comm=java container=shop-1 is_jvm=1
	java;a.B.run_[j];a.B.early_[j] 4
	java;a.B.run_[j];a.B.late_[j] 6
	+0 4 main
	+1 6 pool-#
{early}{late}
window start={start} pid=43 samples=4 comm=java container=cart-1
	java;c.D.work_[j] 4
	+0 2 main
	+0 2 other
	*105 0
	*5010 0
	*9999 0
commit
window start={start + 10} pid=42 samples=10 comm=java container=shop-1 is_jvm=1
	java;a.B.run_[j];a.B.next_[j] 10
{following}
window start={start + 20} pid=44 samples=5 comm=java container=old-1
	java;e.F.g_[j] 5
commit
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("moments") / "store", script(START))


def dump(store, since, until, *arguments):
    return jbpf("dump", "--store", store, "--since", f"@{since:.3f}", "--until", f"@{until:.3f}", *arguments)


SHOP = ("--container", "shop-1")


@pytest.mark.parametrize("since, until, expected", [
    (0.100, 0.120, "java;a.B.run_[j];a.B.early_[j] 2\n"),
    (0.100, 0.140, "java;a.B.run_[j];a.B.early_[j] 4\n"),
    (0.111, 0.130, "java;a.B.run_[j];a.B.early_[j] 1\n"),
    (0.130, 5.021, "java;a.B.run_[j];a.B.early_[j] 1\njava;a.B.run_[j];a.B.late_[j] 2\n"),
    (5.100, 9.999, "java;a.B.run_[j];a.B.late_[j] 1\n"),
    (5.090, 10.003, "java;a.B.run_[j];a.B.late_[j] 1\njava;a.B.run_[j];a.B.next_[j] 3\n"),  # of two windows
    (0, 10, "java;a.B.run_[j];a.B.early_[j] 4\njava;a.B.run_[j];a.B.late_[j] 6\n"),  # a whole one
])
def test_only_stacks_of_the_time_come_out(store, since, until, expected):
    result = dump(store, START + since, START + until, *SHOP)
    assert (result.returncode, result.stdout, result.stderr) == (0, expected, "")


def test_from_a_minute_on_windows_count_whole(store):
    early, late, following = (f"java;a.B.run_[j];a.B.{name}_[j]" for name in ("early", "late", "next"))
    result = dump(store, START + 5.09, START + 65.089, *SHOP)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{late} 1\n{following} 10\n", "")
    result = dump(store, START + 5.09, START + 65.09, *SHOP)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{early} 4\n{late} 6\n{following} 10\n", "")


def test_nothing_was_sampled_in_that_time(store):
    result = dump(store, START + 1, START + 1.5, *SHOP)
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr == "jbpf-dump: no samples match; the profiles around this time have some\n"


def test_a_merged_hour_gives_the_same(tmp_path):
    start = int(time.time()) // 3600 * 3600 - 7200  # a week later it would be a day
    plain, merged = (make_store(tmp_path / name, script(start)) for name in ("plain", "merged"))
    assert jbpf("store", "compact", "--store", merged).returncode == 0
    assert jbpf("store", "check", "--store", merged).returncode == 0
    for since, until in [(0.1, 0.12), (0.13, 5.021), (5.09, 10.003), (20, 20.1)]:
        for arguments in [(), SHOP, ("--by", "container"), ("--by", "thread"), ("--format", "json")]:
            expected, result = (dump(store, start + since, start + until, *arguments) for store in (plain, merged))
            assert (result.returncode, result.stdout, result.stderr) == \
                (expected.returncode, expected.stdout, expected.stderr), (since, until, arguments)


def test_samples_without_a_moment_are_left_out_and_told(store):
    result = dump(store, START + 5, START + 6, "--container", "cart-1")
    assert (result.returncode, result.stdout) == (0, "java;c.D.work_[j] 1\n")
    assert result.stderr == "jbpf-dump: 1 sample around this time has no moment and is left out\n"


def test_windows_without_moments_are_taken_whole_and_told(store):
    result = dump(store, START + 20, START + 20.1)
    assert (result.returncode, result.stdout) == (0, "java;e.F.g_[j] 5\n")
    assert result.stderr.startswith("jbpf-dump: 1 profile reaches over the ends of this time and is taken whole: ")


def test_a_stack_of_several_threads_is_of_one_that_is_not_known(store):
    result = dump(store, START + 5, START + 5.2, "--by", "thread")
    assert result.stdout == "[unknown thread];java;c.D.work_[j] 1\npool-#;java;a.B.run_[j];a.B.late_[j] 6\n"
    result = dump(store, START + 0.1, START + 0.2, "--thread", "main")
    assert result.stdout == "java;a.B.run_[j];a.B.early_[j] 4\n"


def test_tables_and_labels_are_of_that_time(store):
    result = dump(store, START + 0.1, START + 0.2, "--format", "top", "--by", "container")
    assert result.returncode == 0, result.stderr
    rows = [line.split() for line in result.stdout.splitlines()[-2:]]
    assert rows == [["80.00", "4", "shop-1"], ["20.00", "1", "cart-1"]], result.stdout


# ---- of a program that says what it does when ----------------------------------------------------


def slots_of(log):
    """[(name, begin, end)] in ms; the last one may be half written, or of a function that was ended."""
    return [(name, int(begin) / 1e6, int(end) / 1e6) for name, begin, end in map(str.split, log.read_text().splitlines()[:-1])]


def within(begin, end):
    """The options of what surely lies in a slot, a cell less on both sides: the clocks of kernel and store are read one after the
    other. None: it is too short."""
    since, until = -(-begin // CELL) * CELL + CELL, end // CELL * CELL - CELL
    return ("--since", f"@{since / 1000:.3f}", "--until", f"@{until / 1000:.3f}") if until > since else None


def samples_of(store, pid, slot):
    """(options, what is dumped by them) of a slot; None: it is too short."""
    name, begin, end = slot
    if not (times := within(begin, end)):
        return None
    options = ("--store", store, "--pid", str(pid), *times)
    result = jbpf("dump", *options)
    assert result.returncode in (0, 3), (name, result.stderr)
    return options, Folded(result.stdout)


@pytest.fixture(scope="module")
def slots(module_daemon):
    """A daemon's store of two functions that take turns; .spinner_pid, and .slots: (name, begin, end) in ms."""
    daemon = module_daemon(window="2s").start().wait_ready()
    log = daemon.store.parent / "slots"
    with log.open("w") as said:
        spinner = subprocess.Popen([AIDS / "slot_spinner", "600"], stdout=said)
    try:
        def enough():
            folded = Folded(daemon.dump_raw("--pid", str(spinner.pid)).stdout)
            return min(folded.with_frame("even_slot"), folded.with_frame("odd_slot")) >= ENOUGH
        wait_until(enough, 60, "enough samples of both functions")

        def was_seen(name):
            found = (samples_of(daemon.store, spinner.pid, slot) for slot in slots_of(log) if slot[0] == name)
            return any(one and one[1].with_frame(f"{name}_slot") for one in found)
        wait_until(lambda: was_seen("even") and was_seen("odd"), 60, "a slot of each in which it had a CPU")
    finally:
        spinner.kill()
        spinner.wait()
        code = daemon.stop()
    assert code == 0, daemon.log()
    daemon.spinner_pid = spinner.pid
    daemon.slots = slots_of(log)
    yield daemon


@pytest.mark.live
@pytest.mark.released
def test_a_moment_has_the_stacks_that_ran_then(slots):
    seen = set()
    for slot in slots.slots:
        if not (found := samples_of(slots.store, slots.spinner_pid, slot)):
            continue
        options, folded = found
        name, other = ("even", "odd") if slot[0] == "even" else ("odd", "even")
        assert not folded.with_frame(f"{other}_slot"), (slot, folded)
        if folded.with_frame("[not named]"):
            raise Lacking(f"not named in time, so that no sample has a moment: {slot} {folded}")
        cells = jbpf("dump", *options, "--format", "cells")
        assert folded.total == sum(int(line.split()[1]) for line in cells.stdout.splitlines()), (slot, folded, cells)
        if folded.with_frame(f"{name}_slot"):
            seen.add(name)
    assert seen == {"even", "odd"}, slots.slots
