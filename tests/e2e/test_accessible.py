# SPDX-License-Identifier: Apache-2.0
"""What axe-core, which knows the rules of WCAG, says of each page that jbpf makes: in light and dark, and as wide as a
phone. axe-core comes from npm's registry and stays outside of the repository."""
import shutil
import subprocess
import tarfile

import pytest

from harness.programs import BUILD, CACHE, PATIENCE, TOP, jbpf, run
from harness.store import make_store
from harness.web import Web

pytestmark = [pytest.mark.root, pytest.mark.long("axe-core comes from the network")]

AXE = "axe-core@4"
FOLDED = "java;A.run_[0];B.work_[j];C.leaf_[i] 40\njava;A.run_[0];D.idle_[1];read_[k] 20\njava;[unknown] 5\n"
START = 1700000000
STORE = "".join(f"window start={START + 10 * step} duration=10 pid=42 frequency_hz=100 is_jvm=1 comm=java container=shop-1 "
                f"service=shop image=shop:{1 + step // 30} samples={100 + 10 * step}\n\tjava;a.B.run_[j];a.B.work_[j] {100 + 10 * step}\n"
                f"window start={START + 10 * step} duration=10 pid=0 samples={100 + 10 * step} counts_full={9 * (step == 7)}\ncommit\n"
                for step in range(60))
VIEWS = [(theme, width) for theme in ("light", "dark") for width in (1300, 390)]


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    if not shutil.which("npm"):
        pytest.skip("npm is missing: it fetches axe-core")
    kept = CACHE / "axe.min.js"
    if not kept.exists():
        folder = tmp_path_factory.mktemp("axe")
        packed = run("npm", "pack", "--silent", AXE, cwd=folder, timeout=120)
        assert packed.returncode == 0, packed.stderr
        with tarfile.open(folder / packed.stdout.split()[-1]) as archive:
            kept.write_bytes(archive.extractfile("package/axe.min.js").read())
    return kept.read_text()


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    folder = tmp_path_factory.mktemp("web")
    web = Web(make_store(folder / "store", STORE), folder)
    yield web
    assert web.stop() == 0, web.errors.read_text()


@pytest.fixture(scope="module")
def pages(tmp_path_factory, web):
    """Name of a page -> its address."""
    folder = tmp_path_factory.mktemp("pages")
    before, after = folder / "before.folded", folder / "after.folded"
    before.write_text(FOLDED)
    after.write_text(FOLDED.replace(" 40", " 90"))
    flame, diff = folder / "flame.html", folder / "diff.html"
    made = subprocess.run([BUILD / "tests" / "tools" / "fold2out", "html"], input=FOLDED.encode(), stdout=subprocess.PIPE,
                          timeout=60 * PATIENCE, check=True)
    flame.write_bytes(made.stdout)
    assert jbpf("diff", "-o", diff, before, after).returncode == 0
    days = run(TOP / "scripts" / "demo" / "days", folder / "days", timeout=120, cwd=TOP)
    assert days.returncode == 0, days.stderr
    day = folder / "days" / "pages" / "latest"
    whole = f"{web.url}#token={web.token}&range={START}..{START + 600}"
    return {
        "flame graph": f"file://{flame}", "methods": f"file://{flame}#view=table", "difference": f"file://{diff}",
        "days": f"file://{day / 'index.html'}", "day of a service": f"file://{day / 'shop.html'}",
        "web": whole, "web, compared": f"{whole}&mark={START + 300}..{START + 600}&base={START}..{START + 300}",
        "web, a heat map": f"{whole}&heat={START}..{START + 60}", "web without a token": web.url,
    }


@pytest.mark.parametrize("theme,width", VIEWS)
@pytest.mark.parametrize("name", ["flame graph", "methods", "difference", "days", "day of a service", "web", "web, compared",
                                  "web, a heat map", "web without a token"])
def test_axe_finds_nothing(browser, pages, axe, name, theme, width):
    driver = browser.driver
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]})
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500})
    try:
        driver.get("about:blank")
        driver.get(pages[name])
        if name.startswith("web") and "without" not in name:
            browser.wait(lambda: browser.js("return document.body.dataset.drawn !== undefined &&"
                                            " ['plot', 'picture'].every((id) => document.getElementById(id).ariaBusy === 'false')"), 60)
        browser.settle()
        browser.js(axe)
        found = driver.execute_async_script("const done = arguments[0]; axe.run().then((found) => done(found.violations.map("
                                            "(one) => `${one.id}: ${one.help}: ${one.nodes.map((node) => node.html.slice(0, 200))}`)));")
        assert found == []
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        browser.console()
