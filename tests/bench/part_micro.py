# SPDX-License-Identifier: Apache-2.0
"""Figures of single pieces: the BPF program, perf map text, the HotSpot reader."""
import glob
import json
import os
import statistics
import subprocess

from machine import tool


def kernel(report, bench):
    """In-kernel ns per sample by BPF statistics, jbpf against get_stackid; hot and cold caches."""
    rounds = "1" if bench.tiny else "5" if not bench.quick else "3"
    output = subprocess.check_output([tool("bench_kernel_cost"), "--json", "--rounds", rounds])
    for row in json.loads(output)["depths"]:
        depth, at_128 = row["depth"], row["depth"] == 128
        for heat, suffix in (("hot", ""), ("cold", "_cold")):
            ours, peer = row[f"jbpf{suffix}_ns"], row[f"stackid{suffix}_ns"]
            between = row[f"interpreted{suffix}_ns"]
            note = {"get_stackid": "cut at 127 frames"} if depth > 127 else {}
            report.beside(f"in-kernel time per sample, {depth} frames, {heat}", "ns",
                          {"jbpf": [ours], "get_stackid": [peer]}, ours="jbpf", notes=note)
            report.row(f"  every second frame interpreted, {heat}: jbpf", between, "ns")
            for name, value in (("ratio", ours / peer), ("ratio, every second frame interpreted", between / peer)):
                is_target = at_128 and heat == "hot" and name == "ratio"
                report.row(f"  {name}, {depth} frames, {heat}", value, "x", "< 0.25" if is_target else None,
                           value < 0.25 if is_target else None)


def perfmap(report, _bench):
    """Text of perf-PID.map: parsing and lookups."""
    figures = json.loads(subprocess.check_output([tool("bench_perfmap"), "--json"]))
    report.row("perf map parsed", float(figures["parse_mb_per_s"]), "MB/s", ">= 500", figures["parse_mb_per_s"] >= 500)
    lookups = float(figures["lookups_per_s"]) / 1e6
    report.row("perf map lookups", lookups, "M/s", ">= 10", lookups >= 10)


class ManyMethods:
    """A JVM with some 10,000 compiled methods, all different, that then sleeps."""
    CLASSES, METHODS = 100, 90

    def __init__(self, work):
        source, classes = os.path.join(work, "many"), os.path.join(work, "classes-many")
        os.makedirs(source)
        for i in range(self.CLASSES):
            self.write_class(source, i)
        calls = "".join(f"sum += Service{i}.all();" for i in range(self.CLASSES))
        with open(os.path.join(source, "Many.java"), "w", encoding="ascii") as file:
            file.write("public class Many { public static void main(String[] args) throws Exception { long sum = 0;"
                       + calls + "System.out.println(sum); System.out.flush(); Thread.sleep(3600000); } }")
        subprocess.run(["javac", "--release", "8", "-Xlint:-options", "-d", classes, *glob.glob(f"{source}/*.java")],
                       check=True)
        self.process = subprocess.Popen(["java", "-Xcomp", "-XX:TieredStopAtLevel=1", "-XX:-Inline", "-Xmx128m",
                                         "-cp", classes, "Many"], stdout=subprocess.PIPE)

    def write_class(self, folder, number):
        methods = "".join(f"static long handleRequest{m}(int count, String name, java.util.List<String> all)"
                          f"{{ return count * {m}L + name.length() + all.size(); }}" for m in range(self.METHODS))
        calls = "".join(f"sum += handleRequest{m}({number}, NAME, ALL);" for m in range(self.METHODS))
        with open(os.path.join(folder, f"Service{number}.java"), "w", encoding="ascii") as file:
            file.write(f"public class Service{number} {{ static final String NAME = \"x\";"
                       "static final java.util.List<String> ALL = new java.util.ArrayList<>();"
                       f"static long all() {{ long sum = 0; {calls} return sum; }} {methods} }}")

    def __enter__(self):
        self.process.stdout.readline()  # all were called, and so compiled
        return self.process.pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def hotspot(report, bench):
    """Our CPU for reading a JVM's code cache from outside."""
    with ManyMethods(bench.work) as pid:
        runs = [json.loads(subprocess.check_output([tool("bench_hotspot"), str(pid)]))
                for _ in range(max(bench.rounds, 3))]
    figures = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    per_10k = figures["first_walk_us"] / figures["blobs"] * 10000 / 1000
    report.row("pieces of code in the JVM's code cache", figures["blobs"], "")
    report.row("all named, from cold", [run["first_walk_us"] / 1000 for run in runs], "ms")
    report.row("  per 10,000", per_10k, "ms", "<= 40", per_10k <= 40)
    report.row("opening a JVM", [run["open_us"] for run in runs], "us")
    report.row("looking at its heaps, once per window", [run["refresh_us"] for run in runs], "us")
    report.row("finding the code at a pc", [run["find_us"] for run in runs], "us")
    report.row("naming a method", [run["name_us"] for run in runs], "us")
    report.row("is a piece of code still the same", [run["verify_us"] for run in runs], "us")
    window = figures["refresh_us"] + 20 * (figures["find_us"] + figures["name_us"]) + 300 * figures["verify_us"]
    report.row("warm window: 300 known pieces of code, 20 new ones", window / 1000, "ms", "<= 1", window <= 1000)
