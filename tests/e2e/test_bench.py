# SPDX-License-Identifier: Apache-2.0
"""The bench does not rot: one scenario of it, as small as can be, with every program that is compared; its rows and
its arithmetic. What the figures are is not asked here: other tests run at the same time."""
import json
import math
import os
import sys

import pytest

from harness.programs import TOP, run

BENCH = TOP / "tests" / "bench"
PROGRAMS = ("jbpfd", "perf record -g", "get_stackid profiler", "bpftrace")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The rows of one turn of each program, a second long."""
    path = tmp_path_factory.mktemp("bench") / "rows.json"
    result = run(sys.executable, BENCH / "run", "--quick", "--seconds", "1", "--only", "overhead", "--json", path,
                 timeout=900)
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads(path.read_text())


def figures(rows, begin):
    """program -> value of the rows whose figure begins so."""
    return {row["figure"].rsplit(": ", 1)[1]: row["value"] for row in rows["rows"] if row["figure"].startswith(begin)}


@pytest.mark.live
@pytest.mark.long("a load lives, or a window lasts, so many seconds by the clock")
def test_every_program_is_measured(rows):
    cpu = figures(rows, "CPU, processes and BPF")
    assert set(cpu) == set(PROGRAMS)
    for program in PROGRAMS:
        assert cpu[program] is not None, f"{program} was not measured: {rows['rows']}"
        assert 0 <= cpu[program] <= 100 * os.cpu_count()


@pytest.mark.live
@pytest.mark.long("a load lives, or a window lasts, so many seconds by the clock")
def test_memory_counts_more_than_the_maps_of_a_program(rows):
    memory = figures(rows, "memory: processes")
    # Stack map of the minimal profiler: 16384 of 127 words, 15.9 MiB, charged when it is made.
    assert memory["get_stackid profiler"] > 16
    assert memory["jbpfd"] > 1 and memory["perf record -g"] > 1


@pytest.mark.live
@pytest.mark.long("a load lives, or a window lasts, so many seconds by the clock")
def test_bpf_programs_have_a_time_per_sample_and_perf_a_reason(rows):
    time = figures(rows, "in-kernel time per sample")
    assert 100 < time["jbpfd"] < 1e6 and 100 < time["get_stackid profiler"] < 1e6
    assert time["perf record -g"] is None
    assert any("no BPF program" in row.get("note", "") for row in rows["rows"])


@pytest.mark.live
@pytest.mark.long("a load lives, or a window lasts, so many seconds by the clock")
def test_what_was_written_is_told_per_sample(rows):
    sizes = figures(rows, "bytes per sample on disk")
    assert sizes["jbpfd"] > 0 and sizes["get_stackid profiler"] > 0


@pytest.mark.live
@pytest.mark.long("a load lives, or a window lasts, so many seconds by the clock")
def test_machine_and_seed_are_told(rows):
    assert {"kernel", "cpu", "cpus", "perf", "bpftrace", "jbpfd", "busy_before", "seed"} <= set(rows["about"])


@pytest.mark.live
@pytest.mark.long("a load lives, or a window lasts, so many seconds by the clock")
def test_targets_are_judged(rows):
    cpu = next(row for row in rows["rows"] if row["figure"] == "CPU of jbpfd + BPF per 200 samples/s")
    assert cpu["target"] == "<= 0.2" and cpu["met"] is (cpu["value"] <= 0.2)


def test_unknown_part_is_refused():
    result = run(sys.executable, BENCH / "run", "--only", "nonsense")
    assert result.returncode == 2 and "there is no part 'nonsense'" in result.stderr


@pytest.fixture
def report(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    import report as module  # pylint: disable=import-outside-toplevel
    return module


def test_ratio_says_who_lost(report, capsys):
    sheet = report.Report()
    sheet.beside("cost", "ns", {"jbpfd": [1.0, 3.0, 2.0], "slow": [4.0], "fast": [1.0], "absent": "is not installed"})
    by_name = {row["figure"]: row for row in sheet.rows}
    assert by_name["cost: jbpfd"]["value"] == 2.0 and by_name["cost: jbpfd"]["least"] == 1.0
    assert by_name["cost: slow"]["ratio"] == 0.5 and not by_name["cost: slow"]["lost"]
    assert by_name["cost: fast"]["ratio"] == 2.0 and by_name["cost: fast"]["lost"]
    assert by_name["cost: absent"]["value"] is None and by_name["cost: absent"]["note"] == "is not installed"
    assert "LOST" in capsys.readouterr().out


@pytest.mark.parametrize("values, mean, margin", [
    ([1.0, 2.0, 3.0], 2.0, 4.30 * 1.0 / math.sqrt(3)),
    ([5.0, 5.0], 5.0, 0.0),
    ([7.0], 7.0, math.inf),
])
def test_interval_is_students(report, values, mean, margin):
    found_mean, found_margin = report.mean_and_margin(values)
    assert found_mean == pytest.approx(mean) and found_margin == pytest.approx(margin)


def test_a_program_loses_what_one_fault_of_a_period_takes_more_than_the_slowest_does_anyway(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    import part_events  # pylint: disable=import-outside-toplevel
    without, sampled = [(1000, 500), (2000, 500)], [(1100, 6900), (1900, 500)]
    assert part_events.lost_by_sampling(without, sampled) == [(6400, 10.0), (0, 0.0)]
