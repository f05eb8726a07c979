# SPDX-License-Identifier: Apache-2.0
"""Containers made of namespaces and cgroups, as Docker makes them, in a tenth of a second and without
an engine: own mounts (/tmp is a tmpfs, /mnt holds the programs), processes, IPC and host name; a
cgroup named like Docker's, with its own share of the CPUs; another user. All end with Neighbours."""
import contextlib
import errno
import os
import re
import secrets
import signal
import subprocess
import time
from pathlib import Path

from harness.programs import end_all, wait_until

CGROUP_ROOTS = [Path(root) for root in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")
                if Path(root, "cgroup.controllers").exists()]
# Where controllers have trees of their own (cgroup v1), the share of the CPUs is given there.
CPU_V1 = Path("/sys/fs/cgroup/cpu")
USER = 12345  # no passwd entry anywhere
INSIDE = """
mount --rbind {app} /mnt && mount -t tmpfs -o mode=1777,size=768m none /tmp && cd /tmp &&
exec prlimit --nproc={processes} setpriv --reuid={user} --regid={user} --clear-groups --pdeathsig keep sh -c '{setup} exec "$@"' sh "$@"
"""


def is_removed(folder):
    """Tries it. A cgroup is busy for a moment after its last process has ended and is in no list any more."""
    try:
        os.rmdir(folder)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return False
    return True


def cgroup_folders(pid):
    """Where a process is: in the v2 tree, and where there is one in the CPU controller's."""
    own = Path(f"/proc/{pid}/cgroup").read_text()
    found = [(root, re.search(pattern, own, re.M))
             for root, pattern in ((CGROUP_ROOTS[0], r"^0::/(.*)$"), (CPU_V1, r"^\d+:(?:\w+,)*cpu(?:,\w+)*:/(.*)$"))]
    return [root / path[1] for root, path in found if path]


def weigh_cpu(folders, weight):
    """Share of the CPUs of a cgroup, per cent of that of others beside it; one of the hierarchies has it."""
    for folder in folders:
        for file, value in (("cpu.shares", 1024 * weight // 100), ("cpu.weight", weight)):
            with contextlib.suppress(OSError):
                if (folder / file).exists():
                    (folder / file).write_text(str(value))


class Cgroup:
    """A directory below the test's own, in the v2 tree and where there is one in the CPU controller's."""

    def __init__(self, path, owner=None, weight=None):
        """`weight`: share of the CPUs of the outermost directory, per cent of that of others beside it."""
        assert CGROUP_ROOTS, "this host has no cgroup v2 tree: the test needs one"
        self.folder = CGROUP_ROOTS[0] / path
        self.folders = [self.folder]
        if (CPU_V1 / "cpu.shares").exists():
            self.folders.append(CPU_V1 / path)
        self.made = []
        for folder in self.folders:
            self.make(folder)
        if weight:
            outermost = path.partition("/")[0]
            weigh_cpu([CGROUP_ROOTS[0] / outermost, CPU_V1 / outermost], weight)
        if owner:
            for file in ("", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"):
                os.chown(self.folder / file, owner, owner)

    def make(self, folder):
        """Test files run beside each other: another may make, or remove, the same parent right now."""
        for attempt in range(10):
            try:
                for one in [*reversed(folder.parents), folder]:
                    with contextlib.suppress(FileExistsError):
                        one.mkdir()
                        self.made.append(one)
                        with contextlib.suppress(OSError):
                            (one.parent / "cgroup.subtree_control").write_text("+cpu")
                return
            except FileNotFoundError:
                assert attempt < 9, f"{folder}: its parent is removed again and again"
                time.sleep(0.02)

    def take_in(self, pid):
        """The process itself; the directories that it was in, so that it can go back."""
        left = cgroup_folders(pid)
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(pid))
        return left

    def enter(self):
        """What a shell does to be in it."""
        return " && ".join(f"echo 0 >'{folder}/cgroup.procs'" for folder in self.folders)

    def pids(self):
        pids = set()
        # os.walk() leaves out what is removed meanwhile; Path.rglob() of Python 3.11 fails.
        for folder, _, _ in os.walk(self.folder):
            with contextlib.suppress(OSError):
                pids |= set(map(int, Path(folder, "cgroup.procs").read_text().split()))
        return pids

    def cpu_seconds(self):
        for line in (self.folder / "cpu.stat").read_text().splitlines():
            if line.startswith("usage_usec "):
                return int(line.split()[1]) / 1e6
        raise AssertionError(f"no CPU time in {self.folder}/cpu.stat")

    def memory_kib(self):
        """Anonymous and shared memory of its processes now, each page once: files that they map are others', too."""
        sum_kib = 0
        for pid in self.pids():
            with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps_rollup") as sums:
                sum_kib += sum(int(line.split()[1]) for line in sums if line.startswith(("Pss_Anon:", "Pss_Shmem:")))
        return sum_kib

    def freeze(self, is_frozen):
        (self.folder / "cgroup.freeze").write_text("1" if is_frozen else "0")

    def end(self):
        """Kills what is in it and removes it."""
        if not self.folder.exists():
            return
        with contextlib.suppress(OSError):
            self.freeze(False)

        def is_empty():
            for pid in self.pids():
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            return not self.pids()
        wait_until(is_empty, 30, f"all processes of {self.folder} have ended")
        inner = sorted((one for one in self.folder.rglob("*") if one.is_dir()), key=lambda one: -len(one.parts))
        for one in [*inner, *reversed(self.made)]:
            # Not empty: another test's beside it. Busy: its last process is just ending.
            for _ in range(50):
                try:
                    one.rmdir()
                    break
                except OSError as error:
                    if error.errno != errno.EBUSY:
                        break
                    time.sleep(0.02)


class Neighbour:
    def __init__(self, group, app, name, command, user, processes, setup, cgroup, folder):
        self.name, self.id = name, secrets.token_hex(32)
        self.cgroup = Cgroup(cgroup.format(id=self.id) if cgroup else f"{group}/docker-{self.id}.scope",
                             owner=user or None)
        self.log_path = folder / f"{name}-{self.id[:6]}.log"
        inside = INSIDE.format(app=app, user=user, processes=processes, setup=setup)
        command = [str(word).format(cgroup=self.cgroup.folder, id=self.id) for word in command]
        with open(self.log_path, "w") as log:
            self.process = subprocess.Popen(
                ["sh", "-c", f'{self.cgroup.enter()} && exec unshare -m -p -i -u --fork --kill-child --mount-proc sh -c "$0" sh "$@"',
                 inside, *command], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

    def log(self):
        return self.log_path.read_text(errors="replace")

    def wait_ready(self, word, seconds=60):
        wait_until(lambda: word in self.log() or self.process.poll() is not None, seconds,
                   f"{self.name} prints {word}: {self.log()[-500:]}")
        assert word in self.log(), f"{self.name} ended: {self.log()[-500:]}"
        return self

    @property
    def pid(self):
        """Host pid of the namespace's first process."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as children:
            return int(children.read().split()[0])

    def end(self):
        end_all([self.cgroup.end, self.process.kill, self.process.wait])


class Neighbours:
    """Starts them; ends all that are left."""

    def __init__(self, app, folder):
        self.app, self.folder, self.group = app, folder, f"jbpf-fair-{os.getpid()}"
        self.all, self.cgroups = [], []

    def start(self, name, *command, user=USER, processes=4000, setup="", cgroup=None, word="READY"):
        """A container; `word`: what its command prints when it is at work. `setup`: shell before it, in
        it. {cgroup} and {id} in the command are the container's."""
        self.all.append(Neighbour(self.group, self.app, name, command, user, processes, setup, cgroup, self.folder))
        return self.all[-1].wait_ready(word) if word else self.all[-1]

    def own_cgroup(self, name):
        self.cgroups.append(Cgroup(f"{self.group}/{name}"))
        return self.cgroups[-1]

    def end(self):
        end_all(one.end for one in [*reversed(self.all), *reversed(self.cgroups)])
        for root in (CGROUP_ROOTS[0], CPU_V1):
            with contextlib.suppress(OSError):
                (root / self.group).rmdir()
