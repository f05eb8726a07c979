# SPDX-License-Identifier: Apache-2.0
"""Marks of the tests that pytest runs, and what a report says of each failure.

A test without a mark cannot fail by chance: it works on files and options, and the gate runs it as nobody, without a
network, so that it cannot do more (`root` ones as root). `live` ones sample, attach, or run
containers, and wait for the very thing that they judge. `long` ones judge a share, a latency, a cost or a moment, which
a busy host can spoil: scripts/check leaves them to scripts/check --all. `released` ones are not run under sanitizers."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "e2e"))

from harness.hostile import SANITIZED  # noqa: E402
from harness.neighbours import CGROUP_ROOTS, Cgroup  # noqa: E402
from harness.programs import Lacking, Waited  # noqa: E402

# What ended a test that waited in vain: for a condition, an answer, the end of a program.
NOT_IN_TIME = (Lacking, TimeoutError, subprocess.TimeoutExpired)
WEIGHT_OF_TESTS = 200  # per cent, of all workers beside all containers
MARKS = {
    "live": "samples, attaches or runs containers; waits for what it judges",
    "long(reason)": "its verdict depends on the host, or takes minutes: not in the gate, and why",
    "released": "judges how much, or how soon, which sanitizers multiply: only what is shipped is judged",
    "root": "takes no sample, and yet needs root, or the network",
    "alone": "changes or measures the host itself: no other test that needs root runs beside it",
}


def pytest_configure(config):
    for name, meaning in MARKS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")


def pytest_collection_modifyitems(config, items):
    for item in items:
        for mark in item.iter_markers("long"):
            if len(mark.args) != 1 or not mark.args[0]:
                raise pytest.UsageError(f"{item.nodeid}: long() wants the reason")
        if item.get_closest_marker("alone") and not (item.get_closest_marker("live") or item.get_closest_marker("root")):
            raise pytest.UsageError(f"{item.nodeid}: alone goes with live or root: tests that nobody runs are never alone")
    if SANITIZED:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("released")])
        items[:] = [item for item in items if not item.get_closest_marker("released")]


def pytest_collection_finish(session):
    if os.geteuid() != 0 and any(item.get_closest_marker(mark) for item in session.items for mark in ("live", "root")):
        raise pytest.UsageError("tests that sample need root: sudo scripts/run-e2e-tests, or -m 'not live and not root'")


def cpu_pressure():
    """Per cent of the last minute in which something waited for a CPU (PSI)."""
    try:
        return Path("/proc/pressure/cpu").read_text().split("avg60=")[1].split()[0]
    except (OSError, IndexError):
        return "?"


@pytest.fixture(scope="session", autouse=True)
def cgroup_of_this_worker():
    """What jbpfd may spend it gives to each cgroup: hostile files of tests beside these, and a build on the same
    machine, are not on the account of the programs that tests of this worker start. And a hundred busy threads of
    tests beside these do not take the CPUs from them."""
    if not CGROUP_ROOTS or os.geteuid() != 0:
        yield
        return
    cgroup = Cgroup(f"jbpf-tests/worker-{os.getpid()}", weight=WEIGHT_OF_TESTS)
    left = cgroup.take_in(os.getpid())
    yield
    for folder in left:
        (folder / "cgroup.procs").write_text(str(os.getpid()))
    cgroup.end()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Tells tests/tools/reports.py what did not come in time from what is wrong."""
    if call.when == "teardown":
        # pytest 7.2 writes those of the last phase into the JUnit file, and they are the item's.
        item.user_properties.append(("waited", "{:.0f} of {:.0f}".format(*Waited.take())))
    report = (yield).get_result()
    if report.failed:
        # What fails to end is wrong, not late.
        lacking = call.when != "teardown" and call.excinfo is not None and call.excinfo.errisinstance(NOT_IN_TIME)
        host = f"load {os.getloadavg()[0]:.1f}, CPU pressure {cpu_pressure()} %"
        item.user_properties += [("lacking", str(lacking).lower()), ("host", host)]
