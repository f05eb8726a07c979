#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is left of jbpfd when one of its calls fails: the n-th allocation, read, write, message, sync, rename or
open (EIO, ENOSPC, half of it) after a moment while it runs, in the process that is asked for. Some daemons run
beside each other, each for some points, one after the other: afterwards windows are written, every sample is
there or counted as lost, as `jbpf status` says, too, and no process has more descriptors, or left a zombie; in
the end jbpfd stops with exit code 0 and its store has no damage.

The calls of two windows are counted first; the n that are tried are spread over them evenly: POINTS of each
process and way to fail; with --fast only some at all, of which each n is a guess. What runs meanwhile is not twice the same, so that the n-th call is
another one in each run, and some n is not reached: that is counted, and no failure.

Usage: tests/failures/daemon.py [--build DIR] [--fast] [--only PROCESS[:MODE[:N]]] [--points N] [--seed N]
Needs root and cgroups v2. Last line: "N passed, N failed"; a process with a way to fail is one test.
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import mmap
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import sweep  # noqa: E402

MODES = {"memory": 1, "EIO": 2, "ENOSPC": 3, "short": 4}
ARM = struct.Struct("=II16sQQ6Q")  # struct arm of fail_nth.c
POINTS = 40  # of a process and mode
POINTS_A_LIFE = 10  # of a daemon: a namer that ends is started 16 times at once
DAEMONS = 2
WINDOW_S = 1
LIVE_PROGRAMS = 4
GOOD_WINDOWS = 4  # at the end: a daemon that lost one is well after three
REACHED_S = 2.5  # a call that is not made until then is not made
LOG_BYTES = 6000
MERGES_S = 15  # after the start
PATIENCE_S = 120
GAP_S = 0.05  # between windows
SLACK_SHARE = 0.2  # of samples: a virtual machine's clock is not the CPU's
EXPECTED_MIN = 100
LATE_SAMPLES = 8
FREQUENCY_HZ = 499
SPIN_S = 0.25

TARGET = collections.namedtuple("Target", "process name event")
POINT = collections.namedtuple("Point", "target mode number")
OUTCOME = collections.namedtuple("Outcome", "point is_reached where said")
SAMPLER, WRITER, NAMER, PARSER, LAUNCHER, MERGER = (
    "jbpfd", "jbpfd+", "jbpfd-namer", "jbpfd-parser", "jbpfd-launcher", "jbpfd-compact")
# The process, its name in the report, and what brings it to its calls.
TARGETS = [
    TARGET(SAMPLER, "sampler", None), TARGET(WRITER, "writer", None), TARGET(NAMER, "namer", None),
    TARGET(PARSER, "parser", None), TARGET(LAUNCHER, "launcher", "new namer"),
    TARGET(SAMPLER, "sampler, new namer", "new namer"), TARGET(NAMER, "new namer", "new namer"),
    TARGET(SAMPLER, "sampler, SIGHUP", "SIGHUP"), TARGET(MERGER, "merging child", "start")
]
# With --fast: two lives, each process in one of them, the n by chance.
FAST = [[("merging child", "memory", 60), ("sampler", "memory", 60), ("writer", "EIO", 12), ("launcher", "EIO", 8)],
        [("sampler, SIGHUP", "EIO", 60), ("parser", "EIO", 20), ("namer", "EIO", 200), ("namer", "memory", 100)]]
GONE = ("memory", "undecided", "given_up", "store")  # reasons that leave nothing of a sample
HOST = collections.namedtuple("Host", "boot_ns duration_ns start_s samples lost")


def parse(option):
    """--only PROCESS[:MODE[:N]]"""
    words = (option or "").split(":")
    return words[0], words[1] if len(words) > 1 else "", int(words[2]) if len(words) > 2 else None


class Arm:
    """The page that a daemon's processes share with this program."""

    def __init__(self, path):
        path.write_bytes(bytes(4096))
        with open(path, "r+b") as file:
            self.page = mmap.mmap(file.fileno(), 4096)

    def set(self, point):
        self.clear()
        struct.pack_into("=16sQQ6Q", self.page, 8, point.target.process.encode(), point.number, 0, *[0] * 6)
        struct.pack_into("=II", self.page, 0, MODES[point.mode], 0)

    def clear(self):
        struct.pack_into("=II", self.page, 0, 0, 0)

    def state(self):
        """Calls so far, whether one failed, and its callers."""
        _, is_hit, _, _, count, *callers = ARM.unpack_from(self.page)
        return count, bool(is_hit), [caller for caller in callers if caller]


class Workload:
    """Programs that come and go in a cgroup of their own, each a file that nobody has read before."""

    def __init__(self, build, work):
        self.spinner = build / "tests/e2e/native_spinner"
        self.work = work
        self.cgroup = self.mount() / f"jbpf-failures-{os.getpid()}"
        self.cgroup.mkdir()
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    @staticmethod
    def mount():
        for line in pathlib.Path("/proc/mounts").read_text().splitlines():
            words = line.split()
            if words[2] == "cgroup2":
                return pathlib.Path(words[1])
        sys.exit("daemon: cgroups v2 are not mounted")

    def spawn(self, name, *arguments):
        """In a cgroup of its own: one that is banned costs the others nothing."""
        program, cgroup = self.work / name, self.cgroup / name
        shutil.copy(self.spinner, program)
        cgroup.mkdir()
        with open(cgroup / "cgroup.procs", "w") as procs:
            return subprocess.Popen([str(program), *map(str, arguments)], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, preexec_fn=lambda: os.write(procs.fileno(), b"0"))

    def drop(self, name, process):
        process.kill()
        process.wait()
        (self.work / name).unlink()
        while True:
            try:
                return (self.cgroup / name).rmdir()
            except OSError:
                time.sleep(0.01)  # it has just ended

    def run(self):
        running = [("stays", self.spawn("stays", 86400, 30))]
        for number in itertools.count():
            if self.ends.wait(SPIN_S):
                break
            name = f"comes-{number}"
            running.append((name, self.spawn(name, 1, 15)))
            if len(running) > LIVE_PROGRAMS:
                self.drop(*running.pop(1))
        for name, process in running:
            self.drop(name, process)

    def cpu_s(self):
        text = (self.cgroup / "cpu.stat").read_text()
        return int(re.search(r"^usage_usec (\d+)$", text, re.M).group(1)) / 1e6

    def stop(self):
        self.ends.set()
        self.thread.join()
        self.cgroup.rmdir()


class Life:
    """One jbpfd from its start to its end, and what failed meanwhile."""

    def __init__(self, run, points):
        self.run, self.build, self.points = run, run.build, points
        self.merges = points[0].target.event == "start"
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=run.work))
        self.store, self.log_path = self.folder / "store", self.folder / "log"
        self.arm = Arm(self.folder / "arm")
        self.outcomes = []
        self.process = self.files = None

    def start(self):
        if self.merges:
            shutil.copytree(self.run.unmerged, self.store)
            self.arm.set(self.points[0])
        config = self.folder / "config"
        config.write_text("keep-age = 30d\n")
        environment = {
            **os.environ, "LD_PRELOAD": str(self.build / "tests/failures/fail_nth.so"),
            "JBPF_FAIL": f"armed:{self.folder / 'arm'}",
            "ASAN_OPTIONS": "verify_asan_link_order=0:allocator_may_return_null=1:detect_leaks=0",
            "UBSAN_OPTIONS": "print_stacktrace=1"
        }
        with open(self.log_path, "w") as log:
            self.process = subprocess.Popen(
                [str(self.build / "bin/jbpfd"), "--store", str(self.store), "--window", f"{WINDOW_S}s", "--frequency",
                 str(FREQUENCY_HZ), "--cgroup", str(self.run.workload.cgroup), "--config", str(config)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        self.wait(lambda: " samples at " in self.log(), "jbpfd samples")
        self.began_s, self.began_cpu_s = time.monotonic(), self.run.workload.cpu_s()

    def wait(self, condition, what, seconds=PATIENCE_S):
        end = time.monotonic() + seconds
        while not condition():
            if self.process.poll() is not None:
                raise AssertionError(f"jbpfd ended with {self.process.returncode} before {what}: {self.log()[-300:]}")
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds} s: {what}")
            time.sleep(0.02)

    def log(self):
        return self.log_path.read_text(errors="replace")

    # ---- its processes ----

    def processes(self):
        """pid -> (name, state) of it and of all below it."""
        found, todo = {}, [self.process.pid]
        while todo:
            pid = todo.pop()
            try:
                stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
                name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
                children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
            except OSError:
                continue
            found[pid] = (name, stat.rsplit(")", 1)[1].split()[0])
            todo += [int(child) for child in children.split()]
        return found

    def pid_of(self, name):
        return next((pid for pid, (comm, state) in self.processes().items() if comm == name and state != "Z"), None)

    def descriptors(self):
        """Of those that live as long as it does."""
        found = {}
        for name in SAMPLER, LAUNCHER:
            pid = self.pid_of(name)
            links = []
            for entry in os.listdir(f"/proc/{pid}/fd"):
                try:
                    link = os.readlink(f"/proc/{pid}/fd/{entry}")
                    links.append(re.sub(r"\d+(-\d+)?", "N", link.replace(str(self.folder), "")))
                except OSError:
                    continue  # closed meanwhile
            found[name] = collections.Counter(links)
        return found

    # ---- points ----

    def provoke(self, event):
        if event == "new namer":
            pid = self.pid_of(NAMER)
            if pid:
                os.kill(pid, signal.SIGKILL)
        elif event == "SIGHUP":
            self.process.send_signal(signal.SIGHUP)

    def count(self, mode):
        """Calls in two windows."""
        target = self.points[0].target
        self.arm.set(POINT(target, mode, 0))
        self.provoke(target.event)
        time.sleep(2 * WINDOW_S)
        count = self.arm.state()[0]
        self.arm.clear()
        return count

    def where(self, callers):
        """The functions that the call was made from, innermost first."""
        named = subprocess.run(["addr2line", "-f", "-e", str(self.build / "bin/jbpfd"),
                                *(hex(caller - self.image() - 1) for caller in callers)], capture_output=True, text=True)
        return " < ".join(name for name in named.stdout.splitlines()[::2] if name != "??")

    def image(self):
        if not self.files:
            maps = pathlib.Path(f"/proc/{self.process.pid}/maps").read_text()
            self.files = int(next(line for line in maps.splitlines() if line.endswith("/jbpfd")).split("-")[0], 16)
        return self.files

    def point(self, point):
        self.image()
        said, starts = len(self.log()), point.target.event == "start"
        if not starts:
            self.arm.set(point)
            self.provoke(point.target.event)
        end = time.monotonic() + (MERGES_S if starts else REACHED_S)
        while not self.arm.state()[1] and time.monotonic() < end and self.process.poll() is None:
            time.sleep(0.02)
        _, is_hit, callers = self.arm.state()
        self.arm.clear()
        time.sleep(WINDOW_S if is_hit else 0)
        self.outcomes.append(OUTCOME(point, is_hit, self.where(callers) if is_hit else "", self.log()[said:]))
        if self.process.poll() is not None:
            raise AssertionError(f"jbpfd ended with {self.process.returncode}")

    # ---- afterwards ----

    def windows(self):
        """The host's records in their order, and the sum of streams by the moment they begin."""
        listed = sweep.must(sweep.run(self.build, [self.build / "tests/tools/store_windows", self.store]))
        hosts, streams = [], collections.Counter()
        for line in listed.out.decode().splitlines():
            what, start, duration, boot, samples, *rest = line.split()
            assert what != "damage", line
            if int(start) / 1e9 < self.first_s - 60:
                continue  # was in the store before
            fields = {name: int(value) for name, value in (word.split("=") for word in rest)}
            if what == "host":
                hosts.append(HOST(int(boot), int(duration), int(start) / 1e9, int(samples), fields))
            else:
                streams[int(boot)] += int(samples)
                assert fields["text"] == int(samples), f"text of {fields['text']} samples: {line}"
        return sorted(hosts), streams

    def check_windows(self):
        hosts, streams = self.windows()
        for one, after in zip(hosts, hosts[1:]):
            gap_s = (after.boot_ns - one.boot_ns - one.duration_ns) / 1e9
            assert gap_s < GAP_S or after.lost["store"], f"{gap_s:.3f} s are missing and nothing is said to be lost"
        kept, said = sum(streams.values()), sum(one.samples for one in hosts)
        # What the store lost of windows without a record is in no sum, so that this is not exact then.
        missing = said - kept - sum(one.lost[reason] for one in hosts for reason in GONE)
        assert missing <= LATE_SAMPLES, f"{missing} of {said} samples are neither there nor counted as lost"
        return hosts

    def check_status(self, hosts):
        """It is about the last minute: at least what was lost in 50 s of it, at most what was in 70 s."""
        now = time.time()
        status = sweep.run(self.build, [self.build / "bin/jbpf", "status", "--store", self.store, "--json"])
        told = json.loads(status.out)["lost"]
        for reason in hosts[0].lost.keys() & told.keys():
            least, most = (sum(host.lost[reason] for host in hosts if host.start_s > now - age) for age in (50, 70))
            assert least <= told[reason] <= most, f"status: {reason} {told[reason]}, the store {least} to {most}"

    def check_workload(self, hosts):
        """Is it as much as the programs ran?"""
        expected = (self.ended_cpu_s - self.began_cpu_s) * FREQUENCY_HZ
        told = sum(one.samples + one.lost["counts_full"] + one.lost["no_map"] + one.lost["store"] for one in hosts)
        assert expected < EXPECTED_MIN or told >= expected * (1 - SLACK_SHARE), \
            f"{told} samples, those lost among them, of a workload of {expected:.0f}"

    def settle(self):
        """Until it is as it was before; what is wrong when it does not get there."""
        wrong = []

        def is_settled():
            wrong.clear()
            there = self.processes()
            wrong.extend(f"zombie {name}" for name, state in there.values() if state == "Z")
            names = [name for name, _ in there.values()]
            wrong.extend(f"{names.count(name)} x {name}" for name in (LAUNCHER, NAMER) if names.count(name) != 1)
            wrong.extend(f"{names.count(name)} x {name}" for name in (PARSER, MERGER) if names.count(name) > 1)
            if not wrong:
                now = self.descriptors()
                wrong.extend(f"{name}: {link} x {cnt} more" for name in now
                             for link, cnt in (now[name] - self.before[name]).items())
            return not wrong

        try:
            self.wait(is_settled, "all is as before", PATIENCE_S / 2)
        except AssertionError as error:
            raise AssertionError(f"{error}: {wrong}") from None

    def finish(self):
        time.sleep(GOOD_WINDOWS * WINDOW_S)
        self.settle()
        self.ended_cpu_s = self.run.workload.cpu_s()
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise AssertionError("jbpfd does not stop") from None
        assert code == 0, f"stopped with exit code {code}"
        log = self.log()
        assert not re.search("Sanitizer|runtime error", log), "sanitizer"
        assert "is not sampled" not in log, "a CPU is said not to be sampled"
        checked = sweep.run(self.build, [self.build / "bin/jbpf", "store", "check", "--store", self.store])
        assert checked.code == 0, f"store check: {checked.out.decode()[-300:]} {checked.err[-300:]}"
        hosts = self.check_windows()
        self.check_status(hosts)
        self.check_workload(hosts)
        if self.merges:
            assert sweep.old_digest(self.build, self.store) == self.run.old_digest, "something stored before is lost"

    def live(self):
        """Tries its points. What is wrong, or None."""
        self.first_s = time.time()
        try:
            self.start()
            self.wait(lambda: any(self.store.rglob(f"cpu/{time.gmtime().tm_year}/*/*/*.zst")), "a window is written")
            # The launcher has two sockets for the namer's copy, which is made after the first window.
            self.wait(lambda: "jbpfd-standby" in [name for name, _ in self.processes().values()], "the namer has a copy")
            self.before = self.descriptors()
            for point in self.points:
                self.point(point)
            self.finish()
            return None
        except (AssertionError, OSError) as error:
            return str(error)
        finally:
            self.drop()

    def counts(self):
        """How many calls there are, by the way to fail."""
        self.first_s = time.time()
        try:
            self.start()
            if self.merges:
                self.wait(lambda: self.pid_of(MERGER), "hours are merged")
                self.wait(lambda: not self.pid_of(MERGER), "hours were merged")
                return {self.points[0].mode: self.arm.state()[0]}
            time.sleep(1.2 * WINDOW_S)
            return {mode: self.count(mode) for mode in MODES}
        finally:
            self.drop()

    def drop(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()


class Run:
    def __init__(self, options, work):
        self.build, self.work = options.build.resolve(), work
        self.points = options.points
        self.random = random.Random(options.seed)
        self.unmerged = work / "unmerged"
        windows = "".join(sweep.window(i, sweep.OLD + i * 150) for i in range(24))
        sweep.make(self.build / "tests/tools/mkstore", self.unmerged, windows)
        self.old_digest = sweep.old_digest(self.build, self.unmerged)
        self.workload = Workload(self.build, work)
        self.tried = self.reached = 0

    def numbers(self, cnt):
        """Spread over all calls."""
        if cnt <= self.points:
            return list(range(1, cnt + 1))
        step = cnt / self.points
        return sorted({min(cnt, 1 + int(step * (i + self.random.random()))) for i in range(self.points)})

    def lives(self, target, mode, cnt):
        """Daemons with the points of each: from all over, so that a life has all kinds."""
        points = [POINT(target, mode, number) for number in self.numbers(cnt)]
        life_cnt = -(-len(points) // (1 if target.event == "start" else POINTS_A_LIFE))
        return [Life(self, points[i::life_cnt]) for i in range(life_cnt)]

    @staticmethod
    def report(life, fault):
        print(f"       {fault}")
        for outcome in life.outcomes:
            said = "".join(f"\n              {line}" for line in outcome.said.splitlines())
            print(f"         {outcome.point.target.name}, {outcome.point.mode}:{outcome.point.number}: "
                  f"{outcome.where if outcome.is_reached else 'not reached'}{said}")
        if "sanitizer" in fault or "Sanitizer" in life.log():
            print(life.log()[-LOG_BYTES:])
        sys.stdout.flush()

    def test(self, name, lives, pool):
        begin = time.monotonic()
        faults = list(pool.map(Life.live, lives))
        outcomes = [outcome for life in lives for outcome in life.outcomes]
        reached = sum(outcome.is_reached for outcome in outcomes)
        self.tried += len(outcomes)
        self.reached += reached
        print(f"{'FAILED' if any(faults) else 'ok':6} {name}: {len(outcomes)} points, {reached} reached, "
              f"{sum(map(bool, faults))} faults, {time.monotonic() - begin:.1f} s", flush=True)
        for life, fault in zip(lives, faults):
            if fault:
                self.report(life, fault)
            shutil.rmtree(life.folder)
        return not any(faults)

    def fast(self, pool):
        """The lives go on beside each other."""
        targets = {target.name: target for target in TARGETS}
        lives = [Life(self, [POINT(targets[name], mode, self.random.randint(1, most)) for name, mode, most in points])
                 for points in FAST]
        return [self.test("some of each process", lives, pool)]

    def all(self, only, pool):
        name, mode, number = only
        found = [(target, one) for target in TARGETS for one in MODES
                 if target.name.startswith(name) and one.startswith(mode)]
        if number:
            return [self.test(target.name, [Life(self, [POINT(target, one, number)])], pool) for target, one in found]
        # One life counts for all ways to fail, but of what only happens at the start.
        counters = {(target, one if target.event == "start" else ""): Life(self, [POINT(target, one, 0)])
                    for target, one in found}
        counts = dict(zip(counters, pool.map(Life.counts, counters.values())))
        results = []
        for target, one in found:
            cnt = counts[target, one if target.event == "start" else ""][one]
            if cnt:
                results.append(self.test(f"{target.name}, {one}, {cnt} calls", self.lives(target, one, cnt), pool))
            else:
                print(f"       {target.name}, {one}: no such call")
        return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=sweep.TOP / "build")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--only", default="", help="PROCESS[:MODE[:N]]")
    parser.add_argument("--points", type=int, default=POINTS, help="of a process and mode")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    begin = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="jbpf-failures.") as folder, \
            concurrent.futures.ThreadPoolExecutor(DAEMONS) as pool:
        run = Run(options, pathlib.Path(folder))
        try:
            results = run.fast(pool) if options.fast else run.all(parse(options.only), pool)
        finally:
            run.workload.stop()
    print(f"{run.reached} points of {run.tried} were reached in {time.monotonic() - begin:.0f} s")
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
