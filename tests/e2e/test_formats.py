# SPDX-License-Identifier: Apache-2.0
"""--format pprof and --format speedscope on stores whose content is known: what comes out holds
exactly the stacks that --format folded holds, and keeps the rules of both formats. pprof is read by
npm's pprof-format, so that no code of jbpf judges jbpf. No BPF, no containers."""
import collections
import json
import os
import pty
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.programs import BIN, CACHE, PATIENCE, TOP, jbpf, run
from harness.store import make_store

START = 1700000000  # 2023-11-14T22:13:20Z
PERIOD_NS = 10101010  # at 99 Hz
NODE = Path(__file__).resolve().parent / "node"
GOLDEN = TOP / "tests" / "fixtures" / "pprof"

SUFFIXES = {"": "", "[native]": "", "[kernel]": "_[k]", "[java jit]": "_[j]", "[java c1]": "_[1]",
            "[java interpreted]": "_[0]", "[java inlined]": "_[i]"}
KIND = re.compile(r"_\[[kj10i]\]$")

SCRIPT = f"""
window start={START} pid=42 samples=20 frames=40 unknown_frames=1 comm=java container=shop-1 service=shop
	java;a.B.run_[0];a.B.work_[j] 6
	java;a.B.run_[j];a.B.work_[1];a.B.<init>_[i];memcpy_[k] 3
	java;std::vector<int>::push_back(int const&);memcpy 1
	java;[unknown];%F0%9F%98%80.%E2%82%AC_[j] 2
	java;evil%1B[31m;%C3%28;memcpy 8
	@a.B.work_[j];B.java:12 5
	@a.B.work_[j];B.java:13 1
window start={START} pid=43 samples=4 frames=8 comm=java container=cart-1 service=cart
	java;a.B.run_[j];a.B.work_[j] 4
window start={START} pid=7 samples=4 frames=2 comm=cron
	cron;do_sys_poll_[k] 2
	cron;[libc.so.6] 1
	cron 1
window start={START} samples=28 counts_full=5
commit
window start={START + 10} pid=42 samples=5 frames=10 comm=java container=shop-1 service=shop
	java;a.B.run_[0];a.B.work_[j] 5
commit
"""


def random_script(seed, stack_cnt):
    """Stacks that share beginnings, of all kinds, some of them deep, in two windows."""
    chance = random.Random(seed)
    names = [f"org.acme.p{i % 40}.Class{i % 170}.method{i}" for i in range(700)]
    script, stack = [], ["java"]
    for window in range(2):
        script.append(f"window start={START + 10 * window} pid=9 samples=1 comm=java container=big")
        for _ in range(stack_cnt):
            stack = stack[:chance.randint(1, len(stack))]
            for _ in range(chance.randint(1, 300 if chance.random() < 0.01 else 12)):
                stack.append(chance.choice(names) + chance.choice(["_[j]", "_[1]", "_[0]", "_[i]", "_[k]", ""]))
            script.append(f"\t{';'.join(stack)} {chance.randint(1, 900)}")
        script.append("commit")
    return "\n".join(script) + "\n"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("known") / "store", SCRIPT)


@pytest.fixture(scope="module")
def decode():
    """Reads a file as pprof-format does."""
    modules = CACHE / "node"
    modules.mkdir(parents=True, exist_ok=True)
    for name in ["package.json", "package-lock.json"]:
        shutil.copy(NODE / name, modules)
    assert shutil.which("node") and shutil.which("npm"), "no node or npm: run scripts/install-deps test"
    got = run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline",
              "--fetch-retries=4", "--fetch-retry-mintimeout=1000", "--cache", CACHE / "npm",
              cwd=modules, timeout=120)
    if got.returncode != 0:
        # A package other than the one that was pinned is no matter of the network.
        assert "EINTEGRITY" not in got.stderr, got.stderr
        error = next((line for line in got.stderr.splitlines() if " code " in line), got.stderr[-200:])
        pytest.skip(f"pprof-format cannot be fetched from the npm registry: {error}")

    def decoder(data):
        result = subprocess.run(["node", NODE / "pprof_to_json.cjs", modules], input=data, timeout=60 * PATIENCE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert result.returncode == 0, result.stderr
        return Pprof(json.loads(result.stdout))
    return decoder


def dump(store, *arguments, told=b""):
    """Bytes on standard output; `told` is part of what is on the other one."""
    result = subprocess.run([BIN / "jbpf-dump", "--store", store, "--since", f"@{START}", "--until",
                             f"@{START + 100}", *arguments], stdin=subprocess.DEVNULL, timeout=60 * PATIENCE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert result.returncode == 0 and told in result.stderr and bool(told) == bool(result.stderr), result
    return result.stdout


def folded(store, *arguments):
    """Counts by stack."""
    lines = dump(store, *arguments).decode().splitlines()
    stacks = {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines}
    assert len(stacks) == len(lines) > 0
    return stacks


class Pprof:
    """A decoded profile that was found to keep the rules of pprof and of Parca, which is stricter."""

    def __init__(self, data):
        self.data = data
        self.strings = data["stringTable"]
        assert self.strings[0] == "" and len(set(self.strings)) == len(self.strings)
        assert not any(re.search("[\x00-\x1f\x7f-\x9f]", text) for text in self.strings)
        for table in ["mapping", "location", "function"]:
            assert [it["id"] for it in data[table]] == list(range(1, len(data[table]) + 1)), table
        assert all(it["hasFunctions"] for it in data["mapping"])
        for function in data["function"]:
            assert self.strings[function["name"]] and function["systemName"] == function["name"]
        for location in data["location"]:
            assert 1 <= location["mappingId"] <= len(data["mapping"])
            assert [1 <= line["functionId"] <= len(data["function"]) for line in location["line"]] == [True]
        used = {place for sample in data["sample"] for place in sample["locationId"]}
        assert used == {it["id"] for it in data["location"]}, "locations that no sample has, or none has them"
        self.types = [self.pair(it) for it in data["sampleType"]]
        assert all(len(sample["value"]) == len(self.types) for sample in data["sample"])

    def text(self, it, field):
        return self.strings[it[field]]

    def pair(self, it):
        return self.text(it, "type"), self.text(it, "unit")

    def labels(self, sample):
        found = {self.text(it, "key"): self.text(it, "str") or it["num"] for it in sample["label"]}
        assert len(found) == len(sample["label"])
        return found

    def frame(self, place):
        location = self.data["location"][place - 1]
        function = self.data["function"][location["line"][0]["functionId"] - 1]
        mapping = self.data["mapping"][location["mappingId"] - 1]
        return self.text(function, "name") + SUFFIXES[self.text(mapping, "filename")]

    def stacks(self, *front):
        """As folded() has them; `front`: labels that go in front as frames."""
        found = {}
        for sample in self.data["sample"]:
            labels = self.labels(sample)
            frames = [str(labels.get(name, "(none)")) for name in front]
            frames += [self.frame(place) for place in reversed(sample["locationId"])]
            assert ";".join(frames) not in found
            found[";".join(frames)] = sample["value"][0]
        return found

    def files(self):
        return sorted((self.text(it, "name"), self.text(it, "filename")) for it in self.data["function"])


# ---- pprof --------------------------------------------------------------------------------------

@pytest.mark.root
@pytest.mark.parametrize("arguments", [
    [], ["--container", "shop-1"], ["--kind", "kernel"], ["--kind", "java"], ["--pid", "7"],
], ids=lambda arguments: "_".join(arguments) or "all")
def test_pprof_holds_the_stacks_of_folded(store, decode, arguments):
    expected = folded(store, *arguments)
    profile = decode(dump(store, "--format", "pprof", *arguments))
    assert profile.stacks() == expected
    assert profile.types == [("samples", "count"), ("cpu", "nanoseconds")]
    assert sum(it["value"][0] for it in profile.data["sample"]) == sum(expected.values())
    assert sum(it["value"][1] for it in profile.data["sample"]) == sum(expected.values()) * PERIOD_NS


@pytest.mark.root
def test_pprof_says_what_it_is_of(store, decode):
    profile = decode(dump(store, "--format", "pprof", "--container", "shop-1"))
    data = profile.data
    assert (profile.pair(data["periodType"]), data["period"]) == (("cpu", "nanoseconds"), PERIOD_NS)
    assert profile.text(data, "defaultSampleType") == "cpu"
    assert (int(data["timeNanos"]), data["durationNanos"]) == (START * 10**9, 100 * 10**9)
    assert [profile.strings[it] for it in data["comment"]] == [
        "CPU of container shop-1",
        "2023-11-14T22:13:20Z to 2023-11-14T22:15:00Z (1m 40s, of which 10s were recorded)",
        "25 samples, 0.25 CPU seconds at 99 Hz, 0.03 cores, 1 process",
        "unknown frames 2.00 %, truncated stacks 0.00 %, lost samples 5 (whole host)",
    ]
    assert profile.files() == sorted([
        ("[unknown]", ""), ("a.B.<init>", ""), ("a.B.run", ""), ("a.B.work", "B.java"), ("evil_[31m", ""),
        ("?(", ""), ("java", "[process]"), ("memcpy", ""), ("memcpy", "[kernel]"),
        ("std::vector<int>::push_back(int const&)", ""), ("\U0001f600.\u20ac", "")])


@pytest.mark.root
@pytest.mark.parametrize("labels", [["container"], ["pid"], ["service", "pid"], ["pod"]], ids="_".join)
def test_pprof_has_labels_where_folded_has_frames_in_front(store, decode, labels):
    by = [part for label in labels for part in ("--by", label)]
    profile = decode(dump(store, "--format", "pprof", *by))
    assert profile.stacks(*labels) == folded(store, *by)
    numbers = [value for sample in profile.data["sample"] for key, value in profile.labels(sample).items()
               if key == "pid"]
    assert all(type(value) is int for value in numbers) and bool(numbers) == ("pid" in labels)


@pytest.mark.root
def test_pprof_label_kind_selects_what_the_option_kind_selects(store, decode):
    found = collections.Counter()
    profile = decode(dump(store, "--format", "pprof"))
    for sample in profile.data["sample"]:
        found[profile.labels(sample)["kind"]] += sample["value"][0]
    assert found == {kind: sum(folded(store, "--kind", kind).values()) for kind in ["java", "kernel", "native"]}


@pytest.mark.root
def test_pprof_and_speedscope_of_mixed_frequencies_count_samples_only(tmp_path, decode):
    store = make_store(tmp_path / "mixed", f"window start={START} pid=1 samples=3 comm=a\n\ta;b_[k] 3\ncommit\n"
                       f"window start={START + 10} pid=1 samples=4 frequency_hz=49 comm=a\n\ta;b_[k] 4\ncommit\n")
    told = b"taken at several rates, 49 to 99 a second"
    profile = decode(dump(store, "--format", "pprof", told=told))
    assert (profile.types, profile.data["period"]) == ([("samples", "count")], 0)
    assert profile.stacks() == {"a;b_[k]": 7}
    assert profile.text(profile.data, "defaultSampleType") == "samples"
    speedscope = json.loads(dump(store, "--format", "speedscope", told=told))["profiles"][0]
    assert (speedscope["unit"], speedscope["weights"], speedscope["endValue"]) == ("none", [7], 7)


@pytest.mark.root
def test_pprof_and_speedscope_of_thousands_of_stacks(tmp_path, decode):
    store = make_store(tmp_path / "big", random_script(5, 2000))
    expected = folded(store)
    assert len(expected) > 3500
    assert decode(dump(store, "--format", "pprof")).stacks() == expected
    assert speedscope_stacks(json.loads(dump(store, "--format", "speedscope"))) == without_kinds(expected)


@pytest.mark.root
def test_pprof_golden_file_is_read(decode):
    known = dict(line.rsplit(" ", 1) for line in (GOLDEN / "known.folded").read_text().splitlines())
    profile = decode((GOLDEN / "known.pb.gz").read_bytes())
    assert profile.stacks("container", "pid") == {stack: int(count) for stack, count in known.items()}


# ---- speedscope ---------------------------------------------------------------------------------

def without_kinds(stacks):
    """Several stacks may become one."""
    merged = collections.Counter()
    for stack, count in stacks.items():
        merged[";".join(KIND.sub("", frame) for frame in stack.split(";"))] += count
    return merged


def speedscope_stacks(data, unit=PERIOD_NS):
    """The rules of speedscope's file-format-spec for sampled profiles, and the stacks."""
    assert data["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert data["exporter"].startswith("jbpf ") and data["activeProfileIndex"] == 0
    frames, (profile,) = data["shared"]["frames"], data["profiles"]
    assert all(set(frame) <= {"name", "file"} and frame["name"] for frame in frames)
    assert len({(frame["name"], frame.get("file")) for frame in frames}) == len(frames)
    assert profile["type"] == "sampled" and profile["startValue"] == 0
    assert len(profile["samples"]) == len(profile["weights"])
    assert profile["endValue"] == sum(profile["weights"])
    found = collections.Counter()
    for sample, weight in zip(profile["samples"], profile["weights"]):
        assert sample and all(0 <= frame < len(frames) for frame in sample)
        assert weight > 0 and weight % unit == 0
        found[";".join(frames[frame]["name"] for frame in sample)] += weight // unit
    return found


@pytest.mark.parametrize("arguments", [[], ["--by", "container", "--by", "pid"], ["--kind", "java"]],
                         ids=lambda arguments: "_".join(arguments) or "all")
def test_speedscope_holds_the_stacks_of_folded(store, arguments):
    data = json.loads(dump(store, "--format", "speedscope", *arguments))
    assert speedscope_stacks(data) == without_kinds(folded(store, *arguments))
    assert (data["profiles"][0]["unit"], data["name"]) == ("nanoseconds", "CPU of all processes")
    files = {frame["name"]: frame.get("file") for frame in data["shared"]["frames"]}
    assert (files["a.B.work"], files["a.B.run"], files["java"]) == ("B.java", None, "[process]")


# ---- where it goes ------------------------------------------------------------------------------

def test_a_binary_file_is_refused_on_a_terminal(store, tmp_path):
    command = [BIN / "jbpf-dump", "--store", store, "--since", f"@{START}", "--format", "pprof"]
    parent, child = pty.openpty()
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=child, stderr=subprocess.PIPE, timeout=60 * PATIENCE)
    os.close(child)
    os.close(parent)
    assert (result.returncode, result.stderr) == (
        2, b"jbpf-dump: that is a binary file, not for a terminal; give -o FILE\n")


def test_equal_profiles_are_equal_files(store, tmp_path):
    out = tmp_path / "shop.pb.gz"
    jbpf("dump", "--store", store, "--since", f"@{START}", "--until", f"@{START + 100}", "--format", "pprof",
         "-o", out, check=True)
    assert out.read_bytes() == dump(store, "--format", "pprof")
