# SPDX-License-Identifier: Apache-2.0
"""jbpf diff on stores of a made-up service whose changes are known: what it finds, what it keeps quiet
about, and what it says when there is nothing to compare. No BPF, no containers. How often it errs is
measured in tests/diff; the changes here are far beyond doubt, and so is the quiet."""
import gzip
import json
import math
import shutil
import subprocess
import time

import pytest

from harness.programs import BUILD, PATIENCE, jbpf

DAY = 86400
FIRST = 1699920000  # 2023-11-14T00:00:00Z
SPAN = 10800  # each day's recording: 36 blocks of 5 minutes
BEFORE, AFTER = FIRST + 7 * DAY, FIRST + 8 * DAY

# What is different on the last day, by service.
LAST = {
    "same": "",
    "slower": "plant=3:1.3",
    "busier": "load=1.5",
    "mixed": "plant=0:1.5",
    "born": "plant=60:0.4 plant=5:0",
    "restarted": "age=0",
    "recast": "hz=99",
    "nameless": "unknown=0.8",
    "gaps": "",
}
# Days on which it ran not at all, or too short to tell anything.
GAPS = {2: 0, 4: 1800, 5: 0}


def run_line(pid, start, service, extra="", span=SPAN):
    return f"run pid={pid} from={start} until={start + span} service={service} {extra}\n"


def make_store(directory, script, seed=1, drift=0.005, noise=0.02, window=300):
    result = subprocess.run([BUILD / "tests/tools/mkdiffstore", directory, str(seed), str(drift), str(noise),
                             str(window)],
                            input=script, text=True, capture_output=True, timeout=60 * PATIENCE)
    assert result.returncode == 0, result.stderr
    return directory


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    script = ""
    for pid, (service, extra) in enumerate(LAST.items(), 1):
        for day in range(8):
            span = GAPS.get(day, SPAN) if service == "gaps" else SPAN
            if span:
                script += run_line(pid, FIRST + day * DAY, service, "image=shop:1", span)
        script += run_line(pid, AFTER, service, "image=shop:1 " + extra)
    return make_store(tmp_path_factory.mktemp("diff") / "store", script)


def diff(store, *arguments, before=BEFORE, after=AFTER, span=SPAN):
    return jbpf("diff", "--store", store, "--before", f"@{before}..@{before + span}",
                "--after", f"@{after}..@{after + span}", *arguments)


def as_json(result, code=0):
    assert result.returncode == code, result.stderr
    return json.loads(result.stdout)


def methods(answer, kind="method_self"):
    return {row["name"]: row for row in answer["rows"] if row["kind"] == kind}


def verdicts(answer):
    """All that is said of methods, but for what is not said."""
    return {row["name"]: row["verdict"] for row in answer["rows"]
            if row["kind"] == "method_self" and row["verdict"] not in ("same", "unresolved")}


def failed_gates(answer):
    return [gate["name"] for gate in answer["summary"]["gates"] if not gate["passed"]]


def alarms_of(result):
    return [line for line in result.stderr.splitlines() if "regression: " in line]


def test_days_alike_raise_no_alarm(store):
    result = diff(store, "--service", "same", "--format", "json", "--fail-on", "regression")
    answer = as_json(result)
    summary = answer["summary"]
    assert result.stderr == ""
    assert summary["mode"] == "statistical" and summary["gates_passed"] and summary["alarms"] == 0
    assert summary["calibration"] == "history" and summary["history_pairs"] == 7
    assert summary["blocks_before"] == summary["blocks_after"] == 36 and summary["is_paired"]
    assert answer["notes"] == []
    assert 0.9 < summary["cores_before"] < 1.1
    assert verdicts(answer) == {}


def test_a_slower_method_is_one_alarm(store):
    result = diff(store, "--service", "slower", "--format", "json", "--fail-on", "regression")
    answer = as_json(result, 4)
    assert verdicts(answer) == {"shop.p0.Class0.method3": "up"}
    low, high = (methods(answer)["shop.p0.Class0.method3"]["change"][end] for end in ("low", "high"))
    assert 0 < low < high and low - 0.1 < math.log(1.3) < high + 0.1
    # Its callers need more, too, and are not named one by one.
    assert len(alarms_of(result)) == 1
    assert alarms_of(result)[0].startswith("jbpf-diff: regression: shop.p0.Class0.method3 +")


def test_without_fail_on_an_alarm_is_no_failure(store, tmp_path):
    page = tmp_path / "diff.txt"
    result = diff(store, "--service", "slower", "-o", page)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert "shop.p0.Class0.method3" in page.read_text() and "ALARMS" in page.read_text()


def test_every_format_says_the_same(store, tmp_path):
    page = tmp_path / "diff.html"
    assert diff(store, "--service", "slower", "--format", "html", "-o", page).returncode == 0
    assert page.read_text().startswith("<!DOCTYPE html>") and "shop.p0.Class0.method3" in page.read_text()
    lines = diff(store, "--service", "slower", "--format", "folded").stdout.splitlines()
    rows = methods(as_json(diff(store, "--service", "slower", "--format", "json")))
    grown = next(line for line in lines if "method3_[j] " in line).split(" ")
    answer = as_json(diff(store, "--service", "slower", "--format", "json"))
    row = rows["shop.p0.Class0.method3"]
    scale = answer["after"]["samples"] / answer["before"]["samples"]
    assert [int(count) for count in grown[1:]] == [int(row["samples_before"] * scale + 0.5), row["samples_after"]]
    assert len(lines) == len(rows)


def test_merged_hours_and_days_compare_as_they_did_before(store, tmp_path):
    merged = shutil.copytree(store, tmp_path / "store")
    result = jbpf("store", "compact", "--store", merged)
    assert result.returncode == 0, result.stderr
    assert list(merged.glob("v1/cpu/2023/11/*.zst")) and not list(merged.glob("v1/cpu/2023/11/*/*"))
    for arguments in ((), ("--service", "restarted"), ("--service", "recast")):
        assert as_json(diff(merged, *arguments, "--format", "json")) == \
            as_json(diff(store, *arguments, "--format", "json"))


def test_more_load_of_the_same_mix_is_no_change(store):
    answer = as_json(diff(store, "--service", "busier", "--format", "json", "--fail-on", "regression"))
    assert 1.4 < math.exp(answer["summary"]["scale"]["value"]) < 1.6
    assert verdicts(answer) == {}


def test_one_method_that_grows_makes_no_other_look_smaller(store):
    answer = as_json(diff(store, "--service", "mixed", "--format", "json", "--fail-on", "regression"), 4)
    assert verdicts(answer) == {"shop.p0.Class0.method0": "up"}


def test_methods_come_and_go(store):
    answer = as_json(diff(store, "--service", "born", "--format", "json"))
    assert verdicts(answer) == {"shop.p3.Class12.method60": "new", "shop.p0.Class1.method5": "gone"}


def test_a_restart_is_left_out_and_said(store):
    answer = as_json(diff(store, "--service", "restarted", "--format", "json", "--fail-on", "regression"))
    assert answer["summary"]["blocks_after"] == 34
    assert answer["summary"]["warm_up_before"] == 0 and answer["summary"]["warm_up_after"] == 2
    assert any("after: " in note and "first 10 minutes" in note for note in answer["notes"])
    assert verdicts(answer) == {}
    result = diff(store, "--service", "restarted", "--fail-on", "regression", span=600)
    assert result.returncode == 3 and "first 10 minutes" in result.stderr


def test_another_sampling_rate_is_made_up_for(store):
    answer = as_json(diff(store, "--service", "recast", "--format", "json", "--fail-on", "regression"))
    assert 0.95 < math.exp(answer["summary"]["load"]["value"]) < 1.05
    assert verdicts(answer) == {}


def test_without_names_nothing_is_judged(store):
    result = diff(store, "--service", "nameless", "--format", "json", "--fail-on", "regression")
    answer = as_json(result)
    assert answer["summary"]["mode"] == "descriptive" and "unknown" in failed_gates(answer)
    assert {row["verdict"] for row in answer["rows"]} == {"unresolved"}
    assert "no regression could be confirmed" in result.stderr


def test_one_block_is_described_only(store):
    result = diff(store, "--service", "slower", "--format", "json", "--fail-on", "regression", span=300)
    answer = as_json(result)
    assert answer["summary"]["mode"] == "descriptive" and "blocks" in failed_gates(answer)
    # Its windows are of five minutes, and so are blocks.
    assert result.stderr == ("jbpf-diff: no regression could be confirmed: too little was recorded on a side: "
                             "5 min before and 5 min after can be compared, 40 min of each are needed\n")


@pytest.mark.parametrize("change", ["regression", "slower"])
def test_who_asks_for_it_is_told_by_an_exit_code_that_nothing_could_be_judged(store, change):
    plain = diff(store, "--service", "slower", "--fail-on", change, span=300)
    asked = diff(store, "--service", "slower", "--fail-on", f"{change}-or-unjudged", span=300)
    assert (plain.returncode, asked.returncode) == (0, 5)
    assert (asked.stdout, asked.stderr) == (plain.stdout, plain.stderr)
    assert asked.stderr.startswith("jbpf-diff: no regression could be confirmed: too little") and asked.stderr.count("\n") == 1
    # What could be judged ends as without it.
    for service, code in (("slower", 4), ("same", 0)):
        assert diff(store, "--service", service, "--fail-on", f"{change}-or-unjudged").returncode == code


def test_without_earlier_days_there_is_no_alarm(store):
    result = diff(store, "--service", "same", "--format", "json", "--fail-on", "regression",
                  before=FIRST, after=FIRST + DAY)
    answer = as_json(result)
    assert answer["summary"]["calibration"] == "pair"
    assert any(note.startswith("calibrated from this pair only") for note in answer["notes"])
    assert "too few earlier days" in result.stderr


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    """A quarter of an hour of shop:1, then 5 minutes later one of shop:2 with a slower method; and of each at
    one time the same, as canary. Nothing else is in the store."""
    quarter = {"span": 900}
    script = run_line(1, FIRST, "shop", "image=shop:1", **quarter)
    script += run_line(2, FIRST + 1200, "shop", "image=shop:2 plant=2:1.4", **quarter)
    script += run_line(3, FIRST + 1200, "shop", "image=shop:1-same", **quarter)
    script += run_line(6, FIRST + 1200, "shop", "image=shop:3 age=0 cold=120", **quarter)
    script += run_line(7, FIRST + 1200, "shop", "image=shop:4 plant=60:0.2", **quarter)
    script += run_line(4, FIRST, "canary", "image=web:1", **quarter)
    script += run_line(5, FIRST, "canary", "image=web:2 plant=2:1.4", **quarter)
    return make_store(tmp_path_factory.mktemp("deploy") / "store", script, noise=0.02, window=10)


@pytest.mark.parametrize("service, before, after, paired", [
    ("shop", "shop:1", "shop:2", False), ("canary", "web:1", "web:2", True),
])
def test_a_quarter_of_an_hour_is_enough_to_find_a_slower_image(deployment, service, before, after, paired):
    def compare(*arguments):
        return jbpf("diff", "--store", deployment, "--service", service, "--since", f"@{FIRST}", "--until",
                    f"@{FIRST + 3600}", "--before-image", before, "--after-image", after, *arguments)

    result = compare("--format", "json", "--fail-on", "slower")
    answer = as_json(result, 4)
    summary = answer["summary"]
    assert summary["mode"] == "statistical" and summary["gates_passed"] and summary["is_paired"] == paired
    assert summary["blocks_before"] == summary["blocks_after"] == 15
    assert summary["calibration"] == "pair" and answer["options"]["alarm_without_history"]
    assert 0.8 < summary["cores_before"] < 1.2
    assert verdicts(answer) == {"shop.p0.Class0.method2": "up"}
    assert answer["sentence"].startswith(f"service {service} got slower: it needs ")
    assert "more CPU for the same work, mostly shop.p0.Class0.method2 (+" in answer["sentence"]
    table = compare("--fail-on", "slower").stdout
    assert table.startswith(answer["sentence"] + "\n\n")
    assert [line.split(" +")[0] for line in result.stderr.splitlines()] == \
        ["jbpf-diff: slower: shop.p0.Class0.method2"]
    # Who asks for a regression wants to know it from earlier days, of which there are none.
    result = compare("--fail-on", "regression")
    assert result.returncode == 0 and "too few earlier days" in result.stderr
    assert "--fail-on slower raises them without" in result.stdout


def test_new_code_that_needs_more_is_slower_and_no_regression(deployment):
    def compare(before, after, fail_on):
        return jbpf("diff", "--store", deployment, "--service", "shop", "--since", f"@{FIRST}", "--until", f"@{FIRST + 3600}",
                    "--before-image", before, "--after-image", after, "--format", "json", "--fail-on", fail_on)

    result = compare("shop:1", "shop:4", "slower")
    answer = as_json(result, 4)
    assert answer["summary"]["alarms"] == 0 and verdicts(answer) == {"shop.p3.Class12.method60": "new"}
    assert "got slower: it needs " in answer["sentence"] and "shop.p3.Class12.method60 (new)" in answer["sentence"]
    assert result.stderr == f"jbpf-diff: slower: {answer['sentence']}\n"
    assert compare("shop:1", "shop:4", "regression").returncode == 0
    assert compare("shop:4", "shop:1", "slower").returncode == 0


@pytest.mark.parametrize("since", ["4h", None])
def test_a_merged_hour_is_cut_into_minutes_whatever_time_is_asked_for(tmp_path, since):
    """The reader merges windows of merged hours to the length of a block: that is not how long they are."""
    start = int(time.time()) // 3600 * 3600 - 7200  # a week later it would be a day, of windows of 5 minutes
    script = run_line(1, start, "shop", "image=shop:1", span=900)
    script += run_line(2, start + 1200, "shop", "image=shop:2 plant=2:1.4", span=900)
    # Draws go by the time: in one hour of forty they would hide what is planted.
    store = make_store(tmp_path / "store", script, drift=0, noise=0, window=10)
    assert jbpf("store", "compact", "--store", store).returncode == 0
    answer = as_json(jbpf("diff", "--store", store, "--before-image", "shop:1", "--after-image", "shop:2", "--format", "json",
                          "--fail-on", "slower", *(["--since", since] if since else [])), 4)
    assert answer["summary"]["blocks_before"] == answer["summary"]["blocks_after"] == 15, answer["summary"]
    assert verdicts(answer) == {"shop.p0.Class0.method2": "up"}


def test_an_image_that_ends_within_a_minute_has_the_cores_of_the_time_it_ran(tmp_path):
    """The host goes on: another service runs in the rest of the block, and the next image."""
    cut = 10
    script = run_line(1, FIRST, "shop", "image=shop:1", span=600 + cut)
    script += run_line(2, FIRST + 600 + cut, "shop", "image=shop:2", span=600 - cut)
    script += run_line(3, FIRST, "other", span=1200)
    store = make_store(tmp_path / "store", script, drift=0, noise=0, window=10)
    answer = as_json(jbpf("diff", "--store", store, "--service", "shop", "--since", f"@{FIRST}", "--until",
                          f"@{FIRST + 3600}", "--before-image", "shop:1", "--after-image", "shop:2", "--format", "json"))
    summary = answer["summary"]
    assert (summary["blocks_before"], summary["blocks_after"]) == (11, 10)
    # By whole minutes it would be 610 of 660 seconds' worth, 8 % less.
    assert summary["cores_before"] == pytest.approx(1, rel=0.03)
    assert summary["cores_after"] == pytest.approx(1, rel=0.03)


def test_an_image_that_is_as_fast_as_the_last_one_passes(deployment):
    result = jbpf("diff", "--store", deployment, "--service", "shop", "--since", f"@{FIRST}", "--until",
                  f"@{FIRST + 3600}", "--before-image", "shop:1", "--after-image", "shop:1-same",
                  "--fail-on", "slower")
    assert (result.returncode, result.stderr) == (0, "")


def test_a_jvm_counts_from_when_it_is_warm_not_from_a_clock(deployment):
    answer = as_json(jbpf("diff", "--store", deployment, "--service", "shop", "--since", f"@{FIRST}", "--until",
                          f"@{FIRST + 3600}", "--before-image", "shop:1", "--after-image", "shop:3",
                          "--format", "json", "--fail-on", "slower"))
    summary = answer["summary"]
    assert summary["mode"] == "statistical" and summary["gates_passed"]
    assert (summary["blocks_before"], summary["blocks_after"], summary["warm_up_after"]) == (15, 13, 2)
    assert any(note.startswith("after: ") and "warming up" in note for note in answer["notes"])


def test_a_quarter_of_an_hour_in_long_windows_has_no_blocks_of_a_minute(store):
    """Of old days the store keeps 5 minutes as one: their time must not be a minute's."""
    answer = as_json(diff(store, "--service", "same", "--format", "json", span=900))
    assert answer["summary"]["blocks_before"] == 3 and answer["summary"]["mode"] == "descriptive"
    assert 0.9 < answer["summary"]["cores_before"] < 1.1


def test_days_that_tell_nothing_do_not_calibrate(store):
    summary = as_json(diff(store, "--service", "gaps", "--format", "json"))["summary"]
    assert summary["calibration"] == "history" and summary["history_pairs"] == 4
    answer = as_json(diff(store, "--service", "gaps", "--format", "json", before=FIRST + 3 * DAY, after=BEFORE))
    assert answer["summary"]["history_pairs"] == 2
    assert answer["notes"] == ["calibrated from this pair only: the store has 2 earlier pairs of such times, "
                               "3 are needed to raise alarms; --fail-on slower raises them without"]


@pytest.mark.parametrize("arguments, times, words", [
    (["--service", "none"], {}, "no samples on the side before (2023-11-21T00:00:00Z to "
     "2023-11-21T03:00:00Z); no service 'none' in that time, which has "),
    ([], {"after": AFTER + DAY}, "no samples on the side after (2023-11-23T00:00:00Z to "
     "2023-11-23T03:00:00Z); that time is empty; the store has samples from 2023-11-14T00:00:00Z"),
])
def test_a_side_without_samples_is_exit_3(store, arguments, times, words):
    result = diff(store, *arguments, **times)
    assert result.returncode == 3 and result.stdout == ""
    assert result.stderr.startswith("jbpf-diff: " + words) and result.stderr.count("\n") == 1
    assert "see --list" not in result.stderr


def test_no_store_and_wrong_usage_say_so(tmp_path):
    result = diff(tmp_path / "none")
    assert result.returncode == 1 and "there is no store in" in result.stderr
    for arguments, words in ((["--before", "2d..1d"], "--before and --after go together"),
                             (["a.folded"], "two files are compared"), ([], "what is to be compared?")):
        result = jbpf("diff", *arguments)
        assert result.returncode == 2 and words in result.stderr and result.stderr.count("\n") == 1


@pytest.fixture(scope="module")
def deploys(tmp_path_factory):
    """Hours at different times of the day, and at the last of them a new image beside the old one."""
    script = ""
    for day in range(9):
        morning = "plant=3:1.3 image=shop:2" if day == 8 else "image=shop:1"
        script += run_line(1, FIRST + day * DAY, "shop", "image=shop:1", 7200)
        script += run_line(2, FIRST + day * DAY + 28800, "shop", morning, 7200)
    script += run_line(3, AFTER + 28800, "shop", "image=shop:1", 7200)
    return make_store(tmp_path_factory.mktemp("diff") / "store", script, seed=2)


def test_before_and_after_noon_are_calibrated_by_the_same_hours_of_earlier_days(deploys):
    arguments = ("--format", "json", "--fail-on", "regression")
    quiet = as_json(diff(deploys, *arguments, before=BEFORE, after=BEFORE + 28800, span=7200))
    assert quiet["summary"]["calibration"] == "history" and quiet["summary"]["history_pairs"] == 7
    assert not quiet["summary"]["is_paired"] and quiet["summary"]["gates_passed"]
    assert verdicts(quiet) == {}
    slow = as_json(jbpf("diff", "--store", deploys, "--pid", "2", *arguments,
                        "--before", f"@{BEFORE + 28800}..@{BEFORE + 36000}",
                        "--after", f"@{AFTER + 28800}..@{AFTER + 36000}"), 4)
    assert verdicts(slow) == {"shop.p0.Class0.method3": "up"}


def test_two_images_of_one_time_are_compared(deploys):
    times = ("--since", f"@{AFTER}", "--until", f"@{AFTER + DAY}", "--store", deploys)
    answer = as_json(jbpf("diff", "--before-image", "shop:1", "--after-image", "shop:2", *times,
                          "--format", "json"))
    assert verdicts(answer).get("shop.p0.Class0.method3") == "up"
    assert answer["after"]["image"] == "shop:2" and answer["after"]["streams"] == 1
    result = jbpf("diff", "--before-image", "shop:1", "--after-image", "shop:3", *times)
    assert result.returncode == 3
    assert "image shop:3" in result.stderr and "that time has images shop:1 (service shop)" in result.stderr


def test_two_images_within_a_side_are_pointed_out(deploys):
    answer = as_json(diff(deploys, "--format", "json", before=BEFORE + 28800, after=AFTER + 28800, span=7200))
    assert answer["notes"] == [
        "service shop ran two images within a side; to compare them: --service shop --before-image shop:1 "
        "--after-image shop:2 --since 2023-11-21T08:00:00Z --until 2023-11-22T10:00:00Z"]


def packed_by_zstd(text):
    return subprocess.run(["zstd", "-q", "-c"], input=text, capture_output=True, check=True).stdout


def files(directory, before, after):
    for name, text in (("before", before), ("after", after)):
        (directory / name).write_bytes(text)
    return directory / "before", directory / "after"


def test_folded_files_of_other_profilers_are_described(tmp_path):
    before, after = files(tmp_path, b"java;java/lang/Thread.run;a/B.c 60\njava;java/lang/Thread.run;a/B$$Lambda$7.x 40\n",
                          b"java;java.lang.Thread.run_[j];a.B.c_[j] 50\r\n\n# comment\nno count\n"
                          b"java;java.lang.Thread.run_[j];a.B$$Lambda$9/0x00007f01.x_[i] 149.6\n")
    result = jbpf("diff", before, after, "--format", "json")
    answer = as_json(result)
    assert result.stderr == f"jbpf-diff: '{after}' line 4: no 'stack count', skipped\n"
    assert {row["verdict"] for row in answer["rows"]} == {"unresolved"}
    assert {name: (row["share_before"], round(row["share_after"], 4)) for name, row in methods(answer).items()} == {
        "a.B.c": (0.6, 0.2505), "a.B$$Lambda.x": (0.4, 0.7495)}
    assert answer["notes"][0].startswith("two files without times")
    assert answer["notes"][-1] == "both files: counts have decimals: all were multiplied by 10"
    table = jbpf("diff", before, after).stdout
    assert table.startswith("two folded files: a.B$$Lambda.x went from 40.00 % to 74.95 %, a.B.c from 60.00 % to 25.05 % of the samples.")
    assert [line for line in table.splitlines() if line.startswith("!")] == [
        "! Mode            two files without times, so nothing tells a change from chance: shares are shown, the largest "
        "change first, and nothing is judged"]
    assert "\nOF     BEFORE%   AFTER%   POINTS     CHANGE  METHOD\nself     " in table, table
    assert "\nself     40.00    74.95   +34.95    +87.4 %  a.B$$Lambda.x_[j]\n" in table, table
    folded = jbpf("diff", before, after, "--format", "folded")
    assert folded.stdout == ("java;java.lang.Thread.run_[j];a.B$$Lambda.x_[j] 798 1496\n"
                             "java;java.lang.Thread.run_[j];a.B.c_[j] 1198 500\n")


RECIPES = {
    # What perf script | stackcollapse-perf.pl makes of the JDK's own map: addresses differ from run to run.
    "perf's map of the JDK": (
        "java;start_thread;void java.lang.Thread.run;void shop.Job$$Lambda/0x00007f1c2c001000.run;void shop.Job.lambda$start$0 100\n"
        "java;start_thread;void java.lang.Thread.run;void shop.Job$$Lambda/0x00007f1c2c001000.run_[j] 50\n"
        "java;start_thread;int shop.Cart.total 100\n",
        {"java.lang.Thread.run": 0.6, "shop.Job$$Lambda.run": 0.6, "shop.Job.lambda$start$0": 0.4, "shop.Cart.total": 0.4,
         "start_thread": 1}),
    "dotted and small names": (
        "java.lang.Thread.run;com.shop.Cart.copy;java.util.ArrayList.clone 50\n"
        "java.lang.Thread.run;com.shop.Cart.copy;com.shop.Engine.warm 40\njava/lang/Thread.run;a/b/c.clone 10\n",
        {"java.lang.Thread.run": 1, "com.shop.Cart.copy": 0.9, "java.util.ArrayList.clone": 0.5, "com.shop.Engine.warm": 0.4,
         "a.b.c.clone": 0.1}),
    "bpftrace's offsets": ("app;main+243;f+17 50\napp;main+244;f+91 50\n", {"main": 1, "f": 1}),
    "exponents": ("app;a 1.5e+06\napp;b 500000\n", {"a": 0.75, "b": 0.25}),
    "small decimals": ("".join(f"app;f{i} 0.4\n" for i in range(10)) + "app;g 1.0\n",
                       {"g": 0.2} | {f"f{i}": 0.08 for i in range(10)}),
    "a byte order mark": ("\ufeffapp;a 30\napp;b 10\n", {"a": 0.75, "b": 0.25}),
    "names of Ruby": ("#<Class:0x1>;call 10\n# a comment 5\nb;c 30\n", {"call": 0.25, "c": 0.75}),
    "generated classes": (
        "java;shop.Order$HibernateInstantiator$A1b2C3d4.newInstance_[j] 60\njava;shop.Order_$$_jvst3a9_12.getId_[j] 20\n"
        "java;app.core$handler$fn__5866.invoke_[j] 20\n",
        {"shop.Order$HibernateInstantiator.newInstance": 0.6, "shop.Order_$$_jvst.getId": 0.2,
         "app.core$handler$fn__.invoke": 0.2}),
    "inlined C++": ("app;std::vector<int>::size_[i] 10\n", {"std::vector<int>::size": 1}),
    "nanoseconds": ("app;a 9000000000000000001\napp;b 9000000000000000001\n", {"a": 0.5, "b": 0.5}),
}


@pytest.mark.parametrize("pack", [bytes, gzip.compress, packed_by_zstd], ids=["plain", "gzip", "zstd"])
@pytest.mark.parametrize("text, shares", RECIPES.values(), ids=RECIPES)
def test_text_of_each_profiler_is_read_as_it_was_meant(tmp_path, text, shares, pack):
    after = text.replace("0x00007f1c2c001000", "0x00007fa0f4003450").replace("f+17", "f+18")
    after = after.replace("A1b2C3d4", "e5F6g7H8").replace("3a9_12", "71c_4").replace("fn__5866", "fn__5912")
    result = jbpf("diff", *files(tmp_path, text.encode(), pack(after.encode())), "--format", "json")
    rows = [row for row in as_json(result)["rows"] if row["kind"] == "method_total"]
    assert result.stderr == ""
    assert {row["name"]: (round(row["share_before"], 6), round(row["share_after"], 6)) for row in rows} == {
        name: (share, share) for name, share in shares.items()}


PARAMETERS = {
    "bpftrace's of the JDK's map": "java;void java.lang.Thread.run()+17;int shop.Cart.total(int, java.lang.String[])+31 60\n"
                                   "java;void java.lang.Thread.run()+5;void shop.Cart.add(int)+1 30\n"
                                   "java;void java.lang.Thread.run()+5;void shop.Cart.add(long) 10\n",
    "async-profiler's signatures": "java;java/lang/Thread.run()V;shop/Cart.total(I[Ljava/lang/String|)I 60\n"
                                   "java;java/lang/Thread.run()V;shop/Cart.add(I)V 40\n",
}


@pytest.mark.parametrize("text", PARAMETERS.values(), ids=PARAMETERS)
def test_parameters_that_one_profiler_alone_writes_make_no_method_another(tmp_path, text):
    plain = b"java;java/lang/Thread.run;shop/Cart.total 60\njava;java/lang/Thread.run;shop/Cart.add 40\n"
    for before, after in ((plain, text.encode()), (text.encode(), plain)):
        answer = as_json(jbpf("diff", *files(tmp_path, before, after), "--format", "json"))
        assert {row["name"]: (row["share_before"], row["share_after"])
                for row in answer["rows"] if row["kind"] == "method_total"} == {
                    "java.lang.Thread.run": (1, 1), "shop.Cart.total": (0.6, 0.6), "shop.Cart.add": (0.4, 0.4)}
        assert any("alone has the parameters of methods" in note for note in answer["notes"])
    both = as_json(jbpf("diff", *files(tmp_path, text.encode(), text.encode()), "--format", "json"))
    assert all("(" in row["name"] for row in both["rows"] if row["kind"] == "method_total")


def test_kernel_functions_that_one_profiler_alone_marks_are_the_same(tmp_path):
    marked = b"java;a/B.c;Java_write;do_syscall_64_[k];vfs_write_[k] 60\njava;a/B.d 40\n"
    plain = b"java;a/B.c;Java_write;do_syscall_64;vfs_write 60\njava;a/B.d 40\n"
    user_only = b"java;a/B.c;Java_write 60\njava;a/B.d 40\n"
    for before, after in ((marked, plain), (plain, marked)):
        answer = as_json(jbpf("diff", *files(tmp_path, before, after), "--format", "json"))
        assert all(row["share_before"] == row["share_after"] for row in answer["rows"]), answer["rows"]
        assert any("alone marks functions of the kernel" in note for note in answer["notes"])
    for before, after in ((marked, marked), (marked, user_only)):
        answer = as_json(jbpf("diff", *files(tmp_path, before, after), "--format", "json"))
        assert not any("alone marks functions" in note for note in answer["notes"])


@pytest.mark.parametrize("text", [
    b"java/lang/Thread.run;Main.work 60\nMain.main;Main.work 30\nstart_thread;GangWorker::run 10\n",
    b"java/lang/Thread.run_[0];Main.work_[j] 60\nMain.main_[1];Main.work_[j] 30\nstart_thread;GangWorker::run 10\n",
], ids=["plain", "annotated"])
def test_a_profiler_of_one_process_has_code_in_front_of_every_stack(tmp_path, text):
    rows = as_json(jbpf("diff", *files(tmp_path, text, text), "--format", "json"))["rows"]
    assert {row["name"]: row["share_after"] for row in rows if row["kind"] == "method_total"} == {
        "java.lang.Thread.run": 0.6, "Main.main": 0.3, "start_thread": 0.1, "GangWorker::run": 0.1, "Main.work": 0.9}


# One JVM, by stackcollapse-perf.pl with the JDK's own map, and by async-profiler's -o collapsed.
OF_PERF = b"""java;start_thread;JavaMain;JavaCalls::call_helper;StubRoutines ;Interpreter;void Main.main;long Main.sum 500000
java;start_thread;JavaCalls::call_helper;StubRoutines ;Interpreter;void a.B.copy;StubRoutines  300000
java;start_thread;JavaCalls::call_helper;StubRoutines ;Interpreter;void a.B.copy;write;do_syscall_64 100000
GC Thread#0;start_thread;GangWorker::loop 100000
"""
OF_ASYNC_PROFILER = b"""java/lang/Thread.run;Main.main;Main.sum 50
java/lang/Thread.run;a/B.copy;jint_disjoint_arraycopy 20
java/lang/Thread.run;a/B.copy;oop_arraycopy 10
java/lang/Thread.run;a/B.copy;write;do_syscall_64_[k] 10
clone3;start_thread;GangWorker::loop 10
"""


def test_two_profilers_of_one_jvm_differ_in_interpreted_methods_alone(tmp_path):
    answer = as_json(jbpf("diff", *files(tmp_path, OF_PERF, OF_ASYNC_PROFILER), "--format", "json"))
    differ = {row["name"] for row in answer["rows"]
              if row["kind"].startswith("method") and row["share_before"] != row["share_after"]}
    assert differ == {"Interpreter", "java.lang.Thread.run"}, answer["rows"]
    told = ("processes or threads", "code in front of the first method", "clone()", "marks functions of the kernel",
            "the JVM's stubs apart", "no names for methods that are interpreted")
    for words in told:
        assert sum(words in note for note in answer["notes"]) == 1, (words, answer["notes"])


def test_a_line_that_is_too_long_loses_its_root_and_says_so(tmp_path):
    deep = "java" + ";com/example/parser/RecursiveDescentParser.parseExpression" * 1500 + " 900\njava;com/example/Main.idle 100\n"
    answer = as_json(jbpf("diff", *files(tmp_path, deep.encode(), deep.encode()), "--format", "json"))
    shares = {name: row["share_after"] for name, row in methods(answer).items()}
    assert shares == {"com.example.parser.RecursiveDescentParser.parseExpression": 0.9, "com.example.Main.idle": 0.1}
    assert any("1 line of more than 60 KiB" in note for note in answer["notes"])


def test_what_cannot_be_read_is_named_with_its_reason(tmp_path):
    text = b"a;b 1\na;" + b"x" * 70000 + b" 5\na;\0c 3\na;d -4\n"
    result = jbpf("diff", *files(tmp_path, b"a;b 1\n", text))
    name = tmp_path / "after"
    assert result.stderr == (f"jbpf-diff: '{name}' line 2: a frame of it is too long, skipped\n"
                             f"jbpf-diff: '{name}' line 3: a NUL byte is in it, skipped\n"
                             f"jbpf-diff: '{name}' line 4: no 'stack count', skipped\n")


def test_files_of_other_units_are_scaled_each_by_itself(tmp_path):
    before, after = files(tmp_path, b"a;f 75\na;g 25\n", b"a;f 7500000000000\na;g 2500000000000\n")
    answer = as_json(jbpf("diff", before, after, "--format", "json"))
    assert {name: (round(row["share_before"], 6), round(row["share_after"], 6))
            for name, row in methods(answer).items()} == {"f": (0.75, 0.75), "g": (0.25, 0.25)}
    assert any("other units?" in note for note in answer["notes"])


def test_equal_profiles_of_unequal_totals_have_no_colour(tmp_path):
    before, after = files(tmp_path, b"app;a 100\napp;b 300\n", b"app;a 333\napp;b 999\n")
    assert jbpf("diff", before, after, "--format", "folded").stdout == "app;a 333 333\napp;b 999 999\n"


def test_counts_of_nanoseconds_keep_their_shares(tmp_path):
    answer = as_json(jbpf("diff", *files(tmp_path, b"a;f 9000000000000\na;g 1000000000000\n",
                                         b"a;f 6000000000000\na;g 6000000000000\n"), "--format", "json"))
    assert {name: (round(row["share_before"], 3), round(row["share_after"], 3))
            for name, row in methods(answer).items()} == {"f": (0.9, 0.5), "g": (0.1, 0.5)}
    assert any("were divided by" in note for note in answer["notes"])


@pytest.mark.parametrize("text, code, words", [
    (b"", 3, "no samples on the side after, '"),
    (b"a;b 0\n", 3, "no samples on the side after, '"),
    (b"a;b 3 4\na;c 1 0\n", 1, "has two columns"),
    (b"\x28\xb5\x2f\xfd1234", 1, "is compressed and damaged"),
    (b"\x1f\x8b1234", 1, "is compressed and damaged"),
    (b"\xfd7zXZ\0", 1, "unpack it with xzcat"),
    ("a;b 1\n".encode("utf-16"), 1, "is no folded text but UTF-16"),
    (b"PERFILE2 12", 1, "raw data of perf"),
    (b"<!DOCTYPE html>\n", 1, "is a page"),
    (b"\xff\xfe\0\0\n\0\n", 1, "is no folded text"),
    (b"java 99999999999999999999\n", 1, "is no folded text"),
], ids=["empty", "zero", "two_columns", "zstd", "gzip", "xz", "utf16", "perf", "html", "garbage", "overflow"])
def test_files_that_are_something_else_are_refused(tmp_path, text, code, words):
    result = jbpf("diff", *files(tmp_path, b"a;b 1\n", text))
    assert result.returncode == code and words in result.stderr and result.stdout == ""


def test_files_that_cannot_be_read_are_named(tmp_path):
    before, _ = files(tmp_path, b"a;b 1\n", b"a;b 1\n")
    result = jbpf("diff", before, tmp_path / "none")
    assert result.returncode == 1
    assert result.stderr == f"jbpf-diff: '{tmp_path}/none' cannot be read: No such file or directory\n"
    assert jbpf("diff", before, tmp_path).returncode == 1
