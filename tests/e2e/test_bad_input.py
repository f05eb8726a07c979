# SPDX-License-Identifier: Apache-2.0
"""What goes wrong is said in one line on stderr: what, why, what to do; with the exit code of
DESIGN section 3 (1 failed, 2 wrong usage, 3 no samples). Never a crash, never a hang."""
import contextlib
import os
import re
import shutil
import stat
import subprocess
import time

import pytest

from harness.programs import BIN, PATIENCE, jbpf, lines_of, run, wait_until


def assert_one_line(result, code, *words):
    assert result.returncode == code, (result.returncode, result.stdout[-300:], result.stderr)
    lines = lines_of(result.stderr)
    assert len(lines) == 1, f"not one line: {result.stderr}"
    for word in words:
        assert re.search(word, lines[0], re.I), f"/{word}/ not in: {lines[0]}"


@pytest.fixture(scope="module")
def everybodys_bin(tmp_path_factory):
    """The programs where an unprivileged user can run them."""
    folder = tmp_path_factory.mktemp("bin")
    for parent in [folder, *folder.parents]:
        if parent.stat().st_uid == 0 and str(parent).startswith("/tmp/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    shutil.copy(BIN / "jbpfd", folder)
    shutil.copy(BIN / "jbpf", folder)
    return folder


NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def mounted(commands, *program):
    """Runs a program in a mount namespace of its own, prepared by shell commands."""
    return run("unshare", "-m", "sh", "-c", f'{commands} && exec "$0" "$@"', *program)


# ---- privilege and kernel -----------------------------------------------------------------------

@pytest.mark.root
def test_daemon_without_privilege_says_what_it_needs(everybodys_bin, tmp_path):
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents:
        if str(parent).startswith("/tmp/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    result = run(*NOBODY, everybodys_bin / "jbpfd", "--store", tmp_path / "store")
    assert_one_line(result, 1, r"root|CAP_BPF|CAP_PERFMON|privilege")


@pytest.mark.root
def test_record_without_privilege_says_what_it_needs(everybodys_bin):
    result = run(*NOBODY, everybodys_bin / "jbpf", "record", "-d", "1s", "-o", "-")
    assert_one_line(result, 1, r"root|CAP_BPF|CAP_PERFMON|privilege")


@pytest.mark.root
def test_daemon_with_root_but_without_bpf_capabilities_says_which(tmp_path):
    result = run("setpriv", "--bounding-set=-bpf,-sys_admin,-perfmon", BIN / "jbpfd",
                 "--store", tmp_path / "store")
    assert_one_line(result, 1, r"CAP_BPF and CAP_PERFMON \(or CAP_SYS_ADMIN\) are missing")
    assert "CAP_SYS_PTRACE" not in result.stderr, "it was kept"


@pytest.mark.root
def test_check_without_privilege_says_what_is_lost(everybodys_bin):
    result = run(*NOBODY, everybodys_bin / "jbpfd", "--check")
    assert result.returncode == 1
    assert re.search(r"FAIL", result.stdout) and re.search(r"CAP_BPF|root", result.stdout), result.stdout


@pytest.mark.root
def test_kernel_without_btf_is_named_as_the_reason(tmp_path):
    result = mounted("mount -t tmpfs none /sys/kernel/btf", BIN / "jbpfd", "--store", tmp_path / "store")
    assert_one_line(result, 1, r"BTF", r"CONFIG_DEBUG_INFO_BTF|kernel")


# ---- store --------------------------------------------------------------------------------------

@pytest.mark.root
def test_store_on_a_read_only_file_system(tmp_path):
    result = mounted(f"mount -t tmpfs -o ro none {tmp_path}", BIN / "jbpfd", "--store", tmp_path / "store")
    assert_one_line(result, 1, r"store", r"read-only", r"--store", rf"systemctl edit jbpfd, .*ReadWritePaths={tmp_path}/store$")
    assert "run as root" not in result.stderr


def test_store_path_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("x")
    assert_one_line(run(BIN / "jbpfd", "--store", tmp_path / "file"), 1, r"not a directory", r"--store")
    assert (tmp_path / "file").read_text() == "x"


@pytest.mark.live
@pytest.mark.long("a load lives, or a window lasts, so many seconds by the clock")
def test_full_store_is_said_once_and_sampling_goes_on(daemon, tmp_path, spinner):
    """A file system of 64 KiB; other streams of the host fill it within a few windows."""
    store = tmp_path / "tiny"
    store.mkdir()
    assert run("mount", "-t", "tmpfs", "-o", "size=64k,mode=0755", "none", store).returncode == 0
    try:
        (store / "ballast").write_bytes(b"x" * (48 << 10))
        for _ in range(4):
            spinner("native_spinner", 600, 25)
        profiler = daemon(window="2s", name="tiny").start().wait_ready()
        wait_until(lambda: "not written" in profiler.log(), 60, "the full disk is reported")
        time.sleep(3)
        assert profiler.process.poll() is None, profiler.log()
        said = [line for line in profiler.log().splitlines() if "not written" in line]
        assert len(said) == 1, profiler.log()
        assert re.search(r"no space", said[0], re.I) and str(store) in said[0]
        # A window or two that fit in between are no recovery, and the next failure is no news.
        written = len(profiler.windows())
        (store / "ballast").unlink()
        wait_until(lambda: len(profiler.windows()) > written, 60, "a window fits in")
        assert "written again" not in profiler.log(), profiler.log()
        with contextlib.suppress(OSError):
            (store / "ballast").write_bytes(b"x" * (64 << 10))
        time.sleep(5)
        assert profiler.log().count("not written") == 1, profiler.log()
        # Room again, also for the windows of a busy host: it goes on by itself.
        (store / "ballast").unlink()
        assert run("mount", "-o", "remount,size=8m", store).returncode == 0
        wait_until(lambda: "written again" in profiler.log(), 20, "it writes again")
        assert profiler.stop() == 0, profiler.log()
        assert profiler.dump().total > 0
    finally:
        for one in [p for p in [locals().get("profiler")] if p]:
            one.stop()
        run("umount", "-l", store)


def test_dump_of_a_store_that_is_not_there(tmp_path):
    assert_one_line(jbpf("dump", "--store", tmp_path / "none", "--since", "1h"), 1, r"none", r"store")
    (tmp_path / "empty").mkdir()
    result = jbpf("dump", "--store", tmp_path / "empty", "--since", "1h")
    assert result.returncode in (1, 3) and len(lines_of(result.stderr)) == 1, result.stderr


# ---- ranges and selectors -----------------------------------------------------------------------

@pytest.fixture(scope="module")
def stored(module_daemon):
    """A small store, written by a daemon that has ended. Of one process: its windows have about the same size."""
    import subprocess

    from harness.programs import AIDS
    process = subprocess.Popen([AIDS / "native_spinner", "600", "30"])
    try:
        profiler = module_daemon("--pid", process.pid, window="1s", name="stored").start().wait_ready()
        profiler.wait_samples({process.pid: 60})
        wait_until(lambda: len(profiler.windows()) >= 6, 60, "six windows are stored")
    finally:
        process.kill()
        process.wait()
    assert profiler.stop() == 0, profiler.log()
    return profiler


@pytest.mark.live
def test_time_range_without_samples_is_exit_3_and_no_output(stored):
    result = jbpf("dump", "--store", stored.store, "--since", "2001-01-01T00:00:00Z",
                  "--until", "2001-01-02T00:00:00Z")
    assert result.returncode == 3 and result.stdout == ""
    # A second line may tell where samples are.
    lines = lines_of(result.stderr)
    assert len(lines) <= 2 and "no samples match" in lines[0], result.stderr


@pytest.mark.live
def test_selector_without_samples_is_exit_3_for_every_format(stored):
    for form in ("folded", "html", "svg", "top", "json"):
        result = stored.dump_raw("--container", "no-such-container", "--format", form)
        assert result.returncode == 3 and result.stdout == "", (form, result.stdout[:100])
        assert len(lines_of(result.stderr)) <= 2 and "no samples match" in result.stderr, result.stderr


@pytest.mark.live
def test_output_file_is_not_touched_when_nothing_matches(stored, tmp_path):
    out = tmp_path / "out.html"
    out.write_text("old")
    assert stored.dump_raw("--container", "none", "--format", "html", "-o", out).returncode == 3
    assert out.read_text() == "old"


@pytest.mark.parametrize("arguments", [
    ["--no-such-option"], ["--since"], ["--since", "yesterday-ish"], ["--since", "1h", "--pid", "x"],
    ["--since", "1h", "--format", "gif"], ["--since", "1h", "--kind", "perl"], ["--since", "1h", "stray"],
    ["--since", "1h", "--by", "colour"],
], ids=lambda arguments: "_".join(arguments) or "nothing")
def test_wrong_usage_of_dump_is_exit_2(arguments, tmp_path):
    assert_one_line(jbpf("dump", "--store", tmp_path, *arguments), 2, r"--help|--since|is not one of|is not a process id")


@pytest.mark.parametrize("arguments", [
    ["--no-such-option"], ["--frequency", "0"], ["--frequency", "abc"], ["--window", "10"],
    ["--max-depth", "5000"], ["--jit", "guess"], ["--keep-bytes", "5X"], ["--pid", "-1"], ["stray"],
    ["--store", ""], ["--log-level", "loud"],
], ids=lambda arguments: "_".join(arguments))
def test_wrong_usage_of_the_daemon_is_exit_2(arguments):
    assert_one_line(run(BIN / "jbpfd", *arguments), 2)


def test_a_log_that_nobody_reads_any_more_ends_no_daemon():
    import subprocess
    reads, writes = os.pipe()
    os.close(reads)
    # Python gives what it starts the system's own SIGPIPE, as a shell does.
    result = subprocess.run([BIN / "jbpfd", "--xyzzy"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=writes,
                            timeout=60 * PATIENCE)
    os.close(writes)
    assert result.returncode == 2, result


@pytest.mark.root
def test_a_check_that_cannot_be_written_has_failed(everybodys_bin):
    import subprocess
    with open("/dev/full", "w") as full:
        result = subprocess.run([*NOBODY, everybodys_bin / "jbpfd", "--check"], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, text=True,
                                timeout=60 * PATIENCE)
    assert (result.returncode, result.stderr) == (1, "jbpfd: standard output: No space left on device\n"), result


def test_unknown_command_is_exit_2():
    result = run(BIN / "jbpf", "frobnicate")
    assert result.returncode == 2 and "frobnicate" in result.stderr


@pytest.mark.parametrize("program", ["jbpfd", "jbpf", "jbpf-dump", "jbpf-record"])
def test_help_and_version_go_to_stdout(program):
    for option in ("--help", "--version"):
        result = run(BIN / program, option)
        assert result.returncode == 0 and result.stdout and not result.stderr, (program, option, result)


@pytest.mark.parametrize("program", ["jbpfd", "jbpf", "jbpf-dump"])
def test_help_that_nobody_can_read_is_an_error_and_that_nobody_wants_is_none(program):
    for option in ("--help", "--version"):
        with open("/dev/full", "w") as full:
            result = subprocess.run([BIN / program, option], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60 * PATIENCE)
        assert (result.returncode, result.stderr) == (1, f"{program}: standard output: No space left on device\n"), option
        reader, writer = os.pipe()
        os.close(reader)
        result = subprocess.run([BIN / program, option], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60 * PATIENCE)
        os.close(writer)
        assert (result.returncode, result.stderr) == (0, ""), option


@pytest.mark.live
def test_output_that_cannot_be_written(stored, tmp_path):
    assert_one_line(stored.dump_raw("-o", tmp_path / "no" / "such" / "folder"), 1, r"folder")
    with open("/dev/full", "w") as full:
        result = subprocess.run([BIN / "jbpf-dump", "--store", stored.store, "--since", stored.since()],
                                stdout=full, stderr=subprocess.PIPE, text=True, timeout=60 * PATIENCE)
    assert result.returncode == 1 and re.search("space|write", result.stderr, re.I), result.stderr


@pytest.mark.live
def test_output_to_a_device_leaves_the_device(stored, tmp_path, spinner):
    """-o /dev/null: a new file renamed over it would take it away from the whole host."""
    device = tmp_path / "null"
    os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    assert stored.dump_raw("-o", device).returncode == 0
    busy = spinner("native_spinner", 600, 50)
    for seconds in (1, 8, 32):  # on a busy host it may have no CPU for as long as the first lasts
        recorded = jbpf("record", "-p", busy.pid, "-d", f"{seconds}s", "-o", device)
        if recorded.returncode != 3:
            break
    assert recorded.returncode == 0, recorded.stderr
    assert stat.S_ISCHR(device.lstat().st_mode)
    assert list(tmp_path.iterdir()) == [device]


# ---- damage -------------------------------------------------------------------------------------

def damaged_copy(stored, tmp_path, damage):
    copy = tmp_path / "copy"
    shutil.copytree(stored.store, copy)
    # Of each hour: there are two when a full hour was within the recording.
    for file in copy.rglob("*.zst"):
        file.write_bytes(damage(bytearray(file.read_bytes())))
    return jbpf("dump", "--store", copy, "--since", stored.since())


def flip(data, at):
    data[at] ^= 0xff
    return data


@pytest.mark.live
@pytest.mark.parametrize("damage", [
    pytest.param(lambda data: data[:len(data) - 20], id="cut-at-the-end"),
    pytest.param(lambda data: data[:len(data) // 2], id="cut-in-the-middle"),
    pytest.param(lambda data: flip(data, len(data) // 2), id="bit-flip"),
    pytest.param(lambda data: data + bytearray(os.urandom(5000)), id="garbage-behind"),
    pytest.param(lambda data: data[:len(data) // 3] + bytearray(4096) + data[len(data) // 3:],
                 id="zeros-in-the-middle"),
])
def test_damaged_store_gives_what_is_intact_and_says_so(stored, tmp_path, damage):
    whole = stored.dump().total
    result = damaged_copy(stored, tmp_path, damage)
    from harness.folded import Folded
    assert result.returncode == 0, result.stderr
    found = Folded(result.stdout).total
    assert 0 < found <= whole
    assert lines_of(result.stderr), "damage was skipped silently"
    assert re.search(r"\.zst", result.stderr), result.stderr


@pytest.mark.live
@pytest.mark.parametrize("content", [b"", b"\x00" * 4096, b"plain text\n" * 100, None],
                         ids=["empty", "zeros", "text", "random"])
def test_store_file_that_is_no_store_file(stored, tmp_path, content):
    data = os.urandom(10000) if content is None else content
    result = damaged_copy(stored, tmp_path, lambda _: data)
    assert result.returncode == 3, (result.returncode, result.stderr)
    assert result.stdout == ""


@pytest.mark.live
def test_store_that_has_a_fifo_and_links_in_it_does_not_hang(stored, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(stored.store, copy)
    newest = sorted(copy.rglob("*.zst"))[-1]
    # Half a day away: the hour before is of the range, too, as windows of it may reach into that.
    os.mkfifo(newest.with_name(f"{(int(newest.stem) + 12) % 24:02}.zst"))
    result = jbpf("dump", "--store", copy, "--since", stored.since())
    assert result.returncode == 0, result.stderr
