# SPDX-License-Identifier: Apache-2.0
"""One process whose frames have names that are none ends nothing, and hides nobody else."""
import os
import shutil
import subprocess

import pytest

from harness.programs import AIDS, wait_until

pytestmark = pytest.mark.live

SECONDS = 300


@pytest.fixture
def odd(readable_folder):
    program = shutil.copy(AIDS / "odd_frames", readable_folder)
    process = subprocess.Popen([program, str(SECONDS)], stdout=subprocess.PIPE, text=True, user=12345,
                               group=12345)
    assert process.stdout.readline() == "READY\n"
    yield process
    process.kill()
    process.wait()
    os.unlink(f"/tmp/perf-{process.pid}.map")


@pytest.fixture
def witness():
    process = subprocess.Popen([AIDS / "native_spinner", str(SECONDS), "30"])
    yield process
    process.kill()
    process.wait()


def test_empty_names_on_a_full_line_end_nothing(odd, witness, daemon):
    # The chain is one of frame pointers; unwind tables say where the program's own callers are.
    daemon = daemon("--unwind", "fp", "--pid", odd.pid, "--pid", witness.pid, window="1s").start().wait_ready()

    def both_are_recorded():
        assert daemon.process.poll() is None, f"jbpfd ended: {daemon.log()}"
        return daemon.has("--pid", odd.pid) and daemon.has("--pid", witness.pid) and \
            daemon.dump("--pid", odd.pid).with_frame("[unknown jit]") >= 10 and \
            daemon.dump("--pid", witness.pid).with_frame("burn_seventy") >= 10
    wait_until(both_are_recorded, 60, "both are in the store, the one with its chain, the witness with its names")
    assert daemon.stop() == 0
