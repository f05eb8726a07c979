# SPDX-License-Identifier: Apache-2.0
"""jbpf record: one shot, no daemon, no store."""
import os
import re
import signal
import subprocess

import pytest

from harness.containers import java
from harness.folded import Folded, assert_rare, kind, plain
from harness.neighbours import CGROUP_ROOTS
from harness.programs import AIDS, BIN, PATIENCE, Lacking, jbpf, lines_of, run, stat_fields, wait_until


@pytest.fixture(scope="module")
def container(engine):
    """A JVM old enough to be asked for its symbols."""
    container = engine.start_ready("record", java("Shares", 600, 25), "TRUTH")
    return container


def selector_of(container, kind):
    return {"pid": ["-p", container.pid],
            "container": ["--container", container.name],
            "several": ["--container", "nobody", "--container", container.name, "--comm", "!python*"]}[kind]


def record_until(enough, *arguments, out, first=3):
    """Records longer and longer until it holds enough: how much a second gives is the machine's."""
    for seconds in (first, 12, 36, 108):
        result = run(BIN / "jbpf", "record", *arguments, "-d", f"{seconds}s", "-o", out, timeout=60 + seconds)
        assert result.returncode in (0, 3), result.stderr  # 3: nothing was sampled
        text = "" if result.returncode else result.stdout if out == "-" else out.read_text(errors="replace")
        if text and enough(text):
            return text
    raise Lacking(f"{seconds} s hold too little: {text[-2000:]} {result.stderr}")


@pytest.mark.live
@pytest.mark.long("over half of the samples must be named, of programs that live about a second each")
def test_a_command_is_recorded_with_all_that_it_starts_and_nothing_else(tmp_path, spinner):
    spinner("native_spinner", 600, 30)
    out = tmp_path / "out.folded"
    perl = "perl -e 'for (1..20000000) { $x += $_ }'"
    noted = tmp_path / "cgroup"
    note = f'while read -r line; do echo "$line"; done </proc/self/cgroup >{noted}'
    result = run(BIN / "jbpf", "record", "-o", out, "--", "sh", "-c", f"{note}; {perl}; {perl}; exit 3", timeout=120)
    assert result.returncode == 0, result.stderr
    assert "'sh' ended with exit code 3" in result.stderr, result.stderr
    folded = Folded(out.read_text())
    assert folded.total >= 30 and folded.with_frame("Perl_runops_standard") > folded.total / 2, folded
    assert {frames[0] for frames, _ in folded.stacks} <= {"sh", "perl"}, folded
    # Its own one: tests beside this one record commands, too.
    own = re.search(r"^0::(/.*/jbpf-record-\d+)$", noted.read_text(), re.M)
    assert own and not os.path.exists(f"{CGROUP_ROOTS[0]}{own[1]}"), "its cgroup is left behind"


@pytest.mark.live
def test_a_command_that_cannot_be_run_is_one_clear_line(tmp_path):
    result = run(BIN / "jbpf", "record", "-o", tmp_path / "x.html", "--", "/nonexistent/program", timeout=60)
    assert result.returncode == 1, result.stderr
    assert result.stderr == "jbpf-record: '/nonexistent/program' cannot be run: No such file or directory\n", result.stderr
    assert not (tmp_path / "x.html").exists()


@pytest.mark.live
def test_a_command_that_outlives_the_recording_goes_on(tmp_path):
    told = tmp_path / "told"
    for seconds in (1, 4, 16, 64):  # until it was sampled
        with told.open("w") as stream:  # no pipe, of which the command would keep its end
            code = subprocess.run([BIN / "jbpf", "record", "-d", str(seconds), "-o", tmp_path / "x.folded", "--",
                                   "perl", "-e", "1 while 1"], stdout=stream, stderr=stream, timeout=60 * PATIENCE).returncode
        pid = int(re.search(r"'perl' goes on as process (\d+)", told.read_text()).group(1))
        os.kill(pid, signal.SIGKILL)
        if code != 3:  # nothing was sampled
            break
    assert code == 0, told.read_text()


@pytest.mark.live
@pytest.mark.parametrize("kind", ["pid", pytest.param("container", marks=pytest.mark.long("\"several\" has a container, too")), "several"])
def test_record_names_java_of_what_was_selected_and_nothing_else(container, tmp_path, spinner, kind):
    spinner("native_spinner", 600, 30)
    out = tmp_path / "out.folded"
    folded = Folded(record_until(lambda text: Folded(text).with_frame("Shares.seventy") >= 30,
                                 *selector_of(container, kind), out=out))
    assert folded.with_frame("Shares.seventy") >= 30, folded
    assert folded.with_frame("burn_seventy") == 0, folded


@pytest.mark.live
@pytest.mark.parametrize("mode", ["auto", "attach"])
def test_methods_keep_their_parameters_where_they_are_asked_for(container, tmp_path, mode):
    """Both as the JVM's tables and as its own map name them."""
    folded = Folded(record_until(lambda text: Folded(text).with_frame("Shares.seventy(long)") >= 20,
                                 "-p", container.pid, "--java-parameters", "on", "--jit", mode, out=tmp_path / "x.folded"))
    methods = {plain(frame) for frames, _ in folded.stacks for frame in frames if kind(frame) in "j10i"}
    # The loop around both is interpreted, of which a map knows nothing.
    assert mode == "attach" or "Shares.work(long, int)" in methods, methods
    assert not [name for name in methods if not name.endswith(")")], methods


@pytest.mark.live
def test_a_process_whose_first_thread_has_ended_is_named(tmp_path, spinner):
    """/proc/PID/maps of such a one is empty, and it has no root."""
    process = spinner("ended_thread", 600)
    wait_until(lambda: stat_fields(process.pid)[0] == "Z", 60, "its first thread has ended")
    text = record_until(lambda text: Folded(text).with_frame("burn_on") >= 20, "-p", process.pid, out=tmp_path / "x.folded")
    assert {frames[0] for frames, _ in Folded(text).stacks} == {"ended_thread"}, text


def in_pid_namespace(*command):
    return run("unshare", "--pid", "--fork", "--mount-proc", *command, timeout=120)


@pytest.mark.live
def test_a_pid_namespace_below_the_hosts_is_one_clear_line(tmp_path):
    said = r"jbpfd is in a pid namespace of its own, .*; run it with the host's"
    assert re.search(r"^less +pid namespace +" + said, in_pid_namespace(BIN / "jbpfd", "--check").stdout, re.M)
    assert re.search(r"^ok +pid namespace +the host's$", run(BIN / "jbpfd", "--check", timeout=120).stdout, re.M)
    result = in_pid_namespace(BIN / "jbpf", "record", "-d", "1s", "-o", tmp_path / "x.folded")
    assert re.search("^jbpf-record: " + said, result.stderr, re.M), result.stderr


@pytest.mark.live
def test_record_makes_one_page_that_needs_nothing_else(container, tmp_path):
    out = tmp_path / "flame.html"
    page = record_until(lambda text: "seventy" in text, "-p", container.pid, out=out, first=2)
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert "seventy" in page
    assert list(tmp_path.iterdir()) == [out], "something else was left behind"


@pytest.mark.live
def test_record_works_as_a_command_of_jbpf_and_writes_to_stdout(container):
    text = record_until(lambda text: Folded(text).total >= 20, "-p", container.pid, "--format", "folded", out="-", first=1)
    assert Folded(text).total >= 20


@pytest.mark.live
@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
def test_c_program_below_a_stripped_libc_is_whole_from_main_on(engine, tmp_path):
    """The image's libc has no symbol for what calls main, and keeps no frame pointer there: its unwind tables
    lead on to _start, or to that place until they are read."""
    container = engine.start("spinner", ["/app/native_spinner", "600", "60"])
    folded = Folded(record_until(lambda text: Folded(text).total >= 60, "--container", container.name,
                                 "--format", "folded", out="-"))
    whole = folded.samples(lambda frames: frames[0] == "native_spinner" and "[truncated]" not in frames and
                           frames[frames.index("main") + 1:][:1] in ([], ["burn_seventy"], ["burn_thirty"])
                           if "main" in frames else False)
    assert folded.total >= 60, folded
    assert_rare(folded.total - whole, folded.total, 0.1, folded)


@pytest.mark.live
def test_record_of_an_idle_process_says_that_nothing_was_sampled(spinner, tmp_path):
    sleeper = subprocess.Popen(["sleep", "600"])
    try:
        wait_until(lambda: stat_fields(sleeper.pid)[0] == "S", 60, "it sleeps")  # what it does before is sampled
        result = jbpf("record", "-p", sleeper.pid, "-d", "2s", "-o", tmp_path / "x.html")
    finally:
        sleeper.kill()
        sleeper.wait()
    assert result.returncode == 3
    assert len(lines_of(result.stderr)) == 1 and "nothing was sampled" in result.stderr
    assert not (tmp_path / "x.html").exists()


@pytest.mark.live
def test_a_name_that_nothing_matches_comes_with_the_one_that_is_meant(tmp_path):
    busy = subprocess.Popen([AIDS / "native_spinner", "600", "30"], stdout=subprocess.DEVNULL)
    try:
        for seconds in ("2s", "30s"):  # until the one that is meant is sampled
            result = jbpf("record", "--comm", "native_spiner", "-d", seconds, "-o", tmp_path / "x.html", timeout=90)
            if "'native_spinner'" in result.stderr:
                break
    finally:
        busy.kill()
        busy.wait()
    assert result.returncode == 3
    assert re.search(r"nothing was sampled: CPU of native_spiner \(\d+ other samples?[^)]*\); "
                     r"no comm 'native_spiner'; did you mean 'native_spinner'( or '[^']*')*\?$", result.stderr.strip()), result.stderr


@pytest.mark.live
def test_the_file_is_what_its_ending_says(container, tmp_path):
    """-d takes seconds, as other profilers do."""
    for name, begins in (("x.pb.gz", b"\x1f\x8b"), ("x.speedscope.json", b'{"$schema":"https://www.speedscope.app')):
        out = tmp_path / name
        for seconds in ("1", "30"):  # until something is sampled
            result = jbpf("record", "-p", container.pid, "-d", seconds, "-o", out, timeout=90)
            if result.returncode != 3:
                break
        assert result.returncode == 0, result.stderr
        assert out.read_bytes().startswith(begins), out.read_bytes()[:80]


@pytest.mark.live
@pytest.mark.parametrize("options,head", [
    (["--format", "top", "--by", "container"], "CORES  SHARE%  SAMPLES  CONTAINER"),
    (["--format", "top", "--sort", "total", "-n", "30"], "TOTAL  METHOD"),
    (["--format", "top", "--lines"], "METHOD"),
    (["--callers", "Shares.*"], "SHARE%  TOTAL  METHOD, AND ITS CALLERS")], ids=["by", "sort", "lines", "callers"])
def test_a_recording_is_shown_in_every_form_of_dump(container, options, head):
    wanted = container.name if "--by" in options else "Shares"
    text = record_until(lambda text: wanted in text, *selector_of(container, "container"), *options, out="-", first=2)
    assert any(line.endswith(head) for line in text.splitlines()), text


def test_record_refuses_wrong_usage_with_one_line(tmp_path):
    result = jbpf("record", "-o", "flame.gif", cwd=tmp_path)
    assert result.returncode == 2 and len(lines_of(result.stderr)) == 1 and ".pb.gz" in result.stderr, result
    for arguments in (["-d", "soon"], ["--pid", "0"], ["--format", "gif"], ["--no-such-option"], ["stray"]):
        result = jbpf("record", *arguments, cwd=tmp_path)
        assert result.returncode == 2, (arguments, result.stderr)
        assert len(lines_of(result.stderr)) == 1 and "--help" in result.stderr, arguments
    assert list(tmp_path.iterdir()) == []
