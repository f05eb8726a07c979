# SPDX-License-Identifier: Apache-2.0
"""The samples of jbpf's tables once more, laid out as others do: what they take on disk, and what a service's flame graph costs.
On Debian's 18.16 all are compressed with LZ4, and the collector's indexes of text do not exist."""
import urllib.parse
import urllib.request

from machine import TICK, read
from spawn import NotMeasured

SAMPLED = ("(SELECT service, ts, hash, stream, n FROM jbpf_samples FINAL WHERE event = 0)"
           " ANY INNER JOIN (SELECT stream, any(host) AS host, any(pod) AS pod, any(container) AS container, any(image) AS image,"
           " any(comm) AS comm FROM jbpf_windows GROUP BY stream) USING stream")
STACKS = "(SELECT service, hash, any(stack) AS stack FROM jbpf_stacks GROUP BY service, hash)"
LABELS = "['host', 'pod', 'container', 'image', 'comm'] AS names, [host, pod, container, image, comm] AS texts"
NANOSECONDS = 1_000_000_000 // 99  # a sample's

# A stack in each row makes large rows.
SMALL_BLOCKS = {"max_memory_usage": 4 << 30, "max_block_size": 8192, "min_insert_block_size_rows": 65536}

# name: what its tables' names begin with, the tables, what fills them, and a service's stacks with their sums
LAYOUTS = {
    "Coroot's": (
        "coroot_",
        ("CREATE TABLE coroot_stacks (ServiceName String, Hash UInt64, LastSeen DateTime, Stack Array(String))"
         " ENGINE = ReplacingMergeTree PARTITION BY toDate(LastSeen) ORDER BY (ServiceName, Hash)",
         "CREATE TABLE coroot_samples (ServiceName String, Type String, Start DateTime, End DateTime, Labels Nested(name String,"
         " text String), StackHash UInt64, Value Int64) ENGINE = MergeTree PARTITION BY toDate(Start)"
         " ORDER BY (ServiceName, Type, toUnixTimestamp(Start), toUnixTimestamp(End))"),
        ("INSERT INTO coroot_stacks SELECT service, hash, now(), splitByChar(';', stack) FROM " + STACKS,
         "INSERT INTO coroot_samples SELECT service, 'ebpf:cpu:nanoseconds', ts, ts + 60, names, texts, hash, n * {ns}"
         " FROM (SELECT *, " + LABELS + " FROM " + SAMPLED + ")"),
        "SELECT Stack, sum FROM (SELECT StackHash AS Hash, sum(Value) AS sum FROM coroot_samples WHERE ServiceName = '{service}'"
        " GROUP BY Hash) ANY INNER JOIN (SELECT Hash, any(Stack) AS Stack FROM coroot_stacks WHERE ServiceName = '{service}'"
        " GROUP BY Hash) USING Hash"),
    "the collector's": (
        "collector_",
        ("CREATE TABLE collector_profiles (Timestamp DateTime, Duration UInt64, ServiceName String, ResourceAttributes Nested(name String,"
         " text String), SampleType String, SampleUnit String, Value Int64, StackHash UInt64, Stack Array(String))"
         " ENGINE = MergeTree PARTITION BY toDate(Timestamp) ORDER BY (ServiceName, Timestamp, StackHash)",),
        ("INSERT INTO collector_profiles SELECT ts, 60000000000, service, names, texts, 'cpu', 'nanoseconds', n * {ns}, hash,"
         " splitByChar(';', stack) FROM (SELECT *, " + LABELS + " FROM " + SAMPLED + ") ANY INNER JOIN " + STACKS +
         " USING service, hash",),
        "SELECT any(Stack), sum(Value) FROM collector_profiles WHERE ServiceName = '{service}' GROUP BY StackHash"),
}
OWN = ("SELECT stack, sum FROM (SELECT hash, sum(n) * {ns} AS sum FROM jbpf_samples FINAL WHERE service = '{service}' AND event = 0"
       " GROUP BY hash) ANY INNER JOIN (SELECT hash, any(stack) AS stack FROM jbpf_stacks WHERE service = '{service}' GROUP BY hash)"
       " USING hash")


def cpu_of(server):
    fields = read(f"/proc/{server.process.pid}/stat").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def post(server, database, sql, body=None, **settings):
    query = {"database": database, **settings, **({"query": sql} if body else {})}
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/?" + urllib.parse.urlencode(query), data=body or sql.encode(),
                                timeout=600) as answer:
        return answer.read()


def asked(server, database, sql, times):
    """(CPU seconds of the server for the whole answer, its lines sorted)"""
    used = []
    for _ in range(times):
        before = cpu_of(server)
        answer = server.query(sql, database)
        used.append(cpu_of(server) - before)
    return used, sorted(line.rpartition("\t")[2] for line in answer.splitlines())


def bytes_of(server, database, prefix):
    return int(server.query("SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND "
                            f"database = '{database}' AND startsWith(table, '{prefix}')", database))


def compare(report, server, database, service, rounds):
    """Each layout has the same samples, and gives the same sums."""
    samples = int(server.query("SELECT sum(n) FROM jbpf_samples FINAL WHERE event = 0", database))
    used, sums = asked(server, database, OWN.format(ns=NANOSECONDS, service=service), rounds)
    report.row("jbpf's: bytes per sample, stacks and windows included", bytes_of(server, database, "jbpf_") / samples, "B")
    report.row("  a service's stacks with their sums: CPU of the server", used, "s")
    for name, (prefix, tables, fills, question) in LAYOUTS.items():
        for sql in (*tables, *fills):
            post(server, database, sql.format(ns=NANOSECONDS), **SMALL_BLOCKS)
        for table in {sql.split()[2] for sql in tables}:
            server.query(f"OPTIMIZE TABLE {table} FINAL", database)
        used, others = asked(server, database, question.format(service=service), rounds)
        if others != sums:
            raise NotMeasured(f"{name} layout has other sums: {len(others)} stacks of {len(sums)}")
        report.row(f"{name}: bytes per sample", bytes_of(server, database, prefix) / samples, "B")
        report.row("  a service's stacks with their sums: CPU of the server", used, "s")
