# SPDX-License-Identifier: Apache-2.0
"""A running jbpf web, and questions to it."""
import http.client
import json
import re
import signal
import subprocess
import threading
import urllib.parse
from pathlib import Path

from harness.ports import free_ports
from harness.programs import BIN, PATIENCE, Lacking
from harness.unix_http import UnixConnection

LATE = 504  # jbpf-web ends a question that it cannot answer soon enough


class Asking(threading.Thread):
    def __init__(self, ask):
        super().__init__(daemon=True)
        self.ask, self.got, self.error = ask, None, None
        self.start()

    def run(self):
        try:
            self.got = self.ask()
        except Exception as error:
            self.error = error

    def answer(self):
        """What ask() returned or raised."""
        self.join()
        if self.error:
            raise self.error
        return self.got


class Web:
    def __init__(self, store, folder, listen=None, program=(BIN / "jbpf-web",), source="--store"):
        [self.port] = free_ports(1)
        self.listen = listen or f"127.0.0.1:{self.port}"
        self.errors = Path(folder) / "web.err"
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                [*map(str, program), source, str(store), "--listen", self.listen], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=errors, text=True)
        self.address = self.process.stdout.readline().strip()
        assert self.address, self.errors.read_text()
        self.token = self.address.partition("#token=")[2]
        self.url = self.address.partition("#")[0]

    def connection(self):
        if self.listen.startswith("unix:"):
            return UnixConnection(self.listen.removeprefix("unix:"))
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30 * PATIENCE)

    def ask(self, path, verb="GET", headers=None, token=True, **parameters):
        """Status, headers, body as bytes."""
        headers = dict(headers or {})
        if token and self.token:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
        connection = self.connection()
        try:
            connection.request(verb, path + query, headers=headers)
            answer = connection.getresponse()
            body = answer.read()
            if answer.status == LATE:
                raise Lacking(f"{path}{query}: {body.decode()}")
            return answer.status, dict(answer.getheaders()), body
        finally:
            connection.close()

    def api(self, name, **parameters):
        """Body of an answer that must be good."""
        status, _, body = self.ask(f"/api/v1/{name}", **parameters)
        assert status == 200, body
        return body

    def json(self, name, **parameters):
        return json.loads(self.api(name, **parameters))

    def asking(self, path, **parameters):
        """A question in a thread of its own."""
        return Asking(lambda: self.ask(path, **parameters))

    def queries(self):
        """PIDs of the children that answer."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(pid) for pid in children]

    def status_field(self, name):
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return re.search(rf"^{name}:[ \t]*(.*)$", text, re.M).group(1).split()

    def stop(self):
        """The exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30 * PATIENCE)

