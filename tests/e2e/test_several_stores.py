# SPDX-License-Identifier: Apache-2.0
"""--store given several times: the profile is the sum, hosts stay apart, and nothing is missing silently. No containers."""
import collections
import json
import shutil

import pytest

from harness.programs import jbpf
from harness.store import make_store

START = 1700000400  # 2023-11-14T22:20:00Z
RANGE = ("--since", f"@{START - 600}", "--until", f"@{START + 3600}")
HOSTS = {"alpha": 40, "beta": 50}  # the name, and the first process id on it


def window(host, pid, at, samples, hz=49):
    return (f"window start={at} pid={pid} duration=10 samples={samples} frames=9 frequency_hz={hz} comm=java service=shop "
            f"container=shop host={host}\n\tjava;a.B.run_[j];a.B.of_{host}_[j] 1\n\tjava;a.B.run_[j];a.B.work_[j] {samples - 1}\n"
            f"window start={at} pid=0 duration=10 samples={samples} host={host}\ncommit\n")


@pytest.fixture
def stores(tmp_path):
    return [make_store(tmp_path / host, "".join(window(host, pid + i % 2, START + 10 * i, pid + i) for i in range(30)))
            for host, pid in HOSTS.items()]


def given(*stores):
    return [part for store in stores for part in ("--store", store)]


def dump(stores, *arguments):
    result = jbpf("dump", *RANGE, *given(*stores), *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


def counts(text):
    return collections.Counter({line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in text.splitlines()})


def test_the_profile_is_the_sum(stores):
    apart = sum((counts(dump([store])) for store in stores), collections.Counter())
    assert counts(dump(stores)) == apart
    assert counts(dump(stores[::-1])) == apart
    document = json.loads(dump(stores, "--format", "json"))
    assert document["samples"] == sum(apart.values())


@pytest.fixture
def stores_of_two_rates(tmp_path):
    return [make_store(tmp_path / f"{host}-{hz}", window(host, pid, START, hz, hz))
            for (host, pid), hz in zip(HOSTS.items(), (49, 99))]


WARNING = ("these samples were taken at several rates, 49 to 99 a second, and each counts the same: shares are of samples, not of CPU "
           "time; take one host with --host, or a time of one rate\n")
HEADER = "samples of several rates (49 to 99 Hz), each counts the same"


@pytest.mark.parametrize("form", ["folded", "top", "html", "svg", "json"])
def test_several_rates_are_told(stores_of_two_rates, form):
    for stores in (stores_of_two_rates, stores_of_two_rates[::-1]):
        result = jbpf("dump", *RANGE, *given(*stores), "--format", form)
        assert result.returncode == 0 and result.stderr.endswith(f": {WARNING}") and result.stderr.count("\n") == 1, result.stderr
        assert (HEADER in result.stdout) == (form != "folded"), result.stdout[:2000]


def test_several_rates_are_told_by_host_and_not_of_one(stores_of_two_rates):
    result = jbpf("dump", *RANGE, *given(*stores_of_two_rates), "--by", "host")
    assert WARNING in result.stderr
    for arguments in (("--host", "beta"), ("--list",)):
        result = jbpf("dump", *RANGE, *given(*stores_of_two_rates), *arguments)
        assert (result.returncode, result.stderr) == (0, "")
        assert HEADER not in result.stdout


@pytest.mark.parametrize("form", ["html", "svg", "top", "pprof", "speedscope", "otlp"])
def test_every_format_takes_several(stores, form, tmp_path):
    out = tmp_path / "out"
    dump(stores, "--format", form, "-o", out)
    assert out.stat().st_size
    one = tmp_path / "one"
    dump(stores[:1], "--format", form, "-o", one)
    assert out.read_bytes() != one.read_bytes()


def test_hosts_are_told_apart(stores):
    for host, store in zip(HOSTS, stores):
        assert dump(stores, "--host", host) == dump([store])
        part = [line.removeprefix(f"{host};") for line in dump(stores, "--by", "host").splitlines() if line.startswith(f"{host};")]
        assert part == dump([store]).splitlines()


def test_what_one_host_lost_or_ran_is_not_told_of_another(tmp_path):
    """The records of a host have no label but its name."""
    short = make_store(tmp_path / "alpha", "".join(window("alpha", 40, START + 10 * i, 40) for i in range(6)))
    long = make_store(tmp_path / "beta", "".join(
        window("beta", 50, START + 10 * i, 50).replace("pid=0", "pid=0 counts_full=7") for i in range(60)))
    for form in (["--list"], ["--list", "--format", "json"], ["--format", "json"]):
        assert dump([short, long], "--host", "alpha", *form) == dump([short], "--host", "alpha", *form)
    assert json.loads(dump([long], "--format", "json"))["lost_samples"] == 420


def test_list_has_a_row_for_each_host(stores):
    rows = [line.split() for line in dump(stores, "--list").splitlines()]
    assert rows[0][0] == "HOST"
    assert sorted(row[0] for row in rows[1:]) == sorted(HOSTS)
    cores = {row[0]: row[rows[0].index("CORES") + 1] for row in rows[1:]}  # "java +1" is two words
    for host, store in zip(HOSTS, stores):
        header, row = (line.split() for line in dump([store], "--list").splitlines())
        assert header[0] == "CONTAINER"
        assert row[header.index("CORES") + 1] == cores[host], "two hosts at the same time are no longer time"


def test_diff_takes_several(stores):
    sides = ("--before", f"@{START}..@{START + 150}", "--after", f"@{START + 150}..@{START + 300}")
    sums = collections.Counter()
    for store in stores:
        sums.update(side_samples(jbpf("diff", *sides, "--store", store, "--format", "json")))
    assert side_samples(jbpf("diff", *sides, *given(*stores), "--format", "json")) == sums


def test_hosts_are_compared_at_one_time(stores):
    samples = {host: json.loads(dump([store], "--format", "json"))["samples"] for host, store in zip(HOSTS, stores)}
    for before in ("alpha", "*", "[ab]*"):  # what is in both is after
        result = jbpf("diff", *RANGE, "--before-host", before, "--after-host", "beta", *given(*stores), "--format", "json")
        assert side_samples(result) == {"before": samples["alpha"], "after": samples["beta"]}
    result = jbpf("diff", *RANGE, "--before-host", "alpha", "--after-host", "beta", *given(*stores))
    assert "host alpha, " in result.stdout and "host beta, " in result.stdout
    result = jbpf("diff", *RANGE, "--before-host", "alpha", "--after-host", "gamma", *given(*stores))
    assert result.returncode == 3 and "host gamma" in result.stderr


def side_samples(result):
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    return {side: document[side]["samples"] for side in ("before", "after")}


def test_a_store_that_is_missing_is_told_and_is_no_success(stores, tmp_path):
    result = jbpf("dump", *RANGE, *given(stores[0], tmp_path / "nothing"))
    assert result.returncode == 1
    assert result.stdout == dump(stores[:1])
    assert f"there is no store in '{tmp_path}/nothing'" in result.stderr and "not complete" in result.stderr
    sides = ("--before", f"@{START}..@{START + 150}", "--after", f"@{START + 150}..@{START + 300}")
    result = jbpf("diff", *sides, *given(stores[0], tmp_path / "nothing"))
    assert (result.returncode, result.stdout) == (1, "")
    assert "nothing is compared" in result.stderr


def test_damage_says_in_which_store(stores):
    for store in stores:
        hour = next((store / "v1").rglob("*.zst"))
        hour.write_bytes(hour.read_bytes()[:-20])
    result = jbpf("dump", *RANGE, *given(*stores))
    for store in stores:
        assert f"skipped: {store}/v1/cpu/" in result.stderr


def test_a_store_that_is_given_twice_is_refused(stores, tmp_path):
    (tmp_path / "link").symlink_to(stores[0])
    result = jbpf("dump", *RANGE, *given(*stores, tmp_path / "link"))
    assert (result.returncode, result.stdout) == (1, "")
    assert "given twice" in result.stderr


def test_a_store_without_the_event_is_no_failure(stores):
    waits = window("alpha", 60, START, 9).replace(" pid=", " event=5 unit=1 period=100000000 pid=")
    make_store(stores[0], waits)
    result = jbpf("dump", *RANGE, *given(*stores), "--event", "off-cpu")
    assert result.returncode == 0
    assert f"the store in '{stores[1]}' has none of off-cpu" in result.stderr
    assert sum(counts(result.stdout).values()) == 9


def test_times_without_samples_name_those_of_all(stores):
    shutil.rmtree(stores[1])
    make_store(stores[1], window("beta", 50, START + 7200, 5))
    result = jbpf("dump", *given(*stores), "--since", f"@{START - 7200}", "--until", f"@{START - 3600}")
    assert result.returncode == 3
    assert "from 2023-11-14T22:20:00Z to 2023-11-15T00:20:10Z" in result.stderr
