# SPDX-License-Identifier: Apache-2.0
"""Least privilege: what jbpfd keeps, that it is enough, that each capability's loss is the one that
--check tells, and that what was given up is gone. One set of programs is profiled by several jbpfd at
once, each without another capability."""
import contextlib
import errno
import functools
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from harness.containers import java
from harness.daemon import CLOCK_SLACK, Daemon
from harness.processes import children_of
from harness.programs import AIDS, BIN, BUILD, TOP, Lacking, cpu_seconds, jbpf, lines_of, run, wait_cpu, wait_until

USER = 12345
PROBE = BUILD / "tests" / "tools" / "sandbox_probe"
UNIT = TOP / "scripts" / "systemd" / "jbpfd.service"
ENOUGH = 12  # samples of each program: with names, one in two million runs has none of burn_seventy
SETTLED_CPU_S = 3  # C2 is through with the few methods of Shares by then
PERCENT = 20  # of a CPU for each: six jbpfd begin beside them
CALLS = "open my $zero, '<', '/dev/zero'; for (;;) { sysread $zero, $read, 1 << 20 for 1 .. 100; select undef, undef, undef, 0.05 }"

# Numbers of linux/capability.h.
NUMBERS = {"DAC_READ_SEARCH": 2, "SETGID": 6, "SETUID": 7, "SETPCAP": 8, "SYS_PTRACE": 19, "SYS_ADMIN": 21,
           "SYSLOG": 34, "PERFMON": 38, "BPF": 39, "CHECKPOINT_RESTORE": 40}
NAMING = {"SYS_PTRACE", "DAC_READ_SEARCH", "CHECKPOINT_RESTORE"}
ATTACHING = {"SETUID", "SETGID"}

# Without this capability the frames of these programs have no names, and --check says which way.
LOSSES = {
    "nothing": (set(), None),
    "sys_admin,-setpcap": (set(), "ok"),
    "sys_ptrace": ({"foreign", "private", "deleted"}, "less"),
    "dac_read_search": ({"private", "deleted"}, "less"),
    "checkpoint_restore": ({"deleted"}, "less"),
    "syslog": ({"kernel"}, "less"),
}


def without(capability):
    return [] if capability == "nothing" else ["setpriv", f"--bounding-set=-{capability}"]


@functools.cache
def check_without(lost):
    """What --check says of a host where that capability is lost; it loads all, so that once is enough."""
    return run(*without(lost), BIN / "jbpfd", "--check")


def kernel_keeps_bpf():
    """A kernel that asks for CAP_BPF at each look into a map: jbpfd says so and keeps it."""
    return "so it is kept while running" in check_without("nothing").stdout


def bits(names):
    return sum(1 << NUMBERS[name] for name in names)


def process_status(pid):
    with open(f"/proc/{pid}/status") as status:
        return dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)


def statuses_of_all(pid):
    """Of a daemon and the processes below it, by their names. Who was just forked has his maker's for a moment, so that
    the oldest of a name is the one."""
    statuses = {}
    waiting = [pid]
    while waiting:
        pid = waiting.pop(0)
        try:
            status = process_status(pid)
        except OSError:
            continue  # it has ended
        statuses.setdefault(status["Name"], status)
        waiting += children_of(pid)
    return statuses


def held_by(lost, keeps_bpf):
    """What each process of a jbpfd without that capability holds, by name: {name: (effective, permitted, bounding)}."""
    gone = set(lost.upper().split(",-"))
    held = {"jbpfd": {"BPF"} if keeps_bpf else set(), "jbpfd-launcher": NAMING | ATTACHING, "jbpfd-namer": NAMING,
            "jbpfd-parser": set(), "jbpfd-opener": {"DAC_READ_SEARCH"}}
    found = {}
    for name, wanted in held.items():
        in_force = wanted - (ATTACHING if name == "jbpfd-launcher" else set())
        # The launcher empties it for all its children: none of them executes anything.
        bounding = None if "SETPCAP" in gone else bits(wanted) if name == "jbpfd" else 0
        found[name] = (bits(in_force - gone), bits(wanted - gone), bounding)
    return found


def wrong_rights(status, held):
    """What of a process's status is not as it is to be."""
    effective, permitted, bounding = held
    wanted = {"CapEff": effective, "CapPrm": permitted, "CapInh": 0, "CapAmb": 0,
              **({"CapBnd": bounding} if bounding is not None else {})}
    wrong = [f"{key} {status[key]}" for key, value in wanted.items() if int(status[key], 16) != value]
    return wrong + [f"{key} {status[key]}" for key, value in (("NoNewPrivs", "1"), ("Seccomp", "2")) if status[key] != value]


def look_at_rights(daemons, keeps_bpf):
    """The status of each process of each daemon once it is as it is to be, or as it stays: a process has its name
    before it has given up its rights, and the opener ends when it has nothing to do."""
    held = {lost: held_by(lost, keeps_bpf) for lost in daemons}
    for daemon in daemons.values():
        daemon.status_of_all = {}

    def are_right():
        for lost, daemon in daemons.items():
            known = daemon.status_of_all
            known |= {name: status for name, status in statuses_of_all(daemon.process.pid).items()
                      if name in held[lost] and (name not in known or wrong_rights(known[name], held[lost][name]))}
        return all(set(daemon.status_of_all) == set(held[lost]) and
                   not any(wrong_rights(status, held[lost][name]) for name, status in daemon.status_of_all.items())
                   for lost, daemon in daemons.items())
    with contextlib.suppress(Lacking):  # a test judges it
        wait_until(are_right, 60, "")


# ---- the programs and the daemons ---------------------------------------------------------------

class Programs:
    """Programs of a user that is not root, who owns their files."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="jbpf-e2e-"))
        self.folder.chmod(0o755)
        self.processes = {}

    def start(self, name, mode=0o755):
        """A copy of its own, so that its file has this mode."""
        home = self.folder / name
        home.mkdir()
        program = home / f"{name}_spinner"
        shutil.copy(AIDS / "native_spinner", program)
        program.chmod(mode)
        home.chmod(mode)
        for path in (program, home):
            os.chown(path, USER, USER)
        self.run(name, program, 600, PERCENT)
        return program

    def run(self, name, *command):
        self.processes[name] = subprocess.Popen(
            ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *map(str, command)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def pid(self, name):
        return self.processes[name].pid

    def end(self):
        for process in self.processes.values():
            process.kill()
            process.wait()

    def stop(self):
        self.end()
        shutil.rmtree(self.folder)


def is_running(pid, comm):
    with open(f"/proc/{pid}/comm") as text:
        return text.read().rstrip("\n") == comm


@pytest.fixture(scope="module")
def programs():
    programs = Programs()
    try:
        programs.start("foreign")
        programs.start("private", 0o500)
        deleted = programs.start("deleted")
        programs.run("kernel", "perl", "-e", CALLS)
        for name in ("foreign", "private", "deleted"):
            wait_until(lambda: is_running(programs.pid(name), f"{name}_spinner"), 60, f"{name} runs")
        deleted.unlink()
        yield programs
    finally:
        programs.stop()


@pytest.fixture(scope="module")
def daemons(programs, tmp_path_factory):
    """What each of them had to say, by the capability it went without."""
    folder = tmp_path_factory.mktemp("privileges")
    wanted = {programs.pid(name): ENOUGH for name in programs.processes}
    only = [option for pid in wanted for option in ("--pid", pid)]  # or each names all of a busy host
    started = {lost: Daemon(folder, *only, window="1s", wrapper=without(lost), name=f"without-{lost}")
               for lost in LOSSES}
    try:
        for daemon in started.values():
            daemon.start()
        look_at_rights(started, kernel_keeps_bpf())
        for daemon in started.values():
            daemon.wait_ready(120)
        for lost, daemon in started.items():
            daemon.wait_samples(wanted)
            wait_until(lambda: inside_the_kernel(daemon, programs), 60, "calls were sampled")
            for name in set(programs.processes) - LOSSES[lost][0]:
                wait_until(lambda: has_names(daemon, programs, name), 60, f"{name} has names without {lost}")
        for daemon in started.values():
            daemon.exit_code = daemon.stop(seconds=120)
        yield started
    finally:
        for daemon in started.values():
            if daemon.process and daemon.process.poll() is None:
                daemon.process.kill()
                daemon.process.wait()


def inside_the_kernel(daemon, programs):
    """Frames of the kernel in the program that makes calls."""
    return [frame for frames, _ in daemon.dump("--pid", programs.pid("kernel")).stacks for frame in frames if frame.endswith("_[k]")]


def has_names(daemon, programs, name):
    if name == "kernel":
        return any(not frame.startswith("[") for frame in inside_the_kernel(daemon, programs))
    return daemon.dump("--pid", programs.pid(name)).with_frame("burn_seventy") > 0


@pytest.mark.live
@pytest.mark.parametrize("lost", LOSSES)
def test_what_is_lost_without_a_capability_is_what_check_says(daemons, programs, lost):
    daemon = daemons[lost]
    assert daemon.exit_code == 0, daemon.log()
    unnamed = {name for name in programs.processes if not has_names(daemon, programs, name)}
    assert unnamed == LOSSES[lost][0], daemon.log()
    if lost == "nothing":
        return
    said = check_without(lost)
    assert said.returncode == 0, said.stdout
    for name in lost.split(",-"):
        line = re.search(rf"^(\w+) +CAP_{name.upper()} +(.*)$", said.stdout, re.M)
        assert line and line[1] == LOSSES[lost][1] and line[2].startswith("missing"), said.stdout
    if LOSSES[lost][1] == "less":
        assert "with the losses of the lines marked less" in said.stdout


@pytest.mark.live
@pytest.mark.parametrize("lost", ["checkpoint_restore", "sys_ptrace", "syslog"])
def test_check_tries_it_with_the_rights_that_are_kept(programs, lost):
    """Root's other capabilities, which jbpfd will have given up, do not hide the loss."""
    said = check_without(lost).stdout
    feature = {"checkpoint_restore": "replaced files", "sys_ptrace": "container roots",
               "syslog": "kernel names"}[lost]
    assert re.search(rf"^less +{feature} ", said, re.M), said


@pytest.mark.live
def test_each_process_of_the_daemon_holds_the_capabilities_of_the_list_and_no_others(daemons):
    keeps_bpf = kernel_keeps_bpf()
    for lost, daemon in daemons.items():
        held = held_by(lost, keeps_bpf)
        assert set(daemon.status_of_all) == set(held), (lost, daemon.status_of_all)
        for name, status in daemon.status_of_all.items():
            assert not wrong_rights(status, held[name]), (lost, name, wrong_rights(status, held[name]))
        assert "privileges: dropped; the process that looks into others keeps CAP_" in daemon.log(), lost


def units_user(uid):
    """As systemd starts jbpfd: a user without a password, with the unit's capabilities and nothing else."""
    rights = "-all," + ",".join(f"+{name.removeprefix('CAP_').lower()}"
                                for name in " ".join(unit_values("AmbientCapabilities")).split())
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--no-new-privs",
            *(f"--{kind}={rights}" for kind in ("inh-caps", "ambient-caps", "bounding-set"))]


@pytest.mark.live
def test_the_units_user_names_what_root_names(programs, engine):
    container = engine.start("of-root", ["/app/native_spinner", 600, PERCENT])
    folder = Path(tempfile.mkdtemp(prefix="jbpf-e2e-"))
    folder.chmod(0o750)
    os.chown(folder, USER + 1, USER + 1)
    wanted = {pid: ENOUGH for pid in [container.pid, *map(programs.pid, programs.processes)]}
    one = Daemon(folder, *(option for pid in wanted for option in ("--pid", pid)), window="1s",
                 wrapper=units_user(USER + 1))
    try:
        one.start().wait_ready(120)
        status = process_status(one.process.pid)
        one.wait_samples(wanted)
        wait_until(lambda: all(has_names(one, programs, name) for name in programs.processes) and
                   one.has("--container", container.name), 60, lambda: f"all is named; log: {one.log()}")
        assert one.stop() == 0, one.log()
        assert {status["Uid"], status["Gid"]} == {"\t".join([str(USER + 1)] * 4)}
        assert int(status["CapEff"], 16) & ~bits({"BPF"}) == 0, status
        assert int(status["CapAmb"], 16) == int(status["CapInh"], 16) == 0, status
        modes = {oct(path.stat().st_mode & 0o777) for path in one.store.rglob("*") if path.is_file()}
        assert modes == {"0o640"}
    finally:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
        shutil.rmtree(folder)
        container.remove()
        programs.end()  # no test below looks at them, and all of those run beside what they burn


@pytest.mark.live
def test_rights_to_change_ids_are_kept_only_where_a_jvm_may_be_asked(daemon):
    profiler = daemon("--jit", "vmstructs").start().wait_ready(60)

    def who_keeps_them():
        statuses = statuses_of_all(profiler.process.pid)
        return [name for name, status in statuses.items() if int(status["CapPrm"], 16) & bits(ATTACHING)] or \
            {"jbpfd", "jbpfd-launcher", "jbpfd-namer"} - set(statuses)
    # Each has its name before it has given up its rights.
    wait_until(lambda: not who_keeps_them(), 60, lambda: f"nobody keeps them, but: {who_keeps_them()}")
    assert profiler.stop() == 0, profiler.log()


@pytest.mark.root
@pytest.mark.parametrize("lost, reason, kept", [
    ("bpf,-sys_admin", "CAP_BPF", "CAP_PERFMON"), ("perfmon,-sys_admin", "CAP_PERFMON", "CAP_BPF")])
def test_without_what_loading_needs_jbpfd_and_check_fail_alike(tmp_path, lost, reason, kept):
    said = check_without(lost)
    assert said.returncode == 1 and re.search(rf"^less +{reason} ", said.stdout, re.M), said.stdout
    assert re.search(rf"^ok +{kept} +held", said.stdout, re.M), said.stdout
    assert re.search(r"^FAIL +sampling ", said.stdout, re.M), said.stdout
    failed = run(*without(lost), BIN / "jbpfd", "--store", tmp_path / "store")
    assert failed.returncode == 1 and len(lines_of(failed.stderr)) == 1, failed.stderr
    assert reason in failed.stderr and kept not in failed.stderr, failed.stderr


@pytest.mark.root
@pytest.mark.alone
def test_perf_event_paranoid_3_is_explained(tmp_path):
    """Debian's own level, where the kernel has it: elsewhere it is a number like 2, and --check is as
    careful as there."""
    switch = Path("/proc/sys/kernel/perf_event_paranoid")
    before = switch.read_text()
    try:
        switch.write_text("3")
        refused = run(*without("sys_admin"), BIN / "jbpfd", "--check")
        allowed = run(BIN / "jbpfd", "--check")
    finally:
        switch.write_text(before)
    assert refused.returncode == 1, refused.stdout
    assert re.search(r"^FAIL +perf_event_paranoid +3.*CAP_PERFMON is not enough.*set the sysctl to 2",
                     refused.stdout, re.M), refused.stdout
    assert re.search(r"^less +CAP_SYS_ADMIN +missing", refused.stdout, re.M), refused.stdout
    assert allowed.returncode == 0 and re.search(r"^ok +perf_event_paranoid +3", allowed.stdout, re.M)


# ---- what is given up is gone -------------------------------------------------------------------

def tries(*arguments):
    """What sandbox_probe tried: {name: (errno before, errno after)}."""
    result = run(PROBE, *arguments)
    assert result.returncode == 0, result.stderr
    return {line.split(" ", 2)[2]: tuple(map(int, line.split(" ", 2)[:2])) for line in lines_of(result.stdout)}


@pytest.mark.root
def test_nothing_that_an_attacker_would_try_is_possible(tmp_path):
    victim = tmp_path / "of-another-user"
    victim.write_text("x")
    victim.chmod(0o600)
    os.chown(victim, USER, USER)
    found = tries("enter", victim)
    refusals = {"write a file of another user": errno.EACCES, "take back CAP_BPF or CAP_SYS_ADMIN": errno.EPERM,
                "change ids": errno.EPERM}
    for name, (before, after) in found.items():
        if name.startswith("allowed: "):
            assert (before, after) == (0, 0), name
        elif name in refusals:
            assert (before, after) == (0, refusals[name]), name
        else:
            assert after == errno.ENOSYS, name
    # It is the filter that refuses them: before, only what the kernel lacks answers so.
    real = [name for name, (before, after) in found.items() if before != errno.ENOSYS and after == errno.ENOSYS]
    assert len(real) >= 40, found
    assert {"execve", "socket AF_INET", "mount", "bpf PROG_LOAD", "unshare", "process_vm_writev"} <= set(real)


def kernel_log_since(fd):
    """Lines of the kernel's log behind where `fd` (non-blocking, /dev/kmsg) stands."""
    lines = []
    while True:
        try:
            lines.append(os.read(fd, 8192).decode(errors="replace"))
        except BlockingIOError:
            return lines
        except BrokenPipeError:
            continue  # older ones were overwritten meanwhile


@pytest.mark.live
@pytest.mark.long("it counts what the kernel logged in minutes")
def test_a_file_that_is_opened_leaves_no_line_in_the_kernels_log(daemon, tmp_path):
    """Processes are started for that, and libc asks for clone3() first, which the filter refuses."""
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    os.lseek(log, 0, os.SEEK_END)
    one = daemon("--frequency", 499, window="1s")
    # A file of its own: tests beside this one take over processes of jbpfd, for which the kernel ends them and says so.
    own = shutil.copy(BIN / "jbpfd", tmp_path / "jbpfd")
    one.command = [own if word == str(BIN / "jbpfd") else word for word in one.command]
    one.start().wait_ready()
    running = [subprocess.Popen([shutil.copy(AIDS / "native_spinner", tmp_path / f"new-{number}"), "600", "5"],
                                stdout=subprocess.DEVNULL) for number in range(20)]
    try:
        one.wait_samples({process.pid: 5 for process in running})
        assert one.dump("--pid", running[-1].pid).with_frame("burn_seventy")
    finally:
        for process in running:
            process.kill()
            process.wait()
    assert one.stop() == 0
    mine = f'exe="{own}"'
    lines = [line for line in kernel_log_since(log) if mine in line]
    os.close(log)
    assert not lines, f"{len(lines)} lines, the first: {lines[0]}"


def test_child_that_works_on_files_reaches_only_these(tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.write_text("x")
    found = tries("confine", inside, outside)
    assert found == {"write outside": (0, errno.EACCES), "read outside": (0, errno.EACCES),
                     "allowed: make and remove a file below": (0, 0)}


@pytest.mark.root
def test_store_of_another_user_is_refused_at_the_start(tmp_path):
    """It could be opened with root's rights, and not be written to without them."""
    store = tmp_path / "store"
    store.mkdir(mode=0o700)
    os.chown(store, USER, USER)
    result = run(BIN / "jbpfd", "--store", store)
    assert result.returncode == 1
    assert len(lines_of(result.stderr)) == 1 and f"belongs to another user (uid {USER}," in result.stderr, result.stderr
    assert "chown" in result.stderr


@pytest.mark.live
def test_record_writes_where_root_may_though_it_gave_up_root(tmp_path, spinner):
    """The person's right to write comes back for the output, and for nothing else."""
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    os.chown(home, USER, USER)
    process = spinner("native_spinner", 600)

    def is_named():
        """A busy host may not read the program's names in time."""
        recorder = subprocess.Popen([BIN / "jbpf-record", "-p", str(process.pid), "-d", "600s", "--format", "folded",
                                     "-o", home / "out"], stderr=subprocess.PIPE, text=True)
        try:
            wait_until(lambda: process_status(recorder.pid)["Seccomp"] == "2", 60, "it gave up its rights")
            status = process_status(recorder.pid)
            wait_cpu([process.pid], 0.5)
        finally:
            recorder.send_signal(signal.SIGINT)
            _, said = recorder.communicate(timeout=120)
        assert int(status["CapEff"], 16) & ~bits(NAMING | {"BPF"}) == 0, status
        if recorder.returncode == 3:
            return False  # what runs while it reads files, before it begins, is no part of it
        assert recorder.returncode == 0, said
        return "burn_seventy" in (home / "out").read_text()
    wait_until(is_named, 60, "the program is recorded by name")


# ---- what is kept is enough ---------------------------------------------------------------------

@pytest.fixture(scope="module")
def jvm(engine):
    return engine.start_ready("privileges", java("Shares", 600, 25), "TRUTH")


class Config:
    """A daemon with a config file that tests change."""

    def __init__(self, daemon, path, **options):
        self.path = path
        self.write(**options)
        self.profiler = daemon("--config", path, name="reload", hz=None).start().wait_ready(60)

    def write(self, **options):
        self.path.write_text("".join(f"{name.replace('_', '-')} = {value}\n" for name, value in options.items()
                                     for value in (value if isinstance(value, list) else [value])))

    def reload(self, **options):
        """Writes the file, sends SIGHUP, and returns the answer in the log."""
        before = self.answers()
        self.write(**options)
        self.profiler.process.send_signal(signal.SIGHUP)
        return wait_until(lambda: self.answers()[len(before):], 60, "SIGHUP is answered")[0]

    def answers(self):
        return [line for line in lines_of(self.profiler.log()) if "SIGHUP: " in line]


@pytest.mark.live
@pytest.mark.long("a load lives, or a window lasts, so many seconds by the clock")
def test_sighup_changes_the_rate_in_place(daemon, tmp_path, spinner):
    process = spinner("native_spinner", 600)
    config = Config(daemon, tmp_path / "jbpfd.conf", frequency=499, pid=process.pid)
    wait_cpu([process.pid], 0.5)
    asked = cpu_seconds(process.pid)
    assert "taken over" in config.reload(frequency=19, pid=process.pid)
    fast = cpu_seconds(process.pid)
    wait_cpu([process.pid], 2)
    slow = cpu_seconds(process.pid) - asked
    assert config.profiler.stop() == 0, config.profiler.log()
    total = config.profiler.dump().total
    # All of the first phase and a fifth of the second: as before the change it would be all of both.
    assert total <= 499 * (fast + 0.2 * slow), (fast, slow, total)
    assert total >= 40


@pytest.mark.live
def test_sighup_takes_over_what_the_probe_has_no_part_in(daemon, tmp_path, spinner):
    process = spinner("native_spinner", 600)
    same = {"window": "1s", "pid": process.pid}
    config = Config(daemon, tmp_path / "jbpfd.conf", host="first", log_level="info", **same)
    profiler = config.profiler
    wait_until(lambda: profiler.has("--host", "first"), 60, "the first name is recorded")
    assert not profiler.has("--host", "second") and "account '" not in profiler.log()
    assert "taken over" in config.reload(host="second", log_level="debug", **same)
    wait_until(lambda: profiler.has("--host", "second"), 60, f"the second name is recorded; log: {profiler.log()}")
    # Only the process that names says this.
    wait_until(lambda: "account '" in profiler.log(), 60, f"the namer says more; log: {profiler.log()}")
    assert profiler.stop() == 0, profiler.log()


@pytest.fixture(scope="module")
def reloaded(module_daemon, tmp_path_factory, jvm):
    """A daemon whose config changes step by step; the tests below look at what came of each."""
    path = tmp_path_factory.mktemp("reload") / "jbpfd.conf"
    processes = [subprocess.Popen([AIDS / "native_spinner", "600", "20"], stdout=subprocess.DEVNULL) for _ in range(2)]
    first, second = (process.pid for process in processes)
    same = {"frequency": 99, "window": "1s", "jit": "off", "keep_bytes": "1G", "pid": [first, jvm.pid]}
    try:
        config = Config(module_daemon, path, **same)
        profiler = config.profiler
        profiler.wait_samples({first: 20, jvm.pid: 20})
        config.has_second_too_early = profiler.has("--pid", second)
        config.java_without_source = profiler.dump("--pid", jvm.pid).with_frame("Shares.seventy")
        config.refused = [(config.reload(**{**same, **change}), reason) for change, reason in REFUSED]
        config.nonsense = config.reload(frequency="much")
        config.as_before = config.reload(**same)  # log-level was not changed either, or it would not be answered
        config.reload(**{**same, "jit": "vmstructs"})
        wait_until(lambda: profiler.dump("--pid", jvm.pid).with_frame("Shares.seventy") >= 20, 120, "Java methods are named")
        config.other_pids = config.reload(**{**same, "jit": "vmstructs", "pid": [second, jvm.pid]})
        changed = time.time() + CLOCK_SLACK
        profiler.wait_samples({second: 20})
        config.late = jbpf("dump", "--store", profiler.store, "--since", f"@{changed:.3f}", "--pid", first)
        move_store(config, path.parent / "moved", {**same, "jit": "vmstructs", "keep_bytes": "2G", "pid": [second, jvm.pid]})
        config.exit_code = profiler.stop()
        yield config
    finally:
        for process in processes:
            process.kill()
            process.wait()


REFUSED = [({"max_depth": 64}, "max-depth"),
           ({"pid": []}, "filter by pid"),
           ({"cgroup": "/sys/fs/cgroup"}, "filter by cgroup"),
           ({"frequency": 4999, "window": "10s"}, "so many samples"),
           ({"jit": "auto"}, "rights to ask a JVM"),
           ({"log_level": "err", "max_depth": 64}, "max-depth")]


def move_store(config, moved, options):
    os.rename(config.profiler.store, moved)
    config.moved = config.reload(**options)
    changed = time.time()
    wait_until(lambda: jbpf("dump", "--store", moved, "--since", f"@{changed:.3f}").returncode == 0, 60,
               f"windows are written; log: {config.profiler.log()}")


@pytest.mark.live
def test_sighup_takes_over_another_list_of_pids(reloaded):
    assert not reloaded.has_second_too_early
    assert "taken over" in reloaded.other_pids
    # Not one sample more: it was another window that ended at the change.
    assert reloaded.late.returncode == 3, reloaded.late.stdout


@pytest.mark.live
def test_sighup_refuses_as_a_whole_what_needs_a_restart(reloaded):
    for answer, reason in reloaded.refused:
        assert "needs a restart: " in answer and reason in answer and "going on as before" in answer, answer
    assert re.search("line 1.*going on as before", reloaded.nonsense)
    assert "taken over" in reloaded.as_before


@pytest.mark.live
def test_sighup_does_not_open_the_store_again(reloaded):
    """What the path leads to by now is the next start's business: what is open was written on, or the fixture waits."""
    assert "taken over" in reloaded.moved
    assert not reloaded.profiler.store.exists()
    assert reloaded.exit_code == 0, reloaded.profiler.log()


@pytest.mark.live
def test_sighup_switches_the_source_of_java_names(reloaded):
    """The fixture waits for names that come then."""
    assert not reloaded.java_without_source


@pytest.mark.live
def test_jvm_of_another_user_is_asked_by_a_daemon_that_gave_up_its_rights(daemon, jvm):
    """The whole way: signal, socket, map, and the map is removed again."""
    # A JVM that answers slowly is not asked again for minutes: by then its code stays where it is.
    wait_until(lambda: cpu_seconds(jvm.pid) >= SETTLED_CPU_S, 120, "the JVM's code has settled")
    profiler = daemon("--jit", "attach", "--pid", jvm.pid, window="1s", name="attach").start().wait_ready(60)
    wait_until(lambda: profiler.has("--pid", jvm.pid) and
               profiler.dump("--pid", jvm.pid).with_frame("Shares.seventy") >= 20, 120,
               f"Java methods are named; log: {profiler.log()}")
    # Not after its end: a JVM that is asked just then writes it when nobody is there any more.
    wait_until(lambda: not os.path.exists(f"/proc/{jvm.pid}/root/tmp/perf-1.map"), 60, "the map is removed")
    assert profiler.stop() == 0, profiler.log()
    assert "Full thread dump" not in jvm.logs() and jvm.running()


# ---- the unit -----------------------------------------------------------------------------------

def unit_values(key):
    return [line.partition("=")[2] for line in UNIT.read_text().splitlines() if line.startswith(f"{key}=")]


def test_unit_lists_the_capabilities_that_check_lists():
    said = re.findall(r"^\w+ +(CAP_\w+) ", check_without("nothing").stdout, re.M)
    listed = " ".join(unit_values("CapabilityBoundingSet")).split()
    assert len(said) == len(set(said)) and len(listed) == len(set(listed))
    # Instead of this one the unit raises the limit itself.
    assert set(said) - set(listed) == {"CAP_SYS_RESOURCE"} and "infinity" in unit_values("LimitMEMLOCK")
    assert set(listed) <= set(said)
    assert " ".join(unit_values("AmbientCapabilities")).split() == listed


def expand(names, groups):
    return {call for name in names for call in (groups[name] if name.startswith("@") else {name})}


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
def test_unit_allows_every_call_of_the_filter_and_none_of_the_worst():
    groups, group = {}, None
    for line in run("systemd-analyze", "syscall-filter", "--no-pager").stdout.splitlines():
        if line.startswith("@"):
            groups[line] = group = set()
        elif line.strip() and not line.strip().startswith("#") and group is not None:
            group.add(line.strip())
    for name in list(groups):  # groups hold groups
        while nested := {call for call in groups[name] if call.startswith("@")}:
            groups[name] = groups[name] - nested | expand(nested, groups)
    allowed = set()
    for value in unit_values("SystemCallFilter"):
        calls = expand(value.lstrip("~").split(), groups)
        allowed = allowed - calls if value.startswith("~") else allowed | calls
    source = (TOP / "user" / "sandbox" / "sandbox_filter.c").read_text()
    source = re.sub(r"#if defined\(__SANITIZE_ADDRESS__\).*?#endif", "", source, flags=re.S)
    filtered = set(re.findall(r"SCMP_SYS\((\w+)\)", source))
    assert len(filtered) > 100 and filtered <= allowed, filtered - allowed
    for call in ("ptrace", "process_vm_writev", "mount", "init_module", "kexec_load", "keyctl", "io_uring_setup"):
        assert call not in allowed | filtered, call
    assert "execve" not in filtered
