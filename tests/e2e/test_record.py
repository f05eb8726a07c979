# SPDX-License-Identifier: Apache-2.0
"""jbpf record: one shot, no daemon, no store."""
import pytest

from harness.containers import java
from harness.folded import Folded, assert_rare
from harness.programs import BIN, jbpf, lines_of, run


@pytest.fixture(scope="module")
def container(engine):
    """A JVM old enough to be asked for its symbols."""
    container = engine.start_ready("record", java("Shares", 600, 60), "TRUTH")
    return container


def selector_of(container, kind):
    return ["-p", container.pid] if kind == "pid" else ["--container", container.name]


def record_until(enough, *arguments, out):
    """Records longer and longer until it holds enough: how much a second gives is the machine's."""
    for seconds in (4, 12, 36, 108):
        result = run(BIN / "jbpf", "record", *arguments, "-d", f"{seconds}s", "-o", out, timeout=60)
        assert result.returncode == 0, result.stderr
        text = result.stdout if out == "-" else out.read_text()
        if enough(text):
            break
    return text


@pytest.mark.parametrize("kind", ["pid", "container"])
def test_record_names_java_of_what_was_selected_and_nothing_else(container, tmp_path, spinner, kind):
    spinner("native_spinner", 600, 30)
    out = tmp_path / "out.folded"
    folded = Folded(record_until(lambda text: Folded(text).with_frame("Shares.seventy") >= 30,
                                 *selector_of(container, kind), out=out))
    assert folded.with_frame("Shares.seventy") >= 30, folded
    assert folded.with_frame("burn_seventy") == 0, folded


def test_record_makes_one_page_that_needs_nothing_else(container, tmp_path):
    out = tmp_path / "flame.html"
    page = record_until(lambda text: "seventy" in text, "-p", container.pid, out=out)
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert "seventy" in page
    assert list(tmp_path.iterdir()) == [out], "something else was left behind"


def test_record_works_as_a_command_of_jbpf_and_writes_to_stdout(container):
    text = record_until(lambda text: Folded(text).total >= 20, "-p", container.pid, "--format", "folded", out="-")
    assert Folded(text).total >= 20


def test_c_program_below_a_stripped_libc_is_whole_from_main_on(engine, tmp_path):
    """The image's libc has no symbol for what calls main, and keeps no frame pointer there."""
    container = engine.start("spinner", ["/app/native_spinner", "600", "60"])
    folded = Folded(record_until(lambda text: Folded(text).total >= 60, "--container", container.name,
                                 "--format", "folded", out="-"))
    whole = folded.samples(lambda frames: frames[0] == "native_spinner" and frames[2:3] == ["main"])
    assert folded.total >= 60, folded
    assert_rare(folded.total - whole, folded.total, 0.1, folded)


def test_record_of_an_idle_process_says_that_nothing_was_sampled(spinner, tmp_path):
    import subprocess
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        result = jbpf("record", "-p", sleeper.pid, "-d", "2s", "-o", tmp_path / "x.html")
    finally:
        sleeper.kill()
        sleeper.wait()
    assert result.returncode == 3
    assert len(lines_of(result.stderr)) == 1 and "nothing was sampled" in result.stderr
    assert not (tmp_path / "x.html").exists()


def test_record_refuses_wrong_usage_with_one_line(tmp_path):
    for arguments in (["-d", "soon"], ["--pid", "0"], ["--format", "gif"], ["--no-such-option"], ["stray"]):
        result = jbpf("record", *arguments, cwd=tmp_path)
        assert result.returncode == 2, (arguments, result.stderr)
        assert len(lines_of(result.stderr)) == 1 and "--help" in result.stderr, arguments
    assert list(tmp_path.iterdir()) == []
