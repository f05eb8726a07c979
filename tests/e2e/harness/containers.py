# SPDX-License-Identifier: Apache-2.0
"""Docker containers without network, removed at the end whatever happens."""
import contextlib
import os
import re
import shlex
from pathlib import Path

import pytest

from harness import docker_api
from harness.neighbours import CGROUP_ROOTS, cgroup_folders, weigh_cpu
from harness.programs import IMAGE, IMAGES, Lacking, end_all, run, wait_until

TRIES = 3  # a busy engine may refuse to start one
# What no other try changes: the image, an option, the command.
OUR_FAULT = re.compile(r"no such image|unable to find image|unknown (shorthand )?flag|invalid|executable file not found|"
                       r"no such file or directory|requires at least|permission denied|conflicting options", re.I)
USER = "12345:12345"  # no passwd entry anywhere
WEIGHT_OF_READY = 6  # per cent of the CPU share of a container that starts
JDKS = (8, 11, 17, 21, 25)
NEWEST_JDKS = (26, 27, 28)  # of Debian's unstable release, while it has them: long suite
JDKS_THAT_MUST_BE = (8, 17, 25)  # the others are left out, with the reason, where they cannot be had
JAVA = ["java", "-XX:+PreserveFramePointer", "-Xmx96m", "-XX:CompileCommand=quiet"]


def each_jdk(*gate, of=JDKS + NEWEST_JDKS):
    """Parameters of a test: these are in the gate, of the others it takes too long."""
    return [pytest.param(jdk, marks=() if jdk in gate else pytest.mark.long("one JVM more: time")) for jdk in of]


def java(main, *arguments, frame_pointer=True, flags=(), inline=False):
    """The command of a test program; its own methods are not inlined unless `inline`."""
    command = [flag for flag in JAVA if frame_pointer or "FramePointer" not in flag]
    apart = [] if inline else [f"-XX:CompileCommand=dontinline,{main}.*"]
    return [*command, *flags, *apart, "-cp", "/app", main,
            *(str(argument) for argument in arguments)]


def image_of(jdk):
    """The image with this JDK, as soon as the runner has it."""
    image = f"jbpf-test-jre{jdk}"
    if IMAGES is None:
        return image
    ready, failed = Path(IMAGES, f"{jdk}.ready"), Path(IMAGES, f"{jdk}.failed")
    wait_until(lambda: ready.exists() or failed.exists(), 600, f"the image with JDK {jdk} is made")
    if failed.exists():
        reason = f"no image with JDK {jdk}: {failed.read_text().strip()}"
        assert jdk not in JDKS_THAT_MUST_BE, reason
        pytest.skip(reason)
    return image


class Container:
    def __init__(self, engine, name, container_id):
        self.engine, self.name, self.id = engine, name, container_id

    def state(self):
        return docker_api.container_state(self.engine.host, self.id)

    @property
    def pid(self):
        """Host pid of the container's first process."""
        return self.state()["Pid"]

    @property
    def exit_code(self):
        return self.state()["ExitCode"]

    def running(self):
        return self.state()["Running"]

    def logs(self):
        return docker_api.container_output(self.engine.host, self.id)

    def pids(self, word):
        """Host pids of processes in the container whose command line has `word` as an argument."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cgroup", errors="replace") as cgroup, \
                        open(f"/proc/{pid}/cmdline", errors="replace") as cmdline:
                    if self.id in cgroup.read() and word in cmdline.read().split("\0"):
                        found.append(int(pid))
            except OSError:
                continue  # gone meanwhile
        return sorted(found)

    def stand_back(self):
        """What runs goes on with what nobody else needs. A dozen busy JVMs beside it leave one that starts two per cent
        of a CPU: a minute instead of a second."""
        if not CGROUP_ROOTS:
            return
        with contextlib.suppress(OSError):  # it has ended
            weigh_cpu([folder for folder in cgroup_folders(self.pid) if self.id in folder.name], WEIGHT_OF_READY)

    def pause(self):
        """Freezing may take runc more than its one try on a busy host."""
        wait_until(lambda: self.engine.docker("pause", self.id).returncode == 0, 30, f"{self.name} is paused")

    def unpause(self):
        self.engine.docker("unpause", self.id)

    def changes(self):
        """What was changed in its file system, but for mount points and the JVM's own counters."""
        ours = ("A /app", "C /tmp", "A /log")
        return [line for line in self.engine.docker("diff", self.id).stdout.splitlines()
                if line not in ours and "/tmp/hsperfdata" not in line]

    def remove(self):
        self.engine.docker("rm", "-f", self.id)


class Engine:
    """One Docker engine and the containers that a test made in it."""

    def __init__(self, app, host=None, image=IMAGE):
        self.app, self.host, self.image = app, host, image
        self.environment = dict(os.environ, **({"DOCKER_HOST": host} if host else {}))
        self.containers = []

    def docker(self, *arguments, timeout=120):
        return run("docker", *arguments, timeout=timeout, env=self.environment)

    def start(self, name, command, options=(), user=USER, jdk=None):
        image = image_of(jdk) if jdk else self.image
        name = f"jbpf-e2e-{os.getpid()}-{name}"
        create = ["create", "--pull=never", "--name", name, "--network=none", "--user", user,
                  "-v", f"{self.app}:/app:ro", *options, image, *command]
        for _ in range(TRIES):
            container, said = self.try_to_start(name, create)
            if container:
                self.containers.append(container)
                return container
            assert not OUR_FAULT.search(said), f"docker {shlex.join(map(str, create))}: {said}"
        raise Lacking(f"{name} was not started, {TRIES} times: {said}")

    def try_to_start(self, name, create):
        """The container, or None and what the engine said; nothing of that name is left then."""
        result = self.docker(*create)
        made = result.stdout.strip()
        if result.returncode == 0:
            result = self.docker("start", made)
            if result.returncode == 0:
                return Container(self, name, made), ""
        self.docker("rm", "-f", name)
        return None, result.stderr

    def start_ready(self, name, command, word, options=(), user=USER, seconds=300, jdk=None):
        """start(), then waits until `word` is in its output."""
        container = self.start(name, command, options, user, jdk)
        wait_until(lambda: word in container.logs() or not container.running(), seconds,
                   f"{name} prints {word}")
        assert word in container.logs(), f"{name} ended: {container.logs()[-500:]}"
        container.stand_back()
        return container

    def remove_all(self):
        end_all(container.remove for container in self.containers)
        self.containers.clear()
