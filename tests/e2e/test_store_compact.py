# SPDX-License-Identifier: Apache-2.0
"""jbpf store check and compact, and the daemon's own compaction: what is committed is never lost,
damage is named, and merged files hold the same as what they were made from. No containers."""
import fcntl
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from harness.programs import BUILD, PATIENCE, jbpf, lines_of, run, wait_until

MKSTORE = BUILD / "tests" / "tools" / "mkstore"
STORE_CRASH = BUILD / "tests" / "crash" / "store_crash"
START = 1700000000  # 2023-11-14T22:13:20Z
HOUR_FILE = "v1/cpu/2023/11/14/22.zst"
DAY_FILE = "v1/cpu/2023/11/14.zst"
FOLDED_LINE = re.compile(r"^[^;\x00-\x1f]+(;[^;\x00-\x1f]+)* [0-9]+$")


def window(number, at):
    """Three samples of its own and some that all windows of its process share."""
    pid = 40 + number % 3
    return (f"window start={at} pid={pid} duration=10 samples={3 + pid} frames=9 comm=java "
            f"container=shop-{pid}\n"
            f"\tjava;a.B.run_[j];a.B.own_{number}_[j] 3\n"
            f"\tjava;a.B.run_[j];a.B.work_[j] {pid}\n"
            f"\t@a.B.work_[j];B.java:{10 + number % 4} {pid}\ncommit\n")


def make_store(folder, count=90, step=40):
    """Windows over one hour, from 22:13:20 to 23:13:20."""
    return store_windows(folder, [START + number * step for number in range(count)])


def store_windows(folder, begins):
    script = "".join(window(number, at) for number, at in enumerate(begins))
    made = subprocess.run([MKSTORE, folder], input=script, text=True, capture_output=True, timeout=60 * PATIENCE)
    assert made.returncode == 0, made.stderr
    return folder


@pytest.fixture
def store(tmp_path):
    return make_store(tmp_path / "store")


def check(store):
    result = jbpf("store", "check", "--store", store, "--format", "json")
    report = json.loads(result.stdout)
    assert result.returncode == (1 if report["damage"] else 0)
    return report


def dumped(store, *options):
    result = jbpf("dump", "--store", store, "--since", f"@{START - 3600}", *options)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("arguments", [["sweep"], ["readers"], ["kill", "60", "20261121"], pytest.param(
    ["kill", "200", "20261122"], marks=pytest.mark.long("more of the same: make check-crash kills two thousand times"))],
                         ids=lambda arguments: "-".join(arguments[:2]))
def test_nothing_committed_is_lost_or_seen_twice(arguments, tmp_path):
    # In memory where it can be: thousands of syncs, and a kill does not care about them.
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as folder:
        result = run(STORE_CRASH, *arguments, timeout=240, env=os.environ | {"TMPDIR": folder})
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.fullmatch(r"[1-9]\d* passed, 0 failed", lines_of(result.stdout)[-1])


def test_check_counts_what_is_there(store):
    report = check(store)
    assert report["format"] == "jbpf-store-check"
    assert (report["files"], report["day_files"], report["windows"]) == (2, 0, 90)
    assert report["samples"] == sum(43 + number % 3 for number in range(90))
    assert report["bytes"] == sum(path.stat().st_size for path in store.glob("v1/cpu/**/*.zst"))
    assert abs(report["bytes_per_sample"] - report["bytes"] / report["samples"]) < 0.001
    assert (report["first"], report["last"]) == ("2023-11-14T22:13:20Z", "2023-11-14T23:12:50Z")
    assert report["damage"] == [] and report["damage_bytes"] == 0
    text = jbpf("store", "check", "--store", store)
    assert text.returncode == 0
    assert lines_of(text.stdout)[-1] == "nothing is damaged"


DAMAGES = {
    "torn tail": lambda data: data[:-7],
    "zero-filled tail": lambda data: data + bytes(5000),
    "torn tail ": lambda data: data + b"xyz",
    "bad record checksum": lambda data: flipped(data, data.index(COMMIT, 3000) + 40),
    "bad data checksum": lambda data: flipped(data, data.index(COMMIT, 3000) - 20),
}
COMMIT = b"JBPF\x02\x00"


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1:]


@pytest.mark.parametrize("what", DAMAGES, ids=lambda what: what.replace(" ", "-"))
def test_damage_is_named_and_survives_compaction_as_a_note(store, what):
    path = store / HOUR_FILE
    data = path.read_bytes()
    path.write_bytes(DAMAGES[what](data))
    report = check(store)
    assert len(report["damage"]) == 1
    damage = report["damage"][0]
    assert damage["file"] == HOUR_FILE
    assert damage["what"] == what.strip()
    assert 0 < damage["bytes"] <= 5000 and damage["offset"] + damage["bytes"] <= len(data) + 5000
    assert report["windows"] >= 89
    text = jbpf("store", "check", "--store", store)
    assert text.returncode == 1
    assert f"{HOUR_FILE}: byte {damage['offset']}, {damage['bytes']} bytes: {damage['what']}" in text.stdout
    compacted = jbpf("store", "compact", "--store", store)
    assert compacted.returncode == 0
    assert "1 damaged place could not be carried over" in compacted.stderr
    after = check(store)
    assert (after["windows"], after["samples"]) == (report["windows"], report["samples"])
    assert after["damage"] == report["damage"]


def test_a_file_cut_anywhere_gives_what_is_before_the_cut(tmp_path):
    store = make_store(tmp_path / "store", count=5)
    path = store / HOUR_FILE
    data = path.read_bytes()
    windows = set()
    for size in range(0, len(data), max(1, len(data) // 60)):
        path.write_bytes(data[:size])
        report = check(store)
        assert len(report["damage"]) <= 1
        windows.add(report["windows"])
        if report["damage"]:
            assert report["damage"][0]["offset"] + report["damage"][0]["bytes"] == size
    assert windows == {0, 1, 2, 3, 4}


def test_a_compacted_store_dumps_the_same_in_less_space(store):
    before, lines = dumped(store), dumped(store, "--by", "pid")
    part = jbpf("dump", "--store", store, "--since", f"@{START + 600}", "--until", f"@{START + 1200}").stdout
    bytes_before = check(store)["bytes"]
    result = jbpf("store", "compact", "--store", store)
    assert result.returncode == 0, result.stderr
    assert "0 hours and 1 day merged" in result.stdout
    assert not (store / HOUR_FILE).exists() and (store / DAY_FILE).exists()
    assert not (store / HOUR_FILE).parent.exists()
    assert dumped(store) == before and dumped(store, "--by", "pid") == lines
    # A day keeps five minutes apart: 22:23:20 to 22:33:20 are not its borders.
    borders = ["--since", "@1700000700", "--until", "@1700001300"]
    assert jbpf("dump", "--store", store, *borders).stdout
    assert part
    report = check(store)
    assert (report["day_files"], report["files"], report["windows"]) == (1, 1, 90)
    assert report["bytes"] < bytes_before
    # Plain tools read it, too.
    text = subprocess.run(["zstd", "-dcq", store / DAY_FILE], capture_output=True, text=True, timeout=60 * PATIENCE)
    assert text.returncode == 0
    assert all(FOLDED_LINE.match(line) for line in lines_of(text.stdout))
    assert sum(int(line.rpartition(" ")[2]) for line in lines_of(text.stdout)) == report["samples"]
    again = jbpf("store", "compact", "--store", store)
    assert "0 hours and 0 days merged" in again.stdout


def test_compact_says_why_it_cannot(store, tmp_path):
    missing = jbpf("store", "compact", "--store", tmp_path / "none")
    assert missing.returncode == 1 and "there is no store" in missing.stderr
    with open(store / "v1" / ".compact.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        busy = jbpf("store", "compact", "--store", store)
    assert busy.returncode == 1 and "is being compacted already" in busy.stderr
    assert len(lines_of(busy.stderr)) == 1
    assert jbpf("store", "check", "--store", tmp_path / "none").returncode == 1
    assert (store / HOUR_FILE).exists()


@pytest.mark.live
def test_daemon_merges_what_is_closed_and_only_if_asked(tmp_path, daemon):
    """What it did not merge while it was away it merges soon after its start. A day of stored hours shows that the
    clock is right."""
    now = int(time.time())
    make_store(tmp_path / "store", count=20, step=300)
    store_windows(tmp_path / "store", range(now - 30 * 3600, now - 3600, 3600))
    before = dumped(tmp_path / "store", "--until", f"@{START + 86400}")
    shutil.copytree(tmp_path / "store", tmp_path / "other")
    limits = ["--keep-age", "36500d"]
    merging = daemon(*limits, window="1s").start().wait_ready()
    off = daemon(*limits, "--compact", "off", window="1s", name="other").start().wait_ready()
    try:
        # The hours of today, too: who merges is killed at the end, and may leave a file that is not finished.
        wait_until(lambda: "\njbpf_compactions_done_total 1\n" in (tmp_path / "store" / "state").read_text(), 60,
                   lambda: f"all is merged: {merging.log()}")
    finally:
        codes = [merging.stop(), off.stop()]
    assert codes == [0, 0]
    assert (tmp_path / "store" / DAY_FILE).exists() and not (tmp_path / "store" / HOUR_FILE).exists()
    assert dumped(tmp_path / "store", "--until", f"@{START + 86400}") == before
    assert (tmp_path / "other" / HOUR_FILE).exists() and not (tmp_path / "other" / DAY_FILE).exists()
    assert check(tmp_path / "store")["damage"] == []
    assert list((tmp_path / "store").glob("v1/cpu/.*")) == []


@pytest.mark.live
def test_daemon_merges_hours_and_no_days_while_its_clock_is_far_from_what_is_stored(tmp_path, daemon):
    make_store(tmp_path / "store", count=20, step=300)
    bytes_before = (tmp_path / "store" / HOUR_FILE).stat().st_size
    merging = daemon("--keep-age", "36500d", window="1s").start().wait_ready()
    try:
        wait_until(lambda: "days stay in hours" in merging.log(), 60, lambda: f"it says so: {merging.log()}")
    finally:
        code = merging.stop()
    assert code == 0
    assert (tmp_path / "store" / HOUR_FILE).stat().st_size < bytes_before
    assert not (tmp_path / "store" / DAY_FILE).exists()
