# SPDX-License-Identifier: Apache-2.0
"""What the tests of hostile neighbours share: a daemon that is watched, a witness that must go on
being profiled whatever happens beside it, and how long and heavy the attacks are."""
import os
import re
import time
from pathlib import Path

from harness.programs import jbpf, wait_until

LONG = os.environ.get("JBPF_HOSTILE") == "long"
SANITIZED = os.environ.get("JBPF_BUILD", "").endswith("dev")  # ASan: other figures for memory
WINDOW = 2  # seconds
# One that is held up writes no window for as long as the attack goes on. A busy machine delays them.
LATEST = 60
MOST_FDS = 200  # perf events and BPF maps of a large host included


def heavy(usual, long):
    """How many, or how long: usually, and with JBPF_HOSTILE=long."""
    return long if LONG else usual


class Watched:
    """A running daemon whose memory and descriptors are looked at while it works."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.folder = Path("/proc") / str(daemon.process.pid)
        self.settled_kib = self.rss_kib()

    def rss_kib(self):
        return int(re.search(r"^VmRSS:\s+(\d+) kB$", (self.folder / "status").read_text(), re.M).group(1))

    def peak_kib(self):
        return int(re.search(r"^VmHWM:\s+(\d+) kB$", (self.folder / "status").read_text(), re.M).group(1))

    def fd_cnt(self):
        return len(os.listdir(self.folder / "fd"))

    def assert_sound(self):
        assert self.daemon.process.poll() is None, self.daemon.log()[-2000:]
        assert self.fd_cnt() <= MOST_FDS, os.listdir(self.folder / "fd")

    def assert_bounded(self, most_mib):
        self.assert_sound()
        if not SANITIZED:
            assert self.peak_kib() <= most_mib << 10, f"{self.peak_kib()} KiB at most, {self.rss_kib()} now"

    def assert_goes_on(self, witness_pid, frame, samples=5, since=None):
        """From now on, or `since`, the witness gets its samples, by name, window after window."""
        begin = time.time() if since is None else since

        def named():
            assert self.daemon.process.poll() is None, self.daemon.log()[-2000:]
            dumped = jbpf("dump", "--store", self.daemon.store, "--since", f"@{begin:.3f}", "--pid", witness_pid)
            return dumped.returncode == 0 and dumped.stdout.count(f";{frame}") >= 1 and \
                sum(int(line.rpartition(" ")[2]) for line in dumped.stdout.splitlines() if frame in line) >= samples
        wait_until(named, LATEST, f"{frame} of {witness_pid} is profiled while it is under attack; "
                   f"log: {self.daemon.log()[-1500:]}")


def assert_unharmed(container, progress):
    """Its JVM works on, and nobody made it talk."""
    before = container.logs().count(progress)
    wait_until(lambda: container.logs().count(progress) > before or not container.running(), LATEST,
               f"{container.name} works on")
    assert container.running(), container.logs()[-800:]
    assert "Full thread dump" not in container.logs()


def thread_names(pid):
    names = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            names.append((task / "comm").read_text().rstrip("\n"))
        except OSError:
            continue  # ended meanwhile
    return names
