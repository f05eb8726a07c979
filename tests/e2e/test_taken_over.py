# SPDX-License-Identifier: Apache-2.0
"""Who takes over one process of jbpfd has no next step. Each call that an attacker would make is made in the place
of each running process of a real daemon, once as root runs it and once as the unit does; first in the place of a
process of root that nothing confines, where it must get through, or it would show nothing."""
import contextlib
import errno
import os
import re
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness.containers import java
from harness.daemon import Daemon
from harness.hostile import SANITIZED
from harness.processes import children_of
from harness.programs import AIDS, age_seconds, comm_of, wait_until
from harness.taken_over import KILLED, Gone, TakenOver, call_address, is_denied
from test_attach import ANSWER_MS, TOOL, TOO_YOUNG
from test_privileges import units_user

pytestmark = pytest.mark.live

UNITS_UID = 12346
OTHER_UID = 12345
HERE = -100  # AT_FDCWD
CLONE_NEWUSER, CLONE_NEWNS = 0x10000000, 0x20000
SYS_ADMIN_BIT = 1 << 21
CAPABILITY_VERSION = 0x20080522
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH, WALL = 0x4206, 0x4207, 17, 1 << 30


# ---- the steps ----------------------------------------------------------------------------------

STEPS = {}


def step(name):
    """Its function gets the process and what there is to attack, and returns what the kernel said at last."""
    def add(function):
        STEPS[name] = function
        return function
    return add


def made_of(name, *arguments):
    """A step that is one call; what is a function of its own is asked for each argument that depends on the host."""
    def run(it, field):
        return it.call(name, *(one(field) if callable(one) else one for one in arguments))
    STEPS[name] = run


def path_of(name):
    return lambda field: str(getattr(field, name)).encode()


def unix_address(path):
    return struct.pack("H", socket.AF_UNIX) + str(path).encode()


def open_for_writing(it, path, flags=0):
    return it.call("openat", HERE, str(path).encode(), os.O_WRONLY | flags, 0o600)


@step("write a file of root")
def _(it, field):
    return open_for_writing(it, "/etc/passwd")


@step("write a file of root (openat2)")
def _(it, field):
    return it.call("openat2", HERE, b"/etc/passwd", struct.pack("QQQ", os.O_WRONLY, 0, 0), 24)


@step("write a file of root (open_by_handle_at)")
def _(it, field):
    handle = it.put(struct.pack("Ii", 128, 0) + bytes(128))
    named = it.call("name_to_handle_at", HERE, b"/etc/passwd", handle, it.put(bytes(8)), 0)
    return it.call("open_by_handle_at", HERE, handle, os.O_WRONLY) if named == 0 else named


@step("make a file outside of the store")
def _(it, field):
    return open_for_writing(it, field.outside / "made", os.O_CREAT)


@step("make a file outside of the store (openat2)")
def _(it, field):
    how = struct.pack("QQQ", os.O_WRONLY | os.O_CREAT, 0o600, 0)
    return it.call("openat2", HERE, str(field.outside / "made").encode(), how, 24)


@step("write into the store")
def _(it, field):
    return open_for_writing(it, field.stored())


@step("read a secret of root")
def _(it, field):
    return it.call("openat", HERE, b"/etc/shadow", os.O_RDONLY, 0)


@step("write the memory of a process of root")
def _(it, field):
    return it.call("openat", HERE, f"/proc/{field.root_pid}/mem".encode(), os.O_RDWR, 0)


@step("write the memory of a process of root (openat2)")
def _(it, field):
    how = struct.pack("QQQ", os.O_RDWR, 0, 0)
    return it.call("openat2", HERE, f"/proc/{field.root_pid}/mem".encode(), how, 24)


@step("write the memory of a process of a user")
def _(it, field):
    return it.call("openat", HERE, f"/proc/{field.user_pid}/mem".encode(), os.O_RDWR, 0)


@step("write the memory of another process of jbpfd")
def _(it, field):
    results = [it.call("openat", HERE, f"/proc/{pid}/mem".encode(), os.O_RDWR, 0) for pid in field.brothers(it.pid)]
    results = [one for one in results if one not in (-errno.ENOENT, -errno.ESRCH)]  # those have ended meanwhile
    return next((one for one in results if not is_denied(one)), results[0])


@step("write its own memory")
def _(it, field):
    return it.call("openat", HERE, b"/proc/self/mem", os.O_RDWR, 0)


@step("process_vm_writev")
def _(it, field):
    """The last bytes of a stack are 0 anyway."""
    nothing = it.put(bytes(8))
    local, remote = struct.pack("QQ", nothing, 8), struct.pack("QQ", field.end_of_stack() - 8, 8)
    return it.call("process_vm_writev", field.root_pid, local, 1, remote, 1, 0)


def open_process(it, pid):
    return it.call("pidfd_open", pid, 0)


@step("take a descriptor of another process")
def _(it, field):
    fd = open_process(it, field.root_pid)
    return fd if is_denied(fd) else it.call("pidfd_getfd", fd, 0, 0)


@step("signal a process of root by its descriptor")
def _(it, field):
    fd = open_process(it, field.root_pid)
    return fd if is_denied(fd) else it.call("pidfd_send_signal", fd, signal.SIGURG, 0, 0)


made_of("rename", path_of("file"), path_of("other_name"))
made_of("link", path_of("file"), path_of("other_name"))
made_of("symlink", path_of("file"), path_of("other_name"))
made_of("unlink", path_of("file"))
made_of("mkdir", path_of("other_name"), 0o700)
made_of("rmdir", path_of("empty"))
made_of("chmod", path_of("file"), 0o4755)
made_of("chown", path_of("file"), OTHER_UID, OTHER_UID)
made_of("truncate", path_of("file"), 0)
made_of("mknod", path_of("other_name"), stat.S_IFIFO | 0o600, 0)
made_of("utimensat", HERE, path_of("file"), 0, 0)
made_of("setxattr", path_of("file"), b"user.jbpf", b"x", 1, 0)


@step("make a set-user-id program")
def _(it, field):
    """In the store, where only its own user and group can look - as long as that is so."""
    path = field.store / "v1" / "program"
    fd = it.call("openat", HERE, str(path).encode(), os.O_RDWR | os.O_CREAT, 0o700)
    return fd if is_denied(fd) else it.call("fchmod", fd, 0o4755)


@step("make a set-user-id program at once")
def _(it, field):
    path = field.store / "v1" / "program-at-once"
    fd = it.call("openat", HERE, str(path).encode(), os.O_RDWR | os.O_CREAT, 0o4755)
    return fd


@step("connect to a socket of root")
def _(it, field):
    fd = it.call("socket", socket.AF_UNIX, socket.SOCK_STREAM, 0)
    address = unix_address(field.docker)
    return fd if is_denied(fd) else it.call("connect", fd, address, len(address) + 1)


@step("connect to a socket that all may connect to")
def _(it, field):
    fd = it.call("socket", socket.AF_UNIX, socket.SOCK_STREAM, 0)
    address = unix_address(field.bus)
    return fd if is_denied(fd) else it.call("connect", fd, address, len(address) + 1)


@step("send a datagram to a socket of others")
def _(it, field):
    fd = it.call("socket", socket.AF_UNIX, socket.SOCK_DGRAM, 0)
    address = unix_address(field.journal)
    return fd if is_denied(fd) else it.call("sendto", fd, b"x", 1, 0, address, len(address) + 1)


@step("send a datagram to a socket of others from a pair")
def _(it, field):
    pair = it.put(bytes(8))
    made = it.call("socketpair", socket.AF_UNIX, socket.SOCK_DGRAM, 0, pair)
    if is_denied(made):
        return made
    it.opened += struct.unpack("ii", it.get(pair, 8))
    address = unix_address(field.journal)
    return it.call("sendto", it.opened[0], b"x", 1, 0, address, len(address) + 1)


for _name, _family in (("AF_INET", socket.AF_INET), ("AF_INET6", socket.AF_INET6), ("AF_NETLINK", socket.AF_NETLINK),
                       ("AF_PACKET", socket.AF_PACKET)):
    STEPS[f"socket {_name}"] = lambda it, field, family=_family: it.call("socket", family, socket.SOCK_RAW if family in (
        socket.AF_NETLINK, socket.AF_PACKET) else socket.SOCK_DGRAM, 0)

made_of("mount", b"none", path_of("outside"), b"no such file system", 0, 0)
made_of("umount2", path_of("outside"), 0)
made_of("fsopen", b"tmpfs", 0)
made_of("open_tree", HERE, path_of("outside"), 1)
made_of("chroot", path_of("outside"))
made_of("unshare", CLONE_NEWNS)
made_of("init_module", 0, 0, b"")
made_of("finit_module", -1, b"", 0)
made_of("kexec_load", 0, 1 << 20, 0, 0)
made_of("reboot", 0, 0, 0, 0)
made_of("sethostname", 0, -1)
made_of("swapon", path_of("file"), 0)
made_of("iopl", 0)
made_of("keyctl", 0, -3, 1)
made_of("add_key", b"user", b"jbpf", b"x", 1, -3)
made_of("io_uring_setup", 1, bytes(120))
made_of("userfaultfd", 1)
made_of("personality", 0xffffffff)
made_of("prlimit64", lambda field: field.root_pid, 7, 0, bytes(16))
made_of("setpriority", 0, lambda field: field.root_pid, 1)
made_of("sched_setscheduler", lambda field: field.root_pid, 3, bytes(4))
made_of("sched_setaffinity", lambda field: field.root_pid, 8, b"\xff" * 8)
made_of("ioprio_set", 1, lambda field: field.root_pid, 2 << 13)
made_of("fanotify_init", 0, 0)
made_of("inotify_init1", 0)


@step("setns")
def _(it, field):
    fd = it.call("openat", HERE, f"/proc/{field.root_pid}/ns/mnt".encode(), os.O_RDONLY, 0)
    return it.call("setns", max(fd, 0) if isinstance(fd, int) else 0, 0)


@step("a child in a user namespace")
def _(it, field):
    return it.call("clone", CLONE_NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)


@step("a child in a user namespace (clone3)")
def _(it, field):
    return it.call("clone3", struct.pack("QQQQQQQQ", CLONE_NEWUSER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0), 64)


@step("a child")
def _(it, field):
    return it.call("clone", int(signal.SIGCHLD), 0, 0, 0, 0)


@step("load a BPF program")
def _(it, field):
    code = it.put(bytes.fromhex("b700000000000000" "9500000000000000"))
    return it.call("bpf", 5, struct.pack("IIQQ", 1, 2, code, it.put(b"GPL")) + bytes(104), 128)


@step("make a BPF map")
def _(it, field):
    return it.call("bpf", 0, struct.pack("IIII", 2, 4, 8, 1) + bytes(112), 128)


@step("open a BPF map of others")
def _(it, field):
    return it.call("bpf", 14, struct.pack("I", 1) + bytes(124), 128)


@step("sample all processes")
def _(it, field):
    return it.call("perf_event_open", struct.pack("IIQQ", 1, 112, 0, 10000000) + bytes(88), -1, 0, -1, 0)


@step("memory that can be executed")
def _(it, field):
    place = it.call("mmap", 0, 4096, 7, 0x22, -1, 0)
    if not is_denied(place):
        it.call("munmap", place, 4096)
    return place


@step("make memory executable")
def _(it, field):
    return it.call("mprotect", it.scratch, 4096, 5) or it.call("mprotect", it.scratch, 4096, 3)


@step("execute a program in memory")
def _(it, field):
    fd = it.call("memfd_create", b"x", 0)
    return fd if is_denied(fd) else it.call("execveat", fd, b"", 0, 0, 0x1000)


def capabilities(it):
    """(head, effective, permitted): as one reads and writes them."""
    head, data = it.put(struct.pack("Ii", CAPABILITY_VERSION, 0)), it.put(bytes(24))
    if it.call("capget", head, data) != 0:
        return head, 0, 0
    words = struct.unpack("6I", it.get(data, 24))
    return head, words[0] | words[3] << 32, words[1] | words[4] << 32


def set_capabilities(it, head, wanted):
    low, high = wanted & 0xffffffff, wanted >> 32
    return it.call("capset", head, struct.pack("6I", low, low, 0, high, high, 0))


@step("raise a capability")
def _(it, field):
    head, _, permitted = capabilities(it)
    return set_capabilities(it, head, permitted | SYS_ADMIN_BIT)


# What changes the process or ends what is attacked comes last.

def trace(it, pid):
    """Lets go of it again: nobody could wait for it otherwise."""
    result = it.call("ptrace", PTRACE_SEIZE, pid, 0, 0)
    if not is_denied(result):
        it.call("ptrace", PTRACE_INTERRUPT, pid, 0, 0)
        it.call("wait4", pid, 0, WALL, 0)
        it.call("ptrace", PTRACE_DETACH, pid, 0, 0)
    return result


@step("trace a process of root")
def _(it, field):
    return trace(it, field.root_pid)


@step("trace a process of a user")
def _(it, field):
    return trace(it, field.user_pid)


@step("kill a process of a user")
def _(it, field):
    return it.call("kill", field.user_pid, signal.SIGKILL)


@step("kill a process of root")
def _(it, field):
    return it.call("kill", field.root_pid, signal.SIGKILL)


@step("setgroups")
def _(it, field):
    head, _, permitted = capabilities(it)
    set_capabilities(it, head, permitted)
    return it.call("setgroups", 0, 0)


@step("become root, or another user")
def _(it, field):
    """With all that it can raise; as root, root is no step."""
    head, _, permitted = capabilities(it)
    set_capabilities(it, head, permitted)
    uid = 0 if field.uid else OTHER_UID
    return it.call("setresuid", uid, uid, uid)


@step("execute a program")
def _(it, field):
    return it.call("execve", b"/bin/sh", 0, 0)


# ---- what there is to attack --------------------------------------------------------------------

class Field:
    """Files of the attacked process's own user, so that it is not their mode that keeps it away; sockets; one process
    of root and one of a user; and the daemon with its processes."""

    def __init__(self, uid):
        self.uid = uid
        self.folder = Path(tempfile.mkdtemp(prefix="jbpf-e2e-"))
        self.folder.chmod(0o755)
        self.outside, self.store = self.folder / "outside", self.folder / "store"
        self.file, self.empty, self.other_name = (self.outside / name for name in ("file", "empty", "other"))
        self.docker, self.bus, self.journal = (self.folder / name for name in ("docker.sock", "bus", "journal"))
        self.sockets = [self.listen(self.docker, socket.SOCK_STREAM, 0o660), self.listen(self.bus, socket.SOCK_STREAM, 0o666),
                        self.listen(self.journal, socket.SOCK_DGRAM, 0o666)]
        self.targets, self.daemon, self.profiled = {}, None, None
        self.root_pid = self.user_pid = None

    def listen(self, path, kind, mode):
        one = socket.socket(socket.AF_UNIX, kind)
        one.bind(str(path))
        if kind == socket.SOCK_STREAM:
            one.listen(200)
        path.chmod(mode)
        return one

    def renew_files(self):
        if self.outside.exists():
            shutil.rmtree(self.outside)
        self.outside.mkdir()
        self.empty.mkdir()
        self.file.write_text("x")
        for path in (self.outside, self.empty, self.file):
            os.chown(path, self.uid, self.uid)

    def renew_target(self, name, uid):
        if name not in self.targets or self.targets[name].poll() is not None:
            self.targets[name] = subprocess.Popen(
                ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "sleep", "600"],
                stdout=subprocess.DEVNULL)
            wait_until(lambda: comm_of(self.targets[name].pid) == "sleep", 30, "a process to attack runs")
        return self.targets[name].pid

    def renew(self):
        self.renew_files()
        self.root_pid, self.user_pid = self.renew_target("root", 0), self.renew_target("user", OTHER_UID)

    def end_targets(self):
        for process in self.targets.values():
            process.kill()
            process.wait()
        self.targets.clear()

    def end_of_stack(self):
        maps = Path(f"/proc/{self.root_pid}/maps").read_text().splitlines()
        return int(next(line for line in maps if line.endswith("[stack]")).split()[0].split("-")[1], 16)

    def stored(self):
        """Not the state beside v1: it is replaced all the time."""
        return next(path for path in (self.store / "v1").rglob("*") if path.is_file())

    def processes(self):
        """Pids of the daemon and all below it, by name. Who was just forked has his maker's for a moment, so that the
        oldest of a name is the one."""
        found, waiting = {}, [self.daemon.process.pid]
        while waiting:
            pid = waiting.pop(0)
            try:
                found.setdefault(comm_of(pid), pid)
            except OSError:
                continue  # it has ended
            waiting += children_of(pid)
        return found

    def brothers(self, pid):
        return [other for other in self.processes().values() if other != pid] if self.daemon else [self.root_pid]

    def stop(self):
        self.end_targets()
        if self.profiled:
            self.profiled.kill()
            self.profiled.wait()
        for one in self.sockets:
            one.close()
        shutil.rmtree(self.folder)


def attack(field, victim, names=None):
    """What got through: {step: result}. Ends early when the process does."""
    through = {}
    with victim as it:
        for name in names or STEPS:
            field.renew()
            result = it.try_step(lambda held: STEPS[name](held, field))
            if not is_denied(result):
                through[name] = result
            if it.is_gone:
                break
    field.end_targets()
    return through


# ---- what a process has to be able to do --------------------------------------------------------

# Calls that not every kernel has, or allows to root.
NOT_EVERYWHERE = {"init_module", "finit_module", "kexec_load", "iopl", "keyctl", "add_key", "io_uring_setup", "userfaultfd",
                  "a child in a user namespace", "a child in a user namespace (clone3)", "open a BPF map of others",
                  "setxattr", "fanotify_init", "swapon"}

SAMPLER = {"write into the store": "it keeps it", "a child": "it forks the child that merges hours"}
NAMER = {"read a secret of root": "it reads programs and memory of all"}
# It forks those that look into others and those that ask JVMs, so that it has all that these need. Nobody's data reaches
# it but two requests of fixed size. See "What is not defended" in docs/safety.md.
LAUNCHER = {
    "make a file outside of the store", "make a file outside of the store (openat2)", "write into the store",
    "read a secret of root", "write the memory of another process of jbpfd", "write its own memory", "rename", "link",
    "unlink", "mkdir", "rmdir", "make a set-user-id program", "make a set-user-id program at once",
    "connect to a socket that all may connect to", "send a datagram to a socket of others",
    "send a datagram to a socket of others from a pair", "a child", "setgroups", "become root, or another user"}
LAUNCHER_OF_ROOT = {
    "write a file of root", "write a file of root (openat2)", "write a file of root (open_by_handle_at)",
    "write the memory of a process of root", "write the memory of a process of root (openat2)",
    "signal a process of root by its descriptor", "connect to a socket of root", "kill a process of root"}
# Where root runs it, the files and processes of root are its own: see there, too.
SAMPLER_OF_ROOT = {"read a secret of root": "Landlock bounds what it writes", "kill a process of root": "kill() has no other bounds"}
# LeakSanitizer traces its own process, so that the filter of such a build lets ptrace() through.
TRACES = {"trace a process of a user", "trace a process of root"} if SANITIZED else set()
ALLOWED = {
    "jbpfd": (set(SAMPLER), set(SAMPLER_OF_ROOT)),
    "jbpfd-metrics": (set(), set()),
    "jbpfd-namer": (set(NAMER) | TRACES, set()),
    "jbpfd-launcher": (LAUNCHER | TRACES, LAUNCHER_OF_ROOT),
}
MERGER = {"write into the store": "it merges it", "a child": "as the sampler"}
# The kernel ends them at any call that is not on their list.
ENDED_BY_STEPS = ["jbpfd-parser", "jbpfd-opener"]
ENDING_STEPS = ["write a file of root", "connect to a socket that all may connect to", "a child", "execute a program"]


# ---- the tests ----------------------------------------------------------------------------------

def field_without_daemon(uid):
    field = Field(uid)
    (field.store / "v1").mkdir(parents=True)
    (field.store / "v1" / "file").write_text("x")
    return field


@pytest.fixture
def field_of_root():
    field = field_without_daemon(0)
    yield field
    field.stop()


def test_each_step_gets_through_where_nothing_confines(field_of_root):
    free = subprocess.Popen(["unshare", "--mount", "sleep", "600"])
    try:
        wait_until(lambda: comm_of(free.pid) == "sleep", 30, "a free process runs")
        through = attack(field_of_root, TakenOver(free.pid))
    finally:
        free.kill()
        free.wait()
    assert set(STEPS) - set(through) <= NOT_EVERYWHERE
    assert len(through) >= 70


def start_daemon(uid):
    field = Field(uid)
    os.chown(field.folder, uid, uid)
    # What else this host runs, and what that keeps waiting, is not to be looked at meanwhile.
    field.profiled = subprocess.Popen([AIDS / "native_spinner", "600", "20"], stdout=subprocess.DEVNULL)
    field.daemon = Daemon(field.folder, "--pid", field.profiled.pid, "--metrics", f"unix:{field.folder}/metrics.sock", window="1s",
                          wrapper=units_user(uid) if uid else ())
    field.daemon.start()
    return field


def stop_daemon(field):
    try:
        if field.daemon.process.poll() is None:
            field.daemon.process.kill()
            field.daemon.process.wait()
    finally:
        field.stop()


@pytest.fixture(scope="module", params=[0, UNITS_UID], ids=["as root", "as the unit runs it"])
def field(request):
    field = start_daemon(request.param)
    try:
        field.daemon.wait_ready(120)
        wait_until(lambda: set(ALLOWED) <= set(field.processes()), 60, "all processes of jbpfd run")
        wait_until(lambda: any(path.is_file() for path in (field.store / "v1").rglob("*")), 60, "something is stored")
        yield field
    finally:
        stop_daemon(field)


def allowed_to(field, name):
    always, of_root = ALLOWED[name]
    return always if field.uid else always | of_root


@pytest.mark.parametrize("name", ALLOWED)
def test_who_takes_over_a_process_has_no_next_step(field, name):
    """The launcher, which becomes another user in the end, is the last one. Each thread of the sampler is tried."""
    # The kernel's list of children may leave one out when its brother ends meanwhile.
    pid = wait_until(lambda: field.processes().get(name), 60, f"{name} runs")
    threads = os.listdir(f"/proc/{pid}/task") if name == "jbpfd" else [pid]
    for thread in threads:
        through = attack(field, TakenOver(int(thread)))
        assert set(through) == allowed_to(field, name), (name, thread)
    assert field.daemon.process.poll() is None, field.daemon.log()


def test_jbpfd_goes_on_when_its_process_is_given_back(field):
    """So that what was asked above was asked of a daemon at work."""
    before = len(field.daemon.windows())
    wait_until(lambda: len(field.daemon.windows()) > before + 1, 60, "windows are written")
    assert "has ended" not in field.daemon.log() and "ended by" not in field.daemon.log(), field.daemon.log()


def filters_of(pid):
    return int(re.search(r"^Seccomp_filters:\t(\d+)$", Path(f"/proc/{pid}/status").read_text(), re.M).group(1))


def helper_of(field, name):
    """Its pid, when it lives, has its filter besides the launcher's, and memory to look at; it is replaced now and then."""
    processes = field.processes()
    pid, launcher = processes.get(name), processes.get("jbpfd-launcher")
    try:
        return pid if pid and launcher and filters_of(pid) > filters_of(launcher) and call_address(pid) else None
    except OSError:
        return None


def step_in_helper(field, name, step):
    field.daemon.wait_ready(120)
    field.renew()

    def results():
        """One, unless it ended before."""
        pid = helper_of(field, name)
        if pid:
            with contextlib.suppress(Gone, FileNotFoundError, ProcessLookupError), TakenOver(pid) as it:
                return [it.try_step(lambda held: STEPS[step](held, field))]
        return []
    return wait_until(results, 60, f"there is a {name}")[0]


@pytest.mark.parametrize("step", ENDING_STEPS)
def test_a_helper_is_ended_for_a_step(step):
    """By the kernel, at its first one: each takes a helper of its own."""
    field = start_daemon(0)
    try:
        for name in ENDED_BY_STEPS:
            assert step_in_helper(field, name, step) == KILLED, name
    finally:
        stop_daemon(field)


def test_the_opener_opens_nothing_for_writing():
    """Its list has openat2(), whose flags no filter sees: Landlock does."""
    field = start_daemon(0)
    try:
        result = step_in_helper(field, "jbpfd-opener", "write a file of root (openat2)")
        assert is_denied(result) and result != KILLED, result
    finally:
        stop_daemon(field)


@pytest.mark.parametrize("uid", [0, UNITS_UID], ids=["as root", "as the unit runs it"])
def test_the_child_that_merges_hours_has_no_next_step(uid):
    field = start_daemon(uid)
    try:
        field.daemon.wait_ready(120)
        child = TakenOver(field.daemon.process.pid, until="landlock_restrict_self")
        # It begins five seconds after the daemon, and again behind the next hour.
        wait_until(lambda: select.select([child.helper.stdout], [], [], 0)[0], 60, "it begins after it was waited for")
        assert set(attack(field, child)) == set(MERGER), field.daemon.log()
    finally:
        stop_daemon(field)


def start_asked(engine, name, uid):
    """The pid of a JVM that is old enough to be asked."""
    container = engine.start_ready(name, java("Shares", 600, 20), "TRUTH", user=f"{uid}:{uid}")
    pid = container.pids("Shares")[0]
    wait_until(lambda: age_seconds(pid) > TOO_YOUNG, 60, f"{pid} is old enough to be asked")
    return pid


# By whom jbpfd runs, and by whom the JVM.
ASKED = [(0, 0), (0, OTHER_UID), (UNITS_UID, OTHER_UID)]


@pytest.mark.parametrize("uid,jvm_uid", ASKED, ids=["root asks root's", "root asks a user's", "the unit asks a user's"])
def test_the_child_that_reads_a_jvms_answer_has_no_next_step(engine, uid, jvm_uid):
    """Taken over where the answer arrives. It has the ids of the JVM's user, and that may be root."""
    pid = start_asked(engine, f"asked-{uid}-{jvm_uid}", jvm_uid)
    field = field_without_daemon(jvm_uid)
    tool = subprocess.Popen([*(units_user(uid) if uid else ()), TOOL, "confined", str(pid), "600000"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert tool.stdout.readline() == "confined=1\n"
        child = TakenOver(tool.pid, until="recvfrom")
        tool.stdin.write("\n")
        tool.stdin.flush()
        assert attack(field, child) == {}
        assert not child.is_gone
    finally:
        tool.kill()
        tool.communicate()
        field.stop()


def test_a_confined_child_gets_the_answer_of_a_jvm(engine):
    pid = start_asked(engine, "asked-confined", OTHER_UID)
    result = subprocess.run([TOOL, "confined", str(pid), str(ANSWER_MS)], input="\n", capture_output=True, text=True, check=True)
    assert "outcome=ok" in result.stdout
