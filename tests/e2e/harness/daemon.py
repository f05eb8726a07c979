# SPDX-License-Identifier: Apache-2.0
"""jbpfd on a store of its own, and reading that store with jbpf-dump."""
import json
import signal
import subprocess
import time

from harness.folded import Folded
from harness.programs import BIN, BUILD, PATIENCE, Lacking, is_gone, jbpf, life_of, run, wait_until

STORE_WINDOWS = BUILD / "tests" / "tools" / "store_windows"
HZ = 499  # unless it is told, or hz=None: as many samples in a fifth of the time as at its own default
CLOCK_SLACK = 0.005  # seconds; the end of a window and the begin of the next one are one reading of another clock


class Daemon:
    def __init__(self, folder, *options, window="1s", wrapper=(), name="store", keep_store_option=True, hz=HZ):
        self.store = folder / name
        self.log_path = folder / f"{name}.log"
        options = [str(option) for option in options]
        self.hz = int(options[options.index("--frequency") + 1]) if "--frequency" in options else hz
        frequency = ["--frequency", str(hz)] if hz and "--frequency" not in options else []
        store = ["--store", str(self.store)] if keep_store_option else []
        self.command = [*map(str, wrapper), str(BIN / "jbpfd"), *store, "--window", window,
                        *frequency, *options]
        self.process = None
        self.log_begin = 0  # where that of the process which runs begins
        self.started = self.stopped = None  # seconds since 1970

    def start(self):
        self.started = time.time()
        with open(self.log_path, "a") as log:
            self.log_begin = log.tell()
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=subprocess.STDOUT)
        return self

    def wait_ready(self, seconds=20):
        """It is sampling once it holds its store: that happens after the probe was loaded."""
        def ready():
            assert self.process.poll() is None, f"jbpfd ended: {self.log()}"
            return self.store.is_dir() and any(self.store.iterdir()) and " samples at " in self.own_log()
        wait_until(ready, seconds, lambda: f"jbpfd samples; log: {self.log()}")
        return self

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def own_log(self):
        """Without what earlier ones of this store said."""
        return self.log_path.read_bytes()[self.log_begin:].decode(errors="replace")

    def stop(self, number=signal.SIGTERM, seconds=30):
        """Its exit code; a daemon that does not end is killed and that is a failure."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.stopped = int(time.time())
        try:
            return self.process.wait(seconds * PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"jbpfd did not end within {seconds * PATIENCE:.0f} s of signal {number}: {self.log()}")

    def since(self):
        """--since that covers its whole life."""
        return f"@{int(self.started) - 1}"

    def dump_raw(self, *selectors, **options):
        return jbpf("dump", "--store", self.store, "--since", self.since(), *selectors, **options)

    def dump(self, *selectors, since=None):
        """`since`: seconds since 1970; all it has by default."""
        begin = self.since() if since is None else f"@{since:.3f}"
        result = jbpf("dump", "--store", self.store, "--since", begin, *selectors)
        assert result.returncode == 0, f"jbpf-dump {selectors}: {result.returncode} {result.stderr}"
        return Folded(result.stdout)

    def list_text(self, *selectors):
        result = self.dump_raw("--list", *selectors)
        assert result.returncode == 0, f"jbpf-dump --list: {result.returncode} {result.stderr}"
        return result.stdout

    def list_json(self, *selectors):
        """One object per stream, with its counts."""
        result = self.dump_raw("--list", "--format", "json", *selectors)
        assert result.returncode == 0, f"jbpf-dump --list: {result.returncode} {result.stderr}"
        return json.loads(result.stdout)["streams"]

    def status(self, *options):
        result = jbpf("status", "--store", self.store, *options)
        assert result.returncode == 0, f"jbpf-status: {result.returncode} {result.stderr}"
        return result.stdout

    def status_json(self, *options):
        """Streams of the last minute by pid; of one pid's streams the latest."""
        return {stream["pid"]: stream for stream in json.loads(self.status("--json", *options))["streams"]}

    def wait_samples(self, wanted, since=None, seconds=300):
        """Until that many samples of each pid are in the store; a busy host gives them slowly. Fails as soon as no
        more can come."""
        for pid, count in wanted.items():
            self.wait_samples_of(pid, count, self.started - 1 if since is None else since, seconds)

    def wait_samples_of(self, pid, count, since, seconds):
        gone = []  # when it was first seen to be

        def are_stored():
            # Asked before the store is: what is read after that is all there will be.
            ended = self.process is not None and self.process.poll() is not None
            gone_since = self.gone_since(pid, gone)
            if self.samples_of(pid, since) >= count:
                return True
            assert not ended, f"jbpfd has ended with {self.process.returncode}, and still not: {what()}"
            if gone_since:
                raise Lacking(f"pid {pid} is gone since {gone_since}, and still not: {what()}")
            return False

        def what():
            return f"{count} samples of pid {pid} are in the store: {self.account_of(pid, since)}"
        wait_until(are_stored, seconds, what)

    def gone_since(self, pid, gone):
        """When it ended, if no more samples of it come, or None. `gone`: a list that is empty at first."""
        if not gone and is_gone(pid):
            gone.append(time.time())
        # Windows are stored in turn: all that began while it lived are stored before one that began later.
        if gone and any(begin >= gone[0] for begin, _ in self.windows()):
            return time.ctime(gone[0])
        return None

    def dump_of(self, pid, since):
        return jbpf("dump", "--store", self.store, "--since", f"@{since:.3f}", "--pid", pid)

    def samples_of(self, pid, since):
        dumped = self.dump_of(pid, since)
        return Folded(dumped.stdout).total if dumped.returncode == 0 else 0

    def account_of(self, pid, since):
        """What there is of a process instead of the samples that were waited for, for messages of failures."""
        dumped = self.dump_of(pid, since)
        listed = self.dump_raw("--list", "--format", "json")
        streams = json.loads(listed.stdout)["streams"] if listed.returncode == 0 else []
        streams = sorted(streams, key=lambda stream: (stream["pid"] != pid, -stream["samples"]))[:20]
        return (f"{self.samples_of(pid, since)} since {time.ctime(since)} "
                f"(jbpf-dump: {dumped.returncode} {dumped.stderr.strip()!r}); it is {life_of(pid)}; its samples and others': "
                f"{[(stream['pid'], stream['comm'], stream['samples']) for stream in streams]}; log: {self.log()}")

    def windows(self):
        """(begin, end) of what is stored, seconds since 1970. A busy daemon's are longer than it was asked for."""
        listed = run(STORE_WINDOWS, self.store)
        assert listed.returncode == 0, listed.stderr
        hosts = [line.split()[1:3] for line in listed.stdout.splitlines() if line.startswith("host ")]
        return sorted((int(begin) / 1e9, (int(begin) + int(duration)) / 1e9) for begin, duration in hosts)

    def stored_until(self):
        """A moment, seconds since 1970: no window that is stored now reaches beyond it, and the next one does."""
        return self.windows()[-1][1] + CLOCK_SLACK

    def wait_met(self, pids):
        """A moment, seconds since 1970: windows that reach beyond it began when the daemon had named a window of
        each. Of its very first samples it does not know yet that they are a JVM's, and a busy daemon may first read
        the JVM's tables when the first window ends, which proves nothing about the samples taken before that."""
        self.wait_samples({pid: 1 for pid in pids})
        named = time.time()
        later = wait_until(lambda: [begin for begin, _ in self.windows() if begin >= named], 300,
                           lambda: f"a window begins and ends; log: {self.log()}")
        return later[0] + CLOCK_SLACK

    def has(self, *selectors):
        return self.dump_raw(*selectors).returncode == 0
