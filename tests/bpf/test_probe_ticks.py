# SPDX-License-Identifier: Apache-2.0
"""When samples were taken: the log of moments in the running kernel, as root. Every sample that a
batch counts has its moment in the same batch, the right stream's and the right one."""
import collections
import os
import time

import pytest

from live import VARIANTS, Sampling, load, of_pid, sample, samples, total

pytestmark = pytest.mark.live

HALF_US = 500_000  # period of the load "pulse"


def by_stream(items, weigh):
    """Sums by window and stream."""
    sums = collections.Counter()
    for item in items:
        sums[(item["window"], item["tag"])] += weigh(item)
    return sums


def assert_all_noted(data):
    assert data["counters"]["ticks_full"] == 0
    counted = by_stream(data["counts"], lambda item: item["count"])
    assert by_stream(data["ticks"], lambda item: 1) == counted


def wall_us(data):
    """Moments as Unix time. Both clocks are read at once, or tried again."""
    while True:
        before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        unix = time.time_ns()
        if time.clock_gettime_ns(time.CLOCK_BOOTTIME) - before < 200_000:
            return [tick["tick_us"] + (unix - before) // 1000 for tick in data["ticks"]]


@pytest.mark.long("what others on the host do is in its figures")
@VARIANTS
def test_each_sample_has_its_moment_in_the_batch_that_counts_it(variant):
    # Many swaps under a high rate: what is counted in one set and noted in the other would show.
    with load("many", 90, 12), load("syscalls", 90):
        data = sample("--seconds", 2, "--windows", 40, "--frequency", 999, "--ticks", 5, *variant,
                      until=samples(200))
    assert len({tick["window"] for tick in data["ticks"]}) > 20
    assert_all_noted(data)


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
def test_the_moments_are_those_of_the_work():
    with load("pulse", 90, 200) as process:
        data = sample("--seconds", 3, "--windows", 4, "--ticks", 10, "--pid", process.pid,
                      until=samples(30))
    assert_all_noted(data)
    phases = [moment % HALF_US for moment in wall_us(data)]
    # It looks at the clock every 50 us or so; a tick may fall on the last look of a pulse.
    late = [phase for phase in phases if phase > 210_000]
    assert len(late) <= max(2, len(phases) // 20), sorted(late)


@pytest.mark.long("what others on the host do is in its figures")
def test_a_program_that_executes_another_is_two_streams():
    for seconds in (3, 9, 20):  # the longer, the surer it is that both get some CPU time
        sampling = Sampling("--seconds", seconds, "--ticks", seconds)
        with load("exec", seconds / 4) as process:
            data = sampling.result()
        assert_all_noted(data)
        runs = {item["exec_id"]: item["tag"] for item in of_pid(data, process.pid)}
        if len(runs) == 2:
            break
    assert len(runs) == 2 and len(set(runs.values())) == 2
    first, second = (runs[exec_id] for exec_id in sorted(runs))
    moments = {tag: [tick["tick_us"] for tick in data["ticks"] if tick["tag"] == tag]
               for tag in (first, second)}
    assert max(moments[first]) <= min(moments[second])


def test_a_full_log_is_counted_and_not_overrun():
    with load("recurse", 90, 5, cpu=min(os.sched_getaffinity(0))) as process:  # one log fills
        data = sample("--seconds", 2.5, "--windows", 1, "--frequency", 999, "--ticks", 0.02,
                      "--pid", process.pid, until=lambda data: data["counters"]["ticks_full"] > 0)
    assert len(data["ticks"]) + data["counters"]["ticks_full"] == total(data["counts"])
    counted = by_stream(data["counts"], lambda item: item["count"])
    for stream, noted in by_stream(data["ticks"], lambda item: 1).items():
        assert noted <= counted[stream]


def test_without_being_asked_nothing_is_noted():
    with load("recurse", 90, 5) as process:
        data = sample("--seconds", 0.5, "--pid", process.pid)
    assert data["ticks"] == []
    assert data["counters"]["ticks_full"] == 0
