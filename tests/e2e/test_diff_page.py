# SPDX-License-Identifier: Apache-2.0
"""What is made of a comparison: the page in a real browser, the JSON in Python, the folded text in
flamegraph.pl. The comparison is made up by build/tests/tools/diff_page, the writers are the real
ones; what changed is known by heart (tests/unit/diff_scene.h)."""
import json
import re
import subprocess

import pytest
from selenium.webdriver.common.keys import Keys

from harness.programs import BUILD, PATIENCE, jbpf

DIFF_PAGE = BUILD / "tests" / "tools" / "diff_page"
FLAMEGRAPH = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"
HOSTILE_NAMES = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>",
                 "<!--<script>", "{{data}}", "__proto__", "constructor"]


def write(scene, form, extra="", *numbers):
    result = subprocess.run([DIFF_PAGE, scene, form, *numbers], input=extra.encode(),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60 * PATIENCE)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("diff")
    for scene in ("history", "short", "nothing"):
        (folder / f"{scene}.html").write_bytes(write(scene, "html"))
    return folder


@pytest.fixture
def page(browser, folder):
    """Shows a page; at the end it must have kept to itself."""
    def show(scene="history", fragment=""):
        browser.open(folder / f"{scene}.html", fragment)
        browser.settle()
        return browser
    yield show
    assert browser.console() == []
    assert browser.requests() == []
    assert browser.js("return window.alertCount") == 0


@pytest.fixture(scope="module")
def result():
    return json.loads(write("history", "json"))


def listed(browser):
    """Rows of the list: change, shares before and after, method, and what is said below it."""
    return browser.js(
        "return [...document.querySelectorAll('#listBody tr')].map((row) => ["
        "...[...row.cells].slice(0, 3).map((cell) => cell.textContent),"
        "row.querySelector('.name').textContent, row.querySelector('.sure').textContent])")


def pick(browser, method):
    browser.js("[...document.querySelectorAll('#listBody tr')]"
               ".find((row) => row.querySelector('.name').textContent === arguments[0]).click()",
               method)
    browser.settle()


def hues(browser):
    """Pixels of the canvas that are clearly red or orange, and clearly blue."""
    warm = cold = 0
    for colour, count in browser.colours().items():
        red, blue, alpha = int(colour) & 255, int(colour) >> 16 & 255, int(colour) >> 24
        if alpha == 255:
            warm += count if red - blue > 60 else 0
            cold += count if blue - red > 60 else 0
    return warm, cold


def row_of(result, kind, name):
    return next(row for row in result["rows"] if (row["kind"], row["name"]) == (kind, name))


# ---- page ---------------------------------------------------------------------------------------

def test_the_page_says_what_was_compared_and_what_was_found(page):
    browser = page()
    assert browser.driver.title == browser.text("title") == "service shop"
    facts = browser.text("facts").replace("\n", " ")
    for fact in ("Gates all passed", "Whole process uses 1.19x", "Could have seen changes of",
                 "By themselves 1 alarm;"):
        assert fact in facts
    assert not browser.driver.find_element("id", "banner").is_displayed()
    warm, cold = hues(browser)
    assert warm > 1000 and cold > 1000
    assert listed(browser)[0][3] == "Tax.compute"  # the alarm
    assert {row[3] for row in listed(browser)} == {
        "Tax.compute", "Index.lookup", "Audit.encode", "XmlCodec.text", "sys_read", "Price.round",
        "Price.roundHalfUp", "Warmer.load"}


def test_a_method_whose_places_are_too_small_for_verdicts_is_coloured_at_all_of_them(page, folder):
    """Twelve callers, each with a twelfth: no place has a verdict, the method has an alarm."""
    first, quarter = 1699920000, 900
    store = folder / "callers"
    lines = "".join(f"run pid={pid} from={first + after} until={first + after + quarter} service=shop image=shop:{pid} "
                    f"callers=12 {plant}\n" for pid, after, plant in ((1, 0, ""), (2, 1200, "plant=2:1.25")))
    subprocess.run([BUILD / "tests/tools/mkdiffstore", store, "1", "0.005", "0.02", "10"], input=lines, text=True,
                   check=True, timeout=60 * PATIENCE)
    compare = ["diff", "--store", store, "--service", "shop", "--since", f"@{first}", "--until", f"@{first + 3600}",
               "--before-image", "shop:1", "--after-image", "shop:2", "--fail-on", "slower", "--format"]
    rows = json.loads(jbpf(*compare, "json").stdout)["rows"]
    assert [row for row in rows if row["kind"] == "path" and row["verdict"] not in ("unresolved", "same")] == []
    (folder / "callers.html").write_text(jbpf(*compare, "html").stdout)
    browser = page("callers")
    assert [row[3] for row in listed(browser)] == ["Class0.method2"]
    warm, cold = hues(browser)
    assert warm > 100 and cold == 0
    pick(browser, "Class0.method2")
    assert "method with callees, all places +" in browser.details()
    assert "verdict not resolved" in browser.details()


def test_what_cannot_be_judged_has_no_colour(page):
    browser = page("short")
    assert "too few blocks of time" in browser.text("facts")
    assert browser.text("banner").startswith("Everything is grey: descriptive only")
    assert len(browser.colours()) > 3
    assert hues(browser) == (0, 0)
    assert all(row[4].endswith(" points") for row in listed(browser))
    for mode in "bs":
        browser.keys(mode)
        assert hues(browser) == (0, 0)


def test_a_comparison_of_nothing_says_so(page):
    browser = page("nothing")
    for key in "basmpi":
        browser.keys(key)
    assert browser.text("nothing").startswith("No samples on this side")


def test_the_list_holds_the_numbers_of_the_result_and_shows_the_frames(page, result):
    browser = page()
    name = "com.example.shop.Tax.compute"
    row = row_of(result, "method_self", name)
    pick(browser, "Tax.compute")
    assert browser.focused() == name
    (change, before, after, _, sure), = [r for r in listed(browser) if r[3] == "Tax.compute"]
    assert change == f"\u25b2 +{100 * row['relative']:.1f} %"
    assert before == f"{100 * row['share_before']:.2f} %"
    # As if the median method had kept its share: so it agrees with the change.
    assert after == f"{100 * (row['share_before'] + row['points']['value']):.2f} %"
    assert sure.startswith("more CPU (alarm) \u00b7 +")
    place = row_of(result, "path", name)
    for part in (f"{place['samples_before']:,} samples", f"{place['samples_after']:,} samples",
                 f"{place['cores_after']:.4f} cores", f"change +{100 * place['relative']:.1f} %",
                 f"could have seen \u2265 {100 * place['detectable']:.1f} %", "verdict more CPU"):
        assert part in browser.details()
    # Again: nothing is picked any more.
    pick(browser, "Tax.compute")
    assert browser.focused() == "all"
    assert "method=" not in browser.driver.current_url


@pytest.mark.parametrize("is_time", (True, False))
def test_time_of_other_events_is_shown_in_threads(browser, tmp_path, result, is_time):
    text = write("history", "html").decode()
    assert '"event":"CPU"' in text and '"isTime":true' in text
    text = text.replace('"event":"CPU"', '"event":"waits"').replace('"isTime":true', f'"isTime":{str(is_time).lower()}')
    (tmp_path / "waits.html").write_text(text)
    browser.open(tmp_path / "waits.html")
    browser.settle()
    name = "com.example.shop.Tax.compute"
    pick(browser, "Tax.compute")
    cores = row_of(result, "path", name)["cores_after"]
    assert (f"{cores:.4f} threads" if is_time else f"{1e6 * cores:.1f} waits/s") in browser.details()


def test_a_method_that_is_gone_is_shown_where_both_sides_are(page):
    browser = page()
    assert browser.js("return document.getElementById('widthAfter').ariaPressed") == "true"
    pick(browser, "XmlCodec.text")
    assert browser.js("return document.getElementById('widthSum').ariaPressed") == "true"
    assert browser.focused() == "com.example.legacy.XmlCodec.text"
    assert "verdict gone" in browser.details()
    assert "after 0.00 %" in browser.details()


def test_width_follows_the_side(page):
    browser = page()
    found = {}
    for button, mode in (("widthBefore", "before"), ("widthSum", "sum"), ("widthAfter", "after")):
        browser.press(button)
        browser.search("XmlCodec")
        gone = browser.text("matches")
        browser.search("Audit")
        found[mode] = (gone.split(" ")[0], browser.text("matches").split(" ")[0])
    assert found["after"][0] == "0.00" and found["before"][1] == "0.00"
    for gone, fresh in (found["sum"], (found["before"][0], found["after"][1])):
        assert float(gone) > 1 and float(fresh) > 1


def test_moved_methods_name_each_other_and_unresolved_ones_what_was_in_sight(page):
    browser = page()
    sure = {row[3]: row[4] for row in listed(browser)}
    assert sure["Price.round"].startswith("moved to com.example.shop.Price.roundHalfUp")
    assert sure["Price.roundHalfUp"].startswith("moved from com.example.shop.Price.round")
    for verdict in ("unresolved", "up", "down", "moved", "transient", "new", "gone"):
        browser.js("document.querySelector(`[data-verdict=${arguments[0]}]`).click()", verdict)
    browser.settle()
    rows = listed(browser)
    assert rows and all(re.match(r"not resolved: a change of . [\d.]+ % would have been seen$",
                                 row[4]) for row in rows)


def test_the_address_restores_the_view(page, folder):
    browser = page()
    browser.keys("s", "p", "m", "i")
    browser.js("document.querySelector('[data-verdict=down]').click()")
    browser.js("document.querySelector('#listHead button').click()")
    pick(browser, "CartController.add")
    browser.search("Price")
    url, rows, painted = browser.driver.current_url, listed(browser), set(browser.colours())
    for part in ("width=sum", "palette=orange", "of=total", "icicle=1", "verdicts=", "sort=-change",
                 "method=", "search=Price"):
        assert part in url
    page("history", "#" + url.split("#", 1)[1])
    assert browser.driver.current_url == url
    assert listed(browser) == rows
    assert set(browser.colours()) == painted
    page("history", "#width=x&palette=y&of=z&verdicts=q.up&sort=--&method=%00&zoom=a.b")
    assert browser.focused() == "all"


def test_the_palette_changes_hue_and_nothing_else(page):
    browser = page()
    red = set(browser.colours())
    names = [row[3] for row in listed(browser)]
    browser.press("paletteButton")
    assert "palette=orange" in browser.driver.current_url
    orange = set(browser.colours())
    assert orange - red and red - orange
    assert min(hues(browser)) > 1000
    assert [row[3] for row in listed(browser)] == names
    browser.press("paletteButton")
    assert set(browser.colours()) == red


def test_keys_walk_search_and_reset(page):
    browser = page()
    browser.js("document.getElementById('canvas').focus()")
    path = []
    for _ in range(4):
        browser.keys(Keys.ARROW_UP)
        path.append(browser.focused())
    assert path[:3] == ["java", "java.lang.Thread.run", "org.apache.tomcat.SocketProcessor.run"]
    browser.keys(Keys.ENTER)
    assert "zoom=" in browser.driver.current_url
    browser.keys(Keys.ESCAPE)
    assert browser.focused() == "all"
    browser.keys("/")
    assert browser.js("return document.activeElement.id") == "query"
    browser.keys("Json")
    browser.wait(lambda: "search=Json" in browser.driver.current_url)
    # A search finds methods whatever their verdict.
    browser.press("ofTotal")
    assert [row[3] for row in listed(browser)] == ["Json.print"]
    browser.keys("?")
    assert "before, after, both" in browser.text("help")


def test_hostile_names_stay_text(page, folder):
    stacks = "".join(f"{name};{name};{name}_[j]\n" for name in HOSTILE_NAMES)
    (folder / "hostile.html").write_bytes(write("short", "html", stacks))
    foreign = "return document.querySelectorAll('script, img, iframe, object, a, link').length"
    elements = page().js(foreign)
    browser = page("hostile", "#sort=after")
    assert set(HOSTILE_NAMES) <= {row[3] for row in listed(browser)}
    for name in HOSTILE_NAMES[:2]:
        pick(browser, name)
        assert browser.focused() == name
    assert browser.js(foreign) == elements


@pytest.mark.live
@pytest.mark.long("milliseconds of a browser or a socket")
def test_a_large_comparison_opens_at_once(page, folder):
    (folder / "large.html").write_bytes(write("short", "html", "", "30000"))
    browser = page("large")
    browser.wait(lambda: browser.js("return document.getElementById('canvas').dataset.drawMs"))
    browser.keys("?")
    count = int(re.search(r"([\d,]+) frames;", browser.text("helpDraw"))[1].replace(",", ""))
    assert 20000 <= count <= 40000
    browser.keys(Keys.ESCAPE)
    # Generous: a busy machine must not fail it.
    assert float(browser.js("return document.getElementById('canvas').dataset.firstPaintMs")) < 10000


# ---- the other formats ----------------------------------------------------------------------------

def test_the_json_is_read_by_others(result):
    assert (result["format"], result["version"]) == ("jbpf-diff", 1)
    assert row_of(result, "method_self", "com.example.shop.Tax.compute")["is_alarm"] is True
    assert result["summary"]["alarms"] == sum(row["is_alarm"] for row in result["rows"])
    moved = row_of(result, "method_self", "com.example.shop.Price.round")
    by_item = {row["item"]: row for row in result["rows"]}
    assert by_item[moved["moved_with"]]["name"] == "com.example.shop.Price.roundHalfUp"


def test_flamegraph_pl_draws_the_folded_text_as_a_difference(result):
    text = write("history", "folded").decode()
    drawn = subprocess.run(["perl", FLAMEGRAPH], input=text, text=True, capture_output=True,
                           timeout=60 * PATIENCE)
    assert (drawn.returncode, drawn.stderr) == (0, "")
    row = row_of(result, "method_self", "com.example.shop.Tax.compute")
    title = re.search(r"<title>com\.example\.shop\.Tax\.compute_\[j\] \(([\d,]+) samples, [\d.]+%; "
                      r"([+-][\d.]+)%\)", drawn.stdout)
    assert int(title[1].replace(",", "")) == row["samples_after"]
    assert float(title[2]) > 0
