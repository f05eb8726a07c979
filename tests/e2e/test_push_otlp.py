# SPDX-License-Identifier: Apache-2.0
"""jbpf push to a strict receiver of OpenTelemetry's profiles: what it got is what the store has."""
import base64
import collections
import email.utils
import re
import time

import pytest

from harness.otlp import OtlpReceiver, decoded_by_protoc
from harness.programs import jbpf, wait_until
from harness.push import BEGIN, dumped_stacks, failing, push, push_and_kill, pushing, windows_of
from harness.store import make_store

PERIODS = {"cpu": 10101010, "off-cpu": 100000000}
PATH = "/v1development/profiles"
PROCESSES = {
    40: "comm=java service=shop container=shop-1 container_id=" + "a" * 64 + " host=h1 pod=it's\\a",
    41: "comm=java service=cart namespace=ns container=cart-1 host=h1 image=i:1",
    42: "comm=sh service=cart namespace=ns container=cart-1 host=h1 image=i:1",
    43: "comm=cron host=h1",
}


def script():
    """Two containers, one with two processes, and a process without."""
    return windows_of(PROCESSES, seed=3)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("push") / "store", script())


@pytest.fixture
def receiver(tmp_path):
    with OtlpReceiver(tmp_path) as one:
        yield one


def sums_of_store(store):
    """{(event, service or process, thread, stack without kinds): samples}."""
    sums = collections.Counter()
    for event in PERIODS:
        for service, comm, thread, stack, count in dumped_stacks(store, event, "service", "comm", "thread"):
            service = comm if service == "(none)" else service
            sums[event, service, thread, re.sub(r"_\[.\]", "", stack)] += count
    return sums


def sums_of(receiver):
    """Each profile once, as its id wants it."""
    sums = collections.Counter()
    for profile in {profile.id: profile for profile in receiver.profiles()}.values():
        event, unit = profile.type
        assert unit == "nanoseconds" and profile.period == PERIODS[event]
        for stack, attributes, value in profile.samples:
            assert value % profile.period == 0
            sums[event, profile.labels["service.name"], attributes["thread.name"], stack] += value // profile.period
    return sums


def test_what_arrives_adds_up_to_the_store(receiver, store, tmp_path):
    sent = push(receiver.url(), store, tmp_path, "--once")
    assert sent.returncode == 0 and sent.stdout.startswith("sent "), sent.stderr
    assert receiver.complaints == [] and receiver.paths == {PATH}
    assert sums_of(receiver) == sums_of_store(store)
    profiles = receiver.profiles()
    assert len({profile.id for profile in profiles}) == len(profiles)
    assert all(len(profile.id) == 16 for profile in profiles)
    text = decoded_by_protoc(receiver.bodies[0])
    assert "resource_profiles {" in text and not re.search(r"^\s*\d+[:\s{]", text, re.MULTILINE), text[:2000]


def test_a_container_is_a_resource_with_its_processes(receiver, store, tmp_path):
    assert push(receiver.url(), store, tmp_path, "--once").returncode == 0
    found = {}
    for profile in receiver.profiles():
        found.setdefault(tuple(sorted(profile.labels.items())), set()).update(
            attributes["process.pid"] for _, attributes, _ in profile.samples)
    assert found == {
        tuple(sorted({"host.name": "h1", "service.name": "shop", "container.name": "shop-1", "container.id": "a" * 64,
                      "k8s.pod.name": "it's\\a"}.items())): {40},
        tuple(sorted({"host.name": "h1", "service.name": "cart", "k8s.namespace.name": "ns",
                      "container.name": "cart-1", "container.image.name": "i:1"}.items())): {41, 42},
        tuple(sorted({"host.name": "h1", "service.name": "cron"}.items())): {43},
    }


def test_killed_at_any_moment_a_profile_sent_twice_is_the_same_bytes(receiver, store, tmp_path):
    push_and_kill(receiver.url(), store, tmp_path, times=20, within_s=0.1, seed=7)
    for state in ("one", "two"):
        assert push(receiver.url(), store, tmp_path / state, "--once").returncode == 0
    by_id = {}
    for profile in receiver.profiles():
        assert by_id.setdefault(profile.id, profile).raw == profile.raw
        assert by_id[profile.id].content() == profile.content()
    assert len(by_id) < len(receiver.profiles())
    assert sums_of(receiver) == sums_of_store(store)


def test_what_is_too_large_is_divided(receiver, store, tmp_path):
    receiver.answer = lambda headers, body: (413, b"") if len(body) > 1100 else (200, b"")
    sent = push(receiver.url(), store, tmp_path, "--once")
    assert sent.returncode == 0, sent.stderr
    assert sums_of(receiver) == sums_of_store(store)
    profiles = receiver.profiles()
    assert len({profile.id for profile in profiles}) == len(profiles)


def test_no_request_is_over_4_mib(receiver, tmp_path):
    """A minute of two processes, each of which is more than that."""
    blocks = []
    for pid in (1, 2):
        lines = sorted(f"java;a.B{pid}.{number:05}{'x' * 1500}_[j]" for number in range(4000))
        blocks.append(f"window start={BEGIN} pid={pid} duration=10 samples=4000 frames=9 frequency_hz=99 comm=java "
                      "service=shop host=h1\n" + "".join(f"\t{line} 1\n" for line in lines))
    store = make_store(tmp_path / "store", "".join(blocks) + "commit\n")
    sent = push(receiver.url(), store, tmp_path / "state", "--once")
    assert sent.returncode == 0 and sent.stdout.startswith("sent 2 windows, 8000 rows"), sent.stderr + sent.stdout
    assert len(receiver.bodies) > 2 and max(map(len, receiver.bodies)) <= 4 << 20
    assert receiver.complaints == []
    profiles = receiver.profiles()
    assert len({profile.id for profile in profiles}) == len(profiles)
    assert len(collections.Counter(stack for it in profiles for stack, _, _ in it.samples)) == 8000


def test_what_a_server_refuses_by_itself_is_dropped_and_counted(receiver, store, tmp_path):
    receiver.answer = lambda headers, body: (400, b"no m7") if b"a.B.m7" in body and b"shop" in body else (200, b"")
    wanted = sums_of_store(store)
    lost = {key for key in wanted if key[1] == "shop" and ".m7;" in key[3]}
    one_minute = make_store(tmp_path / "store", "\n".join(
        line for block in script().split("commit\n")[:6] for line in (block + "commit").split("\n")) + "\n")
    metrics = tmp_path / "push.prom"
    sent = push(receiver.url(), one_minute, tmp_path / "state", "--once", "--metrics", metrics)
    assert lost and sent.returncode == 0, sent.stderr
    expected = sums_of_store(one_minute)
    refused = {key for key in expected if key in lost}
    assert refused and sums_of(receiver) == collections.Counter(
        {key: count for key, count in expected.items() if key not in refused})
    assert re.search(r"^jbpf_push_refused_rows_total [1-9]", metrics.read_text(), re.MULTILINE)


def test_what_the_server_says_is_told_in_one_line(receiver, store, tmp_path):
    status = b"\x08\x10\x12\x0cbad token\n\x1bx"  # google.rpc.Status
    for code, said, words in ((401, status, ("bad token", "401", "token_file")), (404, b"", ("404", "profilesSupport")),
                              (503, b"busy, come again\nmore", ("busy, come again (HTTP status 503)",)),
                              (400, b"", ("HTTP status 400",)), (200, b"<html>", ("none of OTLP",))):
        receiver.answer = lambda headers, body, code=code, said=said: (code, said)
        failing(push(receiver.url(), store, tmp_path, "--once"), *words)
    failing(push("otlp+http://127.0.0.1:1", store, tmp_path, "--once"), "127.0.0.1")


def test_a_token_comes_from_its_file(receiver, store, tmp_path):
    token = tmp_path / "token"
    token.write_text("t0ken\n")
    receiver.answer = lambda headers, body: (200, b"") if headers.get("Authorization") == "Bearer t0ken" else (401, b"")
    sent = push(receiver.url("/otlp/v1", f"?token_file={token}"), store, tmp_path, "--once")
    assert sent.returncode == 0, sent.stderr
    assert receiver.paths == {"/otlp/v1"}
    failing(push(receiver.url("", "?token_file=/nowhere"), store, tmp_path, "--once"), "/nowhere")


def test_a_users_password_and_the_tenant_come_with_every_request(receiver, store, tmp_path):
    secret = tmp_path / "password"
    secret.write_text("s3:cret\n")
    wanted = "Basic " + base64.b64encode(b"writer:s3:cret").decode()
    receiver.answer = lambda headers, body: (200, b"") if (headers.get("Authorization"), headers.get("X-Scope-OrgID")) \
        == (wanted, "team-1") else (401, b"")
    sent = push(receiver.url("", f"?password_file={secret}&tenant=team-1", "writer@"), store, tmp_path, "--once")
    assert sent.returncode == 0, sent.stderr
    assert sums_of(receiver) == sums_of_store(store)
    failing(push(receiver.url("", "", "writer@"), store, tmp_path / "other", "--once"), "401", "password_file")


def test_when_a_busy_server_wants_to_be_asked_again_is_told(receiver, store, tmp_path):
    for said, least, most in (("7", 7, 7), ("99999", 3600, 3600), (email.utils.formatdate(time.time() + 500, usegmt=True),
                                                                 1, 500)):
        receiver.answer = lambda headers, body, said=said: (429, b"slowly", {"Retry-After": said})
        busy = push(receiver.url(), store, tmp_path, "--once")
        failing(busy, "slowly (HTTP status 429)")
        assert least <= int(re.search(r"asked again after (\d+) s", busy.stderr)[1]) <= most
    for status, said in ((429, "soon"), (429, "-5"), (500, "7"), (401, "7")):
        receiver.answer = lambda headers, body, status=status, said=said: (status, b"", {"Retry-After": said})
        busy = push(receiver.url(), store, tmp_path, "--once")
        assert busy.returncode == 1 and "asked again" not in busy.stderr, busy.stderr


def test_a_busy_server_is_not_asked_before_it_wants_to(receiver, store, tmp_path):
    asked = []

    def answer(headers, body):
        asked.append(time.monotonic())
        return (503, b"", {"Retry-After": "5"}) if len(asked) == 1 else (200, b"")
    receiver.answer = answer
    with pushing(receiver.url(), store, tmp_path):
        wait_until(lambda: len(asked) > 1, 30, "the second request")
    assert asked[1] - asked[0] >= 5


def test_what_is_rejected_in_part_is_told_and_counted(receiver, store, tmp_path):
    partial = receiver.response_class()
    partial.partial_success.rejected_profiles = 2
    partial.partial_success.error_message = "too old"
    receiver.answer = lambda headers, body: (200, partial.SerializeToString())
    metrics = tmp_path / "push.prom"
    sent = push(receiver.url(), store, tmp_path, "--once", "--metrics", metrics)
    assert sent.returncode == 0 and "rejected 2 profiles: too old" in sent.stderr
    assert f"jbpf_push_rejected_profiles_total {2 * len(receiver.bodies)}\n" in metrics.read_text()


def test_a_server_that_is_busy_is_asked_again(receiver, store, tmp_path):
    busy = [503, 429]
    receiver.answer = lambda headers, body: (busy.pop(), b"") if busy else (200, b"")
    wanted = sums_of_store(store)
    with pushing(receiver.url(), store, tmp_path) as process:
        wait_until(lambda: sums_of(receiver) == wanted, 30, "the sums of the store")
        assert process.poll() is None


def test_usage_is_refused(tmp_path):
    assert jbpf("push", "--init", "otlp+http://h").returncode == 2
    secret = jbpf("push", "--state", tmp_path, "otlp+https://u:secret@h")
    assert secret.returncode == 1
    assert "secret" not in secret.stderr and "password_file" in secret.stderr
