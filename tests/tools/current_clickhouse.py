#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""ClickHouse of today behind the HTTP interface of its server: usage: current_clickhouse.py LIBCHDB PORT FOLDER.

Debian has 18.16; a current one is published as a library alone (libchdb, Apache-2.0), which has the engine, without
users, quotas and clusters. One query at a time."""
import ctypes
import gzip
import http.server
import pathlib
import re
import sys
import threading
import urllib.parse

NOT_SETTINGS = {"database", "query", "enable_http_compression", "insert_distributed_sync"}


class Engine:
    def __init__(self, library, folder):
        self.folder = pathlib.Path(folder)
        self.library = ctypes.CDLL(library)
        for name, result, arguments in (
                ("chdb_connect", ctypes.c_void_p, [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]),
                ("chdb_query_n", ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]),
                ("chdb_result_error", ctypes.c_char_p, [ctypes.c_void_p]),
                ("chdb_result_buffer", ctypes.c_void_p, [ctypes.c_void_p]),
                ("chdb_result_length", ctypes.c_size_t, [ctypes.c_void_p]),
                ("chdb_destroy_query_result", None, [ctypes.c_void_p])):
            function = getattr(self.library, name)
            function.restype, function.argtypes = result, arguments
        words = [b"clickhouse", f"--path={folder}".encode()]
        made = self.library.chdb_connect(len(words), (ctypes.c_char_p * len(words))(*words))
        if not made:
            raise SystemExit("libchdb does not start")
        self.connection = ctypes.cast(made, ctypes.POINTER(ctypes.c_void_p))[0]

    def insert(self, query, rows):
        """The library takes blanks away from the end of a query, also where they end a row."""
        file = self.folder / f"rows-{threading.get_ident()}"
        file.write_bytes(rows)
        into, form = re.fullmatch(r"INSERT INTO (.*) FORMAT (\w+)", query).groups()
        return f"INSERT INTO {into} SELECT * FROM file('{file}', '{form}')".encode()

    def query(self, text):
        """(bytes, None), or (None, what is wrong)"""
        result = self.library.chdb_query_n(self.connection, text, len(text), b"TabSeparated", len(b"TabSeparated"))
        if not result:
            return b"", None
        try:
            error = self.library.chdb_result_error(result)
            if error:
                return None, error
            length = self.library.chdb_result_length(result)
            return ctypes.string_at(self.library.chdb_result_buffer(result), length) if length else b"", None
        finally:
            self.library.chdb_destroy_query_result(result)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        words = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        text = self.server.engine.insert(words["query"], body) if "query" in words else body
        before = [f"USE `{words.get('database', 'default')}`".encode()]
        before += [f"SET {name} = '{value}'".encode() for name, value in words.items() if name not in NOT_SETTINGS]
        with self.server.turn:
            for sql in [*before, text]:
                answer, error = self.server.engine.query(sql)
                if error:
                    break
        self.reply(answer, error, "enable_http_compression" in words)

    def reply(self, answer, error, may_pack):
        self.send_response(500 if error else 200)
        said = error + b"\n" if error else answer
        if may_pack and not error and "gzip" in self.headers.get("Accept-Encoding", ""):
            said = gzip.compress(said, 1)
            self.send_header("Content-Encoding", "gzip")
        if error:
            code = re.search(rb"Code: (\d+)", error)
            self.send_header("X-ClickHouse-Exception-Code", code[1].decode() if code else "0")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        pass


def main():
    library, port, folder = sys.argv[1:]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
    server.engine, server.turn = Engine(library, folder), threading.Lock()
    server.serve_forever()


if __name__ == "__main__":
    main()
