# SPDX-License-Identifier: Apache-2.0
"""What systemd does with the unit, and others do with a group of processes: their signals reach every process of
jbpfd, not the first one alone."""
import os
import re
import signal

import pytest

from harness.programs import TOP, wait_until
from test_privileges import statuses_of_all

UNIT = TOP / "scripts" / "systemd" / "jbpfd.service"
SERVERS = {"jbpfd-launcher", "jbpfd-namer", "jbpfd-metrics"}


def test_a_stop_of_the_unit_asks_the_first_process_alone():
    """A namer that were ended with it could not name the last window."""
    assert "KillMode=mixed" in UNIT.read_text().splitlines()


def limit_of(path, name):
    """What a source file defines it as."""
    return int(re.search(rf"^#define {name}\s+(\d+)u\b", (TOP / path).read_text(), re.M)[1])


@pytest.mark.live
def test_the_unit_lets_it_have_all_processes_that_it_limits_itself(daemon, tmp_path):
    """Else those that hang over files of others would keep a new one from being started."""
    most = int(re.search(r"^TasksMax=(\d+)$", UNIT.read_text(), re.M)[1])
    one = daemon("--event", "cpu,off-cpu", "--metrics", f"unix:{tmp_path}/metrics.sock", window="1s").start().wait_ready()
    wait_until(lambda: "jbpfd-standby" in statuses_of_all(one.process.pid), 60, f"all are there; log: {one.log()}")
    usual = sum(int(status["Threads"]) for status in statuses_of_all(one.process.pid).values())
    others = sum(
        limit_of(path, name)
        for path, name in (
            ("user/sandbox/launcher.h", "LAUNCHER_MAX_HANGING"),
            ("user/sandbox/launcher.h", "LAUNCHER_MAX_HANGING_ATTACH"),
            ("user/files/opener.h", "OPENER_MAX_HANGING"),
            ("user/collect/naming/jvm_ask.h", "JVM_ASKS_MAX"),
        )
    )
    assert others + 2 * usual <= most, (others, usual)


def servers_of(one):
    """Their statuses by name once all are there, or None."""
    statuses = statuses_of_all(one.process.pid)
    return statuses if SERVERS <= set(statuses) else None


@pytest.mark.live
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_to_all_processes_ends_them_in_order(daemon, spinner, tmp_path, number):
    """As from systemd without that line, from a terminal, or from a container engine's kill."""
    process = spinner("native_spinner", 600, 40)
    one = daemon("--pid", process.pid, "--metrics", f"unix:{tmp_path}/metrics.sock", window="1s").start().wait_ready(60)
    one.wait_samples({process.pid: 20})
    statuses = wait_until(lambda: servers_of(one), 60, f"all servers are there; log: {one.log()}")
    for name in SERVERS:
        os.kill(int(statuses[name]["Pid"]), number)
    met = one.stored_until()
    wait_until(lambda: one.stored_until() > met + 2, 60, "windows are written by the same processes")
    after = wait_until(lambda: servers_of(one), 60, f"all servers are there; log: {one.log()}")
    assert {name: statuses[name]["Pid"] for name in SERVERS} == {name: after[name]["Pid"] for name in SERVERS}
    assert one.stop(number) == 0, one.log()
    assert "stopped by" in one.log() and "the last window is written" in one.log()
    assert "ended by" not in one.log() and "has ended" not in one.log(), one.log()
