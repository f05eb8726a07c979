# SPDX-License-Identifier: Apache-2.0
"""jbpf web as its clients meet it over HTTP: who is answered, with what, and what of others holds nobody up."""
import contextlib
import os
import shutil
import signal
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from harness.programs import BIN, jbpf, stat_fields, wait_until
from harness.store import make_store
from harness.web import Web

START = 1700000000  # a multiple of 10 s
GROUP = 54321


def window(start, container, samples, method="work", **more):
    labels = " ".join(f"{key}={value}" for key, value in more.items())
    return (f"window start={start} pid={40 + len(container)} duration=10 frequency_hz=100 samples={samples} comm=java "
            f"container={container} service=shop {labels}\n\tjava;a.B.run_[j];a.B.{method}_[j] {samples}\n")


SCRIPT = (
    window(START, "shop-1", 500) + window(START, "cart-12", 100) +
    f"window start={START} pid=0 duration=10 samples=600\ncommit\n" +
    window(START + 10, "shop-1", 1000, "burn") +
    f"window start={START + 10} pid=0 duration=10 samples=1000 counts_full=7\ncommit\n" +
    window(START + 30, "shop-1", 100) + f"window start={START + 30} pid=0 duration=10 samples=100\ncommit\n")
RANGE = {"since": f"@{START}", "until": f"@{START + 40}"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("web")


@pytest.fixture(scope="module")
def store(folder):
    return make_store(folder / "store", SCRIPT)


@pytest.fixture(scope="module")
def web(store, folder):
    web = Web(store, folder)
    yield web
    assert web.stop() == 0, web.errors.read_text()


# ---- who is answered ----------------------------------------------------------------------------

@pytest.mark.parametrize("path,headers,status", [
    ("/", {}, 200),
    ("/web.js", {}, 200),
    ("/", {"Host": "evil.example"}, 403),
    ("/", {"Host": "127.0.0.1.evil.example"}, 403),
    ("/api/v1/info", {}, 403),
    ("/api/v1/info", {"Authorization": "Bearer " + "0" * 32}, 403),
    ("/api/v1/info?token=" + "0" * 32, {}, 403),
    ("/api/v1/info", {"Authorization": "RIGHT"}, 200),
    ("/api/v1/info?token=RIGHT", {}, 200),
    ("/api/v1/info", {"Authorization": "RIGHT", "Host": "evil.example"}, 403),
    ("/api/v1/info", {"Authorization": "RIGHT", "Origin": "http://evil.example"}, 403),
    ("/api/v1/info", {"Authorization": "RIGHT", "Sec-Fetch-Site": "cross-site"}, 403),
    ("/api/v1/none", {"Authorization": "RIGHT"}, 404),
])
def test_only_who_knows_the_token_and_asks_for_this_host_is_answered(web, path, headers, status):
    headers = {key: value.replace("RIGHT", f"Bearer {web.token}") for key, value in headers.items()}
    answer = web.ask(path.replace("RIGHT", web.token), headers=headers, token=False)
    assert answer[0] == status, answer


def test_nothing_is_taken(web):
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        status, headers, _ = web.ask("/api/v1/info", verb=method)
        assert (status, headers["Allow"]) == (405, "GET, HEAD")


def test_the_page_may_run_its_own_files_only_and_data_nothing(web):
    policy = web.ask("/")[1]["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src 'self';" in policy and "unsafe" not in policy
    for name in ("info", "profile", "timeline"):
        headers = web.ask(f"/api/v1/{name}")[1]
        assert "sandbox allow-scripts" in headers["Content-Security-Policy"]
        assert "connect-src" not in headers["Content-Security-Policy"]
        assert (headers["X-Content-Type-Options"], headers["Referrer-Policy"]) == ("nosniff", "no-referrer")
        assert "Access-Control-Allow-Origin" not in headers


def test_a_socket_is_for_owner_and_group_and_wants_no_token(store, folder):
    path = Path(f"/tmp/jbpf-web-{os.getpid()}.sock")
    web = Web(store, folder, listen=f"unix:{path}")
    try:
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
        assert web.token == "" and web.json("info")["format"] == "jbpf-web-info"
        assert web.ask("/", headers={"Host": "evil.example"})[0] == 403
    finally:
        assert web.stop() == 0
        path.unlink(missing_ok=True)


# ---- what is answered ---------------------------------------------------------------------------

def test_the_time_line_has_every_sample_and_says_what_is_missing(web):
    line = web.json("timeline", step="10s", **RANGE)
    assert (line["format"], line["unit"], line["since"], line["step"], line["steps"]) == (
        "jbpf-timeline", "cores", START, 10, 4)
    values = {series["name"]: series["values"] for series in line["series"]}
    assert values == {"shop-1": [0.5, 1, None, 0.1], "cart-12": [0.1, 0, None, 0]}
    assert line["lost"] == [0, 7, 0, 0]
    burn = web.json("timeline", step="10s", method="a.B.burn", **RANGE)
    assert {series["name"]: series["values"] for series in burn["series"]} == {
        "shop-1": [0, 1, None, 0], "cart-12": [0, 0, None, 0]}
    one = web.json("timeline", step="10s", container="cart-*", by="service", **RANGE)
    assert [(series["name"], series["values"]) for series in one["series"]] == [("shop", [0.1, 0, None, 0])]


def test_a_time_line_of_waits_has_those_that_wait_for_work_if_asked(tmp_path):
    """Open and merged: 10 threads wait for work, 5 for a lock; 2 threads' worth of time waits for a CPU."""
    lock = "java;a.B.lock_[j];ObjectMonitor::enter;futex_[k]"
    pool = "java;java.util.concurrent.ThreadPoolExecutor.getTask_[j];java.util.concurrent.locks.LockSupport.park_[j];futex_[k]"
    script = "".join(
        f"window start={start} pid=42 duration=10 event=5 unit=1 period=100000000 frequency_hz=0 samples=1500 comm=java "
        f"container=shop-1 run_delay_ns=20000000000\n\tjava;[idle];a.B.sleep_[j];futex_[k] 400\n\t{lock} 500\n\t{pool} 600\n"
        f"window start={start} pid=42 duration=10 frequency_hz=100 samples=100 comm=java container=shop-1\n\tjava;a.B.run_[j] 100\n"
        f"window start={start} pid=0 duration=10 samples=100\nwindow start={start} pid=0 duration=10 event=5\ncommit\n"
        for start in (START, START + 10))
    web = Web(make_store(tmp_path / "store", script), tmp_path)
    wanted = {("off-cpu", "0"): 5, ("off-cpu", "1"): 15, ("lock", "0"): 5, ("lock", "1"): 11, ("wall", "0"): 0.1 + 5 + 2,
              ("wall", "1"): 0.1 + 15 + 2, ("cpu", "0"): 0.1, ("cpu", "1"): 0.1}
    try:
        for _ in ("open", "merged"):
            for (event, idle), amount in wanted.items():
                line = web.json("timeline", since=f"@{START}", until=f"@{START + 20}", step="10s", event=event, idle=idle)
                assert [series["values"] for series in line["series"]] == [[pytest.approx(amount)] * 2], (event, idle, line)
                assert line.get("is_without_idle", False) == (event != "cpu" and idle == "0"), line
            # Of one method: neither the pool's, nor what is in no stack.
            line = web.json("timeline", since=f"@{START}", until=f"@{START + 20}", step="10s", event="wall", method="a.B.lock")
            assert line["series"][0]["values"] == [5, 5], line
            subprocess.run([BIN / "jbpf", "store", "compact", "--store", tmp_path / "store"], check=True, stdout=subprocess.DEVNULL)
    finally:
        assert web.stop() == 0, web.errors.read_text()


@pytest.mark.parametrize("form", ["html", "folded", "svg", "top", "json", "pprof", "speedscope", "otlp"])
def test_a_profile_is_what_the_command_writes(web, store, form):
    wanted = subprocess.run([BIN / "jbpf-dump", "--store", store, "--since", RANGE["since"], "--until", RANGE["until"],
                             "--container", "shop-1", "--format", form], stdout=subprocess.PIPE, check=True).stdout
    assert web.api("profile", container="shop-1", format=form, **RANGE) == wanted


def test_a_comparison_is_what_the_command_writes(web, store):
    sides = {"before": f"@{START}..@{START + 10}", "after": f"@{START + 10}..@{START + 20}"}
    for form in ("html", "json", "top", "folded"):
        wanted = subprocess.run([BIN / "jbpf-diff", "--store", store, "--before", sides["before"], "--after",
                                 sides["after"], "--format", form], stdout=subprocess.PIPE, check=True).stdout
        assert web.api("diff", format=form, **sides) == wanted


def test_a_download_is_a_file(web):
    headers = web.ask("/api/v1/profile", format="pprof", download="1", **RANGE)[1]
    assert headers["Content-Disposition"] == 'attachment; filename="jbpf.pb.gz"'


@pytest.mark.parametrize("path,parameters,status,words", [
    ("profile", {"since": "yesterdax"}, 400, "yesterdax"),
    ("profile", {"output": "/tmp/x"}, 400, "no parameter 'output'"),
    ("profile", {"store": "/etc"}, 400, "no parameter 'store'"),
    ("profile", {"format": "exe"}, 400, "'exe'"),
    ("profile", {"since": "@1", "until": "@2"}, 404, "no samples match"),
    ("timeline", {"event": "page-faults"}, 404, "has none of page-faults"),
    ("timeline", {"since": "@1", "until": "@1700000000", "step": "1s"}, 400, "more than 2000 steps"),
    ("timeline", {"since": "@2", "until": "@1"}, 400, "before"),
    ("timeline", {"idle": "maybe"}, 400, "idle"),
    ("timeline", {"thread": "main"}, 400, "a time line has no stacks"),
    ("timeline", {"kind": "java"}, 400, "a time line has no stacks"),
    ("diff", {"before": "@1..@2"}, 400, "--after"),
    ("profile", {"container": "x" * 2000}, 400, "longer than 1024"),
])
def test_what_is_wrong_is_said_in_a_line(web, path, parameters, status, words):
    answer = web.ask(f"/api/v1/{path}", **parameters)
    assert answer[0] == status and words in answer[2].decode(), answer


# ---- what it may do -----------------------------------------------------------------------------

@pytest.mark.root
def test_the_server_may_read_the_store_and_nothing_else(web):
    for name in ("CapPrm", "CapEff", "CapAmb"):
        assert int(web.status_field(name)[0], 16) == 0, name
    assert web.status_field("NoNewPrivs") == ["1"] and web.status_field("Seccomp") == ["2"]
    # pytest's folders are root's alone: it must have said so.
    assert "only root may read the store" in web.errors.read_text()


@pytest.mark.root
def test_root_becomes_a_user_who_may_read_the_store(store, readable_folder):
    own = readable_folder / "store"
    shutil.copytree(store, own)
    for path in [own, *own.rglob("*")]:
        os.chown(path, 0, GROUP)
        path.chmod(0o750 if path.is_dir() else 0o640)
    web = Web(own, readable_folder)
    try:
        assert set(web.status_field("Uid")) == {"65534"} and set(web.status_field("Gid")) == {str(GROUP)}
        assert web.status_field("Groups") == []
        assert f"of group {GROUP}" in web.errors.read_text()
        assert web.api("profile", format="folded", **RANGE)
    finally:
        assert web.stop() == 0


@pytest.mark.parametrize("arguments,code,words", [
    (["--listen", "0.0.0.0:7099"], 2, "is not 127.0.0.1:PORT"),
    (["--store", "/nowhere"], 1, "there is no store in '/nowhere'"),
    (["--listen", "unix:/etc/passwd"], 1, "the path is taken by something that is no socket"),
])
def test_what_it_cannot_do_it_says_at_once(store, arguments, code, words):
    base = [] if "--store" in arguments else ["--store", store]
    result = jbpf("web", *base, *arguments)
    assert result.returncode == code and words in result.stderr and result.stderr.count("\n") == 1, result.stderr


def test_a_port_that_is_taken_is_named(web, store):
    result = jbpf("web", "--store", store, "--listen", web.listen)
    assert result.returncode == 1 and "is in use by another process" in result.stderr


# ---- others ---------------------------------------------------------------------------------------

def hold(web, text, cnt):
    held = []
    for _ in range(cnt):
        connection = socket.create_connection(("127.0.0.1", web.port), timeout=30)
        connection.sendall(text)
        held.append(connection)
    return held


def is_killed_before_it_answers(web):
    """It is short: killed when it is seen, it may have answered."""
    asking = web.asking("/api/v1/profile", **RANGE)
    while asking.is_alive():
        for pid in web.queries():
            with contextlib.suppress(ProcessLookupError):  # it has answered
                os.kill(pid, signal.SIGKILL)
    status, _, body = asking.answer()
    assert status == 200 or (status == 500 and b"Killed" in body), (status, body)
    return status == 500


def test_silent_clients_and_killed_queries_hold_up_nobody(store, folder):
    web = Web(store, folder)
    silent = hold(web, b"GET /api/v1/info HTTP/1.1\r\nHost: ", 100)
    try:
        assert web.json("info")["first"] == START
        assert web.ask("/")[0] == 200
        wait_until(lambda: is_killed_before_it_answers(web), 60, "a question was killed before it was answered")
        assert web.api("profile", format="folded", **RANGE)
    finally:
        for connection in silent:
            connection.close()
        assert web.stop() == 0


def test_clients_that_take_no_answer_hold_up_nobody(store, folder):
    web = Web(store, folder)
    held = hold(web, f"GET /uPlot.js HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\n\r\n".encode() * 20, 100)
    try:
        assert web.json("info")["first"] == START
        assert web.ask("/")[0] == 200
        assert web.api("profile", format="folded", **RANGE)
    finally:
        for connection in held:
            connection.close()
        assert web.stop() == 0


def test_a_store_that_is_merged_meanwhile_answers_the_same(folder):
    hours = range(START, START + 6 * 3600, 3600)
    own = make_store(folder / "merged", "".join(
        window(hour + 10 * i, f"shop-{i % 3}", 100 + i, f"work{i}") + "commit\n" for hour in hours for i in range(60)))
    web = Web(own, folder)
    whole = {"since": f"@{hours[0]}", "until": f"@{hours[-1] + 3600}"}
    def answers():
        return web.api("profile", format="folded", by="container", **whole), web.api("timeline", step="10m", **whole)
    try:
        wanted = answers()
        assert b"a.B.work59_[j]" in wanted[0]
        before = sum(path.stat().st_size for path in own.rglob("*.zst"))
        merging = subprocess.Popen([BIN / "jbpf-store", "compact", "--store", own], stdout=subprocess.DEVNULL)
        while merging.poll() is None:
            assert answers() == wanted
        assert merging.returncode == 0
        assert sum(path.stat().st_size for path in own.rglob("*.zst")) < before
        assert answers() == wanted
    finally:
        assert web.stop() == 0


def test_many_questions_are_answered_or_refused_each_with_a_status(web):
    answers = [one.answer() for one in [web.asking("/api/v1/profile", format="folded", **RANGE) for _ in range(60)]]
    statuses = [status for status, _, _ in answers]
    assert set(statuses) <= {200, 503}
    assert statuses.count(200) >= 24
    bodies = {body for status, _, body in answers if status == 200}
    assert len(bodies) == 1
    wait_until(lambda: not web.queries(), 30, "all questions have ended")
    assert web.api("info")


def state_of(pid):
    """X: it has gone."""
    try:
        return stat_fields(pid)[0]
    except OSError:
        return "X"


def is_stopped(pid):
    """Stops it, unless it ends before."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    return wait_until(lambda: state_of(pid) in "TZX" and state_of(pid), 30, f"{pid} is stopped, or has ended") == "T"


def others_are_answered_beside_one_that_is_stopped(web):
    """It is short: stopped when it is seen, it may have answered, and then nothing hung."""
    asking = web.asking("/api/v1/timeline", **RANGE)
    while asking.is_alive() and not web.queries():
        pass
    stopped = [pid for pid in web.queries() if is_stopped(pid)]
    for _ in range(5 if stopped else 0):
        assert web.api("profile", format="folded", **RANGE)
    hung = asking.is_alive() and any(state_of(pid) == "T" for pid in stopped)
    for pid in stopped:
        with contextlib.suppress(ProcessLookupError):  # it was ended as one that is late
            os.kill(pid, signal.SIGKILL)
    status, _, body = asking.answer()
    assert status == 500 if hung else status in (200, 500), (status, body)
    return hung


def test_a_query_that_hangs_holds_up_no_other(store, folder):
    """One that is stopped stands for one that hangs."""
    web = Web(store, folder)
    try:
        wait_until(lambda: others_are_answered_beside_one_that_is_stopped(web), 60, "a question was stopped before it was answered")
        wait_until(lambda: not web.queries(), 30, "all questions have ended")
    finally:
        assert web.stop() == 0
