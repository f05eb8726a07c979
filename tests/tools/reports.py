#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the JUnit files of one run of pytest suites (scripts/run-e2e-tests).

  reports.py again FOLDER         files to try once more, alone: all that failed in them did not come in time
  reports.py sum FOLDER UNSTEADY  what failed, what passed at the second try only; last line: PASSED FAILED SKIPPED

FOLDER holds *.xml, and in again/ those of second tries, which count instead of the first ones. What is wrong is never
tried again; nor is anything when more than MOST_AGAIN files lack something: such a host is too busy, or it is broken."""
import json
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

MOST_AGAIN = 2


@dataclass
class Case:
    """One test of a report. What failed in itself and when it ended, too, comes as two."""
    node: str
    seconds: float
    failures: list
    skipped: bool
    lacking: bool
    host: str
    waited: tuple = (0, 0)  # the longest wait, and its limit: seconds

    @property
    def file(self):
        return self.node.partition("::")[0]


def case_of(element):
    told = [(one.get("name"), one.get("value")) for one in element.iter("property")]
    failures = [one.get("message") or "" for kind in ("failure", "error") for one in element.iter(kind)]
    # Of a test that comes as two the second one has the properties of both; that of a crashed worker has none.
    lacks = [value == "true" for name, value in told if name == "lacking"]
    return Case(node=f"{element.get('classname', '?').replace('.', '/')}.py::{element.get('name')}",
                seconds=float(element.get("time", "0")), failures=failures,
                skipped=element.find("skipped") is not None,
                lacking=bool(failures) and len(lacks) == len(failures) and all(lacks), host=dict(told).get("host", ""),
                waited=tuple(map(int, dict(told).get("waited", "0 of 0").split(" of "))))


def read(folder):
    """Cases of all reports in a folder. What cannot be read is one failed test: its pytest was ended."""
    cases = []
    for path in sorted(Path(folder).glob("*.xml")):
        try:
            cases += [case_of(one) for one in xml.parse(path).getroot().iter("testcase")]
        except (xml.ParseError, OSError) as error:
            cases.append(Case(f"?::{path.name}", 0, [f"no report: {error}"], False, False, ""))
    return cases


def failed(cases):
    return [case for case in cases if case.failures]


def files_to_try_again(cases):
    bad = failed(cases)
    files = sorted({case.file for case in bad})
    lacking = [name for name in files if all(case.lacking for case in bad if case.file == name)]
    return lacking if len(lacking) <= MOST_AGAIN else []


@dataclass
class Sum:
    cases: list  # those that count
    unsteady: list  # (first, second) of tests that passed at the second try only


def add_up(first, second):
    again = {case.file for case in second}
    passed = {case.node: case for case in second if not case.failures and not case.skipped}
    unsteady = [(case, passed[case.node]) for case in failed(first) if case.node in passed]
    return Sum([case for case in first if case.file not in again] + second, unsteady)


def note_unsteady(unsteady, path):
    commit = subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True, check=False)
    rows = [{"test": one.node, "first": one.failures[0], "host": one.host, "commit": commit.stdout.strip(),
             "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())} for one, _ in unsteady]
    Path(path).write_text(json.dumps(rows, indent=1) + "\n")


def first_line(text):
    return text.strip().splitlines()[0][:300] if text.strip() else "no message"


def print_sum(first, second, unsteady_path):
    total = add_up(first, second)
    note_unsteady(total.unsteady, unsteady_path)
    seconds = Counter()
    for case in first + second:
        seconds[Path(case.file).stem] += case.seconds
    print("seconds by file:", *(f"{name} {time:.0f}" for name, time in seconds.most_common(24)))
    longest = max(first + second, key=lambda case: case.waited, default=None)
    if longest and longest.waited[0]:
        print(f"longest wait: {longest.waited[0]} s, of {longest.waited[1]} s that it had: {longest.node}")
    bad = failed(total.cases)
    for case in bad:
        print(f"FAILED {case.node}: {first_line(case.failures[0])}")
        for one in failed(first):
            if one.node == case.node and one is not case:
                print(f"       it was the second try; at the first: {first_line(one.failures[0])}")
    for one, _ in total.unsteady:
        print(f"unsteady: {one.node} passed at the second try, alone. First: {first_line(one.failures[0])} ({one.host})")
    skipped = sum(case.skipped for case in total.cases)
    print(len(total.cases) - len(bad) - skipped, len(bad), skipped)


def main(words):
    if len(words) == 2 and words[0] == "again":
        print("".join(f"{name}\n" for name in files_to_try_again(read(words[1]))), end="")
    elif len(words) == 3 and words[0] == "sum":
        print_sum(read(words[1]), read(Path(words[1], "again")), words[2])
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
