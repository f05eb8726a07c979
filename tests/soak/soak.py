# SPDX-License-Identifier: Apache-2.0
"""The soak itself: one daemon, a workload that never rests, readings every two seconds, clients that
read meanwhile, hours that pass in seconds; then the verdict. Started by tests/soak/run.

Phases: the daemon alone; the workload; the daemon alone again, when everything it held for processes
must be gone. Memory and descriptors must be flat over the second one without its first third."""
import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import measure  # noqa: E402
import test_verdict  # noqa: E402
import verdict  # noqa: E402
from workload import BUILD, Workload  # noqa: E402

READ_SECONDS = 2
WINDOW = 2
HOUR_STEP = 20  # seconds until an hour has passed
ALONE_SECONDS = 16
QUIET_SECONDS = 40  # processes are forgotten some windows after their end ...
QUIET_MOST_SECONDS = 240  # ... and windows come late on a busy machine
# (field, unit, most per hour in a long run, growth that fails a short one at once; None = not judged: it
# goes up and down with the JVMs there are). Names and symbol tables are kept up to a limit of their own,
# and grow until they reach it: `rest_kib` is all anonymous memory but them (pages of libraries count by how many
# others of the host have them), `unknown_kib` what malloc() gave out for other things.
FLAT = (("rest_kib", "KiB", 3072, 98304), ("unknown_kib", "KiB", 3072, None), ("fds", "", 20, 400),
        ("threads", "", 5, 100), ("processes", "", 2, 40), ("map_bytes", "B", 1 << 16, 1 << 20))
LONG_MINUTES = 45  # the interval of a shorter run is wider than what it should exclude
MOST_SYMBOLS_KIB = 60 << 10  # symbols/names/object_cache.h and name_table.h: 24 MiB each; the kernel's, and JVMs'
MOST_TABLE_BYTES = 9 << 20  # of unwind tables: 2,048 chunks, and what the kernel adds to each
MOST_KIB_LEFT = 6144  # of memory that is no names and no symbol tables, when everything is over: containers (4096 at most)
MOST_ZOMBIE_SECONDS = 60
MOST_FDS_LEFT = 12  # more than at the beginning, when everything is over
MOST_LOST = 0.001
LEAST_JVMS = 0.25  # of those planned, within MOST_LONGER times the time planned: on a busy machine they take longer
MOST_LONGER = 3


class Soak:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.random = random.Random(options.seed)
        self.name = f"jbpf-soak-{os.getpid()}"
        self.store, self.config, self.log_path = folder / "store", folder / "config", folder / "jbpfd.log"
        self.workload = Workload(self.name, options.intensity, options.seed)
        now = int(time.time())
        self.environment = dict(os.environ, HOUR_STEP=str(HOUR_STEP), HOUR_STEP_START=str(now - now % HOUR_STEP),
                                LD_PRELOAD=str(BUILD / "tests/soak/hour_steps.so"))
        self.rows, self.phases, self.clients, self.client_failures = [], {}, [], []
        self.client_runs = self.reloads = 0
        self.daemon = None
        self.zombies, self.zombie_seconds = {}, 0.0  # pid: seen first
        self.begin = time.monotonic()
        self.results = []

    def seconds(self):
        return time.monotonic() - self.begin

    # ---- the daemon and its clients ----

    def write_config(self):
        self.config.write_text(f"frequency = {self.random.choice([99, 99, 101])}\nlog-level = debug\n")

    def start_daemon(self):
        self.write_config()
        only = []
        if self.is_alone():
            only = ["--cgroup", self.workload.cgroup]
        with open(self.log_path, "w") as log:
            self.daemon = subprocess.Popen(
                [str(part) for part in (BUILD / "bin/jbpfd", "--store", self.store, "--window", f"{WINDOW}s",
                                        "--config", self.config, *only)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=self.environment)
        end = time.monotonic() + 120
        while " samples at " not in self.log():
            assert self.daemon.poll() is None and time.monotonic() < end, f"jbpfd does not start: {self.log()}"
            time.sleep(0.2)

    def log(self):
        return self.log_path.read_text(errors="replace")

    def client(self):
        """One of the readers of a store, at random; it may take its time."""
        store, choices = ("--store", self.store), (
            ("jbpf-dump", "--since", "1h"), ("jbpf-dump", "--since", "3h", "--format", "top"),
            ("jbpf-dump", "--since", "1h", "--list", "--format", "json"), ("jbpf-status", "--json"),
            ("jbpf-dump", "--since", "2h", "--format", "html"), ("jbpf-store", "check"), ("jbpf-store", "compact"))
        program, *arguments = self.random.choice(choices)
        command = [str(part) for part in (BUILD / "bin" / program, *arguments, *store)]
        self.client_runs += 1
        self.clients.append((command, subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            errors="replace", env=self.environment, preexec_fn=lambda: os.nice(10))))

    def reap_clients(self):
        left = []
        for command, process in self.clients:
            if process.poll() is None:
                left.append((command, process))
                continue
            said = process.stderr.read()
            process.stderr.close()
            # 3: no samples match. A merge that another one does already is none of the daemon's faults.
            if process.returncode not in (0, 3) and "compacted already" not in said:
                self.client_failures.append(f"{' '.join(command)}: {process.returncode} {said.strip()[-300:]}")
        self.clients = left

    # ---- phases ----

    def read(self, phase):
        found = measure.reading(self.daemon.pid, self.seconds(), self.store)
        memory = measure.memory_line(self.log_path)
        if not found or not memory:
            return
        row, zombies = found
        self.zombies = {pid: self.zombies.get(pid, self.seconds()) for pid in zombies}
        self.zombie_seconds = max([self.seconds() - since for since in self.zombies.values()] + [self.zombie_seconds])
        row.update(memory, phase=phase, jvms=self.workload.jvm_count(), rest_kib=row["anon_kib"] - memory["symbols_kib"],
                   unknown_kib=memory["given_kib"] - memory["symbols_kib"])
        self.rows.append(row)

    def phase(self, name, seconds, busy, is_lacking=lambda: False):
        """So long, and while is_lacking() up to MOST_LONGER times that."""
        begin = self.seconds()
        self.phases[name] = [begin, 0]
        next_reading, next_client, next_reload = 0, self.seconds() + 5, self.seconds() + 15
        while self.seconds() < begin + seconds or (is_lacking() and self.seconds() < begin + MOST_LONGER * seconds):
            now = self.seconds()
            assert self.daemon.poll() is None, f"jbpfd ended: {self.log()[-2000:]}"
            if busy:
                self.workload.step()
            if busy and now >= next_client and len(self.clients) < 3:
                self.client()
                next_client = now + self.random.uniform(3, 8) / self.options.intensity
            if busy and now >= next_reload:
                self.write_config()
                self.daemon.send_signal(signal.SIGHUP)
                self.reloads += 1
                next_reload = now + self.random.uniform(15, 35)
            self.reap_clients()
            if now >= next_reading:
                self.read(name)
                next_reading = now + READ_SECONDS
            time.sleep(0.2)
        self.phases[name][1] = self.seconds()

    def late_jvms(self):
        """How many began since half of the busy phase's time was over."""
        begin = self.phases["busy"][0] + self.busy_seconds / 2
        late = [row["jvms"] for row in self.rows if row["phase"] == "busy" and row["seconds"] >= begin]
        return late[-1] - late[0] if late else 0

    def is_lacking_jvms(self):
        return self.late_jvms() < LEAST_JVMS * self.workload.planned_jvms(self.busy_seconds / 2)

    def is_alone(self):
        """Is nothing profiled but the workload?"""
        return self.workload.cgroup and not self.options.whole_host

    def quiet(self):
        """Until the daemon has forgotten all processes, and has had some windows since."""
        begin = self.seconds()
        self.phase("ending", QUIET_SECONDS, busy=False)
        while self.is_alone() and self.rows[-1]["known_processes"] and self.seconds() < begin + QUIET_MOST_SECONDS:
            self.phase("ending", 2 * READ_SECONDS, busy=False)
        self.phase("quiet", 5 * READ_SECONDS, busy=False)

    def run(self):
        self.workload.prepare()
        self.start_daemon()
        total = self.options.minutes * 60
        self.begin = time.monotonic()
        self.phase("alone", ALONE_SECONDS, busy=False)
        self.workload.start()
        self.busy_seconds = total - ALONE_SECONDS - QUIET_SECONDS
        self.phase("busy", self.busy_seconds, busy=True, is_lacking=self.is_lacking_jvms)
        steady = self.workload.steady_alive()
        self.workload.end()
        self.quiet()
        for _, process in self.clients:
            process.wait(300)
        self.reap_clients()
        self.daemon.send_signal(signal.SIGTERM)
        exit_code = self.daemon.wait(300)
        self.judge(steady, exit_code)

    def end(self):
        """Whatever happened: nothing is left running."""
        if self.daemon and self.daemon.poll() is None:
            self.daemon.kill()
            self.daemon.wait()
        for _, process in self.clients:
            process.kill()
            process.wait()
        self.workload.end()
        self.workload.remove()

    # ---- verdict ----

    def result(self, name, is_good, text):
        self.results.append({"test": name, "ok": bool(is_good), "text": text})
        print(f"{'ok    ' if is_good else 'FAILED'} {name}: {text}", flush=True)

    def settled(self):
        begin, end = self.phases["busy"]
        warm = begin + (end - begin) / 3
        return [row for row in self.rows if row["phase"] == "busy" and row["seconds"] >= warm]

    def judge_churn(self):
        """Flat memory says nothing when no JVM comes and goes any more."""
        started, planned = self.late_jvms(), self.workload.planned_jvms(self.busy_seconds / 2)
        self.result("JVMs came and went to the end", started >= LEAST_JVMS * planned,
                    f"{started} began in the second half, {planned:.0f} would have on an idle machine")

    def judge_flat(self):
        is_long = self.options.minutes >= LONG_MINUTES
        for field, unit, most, at_once in FLAT:
            if not is_long and at_once is None:
                continue
            rows = self.settled()
            calm = [row for row in rows if not row["merging"]]
            if field == "rest_kib" and len(calm) >= 0.8 * len(rows):
                rows = calm  # a child that merges files shares the daemon's pages
            times, values = [row["seconds"] for row in rows], [row[field] for row in rows]
            slope = verdict.slope_of(times, values)
            # A short run proves no small slope; it finds what grows fast.
            good = verdict.is_flat(slope, most) if is_long else not verdict.is_growing(slope, at_once)
            self.result(f"{field} flat", good,
                        f"{min(values)} to {max(values)} {unit}, slope {slope.per_hour:+.1f} +- {slope.margin:.1f} "
                        f"{unit}/h ({'must stay below' if is_long else 'fails when surely above'} "
                        f"{most if is_long else at_once})")
        symbols = max(row["symbols_kib"] for row in self.rows)
        self.result("symbols below their limits", symbols <= MOST_SYMBOLS_KIB,
                    f"{symbols} KiB at most, limit {MOST_SYMBOLS_KIB}")
        # They are kept as images of JVMs come, until there is no room.
        tables = max(row["table_bytes"] for row in self.rows)
        self.result("unwind tables below their limit", 0 < tables <= MOST_TABLE_BYTES,
                    f"{tables} B at most, limit {MOST_TABLE_BYTES}")

    def judge_end(self):
        of = {name: [row for row in self.rows if row["phase"] == name] for name in self.phases}
        before = max(row["fds"] for row in of["alone"])
        after = min(row["fds"] for row in of["quiet"])
        most = before + MOST_FDS_LEFT
        # What else the host runs is not ours to end; in a cgroup of our own there is nothing else.
        if not self.is_alone():
            most += 2 * max(0, of["quiet"][-1]["host_processes"] - of["alone"][0]["host_processes"])
        self.result("descriptors are given back", after <= most, f"{before} before, {after} after, at most {most}")
        # Independent of how busy the machine was: what was kept for processes goes with them.
        before = max(row["unknown_kib"] for row in of["alone"])
        after = min(row["unknown_kib"] for row in of["quiet"])
        if self.is_alone():
            self.result("memory is given back", after - before <= MOST_KIB_LEFT,
                        f"{before} KiB before, {after} KiB after; names and symbols apart")
        # A child that ended is waited for at the end of a window.
        self.result("no zombies", self.zombie_seconds <= MOST_ZOMBIE_SECONDS,
                    f"{self.zombie_seconds:.0f} s old at most, limit {MOST_ZOMBIE_SECONDS} s")

    def judge_store(self):
        printed = subprocess.run([BUILD / "tests/tools/store_windows", self.store], timeout=600, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        account = verdict.account_of(printed.stdout.splitlines())
        lost = {reason: count for reason, count in account.lost.items() if count}
        self.result("no sample without explanation",
                    printed.returncode == 0 and account.counted > 0 and account.unexplained == 0 and
                    account.text == account.kept,
                    f"{account.counted} counted, {account.kept} kept, {account.text} in stacks, "
                    f"{account.unexplained} unexplained; lost by reason: {lost or 'none'}")
        self.result("hardly a sample lost", account.lost_samples <= MOST_LOST * account.counted,
                    f"{account.lost_samples} of {account.counted}")
        self.result("windows without gap", account.windows > 10 and account.gaps == 0,
                    f"{account.windows} windows, {account.gaps} gaps, {account.gap_ns / 1e9:.3f} s")
        checked = subprocess.run([BUILD / "bin/jbpf-store", "check", "--store", self.store], timeout=600,
                                 text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.result("store undamaged", checked.returncode == 0 and not account.damage,
                    checked.stdout.strip().replace("\n", "; ")[-300:])
        files = sorted(self.store.glob("v1/cpu/**/*.zst"))
        self.result("hours were closed", len(files) >= 2, f"{len(files)} files of hours and days")

    def judge(self, steady, exit_code):
        self.result("jbpfd ends by SIGTERM", exit_code == 0, f"exit code {exit_code}")
        self.result("steady programs were not harmed", steady, "alive at the end" if steady else "ended")
        self.result("clients", not self.client_failures,
                    f"{self.client_runs} runs; {self.client_failures[:3] or 'none failed'}")
        bad = [line for line in self.log().splitlines()
               if "not written" in line or "not recorded" in line]
        self.result("log", not bad, f"{self.reloads} reloads; {bad[:3] or 'no error'}")
        self.judge_churn()
        self.judge_flat()
        self.judge_end()
        self.judge_store()

    def table(self):
        print(f"\n{'':16}" + "".join(f"{name:>14}" for name in ("alone", "busy 1/3", "busy end", "quiet")))
        busy = [row for row in self.rows if row["phase"] == "busy"]
        third = len(busy) // 3
        parts = [[row for row in self.rows if row["phase"] == "alone"], busy[third:third + max(third // 2, 1)],
                 busy[-max(third // 2, 1):], [row for row in self.rows if row["phase"] == "quiet"]]
        for field in [name for name in self.rows[0] if name not in ("seconds", "phase")]:
            means = [sum(row[field] for row in part) / len(part) if part else 0 for part in parts]
            print(f"{field:16}" + "".join(f"{mean:14.1f}" for mean in means))
        work = ", ".join(f"{count} {name}" for name, count in self.workload.counts.items())
        cpu = self.rows[-1]["cpu_seconds"] / self.rows[-1]["seconds"] * 100
        print(f"\nworkload: {work}; {self.client_runs} clients; jbpfd {cpu:.2f} % of a core\n")

    def write_json(self, path):
        path.write_text(json.dumps({"minutes": self.options.minutes, "seed": self.options.seed,
                                    "phases": self.phases, "workload": self.workload.counts,
                                    "results": self.results, "rows": self.rows}))


def parse():
    parser = argparse.ArgumentParser(prog="tests/soak/run", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--fast", action="store_true", help="5 minutes, half the load: for CI")
    parser.add_argument("--intensity", type=float, default=1.0, help="how often things happen (1)")
    parser.add_argument("--whole-host", action="store_true", help="profile everything, not only the workload")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write readings and results there")
    parser.add_argument("--folder", type=Path, required=True, help="where store and log are kept")
    options = parser.parse_args()
    if options.fast:
        options.minutes, options.intensity = 5, 0.5
    if options.minutes < 3:
        parser.error("--minutes: at least 3")
    return options


def main():
    options = parse()
    for test in test_verdict.ALL:
        test()
    soak = Soak(options, options.folder)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        soak.run()
        soak.table()
    except (AssertionError, OSError, ValueError, subprocess.SubprocessError) as problem:
        soak.result("soak ran to its end", False, str(problem))
    finally:
        soak.end()
    if options.json:
        soak.write_json(options.json)
    failed = sum(not result["ok"] for result in soak.results)
    if failed:
        print("\n".join([line for line in soak.log().splitlines() if "libbpf" not in line][-30:]))
    print(f"{len(soak.results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
