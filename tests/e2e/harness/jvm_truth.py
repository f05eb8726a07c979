# SPDX-License-Identifier: Apache-2.0
"""What a JVM itself says about its code: Compiler.perfmap (17+), Compiler.codelist (9+) through an
attach, and the log of its compilations (any). The second source that jbpf's reader is held against."""
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from collections import namedtuple
from pathlib import Path

from harness.programs import BUILD, PATIENCE, run, wait_until

ATTACH_CLIENT = Path(__file__).with_name("attach_client.py")
ATTACH_TOOL = BUILD / "tests" / "tools" / "attach_tool"

Code = namedtuple("Code", "start size name")  # what a line of a perf map says
BASIC_TYPES = {"B": "byte", "C": "char", "D": "double", "F": "float", "I": "int", "J": "long", "S": "short",
               "Z": "boolean", "V": "void"}


def as_hotspot_says(name):
    """jbpf's reader has "Lcom/foo/Bar;::baz(IJ)V" of a method."""
    owner, mark, rest = name.partition(";::")
    if not mark or not owner.startswith("L") or "(" not in rest:
        return name
    method, _, signature = rest.rpartition("(")
    return external_name(f"{owner[1:].replace('/', '.')}.{method}", "(" + signature)


def parse_perf_map(text):
    """Its lines as a set of Code."""
    codes = set()
    for line in text.splitlines():
        start, size, name = line.split(" ", 2)
        codes.add(Code(int(start, 16), int(size, 16), as_hotspot_says(name)))
    return codes


def perf_map(pid):
    """Compiler.perfmap of a JVM in a container where it is pid 1, asked for now."""
    for _ in range(5):  # another profiler on this host may be asking at this moment
        answer = run(ATTACH_TOOL, "attach", pid, 60000)  # ms: on a busy host a JVM takes its time
        if answer.returncode == 0:
            with open(f"/proc/{pid}/root/tmp/perf-1.map", errors="replace") as file:
                codes = parse_perf_map(file.read())
            run(ATTACH_TOOL, "remove", pid)
            return codes
        time.sleep(0.5)
    raise AssertionError(f"no perf map of {pid}: {answer.stdout}")


def start_listener(pid, user):
    """Makes the JVM listen, as jcmd does: a file that says so, then SIGQUIT."""
    marker = f"/proc/{pid}/root/tmp/.attach_pid1"
    os.close(os.open(marker, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    try:
        os.chown(marker, user, user)
        os.kill(pid, 3)
        wait_until(lambda: os.path.exists(f"/proc/{pid}/root/tmp/.java_pid1"), 10, "the JVM listens")
    finally:
        os.unlink(marker)


def ask(pid, command, user=12345):
    """Answer of a JVM (pid 1 of its container) to a jcmd command, text. As its user: a JVM talks to
    no one else."""
    if not os.path.exists(f"/proc/{pid}/root/tmp/.java_pid1"):
        start_listener(pid, user)
    folder = os.open(f"/proc/{pid}/root/tmp", os.O_PATH | os.O_DIRECTORY)
    try:
        asked = subprocess.run([sys.executable, ATTACH_CLIENT, command, str(folder), str(user)], timeout=60 * PATIENCE,
                               pass_fds=[folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    finally:
        os.close(folder)
    assert asked.returncode == 0, asked.stderr.decode(errors="replace")
    status, _, text = asked.stdout.decode(errors="replace").partition("\n")
    assert status == "0", f"{command}: {status} {text[:300]}"
    return text


CODELIST = re.compile(r"(\d+) (-?\d+) (-?\d+) (.+) \[(0x[0-9a-f]+), (0x[0-9a-f]+) - (0x[0-9a-f]+)\]$")


def codelist(pid):
    """Compiler.codelist: living nmethods as a dictionary of Code to (compile id, level)."""
    codes = {}
    for line in ask(pid, "Compiler.codelist").splitlines():
        match = CODELIST.match(line)
        if match:
            begin, end = int(match[6], 16), int(match[7], 16)
            method, _, signature = match[4].partition("(")
            codes[Code(begin, end - begin, external_name(method, "(" + signature))] = (int(match[1]), int(match[2]))
    return codes


def external_type(text, at):
    """("java.lang.String[]", position behind it) of a descriptor."""
    dimensions = 0
    while text[at] == "[":
        dimensions, at = dimensions + 1, at + 1
    if text[at] in "L":
        end = text.index(";", at)
        name, at = text[at + 1:end].replace("/", "."), end + 1
    else:
        name, at = BASIC_TYPES[text[at]], at + 1
    return name + "[]" * dimensions, at


def external_name(method, signature):
    """("com.foo.Bar.baz", "(IJ)V") -> "void com.foo.Bar.baz(int, long)", as perf maps have it."""
    parameters, at = [], 1
    while signature[at] != ")":
        name, at = external_type(signature, at)
        parameters.append(name)
    return f"{external_type(signature, at + 1)[0]} {method}({', '.join(parameters)})"


def without_hash(name):
    """Hidden classes' names end in an address or a hash, written differently everywhere, or not at all."""
    return re.sub(r"[+/](0x[0-9a-f]+|\d+)(?=[.),\[]|$)", "", name)


Compilation = namedtuple("Compilation", "code_begin level name seconds")


def compilations(path):
    """-XX:+LogCompilation's file: every nmethod there ever was, by compile id; and the ids of those
    that the JVM gave up."""
    made, dropped = {}, set()
    with open(path, errors="replace") as file:
        for line in file:
            if line.startswith("<nmethod ") and line.endswith("/>\n"):
                at = xml.fromstring(line).attrib
                owner, name, signature = at["method"].rsplit(" ", 2)
                method = f"{without_hash(owner).replace('/', '.')}.{name}"
                made[int(at["compile_id"])] = Compilation(
                    int(at["address"], 16) + int(at["insts_offset"]), int(at["level"]),
                    external_name(method, signature), float(at["stamp"]))
            elif line.startswith(("<make_not_entrant ", "<make_zombie ", "<make_unloaded ")):
                match = re.search(r" compile_id='(\d+)'", line)
                dropped.add(int(match[1]))
    return made, dropped
