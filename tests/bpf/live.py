# SPDX-License-Identifier: Apache-2.0
"""What the tests of the BPF side share: running loads, and live_probe's samples of them."""
import collections
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.programs import LEAST_WAIT, Lacking

TOP = Path(__file__).resolve().parents[2]
AIDS = TOP / os.environ.get("BUILD", "build") / "tests" / "bpf"
END_ROOT, END_MAX_DEPTH, END_FAULT, END_BAD_FP, END_LEAF_ONLY, END_CUT_DEPTH, END_CUT_LEAF, END_CUT_ALL = range(8)
END_LEAF = 14
VARIANTS = pytest.mark.parametrize("variant", [[], ["--compat"]], ids=["oncpu", "oncpu_compat"])


@contextmanager
def load(*args, prefix=(), cpu=None, program="load", stdin=None):
    """A running load that has begun its work; .pid is its own pid even below a wrapper."""
    command = [*prefix, AIDS / program, *args]
    pin = (lambda: os.sched_setaffinity(0, {cpu})) if cpu is not None else None
    process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE if "lines" in args else stdin,
                               stdout=subprocess.PIPE, text=True, preexec_fn=pin)
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        if process.stdin:
            process.stdin.close()


def tell(process):
    """A load that does so "lines" goes on with what comes next."""
    process.stdin.write("\n")
    process.stdin.flush()


def end(process):
    """The same load works no more, and ends."""
    process.stdin.close()
    process.wait(LEAST_WAIT)


KINDS = {"count": "counts", "notice": "notices", "tick_us": "ticks", "account": "accounts", "new": "new"}


class Sampling:
    """live_probe, sampling until result(). It prints into a file, which a thread reads as it grows, and goes before the
    loads: a pipe that is full, or a load that has its CPU, would keep it from emptying the buffers, and samples from
    being whole."""

    def __init__(self, *args):
        self.data = {"windows": 0, "stack_records": 0, "missing_stacks": 0, "counters": collections.Counter(),
                     **{name: [] for name in KINDS.values()}}
        self.changed = threading.Condition()
        self.reads, self.is_over = 0, False
        self.output = tempfile.TemporaryFile()
        self.process = subprocess.Popen([str(AIDS / "live_probe"), *[str(arg) for arg in args]], stdin=subprocess.PIPE,
                                        stdout=self.output, stderr=subprocess.PIPE)
        os.setpriority(os.PRIO_PROCESS, self.process.pid, -20)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        line = self.process.stderr.readline()
        assert line == b"sampling\n", line

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        for file in (self.process.stdin, self.output, self.process.stderr):
            file.close()

    def _chunks(self):
        """What it prints, to its end."""
        at = 0
        while True:
            # Asked before: what is read after that is all there will be.
            has_ended = self.process.poll() is not None
            chunk = os.pread(self.output.fileno(), 1 << 20, at)
            at += len(chunk)
            if chunk:
                yield chunk
            elif has_ended:
                return
            else:
                time.sleep(0.01)

    def _read(self):
        rest = b""
        for chunk in self._chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            items = [json.loads(line) for line in lines]
            for item in items:
                if "windows" in item:
                    self.data.update(item)
                else:
                    self.data[KINDS[next(iter(item))]].append(item)
            # Counts have come when the sums of their window have.
            if any(not {"windows", "notice", "new"}.isdisjoint(item) for item in items):
                self._tell_change()
        self.is_over = True
        self._tell_change()

    def _tell_change(self):
        with self.changed:
            self.reads += 1
            self.changed.notify_all()

    def wait(self, until):
        """Until until(data) of all that came so far is true, which may be the half of a window."""
        limit = time.monotonic() + LEAST_WAIT
        reads = self.reads
        while not until(self.data):
            assert not self.is_over, self.process.stderr.read()
            with self.changed:
                if not self.changed.wait_for(lambda: self.reads != reads, limit - time.monotonic()):
                    counts = collections.Counter()
                    for item in self.data["counts"]:
                        counts[(item["pid"], item["comm"])] += item["count"]
                    raise Lacking(f"too little in {LEAST_WAIT} s: {counts.most_common(20)} {self.data['counters']}")
            reads = self.reads

    def result(self):
        """All, once sampling has ended."""
        self.process.stdin.close()
        code = self.process.wait(2 * LEAST_WAIT)
        self.reader.join()
        assert code == 0, self.process.stderr.read()
        return self.data


def total(counts):
    return sum(item["count"] for item in counts)


def sample(*args, until=lambda data: total(data["counts"]) > 0):
    """Samples until that gave what until(data) asks for."""
    with Sampling(*args) as sampling:
        sampling.wait(until)
        return sampling.result()


def move(process, folder):
    (folder / "cgroup.procs").write_text(str(process.pid))


def sample_life(mode, *args, parts, options=()):
    """Samples a load in a cgroup of its own to its end. It goes on with its next part, or ends behind the last one, when
    until(data, pid) of the one before is true. (data, pid)"""
    with cgroups("life") as (folder,), Sampling("--cgroup", folder, *options) as sampling, \
            load(mode, "lines", *args) as process:
        move(process, folder)
        for until in parts[:-1]:
            sampling.wait(lambda data: until(data, process.pid))
            tell(process)
        sampling.wait(lambda data: parts[-1](data, process.pid))
        end(process)
        return sampling.result(), process.pid


def keys_of(pid, name):
    """Keys of a map by pids of a running live_probe, found by its map ids."""
    bpftool = os.environ.get("BPFTOOL") or shutil.which("bpftool") or "/usr/sbin/bpftool"
    for path in Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            fields = dict(line.split(":", 1) for line in path.read_text().splitlines() if ":" in line)
        except FileNotFoundError:
            continue  # it looks at files now and then, and closes them
        if "map_id" not in fields:
            continue
        map_id = fields["map_id"].strip()
        about = json.loads(subprocess.check_output([bpftool, "-j", "map", "show", "id", map_id]))
        if about["name"] == name:
            dump = json.loads(subprocess.check_output([bpftool, "-j", "map", "dump", "id", map_id]))
            return [int.from_bytes(bytes(int(byte, 16) for byte in entry["key"]), "little") for entry in dump]
    raise AssertionError(f"no map {name}")


def samples(least):
    """For sample(until=...)."""
    return lambda data: total(data["counts"]) >= least


def of_pid(data, pid):
    return [item for item in data["counts"] if item["pid"] == pid]


def settled(data, pid):
    """Counts of windows in which all that live_probe said at the first notice of a process was known: notices of a
    window are taken when the next one has begun, at the latest, and a process may have its first sample in any."""
    counts = of_pid(data, pid)
    first = min((item["window"] for item in counts), default=0)
    return [item for item in counts if item["window"] > first + 1]


def assert_nothing_lost(data):
    lost = {name: number for name, number in data["counters"].items()
            if number and (name.startswith("lost_") or name in
                           ("stack_buffer_full", "seen_full", "notice_lost", "kernel_stack_error",
                            "cut_depth", "cut_leaf", "cut_all"))}
    assert lost == {}, lost
    assert data["missing_stacks"] == 0
    assert total(data["counts"]) == data["counters"]["samples"]


@contextmanager
def cgroups(*names):
    """New cgroups in the v2 hierarchy, wherever it is mounted; names may be paths, outer ones first."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    top = next(Path(mount[1]) for mount in mounts if mount[2] == "cgroup2") / f"jbpf-test-{os.getpid()}"
    folders = [top, *[top / name for name in names]]
    for folder in folders:
        folder.mkdir(exist_ok=True)  # of a killed run whose pid was the same
    try:
        yield folders[1:]
    finally:
        deadline = time.monotonic() + 60
        for folder in reversed(folders):
            while True:
                try:
                    folder.rmdir()
                    break
                except OSError:
                    assert time.monotonic() < deadline, f"{folder} stays busy"
                    time.sleep(0.05)
