# SPDX-License-Identifier: Apache-2.0
"""What the store takes and how fast it is read: real windows of JVMs, made into hours and days."""
import glob
import json
import os
import statistics
import subprocess
import time

from jvms import JAVA, Jvms, compile_java
from machine import JBPF, tool
from programs import Jbpfd, remove

LOADS = {
    "collections, text, compression": ["Load", "1", "40"],
    "HTTP service": ["Service"],
    "compiler": ["Compile", "{out}"],
}
BUSY_SAMPLES = 545  # of 10 s: 0.55 cores, as the broker the design was measured on
DAY_TEXT_MAX = 2 << 30  # of a day, before compression: a compiler's is cut to fewer hours
JOBS, JOB_HOURS = 29000, 24
LEVEL = "9"  # of zstd, as jbpfd merges


def dump(*arguments):
    """Wall time of one jbpf-dump, in ms."""
    begin = time.monotonic()
    subprocess.run([JBPF, "dump", *arguments, "-o", "/dev/null"], check=True, stderr=subprocess.DEVNULL)
    return (time.monotonic() - begin) * 1000


def dump_hour(report, bench):
    """jbpf-dump --since 1h of one JVM: its windows repeated, not merged; nothing else in the store."""
    hour = os.path.join(bench.work, "store-hour")
    with Jvms(bench.work, 1, 2, 100, seed=bench.seed) as jvms:
        jvms.wait_busy(bench.settle)
        with Jbpfd(bench.work, 99, window_s=bench.seconds, pids=jvms.pids()) as daemon:
            time.sleep(bench.seconds * 4 + 2)
            daemon.stop()
            subprocess.run([tool("bench_fill_hour"), daemon.out, hour], check=True)
    times = [dump("--store", hour, "--since", "1h", "--comm", "java") for _ in range(max(bench.rounds, 5))]
    size = sum(os.path.getsize(p) for p in glob.glob(f"{hour}/v1/cpu/**/*.zst", recursive=True))
    report.row("jbpf-dump --since 1h, one JVM, wall time", times, "ms", "<= 50", statistics.median(times) <= 50)
    report.row("  of a store of", size / (1 << 20), "MiB")
    remove(hour)
    list_jobs(report, bench)


def record_loads(bench, seconds):
    """Three kinds of JVM for a while, in one store; their pids and the daemon, which has ended."""
    folder = os.path.join(bench.kept, "recording")
    out = os.path.join(folder, "classes-out")
    os.makedirs(out)
    classes = compile_java(folder, "store", glob.glob(f"{JAVA}/*.java"), release=17)
    processes = {}
    daemon = Jbpfd(folder, 99)
    try:
        daemon.start()
        for name, load in LOADS.items():
            command = [part.format(out=out) for part in load]
            processes[name] = subprocess.Popen(
                ["java", "-Xmx128m", "-XX:+PreserveFramePointer", "-cp", classes, *command],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds)
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
        daemon.stop()
    return daemon, {name: process.pid for name, process in processes.items()}


def recording(bench):
    """The same of all parts that ask for one, which lasts as long as the run."""
    if not bench.recorded:
        bench.recorded = record_loads(bench, 180 if bench.full else 62 if bench.quick else 82)
    return bench.recorded


def make(*arguments):
    """bench_store: what it says of itself."""
    return json.loads(subprocess.check_output([tool("bench_store"), *map(str, arguments)], timeout=1200))


def shortfall(made):
    """Why there are fewer distinct stacks than the recording's law asks for; None when there are as many."""
    share = (made["stacks_recorded"] + made["stacks_made"]) / made["stacks_by_law"]
    if share > 0.9:
        return None
    why = "text of new stacks is capped" if made["is_capped"] else "no more could be made of the recorded ones"
    return f"{share * 100:.0f} % of what the recording's law asks for: {why}"


def judged(is_met, made):
    """A target that is reached with too few stacks is not reached."""
    return None if is_met and shortfall(made) else is_met


def list_jobs(report, bench):
    """A host of many short containers."""
    day = os.path.join(bench.work, "store-jobs")
    make("jobs", recording(bench)[0].out, day, JOB_HOURS, JOBS)
    make("merge", day, LEVEL)
    times = [dump("--store", day, "--since", f"{JOB_HOURS + 1}h", "--list") for _ in range(max(bench.rounds, 5))]
    report.row(f"jbpf-dump --list, {JOB_HOURS} h of a host of {JOBS} streams, wall time", times, "ms", "<= 1000",
               statistics.median(times) <= 1000)
    remove(day)


def one_kind(report, bench, name, recorded, pid):
    hour, day = os.path.join(bench.work, "made-hour"), os.path.join(bench.work, "made-day")
    made = make("extend", recorded, pid, hour, 1, BUSY_SAMPLES)
    merged = make("merge", hour, LEVEL)
    size = merged["bytes_after"] / merged["samples"]
    report.row(f"{name}: distinct stacks of an hour", made["stacks_recorded"] + made["stacks_made"], "",
               note=shortfall(made))
    report.row("  bytes per sample while the hour is open", merged["bytes_before"] / merged["samples"], "B")
    most = 7 if name == "compiler" else 4
    report.row("  bytes per sample, merged", size, "B", f"<= {most}", judged(size <= most, made))
    report.row("  CPU to merge the hour", merged["cpu_ms"], "ms")
    report.row("  peak memory of that", merged["max_rss_kb"] / 1024, "MiB")
    remove(hour)
    hours = min(4 if bench.quick else 24, max(1, DAY_TEXT_MAX // max(made["text_bytes"], 1)))
    made = make("extend", recorded, pid, day, hours, 0)
    note = shortfall(made)
    since = f"{hours + 1}h"
    rounds = range(min(bench.rounds, 3))
    plain = [dump("--store", day, "--since", since) for _ in rounds]
    make("merge", day, LEVEL)
    times = [dump("--store", day, "--since", since) for _ in rounds]
    report.row(f"  {hours} h dumped, not merged, wall time", plain, "ms", note=note)
    report.row(f"  {hours} h dumped, merged, wall time", times, "ms", "<= 300",
               judged(statistics.median(times) <= 300, made) if hours == 24 else None, note=note)
    remove(day)


def store(report, bench):
    """Bytes per sample of three kinds of JVM, before and after merging, and reading a day of them."""
    daemon, pids = recording(bench)
    for name, pid in pids.items():
        one_kind(report, bench, name, daemon.out, pid)
