# SPDX-License-Identifier: Apache-2.0
"""A cluster of Debian's ClickHouse servers on the loopback: two shards of two replicas, and a ZooKeeper: Cluster()."""
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

from harness.clickhouse import ClickHouse
from harness.ports import free_ports
from harness.programs import LEAST_WAIT, Lacking

NAME = "fleet"
SHARDS, REPLICAS = 2, 2
ZOOKEEPER_CLASSES = "/usr/share/java/zookeeper.jar"
ZOOKEEPER_CONFIG = """tickTime=500
dataDir={folder}/data
clientPort={port}
clientPortAddress=127.0.0.1
admin.enableServer=false
maxClientCnxns=0
"""
LOGGING = """log4j.rootLogger=WARN, CONSOLE
log4j.appender.CONSOLE=org.apache.log4j.ConsoleAppender
log4j.appender.CONSOLE.layout=org.apache.log4j.PatternLayout
log4j.appender.CONSOLE.layout.ConversionPattern=%d{ISO8601} %-5p %c - %m%n
"""


class ZooKeeper:
    """One server; use it as a context."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True)
        self.port, = free_ports(1)
        self.process = None
        (self.folder / "zoo.cfg").write_text(ZOOKEEPER_CONFIG.format(folder=self.folder, port=self.port))
        (self.folder / "log4j.properties").write_text(LOGGING)

    @staticmethod
    def is_installed():
        return Path(ZOOKEEPER_CLASSES).exists() and shutil.which("java") is not None

    def _answers(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"srvr")
                return connection.recv(100).startswith(b"Zookeeper")
        except OSError:
            return False

    def __enter__(self):
        with open(self.folder / "console.log", "ab") as log:
            self.process = subprocess.Popen(
                ["java", "-Xmx128m", "-cp", f"{self.folder}:{ZOOKEEPER_CLASSES}", "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                 self.folder / "zoo.cfg"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, env={**os.environ, "TZ": "UTC"})
        deadline = time.monotonic() + LEAST_WAIT
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                text = (self.folder / "console.log").read_text(errors="replace")[-2000:]
                self.__exit__()
                raise Lacking(f"ZooKeeper does not start: {text}")
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Cluster:
    """servers[shard][replica]; use it as a context."""

    def __init__(self, folder, name=NAME):
        self.folder, self.name = Path(folder), name
        self.zookeeper = ZooKeeper(self.folder / "zookeeper")
        self.servers = [[ClickHouse(self.folder / f"{shard}-{replica}") for replica in range(REPLICAS)] for shard in range(SHARDS)]
        for shard, replicas in enumerate(self.servers):
            for replica, server in enumerate(replicas):
                server.configure(self._part(shard, replica))

    @staticmethod
    def is_installed():
        return ClickHouse.is_installed() and ZooKeeper.is_installed()

    def _part(self, shard, replica):
        shards = "".join(
            "<shard><internal_replication>true</internal_replication>" + "".join(
                f"<replica><host>127.0.0.1</host><port>{server.tcp_port}</port></replica>" for server in replicas) + "</shard>"
            for replicas in self.servers)
        return (f"<remote_servers><{self.name}>{shards}</{self.name}></remote_servers>"
                f"<zookeeper><node><host>127.0.0.1</host><port>{self.zookeeper.port}</port></node></zookeeper>"
                f"<macros><shard>{shard}</shard><replica>{replica}</replica></macros>"
                "<distributed_ddl><path>/clickhouse/task_queue/ddl</path></distributed_ddl>")

    def all(self):
        return [server for replicas in self.servers for server in replicas]

    def __enter__(self):
        self.zookeeper.__enter__()
        try:
            for server in self.all():
                server.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for server in self.all():
            server.__exit__()
        self.zookeeper.__exit__()

    def make_database(self, name):
        self.servers[0][0].query(f"CREATE DATABASE {name} ON CLUSTER {self.name}")
