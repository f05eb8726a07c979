# SPDX-License-Identifier: Apache-2.0
"""The original flamegraph.pl (Debian ships it in libdevel-nytprof-perl) reads what jbpf writes: the
folded output of jbpf-dump, and the files of the store as they are."""
import re
import subprocess

import pytest

from harness.programs import BIN, PATIENCE, run
from harness.store import make_store

FLAMEGRAPH = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"
START = 1700000000  # 2023-11-14T22:13:20Z

SCRIPT = f"""
window start={START} pid=42 samples=17 frames=40 comm=java is_jvm=1
	java;start_thread;a.B.run_[j];a.B.work(int, long)_[j] 6
	java;start_thread;a.B.run_[j];write;sys_write_[k] 3
	java;start_thread;read a file 1
	java;start_thread;<script>&"' 5
	java;start_thread;worker_12 2
window start={START} pid=7 samples=2 frames=2 comm=_hz
	_ hz;do_sys_poll_[k] 2
window start={START} samples=19
commit
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("fg") / "store", SCRIPT)


def draw(text):
    """Runs flamegraph.pl as people do; it warns on stderr about each line it does not take."""
    drawn = subprocess.run(["perl", FLAMEGRAPH, "--color=java"], input=text, text=True,
                           capture_output=True, timeout=60 * PATIENCE)
    assert (drawn.returncode, drawn.stderr) == (0, "")
    return drawn.stdout


def titles(svg):
    """Frame -> samples, of an ordinary graph. A differential one has other titles."""
    found = re.findall(r"<title>(.*) \(([\d,]+) samples, [\d.]+%\)</title>", svg)
    return {name: int(samples.replace(",", "")) for name, samples in found}


# flamegraph.pl itself turns angle brackets into round ones.
EXPECTED = {"all": 19, "java": 17, "start_thread": 17, "a.B.run_[j]": 9, "sys_write_[k]": 3,
            "worker_12": 2, "_ hz": 2, "read a file": 1, "(script)&amp;&quot;'": 5}


def assert_expected(frames):
    assert {name: frames.get(name) for name in EXPECTED} == EXPECTED


def test_dumped_text_is_drawn_without_a_warning(store):
    dumped = run(BIN / "jbpf-dump", "--store", store, "--since", f"@{START}", "--until", f"@{START + 60}")
    assert dumped.returncode == 0, dumped.stderr
    assert_expected(titles(draw(dumped.stdout)))


def test_a_file_of_the_store_is_drawn_as_it_is(store):
    (path,) = store.glob("v1/cpu/**/*.zst")
    text = subprocess.run(["zstdcat", path], capture_output=True, text=True, check=True).stdout
    assert_expected(titles(draw(text)))
