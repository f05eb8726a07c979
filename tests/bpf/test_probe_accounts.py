# SPDX-License-Identifier: Apache-2.0
"""Budgets in the running kernel: whatever one account does, another's samples keep their stacks and
their entries, what is cut is the spendthrift's, and is on its account. The attacker has other frames
at every sample; the witness begins when the attacker has taken all it gets."""
import os
from contextlib import contextmanager

import pytest

from harness.programs import Lacking, wait_cpu
from live import (END_CUT_ALL, END_CUT_DEPTH, END_CUT_LEAF, VARIANTS, Sampling, assert_nothing_lost, cgroups, load,
                  move, of_pid, sample, total)

pytestmark = pytest.mark.live

ATTACKER, WITNESS = 7, 8
CUT_DEPTH = 64


def account_of(folder, account):
    return ["--account", f"{folder.stat().st_ino}:{account}"]


@contextmanager
def beside(frames):
    """An attacker of four threads at work in its cgroup, and the witness's cgroup."""
    with cgroups("attacker", "witness") as (theirs, ours), \
            load(900, "random", frames, 4, program="fake_stack") as attacker:
        move(attacker, theirs)
        yield attacker, theirs, ours


def figures(data, account):
    sums = {}
    for item in data["accounts"]:
        if item["account"] == account:
            for name, value in item.items():
                sums[name] = sums.get(name, 0) + value
    return sums


def by_end(counts):
    ends = {}
    for item in counts:
        if "user" in item:
            ends.setdefault(item["user"]["end"], []).append(item)
    return ends


def lost_stacks(counts):
    """Interrupted in user mode, or below it, every sample of these loads has a user stack."""
    return total(item for item in counts if "user" not in item)


def attack(frames, *args):
    """What was sampled of both in one window. The witness, which has few stacks whatever CPU time it gets, begins when
    the attacker has used more of it than its budget is for."""
    with beside(frames) as (attacker, theirs, ours), \
            Sampling("--window", 900, "--cgroup", theirs, "--cgroup", ours, *account_of(theirs, ATTACKER),
                     *account_of(ours, WITNESS), *args) as sampling:
        wait_cpu([attacker.pid], max(1, len(os.sched_getaffinity(0)) / 2))  # maps are made for all CPUs
        with load("recurse", 900, 5) as witness:
            move(witness, ours)
            wait_cpu([witness.pid], 0.15)
            data = sampling.result()
    if total(of_pid(data, witness.pid)) <= 20:
        raise Lacking(f"{total(of_pid(data, witness.pid))} samples of the witness in 0.15 s of its CPU time")
    return data, of_pid(data, attacker.pid), of_pid(data, witness.pid)


def assert_cut_is_told(data, counts):
    """All of the attacker's samples are counted, and what each lacks is in its stack and on the account."""
    spent, ends = figures(data, ATTACKER), by_end(counts)
    assert spent["lost"] == 0
    assert spent["cut"] + spent["leaf"] > 20
    assert total(ends.get(END_CUT_DEPTH, [])) == pytest.approx(spent["cut"], abs=2)
    assert total(ends.get(END_CUT_LEAF, [])) == pytest.approx(spent["leaf"], abs=2)
    assert {len(item["user"]["ips"]) for item in ends.get(END_CUT_DEPTH, [])} <= {CUT_DEPTH}
    assert {len(item["user"]["ips"]) for item in ends.get(END_CUT_LEAF, [])} <= {1}


def assert_untouched(data, counts):
    spent = figures(data, WITNESS)
    assert lost_stacks(counts) == 0
    cut = {END_CUT_DEPTH, END_CUT_LEAF, END_CUT_ALL} & set(by_end(counts))
    assert not cut, (cut, spent, {end: len(items) for end, items in by_end(counts).items()})
    assert (spent["cut"], spent["leaf"], spent["bare"], spent["lost"]) == (0, 0, 0, 0)


@VARIANTS
def test_random_deep_stacks_are_cut_on_their_own_account(variant):
    data, theirs, ours = attack(1000, "--planned", 2, "--frequency", 1999, *variant)
    assert_untouched(data, ours)
    assert_cut_is_told(data, theirs)


def test_a_buffer_that_nobody_empties_keeps_room_for_the_others():
    data, theirs, ours = attack(1000, "--planned", 2, "--frequency", 999, "--lazy")
    assert data["missing_stacks"] == data["counters"]["stack_buffer_full"] == 0
    assert_untouched(data, ours)
    assert_cut_is_told(data, theirs)


@VARIANTS
def test_more_distinct_stacks_than_a_map_holds_leave_room_for_the_others(variant):
    """A window that is many times longer than planned."""
    data, theirs, ours = attack(3, "--planned", 0.1, "--frequency", 3999, *variant)
    spent = figures(data, ATTACKER)
    assert_untouched(data, ours)
    assert data["counters"]["lost_counts_full"] == spent["lost"] == 0
    bare = by_end(theirs)[END_CUT_ALL]
    # One entry for each window, which has all samples that found no room.
    assert len(bare) == 1 and bare[0]["user"]["ips"] == []
    assert 20 < bare[0]["count"] == spent["bare"] == data["counters"]["cut_all"]
    assert total(data["counts"]) == data["counters"]["samples"]


def test_what_is_below_a_cgroup_is_on_its_account_however_deep():
    names = ["container"]
    while len(names) < 16:
        names.append(names[-1] + "/x")
    with cgroups(*names, "other") as folders, load("recurse", 900, 5) as deep, load("recurse", 900, 5) as other, \
            load("recurse", 900, 5) as middle:
        for process, folder in ((deep, folders[15]), (middle, folders[5]), (other, folders[16])):
            move(process, folder)
        data = sample(*account_of(folders[0], 7), *account_of(folders[5], 8), "--pid", deep.pid,
                      "--pid", other.pid, "--pid", middle.pid,
                      until=lambda data: len({item["pid"] for item in data["counts"]}) == 3)
    assert figures(data, 8)["entries"] == len(of_pid(data, deep.pid)) + len(of_pid(data, middle.pid))
    assert figures(data, 0)["entries"] == len(of_pid(data, other.pid))
    assert figures(data, 7) == {}
    assert_nothing_lost(data)


def test_what_is_sampled_already_is_on_an_account_that_is_set_later():
    with cgroups("one") as (folder,), load("many", 900, 12) as process:
        move(process, folder)
        data = sample("--window", 0.5, "--frequency", 499, "--pid", process.pid, *account_of(folder, 7), "--late",
                      until=lambda data: figures(data, 0) and len(windows_of(data)) >= 3)
    assert figures(data, 0) and figures(data, 7), data["accounts"]
    assert sum(figures(data, account)["entries"] for account in (0, 7)) == len(data["counts"])
    last = max(windows_of(data))
    assert {item["account"] for item in data["accounts"] if item["window"] == last} == {7}, data["accounts"]
    assert_nothing_lost(data)


def windows_of(data):
    return {item["window"] for item in data["counts"]}


def test_figures_of_an_account_are_those_of_the_window():
    with cgroups("one") as (folder,), load("many", 900, 12) as process:
        move(process, folder)
        data = sample("--window", 0.5, "--frequency", 499, "--pid", process.pid, *account_of(folder, 7),
                      until=lambda data: len(windows_of(data)) >= 2)
    assert_nothing_lost(data)
    if max(windows_of(data)) - min(windows_of(data)) > 3:
        raise Lacking("it stood still for so long that stacks were forgotten, and crossed again")
    records, seen = [item for item in data["accounts"] if item["account"] == 7], set()
    for record in records:
        counts = [item for item in data["counts"] if item["window"] == record["window"]]
        new = {}
        for item in counts:
            for kind in ("user", "kernel"):
                if kind in item and item[kind]["hash"] not in seen:
                    new[item[kind]["hash"]] = 64 + 8 * len(item[kind]["ips"])
        seen |= set(new)
        assert record["entries"] == len(counts)
        assert record["stack_bytes"] == sum(new.values())
    assert sum(record["processes"] for record in records) == 1
