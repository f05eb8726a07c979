# SPDX-License-Identifier: Apache-2.0
"""What did not come in time is tried once more and told; what is wrong never is."""
import json
import os
import re
import sys

import pytest

from harness.programs import TOP, run

REPORTS = TOP / "tests" / "tools" / "reports.py"
PROGRAM = """
import os
from subprocess import TimeoutExpired
import pytest
from harness.programs import Lacking


@pytest.fixture
def ending():
    yield
    if "ENDS_BADLY" in os.environ:
        raise Lacking("it does not end")


def test_good():
    pass


def test_bad(ending):
    for kind in os.environ.get("FAILURE", "").split():
        raise {"late": Lacking, "wrong": AssertionError, "slow": ValueError, "silent": TimeoutError,
               "endless": TimeoutExpired}[kind]("so it is", *[9] * (kind == "endless"))
"""


@pytest.fixture
def tree(tmp_path):
    """Tests of their own, with the hooks of the real ones."""
    (tmp_path / "conftest.py").write_text((TOP / "tests" / "conftest.py").read_text().replace(
        "str(Path(__file__).resolve().parent / \"e2e\")", repr(str(TOP / "tests" / "e2e"))))
    (tmp_path / "reports" / "again").mkdir(parents=True)
    for name in ("one", "two", "three"):
        (tmp_path / f"test_{name}.py").write_text(PROGRAM)
    return tmp_path


def report(tree, out, *names, **environment):
    """What pytest said."""
    return run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={tree}",
               f"--junitxml={tree / 'reports' / out}", *[f"test_{name}.py" for name in names], cwd=tree,
               env={**{name: value for name, value in os.environ.items() if not name.startswith("PYTEST")},
                    **environment})


def again(tree):
    return run(REPORTS, "again", tree / "reports", check=True).stdout.split()


def summed(tree):
    """(counts, text, what is noted)"""
    text = run(REPORTS, "sum", tree / "reports", tree / "unsteady.json", check=True).stdout
    return text.splitlines()[-1], text, json.loads((tree / "unsteady.json").read_text())


@pytest.mark.parametrize("failure", ["late", "silent", "endless"])
def test_what_did_not_come_in_time_counts_as_passed_when_it_comes_the_second_time_and_is_told(tree, failure):
    report(tree, "first.xml", "one", "two", FAILURE="")
    report(tree, "third.xml", "three", FAILURE=failure)
    assert again(tree) == ["test_three.py"]
    report(tree, "again/three.xml", "three")
    counts, text, noted = summed(tree)
    assert counts == "6 0 0"
    assert "unsteady: test_three.py::test_bad passed at the second try, alone. First: " in text
    assert [(one["test"], "so it is" in one["first"]) for one in noted] == [("test_three.py::test_bad", True)]
    assert "load " in noted[0]["host"]


def test_what_does_not_come_twice_has_failed_and_both_are_told(tree):
    report(tree, "first.xml", "one", FAILURE="late")
    report(tree, "again/one.xml", "one", FAILURE="slow")
    counts, text, noted = summed(tree)
    assert (counts, noted) == ("1 1 0", [])
    assert "FAILED test_one.py::test_bad: ValueError: so it is" in text
    assert "at the first: harness.programs.Lacking: so it is" in text


@pytest.mark.parametrize("failure", ["wrong", "slow"])
def test_what_is_wrong_is_not_tried_again(tree, failure):
    report(tree, "first.xml", "one", FAILURE=failure)
    assert again(tree) == []
    assert summed(tree)[0] == "1 1 0"


def test_a_file_in_which_anything_is_wrong_is_not_tried_again(tree):
    report(tree, "first.xml", "one", FAILURE="late")
    report(tree, "wrong.xml", "one", FAILURE="wrong")
    assert again(tree) == []


@pytest.mark.parametrize("failure", ["", "late"])
def test_what_does_not_end_is_wrong_and_not_late(tree, failure):
    report(tree, "first.xml", "one", FAILURE=failure, ENDS_BADLY="yes")
    assert again(tree) == []
    assert summed(tree)[0].split()[1] != "0"


def test_more_than_two_files_that_lack_something_are_not_tried_again(tree):
    report(tree, "first.xml", "one", "two", FAILURE="late")
    assert again(tree) == ["test_one.py", "test_two.py"]
    report(tree, "third.xml", "three", FAILURE="late")
    assert again(tree) == []
    assert summed(tree)[0] == "3 3 0"


def test_a_run_that_was_ended_before_it_wrote_its_report_has_failed(tree):
    report(tree, "first.xml", "one")
    (tree / "reports" / "second.xml").write_text("")
    assert again(tree) == []
    counts, text, _ = summed(tree)
    assert counts == "2 1 0"
    assert "FAILED ?::second.xml: no report: " in text


def test_the_longest_wait_is_told(tree):
    (tree / "test_one.py").write_text(
        "import time\nfrom harness.programs import wait_until\n\n\ndef waits(seconds):\n    begin = time.monotonic()\n"
        "    wait_until(lambda: time.monotonic() >= begin + seconds, 20, 'the time is over')\n\n\n"
        "def test_short():\n    waits(0.1)\n\n\ndef test_longer():\n    waits(0.1)\n    waits(2.2)\n    waits(0.1)\n")
    report(tree, "first.xml", "one", JBPF_TEST_PATIENCE="7")
    report(tree, "second.xml", "two")
    counts, text, _ = summed(tree)
    told = re.search(r"^longest wait: (\d+) s, of 140 s that it had: test_one.py::test_longer$", text, re.M)
    assert counts == "4 0 0" and told and int(told[1]) >= 2, text


def test_a_long_test_says_why(tree):
    (tree / "test_one.py").write_text("import pytest\n\n\n@pytest.mark.long()\ndef test_it():\n    pass\n")
    said = report(tree, "first.xml", "one")
    assert "test_one.py::test_it: long() wants the reason" in said.stdout + said.stderr
    assert said.returncode != 0
