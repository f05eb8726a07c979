# SPDX-License-Identifier: Apache-2.0
"""What tests of jbpf push have in common, whatever the server: a store of known windows, and pushes that are killed."""
import contextlib
import random
import signal
import subprocess
import time

from harness.programs import BIN, jbpf

BEGIN = 1700000040  # 2023-11-14T22:14:00Z, a minute
MINUTES = 25
WAITING_PID = 41  # every second window of it is of waiting


def windows_of(processes, seed, is_empty=lambda minute: False):
    """mkstore's description of MINUTES of windows of 10 s: processes are {pid: labels}, the first of which is its comm;
    host records; nothing in minutes that are to be empty."""
    rng = random.Random(seed)
    text = []
    for start in range(BEGIN, BEGIN + 60 * MINUTES, 10):
        if is_empty(start // 60):
            continue
        for pid, labels in processes.items():
            comm = labels.split()[0].removeprefix("comm=")
            lines = sorted({f"{comm};a.B.m{rng.randrange(30)}_[j];leaf" for _ in range(6)})
            counts = [rng.randrange(1, 9) for _ in lines]
            waits = pid == WAITING_PID and start // 10 % 2
            event = "event=5 period=100000000 unit=1" if waits else "frequency_hz=99"
            text.append(f"window start={start} pid={pid} duration=10 samples={sum(counts)} frames=9 {event} {labels}")
            text += [f"\t{line} {count}" for line, count in zip(lines, counts)]
            text += [f"\t+{number} {count} thread-{number % 2}" for number, count in enumerate(counts)]
            text.append(f"\t@a.B.m1_[j];B.java:{rng.randrange(9)} 1")
        text.append(f"window start={start} pid=0 duration=10 samples=99 counts_full={start % 3} host=h1")
        text.append("commit")
    return "\n".join(text) + "\n"


def dumped_stacks(store, event, *labels):
    """Of all the store has of the event: the stack behind its labels, and the samples."""
    by = [word for label in labels for word in ("--by", label)]
    dumped = jbpf("dump", "--store", store, "--since", "@1", "--event", event, *by)
    assert dumped.returncode == 0, dumped.stderr
    for line in dumped.stdout.splitlines():
        stack, _, count = line.rpartition(" ")
        yield *stack.split(";", len(labels)), int(count)


def push(url, store, state, *options):
    return jbpf("push", url, "--store", store, "--state", state, *options)


@contextlib.contextmanager
def pushing(url, store, state, *options, stderr=subprocess.DEVNULL):
    """One that goes on, a round a second, to the end of the context."""
    process = subprocess.Popen([BIN / "jbpf-push", url, "--store", store, "--state", state, "--interval", "1s", *options],
                               stdout=subprocess.DEVNULL, stderr=stderr)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def failing(result, *words):
    """It failed, and said so in one line with these words."""
    assert result.returncode == 1, result
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    for word in words:
        assert word in lines[0], lines[0]


def push_and_kill(url, store, state, times, within_s, seed):
    """So many pushes, each killed at a random moment."""
    rng = random.Random(seed)
    for _ in range(times):
        process = subprocess.Popen([BIN / "jbpf-push", url, "--store", store, "--state", state, "--once"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.random() * within_s)
        process.send_signal(signal.SIGKILL)
        process.wait()
