# SPDX-License-Identifier: Apache-2.0
"""Settings of JVMs that people run with and no other test does: collectors, pages, archives, images of their own.
Names are read and stacks are walked as they are by default: no chain of Chains.java is impossible."""
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from harness.chains import verdict, wait_whole
from harness.containers import java
from harness.folded import assert_rare
from harness.programs import cpu_seconds, wait_until

pytestmark = [pytest.mark.live, pytest.mark.long("each setting is a JVM more: time; and shares of samples")]

UNLOCK = "-XX:+UnlockExperimentalVMOptions"
SETTINGS = {
    "cms": ([8], ["-XX:+UseConcMarkSweepGC"]),
    "parallel": ([8, 17], ["-XX:+UseParallelGC"]),
    "g1": ([8, 25], ["-XX:+UseG1GC"]),
    "epsilon": ([17], [UNLOCK, "-XX:+UseEpsilonGC"]),
    "zgc": ([17, 25], ["-XX:+UseZGC"]),
    "generational zgc": ([21], ["-XX:+UseZGC", "-XX:+ZGenerational"]),
    "shenandoah": ([17, 25], ["-XX:+UseShenandoahGC"]),
    "generational shenandoah": ([25], ["-XX:+UseShenandoahGC", "-XX:ShenandoahGCMode=generational"]),
    "one code heap": ([17, 25], ["-XX:-SegmentedCodeCache"]),
    "no tiers": ([8, 21], ["-XX:-TieredCompilation"]),
    "huge pages where they can be had": ([17, 25], ["-XX:+UseTransparentHugePages"]),
    "no archive": ([17], ["-Xshare:off"]),
    "wide pointers": ([17], ["-XX:-UseCompressedOops", "-XX:-UseCompressedClassPointers"]),
    "compact headers": ([25], [UNLOCK, "-XX:+UseCompactObjectHeaders"]),
    "without jvmstat": ([25], ["-XX:-UsePerfData"]),
}
# The first run writes what the second one must be able to use.
ARCHIVES = {
    "dynamic archive": (17, ["-XX:ArchiveClassesAtExit=/tmp/a"], ["-Xshare:on", "-XX:SharedArchiveFile=/tmp/a"]),
    "aot cache": (25, ["-XX:AOTCacheOutput=/tmp/a"], ["-XX:AOTMode=on", "-XX:AOTCache=/tmp/a"]),
}
ENOUGH = 800


def chains(seconds, flags):
    return java("Chains", seconds, frame_pointer=False, flags=["-XX:-Inline", *flags], inline=True)


def judge_new(daemon, pid):
    judge(daemon("--frequency", "999", window="2s").start().wait_ready(), pid)


def judge(profiler, pid):
    wait_whole(profiler, pid)
    begin = profiler.stored_until()
    profiler.wait_samples({pid: ENOUGH}, since=begin)
    assert profiler.stop() == 0, profiler.log()
    folded = profiler.dump("--pid", pid, since=begin)
    counts = {found: folded.samples(lambda frames, found=found: verdict(frames) == found)
              for found in ("whole", "impossible", "leaf", "cut")}
    print(counts)
    assert counts["whole"] >= ENOUGH / 4, (counts, folded)
    assert counts["impossible"] == 0, folded.show(lambda frames: verdict(frames) == "impossible")
    assert_rare(counts["cut"], counts["whole"], 0.02, folded.show(lambda frames: verdict(frames) == "cut"))
    assert profiler.status_json()[pid]["jit_source"] == "vmstructs"


@pytest.mark.parametrize("jdk,name", [(jdk, name) for name, (jdks, _) in SETTINGS.items() for jdk in jdks])
def test_stacks_are_those_of_the_program_whatever_the_jvm_is_set_to(engine, daemon, jdk, name):
    container = engine.start_ready(f"setting-{jdk}-{name.replace(' ', '-')}", chains(900, SETTINGS[name][1]),
                                   "READY", jdk=jdk)
    judge_new(daemon, container.pid)
    container.remove()


@pytest.mark.parametrize("jdk", [27, 28])
def test_stacks_are_those_of_the_program_while_hot_code_is_moved(engine, daemon, jdk):
    """JDK-8326205 copies what it samples most into a heap of its own, of a type that older JVMs have not."""
    flags = [UNLOCK, "-XX:+HotCodeHeap", "-XX:HotCodeHeapSize=16m", "-XX:HotCodeStartupDelaySeconds=1",
             "-XX:HotCodeIntervalSeconds=2", "-XX:HotCodeSampleSeconds=2", "-Xlog:hotcode"]
    container = engine.start_ready(f"hot-{jdk}", chains(900, flags), "READY", jdk=jdk)
    wait_until(lambda: re.search("Relocated [1-9]", container.logs()), 180, "code was moved")
    judge_new(daemon, container.pid)
    container.remove()


@pytest.mark.parametrize("name", ARCHIVES)
def test_stacks_are_those_of_the_program_when_classes_or_code_come_from_an_archive(engine, app, daemon, name):
    jdk, write, use = ARCHIVES[name]
    # Classes in folders are left out of archives.
    with zipfile.ZipFile(app / "chains.jar", "w") as jar:
        for path in app.glob("Chains*.class"):
            jar.write(path, path.name)
    first, second = (" ".join(chains(seconds, flags)).replace("-cp /app ", "-cp /app/chains.jar ")
                     for seconds, flags in ((1, write), (900, use)))
    container = engine.start_ready(name.replace(" ", "-"), ["sh", "-c", f"{first} >/tmp/log 2>&1; exec {second}"],
                                   "READY", jdk=jdk)
    judge_new(daemon, container.pid)
    container.remove()


def test_stacks_are_those_of_the_program_in_an_image_of_its_own(app, daemon, tmp_path):
    """Of jlink: no JDK that anybody else has, without symbols and debug information."""
    assert shutil.which("jlink"), "no jlink on this host"
    subprocess.run(["jlink", "--add-modules", "java.base", "--strip-debug", "--output", tmp_path / "image"], check=True)
    command = [tmp_path / "image" / "bin" / "java", "-XX:-Inline", "-cp", app, "Chains", "900"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stdout:
                if "READY" in line:
                    break
            judge_new(daemon, process.pid)
        finally:
            process.kill()


@pytest.mark.parametrize("flags", [[], ["-XX:+PreserveFramePointer"]], ids=["as it is", "frame pointers"])
def test_stacks_are_those_of_the_program_in_a_jvm_made_later_than_its_process(app, daemon, spinner, flags):
    """A launcher that was sampled and looked at long before it loads libjvm.so."""
    home = Path(shutil.which("java") or "/").resolve().parent.parent
    libjvm = next(home.glob("**/server/libjvm.so"), None) if home != Path("/") else None
    if not libjvm:
        pytest.skip("no JDK on this host")
    profiler = daemon("--frequency", "999", window="2s").start().wait_ready()
    process = spinner("late_jvm", 12, libjvm, "Chains", 900, "-XX:-Inline", f"-Djava.class.path={app}", *flags)
    profiler.wait_samples({process.pid: 1})
    wait_until(lambda: profiler.dump("--pid", process.pid).with_frame("burn_before_jvm"), 60,
               "it has names before it has a JVM")
    assert any("READY" in line for line in process.stdout)
    judge(profiler, process.pid)


@pytest.mark.parametrize("jdk", [17, 25])
def test_a_jvm_that_has_little_cpu_time_to_start_with_is_known_within_the_window(engine, daemon, jdk):
    """Its tables are half filled for seconds, and its interpreter is made long after its code cache: what is sampled
    before these are known has no names."""
    profiler = daemon(window="120s").start().wait_ready()
    container = engine.start_ready(f"slow{jdk}", java("Chains", 900, flags=["-Xint", "-XX:+UseZGC"], inline=True), "READY",
                                   jdk=jdk, options=["--cpus", "0.1"])
    assert engine.docker("update", "--cpus", "1", container.id).returncode == 0
    pid = container.pid
    enough = cpu_seconds(pid) + 8
    wait_until(lambda: cpu_seconds(pid) >= enough, 60, "it has run for some seconds")
    assert profiler.stop() == 0, profiler.log()
    folded = profiler.dump("--pid", pid)
    nameless, named = folded.with_frame("Interpreter"), folded.samples(lambda frames: any(f.endswith("_[0]") for f in frames))
    print(f"JDK {jdk}: {nameless} nameless, {named} named")
    assert nameless < named / 2, folded
