# SPDX-License-Identifier: Apache-2.0
"""Files and programs that were replaced: a JDK that is upgraded while it runs, and a process that executes another
program. Names are those of what ran."""
import shlex
import signal
import subprocess
import time

import pytest

from harness.containers import java
from harness.folded import Folded, kind, plain
from harness.programs import comm_of, run, wait_until

pytestmark = pytest.mark.live

ENOUGH = 40  # samples of what is judged
# The same bytes in a new file, as a package manager leaves it: what is mapped has no name any more.
REPLACE = "cd $(dirname $(readlink -f $(command -v java)))/../lib && for at in server/libjvm.so libjava.so; do " \
          "cp $at new && rm $at && mv new $at; done"
# A shell that works for a while, and then is a JVM under the same pid.
SHELL = "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done; exec "

# Works, when it is told for one more second, and then is a program that sleeps, and is never sampled.
WORKS = r"""
#include <signal.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
static volatile sig_atomic_t is_told;
static volatile uint64_t sink;
static void on_told(int signal)
{
	is_told = signal;
}
__attribute__((noinline)) void works_before(int more)
{
	for (int i = 0; i < 20000 + more; i++)
		sink += (uint64_t)i;
}
int main(void)
{
	signal(SIGUSR1, on_told);
	while (!is_told)
		works_before(0);
	for (clock_t end = clock() + CLOCKS_PER_SEC; clock() < end;)
		works_before(1);
	execlp("sleep", "sleep", "inf", (char *)0);
	return 1;
}
"""


def java_frames(frames):
    return [plain(frame) for frame in frames if kind(frame) in "j10i"]


def test_a_jvm_whose_libraries_were_replaced_is_named(engine, daemon):
    """async-profiler#572, gprofiler#92: /proc/PID/maps says "(deleted)", and the path is another file's."""
    container = engine.start_ready("upgraded", java("Shares", 600, 60), "TRUTH")
    engine.docker("exec", "--user", "0", container.id, "sh", "-c", REPLACE)
    pid = container.pid
    maps = run("grep", "-c", "libjvm.so (deleted)", f"/proc/{pid}/maps")
    assert int(maps.stdout) > 0, maps
    profiler = daemon("--pid", pid, window="1s").start().wait_ready()
    begin = profiler.wait_met([pid])
    profiler.wait_samples({pid: 1}, since=begin)

    def named_since():
        folded = profiler.dump("--pid", pid, since=begin)
        named = folded.samples(lambda frames: not {"Shares.seventy", "Shares.thirty"}.isdisjoint(java_frames(frames)))
        # Functions of the library that has no path any more.
        in_library = folded.samples(lambda frames: "JavaCalls::call_helper" in frames)
        return folded if min(named, in_library) >= ENOUGH else None
    folded = wait_until(named_since, 120, lambda: f"both are named: {profiler.dump('--pid', pid, since=begin)}")
    assert not folded.with_frame("[libjvm.so]"), folded
    assert profiler.status_json()[pid]["jit_source"] == "vmstructs"


def test_a_process_that_executes_a_jvm_is_both_one_after_the_other(engine, daemon):
    """samply#36, opentelemetry-ebpf-profiler#835: exec keeps the pid, and nothing else."""
    profiler = daemon(window="1s").start().wait_ready()
    container = engine.start("executes", ["sh", "-c", SHELL + shlex.join(java("Shares", 600, 60))])
    pid = container.pid

    def of(comm):
        result = profiler.dump_raw("--pid", pid, "--comm", comm)
        return Folded(result.stdout if result.returncode == 0 else "")
    wait_until(lambda: of("java").with_frame("Shares.seventy") >= ENOUGH, 300, "the JVM is sampled")
    shell, jvm = of("sh"), of("java")
    assert shell.total > 0, "the shell worked before"
    for frames, _ in shell.stacks:
        assert frames[0] == "sh" and not java_frames(frames), frames
        assert not any("libjvm" in frame or frame.startswith("JavaThread") for frame in frames), frames
    assert all(frames[0] == "java" for frames, _ in jvm.stacks)
    assert not jvm.samples(lambda frames: any(name in frames for name in ("evaltree", "evalcommand", "[dash]"))), jvm
    # Before both it was the program that starts containers.
    lives = [line.split() for line in profiler.list_text("--by", "pid", "--pid", pid).splitlines()]
    assert all(sum(comm in words for words in lives) == 1 for comm in ("sh", "java")), lives


@pytest.mark.parametrize("flag", ["-pie", "-no-pie"])
def test_a_program_that_executes_one_that_sleeps_keeps_its_names(daemon, tmp_path, flag):
    """Nobody samples the second one: the kernel's notice of its execve() is all that tells. Without PIE it may have code at the
    same addresses."""
    source, program = tmp_path / "works.c", tmp_path / "works"
    source.write_text(WORKS)
    run("cc", "-O1", "-fno-omit-frame-pointer", *(["-fPIE"] if flag == "-pie" else ["-fno-pie"]), flag, "-o", program,
        source, check=True)
    process = subprocess.Popen([program])
    try:
        profiler = daemon("--pid", process.pid, window="3s", hz=99).start().wait_ready()
        begin = profiler.wait_met([process.pid])
        process.send_signal(signal.SIGUSR1)
        wait_until(lambda: comm_of(process.pid) == "sleep", 60, "it sleeps")
        asleep = time.time()
        wait_until(lambda: profiler.stored_until() > asleep, 60, "the window in which it worked is over")
    finally:
        process.kill()
        process.wait()
    worked = profiler.dump("--pid", process.pid, since=begin).of("works")
    assert worked.with_frame("works_before") >= ENOUGH, worked
    assert not worked.with_frame("[unknown]"), worked
