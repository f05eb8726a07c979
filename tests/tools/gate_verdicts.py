#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Lines by which a test of the gate would judge a share, a latency, a cost or a moment.

  gate_verdicts.py FILE...        "FILE:LINE: TEXT" for each such line of pytest files

A busy host spoils such a verdict, and the gate must not fail for that: the test is marked long("reason"), or the line
says in a comment, there or above it, why it holds on any host: `# by construction: ...`. Looked at are tests without that
mark, and what they use of their file: functions, fixtures, classes."""
import ast
import re
import sys
from pathlib import Path

VERDICT = re.compile(r"\bassert .*(\b0\.\d+ \*|<= .*seconds|\belapsed\b)|\btime\.sleep\(|VmHWM|\bassert_(rare|share)\(")
REASON = "# by construction: "


def is_long(decorators):
    """Whether one of them is pytest.mark.long(...)."""
    return any(ast.unparse(one).startswith("pytest.mark.long(") for one in decorators)


def names_in(node):
    """What a function or class of the file may use: names, and fixtures, which are names of arguments."""
    return ({one.id for one in ast.walk(node) if isinstance(one, ast.Name)} |
            {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)})


def lines_of_the_gate(tree):
    defined = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    for node in tree.body:  # marks of a whole file
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark" and \
                "pytest.mark.long(" in ast.unparse(node.value):
            return set()
    waiting = [name for name, node in defined.items() if name.startswith("test_") and not is_long(node.decorator_list)]
    used = set()
    while waiting:
        name = waiting.pop()
        if name not in used:
            used.add(name)
            waiting += names_in(defined[name]) & set(defined)
    return {number for name in used for number in range(defined[name].lineno, defined[name].end_lineno + 1)}


def says_why(lines, number):
    """On the line itself, or in the comment above it."""
    if REASON in lines[number - 1]:
        return True
    above = number - 1
    while above and lines[above - 1].lstrip().startswith("#"):
        if REASON in lines[above - 1]:
            return True
        above -= 1
    return False


def main(paths):
    for path in paths:
        text = Path(path).read_text()
        lines = text.splitlines()
        for number in sorted(lines_of_the_gate(ast.parse(text))):
            line = lines[number - 1]
            if VERDICT.search(line.partition("  # ")[0]) and not says_why(lines, number):
                print(f"{path}:{number}: {line.strip()}")


if __name__ == "__main__":
    main(sys.argv[1:])
