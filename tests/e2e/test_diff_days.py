# SPDX-License-Identifier: Apache-2.0
"""jbpf diff --days on a store of a month: quiet services stay quiet, a slower method is an alarm, slow
creep is dated, and the job survives being run twice, damage and hostile names. No BPF, no containers.
How often it errs is measured in tests/diff; what changes here is far beyond doubt."""
import datetime
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from harness.store import make_store as make_windows
from harness.programs import BIN, BUILD, PATIENCE, TOP, jbpf, run, wait_until

DAY = 86400
DAYS = 30
SPAN = 10800  # of each day's recording, from 9 o'clock: 12 blocks
CREEP_FROM, CREEP_TO = 15, 24

# It is noon where the tests run, so midnight is far.
NOW = int(time.time())
OFFSET_H = 12 - NOW // 3600 % 24
ZONE = f"<here>{-OFFSET_H:+d}"
TODAY = (NOW + OFFSET_H * 3600) // DAY * DAY - OFFSET_H * 3600  # its midnight, as Unix time
DATE = datetime.date.fromordinal(datetime.date(1970, 1, 1).toordinal() + (NOW + OFFSET_H * 3600) // DAY - 1)

HOSTILE = "../../x<b>"


def date_of(day):
    """The date of a day of the store; the last one, yesterday, is DAYS - 1."""
    return (DATE - datetime.timedelta(days=DAYS - 1 - day)).isoformat()


def run_line(pid, day, service, extra=""):
    start = TODAY - (DAYS - day) * DAY + 9 * 3600
    return f"run pid={pid} from={start} until={start + SPAN} service={service} {extra}\n"


def make_store(directory, script, seed=1):
    result = subprocess.run([BUILD / "tests/tools/mkdiffstore", directory, str(seed), "0.003", "0.01"],
                            input=script, text=True, capture_output=True, timeout=60 * PATIENCE)
    assert result.returncode == 0, result.stderr
    return directory


def month():
    script = ""
    for day in range(DAYS):
        risen = min(max(day - CREEP_FROM + 1, 0), CREEP_TO - CREEP_FROM + 1)
        script += run_line(1, day, "creeping", f"plant=3:{1.01 ** risen:.5f} load=8")
    for day in range(DAYS - 20, DAYS):
        script += run_line(2, day, "quiet")
    for day in range(DAYS - 8, DAYS):
        is_last = day == DAYS - 1
        script += run_line(3, day, "slower", "plant=2:1.3 image=shop:2" if is_last else "image=shop:1")
        script += run_line(4, day, HOSTILE)
    script += run_line(5, DAYS - 1, "born")
    script += run_line(6, DAYS - 1, "tiny", "load=0.0005")
    return script


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("days") / "store", month())


def days(store, output, *arguments):
    return jbpf("diff", "--days", "1", "--store", store, "--output-dir", output, *arguments,
                env={**os.environ, "TZ": ZONE})


def summary_of(output):
    answer = json.loads((output / DATE.isoformat() / "summary.json").read_text())
    return answer, {service["name"]: service for service in answer["services"]}


def listing(output):
    return {path.relative_to(output).as_posix() for path in output.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def first_run(store, tmp_path_factory):
    output = tmp_path_factory.mktemp("days") / "out"
    return days(store, output, "--fail-on", "regression"), output


def test_the_summary_is_printed_where_json_is_asked_for(store, tmp_path):
    result = days(store, tmp_path, "--fail-on", "regression", "--format", "json")
    assert result.returncode == 4, result.stderr
    assert json.loads(result.stdout) == summary_of(tmp_path)[0]


def test_a_regression_fails_the_job_and_has_a_page(first_run):
    result, output = first_run
    assert result.returncode == 4, result.stderr
    answer, services = summary_of(output)
    assert answer["format"] == "jbpf-diff-days" and answer["date"] == DATE.isoformat()
    slower = services["slower"]
    assert slower["state"] == "regression"
    # Its callers need more, too, and are not named one by one.
    assert [alarm["method"] for alarm in slower["alarms"]] == ["shop.p0.Class0.method2"]
    assert 20 < slower["alarms"][0]["change_percent"] < 40
    assert (slower["image_before"], slower["image_after"]) == ("shop:1", "shop:2")
    day = output / DATE.isoformat()
    assert "shop.p0.Class0.method2" in (day / slower["html"]).read_text()
    page = json.loads((day / slower["json"]).read_text())
    assert any("shop:2" in note for note in page["notes"])
    assert "shop.p0.Class0.method2" in (day / "index.html").read_text()
    assert (output / "latest" / "index.html").is_file()
    lines = result.stdout.splitlines()
    assert any(line.startswith("slower: regression: shop.p0.Class0.method2: +") for line in lines)
    assert "slower: the image changed: shop:1 before, shop:2 after" in lines


def test_the_page_says_where_shows_the_days_and_leads_to_others(store, tmp_path):
    output = tmp_path / "out"
    where = {**os.environ, "TZ": ZONE, "NODE_NAME": "node-<7>"}

    def page_of_day():
        assert jbpf("diff", "--days", "1", "--store", store, "--output-dir", output, env=where).returncode == 0
        return (output / "latest" / "index.html").read_text()

    page = page_of_day()
    assert "Host node-&lt;7&gt;<" in page and "../latest/index.html" in page
    # An alarm has its days beside it: eight of the service that got slower.
    alarm = next(line for line in page.split("<li>") if "shop.p0.Class0.method2" in line)
    assert "<title>8 days: " in alarm and "<path d=" in alarm
    assert json.loads((output / "latest" / "summary.json").read_text())["host"] == "node-<7>"
    # Days that have a page, but for those that are to go, and what is no day of the job.
    links = []
    for back in (1, 3, 40):
        date = (DATE - datetime.timedelta(days=back)).isoformat()
        shutil.copytree(output / DATE.isoformat(), output / date)
        links.append(f'<a href="../{date}/index.html">{date}</a>')
    (output / (DATE - datetime.timedelta(days=2)).isoformat()).mkdir()
    assert links[0] + links[1] + "</nav>" in page_of_day()


def test_quiet_services_are_quiet(first_run):
    result, output = first_run
    _, services = summary_of(output)
    for name, pairs in (("quiet", 17), (HOSTILE, 5)):
        assert services[name]["state"] == "no regression", services[name]
        assert services[name]["alarms"] == [] and services[name]["history_pairs"] == pairs
    assert any(line.startswith("quiet: no regression") for line in result.stdout.splitlines())
    assert services["born"]["state"] == "not compared" and "0 samples before" in services["born"]["why"]
    assert "tiny" not in services


def test_slow_creep_is_dated(first_run):
    result, output = first_run
    _, services = summary_of(output)
    creeping = services["creeping"]
    assert creeping["state"] == "regression"
    alarm = next(alarm for alarm in creeping["alarms"] if alarm["measure"] == "self")
    assert alarm["method"] == "shop.p0.Class0.method3" and alarm["kind"] == "creep"
    assert date_of(CREEP_FROM - 2) <= alarm["since"] <= date_of(CREEP_FROM + 2)
    assert date_of(CREEP_TO - 4) <= alarm["settled"] <= date_of(CREEP_TO + 4)
    assert 8 < alarm["change_percent"] < 13
    assert f"since {alarm['since']} (creep over" in result.stdout


def test_names_of_services_lead_nowhere(first_run):
    _, output = first_run
    _, services = summary_of(output)
    files = listing(output)
    assert all(path.split("/")[0] in (DATE.isoformat(), "series", ".lock") for path in files)
    assert f"{DATE.isoformat()}/{services[HOSTILE]['html']}" in files
    assert "<b>" not in (output / DATE.isoformat() / "index.html").read_text()


def test_a_second_run_of_the_day_says_the_same(first_run, store):
    result, output = first_run
    files, before = listing(output), (output / "series" / "quiet.series").read_bytes()
    again = days(store, output, "--fail-on", "regression")
    assert (again.returncode, again.stdout, again.stderr) == (4, result.stdout, result.stderr)
    assert listing(output) == files
    assert (output / "series" / "quiet.series").read_bytes() == before


def test_without_fail_on_a_regression_is_no_failure(first_run, store, tmp_path):
    result, output = first_run
    shutil.copytree(output, tmp_path / "out", symlinks=True)
    quiet = days(store, tmp_path / "out", "--service", "slower")
    assert quiet.returncode == 0, quiet.stderr
    assert set(quiet.stdout.splitlines()) < set(result.stdout.splitlines())
    alone = days(store, tmp_path / "out", "--service", "quiet", "--fail-on", "regression")
    assert alone.returncode == 0 and alone.stderr == ""


def test_a_damaged_series_is_set_aside_and_measured_anew(first_run, store, tmp_path):
    result, output = first_run
    shutil.copytree(output, tmp_path / "out", symlinks=True)
    series = tmp_path / "out" / "series" / "creeping.series"
    whole = series.read_bytes()
    series.write_bytes(whole[: len(whole) // 2])
    again = days(store, tmp_path / "out", "--service", "creeping", "--fail-on", "regression")
    assert again.returncode == 4
    assert "creeping.series is damaged from byte" in again.stderr
    assert (tmp_path / "out" / "series" / "creeping.series.damaged").read_bytes() == whole[: len(whole) // 2]
    assert set(again.stdout.splitlines()) < set(result.stdout.splitlines())
    assert days(store, tmp_path / "out", "--service", "creeping").stderr == ""


def test_damage_in_the_store_is_told_once(first_run, store, tmp_path):
    result, _ = first_run
    shutil.copytree(store, tmp_path / "store")
    last = max((tmp_path / "store" / "v1" / "cpu").rglob("*.zst"))
    hour = bytearray(last.read_bytes())
    hour[len(hour) // 2] ^= 0xFF
    last.write_bytes(hour)
    again = days(tmp_path / "store", tmp_path / "out", "--fail-on", "regression")
    assert again.returncode == 4
    assert len([line for line in again.stderr.splitlines() if "damage in the store" in line]) == 1
    assert len(again.stdout.splitlines()) == len(result.stdout.splitlines())


def test_nothing_to_compare_is_3_and_a_wrong_store_1(store, tmp_path):
    result = days(store, tmp_path / "out", "--service", "nobody")
    assert result.returncode == 3 and "no service has" in result.stderr
    result = days(tmp_path / "none", tmp_path / "out")
    assert result.returncode == 1 and "there is no store" in result.stderr
    (tmp_path / "file").write_text("")
    result = days(store, tmp_path / "file")
    assert result.returncode == 1 and "--output-dir" in result.stderr


# Many times what the other services take, and a part of what this one's stacks do.
FEW_KB = 120_000


def is_sanitized():
    return b"__asan_init" in (BIN / "jbpf").read_bytes()


@pytest.mark.skipif(is_sanitized(), reason="a sanitizer's shadow memory is larger than any limit")
def test_a_service_with_too_many_stacks_fails_alone(tmp_path):
    script = "".join(run_line(1, day, "quiet") + run_line(2, day, "liar", "stacks=4000") +
                     run_line(3, day, "sound") for day in range(DAYS - 2, DAYS))
    store = make_store(tmp_path / "store", script)
    command = ["sh", "-c", f'ulimit -v {FEW_KB}; exec "$@"', "sh", BIN / "jbpf-diff", "--days", "1", "--store", store,
               "--output-dir", tmp_path / "out"]
    result = run(*command, timeout=120, env={**os.environ, "TZ": ZONE})
    assert result.returncode == 1, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "liar: failed: too many different stacks: out of memory", result.stderr
    assert [line.split(": ")[:2] for line in lines[1:]] == [["quiet", "learning"], ["sound", "learning"]]
    _, services = summary_of(tmp_path / "out")
    liar = services["liar"]
    assert (liar["state"], liar["html"], liar["alarms"]) == ("failed", None, [])
    assert liar["why"] == "too many different stacks: out of memory"
    day = tmp_path / "out" / DATE.isoformat()
    assert (day / services["quiet"]["html"]).is_file() and (day / services["sound"]["json"]).is_file()
    assert not list(day.glob("liar*"))
    assert set((day / ".files").read_text().split()) == {path.name for path in day.iterdir()} - {".files"}
    assert "too many different stacks" in (day / "index.html").read_text()


def test_of_very_many_names_those_with_samples_are_compared(tmp_path):
    """Of each day 21,600 stacks with names of their own."""
    script = "".join(run_line(1, day, "lambdas", "stacks=600") + run_line(2, day, "plain") for day in range(DAYS - 2, DAYS))
    store = make_store(tmp_path / "store", script)
    result = days(store, tmp_path / "out")
    assert result.returncode == 0, result.stderr
    day = tmp_path / "out" / DATE.isoformat()
    pages = {name: json.loads((day / f"{name}.json").read_text()) for name in ("lambdas", "plain")}
    assert any("fewer than 5 samples on each side are left out" in note for note in pages["lambdas"]["notes"])
    assert not any("left out" in note for note in pages["plain"]["notes"])
    methods = {name: {row["name"]: row for row in page["rows"] if row["kind"] == "method_total"} for name, page in pages.items()}
    assert methods["plain"] and set(methods["plain"]) <= set(methods["lambdas"])
    assert all(max(row["samples_before"], row["samples_after"]) >= 5 for row in methods["lambdas"].values())


def services_at_work(job):
    """Processes in which services are compared."""
    found = run("ps", "--ppid", job.pid, "-o", "pid=,comm=").stdout
    return [int(line.split()[0]) for line in found.splitlines() if line.split()[1] == "jbpf-diff-days"]


def test_a_service_whose_process_is_killed_fails_alone(tmp_path):
    # The one with fewer samples comes first, and takes long enough to be met.
    script = "".join(run_line(1, day, "killed", "stacks=4000") + run_line(2, day, "busy", "load=4")
                     for day in range(DAYS - 2, DAYS))
    store = make_store(tmp_path / "store", script)
    job = subprocess.Popen([BIN / "jbpf-diff", "--days", "1", "--store", store, "--output-dir", tmp_path / "out"],
                           env={**os.environ, "TZ": ZONE}, stdout=subprocess.PIPE, text=True)
    os.kill(wait_until(lambda: services_at_work(job), 30, "no process of a service")[0], signal.SIGKILL)
    out, _ = job.communicate(timeout=120 * PATIENCE)
    assert job.returncode == 1
    busy, killed = sorted(out.splitlines()[:2])
    assert killed == "killed: failed: ended by signal 9 (Killed)"
    assert busy.startswith("busy: learning: ")


def two_days(*events):
    """Windows of five minutes of one service on the last two days, of each event."""
    script = ""
    for event in events:
        fields = "event=5 unit=1 period=100000000 frequency_hz=0" if event == "off-cpu" else ""
        for day, start in ((DAYS - 2, TODAY - 2 * DAY), (DAYS - 1, TODAY - DAY)):
            for block in range(12):
                x = 110 + block
                script += f"window start={start + 9 * 3600 + 300 * block} duration=300 pid=1 samples=200 comm=a service=shop {fields}\n" \
                    f"\ta;x{event} {x}\n\ta;y{event} {200 - x}\ncommit\n"
    return script


@pytest.mark.parametrize("stored, asked, shown", [
    (("cpu", "off-cpu"), [], ("cpu", "off-cpu")), (("cpu",), [], ("cpu",)), (("off-cpu",), [], ("off-cpu",)),
    (("cpu", "off-cpu"), ["--event", "cpu"], ("cpu",))], ids=lambda value: "-".join(value) or "none")
def test_the_job_covers_what_a_service_computes_and_what_it_waits_for(tmp_path, stored, asked, shown):
    store = make_windows(tmp_path / "store", two_days(*stored))
    output = tmp_path / "out"
    result = days(store, output, *asked)
    assert result.returncode == 0, result.stderr
    pages = {"cpu": output / "latest" / "index.html", "off-cpu": output / "off-cpu" / "latest" / "index.html"}
    assert {event for event, page in pages.items() if page.exists()} == set(shown), listing(output)
    assert ("Waiting:" in result.stdout) == ("off-cpu" in shown), result.stdout
    for event in shown:
        summary = json.loads(pages[event].with_name("summary.json").read_text())
        assert summary["event"] == event and [one["name"] for one in summary["services"]] == ["shop"], summary
        page = pages[event].read_text()
        assert (">Waiting</a>" in page, ">CPU</a>" in page) == (event == "cpu" and "off-cpu" in shown,
                                                                event == "off-cpu" and "cpu" in shown), page
        for link in re.findall(r'href="([^"]*latest/index.html)"', page):
            assert (pages[event].parent / link).exists(), link


@pytest.mark.parametrize("failed", ["off-cpu", "a service", None])
def test_a_regression_is_told_whatever_else_fails(tmp_path, failed):
    script = "".join(run_line(1, day, "slower", "plant=2:1.3" if day == DAYS - 1 else "") for day in range(DAYS - 8, DAYS))
    store = make_windows(make_store(tmp_path / "store", script), two_days("off-cpu"))
    output = tmp_path / "out"
    output.mkdir()
    if failed == "off-cpu":
        (output / "off-cpu").write_text("no directory")
    elif failed:
        (output / "off-cpu" / "series-of-waits" / "shop.series").mkdir(parents=True)
    result = days(store, output, "--fail-on", "regression")
    assert result.returncode == 4, result.stderr
    assert "slower: regression: shop.p0.Class0.method2" in result.stdout
    assert (failed == "off-cpu") == ("jbpf-diff: " in result.stderr), result.stderr
    assert (failed == "a service") == ("shop: failed: " in result.stdout), result.stdout


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
def test_systemd_accepts_the_units(tmp_path):
    for name in ("jbpf-diff.service", "jbpf-diff.timer"):
        unit = (TOP / "scripts/systemd" / name).read_text().replace("/usr/local/bin/", f"{BIN}/")
        # Manual pages are looked up where they are installed.
        unit = "".join(line for line in unit.splitlines(True) if not line.startswith("Documentation="))
        (tmp_path / name).write_text(unit)
    result = run("systemd-analyze", "verify", tmp_path / "jbpf-diff.service", tmp_path / "jbpf-diff.timer")
    # What it says of the host's own units is not ours.
    assert result.returncode == 0 and "jbpf-diff." not in result.stderr, result.stderr


@pytest.fixture
def shared_place():
    """A place that other users may go through, which those of pytest are not."""
    with tempfile.TemporaryDirectory(prefix="jbpf-diff-days-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def give(folder, user):
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user)


@pytest.mark.root
def test_root_does_the_work_of_the_unit_as_the_units_user(store, shared_place):
    """Otherwise the next run of the timer could not read what root wrote."""
    mine, output = shared_place / "store", shared_place / "out"
    shutil.copytree(store, mine)
    give(mine, 12345)
    mine.chmod(0o750)
    output.mkdir(mode=0o750)
    give(output, 12345)
    result = days(mine, output)
    assert result.returncode == 0 and not result.stderr, result.stderr
    assert (output / "latest" / "index.html").is_file()
    assert {path.lstat().st_uid for path in (output, *output.rglob("*"))} == {12345}


@pytest.mark.root
def test_root_stays_root_where_only_root_may_read_the_store(store, shared_place):
    output = shared_place / "out"
    output.mkdir()
    give(output, 12345)
    mine = shared_place / "store"
    shutil.copytree(store, mine)
    mine.chmod(0o700)
    result = days(mine, output)
    assert result.returncode == 0 and (output / "latest" / "index.html").is_file()
    said, = result.stderr.splitlines()
    assert "user 12345, who may not read what is compared: what is written there is root's" in said
