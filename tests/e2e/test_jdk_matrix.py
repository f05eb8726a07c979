# SPDX-License-Identifier: Apache-2.0
"""What jbpf shows of JVMs from JDK 8 to 28 in containers: names of compiled and interpreted code, what
it says about frame pointers, and that it needs nothing of the JVM or its container for that."""
import os
import re
import signal
import time

import pytest

from harness.containers import JDKS, NEWEST_JDKS, each_jdk, java
from harness.folded import assert_rare, kind, plain
from harness.hostile import SANITIZED
from harness.programs import cpu_seconds, wait_cpu, wait_until

pytestmark = pytest.mark.live

UNKNOWN = ("[unknown]", "[unknown jit]")
MIXED = {"Mixed.serve", "Mixed$Collecting.handle", "Mixed$Writing.handle", "Mixed$Matching.handle", "Mixed$Streaming.handle",
         "Mixed$Copying.handle"}
WINDOW_SECONDS = 3
# For figures; the others only ask that there are names, and more than a JVM needs to start.
SAMPLES = {"mixed": 300, "interp": 250, "inlined": 400, "without": 60, "environment": 80, "file": 80}
FEW_SAMPLES = 40
INTERP_CHAIN = ["Interp.main", "Interp.work", "Interp.one", "Interp$1.go", "Interp.two", "Interp$Three.<init>",
                "Interp.four", "Interp.five", "Interp.six", "Interp.grind"]


def user_part(frames):
    return [frame for frame in frames[1:] if kind(frame) != "k"]


def java_names(frames):
    return [plain(frame) for frame in frames if kind(frame) in "j10i"]


def has_unknown(frames):
    return any(frame in UNKNOWN for frame in user_part(frames))


def shows_mixed(folded):
    return MIXED <= folded.names() and {"j", "i"} <= {kind(frame) for frames, _ in folded.stacks for frame in frames}


def assert_named(folded, what):
    """Of the samples with user frames at most one in a hundred has one without a name."""
    with_user, unknown = folded.samples(user_part), folded.samples(has_unknown)
    print(f"{what}: {with_user} user samples, {unknown} with an unknown frame")
    assert with_user >= 100, folded
    assert_rare(unknown, with_user, 0.01, folded.show(has_unknown))


class Scene:
    """JVMs of one JDK side by side, warmed up, then sampled for a while by a daemon of their own."""

    def __init__(self, engine, app, module_daemon, jdk, for_figures):
        self.engine, self.jdk, self.for_figures, self.containers = engine, jdk, for_figures, {}
        try:
            self.start_all(app)
            only = [option for pid in self.pids.values() for option in ("--pid", pid)]  # or it names all of a busy host
            self.sample(module_daemon(*only, window=f"{WINDOW_SECONDS if for_figures else 1}s", name=f"scene-{jdk}"))
            self.look_at_containers()
        finally:
            for container in self.containers.values():
                container.remove()

    def start_all(self, app):
        self.start("mixed", java("Mixed", 600, 40, 2 if self.for_figures else 1, inline=True))
        everywhere = self.for_figures or self.jdk == 17  # of other JDKs the gate has what differs between them
        if everywhere:
            self.start("interp", java("Interp", 600, 50 if self.for_figures else 20, flags=["-Xint"]))
        if self.for_figures:
            # DebugNonSafepoints: without it the compilers describe no instructions but calls.
            self.start("inlined", java("Inlined", inline=True, flags=[
                "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"]), "--cpus=0.4")
            self.start("environment", java("Shares", 600, 15, frame_pointer=False),
                       "-e", "JAVA_TOOL_OPTIONS=-XX:+PreserveFramePointer")
        self.start("without", java("Shares", 600, 15, frame_pointer=False))
        # Where no command line shows it: JDK 8 reads files of flags only.
        (app / "flags").write_text("+PreserveFramePointer\n")
        (app / "arguments").write_text("-XX:+PreserveFramePointer\n")
        given = "-XX:Flags=/app/flags" if self.jdk == 8 else "@/app/arguments"
        self.start("file", java("Shares", 600, 15, frame_pointer=False, flags=[given]))
        for name in {"mixed", "inlined"} & set(self.containers):
            wait_until(lambda: "WARM" in self.containers[name].logs(), 300, f"{name} is warmed up")
        for name, container in self.containers.items():
            assert container.running(), (name, container.logs()[-500:])
        self.pids = {name: container.pid for name, container in self.containers.items()}

    def start(self, name, command, *options):
        self.containers[name] = self.engine.start(f"{name}-{self.jdk}", command, options=options, jdk=self.jdk)

    def sample(self, profiler):
        profiler.start().wait_ready()
        begin = profiler.wait_met(self.pids.values())
        profiler.wait_samples({pid: SAMPLES[name] if self.for_figures else FEW_SAMPLES for name, pid in self.pids.items()},
                              since=begin)
        wait_until(lambda: shows_mixed(profiler.dump("--pid", self.pids["mixed"], since=begin)), 300,
                   f"each of {MIXED} has samples, and so have compiled and inlined methods")
        # While it runs: one that ends gives up naming its last window after a while, and of that nothing else is known.
        self.status = profiler.status_json()
        assert profiler.stop() == 0, profiler.log()
        self.folded = {name: profiler.dump("--pid", pid, since=begin) for name, pid in self.pids.items()}

    def look_at_containers(self):
        self.logs = {name: container.logs() for name, container in self.containers.items()}
        self.changed = {name: container.changes() for name, container in self.containers.items()}
        self.alive = {name: container.running() for name, container in self.containers.items()}

    def stream(self, name):
        return self.status[self.pids[name]]


# Under sanitizers the oldest and the newest layouts are enough: what is shipped is judged on all.
@pytest.fixture(scope="module", params=each_jdk(8, 17, 25, of=(JDKS[0], JDKS[-1]) if SANITIZED else JDKS + NEWEST_JDKS))
def scene(request, engine, app, module_daemon, long_tests_too):
    return Scene(engine, app, module_daemon, request.param, long_tests_too)


def test_names_come_from_the_tables_of_every_jvm(scene):
    for name in scene.pids:
        stream = scene.stream(name)
        assert stream["jit_source"] == "vmstructs", (name, stream)
        assert stream["attach_requests"] == 0, (name, stream)


def test_nothing_is_left_in_containers_and_nobody_talks(scene):
    for name in scene.pids:
        assert scene.alive[name]
        assert scene.changed[name] == [], name
        assert "Full thread dump" not in scene.logs[name], name


def test_warmed_up_jvm_shows_compiled_and_inlined_methods(scene):
    assert shows_mixed(scene.folded["mixed"]), scene.folded["mixed"]


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
@pytest.mark.released
def test_warmed_up_jvm_has_names_for_all_but_one_in_a_hundred(scene):
    folded = scene.folded["mixed"]
    bare = folded.samples(lambda frames: any(re.match(r"\[?lib.*(\]|\+0x[0-9a-f]+)$", f)
                                            for f in user_part(frames)))
    assert_named(folded, f"JDK {scene.jdk}, {bare} with a library that has no symbols")
    stream = scene.stream("mixed")
    assert_rare(stream["unknown_jit_frames"], stream["jit_frames"], 0.01, stream)


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
def test_warmed_up_jvm_shows_compiled_and_inlined_methods_figures(scene):
    folded = scene.folded["mixed"]
    names = folded.names()
    by_kind = {which: sum(count * sum(kind(frame) == which for frame in frames) for frames, count in folded.stacks)
               for which in "j10i"}
    assert by_kind["j"] >= 500 and by_kind["i"] >= 500, by_kind
    handled = [name for name in names if name.startswith("Mixed$") and name.endswith(".handle")]
    below = folded.samples(lambda frames: any(name in handled for name in java_names(frames)))

    def is_cut(frames):
        return any(name in handled for name in java_names(frames)) and "Mixed.serve" not in java_names(frames)
    assert_rare(folded.samples(is_cut), below, 0.01, folded.show(is_cut))


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
@pytest.mark.parametrize("leaf,chain", [
    (r"Inlined\$Sink[123]\.eat", ["Inlined.main", "Inlined.work", "Inlined.first", "Inlined.second", "Inlined.third"]),
    (r"Inlined\.add", ["Inlined.main", "Inlined.spin", "Inlined.fold", "Inlined.mix"]),
], ids=["at-calls", "between-calls"])
def test_inlined_chains_are_those_of_the_program(scene, leaf, chain):
    """At calls what is inlined is known exactly; the ends of both chains are compiled, not inlined."""
    total = exact = 0
    for frames, count in scene.folded["inlined"].stacks:
        names = java_names(frames)
        if not names or not re.fullmatch(leaf, names[-1]):
            continue
        total += count
        inlined = [plain(frame) for frame in frames if kind(frame) == "i"]
        if names[:-1] == chain and [name for name in inlined if name in chain[2:]] == chain[2:]:
            exact += count
    print(f"JDK {scene.jdk}: {total} samples with the leaf {leaf}, {exact} with the whole inlined chain")
    assert total >= 20, scene.folded["inlined"]  # one in seven samples is in add()
    assert_rare(total - exact, total, 0.05, scene.folded["inlined"])


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
def test_interpreted_methods_are_all_named(scene):
    """Exact chains: nothing but the interpreter runs, so nothing is missing and nothing is inlined."""
    folded = scene.folded["interp"]
    working = [(frames, count) for frames, count in folded.stacks if "Interp.work" in java_names(frames)]
    total = sum(count for _, count in working)
    assert total >= 200, folded
    exact = sum(count for frames, count in working if java_names(frames) == INTERP_CHAIN)
    interpreted = sum(count for frames, count in working if all(kind(f) == "0" for f in frames if kind(f) in "j10i"))
    bare = folded.samples(lambda frames: "Interpreter" in frames)
    print(f"JDK {scene.jdk} -Xint: {total} samples, {exact} with the exact chain, {bare} with a bare Interpreter")
    assert interpreted == total
    assert_rare(total - exact, total, 0.03, folded)
    assert_rare(bare, folded.total, 0.01, folded.show(lambda frames: "Interpreter" in frames))


def test_frame_pointer_flag_is_seen_wherever_it_was_given(scene):
    for name in {"mixed", "environment", "file"} & set(scene.pids):
        assert scene.stream(name)["preserve_frame_pointer"] == "on", (name, scene.stream(name))
        assert not any("FramePointer" in problem for problem in scene.stream(name)["problems"])
    if "environment" in scene.pids:
        assert scene.stream("environment")["preserve_frame_pointer_from"] == "environment"
    assert scene.stream("mixed")["preserve_frame_pointer_from"] == "command line"
    assert scene.stream("without")["preserve_frame_pointer"] == "off", scene.stream("without")


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
def test_frame_pointer_flag_is_seen_wherever_it_was_given_figures(scene):
    for name in ("environment", "file"):
        folded = scene.folded[name]
        below = folded.samples(lambda frames: "Shares.seventy" in java_names(frames))
        whole = folded.samples(lambda frames: java_names(frames)[:2] == ["Shares.main", "Shares.work"]
                               and "Shares.seventy" in java_names(frames))
        assert below >= 30, (name, folded)
        assert_rare(below - whole, below, 0.1, (name, folded))


@pytest.mark.long("90 % of its stacks must be whole: how soon its rules are proved is the host's")
@pytest.mark.released
def test_jvm_without_frame_pointers_is_reported_and_whole(scene):
    stream = scene.stream("without")
    assert stream["preserve_frame_pointer"] == "off", stream
    folded = scene.folded["without"]
    below = folded.samples(lambda frames: "Shares.seventy" in java_names(frames))
    whole = folded.samples(lambda frames: java_names(frames)[:2] == ["Shares.main", "Shares.work"]
                           and "Shares.seventy" in java_names(frames) and "[truncated]" not in frames)
    assert below >= 30, folded
    assert_rare(below - whole, below, 0.1, folded)


# ---- closed containers, killed JVMs ----

@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
@pytest.mark.released
def test_closed_and_paused_container_is_named(engine, daemon):
    """No attach, no writable file system, no user name, paused before the window ends."""
    jdks = (8, 17, 25)
    containers = {jdk: engine.start(
        f"closed-{jdk}", java("Mixed", 600, 30, 2, inline=True, flags=["-XX:+DisableAttachMechanism"]),
        options=["--read-only"], jdk=jdk) for jdk in jdks}
    for jdk, container in containers.items():
        wait_until(lambda: "WARM" in container.logs(), 300, f"JDK {jdk} is warmed up")
    pids = {jdk: container.pid for jdk, container in containers.items()}
    profiler = daemon(window="60s").start().wait_ready()
    wait_cpu(pids.values(), 2.5)
    for container in containers.values():
        container.pause()
    time.sleep(1)
    assert profiler.stop() == 0, profiler.log()
    status = profiler.status_json()
    for jdk, container in containers.items():
        container.unpause()
        assert_named(profiler.dump("--pid", pids[jdk]), f"JDK {jdk}")
        assert status[pids[jdk]]["jit_source"] == "vmstructs"
        before = container.logs().count("ALIVE")
        wait_until(lambda: container.logs().count("ALIVE") > before, 15, "the JVM works on")
        assert container.changes() == [] and "Full thread dump" not in container.logs()
        container.remove()


@pytest.mark.long("at most 1 % without a name; that there are names, test_user_namespace.py says")
def test_jvm_in_a_user_namespace_is_named(remapped_engine, daemon):
    container = remapped_engine.start_ready("matrix-userns", java("Shares", 600, 60), "TRUTH", user="0:0")
    pid = container.pid
    profiler = daemon(window="3s").start().wait_ready()
    begin = profiler.wait_met([pid])
    profiler.wait_samples({pid: 250}, since=begin, seconds=60)
    assert profiler.stop() == 0, profiler.log()
    folded = profiler.dump("--pid", pid, since=begin)
    assert_named(folded, "user namespace")
    assert folded.with_frame("Shares.seventy") >= 100
    stream = profiler.status_json()[pid]
    assert stream["jit_source"] == "vmstructs" and stream["preserve_frame_pointer"] == "on", stream
    assert container.changes() == []
    container.remove()


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
@pytest.mark.released
def test_killed_jvms_keep_their_names(engine, daemon):
    """Killed in the middle of the very first window: what was seen was named while it lived."""
    jdks = (8, 17, 25)
    containers = [engine.start_ready(f"killed-{jdk}", java("Shares", 600, 60), "TRUTH", jdk=jdk) for jdk in jdks]
    pids = [container.pid for container in containers]
    profiler = daemon(window="60s").start().wait_ready()
    wait_cpu(pids, 2)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), 30, "nothing is left of them")
    time.sleep(1)  # whatever a daemon does that meets what is gone
    assert profiler.process.poll() is None, profiler.log()
    assert profiler.stop() == 0, profiler.log()
    for jdk, pid in zip(jdks, pids):
        folded = profiler.dump("--pid", pid)
        below = folded.samples(lambda frames: any(plain(frame) in ("Shares.seventy", "Shares.thirty")
                                                  for frame in frames))
        unknown = folded.samples(lambda frames: "[unknown jit]" in frames)
        print(f"JDK {jdk}: {folded.total} samples, {below} in the program's methods, {unknown} unknown")
        assert below >= 0.8 * folded.total and below >= 50, folded
        assert_rare(unknown, folded.total, 0.01, folded.show(lambda frames: "[unknown jit]" in frames))
    for container in containers:
        container.remove()


@pytest.mark.long("four JVMs more: test_hotspot_reader.py's is killed while it is read, test_churn.py's code comes and goes")
@pytest.mark.parametrize("jdk", (8, 17, 25))
def test_jvms_that_come_and_die_do_not_harm_the_daemon(engine, daemon, jdk):
    """Killed at odd moments of their start, of being read, and of a window's end."""
    profiler = daemon(window="1s").start().wait_ready()
    for round_ in range(4):
        container = engine.start(f"dying-{jdk}-{round_}", java("Churn", 600, 1, 30, inline=True), jdk=jdk)
        pid = container.pid
        wait_until(lambda: cpu_seconds(pid) >= 0.2 + 0.45 * round_, 60, f"{pid} comes that far")
        os.kill(pid, signal.SIGKILL)
        container.remove()
    assert profiler.process.poll() is None, profiler.log()
    assert profiler.stop() == 0, profiler.log()
    assert profiler.list_json("--comm", "java"), "none was sampled"
