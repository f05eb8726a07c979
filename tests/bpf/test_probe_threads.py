# SPDX-License-Identifier: Apache-2.0
"""Whose thread a sample is of, in the running kernel, as root: by the thread's name, with runs of digits as
one '#', or as it is."""
import collections

import pytest

from live import VARIANTS, assert_nothing_lost, load, of_pid, sample, total

pytestmark = pytest.mark.live

# One thread per argument gives itself that name and burns in system calls, so that all get the CPU in turn.
THREADS = """
import ctypes, os, sys, threading
libc = ctypes.CDLL(None)
def burn(name):
    libc.prctl(15, os.fsencode(name), 0, 0, 0)
    while True:
        os.getppid()
for name in sys.argv[1:]:
    threading.Thread(target=burn, args=(name,), daemon=True).start()
print("ready", flush=True)
threading.Event().wait(900)
"""
# The kernel keeps 15 bytes of a name.
FOLDED = {"http-nio-8080-exec-7": "http-nio-#-e", "pool-1-thread-12": "pool-#-thread-#", "12345": "#",
          "GC Thread#0": "GC Thread##", "no digits": "no digits", "1a22b333c4444d5": "#a#b#c#d#",
          "0123456789abcdef": "#abcde", "/:09": "/:#"}


STARTING = {"python#", "python3"}  # the first thread, which seldom runs, and the others until they have their names


def sampled_names(names, *args):
    """Names by samples, once each of the load's threads was sampled."""
    with load("-c", THREADS, *names, program="/usr/bin/python3") as process:
        def counts(data):
            found = collections.Counter()
            for item in of_pid(data, process.pid):
                found[item["thread"]] += item["count"]
            return found
        data = sample("--pid", process.pid, "--frequency", 999, *args, until=lambda data: (
            len(set(counts(data)) - STARTING) >= len(names)))
        assert_nothing_lost(data)
        assert total(data["counts"]) == sum(counts(data).values())
        return set(counts(data)) - STARTING


@VARIANTS
def test_digits_of_a_threads_name_are_one_character(variant):
    assert sampled_names(FOLDED, *variant) == set(FOLDED.values())


def test_threads_of_a_pool_are_one():
    with load("-c", THREADS, "worker-1", "worker-22", "worker-333", program="/usr/bin/python3") as process:
        data = sample("--pid", process.pid, "--frequency", 499, until=lambda data: (
            sum(item["count"] for item in of_pid(data, process.pid) if item["thread"] not in STARTING) >= 50))
    assert {item["thread"] for item in of_pid(data, process.pid)} - STARTING == {"worker-#"}


@VARIANTS
def test_names_are_kept_as_they_are_where_that_is_wanted(variant):
    assert sampled_names(FOLDED, "--keep-digits", *variant) == {name.encode()[:15].decode() for name in FOLDED}
