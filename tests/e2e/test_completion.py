# SPDX-License-Identifier: Apache-2.0
"""Completion in a real bash and a real zsh: what is offered behind each word of a command line."""
import subprocess

import pytest

from harness.programs import BIN, PATIENCE, TOP, run

SCRIPT = TOP / "user" / "completion" / "jbpf.bash"
SCRIPT_ZSH = TOP / "user" / "completion" / "_jbpf"
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

# zsh's own way to offer words is replaced by one that prints them; "--format=s" is one word to it.
COMPLETE_ZSH = """
compadd() { shift; print -rl -- ${(M)@:#${PREFIX}*} }
_files() { [[ ${1-} == -/ ]] && print -rl -- ${PREFIX}*(N/) || print -rl -- ${PREFIX}*(N) }
compset() { PREFIX=${PREFIX#*=} }
script=$1; shift
words=("$@") CURRENT=$# PREFIX=${@[-1]}
. $script
true
"""
OFFERS = [
    (["jbpf", ""], ["diff", "dump", "maps", "push", "record", "status", "store", "top", "web", "help"]),
    (["jbpf", "d"], ["diff", "dump"]),
    (["jbpf", "help", "re"], ["record"]),
    (["jbpf", "--h"], ["--help"]),
    (["jbpf", "--help", ""], []),
    (["jbpf", "dump", "--co"], ["--container", "--comm"]),
    (["jbpf-dump", "--co"], ["--container", "--comm"]),
    (["/usr/bin/jbpf-dump", "--form"], ["--format"]),
    (["jbpf-dump", "--format", "s"], ["svg", "speedscope"]),
    (["jbpf-dump", "--format", "=", "s"], ["svg", "speedscope"]),
    (["jbpf-dump", "--format", "="], ["folded", "html", "svg", "top", "json", "pprof", "speedscope", "otlp", "cells"]),
    (["jbpf", "dump", "--by", "p"], ["pod", "pid"]),
    (["jbpf", "dump", "--kind", ""], ["java", "kernel", "native"]),
    (["jbpf", "dump", "--since", ""], []),
    (["jbpf-dump", "--since", "1h", "--li"], ["--lines", "--list"]),
    (["jbpf-dump", "--list", "--lin"], ["--lines"]),
    (["jbpf-store", ""], ["check", "compact"]),
    (["jbpf", "store", "co"], ["compact"]),
    (["jbpf", "store", "check", "--format", ""], ["text", "json"]),
    (["jbpf-diff", "--fail-on", ""], ["regression", "slower", "regression-or-unjudged", "slower-or-unjudged"]),
    (["jbpfd", "--jit", "vm"], ["vmstructs"]),
    (["jbpfd", "--log-level", ""], ["err", "warn", "info", "debug"]),
    (["jbpf", "frobnicate", "--"], []),
]


def offered(*words, cwd=TOP):
    result = subprocess.run(["bash", "--norc", "-c", COMPLETE, SCRIPT, *words], capture_output=True, text=True,
                            timeout=60 * PATIENCE, cwd=cwd)
    assert result.returncode == 0 and not result.stderr, (words, result)
    return result.stdout.split()


@pytest.mark.parametrize("words, wanted", OFFERS, ids="_".join)
def test_words_are_offered(words, wanted):
    assert offered(*words) == wanted


def offered_by_zsh(*words, cwd=TOP):
    result = subprocess.run(["zsh", "-f", "-c", COMPLETE_ZSH, "zsh", SCRIPT_ZSH, *words], capture_output=True, text=True,
                            timeout=60 * PATIENCE, cwd=cwd)
    assert result.returncode == 0 and not result.stderr, (words, result)
    return result.stdout.split()


def zsh_words(words):
    """The same command line, of which zsh makes no words at "="."""
    line = []
    for word in words:
        if word == "=" or (line and line[-1].endswith("=")):
            line[-1] += word
        else:
            line.append(word)
    return line


@pytest.mark.parametrize("words, wanted", OFFERS, ids="_".join)
def test_zsh_offers_the_same(words, wanted):
    assert offered_by_zsh(*zsh_words(words)) == wanted


def test_zsh_offers_files_and_folders_where_they_are_wanted(tmp_path):
    (tmp_path / "one.folded").touch()
    (tmp_path / "once").mkdir()
    for words in (["jbpf-dump", "-o", "on"], ["jbpf", "record", "--output", "on"], ["jbpf-diff", "one.folded", "on"]):
        assert sorted(offered_by_zsh(*words, cwd=tmp_path)) == ["once", "one.folded"], words
    for words in (["jbpf-dump", "--store", "on"], ["jbpfd", "--store=on"]):
        assert offered_by_zsh(*words, cwd=tmp_path) == ["once"], words


def test_a_real_zsh_completes_at_its_prompt(tmp_path):
    """compinit finds the script by its first line, which names every program."""
    programs = {path.name for path in BIN.iterdir()}
    first, *_ = SCRIPT_ZSH.read_text().splitlines()
    assert set(first.split()[1:]) == programs
    typed = f"""
    zmodload zsh/zpty
    zpty shell zsh -f -i
    zpty -w shell 'PS1=; fpath=({SCRIPT_ZSH.parent} $fpath); autoload -U compinit; compinit -u -d {tmp_path}/dump; print rea''dy'
    zpty -r -m shell line '*ready*'
    zpty -n -w shell $'jbpf-dump --format speeds\\t'
    zpty -r -m shell line '*--format speedscope*' && print -r -- completed
    """
    result = subprocess.run(["zsh", "-f", "-c", typed], capture_output=True, text=True, timeout=60 * PATIENCE)
    assert "completed" in result.stdout, result


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
