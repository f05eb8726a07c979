# SPDX-License-Identifier: Apache-2.0
"""Completion in a real bash: what is offered behind each word of a command line."""
import subprocess

import pytest

from harness.programs import BIN, PATIENCE, TOP, run

SCRIPT = TOP / "user" / "completion" / "jbpf.bash"
# Words as readline hands them over: "=" is one of them.
COMPLETE = """
. "$0"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
handler=$(complete -p "${COMP_WORDS[0]##*/}") || exit 1
handler=${handler#*-F }
"${handler%% *}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(*words, cwd=TOP):
    result = subprocess.run(["bash", "--norc", "-c", COMPLETE, SCRIPT, *words], capture_output=True, text=True,
                            timeout=60 * PATIENCE, cwd=cwd)
    assert result.returncode == 0 and not result.stderr, (words, result)
    return result.stdout.split()


@pytest.mark.parametrize("words, wanted", [
    (["jbpf", ""], ["diff", "dump", "maps", "record", "status", "store", "help"]),
    (["jbpf", "d"], ["diff", "dump"]),
    (["jbpf", "help", "re"], ["record"]),
    (["jbpf", "--h"], ["--help"]),
    (["jbpf", "--help", ""], []),
    (["jbpf", "dump", "--co"], ["--container", "--comm"]),
    (["jbpf-dump", "--co"], ["--container", "--comm"]),
    (["/usr/bin/jbpf-dump", "--form"], ["--format"]),
    (["jbpf-dump", "--format", "s"], ["svg", "speedscope"]),
    (["jbpf-dump", "--format", "=", "s"], ["svg", "speedscope"]),
    (["jbpf-dump", "--format", "="], ["folded", "html", "svg", "top", "json", "pprof", "speedscope", "cells"]),
    (["jbpf", "dump", "--by", "p"], ["pod", "pid"]),
    (["jbpf", "dump", "--kind", ""], ["java", "kernel", "native"]),
    (["jbpf", "dump", "--since", ""], []),
    (["jbpf-dump", "--since", "1h", "--li"], ["--lines", "--list"]),
    (["jbpf-dump", "--list", "--lin"], ["--lines"]),
    (["jbpf-store", ""], ["check", "compact"]),
    (["jbpf", "store", "co"], ["compact"]),
    (["jbpf", "store", "check", "--format", ""], ["text", "json"]),
    (["jbpf-diff", "--fail-on", ""], ["regression"]),
    (["jbpfd", "--jit", "vm"], ["vmstructs"]),
    (["jbpfd", "--log-level", ""], ["err", "warn", "info", "debug"]),
    (["jbpf", "frobnicate", "--"], []),
], ids="_".join)
def test_words_are_offered(words, wanted):
    assert offered(*words) == wanted


def test_files_and_folders_are_offered_where_they_are_wanted(tmp_path):
    (tmp_path / "one.folded").touch()
    (tmp_path / "once").mkdir()
    for words in (["jbpf-dump", "-o", "on"], ["jbpf", "record", "--output", "on"], ["jbpf-diff", "on"],
                  ["jbpf-diff", "one.folded", "on"]):
        assert sorted(offered(*words, cwd=tmp_path)) == ["once", "one.folded"], words
    for words in (["jbpf-dump", "--store", "on"], ["jbpfd", "--store", "=", "on"], ["jbpf", "maps", "-d", "on"]):
        assert offered(*words, cwd=tmp_path) == ["once"], words


def test_every_program_has_it_and_its_options_are_taken():
    for program in sorted(path.name for path in BIN.iterdir()):
        options = [word for word in offered(program, "-") if word.startswith("--")]
        assert {"--help", "--version"} <= set(options), program
        for option in options:
            said = run(BIN / program, "--help", option).stderr  # nothing is done
            assert "there is no" not in said, (program, option, said)
