# SPDX-License-Identifier: Apache-2.0
"""The bench does not rot: one scenario of it, as small as can be, with every program that is compared; its rows.
What the figures are is not asked here: other tests run at the same time."""
import json
import os
import sys

import pytest

from harness.programs import TOP, run

pytestmark = [pytest.mark.live, pytest.mark.released,
              pytest.mark.long("a load lives, or a window lasts, so many seconds by the clock")]

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


def test_every_program_is_measured(rows):
    cpu = figures(rows, "CPU, processes and BPF")
    assert set(cpu) == set(PROGRAMS)
    for program in PROGRAMS:
        assert cpu[program] is not None, f"{program} was not measured: {rows['rows']}"
        assert 0 <= cpu[program] <= 100 * os.cpu_count()


def test_memory_counts_more_than_the_maps_of_a_program(rows):
    memory = figures(rows, "memory: processes")
    # Stack map of the minimal profiler: 16384 of 127 words, 15.9 MiB, charged when it is made.
    assert memory["get_stackid profiler"] > 16
    assert memory["jbpfd"] > 1 and memory["perf record -g"] > 1


def test_bpf_programs_have_a_time_per_sample_and_perf_a_reason(rows):
    time = figures(rows, "in-kernel time per sample")
    assert 100 < time["jbpfd"] < 1e6 and 100 < time["get_stackid profiler"] < 1e6
    assert time["perf record -g"] is None
    assert any("no BPF program" in row.get("note", "") for row in rows["rows"])


def test_what_was_written_is_told_per_sample(rows):
    sizes = figures(rows, "bytes per sample on disk")
    assert sizes["jbpfd"] > 0 and sizes["get_stackid profiler"] > 0


def test_machine_and_seed_are_told(rows):
    assert {"kernel", "cpu", "cpus", "perf", "bpftrace", "jbpfd", "busy_before", "seed"} <= set(rows["about"])


def test_targets_are_judged(rows):
    cpu = next(row for row in rows["rows"] if row["figure"] == "CPU of jbpfd + BPF per 200 samples/s")
    assert cpu["target"] == "<= 0.2" and cpu["met"] is (cpu["value"] <= 0.2)
