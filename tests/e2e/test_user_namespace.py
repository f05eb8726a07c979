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


@pytest.mark.parametrize("user", ["12345:12345", "0:0"])
def test_java_in_a_user_namespace_is_named(remapped_engine, daemon, user):
    name = f"userns-{user.partition(':')[0]}"
    container = remapped_engine.start_ready(name, java("Shares", 600, 60), "TRUTH", user=user)
    with open(f"/proc/{container.pid}/uid_map") as uid_map:
        assert uid_map.read().split() != ["0", "0", "4294967295"], "no user namespace"
    profiler = daemon(window="3s").start().wait_ready()
    pid = container.pid
    wait_until(lambda: profiler.has("--pid", pid) and
               profiler.dump("--pid", pid).with_frame("Shares.seventy") >= 60, 40,
               "Java methods are named")
    assert container.running()
    assert "Full thread dump" not in container.logs()
    assert profiler.stop() == 0, profiler.log()
    # The name, or where it cannot be known (another data root), the id: never nothing.
    by_id = profiler.dump("--container", container.id[:12])
    assert by_id.total == profiler.dump("--pid", pid).total
    assert profiler.has("--container", container.name), profiler.list_text()


def test_check_is_not_misled_by_a_namespace_that_is_open_to_its_owner(remapped_engine):
    """Without CAP_SYS_PTRACE root still reads what runs in a user namespace that root made."""
    container = remapped_engine.start_ready("userns-check", java("Shares", 600, 60), "TRUTH")
    command = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", "sleep", "600"]
    with subprocess.Popen(command) as foreign:  # its pid comes after those in the container
        try:
            wait_until(lambda: os.stat(f"/proc/{foreign.pid}").st_uid == 12345, 30, "it is another user's")
            refused = run("setpriv", "--bounding-set=-sys_ptrace", BIN / "jbpfd", "--check").stdout
        finally:
            foreign.kill()
    assert re.search(r"^less +container roots", refused, re.M), refused
    container.remove()
