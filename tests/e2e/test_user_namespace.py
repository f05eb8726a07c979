# SPDX-License-Identifier: Apache-2.0
"""A JVM in a container whose user ids are remapped (dockerd --userns-remap), by a second engine
with another data root."""

import os
import re
import subprocess

import pytest

from harness.containers import java
from harness.programs import BIN, run, wait_until

pytestmark = pytest.mark.live


USERS = ["12345:12345", "0:0"]


@pytest.fixture(scope="module")
def profiled(module_remapped_engine, module_daemon):
    """A JVM of each user, and a daemon that came later and has ended."""
    containers = {user: module_remapped_engine.start_ready(f"userns-{user.partition(':')[0]}", java("Shares", 600, 60),
                                                           "TRUTH", user=user) for user in USERS}
    pids = {user: container.pid for user, container in containers.items()}
    daemon = module_daemon(*(option for pid in pids.values() for option in ("--pid", pid)), window="1s").start().wait_ready()
    daemon.pids = pids
    for user, pid in pids.items():
        with open(f"/proc/{pid}/uid_map") as uid_map:
            assert uid_map.read().split() != ["0", "0", "4294967295"], "no user namespace"
        wait_until(lambda: daemon.has("--pid", pid) and daemon.dump("--pid", pid).with_frame("Shares.seventy") >= 60, 40,
                   f"Java methods of {user} are named")
        assert containers[user].running()
        assert "Full thread dump" not in containers[user].logs()
    assert daemon.stop() == 0, daemon.log()
    yield daemon, containers
    for container in containers.values():
        container.remove()


@pytest.mark.parametrize("user", USERS)
def test_java_in_a_user_namespace_is_named(profiled, user):
    daemon, containers = profiled
    # The name, or where it cannot be known (another data root), the id: never nothing.
    by_id = daemon.dump("--container", containers[user].id[:12])
    assert by_id.total == daemon.dump("--pid", daemon.pids[user]).total
    assert daemon.has("--container", containers[user].name), daemon.list_text()


def test_check_is_not_misled_by_a_namespace_that_is_open_to_its_owner(module_remapped_engine):
    """Without CAP_SYS_PTRACE root still reads what runs in a user namespace that root made."""
    container = module_remapped_engine.start_ready("userns-check", java("Shares", 600, 60), "TRUTH")
    command = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", "sleep", "600"]
    with subprocess.Popen(command) as foreign:  # its pid comes after those in the container
        try:
            wait_until(lambda: os.stat(f"/proc/{foreign.pid}").st_uid == 12345, 30, "it is another user's")
            refused = run("setpriv", "--bounding-set=-sys_ptrace", BIN / "jbpfd", "--check").stdout
        finally:
            foreign.kill()
    assert re.search(r"^less +container roots", refused, re.M), refused
    container.remove()
