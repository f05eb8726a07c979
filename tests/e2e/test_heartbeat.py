# SPDX-License-Identifier: Apache-2.0
"""What watchdog and probes judge: that samples are taken and named, not that windows reach the disk; and what is
told of naming that is dead."""
import contextlib
import os
import re
import signal
import socket
from pathlib import Path

import pytest

from harness.programs import BIN, jbpf, run, wait_until


@pytest.fixture
def address():
    path = Path(f"/tmp/jbpf-heartbeat-{os.getpid()}.sock")
    yield f"unix:{path}"
    path.unlink(missing_ok=True)


def probe(what, address):
    return run(BIN / "jbpfd", "--probe", what, "--metrics", address)


def metric(address, name):
    """None: it cannot be had just now."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(30)
        connection.connect(address.removeprefix("unix:"))
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        text = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
        found = re.search(rf"^{name} (\S+)$", text, re.M)
        return float(found[1]) if found else None
    return None


def fill(folder):
    with contextlib.suppress(OSError), open(folder / "ballast", "ab", buffering=0) as ballast:
        while True:
            ballast.write(b"x" * 4096)


@pytest.mark.live
def test_a_full_disk_restarts_nothing(daemon, tmp_path, address):
    """Nothing can be written any more, and the service manager and the probes hear that jbpfd lives."""
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(tmp_path / "notify"))
    store = tmp_path / "tiny"
    store.mkdir()
    assert run("mount", "-t", "tmpfs", "-o", "size=64k,mode=0755", "none", store).returncode == 0
    try:
        one = daemon("--metrics", address, window="1s", name="tiny",
                     wrapper=["env", f"NOTIFY_SOCKET={tmp_path}/notify", "WATCHDOG_USEC=120000000"]).start().wait_ready()

        def fails():
            fill(store)
            return (metric(address, "jbpf_windows_failed_total") or 0) >= 5
        wait_until(fails, 120, "windows are lost for want of room")
        manager.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while manager.recv(4096):
                pass
        manager.settimeout(120)
        assert [manager.recv(4096) for _ in range(3)] == [b"WATCHDOG=1"] * 3
        # Of a busy host a window may be late, which is told by another one.
        for what in ("live", "ready"):
            wait_until(lambda: probe(what, address).returncode == 0, 60, f"it is {what}")
        assert one.process.poll() is None, one.log()

        def is_said():
            text = (store / "state").read_text()  # perhaps while it is written
            found = re.search(r"^jbpf_windows_failed_total (\d+)$", text, re.M)
            return found and int(found[1]) >= 5
        wait_until(is_said, 60, "its state says so beside the profiles, where no other file has room")
    finally:
        manager.close()
        daemon.stop()
        run("umount", store)


def namers(one):
    """Processes that name, or would go on when these are gone."""
    found, parents = [], [one.process.pid]
    for parent in parents:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{parent}/task"):
                parents += map(int, Path(f"/proc/{parent}/task/{thread}/children").read_text().split())
    for pid in parents:
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text().strip() in ("jbpfd-namer", "jbpfd-standby"):
                found.append(pid)
    return found


def send_all(one, number):
    for pid in namers(one):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


@pytest.mark.live
def test_naming_that_is_dead_is_told_until_it_goes_on(daemon, spinner, address):
    """Whoever names is stopped, and each that takes its place: that is no hanging, and nobody answers."""
    spinner("native_spinner", 600, 20)
    one = daemon("--metrics", address, window="1s").start().wait_ready()

    def check():
        return jbpf("status", "--check", "--store", one.store)

    def has_died():
        send_all(one, signal.SIGSTOP)
        result = check()
        return result.returncode == 4 and "naming is dead, nothing was named for" in result.stdout
    try:
        wait_until(lambda: probe("ready", address).returncode == 0, 60, "it samples and names")
        assert "naming" not in check().stdout
        wait_until(has_died, 120, "status says that naming is dead")

        def is_told():
            send_all(one, signal.SIGSTOP)
            ready = probe("ready", address)
            return ready.returncode == 1 and "naming is dead" in ready.stdout and \
                (metric(address, "jbpf_naming_silent_seconds") or 0) > 3
        wait_until(is_told, 120, "probe and metrics say so, too")
        # No restart would be asked for: not so soon.
        wait_until(lambda: probe("live", address).returncode == 0, 60, "it is alive all the same")
    finally:
        send_all(one, signal.SIGCONT)
    wait_until(lambda: "naming" not in check().stdout and probe("ready", address).returncode == 0, 120, "naming goes on")
    wait_until(lambda: metric(address, "jbpf_naming_silent_seconds") == 0, 60, "the metric says so")
    assert one.stop() == 0, one.log()
