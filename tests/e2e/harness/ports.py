# SPDX-License-Identifier: Apache-2.0
"""Ports for servers that tests start: nobody listens there now, and the kernel gives them to nobody who asks for any, as
a client does. (One that it gave could be another's by the time that the server listens there, or be the source of a
connection to itself while the server is away.)"""
import os
import random
import socket
from pathlib import Path

LOWEST, AT_LEAST = 10000, 10000
# Workers of one run have ports of their own: one that was found free is not another's before its server listens.
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw-1").removeprefix("gw")) + 1
WORKERS = 16
# What this worker gave before: a cluster's servers choose theirs before any of them listens.
given = set()


def free_ports(count):
    highest = max(int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0]), LOWEST + AT_LEAST)
    found = []
    while len(found) < count:
        port = random.SystemRandom().randrange(LOWEST + WORKER % WORKERS, highest, WORKERS)
        if port in given:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        given.add(port)
        found.append(port)
    return found
