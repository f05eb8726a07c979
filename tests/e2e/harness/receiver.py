# SPDX-License-Identifier: Apache-2.0
"""What strict servers have in common that jbpf push sends to: Receiver."""
import http.server
import threading


class Receiver(http.server.ThreadingHTTPServer):
    """Use it as a context. Subclasses say what they are called in an URL, and answer."""
    scheme = "http"

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def url(self, path="", settings="", user=""):
        return f"{self.scheme}://{user}127.0.0.1:{self.server_address[1]}{path}{settings}"

    def receive(self, path, headers, body):
        """(status, bytes, headers) for a POST that came whole."""
        raise NotImplementedError

    def handle_error(self, request, client_address):
        """Clients that are killed are no news."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if len(body) < int(self.headers["Content-Length"]):
            return
        status, said, headers = self.server.receive(self.path, self.headers, body)
        self.send_response(status)
        self.send_header("Content-Length", str(len(said)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        pass
