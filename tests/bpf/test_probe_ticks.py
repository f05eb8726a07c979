# SPDX-License-Identifier: Apache-2.0
"""When samples were taken: the log of moments in the running kernel, as root. Every sample that a
batch counts has its moment in the same batch, the right stack's and the right one."""
import bisect
import collections
import os

import pytest

from harness.programs import Lacking, wait_cpu
from live import VARIANTS, Sampling, cgroups, load, move, of_pid, sample, sample_life, samples, total

pytestmark = pytest.mark.live


def by_key(items, weigh):
    """Sums by window and key: a process's life and a stack of it."""
    sums = collections.Counter()
    for item in items:
        sums[(item["window"], item["tag"])] += weigh(item)
    return sums


def assert_all_noted(data):
    assert data["counters"]["ticks_full"] == 0
    counted = by_key(data["counts"], lambda item: item["count"])
    assert by_key(data["ticks"], lambda item: 1) == counted


@VARIANTS
def test_each_sample_has_its_moment_in_the_batch_that_counts_it(variant):
    # Many swaps under a high rate: what is counted in one set and noted in the other would show.
    with cgroups("ours") as (ours,), load("many", 900, 12) as first, load("syscalls", 900) as second:
        for process in (first, second):
            move(process, ours)
        data = sample("--window", 0.05, "--frequency", 999, "--ticks", 5, "--cgroup", ours, *variant, until=lambda data: (
            len({tick["window"] for tick in data["ticks"]}) > 20 and len(data["ticks"]) > 500))
    assert_all_noted(data)


def test_the_moments_are_those_of_the_work():
    with load("pulse-told", 900, 200) as process:
        with Sampling("--ticks", 10, "--frequency", 499, "--pid", process.pid) as sampling:
            sampling.wait(lambda data: len(data["ticks"]) > 100)
            data = sampling.result()
        pulses = []
        while not pulses or pulses[-1][1] // 1000 < max(tick["tick_us"] for tick in data["ticks"]):
            pulses.append([int(number) for number in process.stdout.readline().split()])
    assert_all_noted(data)
    begins = [begin // 1000 for begin, _ in pulses]
    outside = []
    for tick in data["ticks"]:
        at = bisect.bisect_right(begins, tick["tick_us"] + 100) - 1
        if at < 0 or tick["tick_us"] > pulses[at][1] // 1000 + 100:
            outside.append(tick["tick_us"])
    # The kernel's way into a sleep and out of it is of no pulse; it takes some microseconds, and is seldom hit. A clock
    # that is wrong by a few milliseconds puts several ticks of each pulse outside.
    assert len(outside) <= len(pulses), (outside, pulses)


def test_a_program_that_executes_another_is_two_streams():
    def is_sampled_as(comm):
        return lambda data, pid: any(item["comm"] == comm and "user" in item for item in of_pid(data, pid))
    data, pid = sample_life("exec", options=["--ticks", 5], parts=[is_sampled_as("load"), is_sampled_as("exe")])
    assert_all_noted(data)
    runs = collections.defaultdict(set)
    for item in of_pid(data, pid):
        runs[item["exec_id"]].add(item["tag"])
    assert len(runs) == 2
    first, second = ([tick["tick_us"] for tick in data["ticks"] if tick["tag"] in runs[exec_id]]
                     for exec_id in sorted(runs))
    assert max(first) <= min(second)


def test_a_full_log_is_counted_and_not_overrun():
    with load("recurse", 900, 5, cpu=min(os.sched_getaffinity(0))) as process, \
            Sampling("--window", 900, "--frequency", 999, "--ticks", 0.02, "--pid", process.pid) as sampling:
        wait_cpu([process.pid], 2)  # one log fills: it is for the window and one second more (tick_log.c)
        data = sampling.result()
    if total(data["counts"]) < 1100:
        raise Lacking(f"{total(data['counts'])} samples in 2 s of CPU time")
    assert data["counters"]["ticks_full"] > 0
    assert len(data["ticks"]) + data["counters"]["ticks_full"] == total(data["counts"])
    counted = by_key(data["counts"], lambda item: item["count"])
    for key, noted in by_key(data["ticks"], lambda item: 1).items():
        assert noted <= counted[key]


def test_without_being_asked_nothing_is_noted():
    with load("recurse", 900, 5) as process:
        data = sample("--frequency", 499, "--pid", process.pid, until=samples(50))
    assert data["ticks"] == []
    assert data["counters"]["ticks_full"] == 0
