# SPDX-License-Identifier: Apache-2.0
"""Whose a stack is, in the running kernel: what one process has in its frames never gets into the samples
of another. The seed of the hashes is known here, which it never is in life; fake_stack has the very
frames it is told to have, at the same address in each process, as two programs that are not PIE."""
import pytest

from live import VARIANTS, Sampling, cgroups, load, move, of_pid, sample, sample_life

pytestmark = pytest.mark.live

SEED = 0x243f6a8885a308d3
LEAF = 0x10000000
WORDS = [0x401234, 0x402345, 0x403456]  # return addresses of the witness
FNV_PRIME, MASK = 0x100000001b3, (1 << 64) - 1


def fake(words):
    return load(900, f"{LEAF:x}", *[f"{word:x}" for word in words], program="fake_stack")


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
    """Outside its frames it is while it starts."""
    return {tuple(item["user"]["ips"]) for item in of_pid(data, pid) if "user" in item and item["user"]["ips"][0] == LEAF}


@VARIANTS
def test_a_neighbours_planted_stack_stays_its_own(variant):
    attack = planted(WORDS, SEED)
    with cgroups("both") as (both,), fake(attack) as attacker, \
            Sampling("--cgroup", both, "--seed", f"{SEED:x}", "--frequency", 499, *variant) as sampling:
        move(attacker, both)
        sampling.wait(lambda data: user_stacks(data, attacker.pid))  # the attacker's crosses first
        with fake(WORDS) as witness:
            move(witness, both)
            sampling.wait(lambda data: user_stacks(data, witness.pid))
            data = sampling.result()
    assert user_stacks(data, attacker.pid) == {(LEAF, *attack)}
    assert user_stacks(data, witness.pid) == {(LEAF, *WORDS)}


@VARIANTS
def test_the_same_frames_in_two_processes_are_two_stacks(variant):
    def hashes(data):
        return {(item["pid"], item["user"]["hash"]) for item in data["counts"]
                if "user" in item and item["user"]["ips"] == [LEAF, *WORDS]}
    with fake(WORDS) as first, fake(WORDS) as second:
        pids = {first.pid, second.pid}
        data = sample("--frequency", 499, *variant, "--pid", first.pid, "--pid", second.pid,
                      until=lambda data: {pid for pid, _ in hashes(data)} == pids)
    assert len(hashes(data)) == len({value for _, value in hashes(data)}) == 2


def test_two_runs_of_a_program_in_one_process_share_no_stack():
    """exec keeps pid and start: the run of the program is part of the life."""
    def hashes(data, pid, comm):
        return {item["user"]["hash"] for item in of_pid(data, pid) if item["comm"] == comm and "user" in item}
    data, pid = sample_life("exec", options=["--frequency", 499], parts=[
        lambda data, pid: len(hashes(data, pid, "load")) > 1, lambda data, pid: len(hashes(data, pid, "exe")) > 1])
    assert not hashes(data, pid, "load") & hashes(data, pid, "exe")
