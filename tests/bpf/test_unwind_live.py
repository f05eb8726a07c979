# SPDX-License-Identifier: Apache-2.0
"""Stacks of native code without frame pointers, walked by the BPF side, against libdw's of the same
registers and the same bytes of stack (live_unwind): of programs of Debian, and of frames of every make."""
import json
import platform
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.programs import LEAST_WAIT, Lacking, wait_cpu
from live import AIDS, END_MAX_DEPTH, END_ROOT, load

pytestmark = pytest.mark.live

if platform.machine() != "x86_64":
    pytest.skip("registers are handed to libdw as x86_64 has them", allow_module_level=True)

END_NO_RULE, END_NO_MAPPING, END_MAX_RULES = 8, 9, 15
SAMPLES = 400
MANY_SAMPLES = 2500
MANY_COMMITS = 1200  # a fast host shows 160 a second
FREQUENCY = 997

PERL = """my %h; for (my $i = 0;; $i++) { $h{$i % 1000} .= "x$i"; my @s = sort { $a <=> $b } map { $_ * 7 % 101 } 1 .. 50;
    $h{$i % 1000} = substr($h{$i % 1000}, 0, 50); join(",", @s) =~ s/1(\\d)/$1/gr; }"""
PYTHON = """import json, re, zlib
def deep(n):
    return deep(n - 1) if n else json.loads(json.dumps([{'a': i} for i in range(50)]))
while True:
    deep(10); sorted(str(i) for i in range(1000)); re.sub('1([0-9])', 'x', '1' * 500); zlib.compress(b'abc' * 3000)"""
SQL = "with recursive c(x) as (select 1 union all select x + 1 from c) select count(distinct x % 1000 || 'text') from c;"

# Compresses and filters what it sends; one process does it all.
NGINX = """daemon off; master_process off; error_log stderr; pid {folder}/pid;
events {{ worker_connections 16; }}
http {{
    access_log off; gzip on; gzip_types text/plain; root {folder};
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{port}; location / {{ autoindex on; sub_filter 7 seven; sub_filter_once off; }} }}
}}"""
POSTGRES_SQL = "select count(distinct md5(i::text)), max(repeat(i::text, 9)) from generate_series(1, 1e12) i where i % 7 < 5"

# Programs that go on until they are killed; at the end the share of stacks that are to be libdw's to the last frame.
PROGRAMS = {
    "perl": (["/usr/bin/perl", "-e", PERL], 0.99),
    "python3": (["/usr/bin/python3", "-c", PYTHON], 0.99),
    "openssl": (["openssl", "speed", "-seconds", "600", "rsa2048", "sha256"], 0.99),
    "zstd": (["zstd", "-b9", "-i600"], 0.9),  # its assembly says nothing of its frames: libdw guesses there
    "git": (["git", "-C", "@repository", "log", "-p", "--stat", "-M", "--all"], 0.99),
    "sqlite3": (["sqlite3", ":memory:", SQL], 0.99),
    "xz": (["xz", "-9ec", "-T1"], 0.99),
    "gzip": (["gzip", "-9c"], 0.99),
    # Its compilers: libjvm keeps frame pointers where it calls, and its leaves have frames of every state. The
    # walk ends in JIT code, whose place nobody told.
    "nginx": (["nginx", "-p", "@folder", "-c", "@nginx.conf"], 0.99),
    "postgres": (["@postgres", "--single", "-D", "@database", "-j", "template1"], 0.99),
    "java": (["java", "-Xcomp", "-XX:+UseSerialGC", "@source"], 0.5),
}


def live_unwind(pid, *args, samples=SAMPLES):
    """So many samples, and what is to be shown of them."""
    done = subprocess.run([AIDS / "live_unwind", "--pid", str(pid), "--seconds", str(LEAST_WAIT), "--samples",
                           str(samples), "--frequency", str(FREQUENCY), "--show", "3", *args],
                          capture_output=True, text=True, timeout=2 * LEAST_WAIT)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    if result["samples"] < samples:
        raise Lacking(f"too few samples: {result}")
    return result, done.stderr


def is_most(count, result):
    """As good as all are. Where the ticks hit decides about the few others, which the figures' tests judge."""
    return count >= 0.5 * result["samples"]


def is_all(count, result):
    """But a few: while the kernel moves a page it cannot be read, and the walk ends there."""
    return count >= result["samples"] - 2


def assert_libdw_agrees(result, why):
    assert result["different"] == 0, (result, why)
    assert is_most(result["equal"] + result["longer"], result), (result, why)
    assert result["frames"] > 2 * result["samples"], result


def assert_share(result, share, why):
    assert result["different"] == 0, (result, why)
    assert result["equal"] + result["longer"] >= share * result["samples"], (result, why)
    assert result["lost"] == 0 and result["unread"] == 0, result


def postgres_tool(name):
    """Debian has them in no path: each release has its own."""
    return next(iter(sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)


def is_installed(name):
    return postgres_tool("postgres") if name == "postgres" else shutil.which(PROGRAMS[name][0][0])


def prepare(name, folder):
    """(command, command of what feeds it or None, what is piped from that or None, options of its process)"""
    command = list(PROGRAMS[name][0])
    if name == "git":
        many_commits(folder)
    elif name == "java":
        (folder / "Endless.java").write_text(
            "class Endless { public static void main(String[] a) { while (true) a.hashCode(); } }")
    elif name == "nginx":
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
        (folder / "numbers.txt").write_text("\n".join(map(str, range(100_000))))
        return command, ["curl", "-s", "--compressed", "--retry-connrefused", "--retry", "9", "-o", "/dev/null",
                         f"http://127.0.0.1:{port}/numbers.txt?[1-999999999]"], None, {}
    elif name == "postgres":  # which root may not run
        folder.chmod(0o700)
        shutil.chown(folder, "nobody", "nogroup")
        options = {"user": "nobody", "group": "nogroup", "cwd": folder}
        subprocess.run([postgres_tool("initdb"), "-N", "-D", folder / "database"], check=True, stdout=subprocess.DEVNULL,
                       **options)
        return command, ["sh", "-c", 'printf "%s;\n\n" "$0"; exec sleep 999', POSTGRES_SQL], "pipe", options
    elif name in ("xz", "gzip"):
        # openssl's stream of no end would take a CPU; numbers are cheap, and compress.
        return command, ["seq", "1", "1000000000"], "pipe", {}
    return command, None, None, {}


@contextmanager
def program(name):
    """A running program that works on what it is given for as long as it lives, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="jbpf-unwind-") as folder:
        command, feeding, is_piped, options = prepare(name, Path(folder))
        places = {"@repository": folder, "@folder": folder, "@source": f"{folder}/Endless.java",
                  "@nginx.conf": f"{folder}/nginx.conf", "@database": f"{folder}/database",
                  "@postgres": postgres_tool("postgres")}
        feeder = feeding and subprocess.Popen(feeding, stdout=subprocess.PIPE if is_piped else subprocess.DEVNULL)
        process = subprocess.Popen([places.get(part, part) for part in command],
                                   stdin=feeder.stdout if is_piped else subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
        try:
            wait_cpu([process.pid], 0.3)  # all is loaded
            yield process
        finally:
            for one in filter(None, (process, feeder)):
                one.kill()
                one.wait()
            if is_piped:
                feeder.stdout.close()


def many_commits(folder):
    """A history that takes git some seconds to show."""
    subprocess.run(["git", "init", "-q", folder], check=True)
    parts = []
    for i in range(MANY_COMMITS):
        text = "".join(f"line {j * (i % 17 + 1) % 3001}\n" for j in range(3000))
        parts += [f"commit refs/heads/main\ncommitter a <a@b> {1700000000 + i} +0000\ndata 1\nx\n",
                  f"M 644 inline file{i % 3}\ndata {len(text)}\n{text}\n"]
    subprocess.run(["git", "-C", folder, "fast-import", "--quiet"], input="".join(parts).encode(), check=True)


def unwind_program(name, samples=SAMPLES):
    if not is_installed(name):
        pytest.skip(f"there is no {name}")
    with program(name) as process:
        return live_unwind(process.pid, samples=samples)


@pytest.mark.parametrize("name", ["perl", "python3", "openssl", "sqlite3"])
def test_stacks_of_programs_are_those_of_libdw(name):
    assert_libdw_agrees(*unwind_program(name))


@pytest.mark.long("a share (50 to 99 %) of 2,500 samples, none of which may be lost")
@pytest.mark.parametrize("name", PROGRAMS)
def test_stacks_of_programs_are_those_of_libdw_figures(name):
    result, why = unwind_program(name, MANY_SAMPLES)
    print(f"{name}: {result}")
    assert_share(result, PROGRAMS[name][1], why)


MODES = pytest.mark.parametrize("mode", ["recurse", "alloca", "big", "realign", "signal", "altstack", "vdso", "thread", "libc"])


def unwind_load(mode, *args, options=()):
    with load(mode, 900, *args, program="unwind_load") as process:
        return live_unwind(process.pid, *options)


@MODES
def test_frames_of_every_make_are_walked_to_the_end(mode):
    result, why = unwind_load(mode)
    assert_libdw_agrees(result, why)
    # All of them: main's end at _start, a thread's at clone3.
    assert is_most(result["ends"][END_ROOT], result), result


@pytest.mark.long("at most 2 % of 400 samples may be longer (realign: or not whole), by where the ticks hit")
@MODES
def test_frames_of_every_make_are_walked_to_the_end_figures(mode):
    result, why = unwind_load(mode)
    # In a few bytes of what realigns a stack the rule is one that no row holds.
    share = 0.98 if mode == "realign" else 1
    assert_share(result, share, why)
    assert result["ends"][END_ROOT] >= share * result["samples"], result
    # Both are equal whether libdw can read the other stack or not.
    if mode != "altstack":
        assert result["longer"] <= 0.02 * result["samples"], (result, why)


def test_deep_recursion_is_walked_to_the_end():
    result, why = unwind_load("recurse", 900)
    assert result["different"] == 0 and is_all(result["samples"] - result["shorter"], result), (result, why)
    assert is_all(result["ends"][END_ROOT], result) and result["frames"] > 900 * (result["samples"] - 2), result


@pytest.mark.long("no sample may be lost: libdw must keep up with 997 a second of 900 frames, or the buffer overflows")
@pytest.mark.released
def test_deep_recursion_is_walked_to_the_end_figures():
    result, why = unwind_load("recurse", 900)
    assert_share(result, 1, why)


def test_a_stack_has_as_many_frames_as_are_to_be_had():
    result, why = unwind_load("recurse", 1100)
    assert result["different"] == 0, why
    assert is_all(result["ends"][END_MAX_DEPTH], result), result
    assert 1024 * (result["samples"] - 2) <= result["frames"] <= 1024 * result["samples"], result


def test_a_first_walk_ends_after_so_many_searches():
    """So deep, and each frame has another address: the next samples find some of them in the memo of their CPU."""
    result, why = unwind_load("chain", 490)
    assert result["different"] == 0, why
    assert result["ends"][END_MAX_RULES] >= 1, result
    assert is_all(result["ends"][END_MAX_RULES] + result["ends"][END_ROOT], result), result
    # What says that it is whole is no shorter than libdw's; libdw does not get out of every leaf. A walk may have all frames
    # and still not say so: where its last search is the one that would have found the root.
    assert result["ends"][END_ROOT] <= result["equal"] + result["longer"], (result, why)


@pytest.mark.long("how many walks are first ones depends on how often the host moves it between CPUs")
def test_a_first_walk_ends_after_so_many_searches_figures():
    result, _ = unwind_load("chain", 490)
    assert result["ends"][END_MAX_RULES] <= 0.2 * result["samples"], result


def test_a_file_without_a_table_ends_the_walk():
    result, why = unwind_load("recurse", 10, options=["--no-table", "unwind_load"])
    assert result["different"] == 0, why
    assert is_most(result["ends"][END_NO_RULE], result) and result["ends"][END_ROOT] == 0, result


@pytest.mark.long("99 % of 400 samples must end so: a share of where the ticks hit")
def test_a_file_without_a_table_ends_the_walk_figures():
    result, _ = unwind_load("recurse", 10, options=["--no-table", "unwind_load"])
    assert result["ends"][END_NO_RULE] >= 0.99 * result["samples"], result
    # The leaf, and where that was in a file with a table, its callers there.
    assert result["frames"] <= 1.2 * result["samples"], result


def test_what_lies_in_no_mapping_ends_the_walk():
    result, why = unwind_load("recurse", 10, options=["--unmapped", "unwind_load"])
    assert result["different"] == 0, why
    assert is_most(result["ends"][END_NO_MAPPING], result) and result["ends"][END_ROOT] == 0, result


@pytest.mark.long("99 % of 400 samples must end so: a share of where the ticks hit")
def test_what_lies_in_no_mapping_ends_the_walk_figures():
    result, _ = unwind_load("recurse", 10, options=["--unmapped", "unwind_load"])
    assert result["ends"][END_NO_MAPPING] >= 0.99 * result["samples"], result


def unwind_by_frame_pointers():
    with load("recurse", 900, 40) as process:
        return live_unwind(process.pid, "--keeps-fp", "tests/bpf/load")[0]


def test_a_file_that_keeps_frame_pointers_is_walked_by_them():
    """`load` keeps them, but in its leaf, whose caller is missing; below it libc is walked by libc's table."""
    result = unwind_by_frame_pointers()
    assert is_most(result["ends"][END_ROOT], result), result
    # A tenth of them are libc's.
    assert result["frames"] > 20 * result["samples"], result
    assert 0 < result["frames_table"] < 10 * result["taken"], result


@pytest.mark.long("95 % of 400 samples must end so, and frames per sample lie in a range")
def test_a_file_that_keeps_frame_pointers_is_walked_by_them_figures():
    result = unwind_by_frame_pointers()
    assert result["ends"][END_ROOT] >= 0.95 * result["samples"], result
    assert 44 * result["samples"] <= result["frames"] <= 48 * result["samples"], result
    # By the table: what is not of `load`, main's two callers in libc.
    assert 2 * result["taken"] <= result["frames_table"] <= 6 * result["taken"], result
