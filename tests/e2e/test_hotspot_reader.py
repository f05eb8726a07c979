# SPDX-License-Identifier: Apache-2.0
"""The reader of HotSpot's code cache against what the JVM itself says, on JDK 8 to 25: every address,
size and name. And that it gets along with whatever a JVM and its container are like."""
import os
import random
import re
import signal
import subprocess
import threading
import time

import pytest

from harness.containers import JDKS, each_jdk, java
from harness.jvm_truth import Code, codelist, compilations, parse_perf_map, perf_map, without_hash
from harness.programs import BUILD, PATIENCE, age_seconds, run, wait_until

TOOL = BUILD / "tests" / "tools" / "hotspot_dump"
WITH_PERF_MAP = [jdk for jdk in JDKS if jdk >= 17]
WITH_CODELIST = [jdk for jdk in JDKS if jdk >= 11]


def dump(pid):
    """What jbpf's reader finds, as a set of Code."""
    result = run(TOOL, pid)
    assert result.returncode == 0, result.stderr
    return parse_perf_map(result.stdout)


def wait_compiled(pid, enough=lambda methods: True):
    """Until 200 methods are compiled, which is the load's doing and the compilers', and others that are wanted."""
    def are_compiled():
        result = run(TOOL, pid)
        methods = list(filter(is_method, parse_perf_map(result.stdout))) if result.returncode == 0 else []
        return len(methods) >= 200 and enough(methods)
    wait_until(are_compiled, 120, lambda: f"methods are compiled; the reader says: {run(TOOL, pid).stderr}")


def is_method(code):
    return code.name.endswith(")") and "." in code.name


def comparable(codes):
    return {Code(code.start, code.size, without_hash(code.name)) for code in codes}


def assert_same_as_perf_map(pid):
    """What was there before and after is there meanwhile; what is there was there before or after.
    A method may be compiled and dropped again between the two maps: asked for again then."""
    for _ in range(4):
        before, found, after = comparable(perf_map(pid)), comparable(dump(pid)), comparable(perf_map(pid))
        missing = (before & after) - found
        assert not missing, f"{len(missing)} of {len(before & after)} not found: {sorted(missing)[:5]}"
        extra = found - (before | after)
        if not extra and len(before & after) >= 0.9 * len(before):
            return found
        # Nothing in the extra may contradict the maps: an address of theirs with another name.
        known = {code.start: code for code in before & after}
        contradictions = [(code, known[code.start]) for code in extra if code.start in known]
        assert not contradictions, contradictions[:5]
    raise AssertionError(f"four times something that the JVM does not have, or it never comes to rest "
                         f"({len(before)} entries before, {len(before & after)} of them later): {sorted(extra)[:5]}")


def assert_same_as_codelist(pid):
    for _ in range(4):
        before, found, after = comparable(codelist(pid)), comparable(dump(pid)), comparable(codelist(pid))
        assert len(before & after) >= 200
        missing = (before & after) - found
        assert not missing, f"{len(missing)} of {len(before & after)} not found: {sorted(missing)[:5]}"
        extra = set(filter(is_method, found)) - (before | after)
        if not extra:
            return
    raise AssertionError(f"four times methods that the JVM does not have: {sorted(extra)[:5]}")


@pytest.mark.live
@pytest.mark.long("a load lives, or a window lasts, so many seconds by the clock")
@pytest.mark.parametrize("jdk", WITH_PERF_MAP)
def test_code_of_a_jvm_that_compiles_everything(engine, jdk):
    container = engine.start_ready(f"reader-comp-{jdk}", java("Shares", 600, 10, flags=["-Xcomp"]), "TRUTH",
                                   jdk=jdk, seconds=120)
    wait_until(lambda: age_seconds(container.pid) >= 3.3, 60, "it is old enough to be asked")
    try:
        found = assert_same_as_perf_map(container.pid)
        assert sum(map(is_method, found)) >= 1500, len(found)  # a busy JVM has not done all of them yet
        print(f"JDK {jdk} -Xcomp: {len(found)} entries, all equal")
    finally:
        container.remove()


@pytest.mark.live
@pytest.mark.long("the JVM must come to rest within four readings, and time stamps of two clocks agree within 2 s")
@pytest.mark.parametrize("jdk,flags", [*((jdk, ()) for jdk in JDKS), (8, ("-Xcomp",))])
def test_code_is_what_the_jvm_itself_says_and_logged(engine, tmp_path, jdk, flags):
    """JDK 8 has no command that lists its code, but every JDK can log what it compiles."""
    log = tmp_path / "log"
    log.mkdir()
    log.chmod(0o777)
    for parent in list(log.parents)[:-2]:
        parent.chmod(parent.stat().st_mode | 0o011)
    logging = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+LogCompilation", "-XX:LogFile=/log/compilations.xml"]
    warm_up = 0 if "-Xcomp" in flags else 2  # there all that runs is compiled at once
    container = engine.start_ready(f"reader-log-{jdk}", java("Mixed", 600, 10, warm_up, flags=[*flags, *logging], inline=True),
                                   "WARM", jdk=jdk, options=["-v", f"{log}:/log"])
    pid = container.pid
    if jdk in WITH_CODELIST:
        assert_same_as_what_it_says(container, jdk)
    begin = jvm_age_seconds(pid)
    found = set(filter(is_method, comparable(dump(pid))))
    stop(container)
    container.remove()
    made, dropped = compilations(log / "compilations.xml")
    logged = {}
    for compilation in made.values():
        logged.setdefault(compilation.code_begin, set()).add(without_hash(compilation.name))
    wrong = [code for code in found if code.name not in logged.get(code.start, ())]
    assert not wrong, f"{len(wrong)} of {len(found)}: {[(c, logged.get(c.start)) for c in wrong[:5]]}"
    starts = {code.start for code in found}
    missing = [one for id_, one in made.items()
               if id_ not in dropped and one.seconds < begin - 2 and one.code_begin not in starts]
    assert not missing, f"{len(missing)} of {len(made)} living ones not found: {missing[:5]}"
    assert len(found) >= 200
    print(f"JDK {jdk} {' '.join(flags)}: {len(found)} methods, all as logged")


def assert_same_as_what_it_says(container, jdk):
    assert_same_as_codelist(container.pid)
    if jdk in WITH_PERF_MAP:
        found = assert_same_as_perf_map(container.pid)
        assert sum(map(is_method, found)) >= 200, len(found)
        print(f"JDK {jdk}: {len(found)} entries, {sum(map(is_method, found))} methods, all equal")
    assert "Full thread dump" not in container.logs()


def jvm_age_seconds(pid):
    """What time stamps in its log count from: its launcher makes a thread, which makes the JVM. The process is older
    by what a container takes to start, which on a busy host is seconds."""
    first = min(tid for tid in map(int, os.listdir(f"/proc/{pid}/task")) if tid != pid)
    return age_seconds(f"{pid}/task/{first}")


def stop(container):
    """An orderly end: what the JVM logs is on disk."""
    container.engine.docker("stop", "-t", "20", container.id)


@pytest.mark.live
@pytest.mark.parametrize("jdk", each_jdk(17))
def test_paused_read_only_container_with_attach_disabled_is_read(engine, jdk):
    """All at once, and a user that no passwd knows. Nothing is written there, nobody is signalled."""
    container = engine.start_ready(f"reader-closed-{jdk}", java("Mixed", 600, 10, 1, inline=True, flags=[
        "-XX:+DisableAttachMechanism", "-XX:-UsePerfData"]), "WARM", jdk=jdk, options=["--read-only"])
    try:
        pid = container.pid
        wait_compiled(pid)
        container.pause()
        first, second = dump(pid), dump(pid)
        assert first == second, "nothing runs, nothing changes"
        assert sum(map(is_method, first)) >= 200
        container.unpause()
        before = container.logs().count("ALIVE")
        wait_until(lambda: container.logs().count("ALIVE") > before, 10, "the JVM works on")
        assert container.changes() == []
        assert "Full thread dump" not in container.logs()
    finally:
        container.remove()


@pytest.mark.live
@pytest.mark.long("an engine of its own: test_user_namespace.py has a daemon name such a JVM")
def test_jvm_in_a_user_namespace_is_read(remapped_engine):
    container = remapped_engine.start_ready("reader-userns", java("Mixed", 600, 10, 1, inline=True), "WARM", user="0:0")
    wait_compiled(container.pid, lambda methods: any(
        code.name.endswith(" Mixed.serve(long, long)") or "Mixed$" in code.name for code in methods))


def copies_of_tool(pid, until, codes):
    """Runs the reader in a loop; counts how often it ended with which code."""
    while not until.is_set():
        result = subprocess.run([TOOL, str(pid)], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, timeout=60 * PATIENCE)
        codes[result.returncode] = codes.get(result.returncode, 0) + 1


@pytest.mark.live
@pytest.mark.parametrize("jdk", each_jdk(17, of=(8, 17, 25)))
def test_jvm_that_is_killed_in_the_middle_of_reading(engine, jdk):
    """The reader never dies of it: it says that the process is gone."""
    chance = random.Random(jdk)
    for _ in range(3):
        container = engine.start_ready(f"reader-killed-{jdk}", java("Churn", 600, 2, 40, inline=True), "READY", jdk=jdk)
        pid, until, codes = container.pid, threading.Event(), {}
        reading = threading.Thread(target=copies_of_tool, args=(pid, until, codes))
        reading.start()
        try:
            wait_until(lambda: 0 in codes, 60, "it was read once")
            time.sleep(0.5 + chance.random())  # by construction: any moment will do
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: 1 in codes, 60, "it was missed")
        finally:
            until.set()
            reading.join()
            container.remove()
        assert set(codes) == {0, 1}, codes


@pytest.mark.live
@pytest.mark.long("a load lives, or a window lasts, so many seconds by the clock")
@pytest.mark.parametrize("jdk", JDKS)
def test_jvm_is_read_while_its_code_comes_and_goes(engine, jdk):
    """Start-up and churn: whatever is read, no class has another one's method."""
    for seconds in (4, 16, 64):  # by the clock: on a busy machine the first may be too few readings
        readings, methods = read_while_it_churns(engine, jdk, seconds)
        if readings >= 5 and methods >= 50:
            break
    assert readings >= 5 and methods >= 50, (readings, methods)


def read_while_it_churns(engine, jdk, seconds):
    container = engine.start_ready(f"reader-churn-{jdk}", java("Churn", seconds, 2, 60, inline=True), "READY", jdk=jdk)
    pid, readings, methods = container.pid, 0, 0
    while container.running():
        result = run(TOOL, pid)
        if result.returncode != 0:
            break
        readings += 1
        for code in parse_perf_map(result.stdout):
            numbers = set(re.findall(r"(?<=[a-z])\d{4}(?!\d)", without_hash(code.name)))
            if code.name.find("Gen") >= 0 or code.name.find("step") >= 0:
                methods += 1
                assert len(numbers) <= 1, code.name
    wait_until(lambda: not container.running(), 60, "the JVM ends")
    assert "DONE" in container.logs() and container.exit_code == 0, container.logs()[-800:]
    container.remove()
    return readings, methods


def test_process_that_is_no_jvm_is_refused():
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        result = run(TOOL, sleeper.pid)
        assert result.returncode == 1 and result.stdout == "" and result.stderr.count("\n") == 1, result
    finally:
        sleeper.kill()
        sleeper.wait()
