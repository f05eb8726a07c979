# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the end-to-end tests. They need root, a Docker engine and the test image; the
runner (scripts/run-e2e-tests) provides both. What is missing fails a test, it skips none."""
import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness.containers import Engine
from harness.daemon import Daemon
from harness.programs import AIDS, IMAGE, IMAGES, JAVA_SOURCES, PATIENCE, TOP, Lacking, end_all, run, wait_until


@pytest.fixture(scope="module")
def browser():
    from harness.browser import Browser  # of files that have no page selenium need not be there
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def long_tests_too(request):
    """Whether tests of this file that judge figures are to run: then there must be samples enough for them."""
    return any(item.get_closest_marker("long") for item in request.session.items if item.path == request.path)


@pytest.fixture
def readable_folder():
    """A folder that every user may read, unlike pytest's own, and unlike a clone in somebody's home."""
    folder = Path(tempfile.mkdtemp(prefix="jbpf-e2e-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def compile_classes(folder):
    result = run("javac", "-nowarn", "-Xlint:-options", "--release", "8", "-d", folder,
                 *sorted(JAVA_SOURCES.glob("*.java")), timeout=120)
    assert result.returncode == 0, result.stderr


def copy_classes(folder):
    """Compiled by the first that wants them: each worker would spend five seconds of a CPU on the same."""
    made = Path(IMAGES, "classes")
    with open(Path(IMAGES, "classes.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            half = Path(IMAGES, "classes.half")
            shutil.rmtree(half, ignore_errors=True)
            compile_classes(half)
            half.rename(made)
    shutil.copytree(made, folder, dirs_exist_ok=True)


@pytest.fixture(scope="session")
def app():
    """What containers see as /app: the Java programs, compiled for JDK 8 and up, and the C ones.
    Every user may read it, remapped ones too, which rules pytest's own folders out."""
    folder = Path(tempfile.mkdtemp(prefix="jbpf-e2e-"))
    try:
        (copy_classes if IMAGES else compile_classes)(folder)
        folder.chmod(0o755)
        for program in [*AIDS.glob("*_spinner"), *AIDS.glob("hostile_*")]:
            if not program.suffix:
                shutil.copy(program, folder)
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def engine(app):
    engine = Engine(app)
    yield engine
    engine.remove_all()


@contextlib.contextmanager
def only_user_of_remapped_engine():
    """Test files run beside each other, and that engine, of which a host has one, ends with the test that started
    it, containers of others and all. The kernel takes the lock back from who was killed."""
    lock = Path("/run/jbpf-tests/userns.lock")
    lock.parent.mkdir(exist_ok=True)
    with open(lock, "w") as held:
        def is_ours():
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            return False
        wait_until(is_ours, 150, f"tests beside this one give back {lock}")
        yield


@contextlib.contextmanager
def started_remapped_engine(app):
    had_user = run("getent", "passwd", "dockremap").returncode == 0
    shell = ["bash", "-c", '. scripts/lib.sh && . scripts/lib-docker.sh && "$@"', "run-e2e-tests"]
    started = subprocess.run([*shell[:2], '. scripts/lib.sh && . scripts/lib-docker.sh && dockerd_end_left userns && '
                              'dockerd_start userns --userns-remap=default >&2 && '
                              'echo "$dockerd_socket $dockerd_pid"'],
                             cwd=TOP, text=True, stdout=subprocess.PIPE, timeout=120 * PATIENCE)
    if started.returncode != 0:
        raise Lacking("the second Docker engine did not start")
    host, pid = started.stdout.split()
    engine = Engine(app, host)
    try:
        if engine.docker("image", "inspect", IMAGE).returncode != 0:
            copy = subprocess.run(["bash", "-o", "pipefail", "-c",
                                   f"docker save {IMAGE} | docker --host {host} load"],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300 * PATIENCE)
            assert copy.returncode == 0, copy.stdout
        yield engine
    finally:
        engine.remove_all()
        subprocess.run([*shell, "dockerd_stop", pid], cwd=TOP, timeout=60 * PATIENCE)
        if not had_user:
            run("userdel", "dockremap")


@pytest.fixture
def remapped_engine(app):
    """A second Docker engine whose containers' root is user 100000 of the host."""
    with only_user_of_remapped_engine(), started_remapped_engine(app) as engine:
        yield engine


@pytest.fixture(scope="module")
def module_remapped_engine(app):
    """For a file of which each test wants it: others wait as long."""
    with only_user_of_remapped_engine(), started_remapped_engine(app) as engine:
        yield engine


class Daemons:
    """Makes daemons that end with what asked for them, whatever happens."""

    def __init__(self, folder):
        self.folder, self.made = folder, []

    def __call__(self, *options, **settings):
        self.made.append(Daemon(self.folder, *options, **settings))
        return self.made[-1]

    def stop(self):
        end_all(one.stop for one in self.made)


@pytest.fixture
def daemon(tmp_path):
    daemons = Daemons(tmp_path)
    yield daemons
    daemons.stop()


@pytest.fixture(scope="module")
def module_daemon(tmp_path_factory):
    """For fixtures that several tests look at. Each daemon has a store of its own by name."""
    daemons = Daemons(tmp_path_factory.mktemp("daemons"))
    yield daemons
    daemons.stop()


@pytest.fixture
def spinner():
    """Starts build/tests/e2e programs on the host; ends them with the test. They take what nobody else needs."""
    processes = []

    def start(name, *arguments, **options):
        processes.append(subprocess.Popen([str(AIDS / name), *map(str, arguments)], text=True,
                                          stdout=subprocess.PIPE, preexec_fn=lambda: os.nice(10), **options))
        return processes[-1]
    yield start
    for process in processes:
        process.kill()
        process.wait()
