# SPDX-License-Identifier: Apache-2.0
"""jbpf push to a strict server of Pyroscope's /ingest: what it got is what the store has."""
import base64
import collections
import random
import re
import socket
import threading

import pytest

from harness.programs import jbpf, wait_until
from harness.push import BEGIN, dumped_stacks, failing, push, push_and_kill, pushing
from harness.pyroscope import Pyroscope
from harness.store import make_store

MINUTES = 15
TYPES = {"cpu": ("cpu", "nanoseconds", 10101010, "process_cpu"),
         "off-cpu": ("off_cpu", "nanoseconds", 100000000, "waiting"),
         "page-faults": ("page_faults", "count", 1000, "page_faults")}
SERIES = 5  # of a minute


def script(minutes=MINUTES):
    """Windows of 10 s: a service with two processes that are told as one, others, three events, host records."""
    rng = random.Random(3)
    text = []
    for start in range(BEGIN, BEGIN + 60 * minutes, 10):
        for pid, labels in (
                (40, "comm=java service=shop container=shop-1 host=h1 pod=it's{a=1},b"),
                (41, "comm=java service=cart namespace=ns container=cart-1 host=h1"),
                (42, "comm=java service=cart namespace=ns container=cart-1 host=h1"),
                (43, "comm=cr\u00f6n\\x host=h1")):
            comm = labels.split()[0][5:]
            lines = sorted({f"{comm};a.B.m{rng.randrange(30)}_[j];leaf" for _ in range(6)})
            counts = [rng.randrange(1, 9) for _ in lines]
            event = "frequency_hz=99"
            if start // 10 % 3 == 0 and pid in (41, 43):
                event = "event=5 period=100000000 unit=1" if pid == 41 else "event=1 period=1000 unit=2"
            text.append(f"window start={start} pid={pid} duration=10 samples={sum(counts)} frames=9 {event} {labels}")
            text += [f"\t{line} {count}" for line, count in zip(lines, counts)]
            text += [f"\t+{number} {count} thread-{number % 2}" for number, count in enumerate(counts)]
        text.append(f"window start={start} pid=0 duration=10 samples=99 host=h1")
        text.append("commit")
    return "\n".join(text) + "\n"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("push") / "store", script())


@pytest.fixture
def server(tmp_path):
    with Pyroscope(tmp_path) as one:
        yield one
        assert one.complaints == []


def sums_of_store(store):
    """{(event, service or process, stack without kinds): samples}."""
    sums = collections.Counter()
    for event in TYPES:
        for service, comm, stack, count in dumped_stacks(store, event, "service", "comm"):
            service = comm if service == "(none)" else service
            sums[event, re.sub(r"[^a-z]", "_", service), re.sub(r"_\[.\]", "", stack)] += count
    return sums


def sums_of(server):
    """Equal requests once."""
    events = {kind: event for event, (kind, *_) in TYPES.items()}
    sums = collections.Counter()
    for ingest in {ingest.raw: ingest for ingest in list(server.taken)}.values():
        (first, (kind, unit)) = ingest.types
        event = events[kind]
        assert first == ("samples", "count") and (kind, unit, ingest.period, ingest.metric) == TYPES[event]
        for stack, (count, value) in ingest.samples:
            assert value == count * ingest.period
            sums[event, ingest.labels["__name__"], stack] += count
    return sums


def test_what_arrives_adds_up_to_the_store(server, store, tmp_path):
    sent = push(server.url("/pyro"), store, tmp_path, "--once")
    assert sent.returncode == 0 and sent.stdout.startswith("sent "), sent.stderr
    assert sums_of(server) == sums_of_store(store)
    assert {ingest.path for ingest in server.taken} == {"/pyro/ingest"}
    assert len(server.taken) == SERIES * MINUTES == len({ingest.raw for ingest in server.taken})
    for ingest in server.taken:
        since, until = ingest.time
        assert (since - BEGIN) % 60 == 0 and until == since + 60
        assert ingest.profile_time == (since * 10**9, 60 * 10**9)
    again = push(server.url("/pyro"), store, tmp_path, "--once")
    assert again.returncode == 0 and len(server.taken) == SERIES * MINUTES


def test_a_name_has_what_pyroscope_takes(server, store, tmp_path):
    assert push(server.url(), store, tmp_path, "--once").returncode == 0
    assert {tuple(ingest.labels.items()) for ingest in server.taken} == {
        (("__name__", "shop"), ("host", "h1"), ("pod", "it's{a=1__b"), ("container", "shop-1"), ("comm", "java")),
        (("__name__", "cart"), ("host", "h1"), ("namespace", "ns"), ("container", "cart-1"), ("comm", "java")),
        (("__name__", "cr_n_x"), ("host", "h1"), ("comm", "cr\u00f6n\\x")),
    }


def test_killed_at_any_moment_a_request_sent_twice_is_the_same_bytes(server, store, tmp_path):
    push_and_kill(server.url(), store, tmp_path, times=10, within_s=0.1, seed=7)
    assert push(server.url(), store, tmp_path, "--once").returncode == 0
    assert sums_of(server) == sums_of_store(store)
    # Pyroscope adds up: of each kill no more than the minute that was not confirmed comes again.
    twice = collections.Counter(ingest.raw for ingest in server.taken)
    assert sum(twice.values()) - len(twice) <= 10 * SERIES
    assert push(server.url(), store, tmp_path / "other", "--once").returncode == 0
    assert sums_of(server) == sums_of_store(store)


def test_what_a_server_took_before_it_failed_is_not_sent_again(server, store, tmp_path):
    busy = [503, 503]
    rng = random.Random(5)
    server.answer = lambda headers, ingest: (busy.pop(), b"") if busy and rng.random() < 0.3 else (200, b"")
    wanted = sums_of_store(store)
    with pushing(server.url(), store, tmp_path):
        wait_until(lambda: sums_of(server) == wanted, 60, "the sums of the store")
    assert busy == [] and len({ingest.raw for ingest in server.taken}) == len(server.taken)


def test_what_is_too_large_is_divided(server, store, tmp_path):
    server.answer = lambda headers, ingest: (413, b"") if len(ingest.samples) > 3 else (200, b"")
    sent = push(server.url(), store, tmp_path, "--once")
    assert sent.returncode == 0, sent.stderr
    assert sums_of(server) == sums_of_store(store)


def test_no_profile_is_over_pyroscopes_limits(server, tmp_path):
    lines = sorted(f"java;a.B.{number:05}{'x' * (1500 if number < 4000 else 1)}_[j]" for number in range(17000))
    store = make_store(tmp_path / "store", f"window start={BEGIN} pid=1 duration=10 samples=17000 frames=9 "
                       "frequency_hz=99 comm=java service=shop host=h1\n" + "".join(f"\t{it} 1\n" for it in lines)
                       + "commit\n")
    sent = push(server.url(), store, tmp_path / "state", "--once")
    assert sent.returncode == 0 and sent.stdout.startswith("sent 1 window, 17000 rows"), sent.stderr + sent.stdout
    assert len(server.taken) > 1 and len(sums_of(server)) == 17000


def test_what_a_server_refuses_by_itself_is_dropped_and_counted(server, tmp_path):
    store = make_store(tmp_path / "store", script(1))
    wanted = sums_of_store(store)
    gone = min(key for key in wanted if key[:2] == ("cpu", "shop"))
    server.answer = lambda headers, ingest: (422, b"no such stack") if ingest.labels["__name__"] == "shop" and any(
        stack == gone[2] for stack, _ in ingest.samples) else (200, b"")
    metrics = tmp_path / "push.prom"
    sent = push(server.url(), store, tmp_path / "state", "--once", "--metrics", metrics)
    assert sent.returncode == 0, sent.stderr
    assert sums_of(server) == collections.Counter({key: count for key, count in wanted.items() if key != gone})
    assert "jbpf_push_refused_rows_total 1\n" in metrics.read_text()


def test_what_is_too_old_for_the_server_is_dropped_and_holds_up_nothing(server, store, tmp_path):
    refused = []

    def answer(headers, ingest):
        if ingest.time[0] >= BEGIN + 600:
            return 200, b""
        refused.append(ingest)
        return 422, b"pushing IngestInput-pprof failed profile with labels '{" + b"x" * 400 + \
            b"}' is outside of ingestion window (profile timestamp: ...)"
    server.answer = answer
    metrics = tmp_path / "push.prom"
    sent = push(server.url(), store, tmp_path, "--once", "--metrics", metrics)
    assert sent.returncode == 0 and "reject_older_than" in sent.stderr, sent.stderr
    assert len(refused) == 10 * SERIES and len(server.taken) == (MINUTES - 10) * SERIES
    rows = sum(len(ingest.samples) for ingest in refused)
    assert f"jbpf_push_refused_rows_total {rows}\n" in metrics.read_text()


def test_what_the_server_says_is_told_in_one_line(server, store, tmp_path):
    for status, said, headers, words in (
            (401, b"no org id\n\x1bx", {}, ("no org id (HTTP status 401)", "password_file", "tenant")),
            (404, b"", {}, ("404", "path")),
            (302, b"", {"Location": "http://127.0.0.1:1/"}, ("302", "another URL")),
            (429, b"too fast", {"Retry-After": "17"}, ("too fast (HTTP status 429)", "asked again after 17 s")),
            (400, b"", {}, ("HTTP status 400",))):
        server.answer = lambda _, __, status=status, said=said, headers=headers: (status, said, headers)
        failing(push(server.url(), store, tmp_path, "--once"), *words)
    failing(push("pyroscope+http://127.0.0.1:1", store, tmp_path, "--once"), "127.0.0.1")
    server.answer = lambda headers, ingest: (200, b"")


def test_a_server_that_dies_within_a_request_is_a_failure_of_one_line(store, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        def die():
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                connection.recv(100)
                connection.close()
        threading.Thread(target=die, daemon=True).start()
        port = listening.getsockname()[1]
        failing(push(f"pyroscope+http://127.0.0.1:{port}", store, tmp_path, "--once"), "127.0.0.1")
        listening.shutdown(socket.SHUT_RDWR)
    with Pyroscope(tmp_path) as server:
        assert push(server.url(), store, tmp_path, "--once").returncode == 0
        assert sums_of(server) == sums_of_store(store)


def test_user_token_and_tenant_come_from_files_and_url(server, store, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("t0:p\n")
    for user, key, wanted in (("12345@", "password_file", "Basic " + base64.b64encode(b"12345:t0:p").decode()),
                              ("", "token_file", "Bearer t0:p")):
        server.answer = lambda headers, ingest, wanted=wanted: (200, b"") if (
            headers.get("Authorization"), headers.get("X-Scope-OrgID")) == (wanted, "team-1") else (401, b"")
        sent = push(server.url("", f"?{key}={secret}&tenant=team-1", user), store, tmp_path / key, "--once")
        assert sent.returncode == 0, sent.stderr
    refused = jbpf("push", "--state", tmp_path, "pyroscope+https://u:s3cret@h")
    assert refused.returncode == 1 and "s3cret" not in refused.stderr and "password_file" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert jbpf("push", "--init", "pyroscope+http://h").returncode == 2
