# SPDX-License-Identifier: Apache-2.0
"""Hosts of one service compared at one time: what hosts differ by is no change, what one host has alone is found.
No containers."""
import json
import random

import pytest

from harness.programs import jbpf
from harness.store import make_store

START = 1700000400  # 2023-11-14T22:20:00Z
MINUTES = 16
RANGE = ("--since", f"@{START}", "--until", f"@{START + 60 * MINUTES}", "--service", "shop")
METHODS = 30


def fleet(folder, hosts, factor, rates=(99,)):
    """Stores of hosts web-0, ..., of which the last one needs `factor` times as much for one method; `rates` take turns."""
    rng = random.Random(5)
    stores = []
    for host in range(hosts):
        lean = [rng.gauss(1, 0.01) for _ in range(METHODS)]
        text = ""
        hz = rates[host % len(rates)]
        for minute in range(MINUTES):
            counts = [max(1, round(hz / 99 * lean[m] * (400 + rng.gauss(0, 20)) * (factor if host == hosts - 1 and m == 7 else 1))) for m in range(METHODS)]
            lines = "".join(f"\tjava;a.B.run_[j];a.B.m{m}_[j] {count}\n" for m, count in sorted(enumerate(counts), key=lambda x: f"m{x[0]}_"))
            text += (f"window start={START + 60 * minute} pid={40 + host} duration=60 samples={sum(counts)} frames={3 * sum(counts)} frequency_hz={hz} "
                     f"comm=java service=shop host=web-{host}\n{lines}"
                     f"window start={START + 60 * minute} pid=0 duration=60 samples={sum(counts)} frequency_hz={hz} host=web-{host}\ncommit\n")
        stores += ["--store", make_store(folder / f"web-{host}", text)]
    return stores


@pytest.fixture(scope="module")
def slow_fleet(tmp_path_factory):
    return fleet(tmp_path_factory.mktemp("slow"), 8, 1.3)


@pytest.fixture(scope="module")
def quiet_fleet(tmp_path_factory):
    return fleet(tmp_path_factory.mktemp("quiet"), 8, 1)


@pytest.fixture(scope="module")
def slow_fleet_of_two_rates(tmp_path_factory):
    return fleet(tmp_path_factory.mktemp("rates"), 8, 1.3, rates=(99, 49))


def canary(stores, *arguments):
    return jbpf("diff", *RANGE, *stores, "--before-host", "*", "--after-host", "web-7", "--fail-on", "slower", *arguments)


def test_one_host_is_found_without_earlier_days(slow_fleet):
    result = canary(slow_fleet)
    assert result.returncode == 4, result.stdout + result.stderr
    assert "by what 7 hosts differ from each other" in result.stdout
    assert [line for line in result.stderr.splitlines() if "slower: " in line and "a.B.m7" in line]
    document = json.loads(canary(slow_fleet, "--format", "json").stdout)
    assert document["summary"]["calibration"] == "hosts"
    assert document["summary"]["is_paired"] is True


def test_hosts_that_run_the_same_raise_no_alarm(quiet_fleet):
    result = canary(quiet_fleet)
    assert (result.returncode, result.stderr) == (0, ""), result.stdout
    assert "by what 7 hosts differ from each other" in result.stdout


def test_few_hosts_say_nothing_of_what_hosts_differ_by(quiet_fleet):
    result = jbpf("diff", *RANGE, *quiet_fleet, "--before-host", "web-[012]", "--after-host", "web-7")
    assert result.returncode == 0
    assert "calibrated from this pair only" in result.stdout


def outliers(stores, *arguments):
    return jbpf("diff", *RANGE, *stores, "--outlier-hosts", *arguments)


def test_the_host_that_differs_is_named_with_its_method(slow_fleet, tmp_path):
    result = outliers(slow_fleet, "--fail-on", "slower")
    assert (result.returncode, result.stderr) == (4, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("web-7: a.B.m7 +") and "1 of 8 hosts differs from" in lines[-1] and len(lines) == 2, lines
    assert outliers(slow_fleet).returncode == 0
    assert outliers(slow_fleet, "-o", tmp_path / "out").stdout == "" and (tmp_path / "out").read_text() == result.stdout


def test_no_host_is_named_when_none_differs(quiet_fleet):
    result = outliers(quiet_fleet, "--fail-on", "slower")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("none of 8 hosts differs from the others; ") and len(result.stdout.splitlines()) == 1


def backwards(stores):
    return [part for store in stores[1::2][::-1] for part in ("--store", store)]


@pytest.mark.parametrize("arguments", [("--outlier-hosts",), ("--before-host", "*", "--after-host", "web-7")])
def test_hosts_of_two_rates_are_compared_in_any_order(slow_fleet_of_two_rates, arguments):
    results = [jbpf("diff", *RANGE, *stores, *arguments, "--fail-on", "slower")
               for stores in (slow_fleet_of_two_rates, backwards(slow_fleet_of_two_rates))]
    assert [it.returncode for it in results] == [4, 4], results[0].stdout + results[0].stderr
    assert "a.B.m7" in results[0].stdout
    assert results[0].stdout == results[1].stdout


def test_a_rate_that_changes_within_a_block_changes_nothing(tmp_path):
    rng = random.Random(6)
    text = ""
    for minute in range(120):
        hz = 49 if minute % 3 else 99
        counts = [round(hz / 99 * (400 + rng.gauss(0, 20))) for _ in range(METHODS)]
        lines = "".join(f"\tjava;a.B.run_[j];a.B.m{m}_[j] {count}\n" for m, count in sorted(enumerate(counts), key=lambda x: f"m{x[0]}_"))
        text += (f"window start={START + 60 * minute} pid=7 duration=60 samples={sum(counts)} frequency_hz={hz} comm=java "
                 f"service=shop\n{lines}window start={START + 60 * minute} pid=0 duration=60 samples={sum(counts)} frequency_hz={hz}\ncommit\n")
    result = jbpf("diff", "--store", make_store(tmp_path / "store", text), "--service", "shop", "--before", f"@{START}..@{START + 3600}",
                  "--after", f"@{START + 3600}..@{START + 7200}", "--format", "json")
    document = json.loads(result.stdout)
    assert [note for note in document["notes"] if "left out" in note] == []
    cores = METHODS * 400 / 99 / 60
    for side in ("before", "after"):
        assert document["summary"][f"cores_{side}"] == pytest.approx(cores, rel=0.01)
    assert {row["verdict"] for row in document["rows"]} <= {"same", "unresolved"}


def test_too_few_hosts_are_told(quiet_fleet):
    result = outliers(quiet_fleet, "--host", "web-[01]")
    assert (result.returncode, result.stdout) == (1, "")
    assert "2 hosts have samples" in result.stderr
    assert outliers(quiet_fleet, "--host", "db-*").returncode == 3
