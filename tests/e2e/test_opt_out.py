# SPDX-License-Identifier: Apache-2.0
"""Who opts out of profiling is not in the store: not a stack, not a name. Programs here have names
that occur nowhere else, and the store's files are searched for them, compressed text and records."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.programs import AIDS, PATIENCE, cpu_seconds, jbpf, wait_until

pytestmark = pytest.mark.live

LOAD = Path(AIDS).parent / "bpf" / "load"
OFF = dict(os.environ, JBPF_PROFILE="off")
ON = {name: text for name, text in os.environ.items() if name != "JBPF_PROFILE"}
# The kernel counts its variables in the last part of execve(), where the program has its name, but no environment yet.
CROWDED = dict(OFF, **{f"v{i}": "" for i in range(100_000)})


def everything_in(store):
    """Text and records of all files, the text decompressed."""
    found = b""
    for path in Path(store).rglob("*.zst"):
        raw = path.read_bytes()
        text = subprocess.run(["zstd", "-dcq"], input=raw, stdout=subprocess.PIPE, timeout=60 * PATIENCE)
        found += raw + text.stdout
    assert found
    return found


def until_seen(daemon, programs, comm, *start, env):
    """Again and again: a busy host may take too few samples of a short program."""
    def is_seen():
        assert programs.start(*start, env=env).wait(60 * PATIENCE) == 0
        return daemon.has("--comm", comm)
    wait_until(is_seen, 60, f"{comm} is in the store")


class Programs:
    """Copies of a program under names of their own."""

    def __init__(self, folder):
        self.folder, self.running = folder, []

    def named(self, name):
        path = self.folder / name
        if not path.exists():
            shutil.copy(LOAD, path)
        return path

    def start(self, name, *arguments, env):
        self.running.append(subprocess.Popen([self.named(name), *map(str, arguments)], env=env,
                                             stdout=subprocess.DEVNULL))
        return self.running[-1]

    def end(self):
        for process in self.running:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def host(module_daemon, tmp_path_factory):
    """All kinds of processes while a daemon looked on; it has ended."""
    programs = Programs(tmp_path_factory.mktemp("programs"))
    daemon = module_daemon("--frequency", 499, window="1s", name="opt-out").start().wait_ready()
    try:
        for value in ("0", "No"):
            programs.start("shy-" + value.lower(), "cpu", 0.1, env=dict(OFF, JBPF_PROFILE=value))
        until_seen(daemon, programs, "open-on", "open-on", "cpu", 0.2, env=dict(OFF, JBPF_PROFILE="on"))
        # Children inherit it.
        programs.named("shy-child")
        programs.running.append(subprocess.Popen(["bash", "-c", f"{programs.folder}/shy-child cpu 0.2 & wait"], env=OFF,
                                                 stdout=subprocess.DEVNULL))
        # Short ones: most end before anybody could ask them.
        for _ in range(25):
            programs.start("shy-brief", "cpu", 0.01, env=OFF)
            programs.running[-1].wait(60 * PATIENCE)
        for _ in range(25):
            programs.start("shy-crowded", "cpu", 0.01, env=CROWDED)
            programs.running[-1].wait(60 * PATIENCE)
        # One that turns: its first program opts out, the second does not, and the other way round.
        until_seen(daemon, programs, "turn-open-shy", "turn-open-shy", "cpu-exec", 0.15, env=ON)
        # The program that is executed is named "exe" by the kernel, after its path.
        until_seen(daemon, programs, "exe", "turn-shy-open", "cpu-exec", 0.15, env=OFF)
        for process in programs.running:
            assert process.wait(120 * PATIENCE) == 0
        long = [programs.start("shy-long", "recurse", 600, 3, env=OFF), programs.start("open-long", "recurse", 600, 3, env=ON)]
        wait_until(lambda: all(cpu_seconds(process.pid) > 0.3 for process in long), 120, "they have run")
        daemon.wait_samples({long[1].pid: 20})
        maps = jbpf("maps", "-p", long[0].pid, "-d", programs.folder)
        record = jbpf("record", "-p", long[0].pid, "-d", "1s", "-o", programs.folder / "no.folded")
        for seconds in ("1s", "30s"):  # until something is sampled
            forced = jbpf("record", "-p", long[0].pid, "-d", seconds, "--ignore-opt-out", "-o", programs.folder / "yes.folded",
                          timeout=120)
            if forced.returncode != 3:
                break
    finally:
        programs.end()
    assert daemon.stop() == 0, daemon.log()
    daemon.said, daemon.said_json = daemon.status(), json.loads(daemon.status("--json"))  # of a minute that does not wait
    return daemon, {"maps": maps, "record": record, "forced": forced}, programs.folder, [process.pid for process in long]


def test_no_name_of_theirs_is_in_the_store(host):
    daemon, _, _, _ = host
    content = everything_in(daemon.store)
    leaks = re.findall(rb"[^\n]{0,60}(?<!turn-open-)shy-(?!open)[^\n]{0,60}", content)
    assert not leaks, leaks[:3]
    for name in (b"open-long", b"open-on"):
        assert name in content
    assert b"JBPF_PROFILE" not in content


def test_a_chain_of_programs_is_recorded_where_it_does_not_opt_out(host):
    daemon, _, _, _ = host
    comms = {stream["comm"]: stream["samples"] for stream in daemon.list_json()}
    assert comms.get("turn-open-shy", 0) > 0 and "turn-shy-open" not in comms
    assert daemon.has("--comm", "exe")


def test_they_are_counted_and_they_are_no_loss(host):
    daemon, _, _, _ = host
    left_out = re.search(r"^left out on this host: (\d+) samples? of processes that opted out", daemon.said, re.M)
    assert left_out and int(left_out.group(1)) > 50, daemon.said
    assert "opted_out" not in daemon.said_json["lost"]
    assert daemon.said_json["opted_out_samples"] > 50


def test_no_map_is_written_for_them_and_record_refuses_by_name(host):
    _, results, folder, (shy, _) = host
    assert "opted out of profiling" in results["maps"].stdout and not (folder / f"perf-{shy}.map").exists()
    assert results["record"].returncode == 1 and not (folder / "no.folded").exists()
    assert f"process {shy} opted out of profiling" in results["record"].stderr
    assert "--ignore-opt-out" in results["record"].stderr
    assert results["forced"].returncode == 0, results["forced"].stderr
    assert "shy-long;" in (folder / "yes.folded").read_text()


def test_containers_opt_out_by_label_and_by_environment(engine, daemon):
    watched = daemon(window="1s", name="containers").start().wait_ready()
    spin = ["/app/native_spinner", "600", "20"]
    shy = [engine.start("shy-label", spin, options=["--label", "jbpf.profile=off"]),
           engine.start("shy-env", spin, options=["--env", "JBPF_PROFILE=off"])]
    seen = engine.start("seen", spin)
    pids = [container.pid for container in shy]
    wait_until(lambda: all(cpu_seconds(pid) > 0.5 for pid in pids), 120, "they have run")
    # It begins as the engine's own program.
    wait_until(lambda: watched.has("--pid", seen.pid, "--comm", "native_spinner"), 120, "the third one is seen")
    assert watched.stop() == 0, watched.log()
    content = everything_in(watched.store)
    assert b"shy-label" not in content and shy[0].id.encode() not in content
    streams = {(stream["pid"], stream["comm"]) for stream in watched.list_json()}
    # Before its own program a container runs runc, with the engine's environment.
    assert pids[0] not in {pid for pid, _ in streams} and (pids[1], "native_spinner") not in streams
    assert (seen.pid, "native_spinner") in streams


@pytest.mark.parametrize("first", [1, 2, 3, 4])
def test_who_cannot_be_asked_is_not_recorded(tmp_path, first):
    """No more processes can be started, at all or after some of those that are needed: record does their work in none
    of its own."""
    (tmp_path / "full.c").write_text(
        "#include <errno.h>\n#include <unistd.h>\nint fork_cnt;\npid_t fork(void)\n{\n"
        f"if (++fork_cnt < {first}) return _Fork();\nerrno = EAGAIN;\nreturn -1;\n}}\n")
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", tmp_path / "full.so", tmp_path / "full.c"], check=True)
    with open(tmp_path / "out.folded", "w") as out:
        result = jbpf("record", "-p", os.getpid(), "-d", "1s", "-o", out.name, env={**os.environ, "LD_PRELOAD": tmp_path / "full.so"})
        assert result.returncode == 1, result.stderr
    said = f"it cannot be checked whether process {os.getpid()} opted out of profiling: .*no more processes can be started; " \
           "try again, or sample it all the same with --ignore-opt-out\n"
    assert len(re.findall(said, result.stderr)) == 1, result.stderr
    assert "too many of them hang" not in result.stderr
    assert Path(out.name).read_text() == ""
