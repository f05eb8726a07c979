#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every call that can fail does, once: for each command the n-th allocation, open, read, write, sync, rename
(EIO, ENOSPC, half of it), for n = 1, 2, 3 ... as SQLite's tests do it. After each the program must have said
clearly that it failed, or have given the whole right result; nothing that is stored may be lost, and nothing
may crash. With --fast, for scripts/check, each place of the program fails in each way, but not again in each command
that comes by there, nor in each round of a loop (some_rounds()); and where each n is dear, a part of them. With --turn COMMIT,
too, a third of these places: which one, the commit says.

Usage: tests/failures/sweep.py [--build DIR] [--fast [--turn COMMIT]] [--only CASE] [--max-points N]
Last line: "N passed, N failed"; a case with a way to fail is one test.
"""
import argparse
import collections
import concurrent.futures
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
MODES = ["memory", "EIO", "ENOSPC", "short"]
FAST_POINTS = 12  # of a case that copies a store, and mode
TURNS = 3
MEMORY_BYTES = 2 << 30  # many times what the sweep writes
JOBS = 2
TIMEOUT_S = 120
SHOWN_FAULTS = 5  # of a case and mode
EXIT_SANITIZER = 99
DAY_S = 86400
OLD = 1700000000  # 2023-11-14T22:13:20Z: becomes a day file
HOUR_S = 3600
WRITTEN_FROM, WRITTEN_UNTIL = 1700006380, 1700006480  # by write_windows

Result = collections.namedtuple("Result", "code out err cnt hit places")


def run(build, argv, fail=None, env=None):
    """Runs a program; `fail` is (mode, n)."""
    read_fd, write_fd = os.pipe()
    environment = {
        **os.environ, "TZ": "UTC",
        "ASAN_OPTIONS": f"verify_asan_link_order=0:exitcode={EXIT_SANITIZER}:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1", "LSAN_OPTIONS": f"exitcode={EXIT_SANITIZER}", **(env or {})
    }
    if fail:
        environment["LD_PRELOAD"] = str(build / "tests/failures/fail_nth.so")
        environment["JBPF_FAIL"] = f"{fail[0]}:{fail[1]}:{write_fd}"
    process = subprocess.Popen([str(part) for part in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=environment, pass_fds=(write_fd,))
    os.close(write_fd)
    try:
        out, err = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        err += b"\nhangs"
    with os.fdopen(read_fd, "rb") as reader:
        words = reader.read().split()
    cnt, hit = (int(words[0]), words[1] == b"1") if len(words) >= 2 else (0, False)
    return Result(process.returncode, out, err.decode(errors="replace"), cnt, hit, words[2:])


def some_rounds(places):
    """Of the calls of each place, by number, the 1st, 2nd, 4th, 8th ... and the last: {(place, which of these): number}."""
    seen, some, last = collections.Counter(), {}, {}
    for number, place in enumerate(places, 1):
        seen[place] += 1
        last[place] = number
        if seen[place].bit_count() == 1:
            some[place, seen[place]] = number
    return {**some, **{(place, "last"): number for place, number in last.items() if seen[place].bit_count() > 1}}


def today():
    return int(time.time()) // DAY_S


def must(result):
    if result.code:
        sys.exit(f"sweep: preparing failed with {result.code}: {result.err}")
    return result


def make(tool, folder, script, *arguments):
    made = subprocess.run([str(tool), str(folder), *arguments], input=script, text=True, capture_output=True,
                          timeout=TIMEOUT_S)
    if made.returncode:
        sys.exit(f"sweep: {tool.name}: {made.stderr}")


def host_window(minute, host):
    lines = "".join(f"\tjava;a.B.run_[j];a.B.m{m}_[j] {300 + (7 * minute + 5 * host + m) % 11}\n" for m in range(9))
    samples = sum(int(line.rpartition(" ")[2]) for line in lines.splitlines())
    return (f"window start={OLD + 60 * minute} pid={40 + host} duration=60 samples={samples} frames={3 * samples} frequency_hz=99 "
            f"comm=java service=shop host=web-{host}\n{lines}commit\n")


def window(number, start):
    pid = 40 + number % 3
    stacks = "".join(f"\tjava;a.B.run_[j];a.B.own_{number}_{i}_[j] 1\n" for i in range(10, 30))
    threads = "".join(f"\t+{i} 1 pool-{i % 3}\n" for i in range(20)) + f"\t+20 {pid - 9} main\n\t+20 9 pool-{number % 3}\n"
    return (f"window start={start} pid={pid} duration=10 samples={20 + pid} frames=9 frequency_hz=49 comm=java "
            f"service=shop container=shop-{pid}\n{stacks}\tjava;a.B.run_[j];a.B.work_[j] {pid}\n{threads}"
            f"\t@a.B.work_[j];B.java:{10 + number % 4} {pid}\n"
            f"window start={start} pid=0 duration=10 samples=99\ncommit\n")


def digest(build, store):
    """What is in the store, however it is laid out: sums by process, and all stacks."""
    listed = must(run(build, [build / "tests/tools/store_windows", store]))
    sums = collections.Counter()
    for line in listed.out.decode().splitlines():
        words = line.split()
        if words[0] == "damage":
            sums[line] += 1
            continue
        fields = dict(word.split("=") for word in words[5:])
        key = fields.get("pid", "host")
        sums[key, "samples"] += int(words[4])
        sums[key, "text"] += int(fields.get("text", 0))
    stacks = must(run(build, [build / "bin/jbpf", "dump", "--store", store, "--since", "@1", "--by", "pid", "--by", "thread"]))
    return sums, stacks.out


def old_digest(build, store):
    """Likewise of what make_stores() puts there, without anything that is newer."""
    listed = must(run(build, [build / "tests/tools/store_windows", store]))
    sums = collections.Counter()
    for line in listed.out.decode().splitlines():
        words = line.split()
        if words[0] == "damage" or int(words[1]) // 10**9 < OLD + DAY_S:
            fields = dict(word.split("=") for word in words[5:] if "=" in word)
            sums[fields.get("pid", "host")] += int(words[4]) if words[0] != "damage" else 1
    return sums


def content(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in (".lock", ".reserve")}


def is_told(result):
    """A line of the program about what went wrong; diff --days has one for each service, store check one for
    each place, as their results."""
    return (re.search(r"^(jbpf|write_windows)[^:]*: .", result.err, re.M) is not None or
            re.search(rb"^\S+ +failed.*: .", result.out, re.M) is not None or b"input/output error" in result.out)


def without_age(out):
    return re.sub(rb'(_age_ms":|written for |was stopped |UTC, |"now":)[0-9]+', rb"\g<1>N", out)


class Case:
    """One command. Subclasses that change something work in a copy of their own."""

    fast_points = None  # all places: a part of them misses a fault by chance

    def __init__(self, name, sweep, *argv, may_end=(0,), normal=lambda out: out):
        self.name, self.sweep, self.argv, self.may_end, self.normal = name, sweep, argv, may_end, normal

    def prepare(self):
        first, self.right = self.run_in(None, None), None
        if first.code not in self.may_end:
            sys.exit(f"sweep: {self.name} ends with {first.code}: {first.err}")
        self.right = self.result_of(first, None)
        again = self.result_of(self.run_in(None, None), None)
        if again != self.right:
            sys.exit(f"sweep: {self.name} does not give the same twice")
        self.right_code = first.code

    def copy(self):
        return None

    def run_in(self, folder, fail):
        return run(self.sweep.build, self.argv, fail)

    def result_of(self, result, folder):
        return self.normal(result.out)

    def after(self, result, folder):
        """What is wrong with what was left; None = nothing."""

    def count(self, mode):
        """A run in which nothing fails."""
        folder = self.copy()
        try:
            return self.run_in(folder, (mode, 0))
        finally:
            self.drop(folder)

    def drop(self, folder):
        if folder:
            shutil.rmtree(folder)

    def judge(self, mode, number):
        folder = self.copy()
        try:
            result = self.run_in(folder, (mode, number))
            if result.code < 0 or "hangs" in result.err:
                return f"ends with {result.code}"
            if result.code == EXIT_SANITIZER or "Sanitizer" in result.err or "runtime error" in result.err:
                return "sanitizer: " + result.err[:4000]
            if mode == "short" and result.hit and result.code != self.right_code:
                return f"half a read or write ends it with {result.code}: {result.err.strip()[-200:]}"
            if result.code == self.right_code:
                if self.result_of(result, folder) != self.right:
                    return f"exit code {result.code} with another result: {result.err.strip()[-300:]}"
            elif not result.code:
                return "exit code 0"
            elif not is_told(result):
                return f"ends with {result.code} and no word: {result.err.strip()[-200:]}"
            return self.after(result, folder)
        finally:
            self.drop(folder)


class FileCase(Case):
    """Writes a file: the old one, or the whole new one."""

    def copy(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.sweep.work))
        (folder / "out").write_bytes(b"old")
        return folder

    def run_in(self, folder, fail):
        target = folder or self.sweep.work
        result = run(self.sweep.build, [*self.argv, "-o", target / "out"], fail)
        self_content = (target / "out").read_bytes()
        return result._replace(out=self_content)

    def after(self, result, folder):
        # What cannot be read is left out of a profile, which is said and no success.
        if result.out not in (b"old", self.right) and "result is not complete" not in result.err:
            return "the file is neither the old one nor the whole new one"
        left = [path.name for path in folder.iterdir() if path.name != "out"]
        return f"left behind: {left}" if left else None


class StoreCase(Case):
    """Changes a store, in a copy."""

    fast_points = FAST_POINTS

    def __init__(self, name, sweep, source, *argv, **options):
        super().__init__(name, sweep, *argv, **options)
        self.source = source

    def copy(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.sweep.work))
        if self.source:
            shutil.copytree(self.source, folder / "store", symlinks=True)
        return folder


class CompactCase(StoreCase):
    def prepare(self):
        folder = self.copy()
        self.before = digest(self.sweep.build, folder / "store")
        self.right_code = must(self.run_in(folder, None)).code
        if digest(self.sweep.build, folder / "store") != self.before:
            sys.exit("sweep: compaction changes what is stored")
        self.right = self.files(folder)
        self.drop(folder)

    @staticmethod
    def files(folder):
        return sorted(content(folder / "store"))

    def run_in(self, folder, fail):
        return run(self.sweep.build, [self.sweep.build / "bin/jbpf", "store", "compact", "--store", folder / "store"],
                   fail)

    def result_of(self, result, folder):
        return self.files(folder)

    def after(self, result, folder):
        if digest(self.sweep.build, folder / "store") != self.before:
            return "something that was stored is lost, or counts twice"
        again = self.run_in(folder, None)
        if again.code:
            return f"the next compaction ends with {again.code}: {again.err.strip()[-200:]}"
        if digest(self.sweep.build, folder / "store") != self.before:
            return "something is lost, or counts twice, after the next compaction"
        if self.files(folder) != self.right:
            return f"left behind: {set(self.files(folder)) ^ set(self.right)}"
        return None


class WriteCase(StoreCase):
    """jbpfd's windows: what the writer says it has written is what is there."""

    def prepare(self):
        folder = self.copy()
        first = must(self.run_in(folder, None))
        self.right, self.right_code = first.out, 0
        fault = self.after(first, folder)
        if fault:
            sys.exit(f"sweep: {self.name}: {fault}")
        self.drop(folder)

    def run_in(self, folder, fail):
        return run(self.sweep.build, [self.sweep.build / "tests/failures/write_windows", folder / "store"], fail)

    def after(self, result, folder):
        said = sorted(result.out.decode().splitlines())
        if not (folder / "store/v1/cpu").exists():
            return None if not said else "there is no store"
        listed = must(run(self.sweep.build, [self.sweep.build / "tests/tools/store_windows", folder / "store"]))
        found = []
        for line in listed.out.decode().splitlines():
            words = line.split()
            if words[0] == "damage":
                return line
            start = int(words[1]) // 10**9
            if not WRITTEN_FROM <= start < WRITTEN_UNTIL:
                continue
            pid = dict(word.split("=") for word in words[5:]).get("pid", "0")
            found.append(f"written {pid} {start} {words[4]}")
        return None if sorted(found) == said else f"said {len(said)} windows, there are {len(found)}"


class DaysCase(StoreCase):
    """diff --days: pages and learned series."""

    def run_in(self, folder, fail):
        out = folder / "days" if folder else pathlib.Path(tempfile.mkdtemp(dir=self.sweep.work)) / "days"
        result = run(self.sweep.build, [*self.argv, "--output-dir", out], fail)
        if not folder:
            shutil.rmtree(out.parent)
        return result

    def copy(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.sweep.work))
        if self.source:
            shutil.copytree(self.source, folder / "days")
        return folder

    def prepare(self):
        folder = self.copy()
        first = self.run_in(folder, None)
        if first.code not in self.may_end:
            sys.exit(f"sweep: {self.name} ends with {first.code}: {first.err}")
        self.right_code, self.right = first.code, self.result_of(first, folder)
        self.drop(folder)

    def result_of(self, result, folder):
        files = {name: text for name, text in content(folder / "days").items() if not name.startswith(".")}
        return result.out, sorted(files), {name: text for name, text in files.items() if name.startswith("series")}

    def after(self, result, folder):
        again = self.run_in(folder, None)
        if again.code != self.right_code:
            return f"the next run ends with {again.code}: {again.err.strip()[-200:]}"
        out, names, series = self.result_of(again, folder)
        if names != self.right[1]:
            return f"left behind, or missing: {set(names) ^ set(self.right[1])}"
        return None if out == self.right[0] and series == self.right[2] else "the next run gives another result"


class Receiver(http.server.ThreadingHTTPServer):
    """Takes whatever jbpf push sends, and keeps it by the first part of its path, or the database."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), ReceiverHandler)
        self.taken = collections.defaultdict(set)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """Clients that end early are what is tested."""


class ReceiverHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        if len(body) < length:
            return
        if b"FROM jbpf_schema" in body:  # what ClickHouse is asked, with the mark of a row: its tables have all columns
            columns = re.search(rb"name IN \(([^)]*)\)", body).group(1).count(b",") + 1
            self.answer(b"1\t1\t0\t%d\n" % columns)
            return
        name = re.search(r"^/(?:\?database=)?([^/?&]+)", self.path).group(1)
        self.server.taken[name].add((self.path.partition(name)[2], body))
        self.answer(b"")

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class PushCase(StoreCase):
    """Sends a store of some minutes: who says that it is sent has sent all, and the next push sends the same requests, or the rest."""

    def __init__(self, scheme, settings, sweep, store):
        super().__init__(f"push {scheme}", sweep, None)
        self.scheme, self.settings, self.store = scheme, settings, store

    def prepare(self):
        folder = self.copy()
        self.right_code = must(self.run_in(folder, None)).code
        self.right = self.result_of(None, folder)
        if not self.right:
            sys.exit(f"sweep: {self.name} sends nothing")
        self.drop(folder)

    def run_in(self, folder, fail):
        url = f"{self.scheme}://127.0.0.1:{self.sweep.receiver.server_address[1]}/{folder.name}{self.settings}"
        return run(self.sweep.build, [self.sweep.build / "bin/jbpf", "push", url, "--store", self.store, "--state",
                                      folder / "state", "--once"], fail)

    def result_of(self, result, folder):
        return set(self.sweep.receiver.taken[folder.name])

    def after(self, result, folder):
        again = self.run_in(folder, None)
        if again.code:
            return f"the next push ends with {again.code}: {again.err.strip()[-200:]}"
        return None if self.result_of(again, folder) == self.right else "the next push does not send the rest"

    def drop(self, folder):
        super().drop(folder)
        self.sweep.receiver.taken.pop(folder.name, None)


class Sweep:
    def __init__(self, options, work):
        self.build = options.build.resolve()
        self.work = work
        self.fast = options.fast
        self.max_points = options.max_points
        self.turn = None if options.turn is None else int(options.turn, 16) % TURNS
        self.points = 0
        self.tried = set()  # (mode, place, which of its calls), with --fast
        self.jbpf = self.build / "bin/jbpf"
        self.receiver = Receiver()
        self.make_stores()

    def make_stores(self):
        now = int(time.time()) // HOUR_S * HOUR_S
        mkstore, self.store = self.build / "tests/tools/mkstore", self.work / "read"
        self.unmerged = self.work / "unmerged"
        old = "".join(window(i, OLD + i * 150) for i in range(24))  # two hours of a day
        late = "".join(window(i, now - 2 * DAY_S + i * 150) for i in range(12))
        make(mkstore, self.store, old + late)
        must(run(self.build, [self.jbpf, "store", "compact", "--store", self.store]))
        make(mkstore, self.store, "".join(window(i, now - 4 * HOUR_S + i * 150) for i in range(12)))
        make(mkstore, self.unmerged, old + late)
        self.until = now + HOUR_S
        self.waits = self.work / "waits"
        cpu = "".join(window(i, OLD + i * 150) for i in range(6))
        make(mkstore, self.waits, cpu + cpu.replace(" pid=", " event=5 unit=1 period=100000000 pid="))
        self.two_days = self.work / "two-days"
        midnight = int(time.time()) // DAY_S * DAY_S
        runs = "".join(f"run pid=1 from={midnight - day * DAY_S + 9 * HOUR_S} "
                       f"until={midnight - day * DAY_S + 11 * HOUR_S} service=shop\n" for day in (3, 2, 1, 0))
        make(self.build / "tests/tools/mkdiffstore", self.two_days, runs, "1", "0.003", "0.01")
        self.sides = ["--before", f"@{midnight - 2 * DAY_S}..@{midnight - DAY_S}", "--after",
                      f"@{midnight - DAY_S}..@{midnight}"]
        self.hosts = self.work / "hosts"
        make(mkstore, self.hosts, "".join(host_window(i // 5, i % 5) for i in range(5 * 9)))
        self.sent = self.work / "sent"
        make(mkstore, self.sent, "".join(host_window(i // 2, i % 2) for i in range(2 * 3)))
        self.series = self.work / "series"
        must(run(self.build, [self.jbpf, "diff", "--days", "1", "--store", self.two_days, "--output-dir", self.series]))

    def cases(self):
        dump = [self.jbpf, "dump", "--store", self.store, "--since", "@1", "--until", f"@{self.until}"]
        diff = [self.jbpf, "diff", "--store", self.two_days]
        days = [*diff, "--days", "1"]
        for form in "folded", "svg", "top", "json", "pprof", "speedscope", "otlp", "cells":
            may_end = (3,) if form == "cells" else (0,)
            yield Case(f"dump {form}", self, *dump, "--format", form, may_end=may_end)
        yield FileCase("dump html", self, *dump, "--format", "html")
        yield Case("dump threads", self, *dump, "--by", "thread", "--thread", "pool-*")
        yield Case("dump lines", self, *dump, "--format", "top", "--lines")
        yield Case("dump by", self, *dump, "--format", "top", "--by", "pid", "--by", "container")
        yield Case("dump callers", self, *dump, "--callers", "*own*")
        yield Case("dump own", self, *dump, "--own", "*own*,a.?.c")
        yield Case("dump list", self, *dump, "--list")
        yield Case("dump of two stores", self, *dump, "--store", self.waits, "--by", "pid")
        yield Case("diff of two stores", self, *diff, "--store", self.waits, *self.sides)
        views = [self.jbpf, "dump", "--store", self.waits, *dump[4:]]
        yield Case("dump wall", self, *views, "--event", "wall", "--format", "json")
        yield Case("dump lock", self, *views, "--event", "lock", may_end=(3,))
        for form in "top", "json", "folded":
            yield Case(f"diff {form}", self, *diff, *self.sides, "--format", form)
        yield FileCase("diff html", self, *diff, *self.sides, "--format", "html")
        hosts = [self.jbpf, "diff", "--store", self.hosts, "--since", f"@{OLD}", "--until", f"@{OLD + 540}"]
        yield Case("diff of hosts", self, *hosts, "--before-host", "*", "--after-host", "web-4")
        yield Case("diff outlier hosts", self, *hosts, "--outlier-hosts")
        yield DaysCase("diff days", self, None, *days)
        yield DaysCase("diff days again", self, self.series, *days)
        yield Case("status", self, self.jbpf, "status", "--store", self.store, normal=without_age)
        yield Case("status json", self, self.jbpf, "status", "--store", self.store, "--json", normal=without_age)
        yield Case("status check", self, self.jbpf, "status", "--store", self.store, "--check", "--all", may_end=(4,),
                   normal=without_age)
        yield Case("store check", self, self.jbpf, "store", "check", "--store", self.store)
        yield Case("store check json", self, self.jbpf, "store", "check", "--store", self.store, "--format", "json")
        top = [self.jbpf, "top", "--store", self.store, "--since", "@1"]
        yield Case("top", self, *top, normal=without_age)
        yield Case("top of one", self, *top, "--container", "shop-40", normal=without_age)
        web = [self.build / "tests/tools/web_question"]
        yield Case("web info", self, *web, "info", "--store", self.store, normal=without_age)
        yield Case("web timeline", self, *web, "timeline", "--store", self.store, "--since", f"@{OLD}", "--until",
                   f"@{self.until}", "--step", "2d")
        for scheme, settings in ("otlp+http", ""), ("pyroscope+http", ""), ("clickhouse", "?tls=off"):
            yield PushCase(scheme, settings, self, self.sent)
        yield CompactCase("store compact", self, self.unmerged)
        yield WriteCase("windows into a new store", self, None)
        yield WriteCase("windows into a store", self, self.unmerged)

    def numbers(self, case, mode, counted):
        """Which calls fail: all, or some that are spread evenly and end with the last, or those that did not yet."""
        points = self.max_points or (case.fast_points if self.fast else None)
        if points and counted.cnt > points:
            spread = [max(1, counted.cnt * (i + 1) // points) for i in range(points)]
            return sorted({*self.of_turn(spread), spread[-1]})
        if not self.fast or points or counted.cnt != len(counted.places):
            return range(1, counted.cnt + 1)
        new = {(mode, *key): number for key, number in some_rounds(counted.places).items()
               if (mode, *key) not in self.tried}
        self.tried |= set(new)
        # The last one of each command: mostly that is its output.
        return sorted({*self.of_turn(list(new.values())), *([counted.cnt] if counted.cnt else [])})

    def of_turn(self, numbers):
        """Neighbours, of one function, have different turns."""
        return numbers if self.turn is None else numbers[self.turn::TURNS]

    @staticmethod
    def prepare(case):
        case.day = today()
        case.prepare()

    @staticmethod
    def faults(case, mode, pool, numbers):
        judged = zip(numbers, pool.map(lambda n: case.judge(mode, n), numbers))
        return [(number, fault) for number, fault in judged if fault]

    def sweep(self, case, mode, pool):
        begin, counted = time.monotonic(), case.count(mode)
        numbers = self.numbers(case, mode, counted)
        faults = self.faults(case, mode, pool, numbers)
        if faults and case.day != today():
            # Midnight was in between: yesterday is another day, and a moment of today has a date.
            self.prepare(case)
            faults = self.faults(case, mode, pool, numbers)
        self.points += len(numbers)
        print(f"{'FAILED' if faults else 'ok':6} {case.name}, {mode}: {len(numbers)} of {counted.cnt} points, {len(faults)} faults, "
              f"{time.monotonic() - begin:.1f} s", flush=True)
        for number, fault in faults[:SHOWN_FAULTS]:
            print(f"       {mode}:{number}: {fault}", flush=True)
        return not faults


def memory() -> str | None:
    """A folder in memory, if there is room: each call fails in a store of its own, and a disk makes each wait."""
    folder = "/dev/shm"
    there = os.access(folder, os.W_OK) and shutil.disk_usage(folder).free >= MEMORY_BYTES
    return folder if there else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=TOP / "build")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--turn", metavar="COMMIT", help="with --fast: a third of the places, by this commit's hash")
    parser.add_argument("--only", help="cases whose names begin so")
    parser.add_argument("--max-points", type=int, help="of a case and mode")
    options = parser.parse_args()
    passed = failed = 0
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="jbpf-failures.", dir=memory()) as folder, \
            concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        sweep = Sweep(options, pathlib.Path(folder))
        cases = [case for case in sweep.cases() if not options.only or case.name.startswith(options.only)]
        # All before any: what tells a time that is not left out of it (without_age()) is another result then, always.
        for case in cases:
            sweep.prepare(case)
        for case in cases:
            for mode in MODES:
                if sweep.sweep(case, mode, pool):
                    passed += 1
                else:
                    failed += 1
    print(f"{sweep.points} points in {time.monotonic() - begin:.0f} s")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
