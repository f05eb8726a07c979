# SPDX-License-Identifier: Apache-2.0
"""jbpf web --from: the page of what many hosts have sent to ClickHouse. Debian's server; no containers."""
import os
import signal
from pathlib import Path

import pytest

from harness.clickhouse import ClickHouse
from harness.programs import PATIENCE, jbpf
from harness.store import make_store
from harness.web import Web
from test_from_clickhouse import SIDES, START, load, script

RANGE = {"since": f"@{START}", "until": f"@{START + 5400}"}
BETWEEN = {"before": SIDES[1], "after": SIDES[3], "service": "shop"}
PASSWORD = "r3ad"  # of the harness's user "reader"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("web-from")


@pytest.fixture(scope="module")
def server(folder):
    with ClickHouse(folder / "clickhouse") as running:
        yield running


@pytest.fixture(scope="module")
def store(folder):
    """Merged, so that what is sent are its minutes."""
    made = make_store(folder / "store", script())
    assert jbpf("store", "compact", "--store", made).returncode == 0
    return made


@pytest.fixture(scope="module")
def url(server, store, folder):
    """As a reader, with a password in a file that nobody else may read."""
    load(store, server, "profiles")
    return reader(server, folder)


def reader(server, folder, password=PASSWORD, database="profiles"):
    file = Path(folder) / f"password-{password}"
    file.write_text(f"{password}\n")
    file.chmod(0o600)
    return server.url(database, "reader", f"&password_file={file}")


@pytest.fixture(scope="module")
def web(url, folder):
    web = Web(url, folder, source="--from")
    yield web
    assert web.stop() == 0, web.errors.read_text()


@pytest.fixture(scope="module")
def local(store, tmp_path_factory):
    web = Web(store, tmp_path_factory.mktemp("local"))
    yield web
    assert web.stop() == 0, web.errors.read_text()


def options(parameters):
    return [f"--{key}={value}" for key, value in parameters.items()]


# ---- what is answered ---------------------------------------------------------------------------

@pytest.mark.parametrize("parameters", [
    {}, {"by": "host"}, {"by": "service", "step": "60s"}, {"event": "off-cpu"}, {"event": "off-cpu", "idle": "1"}, {"event": "wall"},
    {"method": "a.B.run"}, {"service": "shop"}, {"container": "!c-40", "by": "none"}, {"service": "none-such"}], ids=str)
def test_a_time_line_is_that_of_the_store(web, local, parameters):
    assert web.api("timeline", **RANGE, **parameters) == local.api("timeline", **RANGE, **parameters)


@pytest.mark.parametrize("form", ["html", "folded", "svg", "top", "json", "pprof", "speedscope", "otlp"])
def test_a_profile_is_that_of_the_command_and_of_the_store(web, local, url, tmp_path, form):
    selected = {"format": form, "service": "shop", **RANGE}
    assert jbpf("dump", "--from", url, *options(selected), "-o", tmp_path / "out").returncode == 0
    assert web.api("profile", **selected) == local.api("profile", **selected) == (tmp_path / "out").read_bytes()


@pytest.mark.parametrize("form", ["html", "folded", "top", "json"])
def test_a_comparison_is_that_of_the_command(web, url, tmp_path, form):
    assert jbpf("diff", "--from", url, *options(BETWEEN), "--format", form, "-o", tmp_path / "out").returncode == 0
    assert web.api("diff", format=form, **BETWEEN) == (tmp_path / "out").read_bytes()


def test_the_page_learns_what_there_is(web, local, server):
    info, known = web.json("info"), local.json("info")
    assert [info[name] for name in ("events", "first", "last")] == [known[name] for name in ("events", "first", "last")]
    assert info["from"] == f"clickhouse://reader@127.0.0.1:{server.port}/profiles?tls=off&password_file=FILE"
    assert "store" not in info, "the names of files of this host are nobody's business"


def test_of_what_runs_it_says_that_nothing_is_told(web):
    answer = web.json("running", since="10m", step="10s")
    assert answer["why"] == "only what hosts have sent is shown, some minutes after it was" and "until" not in answer


def test_refusals_are_those_of_the_command(web, url):
    for parameters, status in (({**RANGE, "service": "shpo"}, 404), ({"since": "@1", "until": "@2"}, 404), ({"since": "x"}, 400)):
        said = jbpf("dump", "--from", url, *options(parameters)).stderr
        answer = web.ask("/api/v1/profile", **parameters)
        assert (answer[0], answer[2].decode()) == (status, said)
    for parameters in ({"from": "clickhouse://127.0.0.1/x"}, {"store": "/"}, {"output": "/tmp/x"}):
        assert web.ask("/api/v1/profile", **parameters)[0] == 400


# ---- who may do what ----------------------------------------------------------------------------

def memory_of(pid):
    """All that it may write to."""
    text = b""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            where, rights = line.split()[:2]
            if "w" in rights:
                begin, end = (int(number, 16) for number in where.split("-"))
                memory.seek(begin)
                text += memory.read(end - begin)
    return text


def sockets_of(pid):
    links = [os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()]
    return {link[len("socket:["):-1] for link in links if link.startswith("socket:[")}


@pytest.mark.released  # it reads all memory, of which a sanitized process has terabytes
def test_the_server_has_neither_password_nor_connection(server, store, tmp_path_factory):
    """The password is one that occurs nowhere else."""
    folder, password = tmp_path_factory.mktemp("secret"), "Zq8vK2mWx7"
    users = server.folder / "users.xml"
    before = users.read_text()
    load(store, server, "secret")
    users.write_text(before.replace(f"<password>{PASSWORD}</password>", f"<password>{password}</password>"))
    try:
        server.stop()
        server.start()
        web = Web(reader(server, folder, password, "secret"), folder, source="--from")
        try:
            assert web.api("profile", format="folded", **RANGE)
            for name in ("CapPrm", "CapEff", "CapAmb"):
                assert int(web.status_field(name)[0], 16) == 0, name
            assert web.status_field("NoNewPrivs") == ["1"] and web.status_field("Seccomp") == ["2"]
            assert password.encode() not in memory_of(web.process.pid).replace(f"password-{password}".encode(), b"")
            [engine] = web.queries()
            assert Path(f"/proc/{engine}/comm").read_text() == "jbpf-web-engine\n"
            remote = {line.split()[9] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
                      if line.split()[2].endswith(f":{server.port:04X}")}
            assert not sockets_of(web.process.pid) & remote
        finally:
            assert web.stop() == 0
    finally:
        users.write_text(before)
        server.stop()
        server.start()


@pytest.mark.root
def test_started_by_root_both_are_nobody(web):
    assert set(web.status_field("Uid")) == {"65534"}
    [engine] = web.queries()
    lines = Path(f"/proc/{engine}/status").read_text().splitlines()
    fields = {line.split(":")[0]: line.split()[1:] for line in lines}
    assert set(fields["Uid"]) == set(fields["Gid"]) == {"65534"} and "Groups" in fields and fields["Groups"] == []
    assert int(fields["CapEff"][0], 16) == 0 and fields["Seccomp"] == ["2"]


# ---- what goes wrong ----------------------------------------------------------------------------

def test_what_it_cannot_do_it_says_at_once_in_one_line(server, store, url, folder):
    server.make_database("empty")
    assert jbpf("push", "--init", server.url("empty")).returncode == 0
    server.make_database("other")
    assert jbpf("push", "--init", server.url("other")).returncode == 0
    server.query("INSERT INTO jbpf_schema (version) VALUES (9)", "other")
    for arguments, code, words in (
            (["--from", reader(server, folder, "wrong")], 1, "reader"),
            (["--from", server.url("nothing")], 1, "nothing"),
            (["--from", server.url("empty")], 1, "has no samples yet"),
            (["--from", server.url("other")], 1, "version 9"),
            (["--from", url.replace(f":{server.port}", ":1")], 1, "127.0.0.1:1"),
            (["--from", server.url("profiles", "reader", "&password_file=/nowhere")], 1, "/nowhere"),
            (["--from", "clickhouse://reader:secret@h/d"], 1, "password_file=FILE"),
            (["--from", "http://h"], 2, "is not a URL"),
            (["--from", url, "--store", store], 2, "does not go with --store")):
        result = jbpf("web", *arguments, timeout=60 * PATIENCE)
        assert result.returncode == code and words in result.stderr and result.stderr.count("\n") == 1, (arguments, result.stderr)
        assert result.stdout == ""


def test_a_server_that_is_away_costs_answers_until_it_is_back(web, server):
    server.stop()
    try:
        for question in (("info", {}), ("timeline", RANGE), ("profile", RANGE), ("diff", BETWEEN)):
            status, _, body = web.ask(f"/api/v1/{question[0]}", **question[1])
            assert status == 500 and str(server.port) in body.decode() and body.count(b"\n") == 1, body
    finally:
        server.start()
    assert web.api("timeline", **RANGE)


def test_a_limit_of_the_server_is_told(server, url, tmp_path):
    users = server.folder / "users.xml"
    before = users.read_text()
    web = Web(url, tmp_path, source="--from")
    limited = before.replace("<reader>", "<reader><max_rows_to_read>50</max_rows_to_read>", 1)
    try:
        server.stop()
        users.write_text(limited)
        server.start()
        status, _, body = web.ask("/api/v1/timeline", **RANGE)
        assert status == 500 and b"code 158" in body and body.count(b"\n") == 1, body
    finally:
        assert web.stop() == 0
        users.write_text(before)
        server.stop()
        server.start()


def test_it_ends_when_the_process_that_reaches_the_server_has_ended(url, tmp_path):
    web = Web(url, tmp_path, source="--from")
    [engine] = web.queries()
    os.kill(engine, signal.SIGKILL)
    assert web.process.wait(timeout=30 * PATIENCE) == 1
    assert "the process that reaches the server has ended" in web.errors.read_text()


# ---- in a browser -------------------------------------------------------------------------------

def test_the_page_names_the_server_and_how_to_ask_it(browser, web, server):
    from test_web_page import Page  # selenium need not be there for the other tests
    page = Page(browser, web)
    page.open(f"range={START}..{START + 4200}&by=host")
    assert browser.text("host") == f"127.0.0.1:{server.port}/profiles"
    command = browser.js("return document.getElementById('command').value")
    assert f"--from 'clickhouse://reader@127.0.0.1:{server.port}/profiles?tls=off&password_file=FILE'" in command
    assert "alpha" in browser.text("legend"), "the list of hosts"
    assert browser.js("return document.querySelector('#picture iframe') !== null") and not browser.text("message")
    # The hour that is now has no samples here, which the server says with a status that the console mentions.
    assert not browser.console()
    browser.press("live")
    browser.wait(lambda: browser.text("age").startswith("Only what hosts have sent is shown, some minutes after it was."))
