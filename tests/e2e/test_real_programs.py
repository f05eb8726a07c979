# SPDX-License-Identifier: Apache-2.0
"""Programs as people run them, with and without -XX:+PreserveFramePointer: two databases, a compiler, an HTTP service.
Hardly any stack is cut, and none hangs libc's functions on a Java method that does not call them."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.chains import TRUNCATED
from harness.containers import JDKS
from harness.folded import assert_rare, kind
from harness.programs import TOP, wait_until

pytestmark = [pytest.mark.live, pytest.mark.released,
              pytest.mark.long("at most 0.5 % of the stacks may be cut: how soon code is read is the host's")]

JARS = Path("/usr/share/java")
DATABASES = {
    "h2": ("h2.jar", "jdbc:h2:mem:x;DB_CLOSE_DELAY=-1"), "derby": ("derby.jar", "jdbc:derby:memory:x;create=true"),
}
FLAGS = {"without": "-XX:-PreserveFramePointer", "with": "-XX:+PreserveFramePointer"}
JAVA = "j1i"
# No compiled method calls these itself: stubs, natives and the JVM do. (pthread_self is all that NativeThread.current()
# of JDK 17 is: a jump, which leaves no frame of the native.)
LIBC = re.compile(r"_*(mem|str|pthread_(?!self)|fmod|ieee754|malloc|free|futex|poll|epoll_|read|write)\w*")
ENOUGH, WARM = 2500, 8000  # samples; the first while the programs are compiled
MOST_CUT = {8: 0.015}  # x87 instructions of JDK 8 push into the middle of a frame
# Debian's H2 and java.net.http need 11; the images have no compiler.
CASES = [("compiler", 17), *(("derby", jdk) for jdk in JDKS),
         *((name, jdk) for name in ("h2", "http") for jdk in JDKS[1:])]
if os.environ.get("JBPF_REAL_ALL") != "1":
    CASES = [case for case in CASES if case[1] == 17]


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    subprocess.run(["javac", "-nowarn", "--release", "11", "-d", folder, TOP / "tests/bench/java/Service.java",
                    TOP / "tests/bench/java/Compile.java"], check=True, capture_output=True)
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755)
    return folder


def command_of(name, flag, classes):
    """The command, and the options of its container."""
    java = ["java", "-Xmx256m", flag]
    if name in DATABASES:
        jar, url = DATABASES[name]
        if not (JARS / jar).exists():
            pytest.skip(f"{JARS / jar} is not installed")
        return [*java, "-Dderby.stream.error.file=/dev/null", "-cp", f"/app:/jars/{jar}", "Databases", url], \
            ["-v", f"{JARS}:/jars:ro"]
    if name == "http":
        return [*java, "-cp", "/classes", "Service"], ["-v", f"{classes}:/classes:ro"]
    home = Path(shutil.which("javac")).resolve().parent.parent  # the images have none
    return [str(home / "bin/java"), *java[1:], "-cp", "/classes", "Compile", "/tmp"], \
        ["-v", f"{classes}:/classes:ro", "-v", f"{home}:{home}:ro",
         "-v", "/etc/java-17-openjdk:/etc/java-17-openjdk:ro"]


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("name,jdk", CASES)
def test_hardly_any_stack_of_a_real_program_is_cut(engine, daemon, classes, name, jdk, flag):
    command, options = command_of(name, FLAGS[flag], classes)
    container = engine.start(f"{name}-{jdk}-{flag}", command, options, jdk=jdk)
    profiler = daemon("--frequency", "499", window="2s").start().wait_ready()
    pid = container.pid
    wait_until(lambda: container.running() and profiler.wait_met([pid]), 60, f"{name} is met")
    profiler.wait_samples({pid: WARM})
    begin = profiler.stored_until()
    profiler.wait_samples({pid: ENOUGH}, since=begin)
    assert profiler.stop() == 0, profiler.log()
    folded = profiler.dump("--pid", pid, since=begin)
    logs = container.logs()
    container.remove()

    def is_cut(frames):
        return TRUNCATED in frames

    def is_java(frames):
        return any(kind(frame) in JAVA for frame in frames)

    def misses_a_caller(frames):
        return any(kind(caller) in JAVA and LIBC.fullmatch(frame) for caller, frame in zip(frames, frames[1:]))
    print(f"JDK {jdk} {name} {flag} the flag: {folded.samples(is_cut)} of {folded.total} are cut")
    assert folded.samples(is_java) >= ENOUGH / 4, (folded, logs[-500:])
    assert not folded.samples(misses_a_caller), folded.show(misses_a_caller)
    assert_rare(folded.samples(is_cut), folded.total, MOST_CUT.get(jdk, 0.005), folded.show(is_cut))
