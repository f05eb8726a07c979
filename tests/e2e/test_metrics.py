# SPDX-License-Identifier: Apache-2.0
"""Metrics of a running jbpfd, read by Prometheus's own parser, and what its server does about those
who are no Prometheus."""
import contextlib
import http.client
import json
import os
import re
import socket
import stat
import time
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from harness.ports import free_ports
from harness.processes import children, children_of, only_child
from harness.programs import BIN, PATIENCE, TOP, is_gone, jbpf, run, wait_until
from harness.unix_http import UnixConnection

PATH_MAX_BYTES = 107
NEAR_BYTES = 8 << 20
SILENT_SECONDS = 3  # a connection that says nothing may last as long


def get(path, url, method="GET", headers=None):
    connection = UnixConnection(path) if isinstance(path, Path) else http.client.HTTPConnection(*path, timeout=30 * PATIENCE)
    try:
        connection.request(method, url, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


def families(path):
    """By name without _total, as the parser has them."""
    def answer_now():
        answer = get(path, "/metrics")
        return answer if answer[0] != 503 else None  # try again: all of it is being written just now
    status, headers, text = wait_until(answer_now, 30, "metrics are served")
    assert status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4"), headers
    return {family.name: family for family in text_string_to_metric_families(text)}, text


def value(path, name, **labels):
    for sample in families(path)[0][name.removesuffix("_total")].samples:
        if sample.name == name and sample.labels == labels:
            return sample.value
    raise KeyError((name, labels))


def whole_maps(pid):
    """Empty of one that ends meanwhile: of that a part is read."""
    try:
        text = Path(f"/proc/{pid}/maps").read_text()
        return text if Path(f"/proc/{pid}/maps").read_text() else ""
    except OSError:
        return ""


@pytest.fixture(scope="module")
def served(module_daemon, tmp_path_factory):
    """A daemon that has written some windows, and its socket."""
    path = Path(f"/tmp/jbpf-metrics-{os.getpid()}.sock")
    assert len(str(path)) <= PATH_MAX_BYTES
    daemon = module_daemon("--metrics", f"unix:{path}", window="1s", name="metrics").start().wait_ready()
    wait_until(lambda: value(path, "jbpf_windows_written_total") >= 2 and value(path, "jbpf_samples_total") > 0,
               120, "windows with samples are written")
    yield daemon, path
    assert daemon.stop() == 0, daemon.log()


@pytest.mark.live
def test_prometheus_reads_every_metric_that_is_documented(served):
    _, path = served
    found, text = families(path)
    documented = re.findall(r"^\| `(\w+)` \| (\w+) \|", (TOP / "user/serve/METRICS.md").read_text(), re.M)
    assert {name.removesuffix("_total"): kind for name, kind in documented} == \
        {family.name: family.type for family in found.values()}
    names = [sample.name + json.dumps(sample.labels, sort_keys=True) for family in found.values() for sample in family.samples]
    assert len(names) == len(set(names)), "each sample once"
    assert "NaN" not in text and all(family.documentation for family in found.values())


@pytest.mark.live
def test_the_metrics_are_those_of_the_daemon_and_its_store(served):
    daemon, path = served
    namer = only_child(only_child(daemon.process.pid, "jbpfd-launcher"), "jbpfd-namer")

    def resident():
        return sum(int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()).group(1)) * 1024
                   for pid in (daemon.process.pid, namer))

    def is_resident():
        """What it says lies between two looks at it, or near them: it is read at another moment."""
        looks = [resident(), value(path, "process_resident_memory_bytes"), resident()]
        return min(looks[0], looks[2]) - NEAR_BYTES <= looks[1] <= max(looks[0], looks[2]) + NEAR_BYTES
    wait_until(is_resident, 30, "its memory is what the kernel says")
    assert value(path, "process_open_fds") > 5
    assert value(path, "process_cpu_seconds_total") > 0
    assert 0 < value(path, "jbpf_window_last_timestamp_seconds") - daemon.started < 3600
    assert value(path, "jbpf_bpf_map_bytes") > 1 << 20
    assert value(path, "jbpf_config_window_seconds") == 1
    unknown = value(path, "jbpf_unknown_frames_total")
    assert value(path, "jbpf_frames_total") >= unknown
    # Windows that end between the two readings count here and not there, or the other way round. One is in the store
    # before it is in the metrics: the last of those that were read is, once another one is.
    before = value(path, "jbpf_samples_total")
    stored = sum(stream["samples"] for stream in daemon.list_json())
    written = value(path, "jbpf_windows_written_total")
    wait_until(lambda: value(path, "jbpf_windows_written_total") > written, 60, "the next window is written")
    assert before <= stored <= value(path, "jbpf_samples_total") + value(path, "jbpf_lost_total", reason="store")


def state_lines(store):
    """Without the line of its own."""
    return (store / "state").read_text().splitlines()[1:]


@pytest.mark.live
def test_the_state_beside_the_profiles_has_the_metrics_that_are_served(served):
    daemon, path = served

    def are_the_same():
        before, text, after = state_lines(daemon.store), families(path)[1], state_lines(daemon.store)
        return before == after == [line for line in text.splitlines() if not line.startswith("#")]
    wait_until(are_the_same, 60, "no window ends meanwhile")


@pytest.mark.live
def test_the_state_beside_the_profiles_follows_the_windows(daemon, spinner):
    """Also when metrics are not served, and for who may read the store."""
    spinner("native_spinner", 600, 20)
    started = daemon(window="1s").start().wait_ready()

    def said():
        result = jbpf("status", "--store", started.store, "--json")
        return json.loads(result.stdout)["jbpfd"] if result.returncode == 0 else {}

    def windows_are(number):
        return lambda: said().get("windows_written", 0) >= number
    wait_until(windows_are(2), 120, lambda: f"it says that windows are written; log: {started.log()}")
    wait_until(windows_are(said()["windows_written"] + 2), 60, lambda: f"more of them; log: {started.log()}")
    wait_until(lambda: said().get("runs") == 1, 60, "it says so often enough")
    version = run(BIN / "jbpfd", "--version").stdout.split()[-1]
    assert said()["jbpfd_version"] == version
    assert f"\njbpfd: {version}, started " in started.status("--all")
    state, lock = (started.store / "state").stat(), (started.store / "v1/.lock").stat()
    assert (state.st_mode, state.st_uid, state.st_gid) == (stat.S_IFREG | 0o640, lock.st_uid, lock.st_gid)
    os.kill(started.process.pid, 9)
    started.process.wait()
    last = said()
    assert last["windows_written"] >= 4, "what it said last"
    started.start()
    wait_until(lambda: said()["started"] != last["started"], 60, "another one runs")
    assert started.stop() == 0, started.log()
    assert said() is None and "\njbpfd:" not in started.status("--all"), "it has ended in order"


@pytest.mark.live
def test_health_is_told_by_a_status(served):
    _, path = served
    # Of a busy host a window may be late, which is told by another one.
    wait_until(lambda: get(path, "/healthz")[0::2] == (200, "ok\n"), 30, "it is well")
    wait_until(lambda: get(path, "/healthz", method="HEAD")[0::2] == (200, ""), 30, "it says so without a word")


@pytest.mark.live
@pytest.mark.parametrize("url, method, status", [("/", "GET", 404), ("/metrics/", "GET", 404), ("/metrics", "POST", 405),
                                                 ("/../etc/passwd", "GET", 404), ("/healthz", "DELETE", 405)])
def test_nothing_else_is_served(served, url, method, status):
    assert get(served[1], url, method=method)[0] == status


@pytest.mark.live
def test_the_socket_is_for_owner_and_group(served):
    mode = served[1].stat().st_mode
    assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o660


@pytest.mark.live
def test_who_answers_has_no_rights(served):
    daemon, _ = served
    child = only_child(daemon.process.pid, "jbpfd-metrics")
    status = dict(re.findall(r"^(\w+):\s*(.*)$", Path(f"/proc/{child}/status").read_text(), re.M))
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16}
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    files = []
    for number in os.listdir(f"/proc/{child}/fd"):
        with contextlib.suppress(FileNotFoundError):  # a connection that is closed meanwhile
            files.append(os.readlink(f"/proc/{child}/fd/{number}"))
    assert not [name for name in files if "bpf" in name and "memfd" not in name or "perf" in name or ".zst" in name], files


@pytest.mark.live
def test_garbage_and_too_much_of_it_are_survived(served):
    daemon, path = served
    child = only_child(daemon.process.pid, "jbpfd-metrics")
    for request in (b"\0\xff\n\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /metrics", b"A" * 100000,
                    b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 100000 + b"\r\n\r\n"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(30 * PATIENCE)
            connection.connect(str(path))
            try:
                connection.sendall(request)
            except OSError:
                pass  # it did not want to hear the rest
    assert families(path)[0]
    assert only_child(daemon.process.pid, "jbpfd-metrics") == child


@pytest.mark.live
def test_connections_that_say_little_do_not_keep_others_out(served):
    """All places taken by clients that send a byte a second: they are put out after a while."""
    _, path = served
    slow = []
    try:
        for _ in range(40):
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.setblocking(False)
            try:
                connection.connect(str(path))
            except BlockingIOError:
                connection.close()
                break  # the backlog is full
            slow.append(connection)
        begin = time.monotonic()
        answered = []

        def is_answered():
            for connection in slow:
                try:
                    connection.send(b"G")
                except OSError:
                    pass
            try:
                answered.append(get(path, "/healthz")[0])
            except (OSError, http.client.HTTPException):
                return False
            return answered[-1] == 200
        wait_until(is_answered, 90, "the slow ones are put out")
        print(f"answered after {time.monotonic() - begin:.1f} s among {len(slow)} slow ones")
    finally:
        for connection in slow:
            connection.close()


@pytest.mark.live
def test_a_server_that_dies_is_started_again(served):
    daemon, path = served
    first = only_child(daemon.process.pid, "jbpfd-metrics")
    os.kill(first, 9)
    wait_until(lambda: children(daemon.process.pid, "jbpfd-metrics") not in ([], [first]), 60, "another one serves")
    wait_until(lambda: value(path, "jbpf_metrics_restarts_total") >= 1, 60, "it is counted")
    assert daemon.log().count("it is started again") == 1, daemon.log()


def descendants(pid):
    found = [pid]
    for parent in found:
        found += children_of(parent)
    return found


@pytest.mark.live
def test_only_a_daemon_that_serves_metrics_loads_what_serves_them(daemon, served):
    """It brings GnuTLS along, and its tables into each process."""
    quiet = daemon(window="1s").start().wait_ready()
    for started, serves in ((quiet, False), (served[0], True)):
        for pid in descendants(started.process.pid):
            maps = whole_maps(pid)
            assert not maps or ("libmicrohttpd" in maps, "libgnutls" in maps) == (serves, serves), maps


@pytest.mark.live
def test_a_port_answers_only_to_who_asks_for_this_host(daemon):
    [port] = free_ports(1)
    started = daemon("--metrics", f"127.0.0.1:{port}", window="1s").start().wait_ready()
    place = ("127.0.0.1", port)
    assert families(place)[0]
    assert get(place, "/metrics", headers={"Host": "localhost"})[0] in (200, 503)
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example"):
        assert get(place, "/metrics", headers={"Host": host})[0] == 403
    child = only_child(started.process.pid, "jbpfd-metrics")
    started.process.kill()
    wait_until(lambda: is_gone(child), 30, "it ends with its daemon")


@pytest.mark.parametrize("address", ["0.0.0.0:9464", "192.0.2.1:9464", "unix:relative", "9464"])
def test_what_others_could_read_is_refused(tmp_path, address):
    result = run(BIN / "jbpfd", "--store", tmp_path / "store", "--metrics", address)
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert address in result.stderr and "127.0.0.1:PORT" in result.stderr and "only this host" in result.stderr


def test_a_path_that_is_taken_is_refused(tmp_path):
    path = tmp_path / "file"
    path.write_text("precious")
    result = run(BIN / "jbpfd", "--store", tmp_path / "store", "--metrics", f"unix:{path}")
    assert result.returncode == 1 and "taken by something that is no socket" in result.stderr
    assert path.read_text() == "precious"
    assert jbpf("status", "--store", tmp_path / "store").returncode in (1, 3)


@pytest.mark.live
def test_who_connects_to_a_port_at_once_and_says_nothing_does_not_keep_others_out(daemon):
    """More connections that never send a request than there are places (128), and a question behind them, again and
    again: each is answered, and sooner or later one before the time of any of them is over, which are put out for it."""
    [port] = free_ports(1)
    daemon("--metrics", f"127.0.0.1:{port}", window="1s").start().wait_ready()
    silent = []

    def is_prompt():
        """Whether a question was answered before the first of the silent ones was out of time."""
        while silent:
            silent.pop().close()
        begin = time.monotonic()
        silent.extend(socket.create_connection(("127.0.0.1", port), timeout=60 * PATIENCE) for _ in range(200))
        asked = time.monotonic()
        try:
            assert get(("127.0.0.1", port), "/healthz")[0] in (200, 503)
        except (OSError, http.client.HTTPException):
            # Between connecting and asking this test itself was silent for so long.
            assert time.monotonic() - asked >= SILENT_SECONDS
        return time.monotonic() - begin < SILENT_SECONDS
    try:
        for _ in range(5):
            wait_until(is_prompt, 60, "a question is answered before silent connections are out of time")
    finally:
        for connection in silent:
            connection.close()
