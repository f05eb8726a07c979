# SPDX-License-Identifier: Apache-2.0
"""--from clickhouse://...: the same bytes as from the store that was sent there, or a word and no success. On Debian's
ClickHouse; no containers."""
import json
import os
import tempfile
import time

import pytest

from harness.clickhouse import ClickHouse, needs_users
from harness.programs import jbpf
from harness.store import make_store

START = 1700000400  # 2023-11-14T22:20:00Z
RANGE = ("--since", f"@{START}", "--until", f"@{START + 5400}")
MINUTES = 70  # over two hours of the clock


def window(number, at):
    """What differs between streams: labels, threads, lines, and hostile bytes."""
    pid = 40 + number % 5
    service = "shop" if pid < 42 else "" if pid == 44 else "a'b\\%09c"
    labels = f" service={service}" if service else ""
    if pid != 44:
        labels += f" container=c-{pid} pod=pod-{pid} namespace=prod image=img:{pid % 2} jvm_version=21.0.{pid}+1"
    return (f"window start={at} pid={pid} ns_pid={pid - 39} duration=10 samples={pid + 5} frames={40 + number} unknown_frames={number % 3} "
            f"frequency_hz=49 comm=java host=alpha truncated_samples=1 process_start={1000 + pid}{labels}\n"
            f"\tjava;a.B.run_[j];a.B.own_{number % 7}_[j] 5\n\tjava;a.B.run_[j];a.B.work'\\_[j] {pid}\n"
            f"\t+0 5 pool-{number % 3}\n\t+1 {pid} main\n\t@a.B.own_{number % 7}_[j];B.java:{10 + number % 4} 5\n"
            f"\t~{number % 400} 5\n\t~{number % 400 + 90} {pid}\n")


def commit(number, at):
    return f"window start={at} pid=0 duration=10 samples=500 lost_counts_full={number % 4} host=alpha\ncommit\n".replace("lost_", "")


def script():
    text = ""
    for number in range(MINUTES * 6):
        at = START + number * 10
        one = window(number, at)
        waits = one.replace(" pid=", " event=5 unit=1 period=100000000 pid=").replace(" frequency_hz=49", "")
        text += one + (waits if number % 3 == 0 else "") + commit(number, at)
        if number % 3 == 0:
            text = text.removesuffix("commit\n") + f"window event=5 unit=1 period=100000000 start={at} pid=0 duration=10 samples=9 host=alpha\ncommit\n"
    return text


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with ClickHouse(tmp_path_factory.mktemp("clickhouse")) as running:
        yield running


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Merged, so that what is sent are its minutes."""
    folder = make_store(tmp_path_factory.mktemp("store") / "store", script())
    assert jbpf("store", "compact", "--store", folder).returncode == 0
    return folder


def send(store, server, database):
    """All of it, whatever was sent before."""
    sent = jbpf("push", server.url(database), "--store", store, "--state", tempfile.mkdtemp(dir=server.folder), "--once")
    assert sent.returncode == 0, sent.stderr


def load(store, server, database):
    server.make_tables(database)
    send(store, server, database)
    return server.url(database)


@pytest.fixture(scope="module")
def url(server, store):
    return load(store, server, "profiles")


@pytest.fixture
def own_url(server, store):
    """For tests that break something."""
    yield load(store, server, "broken")
    server.query("DROP DATABASE broken")


def answer(arguments, path):
    result = jbpf(*arguments, "-o", path)
    return result.returncode, path.read_bytes() if path.exists() else b"", result.stderr


def assert_same(store, url, tmp_path, *arguments):
    local = answer([*arguments, "--store", store], tmp_path / "local")
    assert local[0] == 0 and local[1], local[2]
    assert answer([*arguments, "--from", url], tmp_path / "far") == local


@pytest.mark.parametrize("form", ["folded", "html", "svg", "top", "json", "pprof", "speedscope", "otlp"])
def test_every_format_is_that_of_the_store(store, url, tmp_path, form):
    assert_same(store, url, tmp_path, "dump", *RANGE, "--format", form)


def test_cells_are_those_of_the_store(server, tmp_path):
    """Of an hour that is not merged yet: merging leaves out cells that are so old."""
    store = make_store(tmp_path / "store", script())
    assert_same(store, load(store, server, "cells"), tmp_path, "dump", *RANGE, "--format", "cells")


@pytest.mark.parametrize("arguments", [
    ("--by", "container", "--by", "pid"), ("--by", "thread"), ("--thread", "pool-*"), ("--by", "service", "--by", "host"),
    ("--service", "shop"), ("--service", "a'b\\\tc"), ("--container", "!c-40"), ("--image", "img:1", "--kind", "java"), ("--pid", "44"),
    ("--format", "top", "--lines"), ("--format", "top", "--by", "pod"), ("--callers", "a.B.own_*"),
    ("--event", "off-cpu"), ("--event", "wall", "--format", "json"), ("--list",), ("--list", "--by", "pid"),
    ("--list", "--format", "json"), ("--list", "--event", "off-cpu")], ids=" ".join)
def test_selectors_labels_and_lists_are_those_of_the_store(store, url, tmp_path, arguments):
    assert_same(store, url, tmp_path, "dump", *RANGE, *arguments)


@pytest.mark.parametrize("since,until", [(0, 60), (600, 1200), (2340, 2460), (4140, 5400), (-600, 60)])
def test_a_range_of_minutes_is_that_of_the_store(store, url, tmp_path, since, until):
    times = ("--since", f"@{START + since}", "--until", f"@{START + until}")
    assert_same(store, url, tmp_path, "dump", *times, "--format", "json")
    assert_same(store, url, tmp_path, "dump", *times, "--list")


SIDES = ("--before", f"@{START}..@{START + 1800}", "--after", f"@{START + 1800}..@{START + 3600}")


def test_a_comparison_is_that_of_the_store(store, url, tmp_path):
    """Methods with equal changes stand in the order in which they were read, in a store, too."""
    assert_same(store, url, tmp_path, "diff", *SIDES, "--service", "shop", "--format", "folded")
    tables = [sorted(jbpf("diff", *SIDES, "--service", "shop", *source).stdout.splitlines()) for source in (("--store", store), ("--from", url))]
    assert tables[0] == tables[1] and len(tables[0]) > 10


def test_a_process_that_is_called_like_an_error_of_the_server_is_read(server, tmp_path):
    text = window(4, START).replace("comm=java", "comm=Code:%2060,%20x") + commit(4, START)
    store = make_store(tmp_path / "store", text)
    assert jbpf("store", "compact", "--store", store).returncode == 0
    assert_same(store, load(store, server, "named"), tmp_path, "dump", *RANGE, "--format", "json")


def test_what_was_sent_twice_counts_once(store, server, url, tmp_path):
    send(store, server, "profiles")
    assert_same(store, url, tmp_path, "dump", *RANGE, "--format", "json")


def test_services_and_labels_that_come_later_are_those_of_the_store(server, tmp_path):
    """Sums are asked for of what is the same to the command: labels that change within an hour are not, and names sort otherwise than times."""
    def one(minute, pid, service, host, image, method, samples):
        return (f"window start={START + 60 * minute} pid={pid} duration=10 samples={samples} frequency_hz=49 comm=java host={host} service={service} "
                f"process_start={1000 + pid} container=c-{pid} image={image}\n\tjava;a.B.{method}_[j] {samples - 1}\n\tjava;a.B.shared_[j] 1\n")
    text = "".join(
        one(minute, 40, "zoo", "h1", "zoo:1", "feed", 10) + one(minute, 41, "zoo", "h2", f"zoo:{1 + minute // 5}", "feed", 20 + minute)
        + (one(minute, 42, "app", "h1", "app:1", "run", 30) if minute > 3 else "") + one(minute, 43, "mid", "h1", "mid:1", f"m{minute}", 7)
        + f"window start={START + 60 * minute} pid=0 duration=10 samples=99 host=h1\ncommit\n" for minute in range(10))
    store = make_store(tmp_path / "store", text)
    assert jbpf("store", "compact", "--store", store).returncode == 0
    url = load(store, server, "later")
    for arguments in (("--format", "html"), ("--format", "folded"), ("--by", "host"), ("--by", "image"), ("--by", "pid", "--by", "service"),
                      ("--by", "comm", "--format", "svg"), ("--image", "zoo:2"), ("--host", "h1", "--format", "html"),
                      ("--format", "top", "--lines"), ("--kind", "java")):
        assert_same(store, url, tmp_path, "dump", *RANGE, *arguments)


def five_hours():
    """Each window reaches into the minute behind the one in which it began."""
    def one(minute, pid, service, image, method):
        return (f"window start={START + 60 * minute + 30} pid={pid} duration=60 samples=9 frequency_hz=49 comm=java host=h1 service={service} "
                f"process_start={1000 + pid} image={image}\n\tjava;a.B.{method}_[j] 8\n\tjava;a.B.shared_[j] 1\n"
                f"\t@a.B.{method}_[j];B.java:{10 + minute % 4} 8\n")
    return "".join(one(minute, 40, "zoo", "zoo:1", f"m{minute % 50}") + one(minute, 41, "zoo", f"zoo:{1 + minute // 100}", "feed")
                   + (one(minute, 42, "app", "app:1", "run") if minute > 200 else "")
                   + f"window start={START + 60 * minute + 30} pid=0 duration=60 samples=99 host=h1\ncommit\n" for minute in range(300))


LONG = [(0, 18000), (45, 17915), (3600, 14400), (-7200, 36000)]


def test_a_long_time_is_that_of_the_store(server, tmp_path):
    """Of windows that lie within it wholly the server adds up samples; others are read one by one."""
    store = make_store(tmp_path / "store", five_hours())
    url = load(store, server, "long")
    for since, until in LONG:
        times = ("--since", f"@{START + since}", "--until", f"@{START + until}")
        for arguments in (("--format", "html"), ("--format", "json"), ("--by", "image"), ("--pid", "41"), ("--format", "top", "--lines"), ("--list",)):
            assert_same(store, url, tmp_path, "dump", *times, *arguments)


def test_samples_that_are_missing_of_a_long_time_are_told_and_the_others_are_there(server, tmp_path):
    text = five_hours()
    store, less = make_store(tmp_path / "store", text), make_store(tmp_path / "less", text.replace("m7_[j] 8", "m7_[j] 0"))
    url = load(store, server, "cut")
    (stack,), = server.rows("SELECT hash FROM jbpf_stacks FINAL WHERE stack LIKE '%.m7_%'", "cut")
    server.query("CREATE TABLE less AS jbpf_samples", "cut")
    server.query(f"INSERT INTO less SELECT * FROM jbpf_samples WHERE hash != {stack}", "cut")
    server.query("RENAME TABLE jbpf_samples TO gone, less TO jbpf_samples", "cut")
    times = ("--since", f"@{START}", "--until", f"@{START + 18000}")
    result, local = jbpf("dump", *times, "--from", url), jbpf("dump", *times, "--store", less)
    assert (result.returncode, local.returncode) == (1, 0)
    assert result.stderr.count("of 9 samples the server has only 1") == 6
    assert sorted(result.stdout.splitlines()) == sorted(local.stdout.splitlines())


def test_no_samples_says_what_there_is(store, url):
    for arguments in (("--service", "shpo", *RANGE), ("--since", f"@{START - 7200}", "--until", f"@{START - 3600}")):
        local, far = (jbpf("dump", *arguments, *source) for source in (("--store", store), ("--from", url)))
        assert (far.returncode, far.stderr) == (local.returncode, local.stderr) and far.returncode == 3


def far(url, *arguments):
    return jbpf("dump", *RANGE, "--from", url, *arguments)


def test_samples_that_are_missing_are_told(server, own_url):
    stack = server.rows("SELECT hash FROM jbpf_stacks WHERE service = 'shop' LIMIT 1", "broken")[0][0]
    server.query("CREATE TABLE less AS jbpf_stacks ENGINE = ReplacingMergeTree(seen) ORDER BY (service, stack)", "broken")
    server.query(f"INSERT INTO less SELECT * FROM jbpf_stacks WHERE hash != {stack}", "broken")
    server.query("RENAME TABLE jbpf_stacks TO gone, less TO jbpf_stacks", "broken")
    result = far(own_url)
    assert result.returncode == 1 and result.stdout
    assert "samples the server has only" in result.stderr and "not complete" in result.stderr
    result = jbpf("diff", "--from", own_url, *SIDES)
    assert (result.returncode, result.stdout) == (1, "")


def test_two_stacks_with_one_hash_are_told_and_the_others_are_there(server, own_url):
    before = far(own_url, "--service", "shop")
    (number, stack), = server.rows("SELECT hash, stack FROM jbpf_stacks WHERE service = 'shop' LIMIT 1", "broken")
    server.query("INSERT INTO jbpf_stacks SELECT service, hash, 1, seen, concat(stack, 'other') FROM jbpf_stacks "
                 f"WHERE service = 'shop' AND hash = {number}", "broken")
    result = far(own_url, "--service", "shop")
    assert result.returncode == 0, result.stderr
    assert "samples are of one of several stacks with the same hash" in result.stderr
    was, now = ({stack: int(count) for stack, _, count in (line.rpartition(" ") for line in result.stdout.splitlines())}
                for result in (before, result))
    assert now.pop("java;[ambiguous stack]") == was.pop(stack)
    assert now == was


def test_a_table_that_is_missing_is_told(server, own_url):
    server.query("DROP TABLE jbpf_stacks", "broken")
    result = far(own_url)
    assert (result.returncode, result.stdout) == (1, "")
    assert "jbpf_stacks" in result.stderr
    assert far(own_url, "--list").returncode == 0, "a list needs no stacks"


def test_tables_of_another_version_are_refused(server, own_url):
    server.query("INSERT INTO jbpf_schema (version) VALUES (9)", "broken")
    result = far(own_url)
    assert (result.returncode, result.stdout) == (1, "")
    assert "version 9" in result.stderr


@needs_users
def test_servers_that_refuse_or_are_not_there_are_told(server, url, tmp_path):
    password = tmp_path / "password"
    password.write_text("wrong\n")
    password.chmod(0o600)
    for bad, word in ((server.url("nothing"), "nothing"), (server.url("profiles", "reader", f"&password_file={password}"), "reader"),
                      (url.replace(f":{server.port}", ":1"), "127.0.0.1:1")):
        result = far(bad)
        assert (result.returncode, result.stdout) == (1, ""), bad
        assert word in result.stderr and len(result.stderr.splitlines()) == 1, result.stderr
    password.write_text("r3ad\n")
    assert far(server.url("profiles", "reader", f"&password_file={password}")).stdout == far(url).stdout


def test_wrong_urls_are_wrong_usage(store):
    for arguments in (("--from", "http://x"), ("--from", "clickhouse://h/d", "--store", store)):
        assert jbpf("dump", *RANGE, *arguments).returncode == 2



DAYS = 7


def where_it_is_noon():
    """That zone, and its last midnight but one as Unix time: for as long as the test takes it is the same day there."""
    now = int(time.time())
    ahead = (12 - now // 3600 % 24) * 3600
    return f"<here>{-ahead // 3600:+d}", (now + ahead) // 86400 * 86400 - ahead - 86400


def days_of_a_fleet(yesterday):
    """Of two hosts, three hours of each of the last days: on the last one a method of "shop" needs half as much again."""
    def one(event, day, block, host, service):
        x, grown = 200 + (7 * day + 3 * block + len(host)) % 9, day == DAYS - 1 and service == "shop"
        fields = "event=5 unit=1 period=100000000" if event == "off-cpu" else "frequency_hz=99"
        counts = [x + 17 * number + (block * (number + 3) + day) % 7 for number in range(30)]
        counts[2] = counts[2] * 3 // 2 if grown else counts[2]
        stacks = "".join(f"\tjava;a.B.run_[j];a.B.m{number}_[j] {count}\n" for number, count in enumerate(counts))
        return (f"window start={yesterday - 86400 * (DAYS - 1 - day) + 32400 + 300 * block} duration=300 pid={len(service)} samples={sum(counts)} "
                f"comm=java host={host} service={service} frames=9 {fields}\n{stacks}commit\n")
    return "".join(one(event, day, block, host, service) for event in ("cpu", "off-cpu") for day in range(DAYS) for block in range(36)
                   for host in ("h1", "h22") for service in ("shop", "mail"))


def a_day(output, zone, *source):
    result = jbpf("diff", "--days", "1", "--fail-on", "regression", "--output-dir", output, *source, env={**os.environ, "TZ": zone})
    pages = [output / event / "latest/summary.json" for event in ("", "off-cpu")]
    return result, [json.loads(page.read_text()) for page in pages if page.exists()]


def test_the_daily_job_says_of_a_fleet_what_it_says_of_a_store(server, tmp_path):
    zone, yesterday = where_it_is_noon()
    store = make_store(tmp_path / "store", days_of_a_fleet(yesterday))
    url = load(store, server, "days")
    local, of_store = a_day(tmp_path / "local", zone, "--store", store)
    assert local.returncode == 4 and "shop: regression: a.B.m2: +" in local.stdout, local.stdout + local.stderr
    for _ in range(2):  # the second with the series of the first
        result, of_server = a_day(tmp_path / "far", zone, "--from", url)
        assert (result.returncode, result.stdout, result.stderr) == (4, local.stdout, local.stderr)
        assert [one.pop("host") for one in of_server] == [None, None]
        assert of_server == [{name: value for name, value in one.items() if name != "host"} for one in of_store]
    server.query("DROP TABLE jbpf_stacks", "days")
    result, (cpu, _) = a_day(tmp_path / "broken", zone, "--from", url)
    assert result.returncode == 1 and {one["state"] for one in cpu["services"]} == {"failed"}
    assert all("jbpf_stacks" in one["why"] for one in cpu["services"]), [one["why"] for one in cpu["services"]]
    result, _ = a_day(tmp_path / "far", zone, "--from", server.url("nothing"))
    assert result.returncode == 1 and "nothing" in result.stderr and not result.stdout
