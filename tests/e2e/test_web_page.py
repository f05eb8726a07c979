# SPDX-License-Identifier: Apache-2.0
"""The page of jbpf web in a real browser: the time line, marks, flame graphs, comparisons, and its address."""
import re
import time

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from harness.store import make_store
from harness.web import Web

START = 1700000000  # a multiple of 10 s
STEPS = 120  # of 10 s
BUSY = range(60, 90)  # steps in which one method burns
GAP = range(20, 30)
LOST = 40
PULSE = range(10, 20)  # cells of each second in which it burns
TIMED = BUSY[10]  # step of which it is known when each stack was sampled
HOSTILE = "</script><img src=x onerror=alert(1)>"


def percent(text):
    return "".join(f"%{byte:02X}" for byte in text.encode())


def script():
    lines = []
    for step in range(STEPS):
        start = START + 10 * step
        if step in GAP:
            continue
        stacks = "\tjava;a.B.run_[j];a.B.work_[j] 400\n"
        if step in BUSY:
            stacks = "\tjava;a.B.run_[j];a.B.burn_[j] 1600\n" + stacks
            stacks += "".join(f"\t~{50 * second + cell} 20\n" for second in range(10) for cell in PULSE)
        if step == TIMED:  # it burns first, and works in the last two cells
            stacks += "".join(f"\t*{1000 * second + 20 * cell + i} {int(cell >= PULSE[-2])}\n"
                              for second in range(10) for cell in PULSE for i in range(20))
        lines.append(f"window start={start} duration=10 pid=42 frequency_hz=100 is_jvm=1 comm=java container=shop-1 "
                     f"service=shop image=shop:{1 if step < 60 else 2} samples={2000 if step in BUSY else 400} "
                     f"start_boot={10000 + 10 * step} process_start={9000 * 10**9}\n{stacks}"
                     f"window start={start} duration=10 pid=43 frequency_hz=100 comm=java samples=100 "
                     f"container={percent(HOSTILE)} service={percent(HOSTILE)}\n\tjava;c.D.evil_[j] 100\n"
                     f"window start={start} duration=10 pid=0 samples=500 counts_full={9 if step == LOST else 0}\ncommit\n")
    # A second JVM, with another image.
    lines.append(f"window start={START + 1190} duration=10 pid=44 frequency_hz=100 is_jvm=1 comm=java container=shop-1 "
                 f"service=shop image=shop:3 samples=10 start_boot=11190 process_start={11185 * 10**9}\n"
                 "\tjava;a.B.new_[j] 10\ncommit\n")
    return "".join(lines)


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    folder = tmp_path_factory.mktemp("web-page")
    web = Web(make_store(folder / "store", script()), folder)
    yield web
    assert web.stop() == 0, web.errors.read_text()


WHOLE = f"range={START}..{START + 10 * STEPS}"


class Page:
    def __init__(self, browser, web):
        self.browser, self.web, self.driver = browser, web, browser.driver
        self.said, self.refusals = [], []

    def show(self, state):
        self.driver.get("about:blank")
        self.driver.get(f"{self.web.url}#token={self.web.token}&{state}")

    def open(self, state=WHOLE):
        """A fresh document with what it shows."""
        self.show(state)
        return self.settle()

    def settle(self):
        """Until the time line and the picture are those that were asked for, and what the store has is known."""
        self.browser.wait(lambda: self.browser.js(
            "return document.body.dataset.drawn !== undefined && document.getElementById('host').textContent !== '' &&"
            " ['plot', 'picture'].every((id) => document.getElementById(id).ariaBusy === 'false')"), 60)
        return self

    def refused(self, status):
        """Until the console tells of an answer that is refused so; one to another question may be told later."""
        self.refusals.append(f"the server responded with a status of {status} ")
        self.browser.wait(lambda: any(self.refusals[-1] in line for line in self.listen()))

    def listen(self):
        """What the console has said since the test began."""
        self.said += self.browser.console()
        return self.said

    def state(self):
        words = self.browser.js("return location.hash.slice(1)")
        return dict(re.findall(r"([^=&]+)=([^&]*)", words))

    def drag(self, first, last, shift=False):
        """From the middle of a step to the middle of another, of the time line that was asked for last."""
        self.settle()
        box = self.browser.js("const b = document.querySelector('#plot .u-over').getBoundingClientRect();"
                              "return [b.left, b.top, b.width, b.height];")
        over = self.driver.find_element(By.CSS_SELECTOR, "#plot .u-over")
        from_x, to_x = ((step + 0.5) / STEPS * box[2] - box[2] / 2 for step in (first, last))
        chain = self.browser.actions()
        if shift:
            chain.key_down(Keys.SHIFT)
        chain.move_to_element_with_offset(over, round(from_x), 0).click_and_hold()
        chain.move_by_offset(round((to_x - from_x) / 2), 0).move_by_offset(
            round(to_x) - round(from_x) - round((to_x - from_x) / 2), 0).release()
        if shift:
            chain.key_up(Keys.SHIFT)
        chain.perform()
        self.settle()

    def told_at(self, step):
        """What is said of a step while the pointer is there, soon after it came."""
        over = self.driver.find_element(By.CSS_SELECTOR, "#plot .u-over")
        width = self.browser.js("return document.querySelector('#plot .u-over').getBoundingClientRect().width")
        self.browser.actions().move_to_element_with_offset(
            over, round((step + 0.5) / STEPS * width - width / 2), 0).perform()
        return self.browser.text("at")

    def inside(self, script):
        """In the picture's frame."""
        self.driver.switch_to.frame(self.driver.find_element(By.CSS_SELECTOR, "#picture iframe"))
        try:
            return self.browser.js(script)
        finally:
            self.driver.switch_to.default_content()

    def facts(self):
        return self.inside("return document.getElementById('facts').textContent")

    def methods(self):
        """Names of the frames in the flame graph."""
        return self.inside("return JSON.parse(document.getElementById('data').textContent).names")

    def colours(self):
        return self.browser.js(
            "const c = document.querySelector('#plot canvas');"
            "const copy = new OffscreenCanvas(c.width, c.height).getContext('2d');"
            "copy.drawImage(c, 0, 0);"
            "const d = copy.getImageData(0, 0, c.width, c.height).data;"
            "const seen = new Set(); for (let i = 0; i < d.length; i += 4)"
            " if (d[i + 3] === 255) seen.add((d[i] << 16) | (d[i + 1] << 8) | d[i + 2]);"
            "return [...seen];")


@pytest.fixture
def page(browser, web):
    page = Page(browser, web)
    page.driver.set_window_size(1300, 900)
    browser.driver.get("about:blank")
    browser.console()
    yield page
    assert [line for line in page.listen() if not any(refusal in line for refusal in page.refusals)] == []
    assert browser.js("return window.alertCount") == 0


def test_the_time_line_is_drawn_and_the_token_leaves_the_address(page):
    page.open()
    assert "token" not in page.driver.current_url
    plot = page.browser.js("return {...document.getElementById('plot').dataset}")
    assert (int(plot["steps"]), int(plot["series"]), int(plot["lost"])) == (STEPS, 2, 9)
    assert 0x4C78C8 in page.colours() and 0xE0883A in page.colours()
    legend = page.driver.find_element(By.ID, "legend").text.split()
    assert legend[0] == "shop-1" and "CPU, cores" in page.browser.text("unit")
    assert "Samples" in page.facts()


def test_a_brush_gives_the_flame_graph_of_that_range(page):
    page.open()
    page.drag(BUSY[0], BUSY[-1])
    from_s, to_s = START + 10 * BUSY[0], START + 10 * (BUSY[-1] + 1)
    assert page.state()["mark"] == f"{from_s}..{to_s}"
    assert "a.B.burn" in page.methods() and "a.B.work" in page.methods()
    samples = re.search(r"Samples([\d,]+)", page.facts()).group(1)
    assert samples == f"{len(BUSY) * 2100:,}"
    page.drag(0, 10)
    assert "a.B.burn" not in page.methods()


def test_two_brushes_give_the_comparison_of_these_ranges(page):
    page.open()
    page.drag(BUSY[0], BUSY[-1])
    page.drag(0, 15, shift=True)
    assert page.state()["base"] == f"{START}..{START + 160}"
    facts = page.facts()
    assert "Before" in facts and "After" in facts and "2023-11-14T22:13:20Z to 2023-11-14T22:16:00Z" in facts
    page.browser.press("clear")
    page.settle()
    assert "base" not in page.state() and "Samples" in page.facts()


def test_presets_compare_with_the_same_time_before(page):
    page.open()
    page.drag(BUSY[0], BUSY[-1])
    page.driver.find_element(By.CSS_SELECTOR, "#presets button").click()
    presets = page.driver.find_elements(By.CSS_SELECTOR, "#presets button")
    assert [button.is_enabled() for button in presets] == [True, True, True]
    page.browser.wait(lambda: page.browser.text("message") != "", 60)
    mark, base = page.state()["mark"].split(".."), page.state()["base"].split("..")
    assert [int(end) - 3600 for end in mark] == [int(end) for end in base]
    # An hour before there was nothing, and the command says so.
    assert "no samples on the side before" in page.browser.text("message")
    page.refused(404)


def test_a_range_is_not_compared_with_itself(page):
    """Longer than an hour, an hour before is part of it."""
    page.open(f"range={START - 3600}..{START + 10 * STEPS}")
    presets = page.driver.find_elements(By.CSS_SELECTOR, "#presets button")
    assert [button.is_enabled() for button in presets] == [False, True, True]


def test_the_address_gives_the_same_again(page):
    page.open()
    page.drag(BUSY[0], BUSY[-1])
    page.driver.find_elements(By.CSS_SELECTOR, "#legend button")[0].click()
    page.settle()
    page.inside("document.getElementById('viewTable').click()")
    page.browser.wait(lambda: "view" in page.state())
    before = (page.browser.text("marked"), page.facts(), page.state())
    assert before[2]["container"] == "shop-1"
    page.driver.refresh()
    page.settle()
    assert (page.browser.text("marked"), page.facts(), page.state()) == before
    assert page.inside("return document.getElementById('viewTable').ariaSelected") == "true"
    assert "c.D.evil" not in page.methods()
    page.driver.back()
    page.browser.wait(lambda: "view" not in page.state())
    page.driver.back()
    page.browser.wait(lambda: "container" not in page.state())
    page.settle()
    assert "container" not in page.state() and "c.D.evil" in page.methods()


def test_an_image_can_be_seen_alone(page):
    page.open(f"{WHOLE}&by=image")
    names = [element.text for element in page.driver.find_elements(By.CSS_SELECTOR, "#legend .name")]
    page.driver.find_elements(By.CSS_SELECTOR, "#legend button")[names.index("shop:3")].click()
    page.settle()
    assert page.state()["image"].replace("%3A", ":") == "shop:3" and "a.B.new" in page.methods()
    assert "a.B.work" not in page.methods() and "shop:3" in page.facts()


def test_a_start_with_a_new_image_is_compared_with_the_time_before(page):
    page.open()
    starts = page.driver.find_elements(By.CSS_SELECTOR, "#starts button")
    assert [start.get_attribute("class") for start in starts] == ["new"]
    assert starts[0].text.endswith("shop-1: JVM started, shop:1 \u2192 shop:3")
    starts[0].click()
    page.settle()
    at = START + 1185
    state = page.state()
    assert (state["mark"], state["base"], state["service"]) == (f"{at}..{START + 1200}", f"{START}..{at}", "shop")
    assert "a.B.burn" in page.methods() and "c.D.evil" not in page.methods()


def test_a_split_graph_has_a_tower_for_each_series(page):
    command = "return document.getElementById('command').value"
    page.open()
    assert "shop-1" not in page.methods() and " --by " not in page.browser.js(command)
    page.browser.press("split")
    page.settle()
    assert {"shop-1", HOSTILE} <= set(page.methods()) and " --by container " in page.browser.js(command)
    assert page.state()["split"] == "1"
    page.open(f"{WHOLE}&by=none&split=1")
    assert "shop-1" not in page.methods() and " --by " not in page.browser.js(command)
    assert not page.driver.find_element(By.ID, "split").is_enabled()


def test_what_has_no_such_label_can_be_seen_alone(page):
    page.open(f"{WHOLE}&by=image")
    names = [element.text for element in page.driver.find_elements(By.CSS_SELECTOR, "#legend .name")]
    page.driver.find_elements(By.CSS_SELECTOR, "#legend button")[names.index("no image")].click()
    page.settle()
    assert "c.D.evil" in page.methods() and "a.B.work" not in page.methods()
    assert page.state()["image"] == "%21*" and "no image" in page.browser.text("filters")


def test_keys_mark_and_move(page):
    page.open()
    plot = page.driver.find_element(By.ID, "plot")
    plot.send_keys(Keys.ARROW_LEFT)
    end = START + 10 * STEPS
    assert page.state()["mark"] == f"{end - 10}..{end}"
    plot.send_keys(Keys.ARROW_LEFT)
    plot.send_keys(Keys.SHIFT, Keys.ARROW_RIGHT)
    assert page.settle().state()["mark"] == f"{end - 20}..{end}"
    plot.send_keys(Keys.ENTER)
    assert page.settle().state() == {"range": f"{end - 20}..{end}"}
    page.browser.press("zoomOut")
    assert page.settle().state()["range"].startswith(f"{end - 30}..")
    plot.send_keys(Keys.ESCAPE)
    page.settle()


def over_time(page, method):
    """Chooses "Over time" in the menu of the frame."""
    page.driver.switch_to.frame(page.driver.find_element(By.CSS_SELECTOR, "#picture iframe"))
    try:
        page.browser.search(method)
        page.browser.press("next")
        page.browser.press("frameMenu")
        [item] = [item for item in page.driver.find_elements(By.CSS_SELECTOR, "#menu button") if item.text == "Over time"]
        item.click()
    finally:
        page.driver.switch_to.default_content()


def test_the_time_line_of_one_method_shows_when_it_ran(page):
    page.open()
    over_time(page, "a.B.burn")
    page.browser.wait(lambda: "time line of a.B.burn" in page.browser.text("filters"))
    assert page.state()["method"] == "a.B.burn"
    page.browser.wait(lambda: "shop-1 1.60" in page.told_at(BUSY[2]))
    page.browser.wait(lambda: "shop-1" not in page.told_at(5))
    page.driver.find_element(By.CSS_SELECTOR, "#filters button").click()
    page.browser.wait(lambda: "shop-1 2.00" in page.told_at(BUSY[2]))
    assert "method" not in page.state()


def heat_map(page):
    """Draws the heat map of what is shown; its samples."""
    page.browser.press("heatMap")
    return heat_samples(page)


def heat_samples(page):
    page.browser.wait(lambda: page.browser.js("return document.getElementById('heat').ariaBusy") == "false", 60)
    return int(page.browser.js("return document.getElementById('heat').dataset.samples"))


def drag_cells(page, columns, first, last):
    """From a cell to another, each (second, row)."""
    width, height = page.browser.js("const c = document.getElementById('heatCells'); return [c.width, c.height];")

    def place(cell):
        return (round((cell[0] + 0.5) / columns * width - width / 2), round(height / 2 - (cell[1] + 0.5) / 50 * height))
    canvas = page.driver.find_element(By.ID, "heatCells")
    (from_x, from_y), (to_x, to_y) = place(first), place(last)
    page.browser.actions().move_to_element_with_offset(canvas, from_x, from_y).click_and_hold().move_by_offset(
        to_x - from_x, to_y - from_y).release().perform()
    page.settle()


def test_cells_of_the_heat_map_are_a_range_like_any_other(page):
    from_s = START + 10 * BUSY[0]
    page.open(f"{WHOLE}&mark={from_s}..{from_s + 20}")
    assert heat_map(page) == 2 * 10 * len(PULSE) * 20
    assert page.state()["heat"] == f"{from_s}..{from_s + 20}"
    drag_cells(page, 20, (3, PULSE[0]), (3, PULSE[-1]))
    assert page.state()["mark"] == f"{from_s + 3.2}..{from_s + 3.4}"
    assert ", 200 ms)" in page.browser.text("marked") and "a.B.burn" in page.methods()
    shown = (page.state(), page.browser.text("marked"))
    page.driver.refresh()
    page.settle()
    assert heat_samples(page) == 2 * 10 * len(PULSE) * 20
    assert (page.state(), page.browser.text("marked")) == shown


def test_marked_cells_have_a_flame_graph_of_their_own(page):
    from_s = START + 10 * TIMED
    page.open(f"{WHOLE}&mark={from_s}..{from_s + 10}&heat={from_s}..{from_s + 10}")
    assert heat_samples(page) == 10 * len(PULSE) * 20
    assert {"a.B.burn", "a.B.work"} <= set(page.methods())
    drag_cells(page, 10, (3, PULSE[-2]), (3, PULSE[-1]))
    assert page.state()["mark"] == f"{from_s + 3.36}..{from_s + 3.4}"
    assert "a.B.work" in page.methods() and "a.B.burn" not in page.methods()
    drag_cells(page, 10, (4, PULSE[0]), (4, PULSE[1]))
    assert "a.B.burn" in page.methods() and "a.B.work" not in page.methods()
    assert "when each stack was sampled" in page.browser.text("heatCaption")


def test_keys_mark_cells_of_the_heat_map(page):
    from_s = START + 10 * BUSY[0]
    page.open(f"{WHOLE}&mark={from_s}..{from_s + 10}&heat={from_s}..{from_s + 10}")
    heat_samples(page)
    cells = page.driver.find_element(By.ID, "heatCells")
    cells.send_keys(Keys.ESCAPE)
    page.settle()
    cells.send_keys(Keys.ARROW_UP)
    assert page.settle().state()["mark"] == f"{from_s + 9.98}..{from_s + 10}"
    cells.send_keys(Keys.ARROW_LEFT)
    cells.send_keys(Keys.SHIFT, Keys.ARROW_UP)
    assert page.settle().state()["mark"] == f"{from_s + 8.98}..{from_s + 9.02}"
    page.browser.press("heatMap")
    assert "heat" not in page.settle().state()


def test_a_heat_map_without_moments_says_so(page):
    page.open(f"{WHOLE}&mark={START}..{START + 20}")
    page.browser.press("heatMap")
    page.browser.wait(lambda: "recorded with their time" in page.browser.text("heatCaption"), 60)
    assert not page.driver.find_element(By.ID, "heatCells").is_displayed()
    page.refused(404)


def test_what_is_missing_is_told_under_the_pointer(page):
    page.open()
    for step, words in ((GAP[3], "nothing was recorded"), (LOST, "9 samples lost on the host"),
                        (STEPS - 2, "JVM started, shop:1 \u2192 shop:3"), (BUSY[2], "shop-1 2.00")):
        page.browser.wait(lambda step=step, words=words: words in page.told_at(step))


def test_hostile_names_are_text(page):
    page.open(f"{WHOLE}&by=service")
    names = [element.get_attribute("textContent") for element in
             page.driver.find_elements(By.CSS_SELECTOR, "#legend .name")]
    assert HOSTILE in names
    assert page.browser.js("return document.querySelectorAll('img').length") == 0
    page.driver.find_elements(By.CSS_SELECTOR, "#legend button")[names.index(HOSTILE)].click()
    page.settle()
    assert "c.D.evil" in page.methods() and "a.B.work" not in page.methods()
    assert HOSTILE in page.browser.text("filters")
    # And a hostile address: none of its values is more than text.
    page.show(f"{WHOLE}&service=%22%3E%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&view=%23%3Cb%3E&event=%3Cb%3E")
    page.browser.wait(lambda: "event: '<b>' is not one of" in page.browser.text("message"), 60)
    assert page.browser.js("return document.querySelectorAll('img').length") == 0
    page.refused(400)


def test_exports_and_the_command_give_the_same_as_the_page(page):
    page.open()
    page.drag(BUSY[0], BUSY[-1])
    page.browser.js("document.getElementById('export').open = true")
    links = {link.text: link.get_attribute("href") for link in
             page.driver.find_elements(By.CSS_SELECTOR, "#formats a")}
    assert list(links) == ["html", "svg", "folded", "top", "json", "pprof", "speedscope", "otlp"]
    status, headers, body = page.web.ask(links["folded"].removeprefix(page.web.url.rstrip("/")), token=False)
    assert status == 200 and "attachment" in headers["Content-Disposition"]
    assert f"java;a.B.run_[j];a.B.burn_[j] {1600 * len(BUSY)}\n" in body.decode()
    command = page.driver.find_element(By.ID, "command").get_property("value")
    assert command.startswith("jbpf dump --since 2023-11-14T22:23:20Z --until 2023-11-14T22:28:20Z --store ")


def test_events_are_those_of_the_store(page):
    page.open()
    options = page.driver.find_elements(By.CSS_SELECTOR, "#event option")
    assert [option.get_attribute("value") for option in options] == ["cpu"]


def waits_script():
    lines = []
    for step in range(STEPS):
        start = START + 10 * step
        one = f"start={start} duration=10 pid=42 comm=java container=shop-1 service=shop is_jvm=1"
        lines.append(f"window {one} frequency_hz=100 samples=100\n\tjava;a.B.run_[j] 100\n"
                     f"window {one} event=5 unit=1 period=100000000 frequency_hz=0 samples=300 run_delay_ns=1000000000\n"
                     "\tjava;[idle];a.B.sleep_[j];futex_[k] 100\n\tjava;a.B.run_[j];a.B.lock_[j];ObjectMonitor::enter;futex_[k] 40\n"
                     "\tjava;a.B.run_[j];a.B.save_[j];[disk sleep] 10\n"
                     "\tjava;a.B.run_[j];java.util.concurrent.ThreadPoolExecutor.getTask_[j];futex_[k] 150\n"
                     f"window {one} event=1 unit=2 period=64 frequency_hz=0 samples=20\n\tjava;a.B.run_[j];a.B.grow_[1] 20\n"
                     "commit\n")
    return "".join(lines)


@pytest.fixture(scope="module")
def waiting_web(tmp_path_factory):
    folder = tmp_path_factory.mktemp("web-events")
    web = Web(make_store(folder / "store", waits_script()), folder)
    yield web
    assert web.stop() == 0, web.errors.read_text()


@pytest.fixture
def waiting_page(page, waiting_web):
    return Page(page.browser, waiting_web)


def choose_event(page, name):
    page.driver.find_element(By.CSS_SELECTOR, f"#event option[value={name}]").click()
    page.settle()


def test_the_event_switch_has_what_the_store_has_each_in_its_unit(waiting_page):
    page = waiting_page.open()
    page.browser.wait(lambda: len(page.driver.find_elements(By.CSS_SELECTOR, "#event option")) == 6)
    told = {}
    # As the flame graphs: without pools and idle threads; wall with what was waited for a CPU.
    rates = {"off-cpu": "shop-1 0.50 threads", "page-faults": "shop-1 128 page faults/s", "lock": "shop-1 0.40 threads",
             "disk": "shop-1 0.10 threads", "wall": "shop-1 0.70 threads", "cpu": "shop-1 0.10 cores"}
    for name in rates:
        choose_event(page, name)
        assert page.state().get("event", "cpu") == name
        over = page.driver.find_element(By.CSS_SELECTOR, "#plot .u-over")
        page.browser.actions().move_to_element_with_offset(over, 3, 0).perform()
        page.browser.wait(lambda name=name: page.browser.text("at").split(" \u00b7 ")[-1] == rates[name])
        told[name] = (page.browser.text("unit"), page.facts())
    assert told["cpu"][0] == "CPU, cores" and "CPU time120 s at 100 Hz" in told["cpu"][1]
    assert told["off-cpu"][0] == "Waiting, threads, without those that wait for work" and "Waiting600 s, one sample for 100 ms" in told["off-cpu"][1]
    assert told["page-faults"][0] == "Page faults/s" and "Page faults153,600 (600 MiB)" in told["page-faults"][1]
    assert "480 s" in told["lock"][1] and "120 s" in told["disk"][1] and "840 s" in told["wall"][1], told


def test_who_waits_for_work_is_one_line_that_stays_for_another_range(waiting_page):
    page = waiting_page.open(f"{WHOLE}&event=off-cpu")
    line = page.inside("return document.getElementById('notShownText').textContent")
    assert line == "Not shown: 3,000 thread-seconds (pool queues 1,800, idle threads 1,200)"
    page.inside("document.getElementById('waiting').click()")
    page.browser.wait(lambda: "view" in page.state())
    page.drag(BUSY[0], BUSY[-1])
    line = page.inside("return document.getElementById('notShownText').textContent")
    assert line == "Shown, too: 750 thread-seconds (pool queues 450, idle threads 300)"
    page.driver.refresh()
    page.settle()
    assert page.inside("return document.getElementById('notShownText').textContent") == line


def test_the_switch_of_the_flame_graph_is_that_of_the_time_line(waiting_page):
    def legend():
        return page.driver.find_element(By.CSS_SELECTOR, "#legend button").text.split()
    page = waiting_page.open(f"{WHOLE}&event=off-cpu")
    assert legend() == ["shop-1", "0.50"]
    for amount, unit in (("3.00", "Waiting, threads"), ("0.50", "Waiting, threads, without those that wait for work")):
        page.inside("document.getElementById('waiting').click()")
        page.browser.wait(lambda amount=amount: legend() == ["shop-1", amount])
        assert page.browser.text("unit") == unit
    page.inside("document.getElementById('waiting').click()")
    page.browser.wait(lambda: legend() == ["shop-1", "3.00"])
    page.driver.refresh()
    page.settle()
    assert legend() == ["shop-1", "3.00"]


def test_steps_stay_for_another_range_and_event(waiting_page):
    page = waiting_page.open()
    page.inside("document.getElementById('frames').open = true;"
                "document.getElementById('java').click()")
    page.browser.wait(lambda: "view" in page.state())
    page.drag(BUSY[0], BUSY[-1])
    choose_event(page, "page-faults")
    assert page.inside("return document.getElementById('steps').textContent") == "from Java on \u2715"
    assert not page.inside("return document.getElementById('export').offsetParent !== null")


def test_live_follows_and_pauses(page):
    page.driver.get(f"{page.web.url}#token={page.web.token}")
    page.browser.wait(lambda: page.browser.text("message") != "" and page.browser.text("host") != "", 60)
    assert "no samples match" in page.browser.text("message")
    assert page.state() == {"last": "3600"}
    page.browser.press("live")
    assert "range" in page.state() and "last" not in page.state()
    page.browser.press("live")
    assert page.state() == {"last": "3600"}
    page.browser.press("all")
    page.settle()
    assert page.state()["range"] == f"{START}..{START + 1201}"
    assert "a.B.burn" in page.methods()
    page.refused(404)


def test_what_is_pressed_stays_until_it_is_let_go(page):
    answers = ("return performance.getEntriesByType('resource').filter("
               "(entry) => entry.responseEnd && entry.name.includes('api/v1/timeline')).length")
    page.open()
    before = page.browser.js(answers)
    page.browser.actions().click_and_hold(page.driver.find_element(By.CSS_SELECTOR, "#legend button")).perform()
    page.browser.js("document.getElementById('all').click()")
    page.browser.wait(lambda: page.browser.js(answers) > before)
    page.browser.settle()
    page.browser.actions().release().perform()
    page.browser.wait(lambda: page.state().get("container") == "shop-1")
    page.settle()


# Pictures never come, and what is planned for later is done soon.
SLOW_PICTURES = (
    "window.turns = 0; window.pictures = 0;"
    "const plan = window.setTimeout;"
    "window.setTimeout = (act, ms, ...rest) => plan(() => { window.turns++; act(); }, Math.min(ms, 20), ...rest);"
    "const ask = window.fetch;"
    "window.fetch = (question, how) => { if (!question.includes('format=html')) return ask(question, how);"
    " window.pictures++; return new Promise(() => {}); };")


def test_live_waits_for_a_picture_that_is_slow(page):
    page.open()
    page.browser.js(SLOW_PICTURES)
    page.browser.press("live")
    page.browser.wait(lambda: page.browser.js("return window.turns") >= 5)
    assert page.browser.js("return window.pictures") == 1


# Whatever is planned for later is done soon.
SOON = ("const plan = window.setTimeout;"
        "window.setTimeout = (act, ms, ...rest) => plan(act, Math.min(ms, 500), ...rest);")


def live(more=""):
    """Up to the present, with all that was recorded."""
    return f"last={int(time.time()) - START + 86400}{more}"


def exported(page):
    """The end of the time that is exported: of the files, and of the command."""
    link = page.browser.js("return document.querySelector('#formats a').href")
    command = page.browser.js("return document.getElementById('command').value")
    return int(re.search(r"until=%40(\d+)", link).group(1)), re.search(r"--until (\S+)", command).group(1)


def test_what_live_exports_is_as_new_as_the_menu(page):
    page.open(live())
    before = exported(page)
    page.browser.js("const now = Date.now; Date.now = () => now() + 7200000;")
    page.browser.js("document.getElementById('export').open = true")
    page.browser.wait(lambda: exported(page)[0] >= before[0] + 7200)
    assert exported(page)[1] > before[1]


def test_a_comparison_ends_live_with_all_that_it_shows(page):
    page.open(live(f"&mark={START + 600}..{START + 700}"))
    page.browser.wait(lambda: page.browser.text("age") != "")
    page.driver.find_element(By.CSS_SELECTOR, "#presets button").click()
    page.browser.wait(lambda: "base" in page.state() and page.browser.text("message") != "", 60)
    assert "range" in page.state() and page.browser.text("age") == ""
    page.refused(404)


def test_live_leaves_the_focus_where_it_is(page):
    shown = "return document.getElementById('picture').dataset.shown"
    focused = "return `${document.activeElement.tagName} ${document.activeElement.textContent}`"
    page.open(live())
    page.browser.js(SOON)

    def press_live():
        page.browser.js("document.getElementById('live').click()")  # the focus stays

    def wait_pictures():
        for _ in range(2):
            picture = page.browser.js(shown)
            page.browser.wait(lambda: page.browser.js(shown) != picture)
    for buttons in ("legend", "starts"):
        press_live()
        press_live()
        page.browser.js("document.querySelector(`#${arguments[0]} button`).focus()", buttons)
        before = page.browser.js(focused)
        assert before.startswith("BUTTON ")
        wait_pictures()
        assert page.browser.js(focused) == before
    press_live()
    page.settle().inside("document.getElementById('query').focus()")
    press_live()
    wait_pictures()
    press_live()
    page.settle()
    assert page.browser.js("return document.activeElement.tagName") == "IFRAME"
    page.browser.wait(lambda: page.inside("return document.activeElement.id") == "query")


def test_live_follows_the_clock_of_the_server(page):
    late = "(() => { const now = Date.now; Date.now = () => now() - 7200000; })();"
    script = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": late})
    try:
        page.open(live())
        page.browser.wait(lambda: exported(page)[0] > time.time() - 3600)
        page.settle()
    finally:
        page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


def test_a_message_about_the_time_line_outlives_a_picture(page):
    page.show(f"{WHOLE}&by=nothing")
    page.browser.wait(lambda: page.browser.js(
        "return document.getElementById('picture').dataset.shown !== undefined &&"
        " document.getElementById('plot').ariaBusy === 'false'"), 60)
    assert "'nothing'" in page.browser.text("message")
    page.refused(400)


def test_what_commands_say_beside_their_answers_is_shown(page, tmp_path):
    store = make_store(tmp_path / "store", script())
    [hour] = store.rglob("22.zst")
    damaged = bytearray(hour.read_bytes())
    damaged[len(damaged) // 2:len(damaged) // 2 + 64] = bytes(64)
    hour.write_bytes(damaged)
    web = Web(store, tmp_path)
    try:
        broken = Page(page.browser, web).open()
        told = broken.browser.text("said").splitlines()
        assert [line[:28] for line in told] == ["damage in the store, skipped"], told
        assert broken.browser.text("message") == ""
        broken.driver.get("about:blank")
    finally:
        assert web.stop() == 0
    # What is said of one picture is not of the next.
    page.open(f"{WHOLE}&mark={START + 3}..{START + 33}")
    assert "are taken whole" in page.browser.text("said")
    page.browser.press("clear")
    page.settle()
    assert page.browser.text("said") == ""


def test_all_is_all_that_the_store_has_by_now(page):
    page.open()
    page.browser.js("const ask = window.fetch; window.fetch = async (question, how) => {"
                    " const answer = await ask(question, how);"
                    " if (!question.includes('api/v1/info')) return answer;"
                    " const info = await answer.json(); info.last += 600; return Response.json(info); };")
    page.browser.press("all")
    assert page.settle().state()["range"] == f"{START}..{START + 1801}"


def test_steps_stay_over_a_comparison(page):
    page.open()
    page.inside("document.getElementById('frames').open = true; document.getElementById('java').click()")
    page.browser.wait(lambda: "view" in page.state())
    page.drag(BUSY[0], BUSY[-1])
    page.drag(0, 15, shift=True)
    page.inside("document.getElementById('icicle').click()")
    page.browser.wait(lambda: "icicle" in page.state().get("diffview", ""))
    page.browser.press("clear")
    page.settle()
    assert page.inside("return document.getElementById('steps').textContent") == "from Java on \u2715"


def test_a_theme_stays_for_the_next_picture(page):
    dark = "return document.documentElement.dataset.theme"
    page.open()
    page.inside("document.getElementById('theme').click()")
    page.browser.wait(lambda: page.browser.js(dark) == page.inside(dark) != "")
    chosen = page.inside(dark)
    page.drag(BUSY[0], BUSY[-1])
    assert page.inside(dark) == chosen
    page.inside("document.getElementById('theme').click()")


def test_a_day_before_is_the_same_time_of_the_day_before(page):
    noon = 1698573600  # 11 hours after Europe's summer of 2023 ended
    page.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Europe/Berlin"})
    try:
        page.show(f"range={noon}..{noon + 600}")
        page.browser.wait(lambda: page.browser.text("host") != "" and "GMT+1" in page.browser.text("marked"))
        page.driver.find_elements(By.CSS_SELECTOR, "#presets button")[1].click()
        page.browser.wait(lambda: page.state().get("base") == f"{noon - 25 * 3600}..{noon - 25 * 3600 + 600}")
        page.refused(404)
    finally:
        page.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})


def test_without_the_token_the_page_says_what_to_do(browser, web):
    browser.driver.get("about:blank")
    browser.driver.switch_to.new_window("tab")
    browser.driver.get(f"{web.url}#{WHOLE}")
    browser.wait(lambda: "open the address that jbpf web printed" in browser.text("message"), 60)
    browser.driver.close()
    browser.driver.switch_to.window(browser.driver.window_handles[0])
    browser.console()


def test_a_phone_shows_all_of_it(page):
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True})
    try:
        page.open()
        assert page.browser.js("return document.documentElement.scrollWidth") <= 390
        assert 0x4C78C8 in page.colours()
        page.drag(BUSY[0], BUSY[-1])
        assert "a.B.burn" in page.methods()
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
