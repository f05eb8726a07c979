# SPDX-License-Identifier: Apache-2.0
"""What the page of a profile does to stacks before it draws them: tiers are one method, one method has its callers
and callees, steps hide, keep and collapse, threads that wait for work are set apart; all of it in its address."""
import subprocess
from urllib.parse import quote

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from harness.programs import BUILD, PATIENCE

FOLD2OUT = BUILD / "tests" / "tools" / "fold2out"
START = "java;start_thread;JavaCalls::call"

# 100 samples.
KNOWN = f"""\
{START};a.Main.run_[0];a.Main.work_[j];java.util.Map.get_[i] 40
{START};a.Main.run_[j];a.Main.work_[1];java.util.Map.get_[i] 20
{START};a.Main.run_[j];a.Main.work_[j];a.Main.visit_[j];a.Node.accept_[j];a.Main.visit_[j];a.Node.accept_[j] 15
{START};a.Other.run_[j];java.util.Map.get_[j] 5
java;gc 20
"""

# 260 samples of 100 ms.
WAITS = """\
java;[idle];a.Main.sleep_[j];futex_[k] 100
java;start;a.Main.run_[j];a.Main.await_[j];JavaThread::sleep;os::PlatformEvent::park;futex_[k] 30
java;start;java.lang.Thread.run_[j];java.util.concurrent.ThreadPoolExecutor.getTask_[j];futex_[k] 60
java;start;a.Loop.run_[j];sun.nio.ch.EPoll.wait_[0];epoll_wait_[k] 40
java;start;VMThread::run;VMThread::wait_for_operation;Monitor::wait;futex_[k] 10
java;start;java.util.TimerThread.mainLoop_[j];java.lang.Object.wait_[j];futex_[k] 15
java;start;java.util.TimerThread.mainLoop_[j];a.Task.run_[j];java.lang.Object.wait_[j];futex_[k] 5
"""


class Page:
    def __init__(self, browser, path):
        self.browser, self.path = browser, path

    def write(self, folded=KNOWN, *options):
        result = subprocess.run([FOLD2OUT, *options, "html"], input=folded.encode(), stdout=subprocess.PIPE,
                                timeout=60 * PATIENCE, check=True)
        self.path.write_bytes(result.stdout)
        return self

    def open(self, fragment=""):
        self.browser.open(self.path, fragment)
        self.browser.settle()
        return self

    def state(self, key):
        return self.browser.js(
            "return new URLSearchParams(location.hash.slice(1)).getAll(arguments[0])", key)


READ_TREE = """
  const rows = [];
  const walk = (row) => {
    if (row.getAttribute('aria-expanded') === 'false') row.querySelector('.twist').click();
    rows.push([Number(row.getAttribute('aria-level')), row.querySelector('.name').textContent,
      row.cells[1].textContent]);
  };
  for (let row = document.getElementById('treeBody').firstChild; row; row = row.nextSibling) walk(row);
  return rows;"""


@pytest.fixture
def page(browser, tmp_path):
    page = Page(browser, tmp_path / "page.html")
    yield page
    assert browser.console() == []
    assert browser.requests() == []
    assert browser.js("return window.alertCount") == 0


def stacks(page, fragment="", *, amount=int):
    """Every node of the tree as its path -> total, opened at an address."""
    page.open(f"#view=tree&{fragment}")
    found, path = {}, []
    for level, name, total in page.browser.js(READ_TREE):
        path[level - 1:] = [name]
        found[";".join(path[1:])] = amount(total.replace(",", ""))
    return found


def chosen(page, label):
    """An entry of the menu."""
    for button in page.browser.driver.find_elements(By.CSS_SELECTOR, "#menu button"):
        if button.text == label:
            button.click()
            page.browser.settle()
            return
    raise AssertionError(label)


def at_name(page, name):
    """The menu of the heaviest frame of a name."""
    page.browser.search(name)
    page.browser.press("next")
    assert page.browser.focused() == name
    page.browser.press("frameMenu")


# ---- tiers ---------------------------------------------------------------------------------------

def test_a_method_is_one_frame_whatever_its_tier(page):
    found = stacks(page.write())
    run = f"{START};a.Main.run"
    assert found[run] == 75 and found[f"{run};a.Main.work"] == 75
    assert found[f"{run};a.Main.work;java.util.Map.get"] == 60
    split = stacks(page, "tiers=1")
    assert split[run] in (35, 40) and max(split.values()) == 100
    page.open("#view=table")
    rows = page.browser.js("return [...document.querySelectorAll('#tableBody tr')]"
                           ".map((row) => [...row.cells].map((cell) => cell.textContent))")
    kinds = {name: kind for _, _, _, _, kind, name in rows}
    totals = {name: total for _, _, _, total, _, name in rows}
    assert kinds["a.Main.work"] == "Java compiled 73 %, compiled (C1) 27 %" and totals["a.Main.work"] == "75"
    assert kinds["a.Main.run"] == "Java interpreted 53 %, compiled 47 %"
    assert kinds["java.util.Map.get"] == "Java inlined 92 %, compiled 8 %" and totals["java.util.Map.get"] == "65"


def test_tiers_are_told_apart_by_a_switch_that_the_address_keeps(page):
    page.write().open()
    page.browser.search("a.Main.run")
    assert page.browser.text("matches").endswith("1 frame")
    page.browser.press("frames")
    page.browser.press("tiers")
    assert page.browser.text("matches").endswith("2 frames")
    assert page.state("tiers") == ["1"]
    page.browser.driver.back()
    page.browser.wait(lambda: page.browser.text("matches").endswith("1 frame"))


# ---- one method ------------------------------------------------------------------------------------

def test_a_method_has_its_callers_above_and_its_callees_below(page):
    page.write().open()
    at_name(page, "java.util.Map.get")
    chosen(page, "Callers and callees")
    assert page.state("method") == ["java.util.Map.get"]
    assert page.browser.details().startswith("java.util.Map.get \u2014 Java inlined, samples 65, of all 65.00 %")
    page.browser.js("document.getElementById('callersCanvas').focus()")
    callers = []
    for _ in range(2):
        page.browser.keys(Keys.ARROW_UP)
        callers.append(page.browser.details().split(", of all")[0])
    assert callers == ["a.Main.work \u2014 Java compiled, samples 60", "a.Main.run \u2014 Java interpreted, samples 60"] or \
        callers[0].startswith("a.Main.work \u2014 Java compiled, samples 60")
    tops = page.browser.js("return ['callersCanvas', 'canvas'].map((id) =>"
                           " document.getElementById(id).getBoundingClientRect().top)")
    assert tops[0] < tops[1]
    # The same after a reload; Escape ends it.
    page.browser.driver.refresh()
    page.browser.settle()
    assert "callers and callees of java.util.Map.get" in page.browser.text("steps")
    page.browser.keys(Keys.ESCAPE)
    assert page.state("method") == [] and not page.browser.driver.find_element(By.ID, "callersCanvas").is_displayed()
    assert page.browser.focused() == "all"


def test_a_recursive_method_counts_once_in_its_own_picture(page):
    page.write().open("#method=a.Main.visit")
    assert "samples 15," in page.browser.details()
    assert stacks(page, "method=a.Main.visit") == {
        "": 15, "a.Node.accept": 15, "a.Node.accept;a.Main.visit": 15, "a.Node.accept;a.Main.visit;a.Node.accept": 15}


def test_a_method_that_is_not_there_is_no_method(page):
    page.write().open("#method=nobody")
    assert page.browser.focused() == "all" and page.state("method") == ["nobody"]
    page.browser.keys("i")
    assert page.state("method") == []


# ---- steps -----------------------------------------------------------------------------------------

WORK = f"{START};a.Main.run;a.Main.work"


@pytest.mark.parametrize("steps, expected, gone", [
    (["only:a.Main.visit"], {WORK: 15, "": 15}, ["java;gc"]),
    (["without:gc"], {WORK: 75, "": 80}, ["java;gc"]),
    (["hide:a.Main.work"], {f"{START};a.Main.run;java.util.Map.get": 60, "": 100}, [WORK]),
    (["fold:a.Main.visit"], {f"{WORK};a.Main.visit;a.Node.accept": 15},
     [f"{WORK};a.Main.visit;a.Node.accept;a.Main.visit"]),
    (["recursion"], {f"{WORK};a.Main.visit;a.Node.accept": 15, "": 100},
     [f"{WORK};a.Main.visit;a.Node.accept;a.Main.visit"]),
    (["java"], {"java;a.Main.run": 75, "java;a.Other.run": 5, "java;[other code]": 20}, [START]),
    (["own:a.Main.*"], {WORK: 75, f"{WORK};a.Main.visit;a.Node.accept;a.Main.visit": 15, "java;[other code]": 25},
     [f"{WORK};java.util.Map.get"]),
    (["own:a.*, b.*"], {f"{START};a.Other.run": 5, "java;[other code]": 20}, [f"{WORK};java.util.Map.get"]),
    (["without:gc", "passing"], {"a.Main.work": 75, "a.Main.work;java.util.Map.get": 60}, ["java", START]),
    # In order: first the library is charged to its caller, then that is hidden.
    (["own:a.*", "hide:a.Main.work"], {f"{START};a.Main.run": 75}, [f"{START};a.Main.run;java.util.Map.get"]),
    (["hide:nobody", "nonsense", "hide"], {WORK: 75, "": 100}, []),
])
def test_steps_change_stacks_in_their_order(page, steps, expected, gone):
    found = stacks(page.write(), "&".join(f"do={quote(step, safe='')}" for step in steps))
    for path, total in expected.items():
        assert any(path == other or (steps[-1] == "passing" and other.endswith(path)) for other in found), found
        if path in found:
            assert found[path] == total, (path, found)
    assert not set(gone) & set(found), found


def test_steps_are_made_in_the_menu_shown_and_taken_back(page):
    page.write().open()
    at_name(page, "gc")
    chosen(page, "No stacks with it")
    assert page.state("do") == ["without:gc"]
    assert "Samples 80 of 100" in page.browser.text("facts").replace("\n", " ")
    page.browser.press("frames")
    page.browser.press("java")
    assert page.state("do") == ["without:gc", "java"]
    buttons = page.browser.driver.find_elements(By.CSS_SELECTOR, "#steps button")
    assert [button.text for button in buttons] == ["without stacks with gc \u2715", "from Java on \u2715"]
    buttons[0].click()
    page.browser.settle()
    assert page.state("do") == ["java"] and "Samples 100" in page.browser.text("facts").replace("\n", " ")
    page.browser.driver.refresh()
    page.browser.settle()
    assert page.browser.text("steps") == "from Java on \u2715"
    page.browser.driver.back()
    page.browser.wait(lambda: page.state("do") == ["without:gc", "java"])
    assert len(page.browser.driver.find_elements(By.CSS_SELECTOR, "#steps button")) == 2


def test_boxes_that_look_alike_are_two_in_the_address(page):
    page.write("java;a.X.one_[j];a.Hot.run_[j] 30\njava;a.Y.two_[j];a.Hot.run_[j] 70\n").open("#do=passing")
    for part, samples in ((0.1, 30), (0.6, 70)):
        page.browser.at_frame(part, 2)
        assert f"a.Hot.run \u2014 Java compiled, samples {samples}," in page.browser.details()
        page.browser.driver.refresh()
        page.browser.settle()
        assert f"samples {samples}," in page.browser.details()
        page.browser.press("reset")
    # A frame that is left out is the box behind it, and an address without such frames is known, too.
    page.browser.at_frame(0.6, 2)
    [path] = page.state("zoom")
    java, two, hot = path.split(".")
    page.open(f"#do=passing&zoom={java}.{two}")
    assert "samples 70," in page.browser.details()
    page.open(f"#do=passing&zoom={java}.{hot}")
    assert "a.Hot.run" in page.browser.details()
    page.open(f"#zoom={path}")
    assert "a.Hot.run" in page.browser.details() and "samples 70," in page.browser.details()


def test_waiting_for_a_cpu_is_nobodys_code_and_stays(page):
    page.write(KNOWN + "java;[waiting for a CPU] 7\n")
    for step, other in (("own%3Aa.Main.*", 25), ("java", 20)):
        found = stacks(page, f"do={step}")
        assert (found["java;[waiting for a CPU]"], found["java;[other code]"]) == (7, other), found


def test_what_is_no_step_is_not_shown_as_one(page):
    page.write().open("#do=hide&do=nonsense%3Ax&do=own%3A&do=java")
    assert page.browser.text("steps") == "from Java on \u2715"


def test_the_place_in_the_graph_is_kept(page):
    page.write().open()
    page.browser.search("a.Main.work")
    page.browser.press("next")
    page.browser.js("document.getElementById('canvas').focus()")
    page.browser.keys(Keys.ENTER)
    page.browser.press("frames")
    page.browser.press("recursion")
    assert page.browser.focused() == "a.Main.work" and page.state("zoom")


def test_own_code_of_the_command_is_where_the_page_begins(page):
    page.write(KNOWN, "-o", "a.Main.*").open()
    assert page.browser.text("steps") == "own code a.Main.* \u2715"
    page.browser.driver.find_element(By.CSS_SELECTOR, "#steps button").click()
    page.browser.settle()
    assert page.browser.driver.find_elements(By.CSS_SELECTOR, "#steps button") == []
    page.browser.driver.refresh()
    page.browser.settle()
    assert page.state("do") == [""] and page.browser.driver.find_elements(By.CSS_SELECTOR, "#steps button") == []


def test_hostile_names_in_steps_are_text(page):
    name = "<img src=x onerror=alert(1)>"
    page.write(f"java;{name};b_[j] 3\njava;c 1\n").open(f"#do=only%3A{quote(name)}&do=own%3A(%5B&method={quote(name)}")
    assert name in page.browser.text("steps")
    assert page.browser.js("return document.querySelectorAll('img').length") == 0


# ---- what threads wait for ------------------------------------------------------------------------------

def test_threads_that_wait_for_work_are_one_line(page):
    found = stacks(page.write(WAITS, "-e", "off-cpu"), amount=float)
    assert found[""] == 3.5 and not any("[idle]" in path or "getTask" in path for path in found)
    assert found["java;start;java.util.TimerThread.mainLoop;a.Task.run"] == 0.5
    line = page.browser.text("notShownText")
    assert line == ("Not shown: 22.50 thread-seconds (idle threads 10.00, pool queues 7.50, "
                    "selectors and acceptors 4.00, threads of the JVM 1.00)")
    assert "Waiting 3.50 s, one sample for 100 ms" in page.browser.text("facts").replace("\n", " ")
    page.browser.press("waiting")
    assert page.state("waiting") == ["1"] and page.browser.text("notShownText").startswith("Shown, too: 22.50")
    found = stacks(page, "waiting=1", amount=float)
    assert found[""] == 26.0 and found["java;[idle]"] == 10.0


def test_when_all_wait_for_work_the_page_says_so_and_can_show_them(page):
    page.write("java;[idle];a.B.c_[j] 50\n", "-e", "off-cpu").open()
    for key in "tlgrmi":
        page.browser.keys(key)
    assert page.browser.driver.find_element(By.ID, "nothing").is_displayed()
    page.browser.press("waiting")
    assert "Samples 50" in page.browser.text("facts").replace("\n", " ")
    assert not page.browser.driver.find_element(By.ID, "nothing").is_displayed()


def test_cpu_time_has_no_places_of_waiting(page):
    found = stacks(page.write(WAITS, "-f", "10"), amount=float)
    assert found[""] == 26.0
    assert not page.browser.driver.find_element(By.ID, "notShown").is_displayed()


# ---- units -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("options, head, facts, self_total", [
    (["-f", "100"], "Self, CPU s", "CPU time 1.00 s at 100 Hz", ("0.65", "0.65")),
    (["-e", "off-cpu"], "Self, s", "Waiting 10.00 s, one sample for 100 ms", ("6.50", "6.50")),
    (["-e", "page-faults"], "Self, page faults", "Page faults 6,400 (25.0 MiB), one sample for 64", ("4,160", "4,160")),
    ([], "Self", "Samples 100", ("65", "65")),
])
def test_amounts_have_the_unit_of_the_event(page, options, head, facts, self_total):
    page.write(KNOWN, *options).open("#view=table")
    heads = [th.text for th in page.browser.driver.find_elements(By.CSS_SELECTOR, "#tableHead th")]
    assert heads[1] == head
    assert facts in page.browser.text("facts").replace("\n", " ")
    row = page.browser.js("return [...document.querySelector('#tableBody tr').cells].map((cell) => cell.textContent)")
    assert row[5] == "java.util.Map.get" and (row[1], row[3]) == self_total


# ---- narrow frames, export, phone --------------------------------------------------------------------

def test_narrow_frames_show_the_method(page):
    page.write("java;com.example.shop.orders.OrderProcessingService.total_[j] 5\njava;other 95\n").open()
    drawn = page.browser.js("""
      const texts = [];
      const plain = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
        texts.push(text); plain.call(this, text, ...rest); };
      window.dispatchEvent(new Event('beforeprint'));
      CanvasRenderingContext2D.prototype.fillText = plain;
      window.dispatchEvent(new Event('afterprint'));
      return texts;""")
    assert "total" in drawn and "other" in drawn


SAVED = """
  const done = arguments[arguments.length - 1];
  URL.createObjectURL = (blob) => { blob.text().then(done); return 'about:blank'; };
  HTMLAnchorElement.prototype.click = () => {};
  HTMLElement.prototype.click.call(document.getElementById(arguments[0]));"""


LINES = """\
a.Main.work_[j];Main.java:12 30
a.Main.work_[i];Main.java:12 6
a.Main.work_[j];Main.java:14 3
a.Main.work_[1];Main.java:15 1
a.Main.work_[1];Main.java:16 10
"""


def test_a_method_has_its_lines_whichever_tier_ran_them(page):
    page.write(KNOWN, "-L", LINES).open("#method=a.Main.work")
    assert "its lines Main.java:12 72 %, Main.java:16 20 %, Main.java:14 6 %, 1 more" in page.browser.details()
    page.write(KNOWN, "-L", LINES).open("#method=java.util.Map.get")
    assert "lines" not in page.browser.details()


def test_what_is_shown_can_be_saved(page):
    page.write(KNOWN, "-f", "100").open("#do=without%3Agc&do=java")
    script = page.browser.driver.execute_async_script
    assert script(SAVED, "exportFolded").splitlines() == [
        "java;a.Main.run_[0];a.Main.work_[j];java.util.Map.get_[i] 40",
        "java;a.Main.run_[j];a.Main.work_[1];java.util.Map.get_[i] 20",
        "java;a.Main.run_[j];a.Main.work_[j];a.Main.visit_[j];a.Node.accept_[j];a.Main.visit_[j];a.Node.accept_[j] 15",
        "java;a.Other.run_[j];java.util.Map.get_[j] 5"]
    table = script(SAVED, "exportTable").splitlines()
    assert table[0] == 'Method,Kind,Self %,"Self, CPU s",Total %,"Total, CPU s"'
    assert table[1] == 'java.util.Map.get,"Java inlined 92 %, compiled 8 %",81.250,0.65,81.250,0.65'


def test_a_cell_of_the_table_is_no_formula(page):
    page.write('java;=cmd("x") 3\n').open()
    table = page.browser.driver.execute_async_script(SAVED, "exportTable")
    assert '"\'=cmd(""x"")",native' in table


def test_a_phone_shows_the_graph_and_all_controls(page):
    page.browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True})
    try:
        page.write(KNOWN, "-f", "100").open("#method=a.Main.work&do=java")
        assert page.browser.js("return document.documentElement.scrollWidth") <= 390
        boxes = page.browser.js("return ['callersCanvas', 'canvas', 'detailsText', 'frames'].map((id) => {"
                                " const b = document.getElementById(id).getBoundingClientRect();"
                                " return [b.left, b.right, b.top, b.bottom]; })")
        assert all(left >= 0 and right <= 390 and 0 <= top < bottom <= 844 for left, right, top, bottom in boxes), boxes
        page.browser.press("frames")
        menu = page.browser.js("const b = document.querySelector('#frames .float').getBoundingClientRect();"
                               "return [b.left, b.right]")
        assert menu[0] >= 0 and menu[1] <= 390
    finally:
        page.browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        page.browser.settle()
