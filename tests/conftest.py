# SPDX-License-Identifier: Apache-2.0
"""Marks of the tests that pytest runs, and what a report says of each failure.

A test without a mark cannot fail by chance: it works on files and options, and the gate runs it as nobody, without a
network, so that it cannot do more (`root` ones as root). `live` ones sample, attach, or run
containers, and wait for the very thing that they judge. `long` ones judge a share, a latency, a cost or a moment, which
a busy host can spoil: scripts/check leaves them to scripts/check --all."""
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "e2e"))

from harness.programs import Lacking, Waited  # noqa: E402

MARKS = {
    "live": "samples, attaches or runs containers; waits for what it judges",
    "long(reason)": "its verdict depends on the host, or takes minutes: not in the gate, and why",
    "root": "takes no sample, and yet needs root, or the network",
    "alone": "changes or measures the host itself: nothing runs beside it",
}


def pytest_configure(config):
    for name, meaning in MARKS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")


def pytest_collection_modifyitems(items):
    for item in items:
        for mark in item.iter_markers("long"):
            if len(mark.args) != 1 or not mark.args[0]:
                raise pytest.UsageError(f"{item.nodeid}: long() wants the reason")


def pytest_collection_finish(session):
    if os.geteuid() != 0 and any(item.get_closest_marker(mark) for item in session.items for mark in ("live", "root")):
        raise pytest.UsageError("tests that sample need root: sudo scripts/run-e2e-tests, or -m 'not live and not root'")


def cpu_pressure():
    """Per cent of the last minute in which something waited for a CPU (PSI)."""
    try:
        return Path("/proc/pressure/cpu").read_text().split("avg60=")[1].split()[0]
    except (OSError, IndexError):
        return "?"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Tells tests/tools/reports.py what did not come in time from what is wrong."""
    if call.when == "teardown":
        # pytest 7.2 writes those of the last phase into the JUnit file, and they are the item's.
        item.user_properties.append(("waited", "{:.0f} of {:.0f}".format(*Waited.take())))
    report = (yield).get_result()
    if report.failed:
        # What fails to end is wrong, not late.
        lacking = call.when != "teardown" and call.excinfo is not None and call.excinfo.errisinstance(Lacking)
        host = f"load {os.getloadavg()[0]:.1f}, CPU pressure {cpu_pressure()} %"
        item.user_properties += [("lacking", str(lacking).lower()), ("host", host)]
