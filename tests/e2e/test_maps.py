# SPDX-License-Identifier: Apache-2.0
"""jbpf maps: perf itself names Java frames of containers by the maps that it writes on the host, and
nothing that has a map's name already can make it follow, wait, overwrite or leave half a map."""
import itertools
import os
import re
import socket
import stat
import subprocess
import time

import pytest

from harness.containers import JDKS_THAT_MUST_BE, each_jdk, java
from harness.programs import BIN, PATIENCE, jbpf, lines_of, run, wait_cpu, wait_until

SHARES = {"Shares.seventy", "Shares.thirty"}
FOREIGN = 12346  # neither root nor the JVM's user


def maps(*arguments, **options):
    """A parser has two seconds for a file: beside much else one that is built with sanitizers may need a second try."""
    def is_in_time():
        result = jbpf("maps", *arguments, **options)
        return result if "takes too long" not in result.stderr else None
    return wait_until(is_in_time, 60, "the parser is in time")


def row_of(result, pid):
    """Container, entries, source and what the last column says, of this process's row."""
    for line in lines_of(result.stdout):
        match = re.fullmatch(r" *(\d+)  +(\S+)  +(\d+)  (\S+)  +(.*)", line)
        if match and int(match.group(1)) == pid:
            return match.group(2), int(match.group(3)), match.group(4), match.group(5)
    raise AssertionError(f"no row for {pid}: {result.stdout}{result.stderr}")


def entries_of(path):
    """(start, size, name) of every line; a line that is none fails."""
    text = path.read_text()
    assert text.endswith("\n"), "the last line is cut"
    found = []
    for line in text.splitlines():
        start, size, name = line.split(" ", 2)
        found.append((int(start, 16), int(size, 16), name))
    return found


def names_in(path):
    return {name for _, _, name in entries_of(path)}


@pytest.fixture(scope="module")
def jvm(engine, tmp_path_factory):
    """A JVM that has compiled its two methods."""
    container = engine.start_ready("maps", java("Shares", 600, 30), "TRUTH")
    wait_until(lambda: container.logs().count("TRUTH") > 2, 30, "it is at work")
    folder = tmp_path_factory.mktemp("compiled")

    def are_compiled():
        return maps("-p", container.pid, "-d", folder).returncode == 0 and \
            SHARES <= names_in(folder / f"perf-{container.pid}.map")
    wait_until(are_compiled, 120, "both methods are compiled")
    return container


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "maps").mkdir()
    return tmp_path / "maps"


# ---- perf -----------------------------------------------------------------------------------------

def names_by_perf(recording):
    """Names of Java methods in what perf recorded, as perf gives them now."""
    script = run("perf", "script", "-f", "-i", recording, "-F", "ip,sym", timeout=120)
    assert script.returncode == 0, script.stderr
    return set(re.findall(r"\bShares\.\w+", script.stdout))


@pytest.mark.live
@pytest.mark.parametrize("jdk", each_jdk(17, of=JDKS_THAT_MUST_BE))
def test_perf_names_java_frames_of_containers(engine, tmp_path, jdk):
    container = engine.start_ready(f"maps-perf{jdk}", java("Shares", 600, 60), "TRUTH", jdk=jdk)
    wait_until(lambda: container.logs().count("TRUTH") > 2, 30, "both methods are compiled")
    pid = container.pid
    target = f"/tmp/perf-{pid}.map"
    recording = tmp_path / "perf.data"

    def record(seconds):
        recorded = run("perf", "record", "-o", recording, "-e", "cpu-clock", "-F", "199", "-g",
                       "-p", pid, "--", "sleep", str(seconds))
        assert recorded.returncode == 0, recorded.stderr
    record(1)
    assert not names_by_perf(recording), "perf names them without us: this test shows nothing"
    try:
        result = maps("--container", container.name)
        assert result.returncode == 0 and not result.stderr, result.stderr
        name, entries, source, where = row_of(result, pid)
        assert (name, source, where) == (container.name, "vmstructs", target)
        assert len(lines_of(result.stdout)) == 2, result.stdout
        assert entries > 100
        spans = itertools.chain((4, 16), itertools.repeat(64))

        def are_named():
            """A busy host may run one of them only in that time, or compile it anew since the map was written."""
            record(next(spans))
            assert maps("--container", container.name).returncode == 0
            report = run("perf", "report", "-f", "-i", recording, "--stdio", "--no-children", "-g", "none", timeout=120)
            return SHARES <= names_by_perf(recording) and "Shares.seventy" in report.stdout
        wait_until(are_named, 60, "perf names both methods")
    finally:
        if os.path.exists(target):
            os.unlink(target)
        container.remove()


@pytest.mark.live
def test_map_is_whole_and_for_everybody(jvm, folder):
    result = maps("-p", jvm.pid, "-d", folder)
    assert (result.returncode, result.stderr) == (0, "")
    path = folder / f"perf-{jvm.pid}.map"
    entries = entries_of(path)
    assert row_of(result, jvm.pid)[1] == len(entries)
    assert SHARES | {"Interpreter"} <= {name for _, _, name in entries}
    assert entries == sorted(entries, key=lambda entry: entry[0])
    for (start, size, name), (following, _, other) in zip(entries, entries[1:]):
        assert start + size <= following, f"{name} reaches into {other}"
    mode = path.stat()
    assert (stat.S_IMODE(mode.st_mode), mode.st_uid) == (0o644, 0)
    assert os.listdir(folder) == [path.name], "something was left behind"


@pytest.mark.live
def test_map_is_written_anew(jvm, folder):
    path = folder / f"perf-{jvm.pid}.map"
    path.write_text("10 10 old\n" * 100000)
    assert maps("-p", jvm.pid, "-d", folder).returncode == 0
    assert "old" not in names_in(path)


@pytest.mark.live
def test_every_jvm_of_the_host_gets_one(jvm, folder):
    def has_one():
        """Others may be hostile, and hold up whoever reads them."""
        result = jbpf("maps", "-d", folder)
        path = folder / f"perf-{jvm.pid}.map"
        return result.returncode == 0 and row_of(result, jvm.pid)[3] == str(path) and SHARES <= names_in(path)
    wait_until(has_one, 60, "it has one")


# ---- names that are taken -------------------------------------------------------------------------

def take_symlink(path, victim):
    path.symlink_to(victim)


def take_dangling_symlink(path, victim):
    path.symlink_to(victim.parent / "not there")


def take_fifo(path, victim):
    os.mkfifo(path, 0o666)


def take_socket(path, victim):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def take_foreign_file(path, victim):
    path.write_text("of another user\n")
    os.chown(path, FOREIGN, FOREIGN)


@pytest.mark.live
@pytest.mark.parametrize("take,word", [
    (take_symlink, "not a regular file"),
    (take_dangling_symlink, "not a regular file"),
    (take_fifo, "not a regular file"),
    (take_socket, "not a regular file"),
    (take_foreign_file, "another user"),
], ids=lambda value: getattr(value, "__name__", ""))
def test_what_is_not_ours_stays_without_force(jvm, tmp_path, folder, take, word):
    folder.chmod(0o1777)
    victim = tmp_path / "victim"
    victim.write_text("precious\n")
    path = folder / f"perf-{jvm.pid}.map"
    take(path, victim)
    before = path.lstat()
    result = maps("-p", jvm.pid, "-d", folder, timeout=20)
    assert result.returncode == 1
    assert word in row_of(result, jvm.pid)[3]
    assert result.stderr == "jbpf-maps: no map was written; the last column says why\n"
    after = path.lstat()
    assert (before.st_ino, before.st_mode, before.st_uid, before.st_mtime_ns) == (
        after.st_ino, after.st_mode, after.st_uid, after.st_mtime_ns)

    result = maps("-p", jvm.pid, "-d", folder, "--force", timeout=20)
    assert result.returncode == 0, result.stdout
    assert stat.S_ISREG(path.lstat().st_mode) and SHARES <= names_in(path)
    assert victim.read_text() == "precious\n"
    assert sorted(os.listdir(tmp_path)) == ["maps", "victim"]
    assert os.listdir(folder) == [path.name]


@pytest.mark.live
def test_directory_stays_even_with_force(jvm, folder):
    path = folder / f"perf-{jvm.pid}.map"
    path.mkdir()
    result = maps("-p", jvm.pid, "-d", folder, "--force")
    assert result.returncode == 1 and "a directory has this name" in row_of(result, jvm.pid)[3]
    assert os.listdir(folder) == [path.name]


@pytest.mark.live
def test_own_map_of_a_jvm_of_the_host_stays_without_force(app):
    command = [str(app) if part == "/app" else part for part in java("Shares", 600, 20)]
    process = subprocess.Popen(["setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups", *command],
                               stdout=subprocess.PIPE, text=True)
    path = f"/tmp/perf-{process.pid}.map"
    try:
        assert any("TRUTH" in line for line in process.stdout)  # a JVM may warn before
        with open(path, "w") as own:
            own.write("10 10 written_by_an_agent\n")
            os.fchown(own.fileno(), 12345, 12345)
        result = maps("-p", process.pid)
        assert result.returncode == 1
        assert "it may be the JVM's own map" in row_of(result, process.pid)[3]
        with open(path) as own:
            assert own.read() == "10 10 written_by_an_agent\n"
        assert maps("-p", process.pid, "--force").returncode == 0
        with open(path) as own:
            assert "written_by_an_agent" not in own.read()
        assert os.stat(path).st_uid == 0
    finally:
        process.kill()
        process.wait()
        if os.path.exists(path):
            os.unlink(path)


# ---- no room, no right, no process ----------------------------------------------------------------

@pytest.fixture
def mounted(folder):
    """Mounts a tmpfs there with these options; unmounts it with the test."""
    def mount(options):
        assert run("mount", "-t", "tmpfs", "-o", options, "none", folder).returncode == 0
        return folder
    yield mount
    run("umount", "-l", folder)


@pytest.mark.live
def test_full_disk_is_one_line_and_leaves_nothing(jvm, mounted):
    folder = mounted("size=8k")
    result = maps("-p", jvm.pid, "-d", folder)
    assert result.returncode == 1
    assert "No space left on device" in row_of(result, jvm.pid)[3]
    assert os.listdir(folder) == []


@pytest.mark.live
def test_full_disk_leaves_the_map_of_before(jvm, mounted):
    folder = mounted("size=8k")
    path = folder / f"perf-{jvm.pid}.map"
    path.write_text("10 10 old\n")
    assert maps("-p", jvm.pid, "-d", folder).returncode == 1
    assert path.read_text() == "10 10 old\n" and os.listdir(folder) == [path.name]


@pytest.mark.live
def test_read_only_directory_is_said(jvm, mounted):
    folder = mounted("ro")
    result = maps("-p", jvm.pid, "-d", folder)
    assert result.returncode == 1 and "Read-only file system" in row_of(result, jvm.pid)[3]


@pytest.mark.live
def test_directory_that_is_not_there_is_said(jvm, folder):
    result = maps("-p", jvm.pid, "-d", folder / "no")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (f"jbpf-maps: '{folder}/no' cannot be opened: No such file or directory; "
                             "give -d another directory\n")


@pytest.mark.live
def test_user_without_rights_is_told_to_be_root(jvm, tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    folder.chmod(0o777)
    for parent in tmp_path.parents[:3]:
        parent.chmod(parent.stat().st_mode | 0o055)
    tmp_path.chmod(0o755)
    result = run("setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups", "--inh-caps=-all",
                 BIN / "jbpf-maps", "-p", jvm.pid, "-d", folder)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "run jbpf maps as root" in row_of(result, jvm.pid)[3]
    assert os.listdir(folder) == []


@pytest.mark.live
def test_process_that_compiles_nothing_has_no_map(folder, spinner):
    process = spinner("native_spinner", "600", "5")
    wait_cpu([process.pid], 0.05)  # all of the program is mapped
    result = maps("-p", process.pid, "-d", folder)
    assert result.returncode == 1 and "no compiled code" in row_of(result, process.pid)[3]
    assert os.listdir(folder) == []


@pytest.mark.root
def test_no_such_jvm_is_exit_3(folder):
    for arguments in (["--container", "there-is-none"], ["-p", "4194303"]):
        result = maps(*arguments, "-d", folder)
        assert (result.returncode, result.stdout) == (3, "")
        assert lines_of(result.stderr)[-1] == "jbpf-maps: there is no such JVM"


@pytest.mark.live
def test_jvm_that_dies_meanwhile_leaves_a_whole_map_or_none(engine, folder):
    for delay in (0, 0.01, 0.02, 0.05):
        container = engine.start_ready(f"maps-dying-{delay}", java("Shares", 600, 20), "TRUTH")
        pid = container.pid
        process = subprocess.Popen([str(BIN / "jbpf-maps"), "-p", str(pid), "-d", str(folder)],
                                   text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(delay)  # by construction: any moment will do
        os.kill(pid, 9)
        out, err = process.communicate(timeout=20 * PATIENCE)
        container.remove()
        path = folder / f"perf-{pid}.map"
        assert process.returncode in (0, 1, 3), err
        assert path.exists() == (process.returncode == 0), out
        if path.exists():
            assert f" {len(entries_of(path))} " in out
            path.unlink()
        assert os.listdir(folder) == []


# ---- usage ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("arguments,line", [
    (["-p", "0"], "--pid: '0' is not a process id; see jbpf-maps --help"),
    (["-p", "x"], "--pid: 'x' is not a process id; see jbpf-maps --help"),
    (["-p"], "--pid wants a value; see jbpf-maps --help"),
    (["--xyzzy"], "there is no option --xyzzy; see jbpf-maps --help"),
    (["-d", "/tmp", "-d", "/tmp"], "--directory is given twice; see jbpf-maps --help"),
    (["now"], "'now' is not an option; see jbpf-maps --help"),
], ids=lambda value: "_".join(value) if isinstance(value, list) else "")
def test_wrong_usage_is_one_line_and_exit_2(arguments, line):
    result = maps(*arguments)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"jbpf-maps: {line}\n")


def test_help_names_every_option():
    for result in (maps("--help"), run(BIN / "jbpf", "help", "maps")):
        assert result.returncode == 0 and not result.stderr
        assert all(word in result.stdout for word in ("--pid", "--container", "--directory", "--force"))
