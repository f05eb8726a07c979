# SPDX-License-Identifier: Apache-2.0
"""Programs that look through a process's environment at its first sample, in the running kernel: as
root. JBPF_PROFILE=off is found wherever it stands, and nothing else is taken for it."""
from contextlib import ExitStack

import pytest

from harness.programs import wait_cpu
from live import Sampling, end, load, of_pid, tell, total

pytestmark = pytest.mark.live

SEEN = 1  # JBPF_NOTICE_SEEN of bpf/jbpf.h
VALUE_OPT_OUT_NONE = 8  # JBPF_VALUE_OPT_OUT_NONE of bpf/jbpf.h
STEP = 960  # ENVIRONMENT_STEP of bpf/opt_out.bpf.h: variables that begin in one part
NAME_BYTES = len("JBPF_PROFILE=")

# Names begin here in the environment: at its start, and around the first borders of parts.
OFFSETS = [0, 2, 3, *[border + near for border in (STEP, 2 * STEP)
                      for near in (-NAME_BYTES - 4, -NAME_BYTES, -8, -1, 0, 1, 9)], 31000]
OFF = [{"JBPF_PROFILE": value} for value in ("off", "OFF", "oFf", "0", "no", "No", "false", "FALSE")]
ON = [{"JBPF_PROFILE": value} for value in ("", "on", "1", "offer", "of", "0ff", "00", "none", "n", "falsee",
                                            "off ", " off", "\x10")] + \
     [{"JBPF_PROFIL": "off"}, {"JBPF_PROFILES": "off"}, {"XJBPF_PROFILE": "off"}, {"A": "JBPF_PROFILE=off"},
      {"jbpf_profile": "off"}, {}]


def at_offset(offset):
    """An environment in which the variable begins there."""
    return dict({"F": "x" * (offset - len("F=") - 1)} if offset else {}, JBPF_PROFILE="off")


CPU_SECONDS = 0.06  # of each program, at least: some 60 samples


def of_program(data, pid):
    """Without those of what ran before, with an environment of its own: python3, env."""
    return [item for item in of_pid(data, pid) if item["comm"] in ("load", "exe")]


def may_be_recorded(counts):
    """In the middle of execve() there is no environment to look at: then user space decides."""
    return [item for item in counts if item["flags"] & VALUE_OPT_OUT_NONE]


def sample_all(environments, *variant, mode="cpu", parts=()):
    """Samples a program with each until all have used their CPU time; then, and when the condition of the part before
    is true, they go on with the next part. (data, processes)"""
    with Sampling("--frequency", 999, *variant) as sampling, ExitStack() as stack:
        loads = [stack.enter_context(load(mode, "lines", prefix=["env", "-i", *[f"{k}={v}" for k, v in one.items()]]))
                 for one in environments]
        for until in parts:
            sampling.wait(lambda data: until(data, *loads))
            wait_cpu([process.pid for process in loads], CPU_SECONDS)
            if until is not parts[-1]:
                for process in loads:
                    tell(process)
        for process in loads:
            end(process)
        return sampling.result(), loads


def anything(_data, *_):
    return True


@pytest.mark.parametrize("variant", [[], pytest.param(["--compat"], marks=pytest.mark.long(
    "29 programs once more: both ways ask by the same code, and others of the gate run this one"))],
                         ids=["oncpu", "oncpu_compat"])
def test_who_opts_out_is_not_sampled_and_who_does_not_is(variant):
    def has_on(data, *loads):
        return all(may_be_recorded(of_program(data, process.pid)) for process in loads[len(OFF):])
    data, loads = sample_all(OFF + ON, *variant, parts=[has_on])
    for process, environment in zip(loads, OFF + ON):
        counts = of_program(data, process.pid)
        if environment in OFF:
            # But within execve().
            assert not may_be_recorded(counts) and total(counts) < 999 * CPU_SECONDS / 2, environment
    opted_out = {process.pid for process in loads[:len(OFF)]}
    told = {notice["pid"] for notice in data["notices"] if notice["notice"] == SEEN and notice["comm"] == "load"}
    assert not opted_out & told
    assert data["counters"]["opted_out"] > 0
    assert total(data["counts"]) == data["counters"]["samples"]


def test_the_variable_is_found_wherever_it_stands():
    environments = [at_offset(offset) for offset in OFFSETS]
    data, loads = sample_all(environments, parts=[anything])
    seen = {offset: total(may_be_recorded(of_program(data, process.pid)))
            for offset, process in zip(OFFSETS, loads)}
    assert not any(seen.values()), seen
    assert data["counters"]["opted_out"] > 0


def test_an_environment_that_is_too_long_is_left_to_user_space():
    def is_seen(data, process, _):
        return of_program(data, process.pid) and any(notice["pid"] == process.pid for notice in data["notices"])
    data, (process, _) = sample_all([at_offset(34000), {}], parts=[is_seen])
    counts = of_program(data, process.pid)
    assert counts and not may_be_recorded(counts)
    told = {notice["flags"] for notice in data["notices"]
            if notice["pid"] == process.pid and notice["notice"] == SEEN and notice["comm"] == "load"}
    assert 0 in told and told <= {0}


def test_each_program_of_an_exec_chain_decides_for_itself():
    def is_recorded(comm, data, process):
        return any(item["comm"] == comm for item in may_be_recorded(of_pid(data, process.pid)))
    data, (closed, opened) = sample_all([{"JBPF_PROFILE": "off"}, {"A": "b"}], mode="cpu-exec", parts=[
        lambda data, _, opened: is_recorded("load", data, opened),
        lambda data, closed, _: is_recorded("exe", data, closed)])
    first = {item["exec_id"] for item in may_be_recorded(of_pid(data, opened.pid)) if item["comm"] == "load"}
    then = {item["exec_id"] for item in may_be_recorded(of_pid(data, closed.pid)) if item["comm"] == "exe"}
    assert len(first) == len(then) == 1
    assert {item["comm"] for item in may_be_recorded(of_program(data, opened.pid))} == {"load"}
    assert {item["comm"] for item in may_be_recorded(of_program(data, closed.pid))} == {"exe"}
    assert min(then) == min(first) + 1
    assert data["counters"]["opted_out"] > 0
