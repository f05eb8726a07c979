# SPDX-License-Identifier: Apache-2.0
"""jbpfd over a host full of containers of every kind, and its own life: start, stop, lock."""
import json
import math
import os
import re
import signal
import socket
from pathlib import Path

import pytest

from harness.containers import java
from harness.fairness import Windows
from harness.folded import Folded, assert_rare, kind, plain
from harness.programs import BIN, Lacking, cpu_seconds, is_gone, jbpf, lines_of, run, wait_cpu, wait_until

SHARE = 12  # percent of a CPU for each JVM: nine of them share two cores
SAMPLES = 150  # with a named method, for figures: more than a JVM needs to start
FEW_SAMPLES = 30  # that there are names at all


NAMED = ("before", "after", "wrapped", "root", "tmpfs")


def wanted(daemon):
    return {**{(name, "Shares.seventy"): daemon.samples for name in NAMED},
            ("pair", "Shares.seventy"): 30, ("pair", "Syscalls.readPieces"): 30, ("flat", "Shares.seventy"): 40}


def too_few(daemon, containers):
    """What has not as many samples yet as the tests ask for: a busy host gives them slowly."""
    def count(name, frame):
        result = daemon.dump_raw("--container", containers[name].name)
        return Folded(result.stdout if result.returncode == 0 else "").with_frame(frame)
    found = {key: (count(*key), least) for key, least in wanted(daemon).items()}
    return {key: samples for key, (samples, least) in found.items() if samples < least}


def wait_samples_of_all(daemon, containers):
    wait_until(lambda: not too_few(daemon, containers), 300, f"all of {wanted(daemon)} are in the store")
    wait_until(lambda: in_java(daemon.dump("--container", containers["sealed"].name)).total >= daemon.samples, 300,
               "the JVM that may write nowhere has samples")
    anew = containers["renamed"].name + "-anew"
    wait_until(lambda: daemon.has("--container", anew), 60, "the container is seen under its new name")


def start_dying(engine, tries):
    return engine.start(f"dies-{tries}", ["/app/native_spinner", "600"])


def end_dying(container, seconds):
    """Once it has been sampled; mostly that is less than a window. A busy host may not have looked at it by then."""
    pid = container.pid
    wait_until(lambda: cpu_seconds(pid) >= seconds, 30, f"it has worked for {seconds} s")
    container.remove()


def has_frame(daemon, container, frame):
    return daemon.has("--container", container.name) and daemon.dump("--container", container.name).with_frame(frame) > 0


@pytest.fixture(scope="module")
def fleet(engine, module_daemon, long_tests_too):
    """One daemon and many containers at once; the tests below read the store they leave."""
    containers = {"before": engine.start_ready("before", java("Shares", 600, SHARE), "TRUTH")}
    daemon = module_daemon(window="2s").start().wait_ready()
    daemon.samples = SAMPLES if long_tests_too else FEW_SAMPLES
    containers["dies"] = start_dying(engine, 0)
    end_dying(containers["dies"], 0.5)
    containers["after"] = engine.start("after", java("Shares", 600, SHARE))
    containers["wrapped"] = engine.start(
        "wrapped", ["sh", "-c", " ".join(java("Shares", 600, SHARE)) + "; echo ended"])
    containers["root"] = engine.start("root", java("Shares", 600, SHARE), user="0:0")
    containers["tmpfs"] = engine.start("tmpfs", java("Shares", 600, SHARE),
                                       options=["--read-only", "--tmpfs", "/tmp"])
    containers["sealed"] = engine.start("sealed", java("Shares", 600, SHARE), options=["--read-only"])
    containers["pair"] = engine.start(
        "pair", ["sh", "-c", " ".join(java("Shares", 600, SHARE)) + " & exec " +
                 " ".join(java("Syscalls", 600, SHARE))])
    containers["flat"] = engine.start("flat", java("Shares", 600, SHARE, frame_pointer=False))
    containers["renamed"] = engine.start("renamed", java("Shares", 600, SHARE))
    wait_until(lambda: daemon.has("--container", containers["renamed"].name), 60,
               "the container is seen under its first name")
    engine.docker("rename", containers["renamed"].name, containers["renamed"].name + "-anew")
    wait_samples_of_all(daemon, containers)
    for tries in range(1, 5):
        if has_frame(daemon, containers["dies"], "burn_seventy"):
            break
        containers["dies"] = start_dying(engine, tries)
        end_dying(containers["dies"], 2 ** tries / 2)
        died = daemon.stored_until()
        wait_until(lambda: daemon.stored_until() > died, 60, "the window in which it died is stored")
    daemon.pair_pids = {main: containers["pair"].pids(main) for main in ("Shares", "Syscalls")}
    daemon.wrapped_pids = containers["wrapped"].pids("java")
    daemon.running = {name for name, container in containers.items()
                      if name != "dies" and container.running()}
    # Of the last minute: later that is a piece of it, down to the last window, in which not each JVM has run. And one that
    # ends gives up naming that after a while: of what it gave up nothing else is known.
    daemon.said, daemon.said_json = daemon.status(), daemon.status("--json")
    daemon.exit_code = daemon.stop()
    daemon.containers, daemon.logs = containers, {name: containers[name].logs() for name in daemon.running}
    engine.remove_all()  # what follows would run beside nine JVMs
    return daemon


def in_java(folded):
    """Of Java code, with a name or without: how long a JVM is at its own work when it starts is the machine's."""
    return folded.only(lambda frames: any(kind(frame) in "j10i" or frame == "[unknown jit]" for frame in frames))


def named(daemon, name):
    """Samples of a container's stacks that show a named method of the program."""
    folded = daemon.dump("--container", daemon.containers[name].name)
    return folded.with_frame("Shares.seventy") + folded.with_frame("Shares.thirty"), folded


def status_of(daemon, name):
    """What jbpf status says about the container's JVM: its row and the remarks below it."""
    said, own = [], False
    for line in daemon.said.splitlines():
        if not line.startswith(" "):
            own = line.split()[0] == daemon.containers[name].name and " java " in line
        if own:
            said.append(line)
    assert said, daemon.said
    return "\n".join(said)


@pytest.mark.live
@pytest.mark.parametrize("name", NAMED)
def test_java_methods_are_named(fleet, name):
    samples, folded = named(fleet, name)
    assert samples >= fleet.samples, folded
    assert not any(frame.startswith("Syscalls.") for frame in folded.names()), "another container's methods"


@pytest.mark.live
@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
@pytest.mark.parametrize("name", NAMED)
def test_java_methods_are_named_figures(fleet, name):
    samples, folded = named(fleet, name)
    assert samples >= 0.5 * in_java(folded).total, folded  # the rest is the JVM starting up


@pytest.mark.live
def test_no_jvm_was_harmed(fleet):
    assert fleet.running == set(fleet.containers) - {"dies"}
    for name, text in fleet.logs.items():
        assert "Full thread dump" not in text, name


@pytest.mark.live
def test_pid_1_of_the_wrapped_container_is_a_shell(fleet):
    """Otherwise the test above would prove nothing about JVMs that are not pid 1."""
    assert len(fleet.wrapped_pids) == 1
    folded = fleet.dump("--pid", fleet.wrapped_pids[0])
    assert folded.with_frame("Shares.seventy") > 0, folded


@pytest.mark.live
def test_read_only_container_without_tmp_says_why_names_are_missing(fleet):
    samples, folded = named(fleet, "sealed")
    # Or a source that needs no file has named them.
    assert samples or "may not write to /tmp" in status_of(fleet, "sealed"), (folded, fleet.said)


@pytest.mark.live
def test_two_jvms_of_one_container_keep_their_own_names(fleet):
    assert all(len(pids) == 1 for pids in fleet.pair_pids.values()), fleet.pair_pids
    shares = fleet.dump("--pid", fleet.pair_pids["Shares"][0])
    syscalls = fleet.dump("--pid", fleet.pair_pids["Syscalls"][0])
    assert shares.with_frame("Shares.seventy") >= 20, shares
    assert syscalls.with_frame("Syscalls.readPieces") >= 20, syscalls
    assert not any(name.startswith("Syscalls.") for name in shares.names()), shares
    assert not any(name.startswith("Shares.") for name in syscalls.names()), syscalls
    both = fleet.dump("--container", fleet.containers["pair"].name)
    # Of what nobody named in time it is not known, either, which container it was in.
    for frame, own in (("Shares.seventy", shares), ("Syscalls.readPieces", syscalls)):
        assert both.with_frame(frame) == own.with_frame(frame)


@pytest.mark.live
def test_container_that_dies_within_a_window_keeps_its_name_and_its_frames(fleet):
    folded = fleet.dump("--container", fleet.containers["dies"].name)
    assert folded.with_frame("burn_seventy") > 0, folded


@pytest.mark.live
@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
def test_container_that_dies_within_a_window_keeps_its_name_and_its_frames_figures(fleet):
    # Before its own program a container runs runc.
    folded = fleet.dump("--container", fleet.containers["dies"].name).of("native_spinner")
    assert folded.with_frame("burn_seventy") >= 20, folded
    assert folded.with_frame("burn_seventy") + folded.with_frame("burn_thirty") >= 0.9 * folded.total


@pytest.mark.live
def test_docker_rename_is_followed(fleet):
    old = fleet.containers["renamed"]
    assert fleet.dump("--container", old.name).total > 0
    assert fleet.dump("--container", old.name + "-anew").total > 0
    whole = fleet.dump("--container", old.id[:12])
    assert whole.total == fleet.dump("--container", old.name).total + \
        fleet.dump("--container", old.name + "-anew").total


@pytest.mark.live
@pytest.mark.long("90 % of its stacks must be whole: how soon its rules are known is the host's")
@pytest.mark.released
def test_jvm_without_frame_pointers_is_told_apart_and_whole(fleet):
    folded = fleet.dump("--container", fleet.containers["flat"].name)
    below = folded.with_frame("Shares.seventy")
    whole = folded.samples(lambda frames: "Shares.seventy" in map(plain, frames) and "[truncated]" not in frames and
                           "Shares.main" in map(plain, frames))
    assert below > 20
    assert_rare(below - whole, below, 0.1, folded)
    assert " off " in status_of(fleet, "flat"), fleet.said


@pytest.mark.live
def test_status_knows_every_jvm_and_finds_nothing_wrong_with_the_good_ones(fleet):
    text = json.dumps(json.loads(fleet.said_json))
    for name in ("before", "after", "wrapped", "root", "tmpfs", "pair", "flat", "sealed"):
        assert fleet.containers[name].name in text, name
    for name in ("before", "after", "wrapped", "root", "tmpfs"):
        assert "PreserveFramePointer" not in status_of(fleet, name), name
        assert "no names of compiled code" not in status_of(fleet, name), name


@pytest.mark.live
def test_list_names_container_pid_and_samples(fleet):
    name = fleet.containers["after"].name
    listed, streams = fleet.list_text("--container", name), fleet.list_json("--container", name)
    assert streams
    # A container's line has all its processes, by the pid of the heaviest.
    pid, samples = max(streams, key=lambda stream: stream["samples"])["pid"], sum(stream["samples"] for stream in streams)
    assert re.search(rf"^{re.escape(name)} .* {pid} .* {samples} ", listed, re.M), (pid, samples, listed)


@pytest.mark.live
def test_selectors_keep_what_they_say_and_add_up(fleet):
    name = fleet.containers["before"].name
    everything = fleet.dump()
    assert everything.total > fleet.dump("--container", name).total > 0
    by_kind = [fleet.dump_raw("--container", name, "--kind", kind) for kind in
               ("java", "kernel", "native")]
    total = sum(Folded(result.stdout).total for result in by_kind)
    assert total == fleet.dump("--container", name).total
    assert fleet.dump("--comm", "java").total > fleet.dump("--comm", "java", "--container", name).total


@pytest.mark.live
def test_by_puts_the_container_in_front(fleet):
    folded = fleet.dump("--comm", "java", "--by", "container")
    roots = {frames[0] for frames, _ in folded.stacks}
    assert {fleet.containers["before"].name, fleet.containers["after"].name} <= roots, roots


@pytest.mark.live
def test_every_profile_knows_its_host(fleet):
    assert fleet.dump("--host", socket.gethostname(), "--comm", "java").total == fleet.dump("--comm", "java").total


@pytest.mark.live
def test_every_format_is_what_it_says(fleet):
    select = ["--container", fleet.containers["after"].name]
    folded = fleet.dump(*select)
    data = json.loads(fleet.dump_raw("--format", "json", *select).stdout)
    assert "Shares.seventy" in json.dumps(data)
    top = fleet.dump_raw("--format", "top", *select).stdout
    assert "Shares.seventy" in top
    html = fleet.dump_raw("--format", "html", *select).stdout
    assert html.lstrip().lower().startswith("<!doctype html>") and html.rstrip().endswith("</html>")
    assert not re.search(r'(src|href)\s*=\s*"https?:', html), "the page loads something from outside"
    svg = fleet.dump_raw("--format", "svg", *select).stdout
    assert "<svg" in svg and "Shares.seventy" in svg
    title = f"{folded.total} samples, "
    assert f"\n{title}" in top and f">{title}" in svg, (title, top)


@pytest.mark.live
def test_zstdcat_of_the_store_is_folded_text(fleet):
    files = sorted(fleet.store.rglob("*.zst"))
    assert files
    result = run("zstdcat", *files)
    assert result.returncode == 0, result.stderr
    lines = lines_of(result.stdout)
    assert lines and all(re.fullmatch(r".+ [1-9]\d*", line) for line in lines)
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == fleet.dump().total


@pytest.mark.live
def test_sigterm_ends_the_daemon_with_0(fleet):
    assert fleet.exit_code == 0, fleet.log()


@pytest.mark.live
def test_sigterm_writes_the_last_window(daemon, spinner):
    profiler = daemon(window="10m").start().wait_ready()
    process = spinner("native_spinner", 600)
    wait_cpu([process.pid], 1)
    assert profiler.stop(signal.SIGTERM) == 0, profiler.log()
    stopped = jbpf("status", "--check", "--store", profiler.store)
    assert stopped.returncode == 4 and stopped.stdout.startswith("jbpfd was stopped "), stopped
    windows = Windows(profiler.store, 0, math.inf)
    assert windows.samples, f"the last window is not in the store: {profiler.log()}"
    given_up = re.search(r"window: (\d+) samples could not be named in time", profiler.log())
    if given_up:
        # What was named is there, and the window says of how much that was not so.
        assert windows.lost("given_up") + windows.lost("not_named") >= int(given_up[1]), windows.hosts
        named = sum(windows.pids.values()) - windows.lost("not_named")
        raise Lacking(f"it gave up naming its last window ({named} of {windows.samples} samples have names): {profiler.log()}")
    # How many of a hundred there are is the host's: a virtual machine may be without a CPU for a while.
    assert profiler.dump("--pid", process.pid).with_frame("burn_seventy") > 0


@pytest.mark.live
def test_tests_do_not_wait_for_samples_of_what_is_gone(daemon, spinner):
    profiler = daemon(window="1s").start().wait_ready()
    process = spinner("native_spinner", 600, 40)
    profiler.wait_samples({process.pid: 20})
    process.kill()  # its parent does not ask for it yet
    with pytest.raises(AssertionError, match=f"{process.pid} is gone since .* still not: 100000 samples") as failure:
        profiler.wait_samples({process.pid: 100000}, seconds=30)
    assert f"({process.pid}, 'native_spinner', " in str(failure.value)


def test_tests_read_processes_whose_names_are_not_text():
    comm = Path("/proc/self/comm")
    before = comm.read_bytes()
    comm.write_bytes(b"\xff) R \xfe")
    try:
        assert not is_gone(os.getpid())
    finally:
        comm.write_bytes(before)


@pytest.mark.live
def test_second_daemon_on_the_same_store_is_refused(daemon, tmp_path):
    first = daemon().start().wait_ready()
    second = run(BIN / "jbpfd", "--store", first.store)
    assert second.returncode == 1
    lines = lines_of(second.stderr)
    assert len(lines) == 1, second.stderr
    assert "another jbpfd" in lines[0] and str(first.store) in lines[0]
    assert first.process.poll() is None


@pytest.mark.live
def test_killed_daemon_leaves_a_readable_store_that_the_next_one_continues(daemon, spinner):
    process = spinner("native_spinner", 600, 40)
    profiler = daemon("--pid", process.pid, window="1s").start().wait_ready()
    wait_until(lambda: profiler.has("--pid", process.pid), 60, "a window with the process is stored")
    profiler.stop(signal.SIGKILL)
    before = profiler.dump("--pid", process.pid).total
    begun = profiler.started
    profiler.start().wait_ready()
    profiler.started = begun
    profiler.wait_samples({process.pid: before + 20})
    assert profiler.stop() == 0, profiler.log()


@pytest.mark.live
@pytest.mark.parametrize("wrapper", [
    pytest.param(["setpriv", "--bounding-set=-sys_resource"], id="without-CAP_SYS_RESOURCE"),
    pytest.param(["unshare", "-m", "sh", "-c",
                  "mount -t tmpfs none /sys/kernel/tracing; mount -t tmpfs none /sys/kernel/debug;"
                  'exec "$0" "$@"'], id="without-tracefs"),
])
def test_daemon_works(daemon, spinner, wrapper):
    profiler = daemon(window="1s", wrapper=wrapper).start().wait_ready()
    process = spinner("native_spinner", 600, 60)
    profiler.wait_samples({process.pid: 50})
    wait_until(lambda: profiler.dump("--pid", process.pid).with_frame("burn_seventy") >= 20, 60,
               lambda: f"its function is named; log: {profiler.log()}")
    assert profiler.stop() == 0, profiler.log()


@pytest.mark.live
def test_pid_filter_leaves_others_out(daemon, spinner):
    wanted, other = spinner("native_spinner", 600, 40), spinner("native_spinner", 600, 40)
    profiler = daemon("--pid", wanted.pid, window="1s").start().wait_ready()
    used = cpu_seconds(other.pid)
    profiler.wait_samples({wanted.pid: 20})
    wait_until(lambda: cpu_seconds(other.pid) >= used + 1, 60, "the other one has worked meanwhile")
    assert profiler.stop() == 0, profiler.log()
    assert profiler.dump_raw("--pid", other.pid).returncode == 3


@pytest.mark.root
def test_check_says_what_this_host_allows():
    result = run(BIN / "jbpfd", "--check")
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"btf", result.stdout, re.I) and len(lines_of(result.stdout)) >= 5
    assert re.search(r"^ok +cpu .*; on$", result.stdout, re.M), result.stdout
    assert re.search(r"^ok +page-faults .*; off, as --event does not name it$", result.stdout, re.M), result.stdout
    assert re.search(r"^ok +cgroup ids ", result.stdout, re.M), result.stdout
    both = run(BIN / "jbpfd", "--check", "--event", "cpu,page-faults").stdout
    assert re.search(r"^ok +page-faults .*; on$", both, re.M) and re.search(r"^ok +cpu .*; on$", both, re.M), both


@pytest.mark.root
def test_check_says_whether_a_store_that_is_still_to_be_made_can_be(tmp_path):
    def check(*prefix):
        result = run(*prefix, BIN / "jbpfd", "--check", "--store", tmp_path / "some" / "where")
        return result.returncode, re.search(r"^(\S+) +store +(.*)$", result.stdout, re.M).groups()
    assert check() == (0, ("ok", f"'{tmp_path}/some/where' does not exist yet: jbpfd makes it"))
    code, said = check("unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o ro none "$0" && exec "$@"', tmp_path)
    assert code != 0 and said == ("FAIL", f"'{tmp_path}/some/where' does not exist, and cannot be made in '{tmp_path}': "
                                            "Read-only file system; give --store a directory that can be written")


@pytest.mark.root
def test_check_by_root_of_a_store_of_the_units_user_is_content(tmp_path):
    """The unit has a user of its own, and it is root who asks."""
    store = tmp_path / "store"
    (store / "v1").mkdir(parents=True)
    for path in (store, store / "v1"):
        path.chmod(0o750)
        os.chown(path, 12345, 12345)

    def check():
        result = run(BIN / "jbpfd", "--check", "--store", store)
        return result.returncode, dict(re.findall(r"^\S+ +(store|while running) +(.*)$", result.stdout, re.M)), result.stdout
    code, said, whole = check()
    assert code == 0 and "chown" not in whole, whole
    assert said["while running"].startswith("keeps CAP_")
    assert said["store"] == f"'{store}' belongs to user 12345: a jbpfd that runs as that user writes it, one of root cannot"
    store.chmod(0o550)
    code, said, _ = check()
    assert code != 0 and said["store"] == f"'{store}' is not a writable directory"


@pytest.mark.root
def test_check_looks_at_processes_of_other_users():
    """Among processes of its own: it looks at any, and one of the host's may end at that moment."""
    script = 'setpriv --reuid=12345 --regid=12345 --clear-groups sleep 600 & until [ "$(cat /proc/$!/comm)" = sleep ] && ' \
             '[ "$(stat -c %u /proc/$!)" = 12345 ] && [ -n "$(cat /proc/$!/maps)" ]; do sleep 0.1; done; ' \
             'exec "$@"'
    alone = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", script, "sh"]
    allowed = run(*alone, BIN / "jbpfd", "--check").stdout
    refused = run(*alone, "setpriv", "--bounding-set=-sys_ptrace", BIN / "jbpfd", "--check").stdout
    assert re.search(r"^ok +other users' mappings", allowed, re.M), allowed
    assert re.search(r"^ok +container roots", allowed, re.M), allowed
    # The mappings themselves: newer kernels show them to CAP_PERFMON too.
    assert re.search(r"^less +container roots", refused, re.M), refused
