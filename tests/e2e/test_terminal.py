# SPDX-License-Identifier: Apache-2.0
"""jbpf dump and jbpf status in a terminal: what is longer than it is paged, what is wider is made to fit. Pipes get
all of it, byte for byte. No BPF, no containers."""
import os

import pytest

from harness.programs import BIN, jbpf, run
from harness.recent import demand_recent, some_seconds_ago
from harness.store import make_store
from harness.terminal import Terminal

START = 1700000000
PLAIN = {"PAGER": None, "LESS": None, "COLUMNS": None, "SUDO_UID": None}  # whatever runs the tests has set


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """100 methods, the hottest first."""
    stacks = "\n".join(f"\tjava;com.acme.Shop.method{i:02}_[j] {200 - i}" for i in range(100))
    samples = sum(200 - i for i in range(100))
    return make_store(tmp_path_factory.mktemp("known") / "store", f"""
window start={START} pid=42 samples={samples} frames={2 * samples} comm=java container=shop-1
{stacks}
window start={START} samples={samples}
commit
""")


@pytest.fixture
def terminal():
    opened = []

    def start(*command, environment=None, **settings):
        opened.append(Terminal([BIN / command[0], *command[1:]], environment={**PLAIN, **(environment or {})}, **settings))
        return opened[-1]
    yield start
    for one in opened:
        one.close()


def top(store, *options):
    return ["jbpf-dump", "--store", store, "--since", f"@{START}", "--until", f"@{START + 10}", "--format", "top", "-n", "0",
            *options]


def test_less_shows_a_long_table_page_by_page(store, terminal):
    shown = terminal(*top(store), lines=24)
    shown.wait(lambda text: "method00" in text and "method30" not in text, "the first page is shown")
    shown.press(" ")
    shown.wait(lambda text: "method30" in text and "method00" not in text, "the second page is shown")
    shown.press("q")
    assert shown.wait_end() == 0
    assert b"method99" not in shown.output


def test_what_fits_is_written_and_the_command_ends(store, terminal):
    shown = terminal(*top(store)[:-1], "5", lines=24)
    assert shown.wait_end() == 0
    assert "method04" in shown.text() and "95 more methods not shown" not in shown.text()
    assert "96 more methods not shown" in shown.text()


@pytest.mark.parametrize("options, environment", [
    (["--no-pager"], {}),
    ([], {"PAGER": "cat"}),
    ([], {"TERM": "dumb"}),
], ids=["option", "cat", "dumb"])
def test_all_is_written_at_once_when_no_pager_is_wanted(store, terminal, options, environment):
    shown = terminal(*top(store, *options), lines=24, environment=environment)
    assert shown.wait_end() == 0
    assert b"method00" in shown.output and b"method99" in shown.output


def test_control_c_is_the_pagers(store, terminal):
    shown = terminal(*top(store), lines=24)
    shown.wait(lambda text: "method00" in text, "the first page is shown")
    shown.press("Ctrl-C")

    def has_turned(text):
        # less drops keys that come before it has taken Ctrl-C.
        if "method00" in text:
            shown.press(" ")
        return "method00" not in text
    shown.wait(has_turned, "another page is shown")
    shown.press("q")
    assert shown.wait_end() == 0


def test_the_pager_of_the_environment_gets_the_whole_text(store, terminal, tmp_path):
    got = tmp_path / "got"
    shown = terminal(*top(store), lines=24, environment={"PAGER": f"tee {got}"})
    assert shown.wait_end() == 0
    assert got.read_text() == run(BIN / "jbpf-dump", *top(store)[1:]).stdout


def test_a_pager_that_is_not_there_costs_a_line(store, terminal):
    shown = terminal(*top(store), lines=24, environment={"PAGER": "/no/such/pager"})
    assert shown.wait_end() == 0
    assert b"the pager '/no/such/pager' cannot be run; set PAGER to another one, or to cat" in shown.output
    assert b"method00" in shown.output and b"method99" in shown.output


@pytest.mark.root
def test_less_runs_no_command_as_root_and_the_pager_of_a_sudo_user_does_not_count(store, terminal, tmp_path):
    shown = terminal(*top(store), lines=24, environment={"SUDO_UID": "1000", "PAGER": f"touch {tmp_path}/pager; cat"})
    shown.wait(lambda text: "method00" in text, "less shows the first page")
    shown.press("!", f"touch {tmp_path}/shell", "Enter", "Enter")
    shown.press("q", "q")
    assert shown.wait_end() == 0
    assert not list(tmp_path.iterdir())


def test_pipes_get_what_they_got(store):
    plain = run(BIN / "jbpf-dump", *top(store)[1:])
    other = run(BIN / "jbpf-dump", *top(store)[1:], env={**os.environ, "COLUMNS": "20", "PAGER": "false"})
    assert (plain.returncode, plain.stdout.count("\n")) == (0, 107)
    assert (other.returncode, other.stdout) == (0, plain.stdout)


def test_status_is_paged_too(terminal, tmp_path):
    begin = some_seconds_ago()
    windows = "\n".join(f"window start={begin} pid={pid} samples=1 frames=1 comm=java container=shop-{pid}\n\tjava 1"
                        for pid in range(100, 160))
    store = make_store(tmp_path / "store", f"{windows}\nwindow start={begin} samples=60\ncommit\n")
    shown = terminal("jbpf-status", "--store", store, lines=24)
    shown.wait(lambda text: "shop-100" in text, "the first page is shown")
    shown.press("G")
    shown.wait(lambda text: "lost on this host" in text, "the end is shown")
    shown.press("q")
    assert shown.wait_end() == 0
    text = jbpf("status", "--store", store).stdout
    demand_recent(begin)
    assert text.count("shop-") == 60


LONG = "com.acme." + 6 * "a.package.without.end." + "Shop.checkout"
CONTAINER = "shop-" + 8 * "in-the-middle-" + "1"


@pytest.fixture
def wide_store(tmp_path):
    """Of now, as status looks at the last minute, for each test anew; the names are longer than a terminal is wide."""
    begin = some_seconds_ago()
    folder = make_store(tmp_path / "store", f"""
window start={begin} pid=42 samples=10 frames=20 comm=java container={CONTAINER} \
pod=shop-checkout-5d8f7b9c4-x2x4z host=node-7 service=shop jvm_version=17.0.15 is_jvm=1 preserve_frame_pointer=2 jit_source=2 \
jit_age_ms=3000 jit_frames=10 inlined_frames=5
	java;{LONG}_[j] 10
	@{LONG}_[j];Shop.java:42 10
window start={begin} samples=10
commit
""")
    return folder, begin


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("command", [
    ["dump", "--format", "top"],
    ["dump", "--format", "top", "--lines"],
    ["dump", "--format", "top", "--callers", LONG],
    ["dump", "--format", "top", "--by", "container", "--by", "pod"],
    ["dump", "--list"],
    ["status"],
    ["top"],
], ids=lambda command: "_".join(command[:4]))
def test_tables_fit_the_terminal_and_pipes_have_the_whole_names(wide_store, terminal, command, columns):
    store, begin = wide_store
    times = {"dump": ["--since", f"@{begin}", "--until", f"@{begin + 10}"], "top": ["--since", f"@{begin}"], "status": []}
    words = ["--store", store, *times[command[0]], *command[1:]]
    shown = terminal(f"jbpf-{command[0]}", *words, columns=columns, lines=50)
    code, whole = shown.wait_end(), run(BIN / f"jbpf-{command[0]}", *words).stdout
    if not times[command[0]]:
        demand_recent(begin)
    assert code == 0
    lines = [line.rstrip() for line in shown.output.decode().split("\r\n")]
    table = [line for line in lines if "\u2026" in line]
    assert table and max(map(len, table)) <= columns, lines
    assert "\u2026" not in whole and (LONG in whole or CONTAINER in whole)


def test_what_has_no_room_is_named(wide_store, terminal):
    store, begin = wide_store
    shown = terminal("jbpf-dump", "--store", store, "--since", f"@{begin}", "--list", columns=80)
    assert shown.wait_end() == 0
    assert "no room here for FIRST, LAST, UNKNOWN%, SYMBOLS" in shown.text()
    shown = terminal("jbpf-dump", "--store", store, "--since", f"@{begin}", "--list", columns=80,
                     environment={"COLUMNS": "300"})
    assert shown.wait_end() == 0
    assert b"no room here" not in shown.output and b"SYMBOLS" in shown.output
