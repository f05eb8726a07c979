# SPDX-License-Identifier: Apache-2.0
"""jbpf push to a real ClickHouse server: whatever happens on the way, the sums there are those of the store."""
import collections
import time

import pytest

from harness.clickhouse import CURRENT, ClickHouse, needs_users
from harness.programs import jbpf, wait_until
from harness.push import BEGIN, MINUTES, dumped_stacks, failing, push_and_kill, pushing, windows_of
from harness.store import make_store

PROCESSES = {40: "comm=java service=shop container=shop-1 host=h1 pod=it's\\a",
             41: "comm=java service=shop container=shop-2 host=h1", 42: "comm=sh host=h1"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    if not ClickHouse.is_installed():
        pytest.fail("clickhouse-server is missing: scripts/install-deps test")
    with ClickHouse(tmp_path_factory.mktemp("clickhouse")) as one:
        yield one


@pytest.fixture
def database(server, request):
    """An empty database with the tables."""
    name = "d" + str(abs(hash(request.node.name)) % 10**9)
    server.make_tables(name)
    return name


def script():
    """Two containers and one process without, some minutes empty."""
    return windows_of(PROCESSES, seed=1, is_empty=lambda minute: minute % 7 == 3)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("push") / "store", script())


def push(server, database, store, state, *options, user="default", settings=""):
    return jbpf("push", server.url(database, user, settings), "--store", store, "--state", state, *options)


def sums_of_store(store):
    """{(event, service or process, stack): samples}."""
    sums = collections.Counter()
    for number, event in ((0, "cpu"), (5, "off-cpu")):
        for service, comm, stack, count in dumped_stacks(store, event, "service", "comm"):
            sums[str(number), service if "shop" in service else comm, stack] += count
    return sums


def sums_of_server(server, database):
    rows = server.rows(
        "SELECT event, service, stack, sum(n) FROM (SELECT * FROM jbpf_samples FINAL) AS n ANY LEFT JOIN "
        "(SELECT service, hash, stack FROM jbpf_stacks) AS s USING service, hash GROUP BY event, service, stack", database)
    return collections.Counter({(event, service, stack): int(n) for event, service, stack, n in rows})


def facts_of_windows(server, database):
    """What all windows add up to, and everything that is in them."""
    return server.rows("SELECT count(), sum(samples), sum(window_cnt), sum(recorded_ns), sum(lost[1]), "
                       "sum(cityHash64(*)) FROM (SELECT * FROM jbpf_windows FINAL)", database)


def test_what_is_at_the_server_adds_up_to_the_store(server, database, store, tmp_path):
    sent = push(server, database, store, tmp_path, "--once")
    assert sent.returncode == 0, sent.stderr
    assert sent.stdout.startswith("sent ")
    assert sums_of_server(server, database) == sums_of_store(store)
    assert server.query("SELECT uniqExact(check) - uniqExact(hash) FROM jbpf_stacks", database) == "0\n"
    assert server.rows("SELECT DISTINCT pod FROM jbpf_windows WHERE pid = 40", database) == [["it\\'s\\\\a"]]


def test_what_is_sent_twice_counts_once(server, database, store, tmp_path):
    for state in ("one", "two"):
        assert push(server, database, store, tmp_path / state, "--once").returncode == 0
        facts = facts_of_windows(server, database)
        assert sums_of_server(server, database) == sums_of_store(store)
        if state == "one":
            first = facts
    assert facts == first


def test_a_merged_hour_is_the_rows_of_the_open_one(server, database, tmp_path):
    """The daemon has a day of time before it merges days: this hour is merged as an hour of today would be."""
    start = int(time.time()) - 3 * 3600
    moved = script().replace("start=", "start=@")
    for second in range(BEGIN, BEGIN + 60 * MINUTES, 10):
        moved = moved.replace(f"start=@{second} ", f"start={start - start % 3600 + second - BEGIN} ")
    store = make_store(tmp_path / "store", moved)
    assert push(server, database, store, tmp_path / "open", "--once").returncode == 0
    facts, sums = facts_of_windows(server, database), sums_of_server(server, database)
    compacted = jbpf("store", "compact", "--store", store)
    assert compacted.stdout.startswith(("1 hour", "2 hours", "3 hours")), compacted.stdout + compacted.stderr
    assert push(server, database, store, tmp_path / "merged", "--once").returncode == 0
    assert facts_of_windows(server, database) == facts
    assert sums_of_server(server, database) == sums


def test_killed_at_any_moment_nothing_is_lost_or_counted_twice(server, database, store, tmp_path):
    push_and_kill(server.url(database), store, tmp_path, times=20, within_s=0.08, seed=7)
    assert push(server, database, store, tmp_path, "--once").returncode == 0
    assert sums_of_server(server, database) == sums_of_store(store)


def test_a_server_that_was_away_is_caught_up(tmp_path, store):
    """For ever: it waits, longer each time, and goes on by itself."""
    with ClickHouse(tmp_path / "server") as server:
        server.make_tables("d")
        server.stop()
        metrics = tmp_path / "push.prom"
        with open(tmp_path / "err", "w") as err, \
                pushing(server.url("d"), store, tmp_path / "state", "--metrics", metrics, stderr=err) as process:
            wait_until(lambda: metrics.exists() and "failures_total 0\n" not in metrics.read_text(), 20,
                       "a failure in the metrics")
            assert process.poll() is None
            server.start()
            wanted = sums_of_store(store)
            wait_until(lambda: sums_of_server(server, "d") == wanted, 60, "the sums of the store")
        assert "connect" in (tmp_path / "err").read_text()


@needs_users
def test_what_the_server_refuses_is_told_in_one_line(server, database, store, tmp_path):
    wrong = tmp_path / "wrong"
    wrong.write_text("no\n")
    right = tmp_path / "right"
    right.write_text("wr1te\n")
    failing(push(server, database, store, tmp_path, "--once", user="writer", settings=f"&password_file={wrong}"),
            "193", "password_file")
    failing(push(server, "nowhere", store, tmp_path, "--once"), "nowhere", "--init")
    failing(push(server, "default", store, tmp_path, "--once"), "jbpf_schema", "--init")
    failing(push(server, database, store, tmp_path, "--once", settings="&password_file=/nowhere"), "/nowhere")
    reader = tmp_path / "reader"
    reader.write_text("r3ad\n")
    failing(push(server, database, store, tmp_path, "--once", user="reader", settings=f"&password_file={reader}"),
            "rights of that user")
    sent = push(server, database, store, tmp_path, "--once", user="writer", settings=f"&password_file={right}")
    assert sent.returncode == 0, sent.stderr


def test_tables_of_another_version_are_refused(server, database, store, tmp_path):
    server.query("INSERT INTO jbpf_schema (version) VALUES (7)", database)
    failing(push(server, database, store, tmp_path, "--once"), "version 7", "version 1")
    failing(jbpf("push", "--init", server.url(database)), "version 7")


def test_tables_of_an_older_jbpf_get_the_columns_they_lack(server, database, store, tmp_path):
    assert push(server, database, store, tmp_path / "before", "--once").returncode == 0
    facts = server.rows("SELECT count(), sum(samples), sum(duration_ns) FROM jbpf_windows FINAL", database)
    for column in ("image", "interpreted_frames", "threads"):
        server.query(f"ALTER TABLE jbpf_windows DROP COLUMN {column}", database)
    failing(push(server, database, store, tmp_path / "after", "--once"), "lack columns", "--init")
    failing(jbpf("dump", "--from", server.url(database), "--since", "@0"), "lack columns", "--init")
    assert jbpf("push", "--init", server.url(database)).returncode == 0
    assert push(server, database, store, tmp_path / "after", "--once").returncode == 0
    assert server.rows("SELECT count(), sum(samples), sum(duration_ns) FROM jbpf_windows FINAL", database) == facts
    assert sums_of_server(server, database) == sums_of_store(store)
    dumped = jbpf("dump", "--from", server.url(database), "--since", "@0")
    assert (dumped.returncode, dumped.stderr) == (0, "")


def test_init_again_changes_nothing(server, database, store, tmp_path):
    assert push(server, database, store, tmp_path, "--once").returncode == 0
    before = facts_of_windows(server, database)
    assert jbpf("push", "--init", server.url(database)).returncode == 0
    assert facts_of_windows(server, database) == before
    assert server.query("SELECT count() FROM jbpf_schema", database) == "1\n"


COLLECTOR_COLUMNS = """Timestamp ProfileId SampleType SampleUnit ServiceName ScopeName ScopeVersion StackHash Addresses
    FunctionNames FileNames LineNumbers MappingFileNames Values TimestampsUnixNano DurationNano Period PeriodType
    PeriodUnit TraceId SpanId""".split()
NOT_DEBIANS = ["ProfileAttributes", "ResourceAttributes", "SampleAttributes"] if CURRENT else []  # their types are newer


def test_what_reads_the_collectors_table_reads_the_sums_of_the_store(server, database, store, tmp_path):
    for state in ("one", "two"):
        assert push(server, database, store, tmp_path / state, "--once").returncode == 0
    described = server.rows("DESCRIBE TABLE otel_profiles", database)
    assert sorted(row[0] for row in described) == sorted(COLLECTOR_COLUMNS + NOT_DEBIANS)
    rows = server.rows(
        "SELECT SampleType, SampleUnit, Period, ServiceName, arrayStringConcat(arrayReverse(FunctionNames), ';') AS s, "
        "sum(Values[1]), max(length(FileNames) = length(FunctionNames)) FROM otel_profiles "
        "GROUP BY SampleType, SampleUnit, Period, ServiceName, s", database)
    periods = {"cpu": 1000000000 // 99, "off-cpu": 100000000}
    assert {(row[0], row[1], int(row[2])) for row in rows} == {(event, "nanoseconds", period)
                                                              for event, period in periods.items()}
    wanted = collections.Counter()
    for (event, service, stack), count in sums_of_store(store).items():
        event = {"0": "cpu", "5": "off-cpu"}[event]
        wanted[event, service, stack.replace("_[j]", "")] += count * periods[event]
    assert collections.Counter({(row[0], row[3], row[4]): int(row[5]) for row in rows}) == wanted
    assert {row[6] for row in rows} == {"1"}
    assert server.query("SELECT count() = uniqExact(ProfileId, StackHash), min(length(ProfileId)) FROM otel_profiles",
                        database) == "1\t32\n"


def test_a_table_of_the_collector_stays_when_it_was_there_first(server, tmp_path):
    server.make_database("collector")
    server.query("CREATE TABLE otel_profiles (x UInt8) ENGINE = Log", "collector")
    made = jbpf("push", "--init", server.url("collector"))
    assert made.returncode == 0, made.stderr
    assert server.rows("DESCRIBE TABLE otel_profiles", "collector")[0][0] == "x"


def test_what_is_not_complete_yet_is_told(server, database, tmp_path):
    begin = int(time.time()) - 30
    store = make_store(tmp_path / "store", f"window start={begin} pid=40 duration=10 samples=3 frames=3 comm=sh\n\tsh;main 3\ncommit\n")
    sent = push(server, database, store, tmp_path, "--once")
    assert (sent.returncode, sent.stdout) == (0, "sent 0 windows, 0 rows of samples, 0 stacks\n"), sent.stderr
    assert "the newest windows wait until their minute is complete" in sent.stderr
    asked = jbpf("dump", "--from", server.url(database), "--since", "1h")
    assert (asked.returncode, asked.stderr) == (3, "jbpf-dump: no samples match; the server has none yet: jbpf push sends them\n")


def test_usage_is_refused_with_2(tmp_path):
    for options in ([], ["--once"], ["clickhouse://h", "x"], ["--init", "--once", "clickhouse://h"]):
        assert jbpf("push", *options).returncode == 2, options
    secret = jbpf("push", "--state", tmp_path, "clickhouse://u:secret@h")
    assert secret.returncode == 1
    assert "secret" not in secret.stderr and "password_file" in secret.stderr


def test_a_server_without_tls_is_not_taken_for_one_with(server, store, tmp_path):
    url = server.url("default").replace("tls=off", "tls=verify")
    failing(jbpf("push", url, "--store", store, "--state", tmp_path, "--once"), "127.0.0.1")
