# SPDX-License-Identifier: Apache-2.0
"""Debian's ClickHouse server on the loopback, with a folder of its own: ClickHouse.start()."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

from harness.ports import free_ports
from harness.programs import LEAST_WAIT, PATIENCE, TOP, Lacking, jbpf

PROGRAM = "clickhouse-server"
CURRENT = os.environ.get("JBPF_LIBCHDB")  # the engine of today, without users: make check-clickhouse

CONFIG = """<?xml version="1.0"?>
<yandex>
    <logger><level>warning</level><console>0</console>
        <log>{folder}/server.log</log><errorlog>{folder}/error.log</errorlog></logger>
    <listen_host>127.0.0.1</listen_host>
    <http_port>{http_port}</http_port>
    <tcp_port>{tcp_port}</tcp_port>
    <interserver_http_port>{interserver_port}</interserver_http_port>
    <interserver_http_host>127.0.0.1</interserver_http_host>
    <path>{folder}/data/</path>
    <tmp_path>{folder}/tmp/</tmp_path>
    <format_schema_path>{folder}/schemas/</format_schema_path>
    <users_config>{folder}/users.xml</users_config>
    <default_profile>default</default_profile>
    <default_database>default</default_database>
    <max_concurrent_queries>50</max_concurrent_queries>
    <uncompressed_cache_size>0</uncompressed_cache_size>
    <mark_cache_size>67108864</mark_cache_size>
    <mlock_executable>0</mlock_executable>
    {more}
</yandex>
"""

# writer and reader have passwords; default has none and is what the tests look with.
USERS = """<?xml version="1.0"?>
<yandex>
    <profiles>
        <default><max_memory_usage>1000000000</max_memory_usage><max_threads>2</max_threads></default>
        <reader><readonly>1</readonly></reader>
    </profiles>
    <users>
        <default>{networks}<password></password><profile>default</profile><quota>default</quota></default>
        <writer>{networks}<password>wr1te</password><profile>default</profile><quota>default</quota></writer>
        <reader>{networks}<password>r3ad</password><profile>reader</profile><quota>default</quota></reader>
    </users>
    <quotas><default></default></quotas>
</yandex>
"""
NETWORKS = "<networks><ip>127.0.0.1</ip></networks>"

needs_users = pytest.mark.skipif(bool(CURRENT), reason="the library has no users")


class ClickHouse:
    """A server; use it as a context."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.port, self.tcp_port, self.interserver_port = free_ports(3)
        self.process = None
        for name in ("data", "tmp", "schemas"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.configure("")
        (self.folder / "users.xml").write_text(USERS.format(networks=NETWORKS))

    def configure(self, more):
        """`more`: elements of its configuration, before it is started."""
        (self.folder / "config.xml").write_text(CONFIG.format(
            folder=self.folder, http_port=self.port, tcp_port=self.tcp_port,
            interserver_port=self.interserver_port, more=more))

    @staticmethod
    def is_installed():
        return bool(CURRENT) or shutil.which(PROGRAM) is not None

    def command(self):
        if CURRENT:
            return [sys.executable, TOP / "tests" / "tools" / "current_clickhouse.py", CURRENT, str(self.port), self.folder / "data"]
        return [PROGRAM, f"--config-file={self.folder}/config.xml"]

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder / "data", ignore_errors=True)

    def start(self):
        with open(self.folder / "console.log", "ab") as log:
            self.process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                env={**os.environ, "TZ": "UTC"})
        deadline = time.monotonic() + LEAST_WAIT
        while True:
            try:
                self.query("SELECT 1")
                return
            except OSError:
                has_ended = self.process.poll() is not None
                if has_ended or time.monotonic() > deadline:
                    log_text = (self.folder / "console.log").read_text(errors="replace")[-2000:]
                    self.stop()
                    kind = RuntimeError if has_ended else Lacking
                    raise kind(f"the server does not start: {log_text}") from None
                time.sleep(0.05)

    def stop(self, how=signal.SIGTERM):
        """SIGTERM, or what a crash is like."""
        if self.process is None:
            return
        self.process.send_signal(how)
        try:
            self.process.wait(timeout=30 * PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def query(self, sql, database="default"):
        """The answer as text."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/?" + urllib.parse.urlencode({"database": database}),
            data=sql.encode())
        try:
            with urllib.request.urlopen(request, timeout=60 * PATIENCE) as answer:
                return answer.read().decode(errors="surrogateescape")
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{sql}: {error.read().decode(errors='replace')}") from None

    def rows(self, sql, database="default"):
        return [line.split("\t") for line in self.query(sql, database).splitlines()]

    def make_database(self, name):
        self.query(f"DROP DATABASE IF EXISTS {name}")
        self.query(f"CREATE DATABASE {name}")

    def make_tables(self, name):
        """A new database with the tables of jbpf push."""
        self.make_database(name)
        made = jbpf("push", "--init", self.url(name))
        assert made.returncode == 0, made.stderr
        if CURRENT:  # there tables forget after a month, and what tests send is of 2023
            for table in ("samples", "stacks", "windows"):
                self.query(f"ALTER TABLE jbpf_{table} REMOVE TTL", name)

    def url(self, database, user="default", settings=""):
        """For --from and jbpf push; `settings`: "&password_file=..." or so."""
        return f"clickhouse://{user}@127.0.0.1:{self.port}/{database}?tls=off{settings}"
