# SPDX-License-Identifier: Apache-2.0
"""Stacks of native code without frame pointers, from a daemon and from record: whole by the rules of each file."""
import json
import re
import signal
import subprocess
import time

import pytest

from harness.containers import java
from harness.folded import assert_rare
from harness.programs import BIN, Lacking, jbpf, run, wait_until

pytestmark = [pytest.mark.live, pytest.mark.released]

PERL = ["perl", "-e", "sub f { my $n = shift; my $s = 0; $s += $_ * $n for 1 .. 999; $n ? f($n - 1) + $s : $s } "
        "f(10) while 1"]

# Recursion without frame pointers, in a library of its own that is opened late.
LIBRARY = r"""
#include <stdint.h>
static volatile uint64_t sink;
__attribute__((noinline)) uint64_t late_leaf(uint64_t n)
{
	for (uint64_t i = 0; i < 20000; i++)
		sink += i * n;
	return sink;
}
__attribute__((noinline)) uint64_t late_down(uint64_t n)
{
	uint64_t more = n ? late_down(n - 1) : 0;

	return late_leaf(n) + more;
}
"""

PROGRAM = r"""
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static volatile uint64_t sink;
__attribute__((noinline)) static void early(double seconds)
{
	time_t end = time(NULL) + (time_t)seconds;

	while (time(NULL) < end)
		for (int i = 0; i < 20000; i++)
			sink += (uint64_t)i;
}
int main(int argc, char **argv)
{
	early(atof(argv[2]));
	uint64_t (*down)(uint64_t) = (uint64_t (*)(uint64_t))dlsym(dlopen(argv[1], RTLD_NOW), "late_down");

	printf("opened\n");
	fflush(stdout);
	for (;;)
		sink += down(5);
	return argc;
}
"""


@pytest.fixture
def program():
    """Starts a program; ends it with the test."""
    processes = []

    def start(command, **options):
        processes.append(subprocess.Popen([str(part) for part in command], text=True, **options))
        return processes[-1]
    yield start
    for process in processes:
        process.kill()
        process.wait()


def is_whole(frames):
    return frames[1] == "_start"


def is_truncated(frames):
    return "[truncated]" in frames


def wait_whole(one, pid, holds=is_whole):
    """A moment, seconds since 1970, from which on the rules of its files are known: they are read while nothing else
    is to be done, which on a busy host comes late."""
    one.wait_samples({pid: 1})
    wait_until(lambda: one.dump("--pid", pid).samples(holds) > 10, 60, f"its files are read; log: {one.log()}")
    return one.stored_until()


def check_whole(folded, comm):
    """One in two hundred stacks may be cut: at an instruction for which a file has no rule."""
    mine = folded.of(comm)
    assert mine.total >= 100, folded
    assert_rare(mine.samples(lambda frames: not is_whole(frames)), mine.total, 0.005,
                mine.show(lambda frames: not is_whole(frames)))


@pytest.mark.long("at most 0.5 % of the stacks may be cut (fp: at most half whole): a share of few samples")
@pytest.mark.parametrize("mode", ["auto", "fp"])
def test_stacks_of_perl_are_whole_by_rules_and_broken_by_frame_pointers(daemon, program, mode):
    perl = program(PERL)
    one = daemon("--unwind", mode).start().wait_ready()
    begin = wait_whole(one, perl.pid) if mode == "auto" else one.wait_met([perl.pid])
    one.wait_samples({perl.pid: 100}, since=begin)
    folded = one.dump("--pid", perl.pid, since=begin)
    if mode == "auto":
        check_whole(folded, "perl")
        return
    whole = folded.samples(is_whole)
    assert whole < folded.total / 2, folded


def settled_recording(tmp_path, pid):
    """What a short recording says as JSON that began when the files of the process were read. Where that took too
    long, on a busy host, it says so, and the next one has another chance."""
    out = tmp_path / "out.json"
    for _ in range(10):
        begin = time.monotonic()
        result = run(BIN / "jbpf", "record", "-p", pid, "-d", "4s", "-o", out)
        assert result.returncode == 0, result.stderr
        assert time.monotonic() - begin >= 4
        said = json.loads(out.read_text())
        if "the first stacks may be cut" not in result.stderr and said["samples"] >= 8:
            return said
    raise Lacking(f"never settled: {result.stderr}")


@pytest.mark.long("files must be read in time in one of ten recordings of 4 s, and 0.5 % of its stacks may be cut")
def test_one_shot_recording_has_whole_stacks_from_its_first_moment_on(program, tmp_path):
    perl = program(PERL)
    said = settled_recording(tmp_path, perl.pid)
    assert_rare(sum(said["truncated_by"].values()), said["samples"], 0.005, said["truncated_by"])


@pytest.mark.long("files must be read in time, with 8 samples, in one of ten recordings of 4 s by the clock")
def test_one_shot_recording_of_a_jvm_follows_no_frame_pointer_that_is_none(engine, tmp_path):
    """Of a JVM without the flag only leafs may be without a caller: whose rule is not proved yet."""
    container = engine.start_ready("settled", java("Shares", 600, 60, frame_pointer=False), "TRUTH")
    said = settled_recording(tmp_path, container.pid)
    assert set(said["truncated_by"]) <= {"unproved_leaf"}, said["truncated_by"]


@pytest.mark.long("fewer than 25 whole stacks among 50 samples or more: how many a window brings is the host's")
def test_a_reload_changes_how_stacks_are_walked(daemon, program, tmp_path):
    config = tmp_path / "jbpfd.conf"
    config.write_text("unwind = fp\n")
    perl = program(PERL)
    one = daemon("--config", config).start().wait_ready()
    one.wait_samples({perl.pid: 50})
    assert one.dump("--pid", perl.pid).samples(is_whole) < 25
    config.write_text("unwind = auto\n")
    one.process.send_signal(1)

    def are_whole():
        last = one.dump("--pid", perl.pid, since=one.stored_until() - 3)
        return last.total >= 10 and last.samples(is_whole) > 0.9 * last.total
    wait_until(are_whole, 60, lambda: f"stacks are whole; log: {one.log()}")


JAVASCRIPT = """
const leaf = n => { let s = 0; for (let i = 0; i < 2000; i++) s += Math.sqrt(i * n); return s; };
const middle = n => [1, 2, 3, 4].map(x => leaf(x + n)).sort((a, b) => a - b).join().length;
const down = n => n ? down(n - 1) + middle(n) : 0;
for (;;) down(10);
"""


@pytest.mark.long("at most 1 % of the stacks may be cut, and half of 200 samples must be in its code")
def test_node_is_whole_through_code_that_no_file_tells_of(daemon, program, tmp_path):
    """Its program has builtins without unwind information, and JIT code lies in no file: both keep frame pointers."""
    (tmp_path / "work.js").write_text(JAVASCRIPT)
    node = program(["node", tmp_path / "work.js"])
    one = daemon().start().wait_ready()
    begin = wait_whole(one, node.pid, lambda frames: not is_truncated(frames) and len(frames) > 20)
    one.wait_samples({node.pid: 200}, since=begin)
    folded = one.dump("--pid", node.pid, since=begin).only(lambda frames: any("Execution::Call" in f for f in frames)
                                                           or is_truncated(frames))
    assert folded.total >= 100, folded
    assert_rare(folded.samples(is_truncated), folded.total, 0.01, folded.show(is_truncated))


def make_late(folder):
    """The program and its library, without frame pointers, in this folder."""
    flags = ["-O2", "-fno-optimize-sibling-calls", "-fomit-frame-pointer"]
    for name, source, more in (("liblate.so", LIBRARY, ["-shared", "-fPIC"]), ("opens_late", PROGRAM, [])):
        built = subprocess.run(["gcc", *flags, *more, "-o", folder / name, "-x", "c", "-", "-ldl"], input=source,
                               text=True, capture_output=True, timeout=60)
        assert built.returncode == 0, built.stderr
        (folder / name).chmod(0o755)


def check_late(folded):
    check_whole(folded, "opens_late")
    late = folded.with_frame("late_leaf")
    assert late > 50, folded
    deep = folded.samples(lambda frames: "late_leaf" in frames and "late_down" in frames and "main" in frames)
    assert deep == late, folded


@pytest.mark.long("at most 0.5 % of about 100 stacks may be cut, and over 50 must be in its library")
def test_a_library_that_is_opened_later_is_whole_soon(daemon, program, tmp_path):
    make_late(tmp_path)
    one = daemon().start().wait_ready()
    process = program([tmp_path / "opens_late", tmp_path / "liblate.so", 8], stdout=subprocess.PIPE)
    assert process.stdout.readline() == "opened\n"
    begin = wait_whole(one, process.pid, lambda frames: is_whole(frames) and "late_leaf" in frames)
    one.wait_samples({process.pid: 100}, since=begin)
    check_late(one.dump("--pid", process.pid, since=begin))


@pytest.mark.long("at most 0.5 % of about 100 stacks may be cut, and over 50 must be in its library")
def test_a_program_in_a_container_is_whole(engine, daemon):
    make_late(engine.app)
    pid = engine.start_ready("late", ["/app/opens_late", "/app/liblate.so", 0], "opened").pid
    one = daemon().start().wait_ready()
    begin = wait_whole(one, pid)
    one.wait_samples({pid: 100}, since=begin)
    check_late(one.dump("--pid", pid, since=begin))


@pytest.mark.long("80 % of the samples in one method and at most 1 % cut: how soon it is compiled is the host's")
def test_jvm_that_compresses_is_whole(engine, daemon):
    container = engine.start("deflate", java("Deflate", 600, 80))
    pid = container.pid
    one = daemon().start().wait_ready()
    begin = wait_whole(one, pid, lambda frames: "deflate" in frames and not is_truncated(frames))
    one.wait_samples({pid: 500}, since=begin)
    folded = one.dump("--pid", pid, since=begin)
    assert folded.with_frame("Deflate.compress") > 0.8 * folded.total, folded
    assert_rare(folded.samples(is_truncated), folded.total, 0.01, folded.show(is_truncated))


@pytest.mark.long("at most 0.5 % of about 100 stacks may be cut: a share of few samples")
def test_a_library_without_rules_is_walked_by_its_debug_file(daemon, program, tmp_path):
    for name, text in (("late.c", LIBRARY), ("main.c", PROGRAM)):
        (tmp_path / name).write_text(text)
    for command in ("cc -O2 -g -gz=none -fPIC -shared -Wl,--build-id -fno-asynchronous-unwind-tables -o liblate.so late.c",
                    "objcopy --only-keep-debug liblate.so liblate.debug", "strip liblate.so",
                    "objcopy --add-gnu-debuglink=liblate.debug liblate.so", "cc -O2 -o main main.c -ldl"):
        subprocess.run(command.split(), cwd=tmp_path, check=True)
    user = program([tmp_path / "main", tmp_path / "liblate.so", 0], stdout=subprocess.PIPE)
    one = daemon("--pid", user.pid).start().wait_ready()
    begin = wait_whole(one, user.pid, lambda frames: is_whole(frames) and frames.count("late_down") == 6)
    one.wait_samples({user.pid: 100}, since=begin)
    check_whole(one.dump("--pid", user.pid, since=begin), "main")


# Without rules in its file, and with rbp used for something else: nothing leads out of it.
BARE = r"""
#include <stdint.h>
uint64_t bare_spin(uint64_t n);
__asm__(".text\n.globl bare_spin\n.type bare_spin, @function\nbare_spin:\n"
	"push %rbp\npush %rbx\nmov $7, %rbp\n1: imul %rbp, %rbx\ndec %rdi\njnz 1b\npop %rbx\npop %rbp\nret\n"
	".size bare_spin, .-bare_spin\n");
"""

BARE_USER = r"""
#include <stdint.h>
uint64_t bare_spin(uint64_t n);
int main(void)
{
	for (;;)
		bare_spin(100000000);
}
"""


def test_status_names_the_file_in_which_stacks_end_and_says_what_helps(daemon, program, tmp_path):
    for name, text, options in (("libbare.so", BARE, ["-shared", "-fPIC", "-nostdlib"]),
                                ("user", BARE_USER, ["-L.", "-lbare", "-Wl,-rpath,$ORIGIN"])):
        (tmp_path / f"{name}.c").write_text(text)
        subprocess.run(["cc", "-O2", "-fno-asynchronous-unwind-tables", "-o", name, f"{name}.c", *options],
                       cwd=tmp_path, check=True)
    user = program([tmp_path / "user"])
    one = daemon("--pid", user.pid).start().wait_ready()

    one.wait_samples({user.pid: 1})

    bare = {"file": "libbare.so", "why": "no_information"}

    def known_walk():
        """Once its files were looked at, one after the other, and its stacks ended somewhere."""
        walk = one.status_json("--all").get(user.pid, {}).get("walk")
        return walk if walk and walk["ended_in"] and walk["files_with_table"] >= 2 and bare in walk["without_table"] else None
    walk = wait_until(known_walk, 60, lambda: f"it is named; {one.status('--all')} log: {one.log()}")
    assert walk["by"] == "rules" and walk["java"] == "", walk
    assert walk["ended_in"] == [{"file": "libbare.so", "why": "no_rule"}], walk
    text = one.status("--all")
    assert "of its stacks end in libbare.so, which has no unwind information; build it with" in text, text
    assert "PreserveFramePointer" not in text, text
    assert "\nunwind tables on this host: " in text, text


def test_status_says_how_a_jvm_without_the_flag_is_walked(engine, tmp_path, daemon):
    container = engine.start_ready("noflag", java("Chains", 600, frame_pointer=False), "READY")
    one = daemon("--pid", container.pid).start().wait_ready()
    one.wait_samples({container.pid: 1})
    wait_until(lambda: any((stream["walk"] or {}).get("java") == "frame_sizes"
                           for stream in one.status_json().values()), 60, f"it is known; log: {one.log()}")
    # Until then its stacks are cut: on a busy host so many that the flag would help.
    wait_until(lambda: "-XX:+PreserveFramePointer" not in one.status(), 60, lambda: f"it needs no flag: {one.status()}")
    text = one.status()
    assert "; Java by the sizes of its frames" in text, text
    check = jbpf("status", "--check", "--store", one.store).stdout
    line = re.compile(rf"^java {container.pid} in .*noflag: [0-9.]+ % of \d+ stacks? whole; walked by .*; Java by the sizes", re.M)
    assert line.search(check), check


# So many functions of 17 rows each, which are 68 bytes.
FILLER = "__asm__(\".text\\n.rept FUNCTIONS\\n.p2align 4\\n.cfi_startproc\\n" + "".join(
    f"{word} %rbx\\n.cfi_def_cfa_offset {offset}\\n.byte 0x0f, 0x1f, 0x40, 0\\n" for word, offset in
    [("push", 16 + 8 * i) for i in range(8)] + [("pop", 64 - 8 * i) for i in range(8)]) + "ret\\n.cfi_endproc\\n.endr\\n\");\n"


EXTRA = "void extra(void (*next)(void))\n{\n\tnext();\n\tsink++;\n}\n"


def make_large(folder):
    """Two libraries like liblate.so with large tables, one of which has a function more."""
    flags = ["gcc", "-O2", "-fno-optimize-sibling-calls", "-fomit-frame-pointer", "-fPIC", "-x", "c", "-"]
    filler = folder / "filler.o"
    paths = [folder / "liblarge.so", folder / "liblarger.so"]
    for command, source in (([*flags, "-c", "-o", filler], FILLER.replace("FUNCTIONS", "36000")),
                            ([*flags, "-x", "none", filler, "-shared", "-o", paths[0]], LIBRARY),
                            ([*flags, "-x", "none", filler, "-shared", "-o", paths[1]], LIBRARY + EXTRA)):
        built = subprocess.run(command, text=True, capture_output=True, input=source, timeout=300)
        assert built.returncode == 0, built.stderr
    return paths


@pytest.mark.long("half a minute of windows that must end: which table goes and comes back, test_unwind_cache.c judges")
def test_tables_out_of_use_make_room_for_others_and_come_back(daemon, program, tmp_path):
    """Half of the 8 MiB is one container's share: of two tables of 3.3 MiB one has room at a time."""
    make_late(tmp_path)
    users = [program([tmp_path / "opens_late", path, 0], stdout=subprocess.PIPE) for path in make_large(tmp_path)]
    for user in users:
        assert user.stdout.readline() == "opened\n"
        user.send_signal(signal.SIGSTOP)
    one = daemon("--pid", users[0].pid, "--pid", users[1].pid, window="1s").start().wait_ready()

    def evicted():
        return json.loads(one.status("--json", "--all"))["unwind"]["evicted"]
    for turn, user in enumerate([users[0], users[1], users[0]]):
        begin, before = time.time(), evicted() if turn else 0
        user.send_signal(signal.SIGCONT)
        one.wait_samples({user.pid: 1}, since=begin)
        wait_until(lambda: one.dump("--pid", user.pid, since=begin).samples(
            lambda frames: is_whole(frames) and frames.count("late_down") == 6) >= 20, 60, f"turn {turn}; log: {one.log()}")
        assert (evicted() > before) == (turn > 0), one.status("--all")
        user.send_signal(signal.SIGSTOP)
        until = one.stored_until()
        wait_until(lambda: one.stored_until() >= until + 3, 60, "it is out of use")
