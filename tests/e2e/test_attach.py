# SPDX-License-Identifier: Apache-2.0
"""Asking real JVMs in containers for their perf map: it works where it can, and whatever the JVM or
its container is like, the JVM runs on and no thread dump lands in its log."""
import glob
import os
import re
import signal
import subprocess

import pytest

from harness.containers import java
from harness.programs import BUILD, PATIENCE, Lacking, age_seconds, run, wait_until

pytestmark = pytest.mark.live

TOOL = BUILD / "tests" / "tools" / "attach_tool"
TOO_YOUNG = 3  # seconds; younger JVMs are left alone
# A clock that is four seconds ahead: a JVM that has printed something is asked at once. What must not
# happen to younger ones has a test of its own.
LATER = {**os.environ, "LD_PRELOAD": str(BUILD / "tests/soak/hour_steps.so"), "CLOCK_JUMP_AT": "1",
         "CLOCK_JUMP_BOOTTIME": "4", "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}
ANSWER_MS = 60000  # by when a JVM has answered; on a busy host it may take longer than jbpfd would wait
LEFT_BY_THE_JVM = {".java_pid1", "hsperfdata_root"}
# It does not start some of them later, nor end them.
FIXED_THREADS = ["-XX:+UseSerialGC", "-XX:-UseDynamicNumberOfCompilerThreads"]
CLOCK_TICK = 0.011  # seconds; what a process's age is told in, and a little for floating point


def tool(command, pid, *arguments, environment=LATER):
    """What attach_tool prints, as a dictionary."""
    result = run(TOOL, command, pid, *arguments, timeout=60, env=environment)
    assert result.returncode in (0, 1), result.stderr
    return dict(line.split("=", 1) for line in result.stdout.splitlines())


def attach(pid):
    return tool("attach", pid, ANSWER_MS)


def tmp_of(pid):
    return f"/proc/{pid}/root/tmp"


def names_in(path):
    with open(path, errors="replace") as text:
        return [line.rstrip("\n").split(" ", 2)[2] for line in text]


def assert_map(pid, inner_pid=1):
    """The map has the program's methods and the JVM's stubs. On a busy host the JVM may not have compiled its methods
    yet: then it is asked for once more."""
    wanted = {"void Shares.seventy(long)", "void Shares.thirty(long)", "Interpreter", "StubRoutines (1)"}
    path = f"{tmp_of(pid)}/perf-{inner_pid}.map"

    def is_whole():
        if wanted <= set(names_in(path)):
            return True
        attach(pid)
        return False
    wait_until(is_whole, 60, lambda: f"all of {wanted} are in the map, which has {names_in(path)[-20:]}")


def wait_listening(pid, inner_pid="[0-9]*"):
    """Its thread that listens makes the socket under another name; a JVM with -Xrs starts that thread before main()."""
    def sockets():
        return [path for path in glob.glob(f"{tmp_of(pid)}/.java_pid{inner_pid}") if not path.endswith(".tmp")]
    return wait_until(sockets, 60, "the JVM listens")


def assert_unharmed(container):
    """It still works, and nobody made it talk."""
    assert container.running(), container.logs()[-800:]
    before = container.logs().count("TRUTH")
    wait_until(lambda: container.logs().count("TRUTH") > before, 30, "the JVM works on")
    assert "Full thread dump" not in container.logs()


def cgroup_file(container, controller, name):
    """Path of a file of the container's cgroup: v1 where that controller is mounted, else v2."""
    found = glob.glob(f"/sys/fs/cgroup/{controller}/**/{container.id}/{name}", recursive=True)
    found += glob.glob(f"/sys/fs/cgroup/**/*{container.id}*/{name}", recursive=True)
    assert found, f"no {name} for {container.name}"
    return found[0]


@pytest.fixture
def jvm(engine):
    """Makes a JVM that burns little and is ready to be asked."""
    made = []

    def make(name, flags=(), options=(), user="12345:12345", command=None):
        container = engine.start_ready(f"attach-{name}",
                                       command or java("Shares", 600, 20, flags=flags), "TRUTH",
                                       options=options, user=user)
        made.append(container)
        return container
    yield make
    for container in made:
        container.remove()


@pytest.mark.parametrize("user", ["12345:12345", "0:0"])
def test_map_is_written_and_taken_away_again(jvm, user):
    container = jvm(f"plain-{user.partition(':')[0]}", user=user)
    pid = container.pid
    had_socket = os.path.exists(f"{tmp_of(pid)}/.java_pid1")  # another profiler on this host
    first = attach(pid)
    assert first["outcome"] == "ok" and first["map_existed"] == "0", first
    assert first["listener_started"] == str(int(not had_socket)), first
    assert_map(pid)
    again = attach(pid)
    assert again["outcome"] == "ok" and again["listener_started"] == "0", again
    assert again["map_existed"] == "1"
    assert tool("remove", pid) == {"error": "none"}
    assert set(os.listdir(tmp_of(pid))) <= LEFT_BY_THE_JVM
    assert tool("remove", pid) == {"error": "none"}
    assert_unharmed(container)


def test_jvm_with_a_user_namespace_is_asked_with_the_ids_of_the_host(remapped_engine):
    for user in ("12345:12345", "0:0"):
        name = f"attach-userns-{user.partition(':')[0]}"
        container = remapped_engine.start_ready(name, java("Shares", 600, 20), "TRUTH", user=user)
        answer = attach(container.pid)
        assert answer["outcome"] == "ok", answer
        assert_map(container.pid)
        assert tool("remove", container.pid) == {"error": "none"}
        assert_unharmed(container)


def test_jvm_without_signals_is_asked_through_its_socket_only(jvm):
    container = jvm("xrs", flags=["-Xrs"])
    pid = container.pid
    wait_listening(pid, 1)
    answer = attach(pid)
    assert answer["outcome"] == "ok" and answer["listener_started"] == "0", answer
    assert_map(pid)
    # Without the socket a SIGQUIT would be the only way in, and the end of a JVM that is not pid 1.
    os.unlink(f"{tmp_of(pid)}/.java_pid1")
    assert attach(pid)["outcome"] == "no-signal"
    assert_unharmed(container)


def test_jvm_that_is_not_pid_1_survives_xrs_without_socket(jvm):
    command = " ".join(java("Shares", 600, 20, flags=["-Xrs"]))
    container = jvm("xrs-child", command=["sh", "-c", f"{command}; echo ended $?"])
    [pid] = [pid for pid in container.pids("Shares")]
    for socket in wait_listening(pid):
        os.unlink(socket)
    assert attach(pid)["outcome"] == "no-signal"
    assert_unharmed(container)
    assert "ended" not in container.logs()


def test_disabled_attach_is_seen_before_anything_is_signalled(jvm):
    container = jvm("disabled", flags=["-XX:+DisableAttachMechanism"])
    answer = attach(container.pid)
    assert answer["outcome"] == "disabled", answer
    assert tool("vm", container.pid)["DisableAttachMechanism"] == "1 origin=1"
    assert set(os.listdir(tmp_of(container.pid))) <= LEFT_BY_THE_JVM
    assert_unharmed(container)


def test_jvm_near_its_limit_of_threads_is_left_alone(jvm):
    """An attach here ends the JVM: it exits when it cannot create the listener's thread."""
    container = jvm("pids", flags=FIXED_THREADS)
    with open(cgroup_file(container, "pids", "pids.current")) as file:
        current = int(file.read())
    # One or another thread may end, or come, meanwhile.
    for room, outcome in ((0, "no-thread-room"), (10, "no-thread-room"), (40, "ok")):
        updated = container.engine.docker("update", "--pids-limit", current + room, container.id)
        assert updated.returncode == 0, updated.stderr
        answer = attach(container.pid)
        assert answer["outcome"] == outcome, (room, answer)
        assert_unharmed(container)
    # The listener runs by now: asking again needs no thread.
    container.engine.docker("update", "--pids-limit", current + 1, container.id)
    assert attach(container.pid)["outcome"] == "ok"
    assert_unharmed(container)


@pytest.mark.long("one JVM more: the kernel's limits of threads and of processes come to one gate")
def test_jvm_near_its_limit_of_processes_is_left_alone(jvm):
    """The limit counts a user's threads on the whole host: a user of its own for each JVM."""
    threads = len(os.listdir(f"/proc/{jvm('nproc', flags=FIXED_THREADS, user='23450:23450').pid}/task"))
    for uid, room, outcome in ((23451, 10, "no-thread-room"), (23452, 60, "ok")):
        limit = threads + room
        container = jvm(f"nproc-{room}", flags=FIXED_THREADS, user=f"{uid}:{uid}",
                        options=["--ulimit", f"nproc={limit}:{limit}"])
        assert attach(container.pid)["outcome"] == outcome
        assert_unharmed(container)


def test_read_only_container_is_left_alone(jvm):
    container = jvm("read-only", options=["--read-only"])
    assert attach(container.pid)["outcome"] == "tmp-not-writable"
    assert_unharmed(container)


def test_read_only_container_with_a_tmpfs_works(jvm):
    container = jvm("tmpfs", options=["--read-only", "--tmpfs", "/tmp"])
    assert attach(container.pid)["outcome"] == "ok"
    assert_map(container.pid)
    assert_unharmed(container)


# ---- one JVM that is left alone for one reason after the other ----

@pytest.fixture(scope="module")
def unasked(engine):
    """Nothing of what is tried with it starts its listener."""
    return engine.start_ready("attach-unasked", java("Shares", 600, 20), "TRUTH")


def test_stopped_jvm_is_left_alone(unasked):
    pid = unasked.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        wait_until(lambda: re.search(r"^State:\tT", open(f"/proc/{pid}/status").read(), re.M), 5,
                   "the JVM is stopped")
        assert attach(pid)["outcome"] == "not-running"
        assert set(os.listdir(tmp_of(pid))) <= LEFT_BY_THE_JVM
    finally:
        os.kill(pid, signal.SIGCONT)
    assert_unharmed(unasked)


def test_paused_container_is_left_alone(unasked):
    unasked.pause()
    try:
        assert attach(unasked.pid)["outcome"] == "not-running"
        assert set(os.listdir(tmp_of(unasked.pid))) <= LEFT_BY_THE_JVM
    finally:
        unasked.unpause()
    assert_unharmed(unasked)


def plant_fifo(path):
    os.mkfifo(path, 0o666)


def plant_symlink(path):
    os.symlink("/tmp/victim", path)


def plant_link_to_host(path):
    os.symlink("/etc/passwd", path)


def plant_hard_link(path):
    os.link(os.path.join(os.path.dirname(path), "victim"), path)


def plant_directory(path):
    os.mkdir(path)


@pytest.mark.parametrize("name", ["perf-1.map", ".java_pid1"])
def test_nothing_is_started_when_something_is_planted(unasked, name):
    tmp = tmp_of(unasked.pid)
    for plant in (plant_fifo, plant_symlink, plant_link_to_host, plant_hard_link, plant_directory):
        with open(f"{tmp}/victim", "w") as victim:
            victim.write("precious\n")
        os.chown(f"{tmp}/victim", 12345, 12345)
        plant(f"{tmp}/{name}")
        os.chown(f"{tmp}/{name}", 12345, 12345, follow_symlinks=False)
        answer = attach(unasked.pid)
        assert answer["outcome"] == "tmp-hostile", (plant.__name__, answer)
        assert tool("remove", unasked.pid)["error"] in ("none", "Operation not permitted")
        with open(f"{tmp}/victim") as victim:
            assert victim.read() == "precious\n"
        assert os.path.lexists(f"{tmp}/{name}"), plant.__name__
        (os.rmdir if plant is plant_directory else os.unlink)(f"{tmp}/{name}")
        os.unlink(f"{tmp}/victim")
    assert_unharmed(unasked)


def test_map_of_another_owner_is_not_asked_for(unasked):
    path = f"{tmp_of(unasked.pid)}/perf-1.map"
    with open(path, "w") as file:
        file.write("1000 10 old\n")
    os.chmod(path, 0o666)
    os.chown(path, 4242, 4242)
    assert attach(unasked.pid)["outcome"] == "tmp-hostile"
    assert names_in(path) == ["old"]
    os.unlink(path)
    assert_unharmed(unasked)


def test_jvm_that_was_left_alone_is_asked_when_nothing_is_in_the_way(unasked):
    """Its listener starts only now."""
    had_socket = os.path.exists(f"{tmp_of(unasked.pid)}/.java_pid1")  # another profiler on this host
    answer = attach(unasked.pid)
    assert answer["outcome"] == "ok" and answer["listener_started"] == str(int(not had_socket)), answer
    assert_map(unasked.pid)
    assert tool("remove", unasked.pid) == {"error": "none"}
    assert_unharmed(unasked)
    unasked.remove()


# ---- others of their own ----

def test_two_jvms_in_one_container_have_a_map_each(jvm):
    one = " ".join(java("Shares", 600, 10))
    container = jvm("two", command=["sh", "-c", f"{one} & {one} & wait"])
    wait_until(lambda: len(container.pids("Shares")) == 2, 60, "both are there")
    pids = container.pids("Shares")
    for pid in pids:
        with open(f"/proc/{pid}/status") as status:
            inner = re.search(r"^NSpid:.*\t(\d+)$", status.read(), re.M).group(1)
        assert inner != "1"
        wait_until(lambda: attach(pid)["outcome"] == "ok", 60, "it has its signal handlers, too, and is asked")
        assert_map(pid, inner)
        assert tool("remove", pid) == {"error": "none"}
    assert glob.glob(f"{tmp_of(container.pid)}/perf-*.map") == []
    assert_unharmed(container)


def test_containers_that_share_a_tmp_are_not_mixed_up(jvm, tmp_path):
    """Both JVMs are pid 1 inside: whoever made the socket answers whoever connects to it."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    for parent in list(shared.parents)[:-2]:
        parent.chmod(parent.stat().st_mode | 0o011)
    first, second = (jvm(f"shared-{i}", options=["-v", f"{shared}:/tmp"]) for i in (1, 2))
    outcomes = []
    for container in (second, first):
        outcomes.append(attach(container.pid)["outcome"])
        assert (shared / "perf-1.map").exists() == (outcomes[-1] == "ok")
        tool("remove", container.pid)
    assert sorted(outcomes) == ["ok", "wrong-peer"]
    for container in (first, second):
        assert_unharmed(container)


def test_starting_jvm_is_left_alone(engine):
    for _ in range(5):  # on a busy host it may be old enough before it is asked first
        container = engine.start("attach-starting", java("Shares", 600, 20))
        pid, outcomes = container.pid, []

        def ask():
            outcomes.append(tool("attach", pid, ANSWER_MS, environment=None)["outcome"])
            assert outcomes[-1] == "too-young" or age_seconds(pid) >= TOO_YOUNG - CLOCK_TICK, outcomes
            return outcomes[-1] == "ok"
        wait_until(ask, 60, "it is asked")
        # It may be old enough before it has come to its signal handlers, or to its libjvm.so.
        assert set(outcomes[:-1]) <= {"too-young", "no-signal", "not-hotspot"}, set(outcomes)
        assert_unharmed(container)
        container.remove()
        if outcomes[0] == "too-young":
            return
    raise Lacking(f"five times it was old enough when it was asked first: {outcomes}")


def test_jvm_that_exits_is_not_disturbed(engine):
    for seconds in (2, 8, 45):  # by the clock: on a busy host it may end before it answered once
        container = engine.start_ready("attach-exiting", java("Shares", seconds, 20), "TRUTH")
        pid = container.pid
        outcomes = set()

        def has_ended():
            outcomes.update(re.findall(r"outcome=(\S+)", run(TOOL, "attach", pid, ANSWER_MS, env=LATER).stdout))
            return not container.running()
        wait_until(has_ended, 60, "it ends")
        assert outcomes <= {"ok", "too-young", "gone", "refused", "not-running", "not-hotspot", "no-signal", "error",
                            "no-map"}, outcomes
        assert container.exit_code == 0, container.logs()[-800:]
        assert "Full thread dump" not in container.logs()
        container.remove()
        if "ok" in outcomes:
            return
    raise Lacking(f"it never answered before it ended: {outcomes}")


def test_two_profilers_at_once_do_not_get_in_each_others_way(jvm):
    container = jvm("twice")
    for _ in range(5):
        both = [subprocess.Popen([TOOL, "attach", str(container.pid), str(ANSWER_MS)], text=True,
                                 stdout=subprocess.PIPE, env=LATER) for _ in range(2)]
        outcomes = [re.search(r"outcome=(\S+)", one.communicate(timeout=30 * PATIENCE)[0]).group(1)
                    for one in both]
        assert "ok" in outcomes and set(outcomes) <= {"ok", "error"}, outcomes
    assert_unharmed(container)


def test_socket_that_was_cleaned_away_is_made_again(jvm):
    container = jvm("cleaned")
    pid = container.pid
    assert attach(pid)["outcome"] == "ok"
    os.unlink(f"{tmp_of(pid)}/.java_pid1")
    answer = attach(pid)
    assert answer["outcome"] == "ok" and answer["listener_started"] == "1", answer
    assert_unharmed(container)


def test_process_that_is_no_jvm_is_left_alone(engine):
    container = engine.start("attach-sleep", ["sleep", "600"])
    assert attach(container.pid)["outcome"] == "not-hotspot"
    assert container.running()
    container.remove()


# ---- reading a JVM's tables, no container needed ----

def host_jdks():
    """Every JDK of the host, by its own java: whichever releases there are."""
    return sorted({os.path.realpath(path) for path in glob.glob("/usr/lib/jvm/*/bin/java")})


@pytest.mark.parametrize("flags,environment,expected", [
    ([], {}, "0 origin=0"),
    (["-XX:+PreserveFramePointer"], {}, "1 origin=1"),
    ([], {"JAVA_TOOL_OPTIONS": "-XX:+PreserveFramePointer"}, "1 origin=2"),
])
def test_version_and_flags_of_every_jdk_are_read_from_outside(app, flags, environment, expected):
    assert host_jdks(), "no JDK on this host"
    for program in host_jdks():
        process = subprocess.Popen([program, *flags, "-Xmx64m", "-cp", app, "Shares", "60", "20"],
                                   env={**os.environ, **environment}, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            assert process.stdout.readline().startswith("TRUTH")
            facts = tool("vm", process.pid)
            said = run(program, "-version").stderr
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        # (build 17.0.15+6-Debian-1, mixed mode, sharing); JDK 8: (build 25.504-b08, mixed mode)
        assert f"build {facts['version']}" in said, (facts, said)
        major = re.search(r'version "(?:1\.)?(\d+)', said).group(1)
        assert facts["feature"] == major
        assert facts["PreserveFramePointer"] == expected, facts
        assert facts["DisableAttachMechanism"] == "0 origin=0"
