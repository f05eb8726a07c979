# SPDX-License-Identifier: Apache-2.0
"""A program runs from a file system whose server stops answering (FUSE here, NFS elsewhere): whoever asks
for its file then hangs until SIGKILL. jbpfd must not. Alone: what hangs is there for every jbpfd of the host."""
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.programs import AIDS, PATIENCE, wait_cpu, wait_until

SERVER = Path(__file__).parent / "harness" / "fuse_server.py"


@pytest.fixture
def fuse(tmp_path):
    """A process that runs native_spinner from a FUSE file system, and that file system's server."""
    folder = tmp_path / "fuse"
    folder.mkdir()
    server = subprocess.Popen([sys.executable, SERVER, AIDS / "native_spinner", folder],
                              stdout=subprocess.PIPE, text=True)
    program = None
    try:
        assert server.stdout.readline() == "mounted\n", "no FUSE file system"
        program = subprocess.Popen([folder / "program", "600"], stdout=subprocess.DEVNULL)
        yield server, program
    finally:
        server.kill()
        server.wait()
        if program:
            program.kill()
            program.wait()
        subprocess.run(["umount", "-l", folder], check=False)


@pytest.mark.alone
def test_file_server_that_hangs_costs_names_and_nothing_else(fuse, daemon, spinner):
    server, program = fuse
    other = spinner("native_spinner", 600)
    wait_cpu([program.pid], 0.2)
    before = daemon(window="1s", name="before").start().wait_ready()
    before.wait_samples({program.pid: 20})
    assert before.stop() == 0, before.log()
    assert before.dump("--pid", program.pid).with_frame("burn_seventy") > 0, "its file can be read while the server answers"

    server.send_signal(signal.SIGUSR1)
    profiler = daemon(window="1s", name="after").start().wait_ready()
    profiler.wait_samples({program.pid: 30, other.pid: 30}, seconds=60)
    wait_until(lambda: profiler.dump("--pid", other.pid).with_frame("burn_seventy") >= 15, 60, "the other one has names")
    wait_until(lambda: "does not answer" in profiler.log(), 30, "the log says so")
    assert profiler.dump("--pid", program.pid).with_frame("burn_seventy") == 0
    # Once a minute is asked again, not at every look.
    assert profiler.log().count("does not answer") <= 2, profiler.log()

    # What FUSE's server has in its hands ends by no signal, not even SIGKILL: the process stays until the
    # server ends, but another jbpfd can take over at once.
    profiler.process.terminate()
    wait_until(lambda: "the last window is written" in profiler.log(), 30, "it ends")
    heir = daemon(window="1s", name="after").start()
    # Both write into one log.
    wait_until(lambda: heir.log().count(" samples at ") >= 2, 30, "the next one samples")
    heir.wait_samples({other.pid: 60}, seconds=60)
    server.kill()
    assert profiler.process.wait(60 * PATIENCE) == 0
    assert heir.stop() == 0, heir.log()
