# SPDX-License-Identifier: Apache-2.0
"""What a host does all day, in minutes: JVMs in containers and beside them come, warm up and go, C
programs by the hundred, execs, threads, class loading, containers that are paused, processes that are
stopped. All of it below cgroups of its own, so that it can be told from the rest of the host, be held
back, and be ended as a whole."""
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILD = TOP / os.environ.get("JBPF_BUILD", "build")
JAVA = ["-XX:+PreserveFramePointer", "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
JDKS = (8, 11, 17, 21, 25)
NICE = 10
# On a busy machine programs take longer; were they to pile up, so would what a profiler keeps for them.
MOST_JVMS = 8
MOST_PROGRAMS = 40


def cgroup_mounts(*kinds):
    """Where cgroup hierarchies are mounted."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text(errors="replace").splitlines()]
    return [Path(mount[1]) for mount in mounts if mount[2] in kinds]


class Workload:
    def __init__(self, name, intensity, seed):
        self.name, self.intensity = name, intensity
        self.random = random.Random(seed)
        self.counts = dict.fromkeys(("containers", "host JVMs", "C programs", "execs", "pauses", "stops"), 0)
        self.processes, self.steady, self.due = [], [], {}
        self.app = Path(tempfile.mkdtemp(prefix=f"{name}-"))
        self.app.chmod(0o755)
        roots = cgroup_mounts("cgroup2")
        self.cgroup = roots[0] / name if roots else None
        if self.cgroup:
            (self.cgroup / "host").mkdir(parents=True)
        self.images = []

    # ---- starting things ----

    def prepare(self):
        """Programs where containers see them, and the images there are."""
        sources = sorted((TOP / "tests" / "e2e" / "java").glob("*.java"))
        subprocess.run(["javac", "-nowarn", "-Xlint:-options", "--release", "8", "-d", self.app, *sources],
                       check=True, timeout=300, stdin=subprocess.DEVNULL)
        listed = subprocess.run(["docker", "images", "--format", "{{.Repository}}"], check=True, timeout=60,
                                text=True, stdout=subprocess.PIPE).stdout.split()
        self.images = [image for image in (f"jbpf-test-jre{jdk}" for jdk in JDKS) if image in listed]
        assert self.images, "no image with a JVM"

    def enter_cgroup(self):
        os.nice(NICE)
        if self.cgroup:
            (self.cgroup / "host" / "cgroup.procs").write_text("0")

    def host(self, *command):
        """A process beside the containers."""
        self.processes.append(subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, preexec_fn=self.enter_cgroup, cwd=self.app))
        return self.processes[-1]

    def docker(self, *arguments):
        """Without waiting; outputs are of no interest."""
        self.processes.append(subprocess.Popen(["docker", *map(str, arguments)], stdin=subprocess.DEVNULL,
                                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return self.processes[-1]

    def container(self, name, *java):
        self.counts["containers"] += 1
        parent = ["--cgroup-parent", f"/{self.name}"] if self.cgroup else []
        return self.docker("run", "--rm", "--pull=never", "--network=none", "--user", "12345:12345",
                           "--name", f"{self.name}-{name}", "--cpu-shares=128", *parent,
                           "-v", f"{self.app}:/app:ro", self.random.choice(self.images),
                           "java", *JAVA, "-cp", "/app", *java)

    # ---- what happens again and again ----

    def room_for_jvm(self):
        return sum(process.args[0] == "java" or process.args[:2] == ["docker", "run"]
                   for process in self.processes) < MOST_JVMS

    def short_container(self):
        if not self.room_for_jvm():
            return
        program = self.random.choice([("Shares", 6, 30), ("Syscalls", 5, 30), ("Interp", 5), ("Inlined", 5),
                                      ("Churn", 6, 1, 200), ("Vthreads", 4)])
        self.container(f"short-{self.counts['containers']}", *program)

    def short_jvm(self):
        if not self.room_for_jvm():
            return
        self.counts["host JVMs"] += 1
        self.host("java", *JAVA, "-cp", self.app, *self.random.choice([("Shares", 4, 30), ("Mixed", 5, 20, 1)]))

    def c_programs(self):
        if len(self.processes) >= MOST_PROGRAMS:
            return
        for _ in range(8):
            self.counts["C programs"] += 1
            self.host(BUILD / "tests/e2e/native_spinner", 1, 5)

    def c_variety(self):
        self.counts["C programs"] += 3
        for mode in (("exec", 1), ("rename", 1), ("threads", 1, 8)):
            self.host(BUILD / "tests/bpf/load", *mode)

    def execs(self):
        self.counts["execs"] += 30
        self.host("sh", "-c", "i=0; while [ $i -lt 30 ]; do i=$((i+1)); cat /proc/self/maps >/dev/null; done")

    def pause(self):
        self.counts["pauses"] += 1
        self.docker("pause", f"{self.name}-steady-0")
        self.due["unpause"] = time.monotonic() + 4

    def unpause(self):
        self.docker("unpause", f"{self.name}-steady-0")

    def stop_steady(self):
        self.counts["stops"] += 1
        self.steady[0].send_signal(signal.SIGSTOP)
        self.due["continue_steady"] = time.monotonic() + 3

    def continue_steady(self):
        self.steady[0].send_signal(signal.SIGCONT)

    # ---- life ----

    def jvm_count(self):
        """JVMs that were started so far."""
        return self.counts["containers"] + self.counts["host JVMs"]

    def planned_jvms(self, seconds):
        return sum(seconds / self.periods[name] for name in ("short_container", "short_jvm"))

    def start(self):
        """What lives for the whole run; the rest comes with step()."""
        for number, program in enumerate([("Shares", 100000, 5), ("Churn", 100000, 1, 300)]):
            self.container(f"steady-{number}", *program)
        self.counts["host JVMs"] += 1
        self.steady = [self.host("java", *JAVA, "-cp", self.app, "Mixed", 100000, 3, 1)]
        self.periods = {name: seconds / self.intensity for name, seconds in
                        (("short_container", 10), ("short_jvm", 11), ("c_programs", 2), ("c_variety", 9),
                         ("execs", 4), ("pause", 23), ("stop_steady", 31))}
        now = time.monotonic()
        self.due = {name: now + self.random.random() * seconds for name, seconds in self.periods.items()}

    def step(self):
        """Does what is due, and forgets what has ended."""
        now = time.monotonic()
        for name in [name for name, due in self.due.items() if due <= now]:
            if name in self.periods:
                self.due[name] = now + self.periods[name] * self.random.uniform(0.7, 1.3)
            else:
                del self.due[name]
            getattr(self, name)()
        self.processes = [process for process in self.processes if process.poll() is None]

    def steady_alive(self):
        return all(process.poll() is None for process in self.steady)

    def end(self):
        """Nothing of it is left afterwards, whatever happened before."""
        names = subprocess.run(["docker", "ps", "-aq", "--filter", f"name=^{self.name}-"], timeout=120, text=True,
                               stdout=subprocess.PIPE).stdout.split()
        if names:
            subprocess.run(["docker", "rm", "-f", *names], timeout=300, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        for process in self.processes:
            if process.poll() is None:
                process.kill()
        for process in self.processes:
            process.wait()
        self.processes = []
        if self.cgroup and (self.cgroup / "host").exists():
            self.kill_cgroup(self.cgroup / "host")

    @staticmethod
    def kill_cgroup(folder):
        """Grandchildren, which no Popen knows."""
        for _ in range(100):
            pids = (folder / "cgroup.procs").read_text().split()
            if not pids:
                return
            for pid in pids:
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.1)

    def remove(self):
        shutil.rmtree(self.app, ignore_errors=True)
        # Docker makes the parent of its containers' cgroups in each hierarchy, and leaves it.
        for folder in [mount / self.name for mount in cgroup_mounts("cgroup", "cgroup2")]:
            for parent, _, _ in os.walk(folder, topdown=False):
                try:
                    os.rmdir(parent)
                except OSError:
                    pass  # not empty: somebody's process; it goes with the host
