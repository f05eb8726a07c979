# SPDX-License-Identifier: Apache-2.0
"""Servers behind TLS: who shows a certificate that nobody vouches for, or that of another host, gets and tells
nothing."""
import pytest

from harness.clickhouse import ClickHouse
from harness.otlp import OtlpReceiver
from harness.ports import free_ports
from harness.programs import jbpf
from harness.push import failing, push, windows_of
from harness.pyroscope import Pyroscope
from harness.store import make_store
from harness.tls import make_certificate

CLICKHOUSE_TLS = ("<https_port>{port}</https_port><openSSL><server><certificateFile>{own.path}</certificateFile>"
                  "<privateKeyFile>{own.key}</privateKeyFile><verificationMode>none</verificationMode></server></openSSL>")
TABLES = ("jbpf_windows", "jbpf_samples", "jbpf_stacks")


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("tls") / "own", "IP:127.0.0.1")


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("tls") / "others", "DNS:another.example")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("tls") / "store", windows_of({40: "comm=java service=shop host=h1"}, seed=5))


@pytest.fixture(scope="module")
def server(tmp_path_factory, own):
    """ClickHouse, which has the tables; url: behind TLS."""
    one = ClickHouse(tmp_path_factory.mktemp("clickhouse"))
    [port] = free_ports(1)
    one.configure(CLICKHOUSE_TLS.format(port=port, own=own))
    with one:
        one.tls_url = f"clickhouse://default@127.0.0.1:{port}/default"
        made = jbpf("push", "--init", f"{one.tls_url}?ca_file={own.path}")
        assert made.returncode == 0, made.stderr
        yield one


@pytest.fixture(params=[OtlpReceiver, Pyroscope])
def receiver(request, tmp_path):
    with request.param(tmp_path) as one:
        yield one


def tls_url(receiver, certificate, ca_file):
    certificate.wrap(receiver)
    return receiver.url(settings=f"?ca_file={ca_file}" if ca_file else "").replace("+http:", "+https:")


def taken(receiver):
    return receiver.bodies if isinstance(receiver, OtlpReceiver) else receiver.taken


def test_clickhouse_gets_and_gives_the_same_as_without(server, own, store, tmp_path):
    url = f"{server.tls_url}?ca_file={own.path}"
    sent = push(url, store, tmp_path, "--once")
    assert sent.returncode == 0, sent.stderr
    dumps = [jbpf("dump", *source, "--since", "@1") for source in (("--store", store), ("--from", url))]
    assert dumps[0].stdout and dumps[1].stdout == dumps[0].stdout, dumps[1].stderr


def test_clickhouse_that_nobody_vouches_for_gets_nothing(server, store, tmp_path):
    counts = [server.query(f"SELECT count() FROM {table}") for table in TABLES]
    failing(push(server.tls_url, store, tmp_path, "--once"), "certificate", "ca_file=FILE")
    failing(jbpf("dump", "--from", server.tls_url, "--since", "@1"), "certificate", "ca_file=FILE")
    assert counts == [server.query(f"SELECT count() FROM {table}") for table in TABLES]


def test_receivers_get_what_is_sent(receiver, own, store, tmp_path):
    sent = push(tls_url(receiver, own, own.path), store, tmp_path, "--once")
    assert sent.returncode == 0, sent.stderr
    assert receiver.complaints == [] and taken(receiver)


def test_receivers_that_nobody_vouches_for_get_nothing(receiver, own, store, tmp_path):
    failing(push(tls_url(receiver, own, None), store, tmp_path, "--once"), "certificate", "ca_file=FILE")
    assert not taken(receiver)


def test_the_certificate_of_another_host_is_no_good(receiver, others, store, tmp_path):
    refused = push(tls_url(receiver, others, others.path), store, tmp_path, "--once")
    failing(refused, "127.0.0.1")
    assert "ca_file=FILE" not in refused.stderr  # it is vouched for
    assert not taken(receiver)


def test_a_file_of_authorities_that_is_not_there_is_named(receiver, own, store, tmp_path):
    failing(push(tls_url(receiver, own, tmp_path / "missing.pem"), store, tmp_path, "--once"), "missing.pem")
    assert not taken(receiver)
