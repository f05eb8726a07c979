# SPDX-License-Identifier: Apache-2.0
"""jbpf status of a jbpfd that is well and sees nothing, or little: no false alarm. No BPF, no containers."""
import json
import re
import time

import pytest

from harness.programs import jbpf
from harness.recent import demand_recent
from harness.state import make_state
from harness.store import make_store

EMPTY = "CONTAINER  PID  COMM  UNKNOWN%  CUT%  SAMPLES\nlost on this host: nothing\n"


def windows(ends, span=10, **samples_at):
    """Windows of the host that end at these times; with samples of one JVM where `samples_at` is given."""
    text = ""
    for end in ends:
        samples = samples_at.get(f"at_{end}", 0)
        times = f"start={end - span} duration={span}"
        if samples:
            text += f"window {times} pid=42 samples={samples} frames={samples} comm=java container=shop-1\n\tjava;x {samples}\n"
        text += f"window {times} samples={samples}\ncommit\n"
    return text


def status(store, *arguments):
    return jbpf("status", "--store", store, *arguments)


def idle_for_ten_minutes(now):
    first = now - 600
    return windows(range(first, now, 10), **{f"at_{first}": 7}), 10


def never_a_sample(now):
    return windows(range(now - 55, now, 10)), 10


@pytest.mark.parametrize("script_of", [idle_for_ten_minutes, never_a_sample])
def test_a_minute_of_windows_without_samples_is_empty_and_well(tmp_path, script_of):
    now = int(time.time())
    script, window_s = script_of(now)
    store = make_store(tmp_path / "store", script)
    make_state(store, window_s)
    table, check, data = status(store), status(store, "--check"), status(store, "--json")
    demand_recent(now)
    assert (table.returncode, table.stderr) == (0, "") and table.stdout.startswith(EMPTY), table
    assert (check.returncode, check.stdout, check.stderr) == (0, "well\n", ""), check
    assert (data.returncode, data.stderr) == (0, ""), data
    said = json.loads(data.stdout)
    assert (said["samples"], said["streams"], said["is_well"], said["host_problems"]) == (0, [], 1, []), said
    assert said["windows"] >= 3 and said["last_window_age_ms"] < 60_000, said


def test_a_long_window_is_no_silence(tmp_path):
    end = int(time.time()) - 200
    store = make_store(tmp_path / "store", windows([end - 600, end], 600, **{f"at_{end}": 7}))
    make_state(store, 600)
    table, check, data = status(store), status(store, "--check"), status(store, "--json")
    assert (table.returncode, table.stderr) == (0, ""), table
    assert "shop-1      42  java       0.0   0.0        7\n" in table.stdout, table
    assert (check.returncode, check.stderr) == (0, "") and check.stdout.startswith("well\n"), check
    assert (data.returncode, data.stderr) == (0, ""), data
    assert json.loads(data.stdout)["is_well"] == 1


def test_since_when_nothing_was_written_is_since_the_last_window_also_an_empty_one(tmp_path):
    end = int(time.time()) // 10 * 10 - 1000
    store = make_store(tmp_path / "store", windows([end - 300, end], **{f"at_{end - 300}": 7}))
    table, check = status(store), status(store, "--check")
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(end))
    assert table.returncode == 0 and table.stderr == f"jbpf-status: nothing was written since {when}: is jbpfd running?\n", table
    assert table.stdout == EMPTY, table
    assert check.returncode == 4 and re.match(r"jbpfd was stopped 1\d\d\d s ago\n", check.stdout), check


def test_a_store_without_a_window_is_told(tmp_path):
    store = make_store(tmp_path / "store", windows([int(time.time()) - 100]))
    for path in sorted(store.rglob("*"), reverse=True):
        if path.is_file() and path.suffix in (".seg", ".zst"):
            path.unlink()
    table = status(store)
    assert (table.returncode, table.stdout) == (3, "") and "has no windows; is jbpfd running?" in table.stderr, table
