# SPDX-License-Identifier: Apache-2.0
"""Mappings of a process (struct jbpf_space): whose stacks are walked by them, and when they end."""
import time
from pathlib import Path

import pytest

from live import VARIANTS, Sampling, assert_nothing_lost, keys_of, load, of_pid, sample, samples, total

pytestmark = pytest.mark.live

END_NO_MAPPING = 9
DEPTH = 20


def by_end(data, pid):
    """Samples of each end, once those are left out that came before the mappings were there."""
    ends = {}
    for item in of_pid(data, pid):
        if "user" in item:
            ends.setdefault(item["user"]["end"], []).append(item)
    return ends


def wait_for(what):
    deadline = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.long("90 % of a second's samples must come after the mappings were told: how soon that is, is the host's")
@VARIANTS
def test_stacks_end_where_nothing_is_known_to_be_mapped(variant):
    with load("recurse", 60, DEPTH) as process:
        data = sample("--seconds", 1, "--pid", process.pid, "--space", "none", *variant,
                      until=lambda data: END_NO_MAPPING in by_end(data, process.pid))
        ends = by_end(data, process.pid)
    assert total(ends[END_NO_MAPPING]) >= 0.9 * total(of_pid(data, process.pid))
    assert {len(item["user"]["ips"]) for item in ends[END_NO_MAPPING]} == {1}
    assert data["counters"]["end_no_mapping"] == total(ends[END_NO_MAPPING])
    assert_nothing_lost(data)


@VARIANTS
@pytest.mark.parametrize("off", ["0,1", "1,0", "18446744073709551615,0", "0,4294967295"])
def test_mappings_of_another_run_of_the_pid_are_not_used(variant, off):
    with load("recurse", 60, DEPTH) as process:
        data = sample("--seconds", 0.5, "--pid", process.pid, "--space", "none", "--range-of", off, *variant)
        ends = by_end(data, process.pid)
    assert END_NO_MAPPING not in ends
    assert {len(item["user"]["ips"]) > DEPTH for item in of_pid(data, process.pid) if "user" in item} == {True}


def test_code_that_keeps_frame_pointers_is_walked_as_ever():
    """The same callers with mappings and without, down to main's, in libc; no row of a table is asked."""
    stacks = []
    with load("recurse", 120, DEPTH) as process:
        for space in ([], ["--space", "fp"]):
            data = sample("--seconds", 1, "--pid", process.pid, *space, until=samples(50))
            stacks.append({tuple(item["user"]["ips"][-DEPTH - 2:]) for item in of_pid(data, process.pid)
                           if "user" in item and item["count"] > 1})
            assert data["counters"]["frames_table"] == 0
    assert stacks[0] and stacks[0] == stacks[1]
    assert data["counters"]["rule_miss"] > 0


def test_mappings_end_with_their_process():
    with load("recurse", 60, DEPTH) as process:
        sampling = Sampling("--seconds", 60, "--space", "fp", "--pid", process.pid)
        wait_for(lambda: keys_of(sampling.process.pid, "spaces") == [process.pid])
        process.kill()
        process.wait()
        assert keys_of(sampling.process.pid, "spaces") == []
        sampling.end()


def test_mappings_end_with_their_program(tmp_path):
    go = tmp_path / "go"
    shell = ["sh", "-c", f"echo ready; until [ -e {go} ]; do :; done; exec \"$@\"", "sh"]
    with load("recurse", 60, DEPTH, prefix=shell) as process:
        sampling = Sampling("--seconds", 120, "--space", "once", "--pid", process.pid)
        wait_for(lambda: keys_of(sampling.process.pid, "spaces") == [process.pid])
        go.touch()
        # The new name is there a moment before the kernel tells of the new program.
        wait_for(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "load\n")
        wait_for(lambda: keys_of(sampling.process.pid, "spaces") == [])
        sampling.end()
