# SPDX-License-Identifier: Apache-2.0
"""The page that --format html writes, in a real browser. The profile is small enough to know every
number by heart; the writer is the real one, run by build/tests/tools/fold2out."""
import json
import re
import subprocess

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from harness.browser import ROW, Browser
from harness.programs import BUILD, PATIENCE

FOLD2OUT = BUILD / "tests" / "tools" / "fold2out"

# 100 samples. Children are drawn by name: A.run 0 to 70, [unknown] 70 to 75, gc 75 to 100.
KNOWN = """\
java;A.run_[0];B.work_[j];C.leaf_[i] 40
java;A.run_[0];B.work_[j];B.work_[j];read_[k] 10
java;A.run_[0];D.idle_[1] 20
java;[unknown] 5
java;gc 25
"""
# Method, kind, self, total; recursion of B.work counted once.
KNOWN_METHODS = {
    ("C.leaf", "Java inlined", 40, 40), ("gc", "native", 25, 25),
    ("D.idle", "Java compiled (C1)", 20, 20), ("read", "kernel", 10, 10),
    ("[unknown]", "unknown", 5, 5), ("B.work", "Java compiled", 0, 50),
    ("A.run", "Java interpreted", 0, 70), ("java", "process", 0, 100),
}
HOSTILE_NAMES = [
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!--<script>",
    "\"quoted\" \\back\\slash", "'single' & &lt &#60 amp", "line\u2028separator",
    "\U0001f600\U0001f525", "{{data}}", "${alert(1)}", "javascript:alert(1)",
    "__proto__", "constructor", "toString",
]
# What breaks a line, or cannot be seen, is replaced in every output.
SHOWN_NAMES = {name.replace("\u2028", "_") for name in HOSTILE_NAMES}


def write(form, folded, *options):
    result = subprocess.run([FOLD2OUT, *options, form], input=folded.encode(),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60 * PATIENCE)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture
def page(browser, tmp_path):
    """Makes a page of a profile and shows it; at the end it must have kept to itself."""
    def show(folded=KNOWN, *options, fragment=""):
        path = tmp_path / "page.html"
        path.write_bytes(write("html", folded, *options))
        browser.open(path, fragment)
        browser.settle()
        browser.path = path
        return browser
    yield show
    assert browser.console() == []
    assert browser.requests() == []
    assert browser.js("return window.alertCount") == 0


def dominant(browser):
    """The commonest colour of the canvas as (red, green, blue)."""
    counts = browser.colours()
    counts.pop(0, None)  # nothing drawn there
    pixel = int(max(counts, key=counts.get))
    return pixel & 255, pixel >> 8 & 255, pixel >> 16 & 255


# ---- what it shows ------------------------------------------------------------------------------

def test_the_graph_is_painted_and_the_header_complete(page):
    browser = page(KNOWN, "-t", "java in shop", "-s", "pod=shop-1", "-f", "100", "-l", "3")
    assert len(browser.colours()) > 8
    assert browser.driver.title == "java in shop"
    assert browser.text("title") == "java in shop"
    assert browser.text("subtitle") == "pod=shop-1"
    facts = browser.text("facts").replace("\n", " ")
    for fact in ("Samples 100", "CPU time 1.00 s at 100 Hz",
                 "Time 2026-11-21T13:20:00Z to 2026-11-21T13:30:00Z (10m)",
                 "Unknown frames 0.00 %", "Truncated stacks 0.00 %", "Lost samples, whole host 3"):
        assert fact in facts


def test_losses_are_a_warning_where_they_are_of_all_that_is_shown(page):
    warned = "return [...document.querySelectorAll('#facts .warn')].map((fact) => fact.textContent).join()"
    assert "Lost samples3" in page(KNOWN, "-l", "3").js(warned)
    assert page(KNOWN, "-s", "pod=shop-1", "-l", "3").js(warned) == ""


def test_without_a_rate_there_are_no_seconds(page):
    browser = page(KNOWN)
    assert "CPU time" not in browser.text("facts")
    assert "CPU time" not in browser.details()


@pytest.mark.parametrize("folded", ["", "java 1\n"])
def test_small_profiles_are_no_problem(page, folded):
    browser = page(folded)
    for key in "tlgriri":
        browser.keys(key)
    assert browser.text("title") == "profile"
    assert browser.text("nothing").startswith("No samples" if folded == "" else "")
    assert browser.driver.find_element(By.ID, "nothing").is_displayed() == (folded == "")


def test_a_frame_is_described_by_pointer_and_by_key(page):
    browser = page(KNOWN, "-f", "100")
    browser.at_frame(0.2, 2, "hover")
    tip = browser.text("tip").split("\n")
    assert tip[0] == "A.run"
    for part in ("Java interpreted", "70", "70.00 %", "0 (0.00 %)", "0.70 s"):
        assert part in tip
    browser.js("document.getElementById('canvas').focus()")
    browser.keys(Keys.ARROW_UP, Keys.ARROW_UP)
    assert browser.details() == ("A.run \u2014 Java interpreted, samples 70, of all 70.00 %, "
                                 "self 0 (0.00 %), CPU time 0.70 s")


# ---- moving around ------------------------------------------------------------------------------

def test_a_click_zooms_and_reset_goes_back(page):
    browser = page()
    browser.at_frame(0.9, 2)
    assert browser.focused() == "gc"
    assert "of view 100.00 %" in browser.details()
    # It fills the width: the same frame at the far left.
    browser.at_frame(0.02, 2, "hover")
    assert browser.text("tip").startswith("gc")
    browser.press("reset")
    browser.at_frame(0.02, 2, "hover")
    assert browser.text("tip").startswith("A.run")


def test_the_wheel_zooms_with_control(page):
    browser = page()
    browser.js("const c = document.getElementById('canvas'); const box = c.getBoundingClientRect();"
               "for (let i = 0; i < 12; i++) c.dispatchEvent(new WheelEvent('wheel', { deltaY: -60,"
               " ctrlKey: true, bubbles: true, cancelable: true, clientX: box.right - 2,"
               " clientY: box.top + 5 }));")
    browser.settle()
    browser.at_frame(0.02, 2, "hover")
    assert browser.text("tip").startswith("gc")
    assert "span=" in browser.driver.current_url


def test_keys_walk_to_callee_caller_and_neighbour(page):
    browser = page()
    browser.js("document.getElementById('canvas').focus()")
    path = []
    for key in [*[Keys.ARROW_UP] * 4, *[Keys.ARROW_DOWN] * 2, *[Keys.ARROW_RIGHT] * 3,
                Keys.ARROW_LEFT]:
        browser.keys(key)
        path.append(browser.focused())
    assert path == ["java", "A.run", "B.work", "C.leaf", "B.work", "A.run", "[unknown]", "gc", "gc",
                    "[unknown]"]
    browser.keys(Keys.ARROW_RIGHT, Keys.ENTER)
    assert "zoom=" in browser.driver.current_url
    assert "of view 100.00 %" in browser.details()
    browser.keys(Keys.ESCAPE)
    assert "zoom=" not in browser.driver.current_url
    assert browser.focused() == "all"


def test_inverting_turns_it_over(page):
    browser = page()
    browser.at_frame(0.5, 0, "hover")
    assert browser.text("tip").startswith("all")
    lowest = browser.js("return document.getElementById('tip').getBoundingClientRect().top")
    browser.keys("i")
    browser.at_frame(0.5, 0, "hover")
    assert browser.text("tip").startswith("all")
    assert browser.js("return document.getElementById('tip').getBoundingClientRect().top") < lowest
    # Down is now the callee.
    browser.js("document.getElementById('canvas').focus()")
    browser.keys(Keys.ARROW_DOWN)
    assert browser.focused() == "java"


def test_callers_are_read_from_the_leaf(page):
    browser = page()
    browser.keys("r")
    browser.js("document.getElementById('canvas').focus()")
    names = []
    for _ in range(4):
        browser.keys(Keys.ARROW_UP)
        names.append(browser.focused())
    assert names == ["C.leaf", "B.work", "A.run", "java"]
    assert "samples 40," in browser.details()
    # Merged over places: everything is called by java in the end.
    browser.search("java")
    assert browser.text("matches").startswith("100.00 % of samples")


# ---- search -------------------------------------------------------------------------------------

@pytest.mark.parametrize("text, is_regex, percent", [
    ("work", False, "50.00 %"),        # B.work below B.work counts once
    ("WORK", False, "0.00 %"),         # capitals count
    ("a.run", False, "70.00 %"),
    ("B.", False, "50.00 %"),
    ("B.", True, "50.00 %"),
    ("^(C|D)\\.", True, "60.00 %"),
    ("leaf|work|run", True, "70.00 %"),
    ("unknown", False, "5.00 %"),
    ("all", False, "0.00 %"),          # the root is no frame
])
def test_search_counts_stacks_once(page, text, is_regex, percent):
    browser = page()
    if is_regex:
        browser.press("regex")
    browser.search(text)
    assert browser.text("matches").split(" of samples")[0] == percent


def test_search_says_how_much_of_the_view_matches(page):
    browser = page()
    browser.at_frame(0.2, 2)  # A.run
    browser.search("work")
    assert browser.text("matches") == "50.00 % of samples \u00b7 71.43 % of view \u00b7 2 frames"
    browser.at_frame(0.2, 3)  # B.work: all of it matches
    assert "100.00 % of view" in browser.text("matches")


def test_a_broken_expression_is_said_to_be_one(page):
    browser = page()
    browser.press("regex")
    browser.search("(")
    assert browser.text("matches") == "not a regular expression"
    assert browser.driver.find_element(By.ID, "query").get_attribute("aria-invalid") == "true"


def test_matches_are_painted_and_visited_heaviest_first(page):
    browser = page()
    before = browser.colours()
    browser.keys("/")
    browser.keys("e")  # C.leaf 40, D.idle 20, read 10
    browser.settle()
    assert set(browser.colours()) - set(before)
    browser.js("document.getElementById('canvas').focus()")
    visited = []
    for key in "nnnnN":
        browser.keys(key)
        visited.append(browser.focused())
    assert visited == ["C.leaf", "D.idle", "read", "C.leaf", "read"]
    assert browser.text("matches").endswith("3 of 3")


def test_control_f_is_the_pages_search(page):
    browser = page()
    browser.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {
        "type": "keyDown", "modifiers": 2, "key": "f", "code": "KeyF", "windowsVirtualKeyCode": 70})
    browser.settle()
    assert browser.js("return document.activeElement.id") == "query"


# ---- the address --------------------------------------------------------------------------------

def test_the_address_restores_the_whole_view(page):
    browser = page()
    browser.keys("i")
    browser.at_frame(0.2, 2)
    browser.search("leaf")
    browser.js("document.querySelector('#legend [data-kind=\"2\"]').click()")
    browser.settle()
    url, details, matches = browser.driver.current_url, browser.details(), browser.text("matches")
    painted = browser.colours()
    fragment = "#" + url.split("#", 1)[1]
    browser.open(browser.path, fragment)
    browser.settle()
    assert browser.driver.current_url == url
    assert browser.details() == details
    assert browser.text("matches") == matches
    assert browser.js("return document.getElementById('query').value") == "leaf"
    assert browser.js("return document.getElementById('icicle').ariaPressed") == "true"
    assert browser.js("return document.querySelector('[data-kind=\"2\"]').ariaPressed") == "true"
    # The same but for the outline of a keyboard focus that was never there.
    assert set(browser.colours()) == set(painted)


@pytest.mark.parametrize("key, shown, hidden", [("t", "table", "tree"), ("l", "tree", "table")])
def test_the_address_holds_the_sheet(page, key, shown, hidden):
    browser = page()
    browser.keys("r", key)
    fragment = "#" + browser.driver.current_url.split("#", 1)[1]
    browser.open(browser.path, fragment)
    assert browser.driver.find_element(By.ID, shown).is_displayed()
    assert not browser.driver.find_element(By.ID, hidden).is_displayed()
    assert browser.js("return document.getElementById('reverse').ariaPressed") == "true"


def test_back_and_forward_follow_the_zoom(page):
    browser = page()
    browser.at_frame(0.2, 2)
    browser.at_frame(0.2, 3)
    assert browser.focused() == "B.work"
    browser.driver.back()
    browser.wait(lambda: browser.focused() == "A.run")
    browser.driver.back()
    browser.wait(lambda: browser.focused() == "all")
    browser.driver.forward()
    browser.wait(lambda: browser.focused() == "A.run")


def test_an_address_of_another_profile_leads_as_far_as_it_goes(page):
    browser = page()
    browser.at_frame(0.2, 3)
    fragment = "#" + browser.driver.current_url.split("#", 1)[1]
    page("java;A.run_[0];other 3\n", fragment=fragment)
    assert browser.focused() == "A.run"
    page(KNOWN, fragment="#zoom=%00.x&span=a-b&kinds=no.jit&sort=--&view=<b>&search=%")
    assert browser.focused() == "all"


# ---- text equals picture ------------------------------------------------------------------------

def table_rows(browser):
    return [tuple(row) for row in browser.js(
        "return [...document.querySelectorAll('#tableBody tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.textContent));")]


def methods(browser):
    return {(name, kind, int(self), int(total))
            for _, self, _, total, kind, name in table_rows(browser)}


def test_the_table_holds_self_and_total_of_every_method(page):
    browser = page()
    browser.keys("t")
    assert methods(browser) == KNOWN_METHODS
    assert [row[1] for row in table_rows(browser)][:5] == ["40", "25", "20", "10", "5"]
    assert table_rows(browser)[0][0] == "40.00 %"
    headers = browser.driver.find_elements(By.CSS_SELECTOR, "#tableHead th")
    assert headers[0].get_attribute("aria-sort") == "descending"
    headers[3].find_element(By.TAG_NAME, "button").click()
    assert [row[3] for row in table_rows(browser)][:3] == ["100", "70", "50"]
    browser.driver.find_elements(By.CSS_SELECTOR, "#tableHead button")[5].click()
    names = [row[5] for row in table_rows(browser)]
    assert names == sorted(names)


def test_the_table_follows_zoom_search_and_kinds(page):
    browser = page()
    browser.at_frame(0.2, 2)  # A.run, 70 samples
    browser.keys("t")
    assert ("B.work", "Java compiled", 0, 50) in methods(browser)
    assert not any(name == "gc" for name, *_ in methods(browser))
    assert table_rows(browser)[0][0] == "57.14 %"  # 40 of 70
    browser.search("work")
    assert {name for name, *_ in methods(browser)} == {"B.work"}
    browser.search("e")
    browser.js("document.querySelector('#legend [data-kind=\"1\"]').click()")
    assert {name for name, *_ in methods(browser)} == {"read"}


def test_the_tree_is_a_treegrid_for_keys_and_readers(page):
    browser = page()
    browser.keys("l")
    grid = browser.driver.find_element(By.CSS_SELECTOR, "[role=treegrid]")
    assert grid.get_attribute("aria-label")

    def rows():
        return [tuple(row) for row in browser.js(
            "return [...document.querySelectorAll('#treeBody tr')].map((row) =>"
            " [row.getAttribute('aria-level'), row.getAttribute('aria-expanded'),"
            "  row.querySelector('.name').textContent, row.cells[1].textContent,"
            "  row.cells[2].textContent])")]
    # Open along the hot path: 70 of 100, 50 of 70, 40 of 50.
    assert rows()[:5] == [("1", "true", "all", "100", "0"), ("2", "true", "java", "100", "0"),
                          ("3", "true", "A.run", "70", "0"), ("4", "true", "B.work", "50", "0"),
                          ("5", None, "C.leaf", "40", "40")]
    assert rows()[-2:] == [("3", None, "gc", "25", "25"), ("3", None, "[unknown]", "5", "5")]
    browser.js("document.querySelector('#treeBody tr').focus()")
    browser.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_LEFT)
    assert ("3", "false", "A.run", "70", "0") in rows() and len(rows()) == 5
    browser.keys(Keys.ARROW_RIGHT)
    assert len(rows()) == 7
    browser.keys(Keys.ARROW_RIGHT, Keys.ENTER)  # B.work, in the graph
    assert browser.driver.find_element(By.ID, "graph").is_displayed()
    assert browser.focused() == "B.work"


def test_every_control_has_a_name_and_the_picture_a_description(page):
    browser = page()
    nameless = browser.js(
        "const label = (e) => e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') ||"
        " (e.labels && e.labels.length);"
        "return [...document.querySelectorAll('button, input, canvas, [role=treegrid], dialog')]"
        ".filter((e) => !(label(e) || e.textContent.trim()))"
        ".map((e) => e.outerHTML);")
    assert nameless == []
    canvas = browser.driver.find_element(By.ID, "canvas")
    assert canvas.get_attribute("aria-describedby") == "detailsText"
    assert browser.driver.find_element(By.ID, "detailsText").get_attribute("aria-live") == "polite"
    browser.keys("?")
    assert "next and previous match" in browser.text("help")
    browser.keys(Keys.ESCAPE)
    assert not browser.driver.find_element(By.ID, "help").is_displayed()


def test_a_tall_stack_is_kept_out_of_sight_but_within_reach(page):
    browser = page("java;" + ";".join(f"f{i}" for i in range(1023)) + " 3\n")
    assert browser.js("return document.getElementById('canvas').height") < 1000
    assert browser.js("return document.getElementById('spacer').clientHeight") == 1025 * ROW
    browser.search("f1022")
    browser.keys(Keys.ENTER)
    assert browser.focused() == "f1022"
    browser.js("document.getElementById('canvas').focus()")
    browser.keys(Keys.ENTER)
    assert "of view 100.00 %" in browser.details()


def test_right_click_copies_the_name(page):
    browser = page()
    browser.driver.execute_cdp_cmd("Browser.grantPermissions", {
        "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    browser.at_frame(0.9, 2, "menu")
    items = browser.text("menu").split("\n")
    assert items == ["Copy name", "Copy stack", "Zoom to this frame", "Search this name", "Callers and callees",
                     "Only stacks with it", "No stacks with it", "Hide it: its time is its caller\u2019s",
                     "Collapse its recursion"]
    browser.js("document.querySelectorAll('#menu button')[1].click()")
    # It is hidden again after a while, but the words stay.
    browser.wait(lambda: browser.js("return document.getElementById('toast').textContent") == "Copied")
    copied = browser.driver.execute_async_script(
        "const done = arguments[0];"
        "navigator.clipboard.readText().then(done, (e) => done('refused: ' + e));")
    assert copied == "java;gc"


# ---- light and dark, print ----------------------------------------------------------------------

def luminance(colour):
    parts = [c / 255 for c in colour]
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast_of_texts(browser):
    """The lowest contrast of text against what lies behind it, over the visible elements."""
    pairs = browser.js("""
      const rgb = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
      const behind = (e) => { for (; e; e = e.parentElement) {
        const c = rgb(getComputedStyle(e).backgroundColor);
        if (c.length < 4 || c[3] > 0) return c; }
        return [255, 255, 255]; };
      return [...document.querySelectorAll('h1, span, dt, dd, button, p, th, td, input, caption')]
        .filter((e) => e.offsetParent && !e.disabled && e.textContent.trim())
        .map((e) => [e.textContent.trim().slice(0, 20), rgb(getComputedStyle(e).color),
                     behind(e)]);""")
    assert len(pairs) > 20

    def contrast(front, back):
        a, b = luminance(front[:3]), luminance(back[:3])
        return (max(a, b) + 0.05) / (min(a, b) + 0.05)
    return min((contrast(front, back), text) for text, front, back in pairs)


def test_dark_and_light_follow_the_system_and_the_button(page):
    browser = page()

    def system(theme):
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": theme}]})
        browser.settle()
    try:
        system("light")
        light = luminance(dominant(browser))
        assert contrast_of_texts(browser)[0] >= 4.5
        system("dark")
        dark = luminance(dominant(browser))
        assert dark < 0.15 < light
        for key in "tlg":
            browser.keys(key)
            assert contrast_of_texts(browser)[0] >= 4.5
        browser.press("theme")
        assert luminance(dominant(browser)) == pytest.approx(light)
        browser.press("theme")
        assert luminance(dominant(browser)) == pytest.approx(dark)
    finally:
        browser.js("try { localStorage.clear() } catch {}")
        system("light")


def test_printing_shows_every_row_on_white(page):
    browser = page("java;a;b 1\njava;" + ";".join(f"f{i}" for i in range(80)) + " 1\n")
    height = "return document.getElementById('canvas').clientHeight"
    before = browser.js(height)
    browser.js("window.dispatchEvent(new Event('beforeprint'))")
    assert browser.js(height) > max(before, 80 * ROW)
    browser.js("window.dispatchEvent(new Event('afterprint'))")
    browser.settle()
    assert browser.js(height) == before


# ---- hostile names ------------------------------------------------------------------------------

def hostile_profile():
    return "".join(f"java;{name};{name}_[j] {count}\n"
                   for count, name in enumerate(HOSTILE_NAMES, 1))


def test_hostile_names_are_text_and_nothing_else(page):
    foreign = "return document.querySelectorAll('script, img, iframe, object, a, link').length"
    elements = page().js(foreign)
    browser = page(hostile_profile(), "-t", "</title><script>alert(2)</script>",
                   "-s", "<img src=x onerror=alert(3)>")
    assert browser.driver.title == "</title><script>alert(2)</script>"
    for key in "tlg":
        browser.keys(key)
    browser.keys("r", "t", "g", "r")
    browser.js("document.getElementById('canvas').focus()")
    browser.keys(Keys.ARROW_UP, Keys.ARROW_UP)
    seen = {browser.focused()}
    for _ in HOSTILE_NAMES:
        browser.keys(Keys.ARROW_LEFT)
        seen.add(browser.focused())
    for _ in HOSTILE_NAMES:
        browser.keys(Keys.ARROW_RIGHT)
        seen.add(browser.focused())
    browser.at_frame(0.5, 2, "hover")
    browser.at_frame(0.5, 2, "menu")
    browser.keys(Keys.ESCAPE)
    browser.keys("t")
    in_table = {name for name, *_ in methods(browser)}
    assert seen == SHOWN_NAMES
    assert in_table == {*SHOWN_NAMES, "java"}
    assert browser.js(foreign) == elements
    assert browser.js("return ({}).polluted === undefined")


def test_the_policy_refuses_every_request(browser, tmp_path):
    path = tmp_path / "page.html"
    path.write_bytes(write("html", KNOWN))
    browser.open(path)
    answer = browser.driver.execute_async_script(
        "const done = arguments[0];"
        "fetch('http://127.0.0.1:1/').then(() => done('sent'), () => done('refused'));")
    assert answer == "refused"
    assert any("Content Security Policy" in line for line in browser.console())
    assert browser.requests() in ([], ["http://127.0.0.1:1/"])  # reported, then blocked
    assert not browser.js("return performance.getEntriesByType('resource').length")


def test_without_scripts_there_is_a_table(tmp_path):
    path = tmp_path / "page.html"
    path.write_bytes(write("html", KNOWN, "-t", "no <b>scripts</b>"))
    browser = Browser(scripts=False)
    try:
        browser.driver.get(f"file://{path}")
        text = browser.driver.find_element(By.CSS_SELECTOR, "noscript pre").text
    finally:
        browser.close()
    assert "no <b>scripts</b>" in text
    assert re.search(r"^ ?40\.00 +40 +40\.00 +40 +C\.leaf +\[inlined\]$", text, re.M)
    assert re.search(r"^ +0\.00 +0 +50\.00 +50 +B\.work +\[jit\]$", text, re.M)


# ---- speed --------------------------------------------------------------------------------------

FIRST_PAINT = "return document.getElementById('canvas').dataset.firstPaintMs"


@pytest.mark.live
@pytest.mark.long("milliseconds of a browser or a socket")
@pytest.mark.released
def test_a_hundred_thousand_frames_paint_at_once_and_redraw_in_a_frame(page):
    folded = "".join(f"java;A.a{i % 40}_[j];B.b{i % 900}_[j];C.c{i % 9000}_[i];d{i} {1 + i % 5}\n"
                     for i in range(88000))
    browser = page(folded)
    first_ms = float(browser.js(FIRST_PAINT))
    for _ in range(4):  # what a busy machine takes now and then is not the page's
        if first_ms < 1000:
            break
        browser.driver.refresh()
        browser.wait(lambda: browser.js(FIRST_PAINT))
        first_ms = min(first_ms, float(browser.js(FIRST_PAINT)))
    times = browser.driver.execute_async_script("""
      const done = arguments[0];
      const canvas = document.getElementById('canvas');
      const times = [];
      function step(i) {
        if (i === 40) { done(times); return; }
        canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: i < 20 ? -25 : 25, ctrlKey: true,
          bubbles: true, cancelable: true, clientX: 300 + 10 * i, clientY: 400 }));
        requestAnimationFrame(() => setTimeout(() => {
          times.push(Number(canvas.dataset.drawMs));
          step(i + 1);
        }, 0));
      }
      step(0);""")
    times.sort()
    print(f"first paint {first_ms} ms, redraw median {times[20]} ms, worst {times[-1]} ms")
    assert first_ms < 1000
    assert times[20] < 16


# ---- the text formats, as their readers see them ------------------------------------------------

def test_folded_keeps_to_what_flame_graph_tools_read():
    names = [*HOSTILE_NAMES, "worker 12", "# comment", "tab\there", "bell\x07", "1.5", "x 2.5"]
    folded = "".join(f"{name};{name} 3\n" for name in names)
    out = write("folded", folded).decode()
    lines = out.rstrip("\n").split("\n")
    assert len(lines) == len(names)
    assert [line.encode() for line in lines] == sorted(line.encode() for line in lines)
    for line in lines:
        assert re.fullmatch(r"[^\n]+ \d+", line)
        stack = line.rsplit(" ", 1)[0]
        assert not line.startswith("#")
        assert not re.search(r"[\x00-\x1f\x7f]", line)
        for frame in stack.split(";"):
            assert frame and not re.search(r"\s\d+(\.\d+)?$", frame)


def test_json_says_what_folded_says():
    known = json.loads(write("json", KNOWN, "-f", "50"))
    assert known["samples"] == 100 and known["cpu_seconds"] == 2.0
    suffix = {"native": "", "kernel": "_[k]", "jit": "_[j]", "c1": "_[1]", "interpreted": "_[0]",
              "inlined": "_[i]"}
    lines = [";".join(f["name"] + suffix[f["kind"]] for f in s["frames"]) + f" {s['count']}\n"
             for s in known["stacks"]]
    assert "".join(lines) == write("folded", KNOWN).decode()
    hostile = json.loads(write("json", hostile_profile()))
    assert {s["frames"][1]["name"] for s in hostile["stacks"]} == SHOWN_NAMES


def test_the_picture_is_drawn_and_has_no_script(browser, tmp_path):
    path = tmp_path / "picture.svg"
    path.write_bytes(write("svg", hostile_profile() + KNOWN, "-t", "java & <co>"))
    browser.open(path)
    assert browser.js(
        "return document.querySelectorAll('parsererror, script, a, image').length") == 0
    titles = browser.js("return [...document.querySelectorAll('g > title')]"
                        ".map((title) => title.textContent.split('\\n')[0])")
    assert {"A.run", "java", "all", *SHOWN_NAMES} <= set(titles)
    assert browser.console() == []
