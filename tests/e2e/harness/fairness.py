# SPDX-License-Identifier: Apache-2.0
"""What test_fairness.py measures: one daemon, two witnesses that work on whatever happens (a JVM and a C
program), a newcomer per attack, and what of them is in the store afterwards, held against the CPU time
that they really used and against what the same daemon had of them beside an honest neighbour."""
import contextlib
import json
import math
import re
import shutil
import subprocess
import threading
import time

from harness.containers import java
from harness.daemon import CLOCK_SLACK, Daemon
from harness.folded import Folded, most_by_luck, plain
from harness.hostile import SANITIZED
from harness.neighbours import Neighbours
from harness.programs import AIDS, BUILD, jbpf, run, wait_until
from harness.store import make_store

HZ = 99  # usually
WINDOW = 2  # seconds
LATE = 10  # seconds behind its end, and a window: then it must be readable
SECONDS = 6  # that an attack is looked at
LEAST_CPU_SECONDS, MOST_SECONDS = 1, 40  # ... more of them until the witness has worked so much
LIFE = 900  # seconds: longer than all tests
LEAST_SAMPLES, LEAST_NAMED = 0.97, 0.99
MOST_LEAFS_ALONE = 0.001  # of a JVM's samples, which lack the caller of their leaf
PERCENT = 40  # of a CPU, for each witness
# What jbpfd may use beside twice its quiet figures: a new neighbour's files are read once.
CPU_SLACK, MEMORY_SLACK_KIB = 0.05, 24 << 10
MOST_LOG_BYTES = 16 << 10
MOST_STORE_BYTES = 2 << 20  # that one attack may add to the store, or it is said
# What a neighbour may cost only on its own name: samples (or stacks, or notices) of the host's losses.
LOSSES = ("counts_full", "no_map", "stack_buffer", "store", "memory", "not_named", "cut")
PLANTED = re.compile(r"planted|work_of_file|burn_as_jvm|aaaa")
PLACEHOLDER = re.compile(r"\[.*\]$")
CHAIN = ["main", "serve", "real_caller", "leaf"]
LATE_CHAIN = ["main", "serve_late", "late_caller", "leaf"]
STORE_WINDOWS = BUILD / "tests" / "tools" / "store_windows"


class Watch(threading.Thread):
    """Notes every tenth of a second what CPU time and memory cgroups have used, and when the store grew."""

    def __init__(self, scene):
        super().__init__(daemon=True)
        self.scene, self.cpu, self.memory, self.commits = scene, {}, [], []
        self.is_over = threading.Event()
        self.start()

    def run(self):
        while not self.is_over.wait(0.1):
            for name, cgroup in list(self.scene.watched.items()):
                with contextlib.suppress(OSError):
                    self.cpu.setdefault(name, []).append((time.time(), cgroup.cpu_seconds()))
            self.memory.append((time.time(), self.scene.watched["jbpfd"].memory_kib()))
            with contextlib.suppress(OSError):
                grown = max((file.stat().st_mtime for file in self.scene.daemon.store.rglob("*.zst")), default=0)
                if not self.commits or grown > self.commits[-1]:
                    self.commits.append(grown)

    def cpu_at(self, name, when):
        """CPU seconds that a cgroup had used at that moment."""
        points = self.cpu[name]
        for (one, used), (two, later) in zip(points, points[1:]):
            if one <= when <= two:
                return used + (later - used) * (when - one) / max(two - one, 1e-9)
        return points[0][1] if when < points[0][0] else points[-1][1]

    def cpu_between(self, name, begin, end):
        return self.cpu_at(name, end) - self.cpu_at(name, begin)

    def most_memory(self, begin, end):
        return max((kib for when, kib in self.memory if begin <= when <= end), default=0)

    def stop(self):
        self.is_over.set()
        self.join()


class Witness:
    """One process of which all is to be in the store. `chain`: of a C program, its frames."""

    def __init__(self, name, neighbour, chain=None):
        self.name, self.neighbour, self.chain, self.pid = name, neighbour, chain, neighbour.pid
        self.quiet = None  # a Seen
        self.samples = self.expected = 0.0  # of all attacks


class Seen:
    """What a store has of a witness between two windows' borders."""

    def __init__(self, samples, expected, folded, streams):
        self.samples, self.expected, self.folded = samples, expected, folded
        self.frames = sum(stream["frames"] for stream in streams)
        self.unknown = sum(stream["unknown_frames"] for stream in streams)

    @property
    def nameless(self):
        """Samples with a frame that stands for one without a name."""
        return self.folded.samples(lambda frames: any(PLACEHOLDER.match(plain(frame)) for frame in frames))

    def __repr__(self):
        return f"{self.samples} samples of {self.expected:.0f}, {self.nameless} nameless, " \
               f"{self.unknown} of {self.frames} frames unknown"


class Windows:
    """The windows of a store that lie between two moments, oldest first, and their samples by pid."""

    def __init__(self, store, begin, end):
        printed = subprocess.run([STORE_WINDOWS, store], text=True, errors="replace", timeout=240,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert printed.returncode == 0, printed.stdout[-2000:]
        self.hosts, self.pids, self.damage, self.last_end = [], {}, [], 0
        for words in map(str.split, printed.stdout.splitlines()):
            if words[0] == "damage":
                self.damage.append(" ".join(words))
                continue
            start, length, samples = int(words[1]) / 1e9, int(words[2]) / 1e9, int(words[4])
            if words[0] == "host":
                self.last_end = max(self.last_end, start + length)
            if start < begin or start + length > end:
                continue
            if words[0] == "host":
                lost = {key: int(value) for key, value in (word.split("=") for word in words[5:])}
                self.hosts.append((start, start + length, samples, lost))
            else:
                pid = int(words[5].removeprefix("pid="))
                self.pids[pid] = self.pids.get(pid, 0) + samples
        self.hosts.sort(key=lambda host: host[:2])

    def lost(self, name):
        return sum(lost.get(name, 0) for _, _, _, lost in self.hosts)

    @property
    def samples(self):
        return sum(samples for _, _, samples, _ in self.hosts)


class Scene:
    """The daemon, which is replaced when it did not survive, the witnesses, and all neighbours."""

    def __init__(self, app, folder):
        self.app, self.folder, self.number = app, folder, 0
        folder.chmod(0o755)
        self.neighbours = Neighbours(app, folder)
        self.watched = {"jbpfd": self.neighbours.own_cgroup("jbpfd")}
        self.daemon = self.watch = None
        self.quiet_rate, self.quiet_kib = 0.0, 0

    def begin(self):
        self.replace_daemon()
        self.watch = Watch(self)
        self.native = self.witness("native", "/mnt/witness_spinner", LIFE, PERCENT, chain=CHAIN)
        self.jvm = self.witness("jvm", *java("Shares", LIFE, PERCENT), word="TRUTH")
        time.sleep(WINDOW)
        self.learn()

    def witness(self, name, *command, chain=None, word="READY"):
        command = ["/mnt" if part == "/app" else part for part in command]
        witness = Witness(name, self.neighbours.start(f"witness-{name}", *command, word=word), chain)
        self.watched[name] = witness.neighbour.cgroup
        return witness

    def newcomer(self):
        """A program that nobody has seen before."""
        self.number += 1
        name = f"newcomer-{self.number}"
        shutil.copy(AIDS / "witness_spinner", self.app / name)
        return self.witness(name, f"/mnt/{name}", LIFE, PERCENT // 2, chain=CHAIN)

    # ---- the daemon ----

    def replace_daemon(self, *options, store=None, environment=()):
        """Another one, on a store of its own."""
        self.end_daemon()
        self.number += 1
        store = store or self.folder / f"store-{self.number}"
        wrapper = ["env", *environment, "sh", "-c", f'{self.watched["jbpfd"].enter()} && exec "$@"', "sh"]
        self.daemon = Daemon(store.parent, *options, window=f"{WINDOW}s", wrapper=wrapper, name=store.name, hz=HZ)
        self.hz = self.daemon.hz
        self.options = None if environment else options
        self.daemon.start().wait_ready()

    def samples_since(self, witness, begin):
        """A witness's samples in windows that began since `begin`, by whatever clock they were written."""
        return Windows(self.daemon.store, begin, math.inf).pids.get(witness.pid, 0)

    def end_daemon(self):
        """However it is: one that hangs was judged before."""
        if self.daemon and self.daemon.process.poll() is None:
            self.daemon.process.terminate()
            try:
                self.daemon.process.wait(15)
            except subprocess.TimeoutExpired:
                self.daemon.process.kill()
                self.daemon.process.wait(60)

    def is_well(self, options=()):
        """It runs with these options and has just written."""
        return self.daemon.process.poll() is None and self.options == options and self.watch.commits and \
            time.time() - self.watch.commits[-1] < 2 * WINDOW + 1

    def store_bytes(self):
        return sum(file.stat().st_size for file in self.daemon.store.rglob("*.zst"))

    def wait_readable(self, moment):
        """Until a window that reaches beyond `moment` is in the store; false: too late. The time is the claim's,
        but for a first window that begins just before `moment`."""
        end = moment + 2 * WINDOW + LATE
        while self.daemon.process.poll() is None:
            commits = [commit for commit in self.watch.commits if commit > moment]
            if commits and Windows(self.daemon.store, moment, moment).last_end >= moment:
                return True
            if time.time() > end:
                return False
            time.sleep(0.2)
        return False

    # ---- looking at what it wrote ----

    def seen(self, witness, windows):
        begin, end = windows.hosts[0][0], windows.hosts[-1][1]
        when = ["--until", f"@{end:.3f}", "--pid", witness.pid]
        dumped = jbpf("dump", "--store", self.daemon.store, "--since", f"@{begin:.3f}", *when)
        listed = jbpf("dump", "--store", self.daemon.store, "--since", f"@{begin:.3f}", *when, "--list", "--format", "json")
        streams = json.loads(listed.stdout)["streams"] if listed.returncode == 0 else []
        return Seen(windows.pids.get(witness.pid, 0), self.hz * self.watch.cpu_between(witness.name, begin, end),
                    Folded(dumped.stdout if dumped.returncode == 0 else ""), streams)

    def over_budget(self, neighbours):
        """What the status says of these containers: what was cut of them, or what they cost."""
        status = jbpf("status", "--store", self.daemon.store, "--json", "--all")
        if status.returncode != 0:
            return []
        return self.said_of(json.loads(status.stdout)["streams"], neighbours)

    @staticmethod
    def said_of(streams, neighbours):
        ids = [neighbour.id for neighbour in neighbours] if neighbours is not None else [""]
        return [said for stream in streams for said in (stream.get("over_budget"), stream.get("cost"))
                if said and any(one in stream.get("cgroup", "") for one in ids)]

    def said_since(self, begin, neighbours=None):
        """The same of each window that began since then; without neighbours of all processes of the host."""
        found = []
        for start, end in self.daemon.windows():
            if start >= begin:
                listed = jbpf("dump", "--store", self.daemon.store, "--since", f"@{start + CLOCK_SLACK:.3f}",
                              "--until", f"@{end - CLOCK_SLACK:.3f}", "--list", "--format", "json")
                found += self.said_of(json.loads(listed.stdout)["streams"] if listed.returncode == 0 else [], neighbours)
        return found

    def learn(self):
        """The quiet figures, beside a neighbour that works as much as those that attack."""
        honest = self.neighbours.start("honest", "/mnt/native_spinner", LIFE, 100, word="")
        newcomer = self.newcomer()
        begin = time.time()
        time.sleep(SECONDS)
        wait_until(lambda: len(Windows(self.daemon.store, begin, time.time()).hosts) >= 3, 60,
                   f"windows are written without an attack: {self.daemon.log()[-2000:]}")
        end = time.time()
        windows = Windows(self.daemon.store, begin, end)
        for witness in (self.native, self.jvm, newcomer):
            witness.quiet = self.seen(witness, windows)
        self.quiet_rate = self.watch.cpu_between("jbpfd", begin, end) / (end - begin)
        self.quiet_kib = self.watch.most_memory(begin, end)
        for one in (honest, newcomer.neighbour):
            one.end()
        return newcomer

    def end(self):
        if self.watch:
            self.watch.stop()
        self.end_daemon()
        self.neighbours.end()


class Trial:
    """One attack: runs it, looks, and says what was not as it must be."""

    def __init__(self, scene, seconds=SECONDS):
        self.scene, self.seconds = scene, seconds
        self.attackers, self.problems, self.figures = [], [], []
        self.attack_begin = None

    def attack(self, *arguments, **options):
        self.attack_begin = self.attack_begin or time.time()
        self.attackers.append(self.scene.neighbours.start("attacker", *arguments, **options))
        return self.attackers[-1]

    def hostile(self, *arguments, **options):
        """hostile_neighbour, for as long as the trial may take."""
        kind_of, *rest = arguments
        return self.attack("/mnt/hostile_neighbour", kind_of, self.seconds + 60, *rest, **options)

    def must(self, is_so, problem):
        if not is_so:
            self.problems.append(problem)

    def run(self, late_victim=None):
        """To the end of the attack. `late_victim`: a witness beside the newcomer, started by now."""
        scene = self.scene
        log_bytes = scene.daemon.log_path.stat().st_size
        store_bytes = scene.store_bytes()
        self.begin = time.time()
        newcomer = scene.newcomer()
        self.witnesses = [scene.native, scene.jvm, newcomer, *([late_victim] if late_victim else [])]
        time.sleep(self.seconds)
        self.wait_windows()
        self.end = time.time()
        is_in_time = scene.wait_readable(self.end)
        self.must(scene.daemon.process.poll() is None,
                  f"jbpfd ended with {scene.daemon.process.poll()}: {scene.daemon.log()[-300:]!r}")
        self.must(is_in_time, f"no window that reaches to the end is readable {LATE} s and a window later")
        self.said = scene.over_budget(self.attackers)
        self.windows = Windows(scene.daemon.store, self.begin, self.end)
        self.judge_windows()
        if self.windows.hosts:
            for witness in self.witnesses:
                self.judge_witness(witness)
            self.judge_losses()
        self.judge_cost()
        log_bytes = scene.daemon.log_path.stat().st_size - log_bytes
        self.must(log_bytes <= MOST_LOG_BYTES, f"{log_bytes} bytes of log")
        store_bytes = scene.store_bytes() - store_bytes
        self.must(store_bytes <= MOST_STORE_BYTES or bool(self.said), f"{store_bytes} bytes of store, and nothing says whose")
        for one in self.witnesses[2:]:
            one.neighbour.end()
            del scene.watched[one.name]

    def wait_windows(self):
        """More time where a busy host gave the witness little, or the daemon wrote little: how late that may be is
        judged afterwards."""
        scene, patience = self.scene, self.begin + 2 * WINDOW + LATE
        watch = scene.watch

        def has_enough():
            return sum(commit > self.begin + WINDOW for commit in watch.commits) >= 2 and \
                watch.cpu_between("native", self.begin, time.time()) >= LEAST_CPU_SECONDS
        while not has_enough() and scene.daemon.process.poll() is None and time.time() < patience:
            time.sleep(0.2)
            if watch.commits and time.time() - watch.commits[-1] < 2 * WINDOW:
                patience = max(patience, self.begin + MOST_SECONDS)

    def stop(self):
        for one in reversed(self.attackers):
            one.end()

    def verdict(self):
        print("; ".join(self.figures))
        assert not self.problems, "\n".join(self.problems)

    # ---- what must be ----

    def judge_windows(self):
        hosts = self.windows.hosts
        self.must(not self.windows.damage, f"the store is damaged: {self.windows.damage[:3]}")
        self.must(bool(hosts), "no whole window was written")
        for one, two in zip(hosts, hosts[1:]):
            self.must(two[0] - one[1] < 0.5, f"{two[0] - one[1]:.2f} s between two windows are in none")
        for start, end, _, _ in hosts:
            self.must(end - start <= WINDOW + LATE, f"a window of {end - start:.1f} s")
            commit = min((commit for commit in self.scene.watch.commits if commit >= end), default=None)
            self.must(commit is not None and commit - end <= WINDOW + LATE,
                      f"a window was written {commit and commit - end} s after its end")

    def judge_witness(self, witness):
        seen = self.scene.seen(witness, self.windows)
        quiet = witness.quiet or self.scene.native.quiet
        self.figures.append(f"{witness.name}: {seen}")
        witness.samples += seen.samples
        witness.expected += seen.expected
        # What one attack's few samples may lack by luck; all attacks together are judged at the end.
        self.must(seen.samples >= LEAST_SAMPLES * seen.expected - 4 * math.sqrt(seen.expected) - 1,
                  f"{witness.name}: {seen.samples} samples of {seen.expected:.0f}")
        self.judge_names(witness, seen, quiet)
        wrong = self.wrong_of_chain(witness.chain) if witness.chain else self.wrong_of_java()
        self.must(not seen.folded.samples(wrong), f"{witness.name}: frames that it did not run: {seen.folded.show(wrong, 3)}")
        self.must(seen.folded.samples(self.lacks_caller_of_leaf) <= most_by_luck(MOST_LEAFS_ALONE, seen.folded.total),
                  f"{witness.name}: leafs without their caller: {seen.folded.show(self.lacks_caller_of_leaf, 3)}")

    def judge_names(self, witness, seen, quiet):
        named = 1 - LEAST_NAMED + (quiet.nameless / quiet.folded.total if quiet.folded.total else 0)
        self.must(seen.nameless <= most_by_luck(named, seen.folded.total),
                  f"{witness.name}: {seen.folded.show(lambda frames: any(PLACEHOLDER.match(f) for f in frames), 3)} "
                  "have a frame without a name")
        unknown = 1 - LEAST_NAMED + (quiet.unknown / quiet.frames if quiet.frames else 0)
        self.must(seen.unknown <= unknown * seen.frames + 2,
                  f"{witness.name}: {seen.unknown} of {seen.frames} frames are unknown")

    @staticmethod
    def wrong_of_chain(chain):
        """Of a C program every frame is known: those of its chain, in this order. One may be missing: a leaf's caller
        is, at the leaf's first instruction."""
        functions = {*CHAIN, *LATE_CHAIN}

        def wrong(frames):
            own = [frame for frame in frames[1:] if frame in functions]
            rest = iter(chain)
            return any(PLANTED.search(frame) for frame in frames[1:]) or not all(frame in rest for frame in own)
        return wrong

    @staticmethod
    def wrong_of_java():
        def wrong(frames):
            names = [plain(frame) for frame in frames[1:]]
            if any(PLANTED.search(name) for name in names):
                return True
            work = [i for i, name in enumerate(names) if name in ("Shares.seventy", "Shares.thirty")]
            # "Interpreter": its caller before a daemon that was just started had read the JVM's tables.
            above = ("Shares.work", "Interpreter", "[unknown]", "[unknown jit]", "[truncated]")
            return any(names[i - 1] not in above for i in work if i) and not Trial.lacks_caller_of_leaf(frames)
        return wrong

    @staticmethod
    def lacks_caller_of_leaf(frames):
        """Of Java: interrupted while its frame was made or taken down, and its code could not be read then."""
        names = [plain(frame) for frame in frames[-2:]]
        return names[0] == "Shares.main" and names[-1] in ("Shares.seventy", "Shares.thirty")

    def judge_losses(self):
        lost = {name: self.windows.lost(name) for name in LOSSES if self.windows.lost(name)}
        self.figures.append(f"{self.windows.samples} samples of the host, lost {lost}, {self.said[:1]}")
        if sum(lost.values()) > 0.01 * self.windows.samples + 2:
            self.must(bool(self.said), f"lost {lost}, and nothing says by whose doing")
        for one in self.witnesses:
            said = self.scene.over_budget([one.neighbour])
            self.must(not said, f"{one.name} is said to be over its budget, or to cost much: {said[:1]}")

    def judge_cost(self):
        rate = self.scene.watch.cpu_between("jbpfd", self.begin, self.end) / (self.end - self.begin)
        kib = self.scene.watch.most_memory(self.begin, time.time())
        self.figures.append(f"jbpfd {100 * rate:.1f} % of a CPU ({100 * self.scene.quiet_rate:.1f}), "
                            f"{kib >> 10} MiB ({self.scene.quiet_kib >> 10})")
        costs_cpu = rate > 2 * self.scene.quiet_rate + CPU_SLACK
        costs_memory = not SANITIZED and kib > 2 * self.scene.quiet_kib + MEMORY_SLACK_KIB
        # Something else may work on this host, too, as a build does: its cost is said beside its name.
        if (costs_cpu or costs_memory) and not (self.said or self.scene.said_since(self.begin - WINDOW)):
            self.must(not costs_cpu, f"jbpfd used {100 * rate:.1f} % of a CPU, {100 * self.scene.quiet_rate:.1f} % when "
                      "all is quiet, and nothing says for whom")
            self.must(not costs_memory, f"jbpfd had {kib >> 10} MiB, {self.scene.quiet_kib >> 10} MiB when all is quiet, "
                      "and nothing says for whom")


HISTORY_DAYS = 20


def make_history(store):
    """A window on each of the last days; returns when they were, seconds since 1970."""
    now = int(time.time())
    starts = [now - (day + 1) * 86400 for day in range(HISTORY_DAYS)]
    make_store(store, "".join(f"window start={start} pid=42 samples=7 comm=old\n\told;kept 7\ncommit\n"
                              for start in reversed(starts)))
    return starts


def lost_history(store, starts):
    """Which of these windows are not in the store any more."""
    dumped = [jbpf("dump", "--store", store, "--since", f"@{start}", "--until", f"@{start + 60}", "--comm", "old")
              for start in starts]
    return [start for start, result in zip(starts, dumped) if "old;kept 7" not in result.stdout]


def make_user(home):
    """(name, uid) of a user of the host with that home folder."""
    name = f"jbpf-{time.time_ns() % 10**8}"
    made = run("useradd", "--no-create-home", "--home-dir", home, "--shell", "/usr/sbin/nologin", name)
    assert made.returncode == 0, made.stderr
    return name, int(run("id", "-u", name).stdout)
