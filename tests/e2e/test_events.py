# SPDX-License-Identifier: Apache-2.0
"""Events besides CPU time: each is sampled by its period, stored by itself, and shown in its own unit."""
import json
import math
import subprocess

import pytest

from harness.containers import java
from harness.folded import Folded
from harness.programs import AIDS, BIN, jbpf, run, wait_until
from harness.store import make_store

PERIOD = 64  # of page faults, unless asked otherwise
START = 1700000000


def truth_of(text):
    """The last line "TRUTH three one"."""
    lines = [line.split() for line in text.splitlines() if line.startswith("TRUTH ")]
    assert lines, text
    return int(lines[-1][1]), int(lines[-1][2])


def assert_is(samples, period, truth, what):
    """2 percent, and three standard deviations of a count."""
    wanted = truth / period
    assert abs(samples - wanted) <= 0.02 * wanted + 3 * math.sqrt(wanted), \
        f"{what}: {samples} samples of {period}, truth {truth}"


def touch(seconds=6):
    """Runs memory_toucher to its end: (pid, faults in touch_three, faults in touch_one)."""
    process = subprocess.Popen([str(AIDS / "memory_toucher"), str(seconds)], text=True, stdout=subprocess.PIPE)
    text, _ = process.communicate(timeout=60 + 10 * seconds)
    assert process.returncode == 0
    return (process.pid, *truth_of(text))


@pytest.mark.live
@pytest.mark.long("the load lives 6 s by the clock, must be named in it, and its count may be off by 2 % only")
def test_page_faults_are_counted_by_function_beside_cpu_time(daemon):
    one = daemon("--event", "cpu,page-faults").start().wait_ready()
    pid, three, single = touch()
    assert one.stop() == 0, one.log()
    faults = one.dump("--event", "page-faults", "--pid", pid)
    assert_is(faults.with_frame("touch_three"), PERIOD, three, faults)
    assert_is(faults.with_frame("touch_one"), PERIOD, single, faults)
    assert one.dump("--pid", pid).total > 0, "CPU time is sampled as well"
    assert one.dump().names() != one.dump("--event", "page-faults").names()
    for event in ("cpu", "page-faults"):
        assert list((one.store / "v1" / event).glob("*/*/*/*.zst")), f"{event} has files of its own"
    listed = json.loads(one.dump_raw("--event", "page-faults", "--pid", pid, "--format", "json").stdout)
    assert (listed["event"], listed["unit"], listed["period"]) == ("page-faults", "faults", PERIOD)
    assert listed["frequency_hz"] is None and listed["cpu_seconds"] is None
    top = one.dump_raw("--event", "page-faults", "--pid", pid, "--format", "top").stdout
    assert f"about {listed['samples'] * PERIOD} page faults, one sample for {PERIOD}" in top, top
    events = json.loads(one.status("--json"))["events"]
    assert events["page-faults"]["on"] == events["cpu"]["on"] == 1 and events["page-faults"]["period"] == PERIOD
    assert run(BIN / "jbpf", "store", "check", "--store", one.store).returncode == 0


@pytest.mark.live
@pytest.mark.long("a ratio of counts within 10 %, and half of all named: how soon names are there is the host's")
def test_page_faults_of_java_outside_of_its_heap_have_java_names(engine, daemon):
    one = daemon("--event", "page-faults", "--page-fault-period", 16).start().wait_ready()
    container = engine.start_ready("off-heap", java("OffHeap", 600), "TRUTH")
    pid = container.pid
    wait_until(lambda: container.logs().count("TRUTH") >= 12, 120, "it touches memory for a while")
    container.engine.docker("stop", "-t", "1", container.id)
    three, single = truth_of(container.logs())
    assert one.stop() == 0, one.log()
    faults = one.dump("--event", "page-faults", "--pid", pid)
    ratio = faults.with_frame("OffHeap.touchThree") / max(1, faults.with_frame("OffHeap.touchOne"))
    assert ratio == pytest.approx(three / single, rel=0.1), faults
    # Up to a second of faults came after the last line, and the first windows may be without names: on a busy host
    # they are long.
    assert faults.with_frame("OffHeap.touchThree") * 16 >= 0.5 * three, faults
    assert faults.with_frame("OffHeap.touchThree") * 16 <= 1.2 * three, faults


@pytest.mark.live
@pytest.mark.long("shares within 3 points: that all methods are named as soon is the host's")
@pytest.mark.parametrize("jdk", [11, 17, 25])
def test_a_heap_that_grows_is_told_by_who_allocates(jdk, engine, daemon):
    """Shares, and no sums: a JVM that gets memory touches some of its own with it, a few per cent."""
    one = daemon("--event", "cpu,page-faults", "--page-fault-period", 16).start().wait_ready()
    command = java("GrowHeap", "/tmp/go", flags=["-XX:+UseG1GC", "-XX:G1HeapRegionSize=1m", "-Xms32m", "-Xmx1g", "-XX:-UseTransparentHugePages"])
    container = engine.start_ready(f"grow-{jdk}", [part for part in command if part != "-Xmx96m"], "READY", jdk=jdk)
    pid = container.pid

    def is_named():
        result = jbpf("status", "--store", one.store, "--event", "page-faults", "--json")
        streams = json.loads(result.stdout)["streams"] if result.returncode == 0 else []
        return any(stream["pid"] == pid and stream["jit_source"] == "vmstructs" for stream in streams)
    wait_until(is_named, 120, "its names are read")
    begin = one.stored_until()
    engine.docker("exec", container.id, "touch", "/tmp/go")
    wait_until(lambda: "TRUTH" in container.logs(), 120, "it has grown")
    seen = len(one.windows())
    wait_until(lambda: len(one.windows()) > seen + 1, 60, "all of it is stored")
    assert one.stop() == 0, one.log()
    truth = list(map(int, container.logs().split("TRUTH ")[1].split()[:3]))
    faults = one.dump("--event", "page-faults", "--pid", pid, since=begin)
    found = [faults.with_frame(f"GrowHeap.{method}") * 16 * 4096 for method in ("growThree", "growTwo", "growOne")]
    print(f"JDK {jdk}: {found} bytes, truth {truth}")
    for mine, true in zip(found, truth):
        assert abs(mine / sum(found) - true / sum(truth)) <= 0.03, (found, truth, faults)


@pytest.mark.live
def test_an_event_that_is_not_sampled_has_no_tree(daemon):
    one = daemon().start().wait_ready()
    wait_until(one.windows, 60, "a window is stored")
    assert one.stop() == 0, one.log()
    assert sorted(path.name for path in (one.store / "v1").iterdir() if path.is_dir()) == ["cpu"]
    result = one.dump_raw("--event", "page-faults")
    assert result.returncode == 3, result.stderr
    assert "none of page-faults, only of cpu" in result.stderr, result.stderr


@pytest.mark.live
@pytest.mark.parametrize("event, noun, name", [("page-faults", "page faults", "touch_three"),
                                               ("context-switches", "context switches", "schedule")])
def test_record_samples_other_events(event, noun, name, tmp_path):
    process = subprocess.Popen([str(AIDS / "memory_toucher"), "600"], stdout=subprocess.DEVNULL)
    out = tmp_path / "out.json"
    try:
        for seconds in (2, 8, 32, 128):  # until its names were read
            result = run(BIN / "jbpf", "record", "--event", event, "-c", "1" if "switches" in event else "64",
                         "-p", process.pid, "-d", f"{seconds}s", "-o", out, timeout=60)
            assert result.returncode in (0, 3), result.stderr
            page = json.loads(out.read_text()) if result.returncode == 0 else {"stacks": []}
            names = {frame["name"] for stack in page["stacks"] for frame in stack["frames"]}
            if name in names:
                break
    finally:
        process.kill()
        process.wait()
    assert name in names, (names, result.stderr)
    assert page["event"] == event and page["title"].lower().startswith(noun)


@pytest.mark.live
@pytest.mark.long("the load lives 4 s by the clock, must be named in it, and its count may be off by 2 % only")
def test_record_of_a_known_program_counts_its_faults(tmp_path):
    out = tmp_path / "out.folded"
    result = run(BIN / "jbpf", "record", "--event", "page-faults", "-c", "16", "-o", out, "--", AIDS / "memory_toucher", 4)
    assert result.returncode == 0, result.stderr
    three, single = truth_of(result.stdout)
    faults = Folded(out.read_text())
    assert_is(faults.with_frame("touch_three"), 16, three, faults)
    assert_is(faults.with_frame("touch_one"), 16, single, faults)


def test_options_that_make_no_sense_are_refused(tmp_path):
    for arguments in (["--event", "cpu", "-c", "5"], ["--event", "page-faults", "--frequency", "99"],
                      ["--event", "lightning"], ["--event", "page-faults", "-c", "0"]):
        result = run(BIN / "jbpf", "record", *arguments, "-d", "1s", "-o", tmp_path / "x")
        assert result.returncode == 2, (arguments, result.stderr)
    for events in ("", "cpu,cpu", "context-switches", "cpu,", "all"):
        result = run(BIN / "jbpfd", "--event", events, "--store", tmp_path / "s")
        assert result.returncode == 2 and "cpu,page-faults" in result.stderr, (events, result.stderr)


def known_store(folder):
    """Ten blocks of five minutes on each of two days, of page faults; one window of CPU time."""
    script = [f"window start={START} pid=1 samples=20 comm=a\n\ta;x 12\n\ta;y 8\ncommit\n"]
    for day in range(2):
        for block in range(10):
            x = 120 + 30 * day + block
            script.append(f"window start={START + 300 * block + 86400 * day} duration=300 pid=1 samples=200 comm=a "
                          f"event=1 unit=2 period=64 frequency_hz=0\n\ta;x {x}\n\ta;y {200 - x}\ncommit\n")
    return make_store(folder / "store", "".join(script))


def test_diff_compares_one_event(tmp_path):
    store = known_store(tmp_path)
    sides = ["--before", f"@{START}..@{START + 3000}", "--after", f"@{START + 86400}..@{START + 89400}"]
    result = jbpf("diff", "--store", store, "--event", "page-faults", *sides)
    assert result.returncode == 0, result.stderr
    assert "Page faults of all processes" in result.stdout and "42.7 page faults/s" in result.stdout, result.stdout
    assert "CPU" not in result.stdout, result.stdout
    assert "all passed" in result.stdout, result.stdout
    page = json.loads(jbpf("diff", "--store", store, "--event", "page-faults", "--format", "json", *sides).stdout)
    assert page["event"] == "page-faults" and page["summary"]["samples_before"] == 2000
    assert jbpf("diff", "--store", store, *sides).returncode == 3, "of CPU time there is nothing on one side"
    refused = jbpf("diff", "--store", store, "--event", "major-faults", *sides)
    assert refused.returncode == 3 and "only of cpu, page-faults" in refused.stderr, refused.stderr


def test_dump_of_one_event_never_shows_another(tmp_path):
    store = known_store(tmp_path)
    times = ["--since", f"@{START}", "--until", f"@{START + 100000}"]
    assert Folded(jbpf("dump", "--store", store, *times).stdout).total == 20
    assert Folded(jbpf("dump", "--store", store, "--event", "page-faults", *times).stdout).total == 4000
    for form, words in (("html", '"events":"Page faults","period":64'), ("svg", "256000 page faults")):
        text = jbpf("dump", "--store", store, "--event", "page-faults", *times, "--format", form, "-o", "-").stdout
        assert words in text, form
    refused = jbpf("dump", "--store", store, "--event", "page-faults", *times, "--format", "cells")
    assert refused.returncode == 2 and "cpu" in refused.stderr


def test_compaction_takes_all_events(tmp_path):
    store = known_store(tmp_path)
    times = ["--since", f"@{START}", "--until", f"@{START + 100000}"]
    before = jbpf("dump", "--store", store, "--event", "page-faults", *times).stdout
    result = run(BIN / "jbpf", "store", "compact", "--store", store)
    assert result.returncode == 0, result.stderr
    assert [path.name for path in sorted((store / "v1/page-faults/2023/11").iterdir())] == ["14.zst", "15.zst"]
    assert jbpf("dump", "--store", store, "--event", "page-faults", *times).stdout == before
