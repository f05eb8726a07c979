# SPDX-License-Identifier: Apache-2.0
"""Threads of Java with names that the kernel cuts: told in full where they can be, by every JDK, and never another's."""
import pytest

from harness.containers import JDKS, java
from harness.folded import Folded
from harness.programs import BIN, run

pytestmark = pytest.mark.live

POOL, ALONE, SHARED = "http-nio-#-exec-#", "événements-du-jour", "order-processor"
WANTED = {POOL: {"pooled"}, ALONE: {"alone"}, SHARED: {"reads", "writes"}}
SEES = [(jdk, []) for jdk in JDKS] + [(25, ["-XX:+UseZGC"]), (25, ["-XX:+UseCompactObjectHeaders"]),
                                      (11, ["-XX:-UseCompressedOops"])]


def methods_by_thread(container, *options):
    """{thread: LongNames' methods that its stacks begin with}, once all of the program's threads are there."""
    for seconds in (3, 9, 27):
        result = run(BIN / "jbpf", "record", "-p", container.pid, *options, "-d", f"{seconds}s", "-o", "-", "--format", "folded",
                     timeout=90)
        assert result.returncode == 0, result.stderr
        threads = {}
        for frames, _ in Folded(result.stdout).stacks:
            for method in ("pooled", "alone", "reads", "writes"):
                if any(frame.startswith(f"LongNames.{method}_[") for frame in frames):
                    threads.setdefault(frames[0], set()).add(method)
        if set().union(*threads.values()) == {"pooled", "alone", "reads", "writes"}:
            break
    return threads


@pytest.mark.long("no stack may have a cut name: a recording must read the JVM's threads before it names any method")
@pytest.mark.parametrize("jdk, flags", SEES, ids=lambda value: "".join(value) or "plain" if isinstance(value, list) else f"jdk{value}")
def test_a_thread_has_its_whole_name_unless_it_might_be_another_s(engine, jdk, flags):
    container = engine.start_ready("names", java("LongNames", 600, flags=["-Xint", *flags]), "READY", jdk=jdk)
    try:
        assert methods_by_thread(container, "--by", "thread") == WANTED
    finally:
        container.remove()


@pytest.mark.long("every single sample of a recording of 3 s by the clock must be named down to its method")
def test_whole_names_select_threads_and_keep_digits_when_asked_to(engine):
    container = engine.start_ready("names", java("LongNames", 600), "READY")
    try:
        assert methods_by_thread(container, "--threads")["http-nio-8080-exec-#"] == {"pooled"}, \
            "three threads that the kernel calls the same are told as one"
        result = run(BIN / "jbpf", "record", "-p", container.pid, "--thread", "*exec*", "-d", "3s", "-o", "-", "--format", "folded",
                     timeout=90)
        assert result.returncode == 0, result.stderr
        profile = Folded(result.stdout)
        assert profile.with_frame("LongNames.pooled") == profile.total > 0
    finally:
        container.remove()
