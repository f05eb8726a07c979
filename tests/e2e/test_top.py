# SPDX-License-Identifier: Apache-2.0
"""jbpf top in a terminal: what is on the screen, and what is left of it afterwards."""
import os
import re
import signal
import time

import pytest

from harness.containers import java
from harness.processes import children_of
from harness.programs import BIN, is_gone, jbpf, lines_of, run, wait_until
from harness.recent import some_seconds_ago
from harness.store import make_store
from harness.terminal import Terminal

TOP = [BIN / "jbpf", "top"]
HOT = "Shares.seventy"  # 70 % of what the container does
HEAD_LINES = 4


@pytest.fixture(scope="module")
def container(engine):
    """Keeps a core busy."""
    return engine.start_ready("top", java("Shares", 600, 40), "TRUTH")


@pytest.fixture(scope="module")
def recording(container, module_daemon):
    """A daemon that has named most of what the container does, and knows its JVM."""
    daemon = module_daemon("--event", "cpu,page-faults", window="2s").start().wait_ready()
    def is_known():
        """Of the first windows some samples may have no names: they must have become few."""
        if not daemon.has("--pid", container.pid):
            return False
        found = daemon.dump("--pid", container.pid)
        version = daemon.status_json().get(container.pid, {}).get("jvm_version") or ""
        return found.with_frame(HOT) >= max(100, 0.55 * found.total) and version.startswith("17.0")
    wait_until(is_known, 300, lambda: f"its methods and version are known; log: {daemon.log()}")
    return daemon


@pytest.fixture
def terminal():
    """Opens terminals; ends what still runs in them."""
    opened = []

    def start(*options, **settings):
        opened.append(Terminal([*TOP, *options], **settings))
        return opened[-1]
    yield start
    for one in opened:
        one.close()


def line_of(text, word):
    """The lines of the page that have the word; the head is above them."""
    return [line for line in text.split("\n")[HEAD_LINES:] if word in line]


def first_name(text):
    return text.split("\n")[HEAD_LINES]


def in_list(container):
    return lambda text: line_of(text, container.name)


def is_busy(row):
    """Of a busy host a container may get too little CPU in two seconds to be sampled."""
    return float(row.split()[0]) > 0


def ended(top, code=0):
    assert top.wait_end() == code
    assert top.is_restored(), top.output[-300:]


# ---- from a store ----

@pytest.mark.live
def test_containers_stand_with_their_cores_and_enter_shows_the_hot_method(recording, container, terminal):
    top = terminal("--store", recording.store, columns=150)
    text = top.wait(lambda text: any(map(is_busy, line_of(text, container.name))), "the container is in the list")
    assert re.search(r"cpu: [\d.]+ of \d+ cores? \(.*\)  \d+ s until \d\d:\d\d:\d\d UTC", text.split("\n")[0]), text
    assert f"store {recording.store}"[:20] in text.split("\n")[0], text
    row, = line_of(text, container.name)
    assert "17.0" in row, row
    # Other containers of the host may do more.
    top.press("/", container.name, "Enter")
    top.wait(lambda text: container.name in first_name(text), "the container is the first that passes the filter")
    top.press("Enter")
    text = top.wait(lambda text: HOT in first_name(text), "its hottest method is the first")
    assert container.name in text.split("\n")[1] and "Java 17.0" in text.split("\n")[1], text
    assert "frame pointers on" in text.split("\n")[1], text
    top.press("Enter")
    top.wait(lambda text: f"CALLERS OF {HOT}" in text and line_of(text, "Shares.main"), "the callers of the method")
    top.press("Esc", "Tab")
    text = top.wait(lambda text: "THREADS" in text and re.search(r" java$", first_name(text)), "the busy thread is the first")
    top.press("Enter")
    text = top.wait(lambda text: HOT in first_name(text), "its hottest method")
    assert "thread java" in text.split("\n")[1], text
    top.press("Tab")
    top.wait(lambda text: "CALLS, FROM THE TOP DOWN" in text and line_of(text, HOT), "its calls")
    top.press("q")
    ended(top)


@pytest.mark.live
def test_a_selector_that_fits_one_container_begins_inside(recording, container, terminal):
    top = terminal("--store", recording.store, "--container", container.name)
    top.wait(lambda text: HOT in first_name(text), "the hottest method is the first")
    top.press("Esc")
    top.wait(lambda text: [container.name in line for line in text.split("\n")[HEAD_LINES:-1] if line] == [True],
             "the list has it alone")
    top.press("q")
    ended(top)


@pytest.mark.live
@pytest.mark.parametrize("columns", [40, 200])
def test_the_screen_fits_its_width_and_follows_when_it_changes(recording, container, terminal, columns):
    top = terminal("--store", recording.store, columns=columns, lines=20)
    text = top.wait(lambda text: "CORES" in text and "q quit" in text, "a page")
    # HOTTEST METHOD, or HOTTEST UNTIL the end of a window when the one that runs is told of already.
    assert ("LAST MINUTE" in text) == ("HOTTEST " in text) == (columns == 200), text
    assert text.split("\n")[-1].startswith("q quit"), "the keys stand in the last line"
    top.resize(110, 35)
    text = top.wait(lambda text: text.split("\n")[-1].startswith("q quit") and "HOTTEST " in text,
                    "the page has the new size")
    assert len(text.split("\n")) == 35
    top.press("q")
    ended(top)


@pytest.mark.live
def test_colors_are_off_with_no_color_and_on_without(recording, container, terminal):
    plain = terminal("--store", recording.store, environment={"NO_COLOR": "1"}, columns=150)
    plain.wait(in_list(container), "the list")
    plain.press("q")
    ended(plain)
    assert not plain.has_colors()
    colored = terminal("--store", recording.store, environment={"NO_COLOR": None}, columns=150)
    colored.wait(in_list(container), "the list")
    colored.press("q")
    ended(colored)
    assert colored.has_colors()


@pytest.mark.live
def test_pause_keeps_the_screen_and_the_event_switches(recording, container, terminal):
    top = terminal("--store", recording.store, columns=150)
    top.wait(in_list(container), "the list")
    top.press("p")
    top.wait(lambda text: text.startswith("PAUSED"), "it pauses")
    shown = re.search(r"until (\S+)", top.text()).group(1)
    began = recording.stored_until()
    wait_until(lambda: recording.windows()[-1][0] >= began, 60, lambda: f"another window; log: {recording.log()}")
    time.sleep(1.5)  # by construction: what must not change may be looked at at any time; this is a look at the store
    assert re.search(r"until (\S+)", top.text()).group(1) == shown
    top.press("p")
    top.wait(lambda text: not text.startswith("PAUSED") and
             re.search(r"until (\S+)", text).group(1) != shown, "it goes on")
    top.press("e")
    top.wait(lambda text: text.startswith("page-faults: ") and "page faults/s" in text and "PER SEC" in text, "page faults")
    top.press("e")
    top.wait(lambda text: text.startswith("cpu: ") and line_of(text, container.name), "CPU time again")
    top.press("q")
    ended(top)


@pytest.mark.live
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_restores_the_terminal(recording, container, terminal, number):
    top = terminal("--store", recording.store, columns=150)
    top.wait(in_list(container), "the list")
    top.process.send_signal(number)
    ended(top)


@pytest.mark.live
def test_control_c_ends_it(recording, container, terminal):
    top = terminal("--store", recording.store)
    top.wait(in_list(container), "the list")
    top.press("Ctrl-C")
    ended(top)


@pytest.mark.live
def test_once_is_plain_text_without_a_terminal(recording, container):
    def has_row(options):
        result = jbpf("top", "--store", recording.store, *options, "--rows", "0", env=dict(os.environ, TERM="screen-256color"))
        assert result.returncode == 0, result.stderr
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", result.stdout), result.stdout
        head, table = result.stdout.split("\n\n")
        titles, *rows = table.split("\n")
        assert head.startswith("cpu: ") and titles.split()[:2] == ["CORES", "HOST%"], result.stdout
        # Of few samples, on a busy host, another method may be the hottest.
        return [row for row in rows if container.name in row and HOT in row]
    for options in ([], ["--once"]):  # a pipe is no terminal
        wait_until(lambda options=options: has_row(options), 60, "the container and its hottest method are in the table")


@pytest.mark.live
def test_since_is_one_table_of_the_range(recording, container):
    result = jbpf("top", "--store", recording.store, "--since", recording.since(), "--container", container.name)
    assert result.returncode == 0, result.stderr
    head, table = result.stdout.split("\n\n")
    assert f"\n{container.name}: Java 17.0" in head, result.stdout
    assert re.fullmatch(rf" *[\d.]+ +[\d.]+ +[\d.]+  {HOT}", table.split("\n")[1]), result.stdout


@pytest.mark.live
def test_what_does_not_match_or_cannot_be_read_is_one_line(recording, container, tmp_path):
    near = f"did you mean '{container.name}'"
    for code, arguments, word in (
            (3, ["--store", recording.store, "--since", "1h", "--container", container.name[:-1]], near),
            (3, ["--store", recording.store, "--once", "--container", container.name[:-1]], near),
            (3, ["--store", recording.store, "--since", "1h", "--container", "nobody"], "no samples match"),
            (3, ["--store", recording.store, "--once", "--container", "nobody"], "no samples match"),
            (3, ["--store", recording.store, "--once", "--event", "cpu-migrations"], "has none of cpu-migrations"),
            (1, ["--store", tmp_path / "none", "--once"], "there is no store"),
            (2, ["--sample", "--store", tmp_path], "--sample does not go with --store"),
            (2, ["stray"], "stray")):
        result = jbpf("top", *arguments)
        assert result.returncode == code, (arguments, result.stderr)
        assert len(lines_of(result.stderr)) == 1 and word in result.stderr, (arguments, result.stderr)
        assert result.stdout == ""


@pytest.mark.parametrize("name, said", [("no-such-terminal", "is not known here"), ("dumb", "cannot move its cursor")])
def test_a_terminal_that_shows_no_screen_is_told_before_anything_is_drawn(terminal, tmp_path, name, said):
    begin = some_seconds_ago()
    store = make_store(tmp_path / "store", f"window start={begin} pid=42 samples=7 comm=java\n\tjava;x 7\n"
                                           f"window start={begin} samples=7\ncommit\n")
    top = terminal("--store", store, environment={"TERM": name})
    assert top.wait_end() == 1
    assert lines_of(top.text().strip()) == [f"jbpf-top: the terminal '{name}' {said}; set TERM, or use --once for a plain table"]


# ---- by itself ----

@pytest.mark.live
def test_without_jbpfd_it_samples_and_names_by_itself(container, terminal):
    top = terminal("--sample", "--container", container.name, columns=150)
    text = top.wait(lambda text: HOT in first_name(text), "the hottest method is the first", 120)
    assert "sampling by itself" in text.split("\n")[0]
    helpers = children_of(top.process.pid)
    assert helpers, "who samples?"
    top.press("q")
    ended(top)
    # Killed, a busy host may let it live on for a moment.
    wait_until(lambda: all(map(is_gone, helpers)), 30, "nothing is left behind")


@pytest.mark.live
@pytest.mark.long("sampling lasts 5 s by the clock, and the JVM must be named in it, in one of four tries")
def test_once_samples_for_a_moment(container):
    """A busy host may not have read the JVM's tables in that time: then it is another moment."""
    for _ in range(4):
        result = run(*TOP, "--sample", "--once", "--container", container.name, timeout=90)
        assert result.returncode == 0, result.stderr
        assert "sampling by itself" in result.stdout and f"\n{container.name}: " in result.stdout, result.stdout
        assert lines_of(result.stderr)[0] == "jbpf-top: sampling for 5 s"
        if HOT in result.stdout:
            break
    assert HOT in result.stdout, result.stdout


@pytest.mark.live
def test_a_sampler_that_is_killed_ends_it_with_a_reason(container, terminal):
    top = terminal("--sample", columns=150)
    top.wait(in_list(container), "the list", 120)
    sampler, = children_of(top.process.pid)
    os.kill(sampler, signal.SIGKILL)
    ended(top, 1)
    assert "the process that samples has ended" in top.text()


@pytest.mark.root
def test_without_rights_it_says_what_it_needs(readable_folder):
    result = run("setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", "--inh-caps=-all", *TOP, "--sample", "--once")
    assert result.returncode == 1
    assert len(lines_of(result.stderr)) == 2 and "root" in result.stderr, result.stderr


@pytest.mark.root
def test_without_rights_and_without_a_store_it_says_that_root_can_sample():
    nobody = ("setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", "--inh-caps=-all")
    result = run("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /var/lib && exec "$@"', "sh", *nobody, *TOP, "--once")
    assert result.returncode == 1
    assert lines_of(result.stderr) == [
        "jbpf-top: there is no store in '/var/lib/jbpf'; is jbpfd running, or is it another --store?",
        "jbpf-top: as root jbpf top samples by itself where no jbpfd runs"], result.stderr
    # Of a store that was asked for it is no matter.
    result = run(*nobody, *TOP, "--once", "--store", "/none")
    assert len(lines_of(result.stderr)) == 1 and "there is no store in '/none'" in result.stderr, result.stderr
