# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that remembers what a page asked of the network and said on the console."""
import functools
import json
import os
import re
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, TimeoutException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from harness.programs import PATIENCE, Lacking

SWITCHES = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-dev-shm-usage", "--window-size=1300,900"]
# The first one there: Chromium without what surrounds a page takes a third less of the CPU.
BINARIES = ["/usr/lib/chromium/chromium-headless-shell", "/usr/bin/chromium"]
LOOK_SECONDS, MOVE_MS = 0.05, 20  # selenium's own are half a second and a quarter
ROW = 19  # height of a row of frames in view.js

# Before any script of the page: an alert is counted, never shown.
COUNT_ALERTS = "window.alertCount = 0; window.alert = () => { window.alertCount++; };"


def in_time(of_the_driver):
    """A page that a busy host did not load or draw in time is tried once more, as whatever else did not come."""
    @functools.wraps(of_the_driver)
    def translated(*arguments, **options):
        try:
            return of_the_driver(*arguments, **options)
        except TimeoutException as error:
            raise Lacking(f"the browser: {error}") from None
    return translated


class Browser:
    def __init__(self, scripts=True):
        options = webdriver.ChromeOptions()
        options.binary_location = next(filter(os.path.exists, BINARIES), BINARIES[-1])
        for switch in SWITCHES:
            options.add_argument(switch)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        try:
            self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        except WebDriverException as error:
            raise Lacking(f"the browser does not start: {error}") from None
        self.driver.set_script_timeout(30 * PATIENCE)
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument",
                                    {"source": COUNT_ALERTS})

    def close(self):
        self.driver.quit()

    @in_time
    def open(self, path: Path, fragment=""):
        """A fresh document, also when only the fragment differs from the one shown."""
        self.driver.get("about:blank")
        for kind in ("browser", "performance"):
            self.driver.get_log(kind)
        self.driver.get(f"file://{path}{fragment}")

    @in_time
    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    @in_time
    def settle(self):
        """Until what was asked for is drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0];"
            "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0)));")

    def actions(self):
        return ActionChains(self.driver, duration=MOVE_MS)

    def keys(self, *keys):
        self.actions().send_keys(*keys).perform()
        self.settle()

    def press(self, element_id):
        self.driver.find_element(By.ID, element_id).click()
        self.settle()

    def text(self, element_id):
        return self.driver.find_element(By.ID, element_id).text

    def wait(self, condition, seconds=30):
        # The page may draw anew between the look for an element and its use.
        passing = [StaleElementReferenceException]
        try:
            return WebDriverWait(self.driver, seconds * PATIENCE, LOOK_SECONDS, passing).until(lambda _: condition())
        except TimeoutException as error:
            raise Lacking(f"after {seconds * PATIENCE:.0f} s still not as it should be: {error}") from None

    def search(self, text):
        self.js("document.getElementById('query').focus()")
        self.js("document.getElementById('query').select()")
        self.keys(text)
        script = "return new URLSearchParams(location.hash.slice(1)).get('search')"
        self.wait(lambda: self.js(script) == text)

    def at_frame(self, part, depth, act="click"):
        """Click, hover or right-click at `part` (0 to 1) of the width in the row of a depth."""
        top, height, width = self.js(
            "const box = document.getElementById('canvas').getBoundingClientRect();"
            "return [document.getElementById('scroll').scrollTop,"
            " parseFloat(document.getElementById('spacer').style.height), box.width];")
        down = self.js("return document.getElementById('icicle').ariaPressed === 'true'")
        row = depth if down else round(height / ROW) - 1 - depth
        canvas = self.driver.find_element(By.ID, "canvas")
        # selenium counts from the middle of the element.
        x = round(part * width - canvas.size["width"] / 2)
        y = round((row + 0.5) * ROW - top - canvas.size["height"] / 2)
        chain = self.actions().move_to_element_with_offset(canvas, x, y)
        {"click": chain.click, "menu": chain.context_click, "hover": lambda: chain}[act]()
        chain.perform()
        self.settle()

    def focused(self):
        """Name of the focused frame, as the details line has it."""
        return self.js("return document.querySelector('#detailsText .name').textContent")

    def details(self):
        return self.js("return document.getElementById('detailsText').textContent")

    def colours(self):
        """Colour -> pixels of the canvas."""
        return dict(self.js(
            "const c = document.getElementById('canvas');"
            "const copy = new OffscreenCanvas(c.width, c.height).getContext('2d');"
            "copy.drawImage(c, 0, 0);"
            "const image = copy.getImageData(0, 0, c.width, c.height);"
            "const pixels = new Uint32Array(image.data.buffer);"
            "const counts = new Map();"
            "for (const p of pixels) counts.set(p, (counts.get(p) || 0) + 1);"
            "return [...counts];"))

    def console(self):
        """But for what Chromium says of its own pages: of the new tab, before the first page is there."""
        said = [entry["message"] for entry in self.driver.get_log("browser")]
        return [message for message in said if not message.startswith("chrome://")]

    def requests(self):
        """Addresses asked for, but for the document's own and data: ones."""
        asked = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                asked.append(message["params"]["request"]["url"])
        return [url for url in asked if not re.match(r"(file|data|about):", url)]
