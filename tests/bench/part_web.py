# SPDX-License-Identifier: Apache-2.0
"""What people look at: jbpf top and jbpf web on a day of a host of 50 containers, made of real windows of JVMs."""
import os
import pty
import re
import select
import statistics
import subprocess
import sys
import time

from machine import JBPF, ROOT, TICK, read
from part_store import make, recording
from programs import remove

CONTAINERS = 50
ADDRESS = "127.0.0.1:7098"
TOP_SETTLES_S = 3
TOP_S = 10
BRUSH_S = 600


def cpu_seconds(pid):
    fields = read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def swallow(terminal, seconds):
    """What a program draws meanwhile."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if select.select([terminal], [], [], left)[0]:
            os.read(terminal, 65536)


def top_refresh(report, store):
    """CPU time of each second in which the live list stands there: looking for windows, and drawing."""
    terminal, side = pty.openpty()
    process = subprocess.Popen([JBPF, "top", "--store", store], stdin=side, stdout=side, stderr=side,
                               env={**os.environ, "TERM": "xterm-256color", "LINES": "60", "COLUMNS": "150"})
    try:
        swallow(terminal, TOP_SETTLES_S)
        before, begin = cpu_seconds(process.pid), time.monotonic()
        swallow(terminal, TOP_S)
        used_ms = (cpu_seconds(process.pid) - before) / (time.monotonic() - begin) * 1000
        report.row("jbpf top: CPU of a refresh, each second, the hour open", used_ms, "ms", "<= 50", used_ms <= 50)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
        os.close(side)


def shown(browser):
    """Milliseconds from the question to the picture."""
    browser.wait(lambda: browser.js("return document.getElementById('picture').dataset.shown !== undefined"), 60)
    asked, there = map(float, browser.js(
        "const p = document.getElementById('picture').dataset; return [p.asked, p.shown]"))
    return there - asked


def look(browser, url, token, state):
    """Milliseconds from the begin of a fresh page to its time line, and from the question to the picture."""
    browser.driver.get("about:blank")
    browser.driver.get(f"{url}#token={token}&{state}")
    browser.wait(lambda: browser.js("return document.body.dataset.drawn !== undefined"), 60)
    picture = shown(browser)
    return float(browser.js("return document.body.dataset.drawn")), picture


def brush(browser, whole, mark, shift=False):
    """The same, when a range is marked with the pointer on the page that is open; with Shift, one to compare with."""
    from selenium.webdriver.common.action_chains import ActionChains  # pylint: disable=import-outside-toplevel
    from selenium.webdriver.common.keys import Keys  # pylint: disable=import-outside-toplevel
    over = browser.driver.find_element("css selector", "#plot .u-over")
    width = over.size["width"]
    first, last = (round(((at - whole[0]) / (whole[1] - whole[0]) - 0.5) * width) for at in mark)
    browser.js("delete document.getElementById('picture').dataset.shown")
    chain = ActionChains(browser.driver, duration=0)
    if shift:
        chain.key_down(Keys.SHIFT)
    chain.move_to_element_with_offset(over, first, 0).click_and_hold()
    chain.move_to_element_with_offset(over, max(last, first + 1), 0).release()
    if shift:
        chain.key_up(Keys.SHIFT)
    chain.perform()
    return shown(browser)


def pages(report, bench, hours, url, token):
    sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
    from harness.browser import Browser  # pylint: disable=import-error,import-outside-toplevel
    until = int(time.time()) // 60 * 60
    whole = (until - hours * 3600, until)
    middle = until - hours * 1800
    address = f"range={whole[0]}..{whole[1]}"
    minutes = f"{BRUSH_S // 60} minutes"
    rounds = range(max(bench.rounds, 3))
    marks = [(middle + i * BRUSH_S, middle + (i + 1) * BRUSH_S) for i in rounds]
    browser = Browser()
    try:
        look(browser, url, token, address)  # the browser's own start
        firsts, pictures = [], {}
        for name, selection in ((f"{minutes} of all containers", ""), (f"{minutes} of one", "&container=service-3-1")):
            drawn, _ = look(browser, url, token, address + selection)
            firsts.append(drawn)
            pictures[name] = [brush(browser, whole, mark) for mark in marks]
        look(browser, url, token, f"{address}&mark={middle}..{middle + BRUSH_S}&service=service-3")
        # Not up to the mark: a pixel of a day is more than a minute, and sides may not overlap.
        pictures["a comparison of these with as many before"] = [
            brush(browser, whole, (end - BRUSH_S, end), shift=True) for end in (middle - (i + 1) * 300 for i in rounds)]
        cold = [look(browser, url, token, f"{address}&mark={mark[0]}..{mark[1]}") for mark in marks]
        firsts += [drawn for drawn, _ in cold]
        report.row(f"jbpf web: first paint of a time line of {hours} h", firsts, "ms", "<= 1000", statistics.median(firsts) <= 1000)
        for name, times in pictures.items():
            report.row(f"  brush to picture: {name}", times, "ms", "<= 500", statistics.median(times) <= 500)
        report.row(f"  {minutes} of all, by an address opened anew, beside the time line", [picture for _, picture in cold], "ms")
    finally:
        browser.close()


def web_pages(report, bench, hours, store):
    web = subprocess.Popen([JBPF, "web", "--store", store, "--listen", ADDRESS], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True)
    try:
        url, token = re.fullmatch(r"(\S+)#token=(\S+)\n", web.stdout.readline()).groups()
        pages(report, bench, hours, url, token)
    except ImportError as error:
        report.missing("jbpf web: first paint, brush to picture", f"no browser to measure with: {error}")
    finally:
        web.kill()
        web.wait()


def web(report, bench):
    """jbpf top and jbpf web on a day of 50 containers."""
    hours = 2 if bench.quick else 24
    recorded, _ = recording(bench)
    store = os.path.join(bench.work, "made-host")
    try:
        made = make("host", recorded.out, store, hours, CONTAINERS)
        report.row(f"text of {hours} h of {CONTAINERS} containers", made["text_bytes"] / (1 << 20), "MiB")
        top_refresh(report, store)
        subprocess.run([JBPF, "store", "compact", "--store", store], check=True, stdout=subprocess.DEVNULL)
        web_pages(report, bench, hours, store)
    finally:
        remove(store)
