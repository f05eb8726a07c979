# SPDX-License-Identifier: Apache-2.0
"""Whose a stack is, in the running kernel: what one process has in its frames never gets into the samples
of another. The seed of the hashes is known here, which it never is in life; fake_stack has the very
frames it is told to have, at the same address in each process, as two programs that are not PIE."""
import time

import pytest

from live import VARIANTS, Sampling, load, of_pid, sample

pytestmark = pytest.mark.live

SEED = 0x243f6a8885a308d3
LEAF = 0x10000000
WORDS = [0x401234, 0x402345, 0x403456]  # return addresses of the witness
FNV_PRIME, MASK = 0x100000001b3, (1 << 64) - 1


def fake(words):
    return load(60, f"{LEAF:x}", *[f"{word:x}" for word in words], program="fake_stack")


def planted(words, start):
    """Other frames with the hash of these, for hashes by FNV that begin with a number the attacker knows:
    a bit of one word is flipped, and the next word makes up for it."""
    state = ((start ^ LEAF) * FNV_PRIME) & MASK
    for at in range(len(words) - 1):
        for bit in range(2, 16):
            other = words[at] ^ 1 << bit
            change = ((state ^ words[at]) * FNV_PRIME ^ (state ^ other) * FNV_PRIME) & MASK
            if change < 1 << 46:
                return words[:at] + [other, words[at + 1] ^ change] + words[at + 2:]
        state = ((state ^ words[at]) * FNV_PRIME) & MASK
    raise AssertionError("this seed has no such pair: take another")


def user_stacks(data, pid):
    return {tuple(item["user"]["ips"]) for item in of_pid(data, pid) if "user" in item}


@pytest.mark.long("a load lives, or a window lasts, so many seconds by the clock")
@VARIANTS
def test_a_neighbours_planted_stack_stays_its_own(variant):
    attack = planted(WORDS, SEED)
    with fake(attack) as attacker:
        sampling = Sampling("--seconds", 3, "--seed", f"{SEED:x}", "--frequency", 499, *variant)
        time.sleep(0.7)  # the attacker's crosses first
        with fake(WORDS) as witness:
            data = sampling.result()
    assert user_stacks(data, attacker.pid) == {(LEAF, *attack)}
    # Outside its frames it was while it started.
    assert {stack for stack in user_stacks(data, witness.pid) if stack[0] == LEAF} == {(LEAF, *WORDS)}


@pytest.mark.long("each of its states must have been met by a sample")
@VARIANTS
def test_the_same_frames_in_two_processes_are_two_stacks(variant):
    with fake(WORDS) as first, fake(WORDS) as second:
        pids = {first.pid, second.pid}
        data = sample("--seconds", 1, *variant, "--pid", first.pid, "--pid", second.pid,
                      until=lambda data: {item["pid"] for item in data["counts"]} == pids)
    hashes = {(item["pid"], item["user"]["hash"]) for item in data["counts"] if item["user"]["ips"] == [LEAF, *WORDS]}
    assert len(hashes) == len({value for _, value in hashes}) == 2


@pytest.mark.long("a load lives, or a window lasts, so many seconds by the clock")
def test_two_runs_of_a_program_in_one_process_share_no_stack():
    """exec keeps pid and start: the run of the program is part of the life."""
    for seconds in (4, 12, 20):  # the longer, the surer it is that both get some CPU time
        sampling = Sampling("--seconds", seconds)
        with load("exec", seconds / 5) as process:
            data = sampling.result()
        hashes = {}
        for item in of_pid(data, process.pid):
            if "user" in item:
                hashes.setdefault(item["exec_id"], set()).add(item["user"]["hash"])
        if len(hashes) == 2:
            break
    assert len(hashes) == 2
    first, second = hashes.values()
    assert not first & second
