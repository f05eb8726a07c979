# SPDX-License-Identifier: Apache-2.0
"""Names that containers choose, in every place where they may choose one, and every output that
shows them: nothing obeys them. Terminals get no control bytes, pages show text, JSON and folded
text can be parsed, the log has one line per message."""
import json
import os
import re
import subprocess

import pytest

from harness.containers import java
from harness.folded import Folded
from harness.hostile import LATEST
from harness.neighbours import is_removed
from harness.programs import AIDS, BIN, PATIENCE, jbpf, run, wait_until

pytestmark = pytest.mark.live

SECONDS = 900
# What a terminal or a browser would obey, a folded line would be broken by, and no UTF-8.
EVIL = "<img src=x onerror=alert(1)>;\x1b]0;owned\x07\x1b[31m\"'&\n\r\t\x9b{{7*7}} 12"
EVIL_FILE = EVIL.encode("latin-1").replace(b"/", b"") + b"\xff\xfe 34"
EVIL_SYMBOL = "<script>alert(2)</script>;\x1b[2J\n\"&\x7f 56"
SHOWN_SYMBOL = b"<script>alert(2)</script>:_[2J"  # as folded text has it
LONG_LABEL = "L" * 70000
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
FORMATS = ("folded", "html", "svg", "top", "json", "speedscope", "cells")


class Scene:
    """A container of evil labels with a program of evil file name, symbols and comm, a JVM with evil
    names, a process in a cgroup of such a name; all of it once in a store."""

    def __init__(self, engine, app, module_daemon):
        self.daemon = module_daemon("--log-level", "debug", window="2s", name="names").start().wait_ready()
        program = os.path.join(os.fsencode(app), EVIL_FILE)
        made = run("objcopy", "--redefine-sym", f"burn_seventy={EVIL_SYMBOL}", AIDS / "native_spinner", os.fsdecode(program))
        assert made.returncode == 0, made.stderr
        os.chmod(program, 0o755)
        self.container = engine.start("names", [
            "sh", "-c", f"for file in /app/*owned*; do exec \"$file\" {SECONDS} 15; done"], options=[
                "--hostname", "evil-host", "--label", f"com.docker.compose.service={EVIL}", "--label", f"long={LONG_LABEL}",
                "--label", f"io.kubernetes.pod.name={EVIL}", "--label", f"io.kubernetes.pod.namespace={LONG_LABEL}"])
        self.jvm = engine.start_ready("names-jvm", java("EvilNames", SECONDS, 15, inline=True), "READY")
        self.cgroup = self.own_cgroup()
        self.worker = subprocess.Popen([AIDS / "native_spinner", str(SECONDS), "8"])
        with open(os.path.join(self.cgroup, b"cgroup.procs"), "w") as procs:
            procs.write(str(self.worker.pid))
        self.pids = [self.container.pid, self.jvm.pid, self.worker.pid]
        self.daemon.wait_samples({pid: 10 for pid in self.pids}, seconds=LATEST)
        wait_until(lambda: "jbpf-evil-" in self.daemon.list_text("--format", "json"), LATEST, "the cgroup of that name has samples")
        wait_until(lambda: "Evil" in self.raw("--pid", self.jvm.pid).decode(), LATEST, "the method of the evil class is named")
        wait_until(lambda: SHOWN_SYMBOL in self.raw("--pid", self.container.pid), LATEST, "the evil symbol is seen")

    @staticmethod
    def own_cgroup():
        roots = [root for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified") if os.path.exists(f"{root}/cgroup.controllers")]
        assert roots, "this host has no cgroup v2 tree: the test needs one"
        # A line feed is what the kernel does not take there.
        name = os.fsencode(f"{roots[0]}/jbpf-evil-{os.getpid()}-") + EVIL_FILE.replace(b"\n", b"")
        os.mkdir(name)
        return name

    def raw(self, *arguments, command="dump"):
        """Bytes that a client prints."""
        when = ["--since", self.daemon.since()] if command == "dump" else []
        done = subprocess.run([BIN / f"jbpf-{command}", "--store", self.daemon.store, *when, *map(str, arguments)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60 * PATIENCE)
        assert done.returncode == 0, done.stderr
        assert not CONTROL.search(done.stderr), done.stderr
        return done.stdout

    def end(self):
        self.worker.kill()
        self.worker.wait()
        wait_until(lambda: is_removed(self.cgroup), 10, "the cgroup is empty")


@pytest.fixture(scope="module")
def scene(engine, app, module_daemon):
    scene = Scene(engine, app, module_daemon)
    yield scene
    scene.end()


@pytest.mark.parametrize("form", FORMATS)
def test_output_is_text_that_nothing_obeys(scene, form):
    text = scene.raw("--format", form)
    text.decode("utf-8")  # strictly
    assert not CONTROL.search(text), CONTROL.search(text)
    if form in ("html", "svg"):
        assert b"<img" not in text and b"<script>alert" not in text
    if form in ("json", "speedscope"):
        json.loads(text)
    if form == "folded":
        Folded(text.decode())
        assert SHOWN_SYMBOL in text, "the evil symbol was not seen: nothing was tested"


@pytest.mark.parametrize("label", ["container", "pod", "service", "pid"])
def test_labels_as_frames_keep_the_text_whole(scene, label):
    Folded(scene.raw("--by", label).decode("utf-8"))
    assert not CONTROL.search(scene.raw("--by", label, "--format", "top"))


def test_lists_and_status_are_safe_for_terminals_and_programs(scene):
    for arguments, command in ((["--list"], "dump"), (["--all"], "status")):
        table = scene.raw(*arguments, command=command)
        table.decode("utf-8")
        assert not CONTROL.search(table)
    for arguments, command in ((["--list", "--format", "json"], "dump"), (["--all", "--json"], "status")):
        def are_all_there():
            text = scene.raw(*arguments, command=command)
            assert not CONTROL.search(text)
            streams = json.loads(text)["streams"]
            # The worker began in another one.
            return set(scene.pids) <= {stream["pid"] for stream in streams} and \
                any("jbpf-evil-" in stream["cgroup"] for stream in streams if stream["pid"] == scene.worker.pid)
        wait_until(are_all_there, LATEST, f"{command} has all of them")  # status: of the last minute


def test_comparison_is_safe_in_every_format(scene):
    folded = scene.raw()
    before, after = scene.daemon.log_path.with_name("before.folded"), scene.daemon.log_path.with_name("after.folded")
    before.write_bytes(folded)
    after.write_bytes(folded.replace(b" 1\n", b" 9\n"))
    for form in ("folded", "top", "json", "html"):
        compared = subprocess.run([BIN / "jbpf-diff", before, after, "--format", form], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=60 * PATIENCE)
        assert compared.returncode in (0, 3, 4), compared.stderr
        compared.stdout.decode("utf-8")
        assert not CONTROL.search(compared.stdout) and not CONTROL.search(compared.stderr)
        assert form != "html" or (b"<img" not in compared.stdout and b"<script>alert" not in compared.stdout)


def test_maps_for_perf_have_one_line_per_method(scene, tmp_path):
    for _ in range(5):
        result = jbpf("maps", "-p", scene.jvm.pid, "-d", tmp_path)
        # A parser has two seconds for a file: beside much else one that is built with sanitizers may need a second try.
        if "takes too long" not in result.stderr:
            break
    assert result.returncode == 0, result.stderr
    text = (tmp_path / f"perf-{scene.jvm.pid}.map").read_bytes()
    assert text and not CONTROL.search(text)
    assert all(re.fullmatch(rb"[0-9a-f]+ [0-9a-f]+ .+", line) for line in text.splitlines())


def test_page_shows_names_as_text(scene, browser, tmp_path):
    page = tmp_path / "page.html"
    scene.raw("--format", "html", "-o", page)
    browser.open(page)
    browser.settle()
    browser.search("alert")
    assert browser.js("return window.alertCount") == 0
    assert browser.js("return document.images.length") == 0
    assert browser.requests() == []
    assert not browser.console(), browser.console()


def test_log_has_lines_and_nothing_else(scene):
    log = scene.daemon.log_path.read_bytes()
    assert not CONTROL.search(log), CONTROL.search(log)
    assert all(line.startswith(b"jbpfd: ") for line in log.splitlines()), [
        line for line in log.splitlines() if not line.startswith(b"jbpfd: ")][:3]
