# SPDX-License-Identifier: Apache-2.0
"""Mappings of a process (struct jbpf_space): whose stacks are walked by them, and when they end."""
import collections
from pathlib import Path

import pytest

from harness.programs import wait_until
from live import VARIANTS, Sampling, assert_nothing_lost, keys_of, load, of_pid, sample, samples, tell, total

pytestmark = pytest.mark.live

END_NO_MAPPING = 9
DEPTH = 20


def ends_of(counts):
    return {item["user"]["end"] for item in counts if "user" in item}


def wait_for_spaces(sampling, pids):
    wait_until(lambda: keys_of(sampling.process.pid, "spaces") == pids, 30, f"mappings of {pids}")


@VARIANTS
def test_stacks_end_where_nothing_is_known_to_be_mapped(variant):
    """All of them, from the window on that follows the first one: the mappings are told soon after its first sample."""
    def unmapped(data):
        return [item for item in of_pid(data, process.pid) if "user" in item and item["user"]["end"] == END_NO_MAPPING]

    def after(data):
        first = min((item["window"] for item in unmapped(data)), default=data["windows"])
        return [item for item in of_pid(data, process.pid) if item["window"] > first]
    with load("recurse", 900, DEPTH) as process:
        data = sample("--frequency", 499, "--pid", process.pid, "--space", "none", *variant,
                      until=lambda data: total(after(data)) >= 100)
    assert ends_of(after(data)) == {END_NO_MAPPING}
    assert {len(item["user"]["ips"]) for item in unmapped(data)} == {1}
    assert data["counters"]["end_no_mapping"] == total(unmapped(data))
    assert_nothing_lost(data)


@VARIANTS
@pytest.mark.parametrize("off", ["0,1", "1,0", "18446744073709551615,0", "0,4294967295"])
def test_mappings_of_another_run_of_the_pid_are_not_used(variant, off):
    with load("recurse", 900, DEPTH) as process:
        data = sample("--frequency", 499, "--pid", process.pid, "--space", "none", "--range-of", off, *variant,
                      until=lambda data: data["windows"] >= 2 and total(data["counts"]) >= 100)
    assert END_NO_MAPPING not in ends_of(of_pid(data, process.pid))
    assert {len(item["user"]["ips"]) > DEPTH for item in of_pid(data, process.pid) if "user" in item} == {True}


def test_code_that_keeps_frame_pointers_is_walked_as_ever():
    """The same callers with mappings and without, down to main's, in libc; no row of a table is asked."""
    callers = []
    with load("recurse", 900, DEPTH) as process:
        for space in ([], ["--space", "fp"]):
            data = sample("--frequency", 499, "--pid", process.pid, *space, until=samples(200))
            counts = collections.Counter()
            for item in of_pid(data, process.pid):
                counts[tuple(item["user"]["ips"][-DEPTH - 2:])] += item["count"]
            # All but the few whose leaf has no frame.
            callers.append(counts.most_common(1)[0][0])
            assert data["counters"]["frames_table"] == 0
    assert callers[0] == callers[1]
    assert data["counters"]["rule_miss"] > 0


def test_mappings_end_with_their_process():
    with load("recurse", 900, DEPTH) as process, Sampling("--space", "fp", "--pid", process.pid) as sampling:
        wait_for_spaces(sampling, [process.pid])
        process.kill()
        process.wait()
        assert keys_of(sampling.process.pid, "spaces") == []


def test_mappings_end_with_their_program():
    with load("exec", "lines") as process, Sampling("--space", "once", "--pid", process.pid) as sampling:
        wait_for_spaces(sampling, [process.pid])
        tell(process)
        # The new name is there a moment before the kernel tells of the new program.
        wait_until(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "exe\n", 30, "the second program")
        wait_for_spaces(sampling, [])
