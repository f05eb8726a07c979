# SPDX-License-Identifier: Apache-2.0
"""What tests ask of a Docker engine over and over while they wait, by its socket: the docker command takes twenty times
the CPU for each question, and a tenth of all that the live tests had."""
import json
import os

from harness.unix_http import UnixConnection

DEFAULT_HOST = "unix:///var/run/docker.sock"
TIMEOUT_SECONDS = 120


def get(host, path):
    """The status and the bytes of an answer. `host` as in DOCKER_HOST, None for that or the default."""
    address = host or os.environ.get("DOCKER_HOST") or DEFAULT_HOST
    assert address.startswith("unix://"), f"{address}: tests need a Docker engine of this host, by a Unix socket"
    connection = UnixConnection(address[len("unix://"):], TIMEOUT_SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def container_state(host, container):
    """The State of a container: Pid, Running, ExitCode; one that was removed does not run."""
    status, body = get(host, f"/containers/{container}/json")
    if status == 404:
        return {"Pid": 0, "Running": False}
    assert status == 200, f"container {container}: {body.decode(errors='replace')}"
    return json.loads(body)["State"]


def container_output(host, container):
    """What a container without a terminal wrote to stdout, then what it wrote to stderr."""
    status, body = get(host, f"/containers/{container}/logs?stdout=1&stderr=1")
    assert status == 200, f"container {container}: {body.decode(errors='replace')}"
    written = {1: bytearray(), 2: bytearray()}
    at = 0
    while at < len(body):  # frames: the stream, three zeros, the length in 4 bytes
        stream, size = body[at], int.from_bytes(body[at + 4:at + 8], "big")
        written[stream] += body[at + 8:at + 8 + size]
        at += 8 + size
    return (written[1] + written[2]).decode(errors="replace")
