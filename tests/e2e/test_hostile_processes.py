# SPDX-License-Identifier: Apache-2.0
"""Processes that lie to the profiler, change under its eyes, come and go, or take all there is.
Under one daemon, beside a witness that must be profiled as if they were not there. JBPF_HOSTILE=long
makes it longer and heavier."""
import ctypes
import errno
import itertools
import os
import re
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

from harness.containers import java
from harness.file_witness import FileWitness
from harness.folded import Folded, plain
from harness.hostile import LATEST, WINDOW, Watched, assert_unharmed, heavy, thread_names
from harness.neighbours import CGROUP_ROOTS, is_removed
from harness.programs import AIDS, PATIENCE, wait_cpu, wait_until

pytestmark = pytest.mark.live

SECONDS = 900  # longer than any test; containers are removed before
LIES = ("endless", "loops", "numbers", "changing", "stalling")
UNREADABLE = ("null", "empty", "loops")
MAPPED_FILES = heavy(4000, 60000)
THREADS = 1000
SHORT_LIVED = heavy(2000, 10000)
MOST_PIDS = 300  # of the fork bomb's container
MOST_MIB = 160  # of one JVM and one C program: some 40
OWN_FUNCTION, OTHER_FUNCTION = b"work_of_file_a", b"work_of_file_b"


class Attacked:
    """A daemon, its witnesses, and containers of attackers."""

    def __init__(self, engine, app, module_daemon):
        self.engine, self.app = engine, app
        self.daemon = module_daemon("--log-level", "debug", window=f"{WINDOW}s", name="hostile").start().wait_ready()
        self.witness = subprocess.Popen([AIDS / "native_spinner", str(SECONDS), "10"])
        self.jvm = engine.start_ready("witness", java("Shares", SECONDS, 10), "TRUTH")
        self.watched = Watched(self.daemon)

    def attack(self, name, *arguments, **options):
        """A container with hostile_process at it."""
        return self.engine.start_ready(f"hostile-{name}", ["/app/hostile_process", *arguments], "READY", **options)

    def assert_goes_on(self, since=None):
        self.watched.assert_goes_on(self.witness.pid, "burn_seventy", since=since)
        self.watched.assert_goes_on(self.jvm.pid, "Shares.seventy", samples=3, since=since)
        self.watched.assert_sound()

    def samples_of(self, pid, frame=None):
        """Those of one pid, once there are some; with this frame, if it is given."""
        self.daemon.wait_samples({pid: 5}, seconds=LATEST)
        if frame:
            wait_until(lambda: self.daemon.dump("--pid", pid).with_frame(frame) >= 3, LATEST,
                       f"three samples of pid {pid} have {frame}")
        return self.daemon.dump("--pid", pid)

    def end(self):
        self.witness.kill()
        self.witness.wait()


@pytest.fixture(scope="module")
def attacked(engine, app, module_daemon):
    attacked = Attacked(engine, app, module_daemon)
    yield attacked
    attacked.end()


@pytest.fixture(scope="module")
def twins(app):
    """Two programs that differ in the name of a function only."""
    data = (AIDS / "hostile_process").read_bytes()
    assert data.count(OWN_FUNCTION)
    files = [app / "hostile-a", app / "hostile-b"]
    for file, name in zip(files, (OWN_FUNCTION, OTHER_FUNCTION)):
        file.write_bytes(data.replace(OWN_FUNCTION, name))
        file.chmod(0o755)
    return files


def own_names(folded):
    """Samples of each comm with the function of its own file, which never are with that of the other one."""
    found = {"hostile-a": 0, "hostile-b": 0}
    for frames, count in folded.stacks:
        names = {plain(frame) for frame in frames[1:]}
        own = {"hostile-a": "work_of_file_a", "hostile-b": "work_of_file_b"}.get(frames[0])
        assert not own or not {"work_of_file_a", "work_of_file_b"} - {own} & names, ";".join(frames)
        found[frames[0]] = found.get(frames[0], 0) + (count if own in names else 0)
    return found


def have_own_names(daemon, pid, least):
    """Has each of the two files so many samples with its own function?"""
    found = own_names(daemon.dump("--pid", pid)) if daemon.has("--pid", pid) else {}
    return min(found.get("hostile-a", 0), found.get("hostile-b", 0)) >= least


# ---- a memory that lies ---------------------------------------------------------------------------

@pytest.fixture(scope="module")
def liars(attacked, app):
    """Programs that call themselves libjvm.so and export tables."""
    folder = app / "lies"
    folder.mkdir(exist_ok=True)
    shutil.copy(AIDS / "hostile_jvm", folder / "libjvm.so")
    # Only who has this capability can stall; Docker's filter of system calls leaves it out, too.
    privileges = ["--cap-add", "SYS_PTRACE", "--security-opt", "seccomp=unconfined"]
    attacked.lied_since = time.time()
    return {kind: attacked.engine.start_ready(
        f"liar-{kind}", ["/app/lies/libjvm.so", kind, str(SECONDS), "10"], "READY", user="0:0",
        options=privileges if kind == "stalling" else []) for kind in LIES}


def test_daemon_goes_on_beside_tables_that_lie(attacked, liars):
    attacked.assert_goes_on(attacked.lied_since)


@pytest.mark.parametrize("kind", LIES)
def test_tables_that_lie_name_nothing_and_it_is_said(attacked, liars, kind):
    pid = liars[kind].pid
    folded = attacked.samples_of(pid, "burn_as_jvm")
    # Nothing in there is Java, whatever its memory says.
    assert not folded.samples(lambda frames: any(re.search(r"_\[[j10i]\]$", frame) for frame in frames)), folded
    wait_until(lambda: any("tables" in stream.get("jit_fallback", "") for stream in attacked.daemon.list_json("--pid", pid)),
               LATEST, "it is said that its tables are of no use")


# "attach" asks every JVM of the host, those of tests beside it, too.
@pytest.mark.parametrize("jit", ["auto", pytest.param("attach", marks=[pytest.mark.alone, pytest.mark.long(
    "15 s alone: the same files come to the same gates by \"auto\"")])])
def test_nobody_but_the_opener_opens_a_liars_file_and_nobody_but_the_parser_reads_it(engine, app, daemon, jit):
    folder = app / f"unread-{jit}"
    folder.mkdir()
    shutil.copy(AIDS / "hostile_jvm", folder / "libjvm.so")
    liars = {kind: engine.start_ready(f"unread-{jit}-{kind}", [f"/app/{folder.name}/libjvm.so", kind, str(SECONDS), "10"],
                                      "READY", user="0:0") for kind in UNREADABLE}
    pids = {kind: container.pid for kind, container in liars.items()}
    witness = FileWitness(folder / "libjvm.so")
    try:
        profiler = daemon("--jit", jit, "--log-level", "debug", window="1s").start().wait_ready()
        for kind, pid in pids.items():
            wait_until(lambda: f"jvm: pid {pid}: perf map asked for" in profiler.log(), LATEST,
                       lambda: f"'{kind}' came to the gates; log: {profiler.log()}")
        assert profiler.stop() == 0, profiler.log()
    finally:
        witness.end()
        for container in liars.values():
            container.remove()
    assert witness.openers(profiler.process.pid) == {"jbpfd-opener"}
    assert witness.readers(profiler.process.pid) == {"jbpfd-parser"}


def test_liars_end_and_nothing_is_left_of_them(attacked, liars):
    for container in liars.values():
        container.remove()
    attacked.assert_goes_on()


# ---- processes that change ------------------------------------------------------------------------

@pytest.fixture
def executing(attacked, twins):
    """The pid and its start stay, all else is another program's: 30 times a second."""
    container = attacked.engine.start_ready("hostile-exec", ["/app/hostile-a", "exec", str(SECONDS), "/app/hostile-b"],
                                            "READY")
    yield container
    container.remove()


def test_process_that_executes_another_file_all_the_time(attacked, executing):
    started = time.time()
    attacked.daemon.wait_samples({executing.pid: 20}, seconds=LATEST)
    own_names(attacked.daemon.dump("--pid", executing.pid))  # refuses those of the other one
    attacked.assert_goes_on(started)
    assert executing.running(), executing.logs()


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
def test_process_that_executes_another_file_all_the_time_figures(attacked, executing):
    wait_until(lambda: have_own_names(attacked.daemon, executing.pid, 10), LATEST, "both files have samples")


def reuse_pid(pid, seconds, twins):
    """How often it was another process."""
    attacker = subprocess.Popen([AIDS / "hostile_process", "reuse", str(seconds), str(pid), *map(str, twins)],
                                stdout=subprocess.PIPE, text=True)
    try:
        out, _ = attacker.communicate(timeout=(seconds + LATEST) * PATIENCE)
    finally:
        attacker.kill()
        attacker.wait()
    assert attacker.returncode == 0, f"clone3 with set_tid: {attacker.returncode} {out}"
    return int(re.search(r"^TURNS (\d+)$", out, re.M).group(1))


@pytest.fixture
def spare_pid():
    spare = subprocess.Popen(["true"])
    spare.wait()
    return spare.pid


def test_pid_that_is_another_process_eight_times_a_second(attacked, spare_pid, twins):
    started, turns = time.time(), []

    def are_enough():
        turns.append(reuse_pid(spare_pid, heavy(2, 60), twins))
        return sum(turns) >= 8
    wait_until(are_enough, 60, lambda: f"pid {spare_pid} was another process eight times; another has it? {turns}")
    attacked.assert_goes_on(started)
    if attacked.daemon.has("--pid", spare_pid):
        own_names(attacked.daemon.dump("--pid", spare_pid))  # refuses those of the other one


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
def test_pid_that_is_another_process_eight_times_a_second_figures(attacked, spare_pid, twins):
    for seconds in (heavy(8, 60), 30, 120):
        reuse_pid(spare_pid, seconds, twins)
        attacked.assert_goes_on()
        if have_own_names(attacked.daemon, spare_pid, 1):
            break
    assert have_own_names(attacked.daemon, spare_pid, 1), attacked.daemon.dump("--pid", spare_pid)


def test_process_that_changes_its_name_all_the_time(attacked):
    began = time.time()
    container = attacked.attack("rename", "rename", str(SECONDS))
    attacked.samples_of(container.pid, "work_of_file_a")  # refuses lines that are not folded
    attacked.assert_goes_on(began)
    for text in (attacked.daemon.list_text(), attacked.daemon.status("--all"), attacked.daemon.log(),
                 attacked.daemon.dump_raw().stdout):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
    container.remove()


def test_thousand_threads(attacked):
    began = time.time()
    container = attacked.attack("threads", "threads", str(SECONDS), str(THREADS))
    assert len(os.listdir(f"/proc/{container.pid}/task")) > THREADS
    attacked.samples_of(container.pid, "work_of_file_a")
    attacked.assert_goes_on(began)
    container.remove()


def test_thousands_of_mapped_files(attacked):
    """Each is opened and looked at once; what the daemon had of them goes with the process."""
    before = time.time()
    container = attacked.attack("maps", "maps", str(SECONDS), str(MAPPED_FILES), "/tmp", options=["--tmpfs", "/tmp:exec"])
    attacked.samples_of(container.pid, "work_of_file_a")
    attacked.assert_goes_on(before)
    container.remove()


# ---- processes by the thousand --------------------------------------------------------------------

def host_samples(daemon, pattern):
    """Samples of all processes whose comm is that, and how many processes they are."""
    streams = [one for one in daemon.list_json() if re.fullmatch(pattern, one["comm"])]
    return sum(one["samples"] for one in streams), len(streams)


@pytest.mark.parametrize("count", [400, pytest.param(SHORT_LIVED, marks=pytest.mark.long("a minute of the same"))])
def test_processes_that_live_for_a_moment(attacked, count):
    begin = time.time()
    _, before = host_samples(attacked.daemon, "hostile_process")
    container = attacked.attack("short", "short", str(count))
    wait_until(lambda: not container.running(), 300, "all have lived")
    assert container.exit_code == 0, container.logs()
    wait_until(lambda: "DONE" in container.logs(), 30, "the engine has its last words")
    attacked.assert_goes_on(begin)
    wait_until(lambda: host_samples(attacked.daemon, "hostile_process")[1] > before, LATEST, "some of them were sampled")
    samples, streams = host_samples(attacked.daemon, "hostile_process")
    assert samples >= streams, (samples, streams)
    container.remove()


def thousands_of_processes(attacked):
    test_processes_that_live_for_a_moment(attacked, SHORT_LIVED)


def refused_forks(pid):
    """How often the kernel refused one, as it counts for the cgroup of this process."""
    lines = [line.split(":", 2) for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines()]
    folders = [f"/sys/fs/cgroup/pids{path}" for _, controllers, path in lines if controllers == "pids"] or \
        [f"{CGROUP_ROOTS[0]}{path}" for number, _, path in lines if number == "0"]
    return int(re.search(r"^max (\d+)$", Path(folders[0], "pids.events").read_text(), re.M).group(1))


def test_fork_bomb_in_its_limits(attacked):
    began = time.time()
    container = attacked.attack("bomb", "bomb", str(SECONDS), options=["--pids-limit", str(MOST_PIDS)])
    wait_until(lambda: refused_forks(container.pid) > 0, LATEST, "the kernel holds it back")
    attacked.assert_goes_on(began)
    assert container.running()
    container.remove()


def test_cgroups_that_come_and_go(attacked):
    """A hundred, each with a process that works for a moment, all with the name of a container."""
    roots = [root for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
             if os.path.exists(f"{root}/cgroup.controllers")]
    assert roots, "this host has no cgroup v2 tree: the test needs one"
    begin = time.time()
    for number in range(heavy(100, 1000)):
        folder = f"{roots[0]}/jbpf-hostile-{os.getpid()}-{number:064x}.scope"
        os.mkdir(folder)
        worker = subprocess.Popen(["sh", "-c", f'echo $$ >"{folder}/cgroup.procs" && i=0 && '
                                   'while [ $i -lt 3000 ]; do i=$((i + 1)); done'])
        assert worker.wait(timeout=60 * PATIENCE) == 0
        wait_until(lambda: is_removed(folder), 10, "the cgroup is empty")
    attacked.assert_goes_on(begin)


# ---- processes that must not be touched -----------------------------------------------------------

@pytest.mark.long("one JVM more: that a gate sees it, test_attach.py's test of the limit of threads says")
def test_jvm_that_may_not_have_one_thread_more(attacked):
    """Nothing is asked of it that needs a thread: that would be its end."""
    container = attacked.engine.start_ready("full", java("Shares", SECONDS, 15, flags=["-XX:-UseDynamicNumberOfCompilerThreads"]),
                                            "TRUTH")
    pid = container.pid
    threads = len(os.listdir(f"/proc/{pid}/task"))
    limited = attacked.engine.docker("update", "--pids-limit", threads, container.id)
    assert limited.returncode == 0, limited.stderr
    attacked.watched.assert_goes_on(pid, "Shares.seventy")
    assert_unharmed(container, "TRUTH")
    assert "Attach Listener" not in thread_names(pid)
    container.remove()


@pytest.mark.long("two JVMs more, and two waits for each: time")
@pytest.mark.parametrize("how", ["stopped", "frozen"])
def test_jvm_that_stands_still(attacked, how):
    """In the middle of being profiled; what was sampled before is kept, and it wakes unharmed."""
    container = attacked.engine.start_ready(f"still-{how}", java("Shares", SECONDS, 30), "TRUTH")
    pid = container.pid
    wait_cpu([pid], 0.5)
    if how == "stopped":
        os.kill(pid, 19)  # SIGSTOP
    else:
        container.pause()
    begin = time.time()
    try:
        attacked.assert_goes_on(begin)
        assert attacked.daemon.dump("--pid", pid).total >= 3
    finally:
        if how == "stopped":
            os.kill(pid, 18)  # SIGCONT
        else:
            container.unpause()
    attacked.watched.assert_goes_on(pid, "Shares.seventy")
    assert_unharmed(container, "TRUTH")
    assert "Attach Listener" not in thread_names(pid)
    container.remove()


@pytest.mark.long("two JVMs more: test_daemon.py's two of one container, and test_attach.py's of one /tmp, keep apart, too")
def test_two_jvms_of_one_inner_pid_and_one_tmp(attacked, tmp_path):
    """Whatever one of them puts there, each has its own names."""
    tmp_path.chmod(0o1777)
    for parent in list(tmp_path.parents)[:-2]:
        parent.chmod(parent.stat().st_mode | 0o011)
    share = ["-v", f"{tmp_path}:/tmp"]
    one = attacked.engine.start_ready("one-tmp-1", java("Shares", SECONDS, 15), "TRUTH", options=share)
    two = attacked.engine.start_ready("one-tmp-2", java("Interp", SECONDS, 30), "READY", options=share)
    # A map that names everything of everybody with that pid.
    (tmp_path / "perf-1.map").write_text("1000 7ffffffff000 planted_for_pid_1\n")
    os.chown(tmp_path / "perf-1.map", 12345, 12345)
    attacked.watched.assert_goes_on(one.pid, "Shares.seventy")
    wait_until(lambda: attacked.daemon.has("--pid", two.pid) and
               re.search(r"\bInterp\.", attacked.daemon.dump_raw("--pid", two.pid).stdout), LATEST, "the second one has names")
    first, second = attacked.daemon.dump("--pid", one.pid), attacked.daemon.dump("--pid", two.pid)
    assert not any(name.startswith("Interp.") for name in first.names())
    assert not any(name.startswith("Shares.") for name in second.names())
    for container in (one, two):
        assert container.running() and "Full thread dump" not in container.logs()
        container.remove()


# ---- at the end -----------------------------------------------------------------------------------

@pytest.mark.long("memory of the daemon is the host's, too")
@pytest.mark.parametrize("attack", [
    test_process_that_changes_its_name_all_the_time, test_thousand_threads, test_thousands_of_mapped_files,
    thousands_of_processes, test_fork_bomb_in_its_limits, test_cgroups_that_come_and_go])
def test_attack_costs_no_memory_figures(attacked, attack):
    attack(attacked)
    attacked.watched.assert_bounded(MOST_MIB)


@pytest.mark.long("memory of the daemon is the host's, too")
def test_tables_that_lie_cost_no_memory_figures(attacked, liars):
    attacked.assert_goes_on(attacked.lied_since)
    attacked.watched.assert_bounded(MOST_MIB)


def test_nothing_was_lost_silently(attacked):
    """Every sample is in the store or in a counter that the status shows."""
    attacked.assert_goes_on()
    assert attacked.daemon.stop() == 0, attacked.daemon.log()[-2000:]
    report = attacked.daemon.dump_raw("--list", "--format", "json")
    assert report.returncode == 0, report.stderr
    stored = sum(stream["samples"] for stream in attacked.daemon.list_json())
    whole = attacked.daemon.dump().total
    assert whole == stored > 0, (whole, stored)


# ---- numbers that are given again -------------------------------------------------------------------

CLONE3 = 435
PROGRAMS = {"native_spinner": ("burn_", [AIDS / "native_spinner", "600"]),
            "witness_spinner": ("real_caller", [AIDS / "witness_spinner", "600", "100"])}


def start_as(pid, command):
    """A program with this number (clone3(2), set_tid); false: somebody has it."""
    numbers = (ctypes.c_int32 * 1)(pid)
    arguments = struct.pack("<11Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(numbers), 1, 0)
    command = [str(part) for part in command]
    null = os.open(os.devnull, os.O_WRONLY)
    child = ctypes.CDLL(None, use_errno=True).syscall(CLONE3, arguments, len(arguments))
    if child == 0:
        try:
            os.dup2(null, 1)
            os.execv(command[0], command)
        finally:
            os._exit(127)
    os.close(null)
    assert child > 0 or ctypes.get_errno() == errno.EEXIST, os.strerror(ctypes.get_errno())
    return child > 0


def test_pid_that_another_program_gets_has_none_of_its_frames(daemon):
    """It may be another one's between any two looks at it."""
    profiler = daemon(window="1s").start().wait_ready()
    numbers = itertools.count(int(Path("/proc/sys/kernel/pid_max").read_text()) - 77, -100)
    pid = next(numbers)
    lives = itertools.cycle([0.02, 0.1, 0.4, 0.8, 1.2])

    def found(comm):
        dumped = profiler.dump_raw("--pid", pid, "--comm", comm)
        folded = Folded(dumped.stdout if dumped.returncode == 0 else "")
        return {mark: folded.samples(lambda frames: any(mark in frame for frame in frames)) for mark, _ in PROGRAMS.values()}

    def have_names():
        nonlocal pid
        for _, command in PROGRAMS.values():
            if not start_as(pid, command):
                pid = next(numbers)  # somebody else may keep this one
                return False
            try:
                wait_cpu([pid], next(lives))
            finally:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        return all(found(comm)[mark] >= 25 for comm, (mark, _) in PROGRAMS.items())
    wait_until(have_names, 300, lambda: f"both have names: {[found(comm) for comm in PROGRAMS]}; log: {profiler.log()}")
    assert profiler.stop() == 0, profiler.log()
    for comm, (own, _) in PROGRAMS.items():
        assert [mark for mark, samples in found(comm).items() if samples] == [own], found(comm)
