# SPDX-License-Identifier: Apache-2.0
"""Time inside the window, from the kernel to jbpf-dump --format cells: every sample of a profile has
its cell, and a program that works in step with the clock shows it."""
import datetime
import re
import subprocess
import sys

import pytest

from harness.programs import jbpf, wait_until

pytestmark = pytest.mark.live

ENOUGH = 120  # samples; 3 seconds of the pulses where there is CPU to be had
CELL = 20  # milliseconds
# Works for the first 200 ms of each half second, and says when it was awake: from when it wanted to be until it slept.
# It says so when it is awake again: where the CPU is taken from it before it sleeps, nothing is left to be done then.
PULSES = """
import time
woke = time.time()
while True:
    while time.time() % 0.5 < 0.2:
        pass
    begin, slept = woke, time.time()
    time.sleep(0.5 - slept % 0.5)
    woke = slept - slept % 0.5 + 0.5
    print(round(begin * 1000), round(slept * 1000), flush=True)
"""


def cells_of(daemon, *selectors):
    """[(Unix ms, samples)] of jbpf-dump --format cells, and how many samples it left out."""
    return cells_in(daemon.dump_raw("--format", "cells", *selectors))


def cells_in(result):
    assert result.returncode == 0, result.stderr
    left_out = re.search(r"(\d+) of \d+ samples have no time and are left out", result.stderr)
    cells = []
    for line in result.stdout.splitlines():
        match = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})Z (\d+)", line)
        assert match, line
        moment = datetime.datetime.fromisoformat(match[1] + "+00:00")
        cells.append((round(moment.timestamp() * 1000), int(match[2])))
    return cells, int(left_out[1]) if left_out else 0


@pytest.fixture(scope="module")
def pulse(module_daemon):
    """A daemon's store of a load that burns for 200 ms of each half second; .pulse_pid, and when it did: .pulses."""
    daemon = module_daemon(window="2s").start().wait_ready()
    log = daemon.store.parent / "pulses"
    with log.open("w") as said:
        load = subprocess.Popen([sys.executable, "-c", PULSES], stdout=said)
    try:
        def enough():
            """Samples, and of so many pulses that some are left without the first and the last."""
            result = daemon.dump_raw("--pid", str(load.pid), "--format", "cells")
            if result.returncode:
                return False
            cells, _ = cells_in(result)
            return sum(count for _, count in cells) >= ENOUGH and len({time // 500 for time, _ in cells}) >= 4
        wait_until(enough, 60, "enough samples of the pulses")
    finally:
        load.kill()
        load.wait()
        code = daemon.stop()
    assert code == 0, daemon.log()
    daemon.pulse_pid = str(load.pid)
    daemon.pulses = [tuple(map(int, line.split())) for line in log.read_text().splitlines()]
    yield daemon


def test_the_cells_of_a_profile_add_up_to_its_samples(pulse):
    for selectors in ([], ["--pid", pulse.pulse_pid]):
        cells, left_out = cells_of(pulse, *selectors)
        # Where the daemon has to wait for the CPU for long, the log of moments is full.
        assert sum(count for _, count in cells) + left_out == pulse.dump(*selectors).total
        assert cells
        times = [time for time, _ in cells]
        assert times == sorted(set(times))
        assert all(time % 20 == 0 for time in times)


def test_work_in_step_with_the_clock_is_seen_in_its_cells(pulse):
    cells, _ = cells_of(pulse, "--pid", pulse.pulse_pid)
    begin, end = pulse.pulses[0][1], pulse.pulses[-1][1]  # before, it started; after, it was killed
    times = [time for time, _ in cells if begin <= time < end]
    # A cell more: it says when it slept before it does.
    asleep = [time for time in times if not any(woke - CELL <= time < slept + CELL for woke, slept in pulse.pulses)]
    assert not asleep, (asleep, pulse.pulses)
    assert len({time // 500 for time in times}) >= 2, (times, pulse.pulses)


def test_only_the_time_that_was_asked_for_comes_out(pulse):
    cells, _ = cells_of(pulse, "--pid", pulse.pulse_pid)
    middle = cells[len(cells) // 2][0]
    until = jbpf("dump", "--store", pulse.store, "--pid", pulse.pulse_pid, "--format", "cells",
                 "--since", f"@{cells[0][0] / 1000:.3f}", "--until", f"@{middle / 1000:.3f}")
    assert until.returncode == 0, until.stderr
    assert sum(int(line.split()[1]) for line in until.stdout.splitlines()) == \
        sum(count for time, count in cells if time < middle)
