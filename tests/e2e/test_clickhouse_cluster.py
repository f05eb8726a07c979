# SPDX-License-Identifier: Apache-2.0
"""jbpf push --init with cluster=: two shards of two replicas of Debian's ClickHouse. The answers are the store's, byte by byte,
whichever server is asked, and also when a replica was killed while it was loaded."""
import signal
import subprocess
import time

import pytest

from harness.clickhouse_cluster import Cluster
from harness.programs import BIN, jbpf, wait_until
from harness.push import dumped_stacks, failing, push, pushing, windows_of
from harness.store import make_store

pytestmark = [pytest.mark.long("starts four servers and a ZooKeeper"),
              pytest.mark.skipif(not Cluster.is_installed(), reason="no clickhouse-server, zookeeper or java: scripts/install-deps test")]

RANGE = ("--since", "@1700000000", "--until", "@1700002000")
# Some services on each shard, one without a name of its own, one hostile.
PROCESSES = {40: "comm=java service=shop host=h1 container=c1 pod=p-1 image=img:1", 41: "comm=java service=cart host=h1 container=c2",
             42: "comm=python3 host=h2", 43: "comm=java service=a'b\\%09c host=h2", 44: "comm=java service=shop host=h2 image=img:2",
             **{pid: f"comm=java service=s{pid} host=h{pid % 3} process_start={pid}" for pid in range(50, 60)}}
QUESTIONS = [
    *(("dump", "--format", form) for form in ("folded", "html", "svg", "top", "json", "pprof", "speedscope", "otlp")),
    *(("dump", *words) for words in (
        ("--by", "container", "--by", "pid"), ("--by", "thread"), ("--by", "service", "--by", "host"), ("--service", "shop"),
        ("--service", "a'b\\\tc"), ("--host", "h2", "--by", "image"), ("--format", "top", "--lines"), ("--callers", "a.B.m1"),
        ("--event", "off-cpu"), ("--list",), ("--list", "--by", "pid"), ("--list", "--format", "json"), ("--list", "--event", "off-cpu"))),
]
SIDES = ("--before", "@1700000040..@1700000700", "--after", "@1700000700..@1700001360")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Merged, so that what is sent are its minutes."""
    folder = make_store(tmp_path_factory.mktemp("store") / "store", windows_of(PROCESSES, seed=1))
    assert jbpf("store", "compact", "--store", folder).returncode == 0
    return folder


def url(cluster, database, shard=0, replica=0):
    return cluster.servers[shard][replica].url(database)


def made(cluster, database):
    cluster.make_database(database)
    result = jbpf("push", "--init", f"{url(cluster, database)}&cluster={cluster.name}")
    assert result.returncode == 0, result.stderr


def have_all(cluster, database):
    """Replicas fetch what another one has taken: until then one that is asked has less, which is told."""
    def is_equal():
        return all(int(server.query("SELECT max(absolute_delay) + sum(queue_size) FROM system.replicas WHERE "
                                    f"database = '{database}'")) == 0 for server in cluster.all()) and all(
            len({server.query("SELECT count(), sum(cityHash64(service, ts)) FROM jbpf_windows_local FINAL", database)
                 for server in replicas}) == 1 for replicas in cluster.servers)
    wait_until(is_equal, 60, "the replicas have the same rows")


def assert_sums_are_those_of(store, server, database):
    rows = server.rows("SELECT event, stack, sum(n) FROM (SELECT * FROM jbpf_samples FINAL) ANY LEFT JOIN "
                       "(SELECT service, hash, stack FROM jbpf_stacks) USING service, hash GROUP BY event, stack", database)
    sums = {(int(event), stack): int(n) for event, stack, n in rows}
    own = {(event, stack): n for event, name in ((0, "cpu"), (5, "off-cpu")) for stack, n in dumped_stacks(store, name)}
    assert sums == own and len(own) > 60


def assert_answers_are_those_of(store, address, tmp_path):
    def answer(arguments, *source):
        path = tmp_path / "answer"
        result = jbpf(*arguments, *source, "-o", path)
        return result.returncode, path.read_bytes(), result.stderr
    for question in [*((words[0], *RANGE, *words[1:]) for words in QUESTIONS), ("diff", *SIDES, "--service", "shop", "--format", "folded")]:
        local = answer(question, "--store", store)
        assert local[0] == 0 and local[1], local[2]
        assert answer(question, "--from", address) == local, question
    tables = [sorted(jbpf("diff", *SIDES, "--service", "shop", *source).stdout.splitlines()) for source in (("--store", store), ("--from", address))]
    assert tables[0] == tables[1] and len(tables[0]) > 10


def folded_counts(*source):
    result = jbpf("dump", *RANGE, *source)
    assert result.returncode == 0, result.stderr
    return {stack: int(n) for stack, n in (line.rsplit(" ", 1) for line in result.stdout.splitlines())}


def test_answers_are_those_of_the_store_whoever_is_asked(cluster, store, tmp_path):
    made(cluster, "whole")
    sent = push(url(cluster, "whole"), store, tmp_path / "state", "--once")
    assert sent.returncode == 0, sent.stderr
    have_all(cluster, "whole")
    assert_answers_are_those_of(store, url(cluster, "whole"), tmp_path)
    assert_answers_are_those_of(store, url(cluster, "whole", 1, 1), tmp_path)
    for server in cluster.all():
        assert_sums_are_those_of(store, server, "whole")


def test_each_service_is_on_one_shard_and_each_shard_has_some(cluster, store, tmp_path):
    made(cluster, "parts")
    assert push(url(cluster, "parts"), store, tmp_path / "state", "--once").returncode == 0
    have_all(cluster, "parts")
    for table in ("samples", "stacks", "windows"):
        shards = [{row[0] for row in replicas[0].rows(f"SELECT DISTINCT service FROM jbpf_{table}_local", "parts")} for replicas in cluster.servers]
        assert all(shards) and not shards[0] & shards[1]


def test_what_is_sent_twice_to_other_servers_counts_once(cluster, store, tmp_path):
    made(cluster, "twice")
    for number, (shard, replica) in enumerate(((0, 0), (1, 1), (0, 1))):
        assert push(url(cluster, "twice", shard, replica), store, tmp_path / str(number), "--once").returncode == 0
    have_all(cluster, "twice")
    assert_sums_are_those_of(store, cluster.servers[1][0], "twice")
    assert jbpf("dump", *RANGE, "--format", "json", "--from", url(cluster, "twice")).stdout == \
        jbpf("dump", *RANGE, "--format", "json", "--store", store).stdout


def test_the_view_of_the_collector_has_the_sums(cluster, store, tmp_path):
    made(cluster, "viewed")
    assert push(url(cluster, "viewed"), store, tmp_path / "state", "--once").returncode == 0
    have_all(cluster, "viewed")
    windows, view = (cluster.servers[1][0].query(sql, "viewed") for sql in (
        "SELECT sum(samples) FROM jbpf_windows FINAL WHERE event = 0 AND pid != 0",
        "SELECT sum(intDiv(Values[1], Period)) FROM otel_profiles WHERE SampleType = 'cpu'"))
    assert windows == view != "0\n"


def test_a_replica_that_is_killed_in_mid_load_loses_nothing(cluster, store, tmp_path):
    """Pushes are killed and begin anew meanwhile, so that there is load before, while and after it is away."""
    made(cluster, "killed")
    victim = cluster.servers[1][0]
    address = url(cluster, "killed")

    def load(times):
        for number in range(times):
            process = subprocess.Popen([BIN / "jbpf-push", address, "--store", store, "--state", tmp_path / f"state-{number % 2}", "--once"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.05 + 0.05 * number)
            if number == times // 2 and victim.process:
                victim.stop(signal.SIGKILL)
            process.kill()
            process.wait()
    load(6)
    assert victim.process is None
    try:
        sent = push(address, store, tmp_path / "whole", "--once")
        assert sent.returncode == 0, sent.stderr
        # Rows that the victim took just before, and which the other replica had not fetched, are with the victim
        # alone: the same rows are not taken again by others. They are missing as long as it is away.
        asked = folded_counts("--from", address)
        whole = folded_counts("--store", store)
        assert asked and all(n <= whole.get(stack, 0) for stack, n in asked.items()), "none twice, none that is not there"
    finally:
        victim.start()  # or nothing can be made on the cluster any more
    have_all(cluster, "killed")
    for server in cluster.all():
        assert_sums_are_those_of(store, server, "killed")
    assert_answers_are_those_of(store, url(cluster, "killed", 1, 0), tmp_path)


def test_a_shard_that_is_away_is_told_and_caught_up(cluster, store, tmp_path):
    made(cluster, "away")
    made(cluster, "there")
    assert push(url(cluster, "there"), store, tmp_path / "there", "--once").returncode == 0
    windows = cluster.servers[0][0].query("SELECT count() FROM jbpf_windows FINAL", "there")
    metrics = tmp_path / "metrics"
    for server in cluster.servers[1]:
        server.stop(signal.SIGKILL)
    try:
        failing(jbpf("dump", *RANGE, "--from", url(cluster, "away")), "system.clusters")
        failing(push(url(cluster, "away"), store, tmp_path / "state", "--once"), "system.clusters")
        with pushing(url(cluster, "away"), store, tmp_path / "state", "--metrics", metrics):
            wait_until(lambda: metrics.exists() and "jbpf_push_failures_total 0" not in metrics.read_text(), 30, "a round fails")
            for server in cluster.servers[1]:
                server.start()
            wait_until(lambda: cluster.servers[0][0].query("SELECT count() FROM jbpf_windows FINAL", "away") == windows, 60, "all is there")
        assert "jbpf_push_refused_rows_total 0" in metrics.read_text(), "rows are not to blame"
    finally:
        for server in cluster.servers[1]:
            if server.process is None:
                server.start()
    have_all(cluster, "away")
    assert_sums_are_those_of(store, cluster.servers[0][1], "away")


def test_clusters_that_are_not_there_are_told(cluster):
    cluster.make_database("refused")
    failing(jbpf("push", "--init", url(cluster, "refused") + "&cluster=other"), "other", "remote_servers")
    assert jbpf("push", "--init", url(cluster, "refused")).returncode == 0
    failing(jbpf("push", "--init", f"{url(cluster, 'refused')}&cluster={cluster.name}"), "single server", "another database")


def test_tables_are_made_once(cluster):
    made(cluster, "again")
    again = jbpf("push", "--init", f"{url(cluster, 'again', 1, 1)}&cluster={cluster.name}")
    assert again.returncode == 0, again.stderr
    assert cluster.servers[0][1].query("SELECT count() FROM jbpf_schema FINAL", "again") == "1\n"


def test_columns_that_are_missing_are_added_on_all_servers(cluster, store, tmp_path):
    made(cluster, "older")
    first = cluster.servers[0][0]
    first.query(f"ALTER TABLE jbpf_windows_local ON CLUSTER '{cluster.name}' DROP COLUMN image", "older")
    first.query(f"DROP TABLE jbpf_windows ON CLUSTER '{cluster.name}'", "older")
    first.query(f"CREATE TABLE jbpf_windows ON CLUSTER '{cluster.name}' AS older.jbpf_windows_local ENGINE = "
                f"Distributed('{cluster.name}', 'older', 'jbpf_windows_local', cityHash64(service))", "older")
    failing(jbpf("push", url(cluster, "older", 1, 0), "--store", store, "--state", tmp_path, "--once"), "lack columns", "--init")
    completed = jbpf("push", "--init", f"{url(cluster, 'older')}&cluster={cluster.name}")
    assert completed.returncode == 0, completed.stderr
    for server in sum(cluster.servers, []):
        assert server.query("SELECT count() FROM system.columns WHERE database = 'older' AND name = 'image'", "older") == "2\n"
    sent = jbpf("push", url(cluster, "older", 1, 0), "--store", store, "--state", tmp_path, "--once")
    assert sent.returncode == 0, sent.stderr
