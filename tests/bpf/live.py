# SPDX-License-Identifier: Apache-2.0
"""What the tests of the BPF side share: running loads, and live_probe's samples of them."""
import json
import os
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.programs import Lacking

TOP = Path(__file__).resolve().parents[2]
AIDS = TOP / os.environ.get("BUILD", "build") / "tests" / "bpf"
END_ROOT, END_MAX_DEPTH, END_FAULT, END_BAD_FP, END_LEAF_ONLY, END_CUT_DEPTH, END_CUT_LEAF, END_CUT_ALL = range(8)
VARIANTS = pytest.mark.parametrize("variant", [[], ["--compat"]], ids=["oncpu", "oncpu_compat"])


@contextmanager
def load(*args, prefix=(), cpu=None, program="load", stdin=None):
    """A running load that has begun its work; .pid is its own pid even below a wrapper."""
    command = [*prefix, AIDS / program, *args]
    pin = (lambda: os.sched_setaffinity(0, {cpu})) if cpu is not None else None
    process = subprocess.Popen([str(part) for part in command], stdin=stdin, stdout=subprocess.PIPE,
                               text=True, preexec_fn=pin)
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


class Sampling:
    """live_probe, sampling from construction to result()."""

    def __init__(self, *args):
        self.process = subprocess.Popen([str(AIDS / "live_probe"), *[str(arg) for arg in args]],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        assert line == "sampling\n", line

    def end(self):
        """Without a result."""
        self.process.kill()
        self.process.communicate()

    def result(self):
        out, err = self.process.communicate(timeout=240)
        assert self.process.returncode == 0, err
        data = json.loads(out)
        data["counts"] = [item for item in data["items"] if "count" in item]
        data["notices"] = [item for item in data["items"] if "notice" in item]
        data["ticks"] = [item for item in data["items"] if "tick_us" in item]
        data["accounts"] = [item for item in data["items"] if "account" in item]
        data["new"] = [item for item in data["items"] if "new" in item]
        return data


def total(counts):
    return sum(item["count"] for item in counts)


def sample(*args, until=lambda data: total(data["counts"]) > 0):
    """Samples, and once more and longer when that does not give what until(data) asks for: on a busy
    machine a load may get little CPU time."""
    args = list(args)
    seconds = args.index("--seconds") + 1
    for _ in range(5):
        data = Sampling(*args).result()
        if until(data):
            return data
        args[seconds] = min(3 * args[seconds], 20)
    raise Lacking(f"too little even in {args[seconds]} s: {data['counters']}")


def sample_life(mode, seconds, *args, sampled, until):
    """Samples a load from before its begin to after its end, `seconds` by the clock, and again when it did not
    get the CPU in time for what until(data, pid) asks for: three times as long each time. (data, pid)"""
    for factor in (1, 3, 9, 27):
        sampling = Sampling("--seconds", factor * sampled)
        with load(mode, factor * seconds, *args) as process:
            process.wait(timeout=240)
            in_time = sampling.process.poll() is None
            data = sampling.result()
        if in_time and until(data, process.pid):
            return data, process.pid
    raise Lacking(f"{mode}: {of_pid(data, process.pid)} {[one for one in data['notices'] if one['pid'] == process.pid]}")


def keys_of(pid, name):
    """Keys of a map by pids of a running live_probe, found by its map ids."""
    bpftool = os.environ.get("BPFTOOL") or shutil.which("bpftool") or "/usr/sbin/bpftool"
    for path in Path(f"/proc/{pid}/fdinfo").iterdir():
        fields = dict(line.split(":", 1) for line in path.read_text().splitlines() if ":" in line)
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
        folder.mkdir()
    try:
        yield folders[1:]
    finally:
        deadline = time.monotonic() + 5
        for folder in reversed(folders):
            while True:
                try:
                    folder.rmdir()
                    break
                except OSError:
                    assert time.monotonic() < deadline, f"{folder} stays busy"
                    time.sleep(0.05)
