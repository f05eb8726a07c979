# SPDX-License-Identifier: Apache-2.0
"""The profilers that are compared, each behind the same few calls: start at a rate, run for a while, read what it
cost, end it, read what it left. Each runs in a control group of its own, so that the kernel counts the CPU time of
all its processes and threads, dead ones too."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import time

from machine import JBPF, JBPFD, read, tool
from spawn import NotMeasured

BPFTOOL = shutil.which("bpftool") or "/usr/sbin/bpftool"
END_S = 60  # to end after SIGINT, for all but what may take minutes


def cgroup_root():
    with open("/proc/self/mounts", encoding="utf-8") as file:
        for line in file:
            fields = line.split()
            if fields[2] == "cgroup2":
                return fields[1]
    raise SystemExit("bench: no cgroup v2 is mounted; it is what counts the profilers' CPU time")


class Cgroup:
    def __init__(self, name):
        self.path = os.path.join(cgroup_root(), name)
        os.makedirs(self.path, exist_ok=True)

    def enter(self):
        """For preexec_fn: the process that is to become the profiler."""
        with open(os.path.join(self.path, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write("0")

    def cpu_seconds(self):
        with open(os.path.join(self.path, "cpu.stat"), encoding="ascii") as file:
            return int(re.search(r"^usage_usec (\d+)", file.read(), re.M)[1]) / 1e6

    def pids(self):
        with open(os.path.join(self.path, "cgroup.procs"), encoding="ascii") as file:
            return [int(line) for line in file]

    def remove(self):
        for _ in range(100):
            try:
                os.rmdir(self.path)
                return
            except FileNotFoundError:
                return
            except OSError:
                for pid in self.pids():
                    os.kill(pid, signal.SIGKILL)
                time.sleep(0.05)


def descriptors(pids, kind):
    """BPF objects these processes hold: id -> bytes the kernel charges. `kind`: map or prog."""
    found = {}
    for pid in pids:
        for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
            try:
                with open(path, encoding="utf-8") as file:
                    text = file.read()
            except OSError:
                continue
            ident = re.search(rf"^{kind}_id:\s*(\d+)", text, re.M)
            size = re.search(r"^memlock:\s*(\d+)", text, re.M)
            if ident:
                found[int(ident[1])] = max(int(size[1]) if size else 0, found.get(int(ident[1]), 0))
    return found


def mapped_bytes(pid):
    """Pss, with the buffers of perf at full size (no process is charged for them), without BPF maps (counted as
    maps)."""
    total, name, size = 0, "", 0
    try:
        with open(f"/proc/{pid}/smaps", encoding="utf-8") as file:
            for line in file:
                head = re.match(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \S+\s*(.*)", line)
                if head:
                    name = head[1]
                elif line.startswith("Size:"):
                    size = int(line.split()[1])
                elif line.startswith("Pss:"):
                    is_perf = name.startswith("anon_inode:[perf_event]")
                    is_map = name.startswith("anon_inode:bpf-map")
                    total += 0 if is_map else size if is_perf else int(line.split()[1])
    except OSError:
        return 0
    return total * 1024


class Program:
    """One run of a profiler. `self.out` is where it writes."""
    name = ""
    needs = None  # a program that may be missing
    names_at_end = False
    warm_s = 1.0  # from its start until it is as it stays

    def __init__(self, work, hz, **options):
        self.work, self.hz, self.options = work, hz, options
        self.out = os.path.join(work, f"out-{self.name.split()[0]}")
        self.cgroup = Cgroup(f"jbpf-bench-{os.getpid()}-{self.name.split()[0]}")
        self.process = None
        self.max_rss = 0

    @classmethod
    def why_not(cls):
        """None when it can run here."""
        if cls.needs and not shutil.which(cls.needs):
            return f"{cls.needs} is not installed"
        return None

    def command(self):
        raise NotImplementedError

    def environment(self):
        return None

    def start(self):
        remove(self.out)
        with open(os.path.join(self.work, f"{self.name.split()[0]}.stdout"), "wb") as stdout, \
                open(self.errors(), "wb") as stderr:
            self.process = subprocess.Popen(self.command(), stdout=stdout, stderr=stderr,
                                            preexec_fn=self.cgroup.enter, env=self.environment())
        end = time.monotonic() + 120
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > end:
                raise NotMeasured(f"{self.name} did not start: {self.said()[-400:].strip()}")
            time.sleep(0.05)
        return self

    def errors(self):
        return os.path.join(self.work, f"{self.name.split()[0]}.stderr")

    def said(self):
        with open(self.errors(), encoding="utf-8", errors="replace") as file:
            return file.read()

    def is_ready(self):
        return True

    def cpu_seconds(self):
        return self.cgroup.cpu_seconds()

    def bpf(self):
        """Its BPF programs by id: type, runs and seconds so far (counted while BpfStats is on)."""
        progs = {}
        for ident in descriptors(self.cgroup.pids(), "prog"):
            info = json.loads(subprocess.check_output([BPFTOOL, "prog", "show", "id", str(ident), "--json"]))
            progs[ident] = (info["type"], info.get("run_cnt", 0), info.get("run_time_ns", 0) / 1e9)
        return progs

    def memory(self):
        """Bytes: processes, perf buffers, BPF maps and programs."""
        pids = self.cgroup.pids()
        return (sum(mapped_bytes(pid) for pid in pids) + sum(descriptors(pids, "map").values())
                + sum(descriptors(pids, "prog").values()))

    def stop(self, limit_s=END_S):
        """Ends it as its user would. False: it had to be killed."""
        if self.process is None or self.process.returncode is not None:
            return True
        try:
            self.process.send_signal(signal.SIGINT)
        except ProcessLookupError:
            pass
        end, ended = time.monotonic() + limit_s, True
        while True:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                self.process.returncode = os.waitstatus_to_exitcode(status)
                self.max_rss = usage.ru_maxrss * 1024
                return ended
            if time.monotonic() > end:
                self.process.kill()
                ended = False
            time.sleep(0.02)

    def close(self):
        if self.process:
            self.stop(limit_s=0)
        self.cgroup.remove()
        remove(self.out)

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_):
        self.close()

    def samples(self):
        raise NotImplementedError

    def out_bytes(self):
        if not os.path.isdir(self.out):
            return os.path.getsize(self.out)
        return sum(os.path.getsize(os.path.join(folder, name))
                   for folder, _, names in os.walk(self.out) for name in names if name.endswith(".zst"))


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.unlink(path)


class Jbpfd(Program):
    name = "jbpfd"
    daemon = JBPFD

    def __init__(self, work, hz, window_s=10, **options):
        super().__init__(work, hz, **options)
        self.window_s = window_s
        self.warm_s = window_s + 1.5  # symbol tables are read and JVMs are known after the first window

    def command(self):
        pids = [part for pid in self.options.get("pids", []) for part in ("--pid", str(pid))]
        return [self.daemon, "--store", self.out, "--frequency", str(self.hz), "--window", f"{self.window_s}s", *pids]

    def is_ready(self):
        return "samples at" in self.said()

    def samples(self):
        text = subprocess.run([JBPF, "dump", "--store", self.out, "--since", "1d"], check=True,
                              capture_output=True, text=True, errors="replace").stdout
        return sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines())


class Perf(Program):
    name = "perf record -g"
    needs = "perf"
    event = ["-e", "cpu-clock"]  # what -F 99 falls back to in a virtual machine, and what the others use

    def command(self):
        pids = self.options.get("pids")
        target = ["-p", ",".join(map(str, pids))] if pids else ["-a"]
        return ["perf", "record", "-F", str(self.hz), *self.event, *target, "-g", "-o", self.out,
                "--", "sleep", "1000"]

    def is_ready(self):
        """Its workload becomes sleep when the events are on: after it has gone through all processes' mappings."""
        return any(read(f"/proc/{pid}/comm") == "sleep" for pid in self.cgroup.pids())

    def samples(self):
        counted = re.search(r"\((\d+) samples\)", self.said())
        return int(counted[1]) if counted else 0

    @classmethod
    def fixed_bytes(cls, work):
        """What perf.data holds besides samples: every mapping of every process."""
        path = os.path.join(work, "perf.fixed")
        subprocess.run(["perf", "record", "-F", "1", *cls.event, "-a", "-g", "-o", path, "--", "true"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        size = os.path.getsize(path)
        os.unlink(path)
        return size


class Stackid(Program):
    """bench_stackid: the least a profiler on bpf_get_stackid does, read out once per window, no names."""
    name = "get_stackid profiler"

    def __init__(self, work, hz, window_s=10, **options):
        super().__init__(work, hz, **options)
        self.window_s = window_s

    def command(self):
        return [tool("bench_stackid"), "--frequency", str(self.hz), "--window", str(self.window_s),
                "--output", self.out]

    def is_ready(self):
        return "sampling" in self.said()

    def summary(self):
        return json.loads(self.said().strip().splitlines()[-1])

    def samples(self):
        return self.summary()["samples"]


class Bpftrace(Program):
    name = "bpftrace"
    needs = "bpftrace"
    names_at_end = True  # v0.17 may take minutes

    @classmethod
    def why_not(cls):
        if super().why_not():
            return super().why_not()
        try:
            result = subprocess.run(["bpftrace", "-e", "profile:hz:99 { exit(); }"], capture_output=True, text=True,
                                    timeout=120)
        except subprocess.TimeoutExpired:
            return "bpftrace does not answer within 120 s"
        if result.returncode == 0:
            return None
        return "bpftrace cannot run here: " + (result.stderr.strip().splitlines() or ["?"])[-1]

    def command(self):
        return ["bpftrace", "-q", "-o", self.out, "-e",
                f'profile:hz:{self.hz} {{ @[kstack, ustack, comm] = count(); }}']

    def environment(self):
        # Without it each frame reads the symbol table of its file anew.
        return {**os.environ, "BPFTRACE_CACHE_USER_SYMBOLS": "1"}

    def is_ready(self):
        return bool(descriptors(self.cgroup.pids(), "prog"))  # it says nothing before its end

    def samples(self):
        with open(self.out, encoding="utf-8", errors="replace") as file:
            return sum(int(number) for number in re.findall(r"\]: (\d+)$", file.read(), re.M))


ALL = (Jbpfd, Perf, Stackid, Bpftrace)

