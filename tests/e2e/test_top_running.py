# SPDX-License-Identifier: Apache-2.0
"""The window that runs, as jbpf top shows it before it has ended, and readers that do jbpfd no good. The first
jbpfd's window lasts some minutes, and what is shown says itself that none has ended yet."""
import contextlib
import os
import socket
import stat
import time

import pytest

from harness.programs import BIN, Lacking, cpu_seconds, jbpf, lines_of, run, wait_until
from harness.terminal import Terminal

USER = 12345
PLACES = 16  # DAEMON_READERS_MAX
HEAD_LINES = 4
# Connects to the path that it is given, as whoever it runs as.
CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"


def long_window():
    """Windows end at multiples of their length since 1970: of many lengths, that whose next end is farthest away."""
    return f"{max(range(541, 600), key=lambda length: length - time.time() % length)}s"


def spin(engine, name, options=()):
    return engine.start(name, ["/app/native_spinner", "600", "20"], options=options)


@pytest.fixture(scope="module")
def container(engine):
    """Keeps a core busy."""
    return spin(engine, "running")


@pytest.fixture(scope="module")
def recording(module_daemon):
    return module_daemon(window=long_window(), name="long").start().wait_ready()


@pytest.fixture
def short(daemon):
    """One whose windows end."""
    return daemon(window="1s").start().wait_ready()


def once(daemon, *options):
    result = jbpf("top", "--store", daemon.store, "--once", "--rows", "0", *options)
    assert result.returncode in (0, 3), result.stderr  # 3: no process of it is known yet
    return result.stdout


def running(daemon, *options):
    """The same of a daemon none of whose windows has ended."""
    text = once(daemon, *options)
    if text and "\nstacks: none before the window has ended\n" not in text:
        raise Lacking(f"a window has ended, or nothing is told: {text}; log: {daemon.log()}")
    return text


def rows_of(text, name):
    """The columns of the rows of that name."""
    return [row.split() for row in text.partition("\n\n")[2].split("\n") if f" {name} " in f"{row} "]


def wait_row(daemon, name, look=once, options=()):
    """Its row, once samples of it were told: cores, share, ..."""
    found = []

    def is_there():
        found[:] = rows_of(look(daemon, *options), name)
        return any(float(row[0]) > 0 for row in found)
    wait_until(is_there, 120, lambda: f"{name} is in the list: {look(daemon, *options)}; log: {daemon.log()}")
    return found[0]


def connect_now(daemon):
    """A reader, by the directory: paths of sockets are short. None: those that wait to be taken are many enough."""
    reader = socket.socket(socket.AF_UNIX)
    reader.setblocking(False)  # it would wait for its place, and for ever where nobody is taken
    with contextlib.ExitStack() as stack:
        folder = os.open(daemon.store, os.O_PATH)
        stack.callback(os.close, folder)
        try:
            reader.connect(f"/proc/self/fd/{folder}/running")
        except BlockingIOError:
            reader.close()
            return None
    return reader


def connect(daemon):
    return wait_until(lambda: connect_now(daemon), 60, lambda: f"there is room for a reader; log: {daemon.log()}")


def is_told(reader):
    """Has it got something? None: neither that nor its end."""
    reader.setblocking(False)
    try:
        return bool(reader.recv(1 << 16))
    except BlockingIOError:
        return None
    except ConnectionResetError:
        return False


def wait_windows(daemon, more):
    """So many windows more are stored."""
    count = len(daemon.windows())
    wait_until(lambda: len(daemon.windows()) >= count + more, 120, lambda: f"windows go on; log: {daemon.log()}")


@pytest.mark.live
def test_a_container_is_shown_by_name_before_its_window_ends(recording, container):
    row = wait_row(recording, container.name, running)
    assert 0 < float(row[0]) <= os.cpu_count(), row  # by construction: no more than there are, in any time
    # One that is asked for by name is found by it, and there is nothing yet to go into.
    wait_row(recording, container.name, running, ["--container", container.name])


@pytest.mark.live
def test_the_terminal_shows_it_as_it_is_told(recording, container):
    wait_row(recording, container.name, running)
    top = Terminal([BIN / "jbpf", "top", "--store", recording.store], columns=160)
    try:
        text = top.wait(lambda text: [line for line in text.split("\n")[HEAD_LINES:] if container.name in line],
                        "the container is in the list")
        assert "HOTTEST METHOD, none yet" in text.split("\n")[3], text
        first = text.split("\n")[0]
        assert " until " in first, text
        top.wait(lambda text: text.split("\n")[0].split(" until ")[-1] != first.split(" until ")[-1],
                 "a later second of the same window")
        # Other containers of the host may do more.
        top.press("/", container.name, "Enter")
        top.wait(lambda text: container.name in text.split("\n")[HEAD_LINES], "it is the first that passes the filter")
        top.press("Enter")
        top.wait(lambda text: "stacks: none before the window has ended" in text.split("\n")[1], "that there are none yet")
        top.press("q")
        assert top.wait_end() == 0
    finally:
        top.close()


@pytest.mark.live
def test_who_opted_out_is_never_shown(recording, container, engine):
    shy = spin(engine, "shy-running", options=["--label", "jbpf.profile=off"])
    wait_until(lambda: cpu_seconds(shy.pid) > 0.5, 120, "it has run")
    seen = spin(engine, "seen-running")
    texts = []

    def is_seen():
        texts.append(running(recording))
        return rows_of(texts[-1], seen.name)
    wait_until(is_seen, 120, lambda: f"one that began later is shown: {texts[-1]}")
    assert not [text for text in texts if shy.name in text or shy.id[:12] in text]


@pytest.mark.live
def test_the_socket_is_for_the_group_of_the_store_alone(recording, readable_folder):
    path = recording.store / "running"
    folder = os.stat(recording.store)
    state = os.stat(path)
    assert stat.S_ISSOCK(state.st_mode) and stat.S_IMODE(state.st_mode) == 0o660
    assert state.st_gid == folder.st_gid
    # Where another one may come as far as to the socket, it is refused there; a member of the group is not.
    link = readable_folder / "link"
    os.link(path, link) if os.stat(readable_folder).st_dev == folder.st_dev else pytest.skip("another file system")
    for group, wanted in ((USER, False), (state.st_gid, True)):
        result = run("setpriv", f"--reuid={USER}", f"--regid={group}", "--clear-groups", "--inh-caps=-all",
                     "/usr/bin/python3", "-c", CONNECT, link)
        assert (result.returncode == 0) == wanted, result.stderr
        assert wanted or "PermissionError" in result.stderr, result.stderr


@pytest.mark.live
def test_readers_that_never_read_do_not_hold_jbpfd_up(short, container):
    deaf = [connect(short) for _ in range(PLACES)]
    wait_windows(short, 5)
    for reader in deaf:
        reader.close()
    wait_row(short, container.name)
    assert short.stop() == 0, short.log()


@pytest.mark.live
def test_a_hundred_readers_beyond_the_limit_are_refused(short, container):
    readers = []
    told = {}

    def are_all_answered():
        while len(readers) < 100 and (reader := connect_now(short)):
            readers.append(reader)
        for number, reader in enumerate(readers):
            answer = is_told(reader) if number not in told else None
            if answer is not None:
                told[number] = answer
        return len(told) == 100
    wait_until(are_all_answered, 120, lambda: f"each is told or refused: {told}; log: {short.log()}")
    assert sum(told.values()) == PLACES, told
    wait_windows(short, 2)
    for reader in readers:
        reader.close()
    wait_row(short, container.name)


@pytest.mark.live
def test_one_that_says_something_is_put_out(short):
    reader = connect(short)
    wait_until(lambda: is_told(reader), 60, "it is told something")
    reader.send(b"hello")
    wait_until(lambda: is_told(reader) is False, 60, "its connection ends")
    wait_windows(short, 1)


@pytest.mark.live
def test_without_jbpfd_the_windows_are_shown_and_the_reason_is_one_line(short):
    wait_windows(short, 2)
    assert short.stop() == 0, short.log()
    assert not os.path.lexists(short.store / "running"), "it is taken away"
    result = jbpf("top", "--store", short.store, "--once")
    assert result.returncode == 0, result.stderr
    head = lines_of(result.stdout.partition("\n\n")[0])
    assert "only windows that have ended are shown: no jbpfd listens beside the store" in head[-1], result.stdout


@pytest.mark.live
def test_what_a_killed_jbpfd_left_there_is_replaced(short):
    wait_windows(short, 1)
    short.process.kill()
    short.process.wait()
    assert os.path.lexists(short.store / "running")
    short.start().wait_ready()
    reader = connect(short)
    wait_until(lambda: is_told(reader), 60, lambda: f"the new one tells; log: {short.log()}")
