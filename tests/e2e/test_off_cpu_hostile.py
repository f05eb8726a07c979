# SPDX-License-Identifier: Apache-2.0
"""Programs that make it hard to look at all threads ten times a second, each under one daemon and beside a witness
whose waits must go on being seen, with their stacks. What keeps a reader of memory waiting is in test_off_cpu.py, too."""
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.programs import AIDS, BIN, run, wait_until

pytestmark = pytest.mark.live

SERVER = Path(__file__).parent / "harness" / "fuse_server.py"
SECONDS = 900  # longer than any test
MANY = 10000
ENOUGH = 5


class Scene:
    def __init__(self, module_daemon):
        self.daemon = module_daemon("--event", "cpu,off-cpu", window="2s", name="waits").start().wait_ready()
        self.witness = self.program("waiter", "flips", "2")
        self.assert_goes_on(self.daemon.started)

    @staticmethod
    def program(name, *arguments, env=None):
        """One of the test's own, once it is at it."""
        started = subprocess.Popen([AIDS / name, *map(str, arguments)], stdout=subprocess.PIPE, text=True, env=env)
        assert started.stdout.readline() == "READY\n", name
        return started

    def seen(self, pid, frame, since, *options):
        """Samples of waiting there since then."""
        result = run(BIN / "jbpf", "dump", "--store", self.daemon.store, "--since", f"@{since:.3f}", "--event", "off-cpu",
                     "--pid", pid, *options)
        return sum(int(line.rpartition(" ")[2]) for line in result.stdout.splitlines()
                   if frame in line.rpartition(" ")[0].split(";"))

    def assert_goes_on(self, since):
        wait_until(lambda: self.seen(self.witness.pid, "thread_flips", since) >= ENOUGH, 120,
                   lambda: f"the witness is seen to wait, and where: {self.daemon.log()[-2000:]}")

    def end(self):
        self.witness.kill()
        self.witness.wait()


@pytest.fixture(scope="module")
def scene(module_daemon):
    scene = Scene(module_daemon)
    yield scene
    scene.end()


@pytest.fixture
def attacker(scene):
    """Starts a program that ends with the test."""
    started = []

    def start(name, *arguments, **options):
        started.append(scene.program(name, *arguments, **options))
        return started[-1]
    yield start
    for one in started:
        one.kill()
        one.wait()


def test_ten_thousand_threads(scene, attacker):
    """All of them are met, and have their stacks in the end."""
    began = time.time()
    program = attacker("waiter", "threads", MANY)
    wait_until(lambda: scene.seen(program.pid, "thread_waits", began, "--idle") >= MANY, 300,
               lambda: f"each thread has a sample: {scene.seen(program.pid, 'thread_waits', began, '--idle')}")
    scene.assert_goes_on(time.time())


def test_threads_that_change_state_all_the_time(scene, attacker):
    """No visit finds one as the last one left it: all want a walk, each time."""
    began = time.time()
    program = attacker("waiter", "flips", "100")
    wait_until(lambda: scene.seen(program.pid, "thread_flips", began) >= ENOUGH, 120, "they are seen to wait, and where")
    scene.assert_goes_on(began)


@pytest.mark.long("20 s: the same fork bomb is beside the witnesses of test_hostile_processes.py")
def test_processes_without_end(scene, engine):
    began = time.time()
    container = engine.start_ready("bomb", ["/app/hostile_process", "bomb", str(SECONDS)], "READY",
                                   options=["--pids-limit", "300"])
    scene.assert_goes_on(began)
    scene.assert_goes_on(time.time())
    assert container.running()
    container.remove()


@pytest.fixture
def served(tmp_path):
    """A FUSE file and its server, which ends before the programs that have the file: their end waits for an answer."""
    folder = tmp_path / "fuse"
    folder.mkdir()
    server = subprocess.Popen([sys.executable, SERVER, AIDS / "waiter", folder], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout.readline() == "mounted\n", "no FUSE file system"
        yield folder / "program", server
    finally:
        server.kill()
        server.wait()
        subprocess.run(["umount", "-l", folder], check=False)


def assert_nobody_waited(scene, program):
    assert f"the memory of process {program.pid} cannot be read" not in scene.daemon.log()


def test_stack_on_a_file_whose_server_never_answers(scene, attacker, served):
    path, server = served
    program = attacker("waiter", "file", path)
    server.send_signal(signal.SIGUSR1)
    assert server.stdout.readline() == "hangs\n"
    began = time.time()
    # It is counted, but nobody touches that memory.
    wait_until(lambda: scene.seen(program.pid, "pause_[k]", began, "--idle") >= ENOUGH, 120, "it is seen to wait")
    scene.assert_goes_on(began)
    assert_nobody_waited(scene, program)


@pytest.mark.parametrize("what", ["edge", "frame"])
def test_memory_that_ends_before_such_a_file(scene, attacker, served, what):
    """What is read there begins in memory of no file, and would end in the file."""
    path, server = served
    server.send_signal(signal.SIGHUP)
    program = attacker("waiter", what, path)
    began = time.time()
    wait_until(lambda: scene.seen(program.pid, "pause_[k]", began, "--idle") >= ENOUGH, 120, "it is seen to wait")
    scene.assert_goes_on(began)
    assert_nobody_waited(scene, program)


def test_such_a_file_in_the_middle_of_an_environment(scene, attacker, served):
    path, server = served
    server.send_signal(signal.SIGHUP)
    program = attacker("waiter", "environment", path, env={"FILL": "x" * 16000})
    began = time.time()
    scene.assert_goes_on(began)
    scene.assert_goes_on(time.time())
    assert_nobody_waited(scene, program)


def test_nothing_is_lost_silently(scene):
    """After all that: whatever was counted is in the store."""
    scene.assert_goes_on(time.time())
    assert scene.daemon.stop() == 0, scene.daemon.log()[-2000:]
    whole = scene.daemon.dump("--event", "off-cpu", "--idle").total
    listed = sum(one["samples"] for one in scene.daemon.list_json("--event", "off-cpu"))
    assert whole == listed > 0, (whole, listed)
    assert run(BIN / "jbpf", "store", "check", "--store", scene.daemon.store).returncode == 0
