# SPDX-License-Identifier: Apache-2.0
"""What the bench makes of what it measured: its arithmetic."""
import math
import sys

import pytest

from harness.programs import TOP, run

BENCH = TOP / "tests" / "bench"


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
