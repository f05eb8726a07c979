# SPDX-License-Identifier: Apache-2.0
"""JVMs as load, all with frame pointers. Load.java counts its operations into a file, so that what a program gets
done can be read at any time without its help."""
import glob
import mmap
import os
import struct
import subprocess
import time

from machine import ROOT
from spawn import NotMeasured

JAVA = os.path.join(ROOT, "tests", "bench", "java")
COUNTER_BYTES = 4096
COUNTER_STRIDE = 64
SMALL = ("-Xmx16m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
# Else recursion is inlined, and frames of the source are fewer frames of the stack.
KEEP_DEPTH = ("-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Load.deep*")


def compile_java(work, name, sources, release=8):
    classes = os.path.join(work, f"classes-{name}")
    if not os.path.isdir(classes):
        subprocess.run(["javac", "--release", str(release), "-Xlint:-options", "-nowarn", "-d", classes, *sources],
                       check=True)
    return classes


class Jvms:
    """COUNT JVMs of Load.java. `depth`: frames above which their work is done, 0 = as it comes."""

    def __init__(self, work, count, threads, duty, depth=0, seed=0, options=("-Xmx256m",)):
        classes = compile_java(work, "load", [os.path.join(JAVA, "Load.java")])
        self.threads = threads
        self.counters, self.processes = [], []
        for number in range(count):
            path = os.path.join(work, f"ops-{number}")
            with open(path, "wb") as file:
                file.truncate(COUNTER_BYTES)
            with open(path, "rb") as file:
                self.counters.append(mmap.mmap(file.fileno(), COUNTER_BYTES, prot=mmap.PROT_READ))
            self.processes.append(subprocess.Popen(
                ["java", "-XX:+PreserveFramePointer", "-Xshare:auto", *options, *KEEP_DEPTH, "-cp", classes, "Load",
                 str(threads), str(duty), str(depth), path, str(seed + number)]))

    def pids(self):
        return [process.pid for process in self.processes]

    def operations(self):
        """What all of them have done so far."""
        return sum(struct.unpack_from(">q", counter, thread * COUNTER_STRIDE)[0]
                   for counter in self.counters for thread in range(self.threads))

    def cpu_seconds(self):
        total = 0
        for pid in self.pids():
            for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
                with open(path, encoding="ascii") as file:
                    total += int(file.read().split()[0])
        return total / 1e9

    def wait_busy(self, settle_s):
        """All of them work, and most of the compilation is over."""
        end = time.monotonic() + 600
        for number, process in enumerate(self.processes):
            while struct.unpack_from(">q", self.counters[number])[0] < 20:
                if process.poll() is not None or time.monotonic() > end:
                    raise NotMeasured(f"JVM {number} of the load does not work")
                time.sleep(0.1)
        time.sleep(settle_s)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
