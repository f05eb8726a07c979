# SPDX-License-Identifier: Apache-2.0
"""jbpf dump and jbpf status on stores whose content is known: output byte by byte, exit codes,
selectors, labels in front, and what is said when something is wrong. No BPF, no containers."""
import json
import os
import pty
import re
import shutil
import subprocess
import xml.etree.ElementTree as xml

import pytest

from harness.programs import BIN, PATIENCE, jbpf, lines_of, run
from harness.recent import demand_recent, some_seconds_ago
from harness.store import make_store

# 2023-11-14T22:13:20Z; the second hour begins at 1700002800.
START = 1700000000

SCRIPT = f"""
window start={START} pid=42 ns_pid=1 cgroup_id=9 samples=10 frames=40 unknown_frames=1 is_jvm=1 \
preserve_frame_pointer=2 jit_source=2 jit_age_ms=3000 attach_outcome=1 comm=java container=shop-1 \
container_id=fc533062de76175f5adbb7ddff2b408d9906cf4355b69e158992fb91287957c9 service=shop \
namespace=prod pod=shop-5d8f7b9c4-x2x4z cgroup=/docker/fc53 jvm_version=17.0.15
	java;a.B.run_[j];a.B.work_[j] 6
	java;a.B.run_[j];sys_read_[k] 3
	java;libc.so 1
window start={START} pid=43 samples=4 frames=8 comm=java container=cart-1 service=cart namespace=prod \
image=registry/cart:1.2 host=node-7
	java;a.B.run_[j];a.B.work_[j] 4
window start={START} pid=7 samples=2 frames=2 comm=cron
	cron;do_sys_poll_[k] 2
window start={START} samples=16 counts_full=5
commit
window start={START + 10} pid=42 ns_pid=1 cgroup_id=9 samples=5 frames=10 comm=java container=shop-1 \
container_id=fc533062de76175f5adbb7ddff2b408d9906cf4355b69e158992fb91287957c9 service=shop \
namespace=prod pod=shop-5d8f7b9c4-x2x4z cgroup=/docker/fc53 jvm_version=17.0.15 is_jvm=1
	java;a.B.run_[j];a.B.work_[j] 5
window start={START + 10} samples=5
commit
window start={START + 3600} pid=42 ns_pid=1 cgroup_id=9 samples=100 frames=100 comm=java container=shop-1
	java;a.B.later_[0] 100
commit
"""

ALL = """cron;do_sys_poll_[k] 2
java;a.B.run_[j];a.B.work_[j] 15
java;a.B.run_[j];sys_read_[k] 3
java;libc.so 1
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("known") / "store", SCRIPT)


def dump(store, *arguments, since=START, until=START + 100):
    return jbpf("dump", "--store", store, "--since", f"@{since}", "--until", f"@{until}", *arguments)


def folded(store, *arguments, **times):
    result = dump(store, *arguments, **times)
    assert (result.returncode, result.stderr) == (0, ""), result
    return result.stdout


def test_the_head_of_the_page_names_what_all_of_it_has_in_common(tmp_path):
    one = f"window start={START} samples=1 comm=java is_jvm=1 host=node-1 jvm_version=17.0.15"
    store = make_store(tmp_path / "store", f"{one} pid=1 image=shop:1\n\tjava;a 1\n{one} pid=2 image=shop:2\n\tjava;a 1\n"
                                           f"window start={START} samples=2\ncommit\n")
    page = dump(store, "--format", "html").stdout
    assert '"host":"node-1"' in page and '"jvm":"17.0.15"' in page and '"image"' not in page
    assert '"image":"shop:2"' in dump(store, "--format", "html", "--pid", "2").stdout


@pytest.mark.parametrize("arguments, expected", [
    (["--own", "a.B.run"], "cron;[other code] 2\njava;[other code] 1\njava;a.B.run_[j] 18\n"),
    (["--own", "a.B.w*, sys_?ead", "--kind", "java"], "java;a.B.run_[j];a.B.work_[j] 15\n"),
    (["--own", "cart*,a.B.run", "--by", "container", "--service", "cart"], "cart-1;java;a.B.run_[j] 4\n"),
])
def test_libraries_are_charged_to_own_code(store, arguments, expected):
    assert folded(store, *arguments) == expected
    page = dump(store, *arguments, "--format", "html").stdout
    # The page has all of it, and does that itself.
    assert f'"own":"{arguments[1]}"' in page and "a.B.work" in page


def test_own_code_that_is_nobody_s_is_told(store):
    result = dump(store, "--own", "com.acme.*")
    assert result.returncode == 0 and "a.B" not in result.stdout and "[other code]" in result.stdout, result
    assert re.search(r"^\S+: --own: no frame matches 'com\.acme\.\*', so that all is \[other code\]; ", result.stderr), result
    # A class or package is meant with all that is in it.
    assert dump(store, "--own", "a.B").stderr.rstrip().endswith("; did you mean 'a.B*'?")
    assert dump(store, "--own", "a").stderr.rstrip().endswith("; did you mean 'a*'?")


# ---- what comes out -----------------------------------------------------------------------------

def test_equal_stacks_of_windows_and_processes_are_merged_and_sorted(store):
    assert folded(store) == ALL


def test_time_range_takes_windows_that_overlap_it(store):
    assert folded(store, since=START + 10) == "java;a.B.run_[j];a.B.work_[j] 5\n"
    # A window that only begins before it counts too, one that ends where it begins does not.
    assert folded(store, since=START + 19, until=START + 80) == "java;a.B.run_[j];a.B.work_[j] 5\n"
    assert folded(store, since=START - 60, until=START + 1).startswith("cron;do_sys_poll_[k] 2\n")
    assert folded(store, since=START + 3605, until=START + 3666) == "java;a.B.later_[0] 100\n"


def test_times_may_be_written_in_several_ways(store):
    for since, until in [("2023-11-14T22:13:30Z", "2023-11-14T22:14:00Z"),
                         ("2023-11-14T23:13:30+01:00", f"@{START + 40}.5"),
                         (f"@{START + 10}", "2023-11-14 22:14Z")]:
        result = jbpf("dump", "--store", store, "--since", since, "--until", until)
        assert (result.returncode, result.stdout) == (0, "java;a.B.run_[j];a.B.work_[j] 5\n"), result


def test_times_are_shown_in_the_zone_in_which_they_are_read(store):
    berlin = {**os.environ, "TZ": "CET-1CEST,M3.5.0,M10.5.0/3"}
    times = ("--since", "2023-11-14 23:13:30", "--until", "2023-11-14 23:14:00 CET")
    result = jbpf("dump", "--store", store, *times, "--format", "top", env=berlin)
    assert lines_of(result.stdout)[1].startswith("2023-11-14 23:13:30 CET to 2023-11-14 23:14:00 CET (30s)"), result
    for picture in ("html", "svg"):
        result = jbpf("dump", "--store", store, *times, "--format", picture, env=berlin)
        assert "2023-11-14 23:13:30 CET to 2023-11-14 23:14:00 CET (30s)" in result.stdout
    sides = ("--before", "2023-11-14 23:13:20..2023-11-14 23:14:00", "--after", "2023-11-14 23:14:00..2023-11-15 01:00:00")
    result = jbpf("diff", "--store", store, *sides, "--format", "top", env=berlin)
    assert "2023-11-14 23:13:20 CET to 2023-11-14 23:14:00 CET" in result.stdout, result
    result = jbpf("dump", "--store", store, *times, "--list", env=berlin)
    assert "2023-11-14 23:13:40 CET" in result.stdout, result
    result = jbpf("dump", "--store", store, *times, "--list", "--format", "json", env=berlin)
    assert json.loads(result.stdout)["since"] == "2023-11-14T22:13:30Z"


SHOP = """java;a.B.run_[j];a.B.work_[j] 11
java;a.B.run_[j];sys_read_[k] 3
java;libc.so 1
"""


@pytest.mark.parametrize("arguments,expected", [
    (["--container", "shop-1"], SHOP),
    (["--container", "shop-*"], SHOP),
    (["--container", "fc533062de76175f5adbb7ddff2b408d9906cf4355b69e158992fb91287957c9"], SHOP),
    (["--container", "fc5330"], SHOP),
    (["--pod", "shop-5d8f7b9c4-x2x4z"], SHOP),
    (["--pid", "42"], SHOP),
    (["--service", "shop"], SHOP),
    (["--cgroup", "/docker"], SHOP),
    (["--cgroup", "/sys/fs/cgroup/docker/fc53"], SHOP),
    (["--namespace", "prod", "--service", "cart"], "java;a.B.run_[j];a.B.work_[j] 4\n"),
    (["--comm", "cron"], "cron;do_sys_poll_[k] 2\n"),
    (["--comm", "?ron"], "cron;do_sys_poll_[k] 2\n"),
    (["--container", ""], "cron;do_sys_poll_[k] 2\n"),
    (["--container", "shop-1", "--container", ""], "cron;do_sys_poll_[k] 2\n" + SHOP),
    (["--container", "!cart-*", "--container", "!"], SHOP),
    (["--comm", "!java"], "cron;do_sys_poll_[k] 2\n"),
    (["--image", "*/cart:*"], "java;a.B.run_[j];a.B.work_[j] 4\n"),
    (["--host", "node-?"], "java;a.B.run_[j];a.B.work_[j] 4\n"),
    (["--kind", "kernel"], "cron;do_sys_poll_[k] 2\njava;a.B.run_[j];sys_read_[k] 3\n"),
    (["--kind", "java"], "java;a.B.run_[j];a.B.work_[j] 15\n"),
    (["--kind", "native"], "java;libc.so 1\n"),
    (["--kind", "kernel", "--comm", "java"], "java;a.B.run_[j];sys_read_[k] 3\n"),
], ids=lambda value: "_".join(value) if isinstance(value, list) else "")
def test_selectors_narrow_what_comes_out(store, arguments, expected):
    assert folded(store, *arguments) == expected


def test_labels_are_put_in_front_in_the_order_given(store):
    assert folded(store, "--by", "container", "--by", "pid") == (
        "(none);7;cron;do_sys_poll_[k] 2\n"
        "cart-1;43;java;a.B.run_[j];a.B.work_[j] 4\n"
        "shop-1;42;java;a.B.run_[j];a.B.work_[j] 11\n"
        "shop-1;42;java;a.B.run_[j];sys_read_[k] 3\n"
        "shop-1;42;java;libc.so 1\n")
    assert folded(store, "--by", "service", "--kind", "native") == "shop;java;libc.so 1\n"
    assert folded(store, "--by", "host", "--container", "cart-1") == "node-7;java;a.B.run_[j];a.B.work_[j] 4\n"
    assert folded(store, "--by", "pod", "--comm", "cron") == "(none);cron;do_sys_poll_[k] 2\n"
    assert folded(store, "--by", "none") == ALL


def test_labels_cannot_break_the_text_or_the_terminal(tmp_path):
    hostile = make_store(tmp_path / "hostile", f"""
window start={START} pid=1 samples=1 frames=1 comm=a%1b[2J container=a;b%0ac%20%31 service=%ff%fe
	x 1
commit
""")
    assert folded(hostile, "--by", "container", "--by", "service") == "a:b_c_1;??;x 1\n"
    table = dump(hostile, "--list").stdout
    assert "\x1b" not in table and len(lines_of(table)) == 2, table
    [stream] = json.loads(dump(hostile, "--list", "--format", "json").stdout)["streams"]
    assert "\x1b" not in stream["comm"] and stream["pid"] == 1


def test_folded_on_a_terminal_has_no_control_bytes(tmp_path):
    """Only a store that was not written by jbpfd has them, but stores can be anybody's."""
    hostile = make_store(tmp_path / "hostile", f"""
window start={START} pid=1 samples=1 frames=1 comm=x
	x;%1b[31mred 1
commit
""")
    parent, child = pty.openpty()
    result = subprocess.run([BIN / "jbpf-dump", "--store", hostile, "--since", f"@{START}"],
                            stdin=subprocess.DEVNULL, stdout=child, stderr=subprocess.PIPE, timeout=60 * PATIENCE)
    os.close(child)
    shown = os.read(parent, 65536)
    os.close(parent)
    assert result.returncode == 0, result.stderr
    assert b"red 1" in shown and b"\x1b" not in shown


def test_top_is_a_table_of_methods(store):
    assert folded(store, "--format", "top", "--container", "shop-1") == (
        "CPU of container shop-1\n"
        "2023-11-14T22:13:20Z to 2023-11-14T22:15:00Z (1m 40s, of which 20s were recorded)\n"
        "15 samples, 0.15 CPU seconds at 99 Hz, 0.01 cores, 1 process\n"
        "unknown frames 2.00 %, truncated stacks 0.00 %, lost samples 5 (whole host)\n"
        "\n"
        " SELF%   SELF  TOTAL%  TOTAL  METHOD\n"
        " 73.33     11   73.33     11  a.B.work  [jit]\n"
        " 20.00      3   20.00      3  sys_read_[k]\n"
        "  6.67      1    6.67      1  libc.so\n"
        "  0.00      0  100.00     15  java\n"
        "  0.00      0   93.33     14  a.B.run  [jit]\n")
    assert folded(store, "--format", "top", "--sort", "total", "-n", "1").endswith(
        "METHOD\n  0.00      0   90.48     19  java\n6 more methods not shown\n")


def test_losses_of_the_host_are_told_as_such(store):
    everybody = folded(store, "--format", "top")
    assert "lost samples 5\n" in everybody
    for selector in (["--container", "shop-1"], ["--pid", "42"], ["--comm", "!cron"], ["--thread", "[[]unknown*"]):
        assert "lost samples 5 (whole host)\n" in folded(store, "--format", "top", *selector)
    assert "lost samples 5 (whole host)<" in folded(store, "--format", "svg", "--container", "shop-1")
    assert '"isSelection":true' in folded(store, "--format", "html", "--container", "shop-1")
    assert '"isSelection"' not in folded(store, "--format", "html")
    assert "lost samples 0\n" in folded(store, "--format", "top", "--container", "shop-1", since=START + 10, until=START + 20)


@pytest.mark.parametrize("name, form", [("shop.html", "html"), ("shop.svg", "svg"), ("shop.json", "json"),
                                        ("shop.pb.gz", "pprof"), ("shop.txt", "folded")])
def test_a_file_has_the_format_of_its_ending(store, tmp_path, name, form):
    assert dump(store, "-o", tmp_path / name).returncode == 0
    assert dump(store, "-o", tmp_path / "asked", "--format", form).returncode == 0
    assert (tmp_path / name).read_bytes() == (tmp_path / "asked").read_bytes()


def table_of(store, *arguments):
    return folded(store, "--format", "top", *arguments).split("\n\n")[1]


def test_top_by_a_label_is_a_table_of_who_used_the_cpu(store):
    assert table_of(store, "--by", "container") == (
        "CORES  SHARE%  SAMPLES  CONTAINER\n"
        " 0.01   71.43       15  shop-1\n"
        " 0.00   19.05        4  cart-1\n"
        " 0.00    9.52        2  (none)\n")
    assert table_of(store, "--by", "comm", "--by", "pid", "--kind", "kernel") == (
        "CORES  SHARE%  SAMPLES  COMM  PID\n"
        " 0.00   60.00        3  java   42\n"
        " 0.00   40.00        2  cron    7\n")


def test_callers_of_a_method_are_a_tree(store):
    assert table_of(store, "--callers", "a.B.work") == (
        "SHARE%  TOTAL  METHOD, AND ITS CALLERS\n"
        "100.00     15  a.B.work\n"
        "100.00     15     a.B.run\n"
        "100.00     15     java\n")
    assert table_of(store, "--callers", "a.B.work", "--by", "container").endswith(
        "100.00     15     java\n"
        " 73.33     11     <- shop-1\n"
        " 26.67      4     <- cart-1\n")
    assert refused(dump(store, "--callers", "B.wrok"), 3) == (
        "jbpf-dump: no method matches 'B.wrok'; did you mean a.B.work?\n")
    assert refused(dump(store, "--callers", "frobnicate"), 3) == "jbpf-dump: no method matches 'frobnicate'\n"


def test_json_has_the_numbers_and_the_stacks(store):
    data = json.loads(folded(store, "--format", "json", "--pid", "42", "--namespace", "prod"))
    assert data["title"] == "CPU of process 42 in namespace prod"
    assert (data["samples"], data["streams"], data["lost_samples"]) == (15, 1, 5)
    assert (data["frames"], data["unknown_frames"]) == (50, 1)
    assert [stack["count"] for stack in data["stacks"]] == [11, 3, 1]
    assert data["stacks"][0]["frames"][2] == {"name": "a.B.work", "kind": "jit"}


def test_svg_and_html_are_whole_documents(store, tmp_path):
    svg = folded(store, "--format", "svg", "--container", "shop-1")
    assert xml.fromstring(svg).tag.endswith("svg") and "container shop-1" in svg
    out = tmp_path / "flame.html"
    assert folded(store, "--format", "html", "-o", out) == ""
    assert out.read_text().lower().startswith("<!doctype html")
    assert [entry.name for entry in tmp_path.iterdir()] == ["flame.html"]


def test_output_file_is_replaced_as_a_whole(store, tmp_path):
    out = tmp_path / "out.txt"
    out.write_text("old")
    assert folded(store, "-o", out) == ""
    assert out.read_text() == ALL
    assert folded(store, "-o", "-") == ALL


def test_list_is_a_table_of_containers_or_of_processes(store):
    head = ("CONTAINER  POD                   PID  COMM  JVM      SAMPLES  CORES  FIRST                 "
            "LAST                  UNKNOWN%  SYMBOLS\n")
    rows = ("shop-1     shop-5d8f7b9c4-x2x4z   42  java  17.0.15       15   0.01  2023-11-14T22:13:20Z  "
            "2023-11-14T22:13:40Z       2.0  -\n"
            "cart-1     -                      43  java  -              4   0.00  2023-11-14T22:13:20Z  "
            "2023-11-14T22:13:30Z       0.0  -\n"
            "-          -                       7  cron  -              2   0.00  2023-11-14T22:13:20Z  "
            "2023-11-14T22:13:30Z       0.0  -\n")
    assert folded(store, "--list") == head + rows
    assert folded(store, "--list", "--by", "pid") == head + rows


def test_list_is_json_too_and_takes_selectors(store):
    data = json.loads(folded(store, "--list", "--format", "json", "--container", "cart-1"))
    assert data["format"] == "jbpf-list"
    assert data["since"] == "2023-11-14T22:13:20Z"
    assert data["streams"] == [{
        "pid": 43, "ns_pid": 0, "comm": "java", "service": "cart", "namespace": "prod",
        "container": "cart-1", "image": "registry/cart:1.2", "host": "node-7",
        "first": "2023-11-14T22:13:20Z", "last": "2023-11-14T22:13:30Z",
        "samples": 4, "frames": 8, "unknown_frames": 0, "truncated_samples": 0, "jit_frames": 0,
        "unknown_jit_frames": 0, "ambiguous_frames": 0, "inlined_frames": 0,
        "interpreted_frames": 0, "jit_leaf_samples": 0, "repaired_samples": 0,
        "unrepaired_samples": 0, "truncated_by": {}, "jit_source": ""}]


def test_both_names_of_the_command_do_the_same(store):
    long_way = run(BIN / "jbpf", "dump", "--store", store, "--since", f"@{START}", "--pid", "7")
    assert (long_way.returncode, long_way.stdout) == (0, "cron;do_sys_poll_[k] 2\n")


def test_reader_that_goes_away_is_no_failure(store):
    command = f"{BIN}/jbpf-dump --store {store} --since @{START}; echo $? >&2"
    result = run("bash", "-c", f"set -o pipefail; {{ sleep 0.3; {command}; }} | true")
    assert result.stderr == "0\n", result.stderr


# ---- what is said -------------------------------------------------------------------------------

def refused(result, code):
    assert (result.returncode, result.stdout) == (code, ""), result
    return result.stderr


def test_nothing_in_that_time_says_what_there_is(store):
    assert refused(dump(store, since=1, until=2), 3) == (
        "jbpf-dump: no samples match; that time is empty; the store has samples from "
        "2023-11-14T22:13:20Z to 2023-11-14T23:13:30Z\n")
    assert refused(dump(store, "--list", since=1, until=2), 3).startswith("jbpf-dump: no samples match")


@pytest.mark.parametrize("counts", [(1, 100000), (100000, 1)])
def test_the_oldest_samples_of_a_merged_hour_are_found_whichever_stream_has_them(tmp_path, counts):
    """Busy streams stand behind the others."""
    script = "".join(f"window start={START + 600 * i} pid={50 + i} samples={count} comm=java\n\tjava;f {count}\n"
                     f"window start={START + 600 * i} pid=0 samples=1\ncommit\n" for i, count in enumerate(counts))
    store = make_store(tmp_path / "store", script)
    assert jbpf("store", "compact", "--store", store).returncode == 0
    assert "samples from 2023-11-14T22:13:20Z to 2023-11-14T22:23:30Z" in refused(dump(store, since=1, until=2), 3)


def test_nothing_of_that_name_says_what_is_near(store):
    assert refused(dump(store, "--container", "cart"), 3) == (
        "jbpf-dump: no samples match; no container 'cart'; did you mean 'cart-1'?\n")
    assert refused(dump(store, "--comm", "jvaa", "--container", "shop-1"), 3) == (
        "jbpf-dump: no samples match; no comm 'jvaa'; did you mean 'java'?\n")
    assert refused(dump(store, "--container", "frobnicate"), 3) == (
        "jbpf-dump: no samples match; no container 'frobnicate' in that time, which has 'shop-1', 'cart-1'\n")
    assert refused(dump(store, "--container", "cart-1", "--comm", "cron"), 3) == (
        "jbpf-dump: no samples match; that time has java (pid 43, container cart-1), cron (pid 7), "
        "java (pid 42, container shop-1, pod shop-5d8f7b9c4-x2x4z); see --list\n")


def test_no_thread_of_that_name_says_which_are_near(tmp_path):
    script = (f"window start={START} pid=42 samples=5 comm=java container=shop\n\tjava;f 5\n\t+0 3 http-nio-#-exec-#\n\t+0 2 GC Thread##\n"
              f"window start={START} pid=43 samples=1 comm=cron\n\tcron;f 1\n\t+0 1 cron\nwindow start={START} pid=0 samples=6\ncommit\n")
    store = make_store(tmp_path / "store", script)
    assert refused(dump(store, "--thread", "htpt-nio-#-exec-#"), 3) == (
        "jbpf-dump: no samples match; no thread 'htpt-nio-#-exec-#'; did you mean 'http-nio-#-exec-#'?\n")
    assert refused(dump(store, "--thread", "exec"), 3) == (
        "jbpf-dump: no samples match; no thread 'exec'; did you mean 'http-nio-#-exec-#'?\n")
    assert refused(dump(store, "--thread", "frobnicate", "--comm", "java"), 3) == (
        "jbpf-dump: no samples match; no thread 'frobnicate' in that time, which has 'GC Thread##', 'http-nio-#-exec-#'\n")
    assert refused(dump(store, "--thread", "GC*", "--kind", "java"), 3).startswith("jbpf-dump: no samples match; that time has java")


def test_no_since_takes_one_hour_and_says_so(store):
    result = jbpf("dump", "--store", store, "--until", f"@{START + 100}", "--pid", "7")
    assert (result.returncode, result.stdout) == (0, "cron;do_sys_poll_[k] 2\n")
    assert result.stderr == "jbpf-dump: no --since: taking one hour\n"


def test_no_store_is_one_line(tmp_path):
    assert refused(jbpf("dump", "--since", "1h", "--store", tmp_path / "none"), 1) == (
        f"jbpf-dump: there is no store in '{tmp_path}/none'; is jbpfd running, or is it another --store?\n")


def test_wall_has_what_waited_for_a_cpu_and_did_nothing_else(tmp_path):
    """Open and merged; the second process got no CPU and waited for nothing else in its window."""
    one, waits = f"window start={START} duration=10 comm=java", "event=5 unit=1 period=100000000 frequency_hz=0"
    folder = make_store(tmp_path / "store", (
        f"{one} pid=42 frequency_hz=100 samples=100\n\tjava;a.B.run_[j] 100\n{one} pid=42 {waits} samples=10 run_delay_ns=3000000000\n"
        f"\tjava;a.B.lock_[j] 10\n{one} pid=43 {waits} samples=0 run_delay_ns=4000000000\n"
        f"window start={START} pid=0 duration=10 samples=100\nwindow start={START} pid=0 duration=10 event=5\ncommit\n"))
    for _ in ("open", "merged"):
        asked = ("dump", "--store", folder, "--since", f"@{START}", "--event", "wall")
        assert jbpf(*asked, "--by", "pid").stdout == (
            "42;java;[waiting for a CPU] 3000000\n42;java;a.B.lock_[j] 1000000\n42;java;a.B.run_[j] 1000000\n"
            "43;java;[waiting for a CPU] 4000000\n")
        assert json.loads(jbpf(*asked, "--format", "json").stdout)["run_delay_ns"] == 7_000_000_000
        assert jbpf("store", "compact", "--store", folder).returncode == 0


@pytest.mark.root
def test_store_that_may_not_be_read(store, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(store, copy)
    copy.chmod(0o700)
    program = tmp_path / "jbpf"
    shutil.copy(BIN / "jbpf", program)
    for parent in [tmp_path, *tmp_path.parents]:
        if str(parent).startswith("/tmp/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    for command in ("dump", "diff --before 2h..1h --after 1h..now", "top --once", "status", "web", "store check"):
        name, *arguments = command.split()
        result = run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, name, *arguments, "--store", copy)
        assert refused(result, 1).replace("jbpf-dump: no --since: taking one hour\n", "") == (
            f"jbpf-{name}: the store in '{copy}' cannot be read: Permission denied; try as root, or as a member of its group\n")


def test_picture_is_not_written_to_a_terminal(store):
    for form in ("html", "svg"):
        parent, child = pty.openpty()
        result = subprocess.run([BIN / "jbpf-dump", "--store", store, "--since", f"@{START}",
                                 "--format", form], stdin=subprocess.DEVNULL, stdout=child,
                                stderr=subprocess.PIPE, text=True, timeout=60 * PATIENCE)
        os.close(child)
        os.close(parent)
        assert (result.returncode, result.stderr) == (
            2, "jbpf-dump: that is a picture, not for a terminal; give -o FILE\n")


@pytest.mark.parametrize("arguments,line", [
    (["--xyzzy"], "there is no option --xyzzy; see jbpf-dump --help"),
    (["--pid", "1", "--pid", "2"], "--pid is given twice; see jbpf-dump --help"),
    (["--since", "@7200", "--until", "@3600"],
     "--since (1970-01-01T02:00:00Z) must lie before --until (1970-01-01T01:00:00Z)"),
    (["--since", "2100-01-01"], "--since (2100-01-01T00:00:00Z) lies in the future"),
    (["--by", "color"], "--by: 'color' is not one of container, pod, namespace, service, image, host, "
     "comm, pid, thread, none; see jbpf-dump --help"),
    (["--list", "--format", "svg"], "--list is a table, or --format json"),
    (["--lines"], "--lines goes with --format top, html and json: lines are known by method, not by stack"),
    (["--lines", "--list"], "--lines goes with --format top only"),
    (["--lines", "--format", "top", "--kind", "kernel"], "--lines: only Java code has source lines"),
], ids=lambda value: "_".join(value) if isinstance(value, list) else "")
def test_wrong_usage_is_one_line_and_exit_2(store, arguments, line):
    assert refused(jbpf("dump", "--store", store, *arguments), 2) == f"jbpf-dump: {line}\n"


def test_a_command_that_is_missing_or_unknown_is_told_in_one_line():
    assert refused(run(BIN / "jbpf"), 2) == "jbpf: which command? see jbpf --help\n"
    assert refused(run(BIN / "jbpf", "frob"), 2) == "jbpf: there is no command 'frob'; see jbpf --help\n"
    assert refused(run(BIN / "jbpf", "dmup"), 2) == \
        "jbpf: there is no command 'dmup' (did you mean 'dump'?); see jbpf --help\n"


def test_help_names_every_option():
    for name, words in [("dump", ["--since", "--by", "--list", "--kind"]), ("status", ["--all", "--json"])]:
        for result in (jbpf(name, "--help"), run(BIN / "jbpf", "help", name)):
            assert result.returncode == 0 and not result.stderr
            assert all(word in result.stdout for word in words), result.stdout


# ---- source lines -------------------------------------------------------------------------------

def test_source_lines_are_a_table_and_in_json(fresh_store):
    _, store = fresh_store
    common = ("--store", store, "--since", "5m", "--container", "shop-2")
    result = jbpf("dump", *common, "--format", "top", "--lines")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.split("\n\n")[1] == (
        " SELF%  SELF  LINE       METHOD\n"
        " 75.00    30  B.java:42  a.B.work  [inlined]\n"
        " 20.00     8  B.java:7   a.B.run  [jit]\n"
        "5.00 % of the samples have no line: native code, the kernel, and Java whose line is not known\n")
    data = json.loads(jbpf("dump", *common, "--format", "json").stdout)
    assert data["lines"] == [
        {"name": "a.B.work", "kind": "inlined", "file": "B.java", "line": 42, "samples": 30},
        {"name": "a.B.run", "kind": "jit", "file": "B.java", "line": 7, "samples": 8}]
    assert data["lines_left_out"] == 2
    data = json.loads(jbpf("dump", *common[:4], "--container", "shop-1", "--format", "json").stdout)
    assert data["lines"] == []
    hours = [path for path in sorted((store / "v1" / "cpu").rglob("*.zst"))]
    text = run("zstdcat", *hours).stdout
    assert "B.java" not in text and "java;y 40" in text


# ---- damage -------------------------------------------------------------------------------------

def test_damage_is_named_and_the_rest_is_dumped(store, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(store, copy)
    first = sorted(copy.rglob("*.zst"))[0]
    data = first.read_bytes()
    first.write_bytes(data[:-30])
    result = dump(copy, until=START + 4000)
    assert result.returncode == 0
    assert "java;a.B.later_[0] 100\n" in result.stdout and "cron;do_sys_poll_[k] 2\n" in result.stdout
    [line] = lines_of(result.stderr)
    assert line.startswith("jbpf-dump: damage in the store, skipped: ") and first.name in line, line


def test_many_damaged_places_are_counted_not_all_named(tmp_path):
    script = "".join(f"window start={START + 3600 * hour} pid=1 samples=1 frames=1 comm=a\n\ta 1\ncommit\n"
                     for hour in range(20))
    store = make_store(tmp_path / "store", script)
    for file in sorted(store.rglob("*.zst"))[:15]:
        file.write_bytes(file.read_bytes()[:-5])
    result = dump(store, until=START + 3600 * 30)
    assert (result.returncode, result.stdout) == (0, "a 5\n"), result
    lines = lines_of(result.stderr)
    assert len(lines) == 11 and lines[-1] == "jbpf-dump: damage in the store: and 5 more places", lines


def test_lines_that_are_no_stacks_are_skipped_and_counted(tmp_path):
    store = make_store(tmp_path / "store", f"window start={START} pid=1 samples=3 frames=3 comm=a\n"
                       "\ta 1\n\tnonsense\n\tb x\ncommit\n")
    result = dump(store)
    assert (result.returncode, result.stdout) == (0, "a 1\n")
    assert result.stderr == "jbpf-dump: damage in the store: 2 lines are not stacks, skipped\n"


def test_a_narrow_time_does_not_touch_other_hours(store, tmp_path):
    """Another hour's file that cannot even be opened does not matter to this one."""
    copy = tmp_path / "copy"
    shutil.copytree(store, copy)
    hours = sorted(copy.rglob("*.zst"))
    assert len(hours) == 2
    hours[1].write_bytes(b"rubbish" * 1000)
    assert folded(copy) == ALL


# ---- status -------------------------------------------------------------------------------------

def test_status_of_a_store_that_nobody_writes_any_more(store):
    result = jbpf("status", "--store", store)
    assert result.returncode == 0
    assert result.stderr == ("jbpf-status: nothing was written since 2023-11-14T23:13:30Z: "
                             "is jbpfd running?\n")
    assert result.stdout == (
        "CONTAINER  PID  COMM  UNKNOWN%  CUT%  SAMPLES\n"
        "shop-1      42  java       0.0   0.0      100\n"
        "lost on this host: nothing\n")


@pytest.fixture
def fresh_store(tmp_path):
    """And when it begins. Of each test its own: it must be of the last minute when that looks at it."""
    begin = some_seconds_ago()
    return begin, make_store(tmp_path / "store", f"""
window start={begin} pid=42 samples=10 frames=40 is_jvm=1 preserve_frame_pointer=1 truncated_samples=9 comm=java container=shop-1
	java;x 10
window start={begin} pid=44 samples=40 frames=400 is_jvm=1 preserve_frame_pointer=2 comm=java \
container=shop-2 jvm_version=1.8.0_432 preserve_frame_pointer_origin=2 jit_source=3 jit_age_ms=9000 \
jit_frames=200 inlined_frames=100 interpreted_frames=8 jit_leaf_samples=30 repaired_samples=10 \
unrepaired_samples=1 unknown_frames=2 ambiguous_frames=4 truncated_samples=4 \
jit_fallback=no%20inlined%20frames%1b
	java;y 40
	@a.B.work_[i];B.java:42 30
	@a.B.run_[j];B.java:7 8
	@[other%20lines] 2
window start={begin} pid=7 samples=2 frames=2 comm=cron
	cron;y 2
window start={begin} samples=52 store=9
commit
""")


def test_status_says_what_to_change(fresh_store):
    begin, store = fresh_store
    result = jbpf("status", "--store", store)
    demand_recent(begin)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == (
        "CONTAINER  PID  COMM  JVM        FP                SYMBOLS    AGE  UNKNOWN%  CUT%  STALE%  "
        "INLINED%  INTERP%  REPAIRED%  UNREPAIRED%  SAMPLES\n"
        "shop-1      42  java  -          off               -            -       0.0  90.0     0.0  "
        "     0.0      0.0        0.0          0.0       10\n"
        "    stacks whole 10.0 %\n"
        "    JVM of container shop-1 (pid 42) runs without -XX:+PreserveFramePointer: its stacks are cut "
        "after the first compiled frame; add -XX:+PreserveFramePointer to JAVA_TOOL_OPTIONS and restart it\n"
        "shop-2      44  java  1.8.0_432  on (environment)  vmstructs   9s       0.5  10.0     1.0  "
        "    25.0      2.0       25.0          2.5       40\n"
        "    stacks whole 90.0 %\n"
        "    its own tables name its code, but not all of it: no inlined frames_\n"
        "    10.0 % of its stacks are cut although the JVM keeps frame pointers: a native library does not; "
        "build it with -fno-omit-frame-pointer\n"
        "and 1 more outside of containers with 2 samples; see --all\n"
        "lost on this host: 9 samples could not be written: is the disk full?\n")


def test_status_is_json(fresh_store):
    begin, store = fresh_store
    for option in (["--json"], ["--format", "json"]):
        data = json.loads(jbpf("status", "--store", store, "--all", *option).stdout)
        demand_recent(begin)
        assert data["lost"]["store"] == 9 and data["samples"] == 52
        assert [stream["pid"] for stream in data["streams"]] == [42, 44, 7]
        assert data["streams"][0]["preserve_frame_pointer"] == "off"
        assert "PreserveFramePointer" in data["streams"][0]["problems"][0]
        other = data["streams"][1]
        assert other["preserve_frame_pointer_from"] == "environment"
        assert [other[key] for key in ("inlined_frames", "interpreted_frames", "jit_leaf_samples",
                                       "repaired_samples", "unrepaired_samples",
                                       "ambiguous_frames")] == [100, 8, 30, 10, 1, 4]


FLAT = "jbpf-dump: JVM of container shop-1 (pid 42) runs without -XX:+PreserveFramePointer: its stacks are " \
       "cut after the first compiled frame; add -XX:+PreserveFramePointer to JAVA_TOOL_OPTIONS and restart it\n"


def test_dump_of_a_jvm_without_frame_pointers_says_so_beside_its_data(fresh_store):
    _, store = fresh_store
    result = jbpf("dump", "--store", store, "--since", "5m", "--container", "shop-1")
    assert (result.returncode, result.stdout, result.stderr) == (0, "java;x 10\n", FLAT)
    result = jbpf("dump", "--store", store, "--since", "5m", "--container", "shop-2")
    assert (result.returncode, result.stdout, result.stderr) == (0, "java;y 40\n", "")


@pytest.mark.parametrize("arguments,line", [
    (["--xyzzy"], "there is no option --xyzzy; see jbpf-status --help"),
    (["--store"], "--store wants a value; see jbpf-status --help"),
    (["--all", "--all"], "--all is given twice; see jbpf-status --help"),
    (["--format", "xml"], "--format: 'xml' is not one of table, json; see jbpf-status --help"),
    (["--json", "--format", "json"], "--json and --format say the same; give one of them"),
    (["now"], "'now' is not an option; see jbpf-status --help"),
], ids=lambda value: "_".join(value) if isinstance(value, list) else "")
def test_wrong_usage_of_status_is_one_line_and_exit_2(arguments, line):
    assert refused(jbpf("status", *arguments), 2) == f"jbpf-status: {line}\n"
