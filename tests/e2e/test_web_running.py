# SPDX-License-Identifier: Apache-2.0
"""The page of jbpf web goes on where the store ends, with the window that jbpfd still counts. Of the first jbpfd here
some windows have ended, and the one that runs lasts some minutes: what is new in it is known of no other."""
import contextlib
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from harness.daemon import Daemon
from harness.programs import AIDS, BIN, Lacking, cpu_seconds, wait_until
from harness.web import Web


GROUP = 54321
USER = 12345


def long_window():
    """Windows end at multiples of their length since 1970: of many lengths, that whose next end is farthest away."""
    return f"{max(range(541, 600), key=lambda length: length - time.time() % length)}s"


def spin(engine, name, options=()):
    return engine.start(name, ["/app/native_spinner", "600", "20"], options=options)


def wait_windows(daemon, more):
    count = len(daemon.windows())
    wait_until(lambda: len(daemon.windows()) >= count + more, 120, lambda: f"windows go on; log: {daemon.log()}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("web-running")


@pytest.fixture(scope="module")
def recording(module_daemon):
    """Some windows of a second are stored, and one of minutes runs. The first ones are of one process: where they have more
    than a dozen containers, a new one is among the others until its window ends."""
    with subprocess.Popen([AIDS / "native_spinner", "600", "50"]) as spinner:
        try:
            short = module_daemon("--pid", spinner.pid, window="1s").start().wait_ready()
            wait_windows(short, 2)
            assert short.stop() == 0, short.log()
        finally:
            spinner.kill()
    daemon = module_daemon(window=long_window()).start().wait_ready()
    yield daemon
    assert daemon.stop() == 0, daemon.log()


@pytest.fixture(scope="module")
def container(engine, recording):
    """Keeps a core busy, and began in the window that runs."""
    return spin(engine, "web-running")


@pytest.fixture(scope="module")
def web(recording, folder):
    web = Web(recording.store, folder)
    yield web
    assert web.stop() == 0, web.errors.read_text()


def look(browser, web, state="last=900"):
    browser.driver.get("about:blank")
    browser.driver.get(f"{web.url}#token={web.token}&{state}")


def names(answer, part):
    return [series["name"] for series in answer.get(part, {"series": []})["series"]]


def wait_told(web, name, **parameters):
    """The answer that has it."""
    answers = []

    def is_told():
        answers.append(web.json("running", since="15m", **parameters))
        return name in names(answers[-1], "now")
    wait_until(is_told, 120, lambda: f"{name} is told of: {answers[-1]}")
    return answers[-1]


def readers(daemon):
    """How many read along with it."""
    own = set()
    for entry in Path(f"/proc/{daemon.process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            own.add(os.readlink(entry))
    lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    return sum(line[5] == "03" and line[-1].endswith("/running") and f"socket:[{line[6]}]" in own for line in lines)


def told_at_end(browser):
    """What the page says of the newest step, as when the pointer is there."""
    return browser.js(
        "const over = document.querySelector('#plot .u-over'); if (!over) return '';"
        "const box = over.getBoundingClientRect();"
        "over.dispatchEvent(new PointerEvent('pointermove', { clientX: box.right - 1, clientY: box.top + 5, bubbles: true }));"
        "return document.getElementById('at').textContent")


# ---- the answers ----------------------------------------------------------------------------------

@pytest.mark.live
def test_a_container_is_told_of_before_its_window_ends(web, container):
    answer = wait_told(web, container.name)
    assert answer["why"] == "" and answer["cpus"] == os.cpu_count()
    assert container.name in names(answer, "line")
    if container.name in [series["name"] for series in web.json("timeline", since="15m")["series"]]:
        raise Lacking("a window has ended")
    alone = wait_told(web, container.name, container=container.name)
    assert names(alone, "line") == [container.name] == names(alone, "now")


@pytest.mark.live
def test_what_has_no_seconds_of_its_own_says_so(web):
    for event in ("off-cpu", "wall"):
        answer = web.json("running", since="15m", event=event)
        assert "only windows that have ended are shown: of " in answer["why"] and "line" not in answer, answer


@pytest.mark.live
def test_who_is_no_more_than_a_reader_of_the_store_is_told_and_others_are_not(readable_folder):
    """Started by root, the server is a user of the store's group."""
    store = readable_folder / "store"
    store.mkdir()
    os.chown(store, 0, GROUP)
    store.chmod(0o2750)
    daemon, webs = Daemon(readable_folder, window="1s"), []
    try:
        daemon.start().wait_ready()
        wait_windows(daemon, 2)
        webs.append(Web(store, readable_folder))
        assert set(webs[0].status_field("Uid")) == {"65534"} and set(webs[0].status_field("Gid")) == {str(GROUP)}
        wait_until(lambda: "now" in webs[0].json("running", since="15m"), 120, "it is told")
        # All may read these files; the socket stays the group's.
        for path in [store, *store.rglob("*")]:
            with contextlib.suppress(FileNotFoundError):  # what the next state is written into
                path.chmod(path.stat().st_mode | (0o005 if path.is_dir() else 0o004))
        other = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--inh-caps=-all", BIN / "jbpf-web")
        webs.append(Web(store, readable_folder, program=other))
        why = "only windows that have ended are shown: only the store's group may read along"
        wait_until(lambda: webs[1].json("running", since="15m")["why"] == why, 60, "the reason is told")
    finally:
        codes = [web.stop() for web in webs]
        assert daemon.stop() == 0, daemon.log()
    assert codes == [0, 0]


@pytest.mark.live
def test_who_opted_out_is_never_told_of(web, container, engine):
    shy = spin(engine, "shy-web-running", options=["--label", "jbpf.profile=off"])
    wait_until(lambda: cpu_seconds(shy.pid) > 0.5, 120, "it has run")
    seen = spin(engine, "seen-web-running")
    bodies = []

    def is_seen():
        bodies.append(web.api("running", since="15m").decode())
        return seen.name in bodies[-1]
    wait_until(is_seen, 120, lambda: f"one that began later is told of: {bodies[-1]}")
    assert not [body for body in bodies if shy.name in body or shy.id[:12] in body]


# ---- the page -------------------------------------------------------------------------------------

@pytest.mark.live
def test_the_page_goes_on_with_the_window_that_runs_and_says_so(browser, web, container):
    look(browser, web)
    name = re.escape(container.name)
    browser.wait(lambda: re.search(rf"^Now \(\d+ s to \d\d:\d\d:\d\d\), cores: host [\d.]+ of \d+.*{name}", browser.text("now"), re.S), 120)
    browser.wait(lambda: container.name in browser.text("legend"), 120)
    browser.wait(lambda: container.name in told_at_end(browser), 120)

    def goes_on_to():
        """None while only windows that have ended are shown, as after a while without a word of jbpfd."""
        found = re.match(r"The time line goes on to (\d\d:\d\d:\d\d), with the window that runs\. "
                         r"The flame graph is of windows that had ended", browser.text("age"))
        return found and found.group(1)
    browser.wait(goes_on_to, 120)
    first = goes_on_to()
    browser.wait(lambda: goes_on_to() not in (None, first), 120)  # a later second of the same window
    # Pressed, it is seen alone. The buttons are new ones every other second.
    browser.wait(lambda: browser.js(
        "const button = [...document.querySelectorAll('#now button')].find((one) => one.dataset.key === arguments[0]);"
        "if (button) button.click(); return Boolean(button)", container.name), 120)
    browser.wait(lambda: f"container {container.name}" in browser.text("filters"))


@pytest.mark.live
def test_a_range_reads_nothing_along(browser, web, container):
    look(browser, web)
    browser.wait(lambda: browser.text("now") != "", 120)
    browser.press("live")
    browser.wait(lambda: browser.text("now") == "" and browser.text("age") == "")


@pytest.mark.live
def test_pages_share_one_connection_and_none_is_left_when_nobody_looks(browser, web, recording, container):
    browser.driver.get("about:blank")
    wait_until(lambda: readers(recording) == 0, 120, "nobody reads along")
    look(browser, web)
    browser.wait(lambda: container.name in browser.text("now"), 120)
    first = browser.driver.current_window_handle
    browser.driver.switch_to.new_window("window")
    look(browser, web, "last=3600")
    browser.wait(lambda: container.name in browser.text("now"), 120)
    counts = []

    def is_one():
        counts.append(readers(recording))
        return counts[-1] == 1
    # On a busy host a page may be late with its question, and nobody reads along for a moment.
    wait_until(is_one, 120, "they read along")
    assert max(counts) == 1, counts
    browser.driver.close()
    browser.driver.switch_to.window(first)
    # One that is not seen asks nothing, and goes on when it is seen again.
    browser.js("window.isHidden = true; Object.defineProperty(document, 'hidden', { get: () => window.isHidden });")
    wait_until(lambda: readers(recording) == 0, 120, "the page is not looked at, and nobody reads along")
    browser.js("window.isHidden = false; document.dispatchEvent(new Event('visibilitychange'));")
    wait_until(lambda: readers(recording) == 1, 120, "the page is looked at again")
    browser.driver.get("about:blank")
    wait_until(lambda: readers(recording) == 0, 120, "nobody reads along any more")


# ---- one time line of both ------------------------------------------------------------------------

SCRIPT = Path(__file__).resolve().parents[2] / "user/web/page/running.js"


@pytest.fixture
def merged(browser):
    """The page's own function, without the page."""
    text = SCRIPT.read_text().partition("// ---- showing it")[0]

    def merge(base, answer):
        browser.driver.get("about:blank")
        return browser.js(f"return new Function('base', 'answer', arguments[0] + 'return withRunning(base, answer);')"
                          f"(arguments[1], arguments[2])", text, base, answer)
    return merge


def series(**values):
    return [{"name": name, "values": list(rates)} for name, rates in values.items()]


# Windows have ended up to the middle of the second step, which has the rate of that half.
BASE = {"since": 1000, "step": 10, "steps": 3, "recorded_until": 1015, "series": series(shop=[1, 1, None]),
        "others": {"count": 0, "values": [0, 0, None]}, "lost": [0, 2, 0]}


def told(parts, lost=0, others=0, **values):
    return {"told": parts, "line": {"since": 1010, "step": 10, "steps": len(parts), "series": series(**values),
                                    "others": {"count": 0, "values": [others] * len(parts)}, "lost": [lost] * len(parts)}}


def test_a_step_that_is_known_in_part_has_the_rate_of_that_part(merged):
    line = merged(BASE, told([3, 4], lost=1, shop=[0.3, 0.4], cart=[0.1, 0]))
    assert line["series"] == series(shop=[1, 1, 1], cart=[0, 0.125, 0])
    assert (line["steps"], line["lost"], line["others"]) == (3, [0, 3, 1], {"count": 0, "values": [0, 0, 0]})


def test_the_line_grows_with_time_and_what_nobody_told_stays_unknown(merged):
    line = merged(BASE, told([5, 0, 2], shop=[0.5, None, 0.2]))
    assert line["series"] == series(shop=[1, 1, None, 1]) and line["steps"] == 4
    line = merged(BASE, told([0, 10], shop=[None, 1]))
    assert line["series"] == series(shop=[1, 1, 1])


def test_who_is_among_the_others_stays_there(merged):
    base = {**BASE, "others": {"count": 4, "values": [0, 0, None]}}
    line = merged(base, told([5, 10], shop=[0, 0], late=[0.25, 0.5], others=0.25))
    assert line["series"] == series(shop=[1, 0.5, 0])  # of a step of which 10 s are known
    assert line["others"] == {"count": 4, "values": [0, 0.5, 0.75]}


# ---- windows that end, and a jbpfd that does ------------------------------------------------------

@pytest.mark.live
@pytest.mark.long("most of a minute of a browser that draws each second; a window that goes on, and a reason in one line, have tests above")
def test_pictures_get_newer_and_without_jbpfd_the_reason_is_one_line(browser, folder, module_daemon, engine):
    own = folder / "short"
    own.mkdir()
    daemon = module_daemon(window="1s", name="short").start().wait_ready()
    wait_windows(daemon, 2)
    web = Web(daemon.store, own)

    def newest():
        return re.search(r"The time line goes on to .* The flame graph is of .* the newest at ([\d:]+)\.", browser.text("age"))
    try:
        look(browser, web)
        browser.console()
        first = browser.wait(newest, 120).group(1)
        browser.wait(lambda: (now := newest()) and now.group(1) != first, 120)
        assert daemon.stop() == 0, daemon.log()
        reason = "Only windows that have ended are shown: no jbpfd listens beside the store. The newest ended at "
        browser.wait(lambda: browser.text("age").startswith(reason) and browser.text("now") == "", 120)
        assert web.json("running", since="15m")["why"] != ""
        daemon.start().wait_ready()
        browser.wait(lambda: newest() and browser.text("now") != "", 120)
        # A busy server may have refused a question.
        assert [line for line in browser.console() if "Failed to load resource" not in line] == []
    finally:
        browser.driver.get("about:blank")
        assert web.stop() == 0
        assert daemon.stop() == 0, daemon.log()
