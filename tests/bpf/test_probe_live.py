# SPDX-License-Identifier: Apache-2.0
"""The BPF programs and probe.c in the running kernel: as root, on loads with a known profile.

live_probe samples and prints all it got as JSON; load makes the load. Both variants of the program
(the present one and that for kernels below 5.15) must give the same wherever both are tried."""
import bisect
import collections
import math
import os
import re
import struct
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.programs import LEAST_WAIT, Lacking, cpu_seconds, wait_cpu, wait_until
from live import (AIDS, END_LEAF_ONLY, END_MAX_DEPTH, VARIANTS, Sampling, assert_nothing_lost, cgroups, end, load, move,
                  of_pid, sample, sample_life, samples, tell, total)

CPUS = sorted(os.sched_getaffinity(0))
HZ = 99  # live_probe's default; loads end with their test, long before the time they are given
ONE_WINDOW = ["--window", 900]  # it ends with the sampling
SEEN, EXEC, EXIT, RENAME = 1, 2, 3, 4
FLAG_COMPAT = 2


def repeats(item):
    """How often the commonest return address of a user stack is in it."""
    return max(collections.Counter(item["user"]["ips"][1:]).values())


@contextmanager
def two_busy(*variant):
    """Two loads on two CPUs, if there are as many, and their sampling."""
    with load("recurse", 900, 3, cpu=CPUS[0]) as first, load("recurse", 900, 3, cpu=CPUS[-1]) as second, \
            Sampling(*variant, "--pid", first.pid, "--pid", second.pid) as sampling:
        yield (first, second), sampling


def seconds_of(processes):
    return [cpu_seconds(process.pid) for process in processes]


@pytest.mark.live
@VARIANTS
def test_each_busy_cpu_gives_99_samples_a_second(variant):
    """Fewer only for time that the host stole, and never many more."""
    with two_busy(*variant) as (processes, sampling):
        begin = seconds_of(processes)
        sampling.wait(lambda data: all(total(of_pid(data, process.pid)) >= 300 for process in processes))
        seen = seconds_of(processes)  # of this at least all was sampled
        data = sampling.result()
        used = seconds_of(processes)  # since they began, which is before the sampling did
    assert_nothing_lost(data)
    for process, first, last, most in zip(processes, begin, seen, used):
        # by construction: of its own clock, in which two fifths would have to be stolen; by chance it is seven sigmas
        assert 0.6 * HZ * (last - first) < total(of_pid(data, process.pid)) < HZ * most / 0.8


@pytest.mark.live
@pytest.mark.long("a tenth more or fewer: the process's clock has stolen time in it, and ticks of 10 ms")
@pytest.mark.released
@VARIANTS
def test_each_busy_cpu_gives_99_samples_a_second_figures(variant):
    sampled = 4  # seconds
    with two_busy(*variant) as (processes, sampling):
        begin, before = time.monotonic(), seconds_of(processes)
        time.sleep(sampled)
        data = sampling.result()
        used = [end - start for start, end in zip(before, seconds_of(processes))]
        elapsed = time.monotonic() - begin
    for process, seconds in zip(processes, used):
        # By the CPU time each one got: the machine may be shared. Then the ticks that find it running
        # are a matter of luck, and so is what it did between the two clocks and the sampling.
        share = min(seconds / elapsed, 1)
        luck = 5 * math.sqrt(HZ * sampled * share * (1 - share)) + HZ * abs(elapsed - sampled)
        assert seconds > 0.2
        assert total(of_pid(data, process.pid)) == pytest.approx(HZ * seconds, abs=6 + 0.1 * HZ * seconds + luck)


@pytest.mark.live
@VARIANTS
def test_a_600_deep_recursion_is_whole(variant):
    with load("recurse", 900, 600) as process:
        data = sample("--frequency", 499, *variant, "--pid", process.pid, until=samples(100))
    assert_nothing_lost(data)
    # 600 calls: the innermost has another return address, as has the outermost (main).
    assert {repeats(item) for item in data["counts"]} == {599}
    roots = {tuple(item["user"]["ips"][-2:]) for item in data["counts"]}
    assert len(roots) == 1, "not all stacks reach the same root"


@pytest.mark.live
@VARIANTS
def test_a_1500_deep_recursion_ends_at_the_limit_and_says_so(variant):
    with load("recurse", 900, 1500) as process:
        data = sample("--frequency", 499, *variant, "--pid", process.pid, until=samples(100))
    assert {(len(item["user"]["ips"]), item["user"]["end"]) for item in data["counts"]} == \
        {(1024, END_MAX_DEPTH)}
    assert data["counters"]["end_max_depth"] == data["counters"]["samples"]


@pytest.mark.live
@pytest.mark.parametrize("depth", [1, 2, 64, 127, 128, 600])
def test_the_depth_limit_is_kept_exactly(depth):
    with load("recurse", 900, 700) as process:
        data = sample("--frequency", 499, "--max-depth", depth, "--pid", process.pid, until=samples(50))
    assert {(len(item["user"]["ips"]), item["user"]["end"]) for item in data["counts"]} == \
        {(depth, END_MAX_DEPTH)}


def kernel_symbols():
    symbols = []
    for line in Path("/proc/kallsyms").read_text().splitlines():
        address, kind, name = line.split()[:3]
        if kind in "tT":
            symbols.append((int(address, 16), name))
    return sorted(symbols)


@pytest.mark.live
@VARIANTS
def test_system_calls_have_their_kernel_stack_on_top_of_the_users(variant):
    with load("syscalls", 900) as process:
        data = sample("--frequency", 499, *variant, "--pid", process.pid, until=samples(300))
    assert_nothing_lost(data)
    inside = [item for item in data["counts"] if "kernel" in item]
    assert total(inside) == data["counters"]["samples_kernel"] > 0

    symbols = kernel_symbols()
    starts = [address for address, _ in symbols]
    reading = [item for item in inside
               if any(re.search("vfs_read|ksys_read", symbols[bisect.bisect(starts, ip) - 1][1])
                      for ip in item["kernel"]["ips"])]
    assert reading, inside  # all others are on the way into a system call or out of it, which may be long in a VM
    for item in inside:
        assert all(ip >= 1 << 63 for ip in item["kernel"]["ips"])
        assert all(0 < ip < 1 << 63 for ip in item["user"]["ips"])
    # read() in libc, syscalls_until(), main(): the user's registers were the right ones.
    depths = collections.Counter()
    for item in reading:
        depths[len(item["user"]["ips"])] += item["count"]
    assert depths.most_common(1)[0][0] in (3, 4), depths


@pytest.mark.live
def test_both_variants_see_the_same_stacks():
    with load("recurse", 900, 50) as first, load("syscalls", 900) as second:
        seen = []
        for variant in ([], ["--compat"]):
            data = sample("--frequency", 499, *variant, "--pid", first.pid, "--pid", second.pid,
                          until=lambda data: all(total(of_pid(data, one.pid)) >= 100 for one in (first, second)))
            callers = collections.Counter()
            for item in data["counts"]:
                # All but the leaf, which may be any instruction, and what lies between it and main.
                callers[(item["pid"], item["ns_pid"], item["exec_id"], item["start_ns"], item["comm"],
                         item["cgroup_id"], tuple(item["user"]["ips"][-2:]))] += item["count"]
            seen.append(callers)
    # What one has so often that the other can lack it only by bad luck.
    for one, other in (seen, seen[::-1]):
        factor = sum(other.values()) / sum(one.values())
        missing = {key: count for key, count in one.items() if count * factor > 20 and key not in other}
        assert not missing
        assert {key[0] for key in one} == {first.pid, second.pid}


@pytest.mark.live
def test_counts_of_many_windows_add_up():
    with cgroups("ours") as (ours,), load("many", 900, 12) as first, load("syscalls", 900) as second:
        processes = (first, second)
        for process in processes:
            move(process, ours)
        data = sample("--window", 0.02, "--frequency", 999, "--cgroup", ours, until=lambda data: all(
            len({item["window"] for item in of_pid(data, process.pid)}) > 20 for process in processes))
    assert_nothing_lost(data)


@pytest.mark.live
def test_nobody_is_filtered_where_nobody_said_whom():
    assert sample()["counters"]["filtered"] == 0


def hashes_of(data):
    return {item[kind]["hash"] for item in data["counts"] for kind in ("user", "kernel") if kind in item}


@pytest.mark.live
def test_a_stack_crosses_once():
    with load("many", 900, 12) as process, \
            Sampling(*ONE_WINDOW, "--new", "--frequency", 999, "--pid", process.pid) as sampling:
        sampling.wait(lambda data: len(data["new"]) > 50)
        wait_cpu([process.pid], 0.5)
        data = sampling.result()
    assert_nothing_lost(data)
    hashes = hashes_of(data)
    assert data["stack_records"] == len(hashes)
    addresses = {(tuple(item["user"]["ips"]), item["user"]["end"]) for item in data["counts"]}
    assert len({item["user"]["hash"] for item in data["counts"]}) == len(addresses)


@pytest.mark.live
def test_a_new_user_stack_is_told_once_and_soon_with_its_process_and_a_time_before_it():
    with load("many", 900, 12) as first, load("recurse", 900, 30) as second, \
            Sampling(*ONE_WINDOW, "--new", "--frequency", 499, "--pid", first.pid, "--pid", second.pid) as sampling:
        pids = {first.pid, second.pid}
        wait_cpu(pids, 0.3)
        data = sampling.result()
    assert_nothing_lost(data)
    told = collections.Counter((item["new"], item["start_ns"], item["exec_id"], tuple(item["ips"]), item["end"])
                               for item in data["new"])
    counted = {(item["pid"], item["start_ns"], item["exec_id"], tuple(item["user"]["ips"]), item["user"]["end"])
               for item in data["counts"] if "user" in item}
    assert set(told) == counted
    assert set(told.values()) == {1}
    assert {item["new"] for item in data["new"]} == pids
    for item in data["new"]:
        assert item["start_ns"] < item["since_ns"] < item["at_ns"]


@pytest.mark.live
def test_forgotten_stacks_come_again_and_none_is_missed():
    """Windows of 20 ms: stacks fall idle, leave `seen`, are dropped and return, all the time."""
    with load("many", 900, 12) as process:
        data = sample("--window", 0.02, "--frequency", 999, "--pid", process.pid, until=lambda data: (
            total(data["counts"]) >= 1000 and data["stack_records"] > 1.2 * len(hashes_of(data))))
    assert_nothing_lost(data)


def filters(data):
    return data["counts"] and data["counters"]["filtered"] > 10


@pytest.mark.live
def test_only_wanted_processes_are_sampled():
    with load("recurse", 900, 2) as wanted, load("recurse", 900, 2):
        data = sample("--pid", wanted.pid, until=filters)
    assert {item["pid"] for item in data["counts"]} == {wanted.pid}
    assert {notice["pid"] for notice in data["notices"]} == {wanted.pid}


@pytest.fixture
def cgroup():
    """A new cgroup with one below it."""
    with cgroups("outer", "outer/inner") as (outer, _):
        yield outer


@pytest.mark.live
def test_only_processes_below_a_cgroup_are_sampled(cgroup):
    inner = cgroup / "inner"
    with load("recurse", 900, 2) as wanted, load("recurse", 900, 2):
        move(wanted, inner)
        data = sample("--cgroup", cgroup, until=filters)
    assert {item["pid"] for item in data["counts"]} == {wanted.pid}
    assert {item["cgroup_id"] for item in data["counts"]} == {inner.stat().st_ino}


@pytest.mark.live
def test_with_both_filters_a_process_must_pass_both(cgroup):
    with load("recurse", 900, 2) as both, load("recurse", 900, 2) as group_only, \
            load("recurse", 900, 2) as pid_only:
        for process in (both, group_only):
            move(process, cgroup / "inner")
        data = sample("--cgroup", cgroup, "--pid", both.pid, "--pid", pid_only.pid, until=filters)
    assert {item["pid"] for item in data["counts"]} == {both.pid}


def notices_of(data, pid):
    return [notice for notice in data["notices"] if notice["pid"] == pid]


@pytest.mark.live
def test_first_sample_exec_and_exit_are_told_in_time():
    """The first sample is told while the program runs, long before the window ends: only then it executes the next."""
    def is_told(comm):
        return lambda data, pid: any((notice["notice"], notice["comm"]) == (SEEN, comm) for notice in notices_of(data, pid))
    data, pid = sample_life("exec", parts=[is_told("load"), is_told("exe")], options=ONE_WINDOW)
    notices = notices_of(data, pid)
    assert [notice["notice"] for notice in notices] == [SEEN, EXEC, SEEN, EXIT]
    first, execve, second, last = notices
    assert execve["exec_id"] == second["exec_id"] == last["exec_id"] == first["exec_id"] + 1
    assert [notice["comm"] for notice in notices] == ["load", "exe", "exe", "exe"]
    assert len({notice["start_ns"] for notice in notices}) == 1
    assert first["at_ns"] < execve["at_ns"] <= second["at_ns"] < last["at_ns"]
    streams = {(item["exec_id"], item["comm"]) for item in of_pid(data, pid) if "user" in item}
    assert streams == {(first["exec_id"], "load"), (second["exec_id"], "exe")}


def is_sampled_as(comm):
    return lambda data, pid: any(item["comm"] == comm for item in of_pid(data, pid))


@pytest.mark.live
def test_a_new_name_is_told_once():
    data, pid = sample_life("rename", parts=[is_sampled_as("load"), is_sampled_as("renamed")])
    names = [notice["comm"] for notice in notices_of(data, pid) if notice["notice"] == RENAME]
    assert names == ["renamed"]
    assert {item["comm"] for item in of_pid(data, pid)} == {"load", "renamed"}


def inside(cgroup):
    return ["sh", "-c", f'echo $$ > {cgroup}/cgroup.procs && exec "$@"', "sh"]


def spans_since(begin):
    """Spans in which a process has 16 notices and an account 256 (NOTICE_TIME_SHIFT in bpf/notice.bpf.h), at most."""
    return int((time.monotonic() - begin) / (2 ** 33 / 1e9)) + 2


def live_through_rename(process):
    """It has samples before and after its new name, by its own clock."""
    for _ in range(2):
        wait_cpu([process.pid], 0.2)
        tell(process)
    process.wait(LEAST_WAIT)


def lived_through_rename(data, process):
    if not all(is_sampled_as(comm)(data, process.pid) for comm in ("load", "renamed")):
        raise Lacking("no samples in 0.2 s of its CPU time")


@pytest.mark.live
def test_one_that_renames_itself_without_end_leaves_room_for_others_notices():
    begin = time.monotonic()
    with cgroups("both") as (both,), \
            Sampling(*ONE_WINDOW, "--lazy", "--frequency", 499, "--cgroup", both) as sampling, \
            load("renames", 900, prefix=inside(both)) as busy, load("rename", "lines", prefix=inside(both)) as process:
        wait_cpu([busy.pid], 0.5)
        live_through_rename(process)
        data = sampling.result()
        spans = spans_since(begin)
    names = collections.Counter(notice["pid"] for notice in data["notices"] if notice["notice"] == RENAME)
    lived_through_rename(data, process)
    assert busy.pid in {notice["pid"] for notice in data["notices"]}
    assert names[process.pid] == 1
    assert names[busy.pid] <= 16 * spans
    assert data["counters"]["notice_held"] > 0


def account_of(cgroup, account):
    return ["--account", f"{cgroup.stat().st_ino}:{account}"]


def storm_until_sampled(storm):
    """The children have used so much CPU time together that most were sampled."""
    children = Path(f"/proc/{storm.pid}/task/{storm.pid}/children")
    wait_until(lambda: sum(map(cpu_seconds, children.read_text().split())) > 0.8, 30, "the storm's children work")
    end(storm)


@pytest.mark.live
def test_one_whose_children_rename_themselves_leaves_room_for_others_notices():
    """Many more together than the buffer holds, which nobody empties; the others are another account. Several CPUs at
    once may take a few more than the budget (notice_take() in bpf/notice.bpf.h)."""
    begin = time.monotonic()
    with cgroups("theirs", "ours") as (theirs, ours), \
            Sampling(*ONE_WINDOW, "--lazy", "--frequency", 499, "--cgroup", theirs, "--cgroup", ours,
                     *account_of(theirs, 7), *account_of(ours, 8)) as sampling:
        their_id = theirs.stat().st_ino
        with load("rename-storm", "lines", 40, prefix=inside(theirs)) as storm:
            storm_until_sampled(storm)
        spans = spans_since(begin)
        with load("rename", "lines", prefix=inside(ours)) as process:
            live_through_rename(process)
        data = sampling.result()
    lived_through_rename(data, process)
    if spans > 3:
        raise Lacking(f"the storm took {spans} spans: more notices than the buffer holds")
    names = collections.Counter(notice["cgroup_id"] for notice in data["notices"] if notice["notice"] == RENAME)
    assert {SEEN, RENAME} <= {notice["notice"] for notice in notices_of(data, process.pid)}
    assert 16 < names[their_id] < (spans + 1) * 256
    assert data["counters"]["notice_lost"] == 0 < data["counters"]["notice_held"]


@pytest.mark.live
def test_threads_belong_to_their_process_and_end_it_once():
    data, pid = sample_life("threads", 8, parts=[lambda data, pid: total(of_pid(data, pid)) >= 8])
    assert {item["comm"] for item in of_pid(data, pid)} == {"load"}
    assert [notice["notice"] for notice in notices_of(data, pid)] == [SEEN, EXIT]
    assert_nothing_lost(data)


@pytest.mark.live
def test_no_notice_of_processes_that_were_not_sampled():
    with Sampling("--pid", os.getpid()) as sampling:
        for _ in range(50):
            subprocess.run(["/bin/true"], check=True)
        data = sampling.result()
    assert {notice["pid"] for notice in data["notices"]} <= {os.getpid()}


@pytest.mark.live
def test_the_pid_inside_the_container_is_known():
    with load("recurse", 900, 2, prefix=["unshare", "--pid", "--fork", "--kill-child"]) as wrapper:
        children = Path(f"/proc/{wrapper.pid}/task/{wrapper.pid}/children").read_text().split()
        data = sample("--pid", children[0])
    assert {item["ns_pid"] for item in data["counts"]} == {1}
    assert {notice["ns_pid"] for notice in data["notices"]} == {1}


def in_user(data):
    return total(item for item in data["counts"] if "kernel" not in item) > 20


@pytest.mark.live
def test_of_a_32_bit_program_only_the_leaf_is_taken(tmp_path):
    """The program is an ELF header, a program header and a jump to itself."""
    base = 0x08048000
    header = struct.pack("<4s5B7xHHIIIIIHHHHHH", b"\x7fELF", 1, 1, 1, 0, 0, 2, 3, 1, base + 84, 52, 0,
                         0, 52, 32, 1, 0, 0, 0)
    segment = struct.pack("<IIIIIIII", 1, 0, base, base, 86, 86, 5, 4096)
    program = tmp_path / "spin32"
    program.write_bytes(header + segment + b"\xeb\xfe")
    program.chmod(0o755)
    try:
        process = subprocess.Popen([program])
    except OSError as err:
        pytest.skip(f"this kernel runs no 32-bit programs: {err}")
    try:
        data = sample("--frequency", 499, "--pid", process.pid, until=in_user)
    finally:
        process.kill()
        process.wait()
    for item in data["counts"]:
        assert item["flags"] & FLAG_COMPAT
        assert item["user"] == {"hash": item["user"]["hash"], "end": END_LEAF_ONLY, "ips": [base + 84]}


@pytest.mark.live
def test_entries_of_code_ranges_are_taken_and_end_as_they_should():
    done = subprocess.run([AIDS / "live_code_ranges"], capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


@pytest.mark.live
def test_unwind_tables_and_mappings_are_taken_and_dropped():
    done = subprocess.run([AIDS / "live_unwind_maps"], capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


@pytest.mark.live
def test_maps_stay_small():
    data = sample(until=lambda data: data["windows"])
    assert 1 << 20 < data["map_bytes"] < max(8, 2 * len(CPUS)) << 20


@pytest.mark.live
def test_both_ways_to_empty_a_map_give_all_of_it_once():
    done = subprocess.run([AIDS / "live_count_map"], capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def why(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=240)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.mark.root
def test_a_start_without_privileges_says_what_to_grant(tmp_path):
    message = why("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--reuid=65534", "--clear-groups",
                  AIDS / "live_probe")
    assert "CAP_BPF" in message and "root" in message


@pytest.mark.root
def test_a_cgroup_that_is_none_is_named():
    assert "/nowhere/at/all" in why(AIDS / "live_probe", "--cgroup", "/nowhere/at/all")
    assert "cgroup v2" in why(AIDS / "live_probe", "--cgroup", "/tmp")


@pytest.mark.root
def test_too_high_a_frequency_names_the_limit():
    assert "perf_event_max_sample_rate" in why(AIDS / "live_probe", "--frequency", 200000000)


def test_a_depth_out_of_range_is_refused():
    assert "Invalid argument" in why(AIDS / "live_probe", "--max-depth", 0)
    assert "Invalid argument" in why(AIDS / "live_probe", "--max-depth", 1025)
