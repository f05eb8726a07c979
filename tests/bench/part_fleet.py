# SPDX-License-Identifier: Apache-2.0
"""A fleet at one server: what jbpf push sends of many hosts to Debian's ClickHouse, and what is asked of it. The hosts are made of
windows of real JVMs, each host by a draw of its own from the same seed."""
import os
import subprocess
import sys
import time

import fleet_layouts
from fleet_layouts import cpu_of, post
from machine import JBPF, ROOT
from part_store import make, recording
from programs import remove
from spawn import NotMeasured

SERVICES = 5  # of each host of the hour
HOSTS_OF_HOUR, HOSTS_OF_DAY, DAY_H = 200, 40, 24
LAYOUT_HOSTS = 20  # the collector's layout has each stack once more for each row
BULK_PARTS = 5  # at most
BULK_PART_ROWS = 1_000_000  # of a request, as the server makes its blocks
THIN = 8  # a process has 1 in 8 to 12 of a recorded one's samples
SAMPLES = "SELECT sum(samples) FROM jbpf_windows FINAL WHERE pid > 0"


def start_server(folder):
    sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
    from harness.clickhouse import ClickHouse  # pylint: disable=import-error,import-outside-toplevel
    if not ClickHouse.is_installed():
        raise NotMeasured("clickhouse-server is missing: scripts/install-deps test")
    server = ClickHouse(folder)
    server.start()
    return server


def number(server, sql, database):
    return int(server.query(sql, database))


def push_host(bench, server, database, recorded, host, hours, services):
    """Makes the host's store and sends all of it; returns the CPU seconds of push."""
    store, state = (os.path.join(bench.work, name) for name in ("fleet-store", "fleet-state"))
    try:
        make("fleet", recorded, store, hours, services, host, THIN)
        before = os.times()
        subprocess.run([JBPF, "push", server.url(database), "--store", store, "--state", state, "--once"], check=True,
                       stdout=subprocess.DEVNULL, timeout=600)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system
    finally:
        remove(store)
        remove(state)


def merged(server, seconds=60):
    """Waits until what the inserts made work of is done."""
    end = time.monotonic() + seconds
    quiet = 0
    while quiet < 5 and time.monotonic() < end:
        quiet = 0 if number(server, "SELECT count() FROM system.merges", "default") else quiet + 1
        time.sleep(0.5)


def load(report, bench, server, database, recorded, hosts, hours, services):
    server.make_database(database)
    subprocess.run([JBPF, "push", "--init", server.url(database)], check=True, stdout=subprocess.DEVNULL)
    before = cpu_of(server)
    pushed = sum(push_host(bench, server, database, recorded, host, hours, services) for host in range(hosts))
    merged(server)
    used = cpu_of(server) - before
    rows, samples = (number(server, sql, database) for sql in ("SELECT count() FROM jbpf_samples FINAL", SAMPLES))
    report.at(f"{hosts} hosts x {hours} h, {services} processes each")
    report.row("rows of samples", rows / 1e6, "M")
    report.row("samples", samples / 1e6, "M")
    report.row("distinct stacks (of the recording: none grow)", number(server, "SELECT count() FROM jbpf_stacks FINAL", database), "")
    report.row("CPU of jbpf push, all hosts", pushed, "s")
    report.row("CPU of the server, merges included", used, "s")
    report.row("  rows of samples per CPU second, with stacks and windows, ten minutes of a host each", rows / used / 1e6, "M")
    sizes = {table: int(size) for table, size in server.rows(
        "SELECT table, sum(bytes_on_disk) FROM system.parts WHERE active AND "
        f"database = '{database}' GROUP BY table", database)}
    for table in ("samples", "stacks", "windows"):
        report.row(f"  bytes per sample (LZ4): {table}", sizes[f"jbpf_{table}"] / samples, "B")


def bulk(report, server, database):
    """The rows alone and in large requests: what the server does, not what requests cost."""
    columns = "service, event, ts, hash, stream, n"
    parts = -(-number(server, "SELECT count() FROM jbpf_samples FINAL", database) // BULK_PART_ROWS)
    server.query("CREATE TABLE bulk AS jbpf_samples", database)
    used = 0
    for part in range(min(parts, BULK_PARTS)):
        rows = post(server, database, f"SELECT {columns} FROM jbpf_samples FINAL WHERE stream % {parts} = {part} "
                                      "ORDER BY ts, stream, hash FORMAT RowBinary")
        before = cpu_of(server)
        post(server, database, f"INSERT INTO bulk ({columns}) FORMAT RowBinary", rows)
        used += cpu_of(server) - before
    total = number(server, "SELECT count() FROM bulk FINAL", database)
    before = cpu_of(server)
    server.query("OPTIMIZE TABLE bulk FINAL", database)
    used += cpu_of(server) - before
    rate = total / used / 1e6
    report.row(f"{total / 1e6:.2f} M rows in requests of some {BULK_PART_ROWS // 1000} k, merged: rows per CPU second", rate, "M", ">= 0.9", rate >= 0.9)


def ask(report, bench, server, database, what, hours, target_s):
    """A service as a page, from the question to its last byte."""
    until = number(server, "SELECT toUnixTimestamp(max(ts)) + 60 FROM jbpf_windows", database)
    page = os.path.join(bench.work, "page.html")
    walls, servers, own = [], [], []
    for _ in range(max(bench.rounds, 3)):
        begin, before, times = time.monotonic(), cpu_of(server), os.times()
        subprocess.run([JBPF, "dump", "--from", server.url(database), "--service", "service-0", "--since", f"@{until - hours * 3600}",
                        "--until", f"@{until}", "--format", "html", "-o", page], check=True, timeout=600)
        walls.append(time.monotonic() - begin)
        servers.append(cpu_of(server) - before)
        own.append(os.times().children_user - times.children_user)
    report.row(f"{what} as a flame graph: wall time", walls, "s", f"<= {target_s}", sorted(walls)[len(walls) // 2] <= target_s)
    report.row("  CPU of the server", servers, "s")
    report.row("  CPU of jbpf dump", own, "s")
    report.row("  the page", os.path.getsize(page) / (1 << 20), "MiB")


def fleet(report, bench):
    """Rows per CPU second and bytes per sample at one ClickHouse server, and a service of many hosts asked of it."""
    share = bench.scale * (0.05 if bench.quick else 1)
    hosts, day_hosts = (max(1, round(count * share)) for count in (HOSTS_OF_HOUR, HOSTS_OF_DAY))
    server = start_server(os.path.join(bench.work, "clickhouse"))
    try:
        recorded, _ = recording(bench)
        load(report, bench, server, "layouts", recorded.out, min(hosts, LAYOUT_HOSTS), 1, SERVICES)
        fleet_layouts.compare(report, server, "layouts", "service-0", max(bench.rounds, 3))
        load(report, bench, server, "hour", recorded.out, hosts, 1, SERVICES)
        bulk(report, server, "hour")
        ask(report, bench, server, "hour", f"an hour of a service on {hosts} hosts", 1, 2)
        load(report, bench, server, "day", recorded.out, day_hosts, DAY_H, 1)
        ask(report, bench, server, "day", f"{DAY_H} h of a service on {day_hosts} hosts", DAY_H, 5)
    finally:
        server.stop()
