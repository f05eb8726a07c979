# SPDX-License-Identifier: Apache-2.0
"""Containers of a real Docker engine as jbpf names them: id, name and image without asking the
engine; renames are noticed, restarts and ends survived."""
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from harness.neighbours import is_removed
from harness.programs import BIN, BUILD, IMAGE, PATIENCE, run, wait_until

CONTAINER_OF = BUILD / "tests" / "tools" / "container_of"
SLEEP = ["sleep", "600"]


class Resolver:
    """One resolver process, so that its cache is part of the test."""

    def __init__(self):
        self.process = subprocess.Popen([CONTAINER_OF], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def __call__(self, pid, cgroup_id=0):
        self.process.stdin.write(f"{pid} {cgroup_id}\n")
        self.process.stdin.flush()
        words = self.process.stdout.readline().split(" ")
        return dict(word.rstrip("\n").split("=", 1) for word in words)

    def stop(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=10 * PATIENCE) == 0


@pytest.fixture
def resolver():
    resolver = Resolver()
    yield resolver
    if resolver.process.poll() is None:
        resolver.stop()


def cgroup2_of(pid):
    """Directory of the process in the cgroup v2 tree, where there is one."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        if line.startswith("0::"):
            for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
                if (Path(root) / "cgroup.controllers").exists():
                    return Path(root + line[3:])
    return None


@pytest.mark.live
def test_container_has_its_name_and_image(engine, resolver):
    container = engine.start("named-1", SLEEP)
    found = resolver(container.pid)
    assert found["err"] == "0"
    assert found["id"] == container.id
    assert found["name"] == container.name
    assert found["image"] == IMAGE
    assert found["runtime"] == "docker"
    assert found["service"] == container.name.removesuffix("-1")
    assert container.id in found["cgroup"]


@pytest.mark.live
def test_compose_service_is_the_service(engine, resolver):
    container = engine.start("labelled", SLEEP, options=["--label", "com.docker.compose.service=cart"])
    assert resolver(container.pid)["service"] == "cart"


@pytest.mark.live
def test_rename_is_noticed(engine, resolver):
    container = engine.start("before", SLEEP)
    assert resolver(container.pid)["name"] == container.name
    new_name = container.name.replace("before", "after")
    assert engine.docker("rename", container.id, new_name).returncode == 0
    assert resolver(container.pid)["name"] == new_name
    assert resolver(container.pid)["id"] == container.id


@pytest.mark.live
def test_restart_keeps_the_id_in_another_cgroup(engine, resolver):
    container = engine.start("again", SLEEP, options=["--stop-timeout", "0"])
    first_pid, cgroup = container.pid, cgroup2_of(container.pid)
    first_cgroup = os.stat(cgroup).st_ino if cgroup else 0
    before = resolver(first_pid, first_cgroup)
    assert engine.docker("restart", "-t", "0", container.id).returncode == 0
    wait_until(lambda: container.pid not in (0, first_pid), 20, "the container runs again")
    cgroup = cgroup2_of(container.pid)
    second_cgroup = os.stat(cgroup).st_ino if cgroup else 0
    after = resolver(container.pid, second_cgroup)
    assert (after["id"], after["name"]) == (before["id"], before["name"]) == (container.id, container.name)
    if cgroup:
        assert second_cgroup != first_cgroup


@pytest.mark.live
def test_removed_container_leaves_nothing_to_look_at(engine, resolver):
    container = engine.start("short", SLEEP)
    pid = container.pid
    assert resolver(pid)["name"] == container.name
    container.remove()
    gone = resolver(pid)
    assert (gone["err"], gone["id"], gone["name"], gone["cgroup"]) == ("-2", "", "", "")


@pytest.mark.live
def test_cgroup_id_finds_the_container_when_the_process_is_gone(engine, resolver):
    container = engine.start("by-cgroup", SLEEP)
    cgroup = cgroup2_of(container.pid)
    assert cgroup, "this host has no cgroup v2 tree: the test needs one"
    gone = subprocess.Popen(["true"])
    gone.wait()
    found = resolver(gone.pid, os.stat(cgroup).st_ino)
    assert (found["err"], found["id"], found["name"]) == ("0", container.id, container.name)
    # The cgroup outranks a pid that another process has by now.
    assert resolver(os.getpid(), os.stat(cgroup).st_ino)["id"] == container.id
    # An id that is nobody's.
    assert resolver(gone.pid, 0x7fffffffff)["err"] == "-2"


@pytest.mark.live
def test_cgroup_of_its_own_inside_a_container_is_still_that_container(engine, resolver):
    container = engine.start("nested", SLEEP)
    cgroup = cgroup2_of(container.pid)
    assert cgroup, "this host has no cgroup v2 tree: the test needs one"
    inner = cgroup / "worker"
    inner.mkdir()
    try:
        found = resolver(1 << 22, os.stat(inner).st_ino)
        assert (found["id"], found["name"]) == (container.id, container.name)
        assert found["cgroup"].endswith("/worker")
    finally:
        inner.rmdir()


@pytest.mark.live
def test_check_judges_the_roots_of_all_containers(engine):
    """Containers of other tests come and go beside it: there is one at least, and of whom it is need not be."""
    engine.start("rooted", SLEEP)
    allowed = run(BIN / "jbpfd", "--check").stdout
    assert re.search(r"^ok +container roots +of all \d+ containers that run they can be opened$", allowed, re.M), allowed
    refused = run("setpriv", "--bounding-set=-sys_ptrace", BIN / "jbpfd", "--check").stdout
    assert re.search(r"^less +container roots +of \d+ of \d+ containers that run they cannot be opened, as /proc/\d+/root of [0-9a-f]{12}: "
                     "no perf maps, no libraries of these$", refused, re.M), refused


def test_process_outside_of_containers_has_no_container(resolver):
    found = resolver(os.getpid())
    assert (found["err"], found["id"], found["name"]) == ("0", "", "")


def test_pids_that_never_were(resolver):
    assert resolver(0)["err"] == "-2"
    assert resolver((1 << 32) - 1)["err"] == "-2"


@pytest.mark.live
def test_remapped_engine_keeps_its_files_elsewhere(remapped_engine, resolver):
    container = remapped_engine.start("remapped", SLEEP, user="0:0")
    found = resolver(container.pid)
    assert (found["id"], found["name"], found["image"]) == (container.id, container.name, IMAGE)


@pytest.mark.live
def test_nothing_but_names_is_taken_from_the_configuration(engine, resolver):
    container = engine.start("secrets", SLEEP, options=["-e", "PASSWORD=hunter2", "--label", "x=" + "y" * 5000])
    found = resolver(container.pid)
    assert found["name"] == container.name
    assert "hunter2" not in str(found) and "yyyy" not in str(found)


# What a user of uid 12345 does in a cgroup of its own: it goes by another container's name, and burns CPU.
IMPOSTOR = """
mkdir "$1/docker-$2.scope" && echo $$ > "$1/docker-$2.scope/cgroup.procs" || exit
"$3" recurse 600 3 >/dev/null & echo $!; wait
"""


@pytest.fixture
def given_cgroup():
    """A cgroup that root gave to uid 12345, as systemd does for a session."""
    top = next((root for root in map(Path, ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"))
                if (root / "cgroup.controllers").exists()), None)
    assert top, "this host has no cgroup v2 tree: the test needs one"
    given = top / f"jbpf-e2e-{os.getpid()}-given"
    given.mkdir()
    for path in (given, given / "cgroup.procs", given / "cgroup.subtree_control"):
        os.chown(path, 12345, 12345)
    yield given
    for inner in [*given.iterdir(), given]:
        if inner.is_dir():
            wait_until(lambda: is_removed(inner), 20, f"{inner} is empty")


@pytest.mark.live
def test_a_user_does_not_pass_for_a_container_by_the_name_of_a_cgroup(engine, daemon, given_cgroup):
    victim = engine.start("victim", ["sh", "-c", "while :; do :; done"])
    one = daemon(window="1s").start().wait_ready()
    load = shutil.copy(BUILD / "tests" / "bpf" / "load", f"/tmp/jbpf-e2e-{os.getpid()}-impostor")
    # Root puts it into the cgroup it was given; the rest it does by itself.
    enter = f'echo $$ > {given_cgroup}/cgroup.procs && exec setpriv --reuid 12345 --regid 12345 --clear-groups "$@"'
    shell = subprocess.Popen(["sh", "-c", enter, "sh", "sh", "-c", IMPOSTOR, "sh", given_cgroup, victim.id, load],
                             stdout=subprocess.PIPE, text=True)
    impostor = int(shell.stdout.readline())
    try:
        one.wait_samples({victim.pid: 30, impostor: 30})
        streams = {stream["pid"]: stream for stream in one.list_json()}
        assert f"docker-{victim.id}.scope" in streams[impostor]["cgroup"]
        for selector in (victim.name, victim.id, victim.id[:12]):
            pids = {stream["pid"] for stream in one.list_json("--container", selector)}
            assert victim.pid in pids and impostor not in pids, selector
        assert streams[impostor]["container"] == f"user:12345/{victim.id[:12]}"
        assert streams[impostor]["service"].removeprefix("user:12345/") != streams[victim.pid]["service"]
        assert "by=user:12345" in streams[impostor]["label_sources"]
        assert streams[victim.pid]["label_sources"] == "container=docker service=container by=root"
        assert one.status_json()[impostor]["label_sources"].endswith("by=user:12345")
    finally:
        os.kill(impostor, signal.SIGKILL)
        shell.communicate()
        os.unlink(load)
        one.stop()
