# SPDX-License-Identifier: Apache-2.0
"""Certificates that servers of tests show, each its own authority."""
import dataclasses
import ssl
import subprocess
from pathlib import Path


@dataclasses.dataclass
class Certificate:
    path: Path
    key: Path

    def wrap(self, server):
        """An HTTP server of Python's speaks TLS from here on; a client that hangs up meanwhile is no news to it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path, self.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)


def make_certificate(folder, name):
    """`name` as in a certificate's subjectAltName: IP:127.0.0.1, DNS:example.net."""
    folder.mkdir()
    made = Certificate(folder / "certificate.pem", folder / "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test",
                    "-addext", f"subjectAltName={name}", "-keyout", made.key, "-out", made.path],
                   check=True, capture_output=True)
    return made
