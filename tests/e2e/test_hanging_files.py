# SPDX-License-Identifier: Apache-2.0
"""A program runs from a file system whose server stops answering (FUSE here, NFS elsewhere): whoever asks
for its file then hangs until SIGKILL. jbpfd must not. Alone: what hangs is there for every jbpfd of the host."""
import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.containers import java
from harness.folded import Folded
from harness.jit import inner_pid
from harness.neighbours import Neighbours
from harness.programs import AIDS, BIN, PATIENCE, jbpf, run, wait_cpu, wait_until

pytestmark = pytest.mark.live

SERVER = Path(__file__).parent / "harness" / "fuse_server.py"


@pytest.fixture
def fuse(tmp_path):
    """A process that runs native_spinner from a FUSE file system, that file system's server, and its device as jbpfd
    calls it."""
    folder = tmp_path / "fuse"
    folder.mkdir()
    server = subprocess.Popen([sys.executable, SERVER, AIDS / "native_spinner", folder],
                              stdout=subprocess.PIPE, text=True)
    program = None
    try:
        assert server.stdout.readline() == "mounted\n", "no FUSE file system"
        device = os.stat(folder).st_dev
        program = subprocess.Popen([folder / "program", "600", "40"], stdout=subprocess.DEVNULL)
        yield server, program, f"({os.major(device)}:{os.minor(device)})"
    finally:
        server.kill()
        server.wait()
        if program:
            program.kill()
            program.wait()
        subprocess.run(["umount", "-l", folder], check=False)


def is_given_back(store):
    """Whether another jbpfd can have it."""
    with open(store / "v1" / ".lock") as lock, contextlib.suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


@pytest.mark.alone
def test_file_server_that_hangs_costs_names_and_nothing_else(fuse, daemon, spinner):
    server, program, device = fuse
    other = spinner("native_spinner", 600, 40)
    wait_cpu([program.pid], 0.2)
    before = daemon(window="1s", name="before").start().wait_ready()
    wait_until(lambda: before.has("--pid", program.pid) and before.dump("--pid", program.pid).with_frame("burn_seventy"), 60,
               lambda: f"its file can be read while the server answers; log: {before.log()}")
    assert before.stop() == 0, before.log()

    server.send_signal(signal.SIGUSR1)
    assert server.stdout.readline() == "hangs\n"
    profiler = daemon(window="1s", name="after").start().wait_ready()
    profiler.wait_samples({program.pid: 30, other.pid: 30}, seconds=60)
    wait_until(lambda: profiler.dump("--pid", other.pid).with_frame("burn_seventy") >= 15, 60, "the other one has names")
    # On a busy host others, which do not hang, may not answer soon enough, either.
    does_not_answer = f"{device} does not answer"
    wait_until(lambda: does_not_answer in profiler.log(), 30, lambda: f"the log says so: {profiler.log()}")
    assert profiler.dump("--pid", program.pid).with_frame("burn_seventy") == 0
    # Once a minute is asked again, not at every look.
    minutes = (time.time() - profiler.started) / 60
    assert profiler.log().count(does_not_answer) <= 2 + minutes, profiler.log()

    # What FUSE's server has in its hands ends by no signal, not even SIGKILL: the process stays until the
    # server ends, but another jbpfd can take over at once.
    profiler.process.terminate()
    wait_until(lambda: "the last window is written" in profiler.log() and is_given_back(profiler.store), 30, "it ends")
    heir = daemon(window="1s", name="after").start()
    # Both write into one log.
    wait_until(lambda: heir.log().count(" samples at ") >= 2, 30, "the next one samples")
    heir.wait_samples({other.pid: 60}, seconds=60)
    server.kill()
    assert profiler.process.wait(60 * PATIENCE) == 0
    assert heir.stop() == 0, heir.log()


# A program that runs from a file system whose server then hangs whenever its file is closed.
SETUP = "mkdir /tmp/hang; python3 /mnt/fuse_server.py /mnt/native_spinner /tmp/hang & P=$!; " \
        "until [ -e /tmp/hang/program ]; do sleep 0.1; done; /tmp/hang/program 600 10 & Q=$!; " \
        "until grep -q hang/program /proc/$Q/maps; do sleep 0.1; done; kill -USR2 $P;"


@pytest.fixture
def containers(app, readable_folder):
    shutil.copy(SERVER, app)
    shutil.copy(AIDS / "witness_spinner", app / "newcomer")
    neighbours = Neighbours(app, readable_folder)
    for number in range(3):
        neighbours.start(f"hangs-{number}", "sh", "-c", "echo READY; wait; sleep 600", user=0, setup=SETUP)
    yield neighbours
    neighbours.end()


def device_of(neighbour):
    """Of its file system that hangs, which nobody has to ask for that."""
    mounts = Path(f"/proc/{neighbour.pid}/mountinfo").read_text()
    return re.search(r"^\d+ \d+ (\d+:\d+) / /tmp/hang ", mounts, re.M).group(1)


@pytest.mark.alone
def test_file_server_that_hangs_when_its_file_is_closed_holds_up_whoever_opens_it_alone(containers, daemon):
    """It answers when its file is opened and read. Whoever closes the file hangs, and no signal ends that."""
    profiler = daemon(window="1s").start().wait_ready()
    devices = [device_of(one) for one in containers.all]
    wait_until(lambda: all(f"({device}) does not answer" in profiler.log() for device in devices), 60,
               lambda: f"each of {devices} was asked; log: {profiler.log()}")
    newcomer = containers.start("newcomer", "/mnt/newcomer", 600, 30).pid
    wait_until(lambda: profiler.has("--pid", newcomer) and
               profiler.dump("--pid", newcomer).with_frame("real_caller") >= 15, 60,
               f"one that came later has names; log: {profiler.log()}")
    # Of these: on a busy host another program may keep its reader waiting, or be read too slowly.
    assert not re.search(r"the process that names .*\(program\)|/hang/program' .*cannot be parsed", profiler.log()), profiler.log()
    containers.end()  # with its server what hangs ends
    assert profiler.stop() == 0, profiler.log()


# More than there are places for processes that name.
HANGING = 13
MOUNT = "mkdir /tmp/hang; python3 /mnt/fuse_server.py /mnt/native_spinner /tmp/hang & export P0=$!; " \
        "until [ -e /tmp/hang/program ]; do sleep 0.1; done; "


@pytest.fixture
def crowd(app, readable_folder):
    """For containers in which a process shows tables of a JVM that lie in a file of a server that hangs: whoever
    reads them hangs, and no signal ends that."""
    shutil.copy(SERVER, app)
    shutil.copy(AIDS / "witness_spinner", app / "newcomer")
    (app / "lies").mkdir(exist_ok=True)
    shutil.copy(AIDS / "hostile_jvm", app / "lies" / "libjvm.so")
    neighbours = Neighbours(app, readable_folder)
    yield neighbours
    neighbours.end()


def wait_named(crowd, profiler, name):
    """A container of that name comes, and has names."""
    pid = crowd.start(name, "/mnt/newcomer", 600, 30).pid
    wait_until(lambda: profiler.has("--pid", pid) and profiler.dump("--pid", pid).with_frame("real_caller") >= 15, 60,
               lambda: f"{name} has names; log: {profiler.log()}")
    return pid


@pytest.mark.alone
@pytest.mark.parametrize("hanging", [2, pytest.param(HANGING, marks=pytest.mark.long("each container costs two seconds, one after the other"))])
def test_many_containers_that_hang_whoever_names_do_not_end_naming(crowd, daemon, hanging):
    profiler = daemon(window="1s").start().wait_ready()
    witness = wait_named(crowd, profiler, "witness")
    for number in range(hanging):
        crowd.start(f"liar-{number}", "sh", "-c", "exec /mnt/lies/libjvm.so file 600 5 /tmp/hang/program $P0",
                    user=0, setup=MOUNT)
    wait_until(lambda: profiler.log().count(" hung over process ") >= hanging, 120,
               lambda: f"each hangs one; log: {profiler.log()}")
    hung = time.time()
    wait_until(lambda: Folded(profiler.dump_of(witness, hung).stdout).with_frame("real_caller") >= 15, 60,
               lambda: f"the one that was there before has names; log: {profiler.log()}")
    wait_named(crowd, profiler, "newcomer")
    assert "cannot be started again" not in profiler.log(), profiler.log()
    # A copy that is woken copies itself before it meets the next one.
    _, _, later = profiler.log().partition("its copy goes on")
    assert "reads all names again" not in later, profiler.log()
    crowd.end()  # with the servers what hangs ends
    wait_named(crowd, profiler, "heir")
    assert profiler.stop() == 0, profiler.log()


class Recording:
    """jbpf record without an end, and what it says, read as it comes: who waits for what it never says waits for a while."""
    def __init__(self, folder, *wrapper):
        self.process = subprocess.Popen([*wrapper, BIN / "jbpf-record", "-o", folder / "profile.html"], text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.said = b""

    def text(self):
        with contextlib.suppress(BlockingIOError):  # nothing new
            self.said += os.read(self.process.stdout.fileno(), 1 << 16)
        return self.said.decode(errors="replace")

    def wait_said(self, pattern):
        def has_said():
            ended = self.process.poll() is not None
            found = re.search(pattern, self.text())
            assert found or not ended, f"it has ended, and not said {pattern}: {self.said}"
            return found
        wait_until(has_said, 60, lambda: f"it says {pattern}: {self.said}")

    def end(self):
        """Its exit code, and what it said since; whoever can still say something there has ended, too."""
        self.process.send_signal(signal.SIGINT)
        said, _ = self.process.communicate(timeout=60 * PATIENCE)
        return self.process.returncode, said


@contextlib.contextmanager
def recording_beside(crowd, folder, *wrapper):
    """One that meets what hangs whoever reads it."""
    crowd.start("liar", "sh", "-c", "exec /mnt/lies/libjvm.so file 600 30 /tmp/hang/program $P0", user=0, setup=MOUNT)
    recording = Recording(folder, *wrapper)
    try:
        yield recording
    finally:
        recording.process.kill()


WAITS = r"what hangs over process \d+ \(libjvm.so\) of [0-9a-f]{12} waits for its file /tmp/hang/program"


@pytest.mark.alone
def test_record_keeps_nobody_waiting_for_what_hangs(crowd, readable_folder):
    """Whoever reads what it says reads on until all that can say something have ended: what hangs says nothing there."""
    with recording_beside(crowd, readable_folder) as recording:
        recording.wait_said(WAITS)
        code, said = recording.end()
    assert code == 0, said
    assert re.search(r"1 process of jbpf's hangs in the kernel.*: over /tmp/hang/program, a file of process \d+ \(libjvm.so\) of [0-9a-f]{12}",
                     said), said


HIDDEN = "mount -t proc -o hidepid=2,gid=54321 proc /proc && exec \"$@\""


@pytest.mark.alone
def test_one_that_hangs_is_replaced_where_processes_are_hidden_from_who_has_no_rights(crowd, readable_folder):
    """Whoever samples has given its rights up, and may see nothing of the process that names for it, nor of the one over
    which that hangs: it is told who that is all the same."""
    with recording_beside(crowd, readable_folder, "unshare", "--mount", "sh", "-c", HIDDEN, "sh") as recording:
        recording.wait_said(r"hung over process \d+ \(libjvm.so\) of [0-9a-f]{12}")
        recording.wait_said(WAITS)
        code, said = recording.end()
    assert code == 0, said


@pytest.mark.alone
def test_maps_of_others_are_written_beside_a_jvm_that_hangs_whoever_reads_it(crowd, engine, tmp_path):
    liars = [crowd.start(f"liar-{number}", "sh", "-c", "exec /mnt/lies/libjvm.so file 600 5 /tmp/hang/program $P0",
                         user=0, setup=MOUNT).pid for number in range(2)]
    jvm = engine.start_ready("maps-beside", java("Shares", 600, 30), "TRUTH")

    def has_map():
        """Its code may have to be compiled first."""
        pids = [argument for pid in (*liars, jvm.pid) for argument in ("-p", pid)]
        result = jbpf("maps", "-d", tmp_path, *pids, timeout=60)
        rows = {int(line.split()[0]): line for line in result.stdout.splitlines()[1:]}
        assert all(rows[liar].endswith("its memory does not answer: what read it hung") for liar in liars), result
        return f"{tmp_path}/perf-{jvm.pid}.map" in rows[jvm.pid]
    wait_until(has_map, 60, "the map of the one that answers is there")
    assert "Shares." in (tmp_path / f"perf-{jvm.pid}.map").read_text()


JIT = "setpriv --reuid 1000 --regid 1000 --clear-groups /mnt/jit_spinner 600 50 & wait"
# It hangs before it is shown: a map that was read as it stands there is not read again.
SHOW_MAP = "kill -HUP $(cat /tmp/server) && touch /tmp/perf-{0}.map && mount --bind /tmp/hang/program /tmp/perf-{0}.map"


@pytest.mark.alone
def test_perf_map_whose_server_hangs_when_it_is_read_costs_its_own_names(crowd, app, daemon):
    (app / "native_spinner.map").write_text("1000 7fffffffffff planted\n")
    profiler = daemon(window="1s").start().wait_ready()
    witness = wait_named(crowd, profiler, "witness")
    liar = crowd.start("liar", "sh", "-c", JIT, user=0, word="JIT", setup=MOUNT.replace("/mnt/native_spinner", "/mnt/native_spinner.map") +
                       "echo $P0 >/tmp/server; ")
    pid = next(one for one in liar.cgroup.pids() if Path(f"/proc/{one}/comm").read_text() == "jit_spinner\n")
    shown = run("nsenter", "-t", pid, "-m", "-p", "sh", "-c", SHOW_MAP.format(inner_pid(pid)))
    assert shown.returncode == 0, shown
    wait_until(lambda: "'perf map' of" in profiler.log(), 60, lambda: f"it was read; log: {profiler.log()}")
    hung = time.time()
    wait_until(lambda: Folded(profiler.dump_of(witness, hung).stdout).with_frame("real_caller") >= 15, 60,
               lambda: f"the one that was there before has names; log: {profiler.log()}")
    wait_named(crowd, profiler, "newcomer")
    assert not profiler.dump().with_frame("planted")
    crowd.end()
    assert profiler.stop() == 0, profiler.log()
