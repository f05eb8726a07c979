# SPDX-License-Identifier: Apache-2.0
"""Budgets are for attackers: programs that only work hard, side by side, each in a container of its own, come to
none. Five JDKs that compile and load classes all the time, a C++ compiler, Node with perf maps, and a build farm."""
import json
import time

import pytest

from harness.containers import JDKS
from harness.daemon import CLOCK_SLACK
from harness.neighbours import Neighbours
from harness.programs import JAVA_SOURCES, wait_until

WINDOW = 10  # seconds; budgets are of a window
SECONDS = 22  # of all at work: two whole windows
LEAST_SAMPLES = 40  # of each container: it was at work
# It fills the host, and nobody who attacks may be beside it.
pytestmark = [pytest.mark.alone, pytest.mark.live]

JAVA_RUN = "java -XX:+PreserveFramePointer -Xmx128m -cp /app"
JAVAC = "java -XX:+PreserveFramePointer -Xmx128m -m jdk.compiler/com.sun.tools.javac.Main -nowarn -d /tmp/out /java/*.java"

# Templates that make templates, without a header: only the compiler works.
TEMPLATES = """
template <int N> struct level { char bytes[N]; };
template <int N, class... Ts> struct list { template <class T> using with = list<N, T, Ts...>; };
template <int N, class L> struct grow { using type = typename grow<N - 1, typename L::template with<level<N>>>::type; };
template <class L> struct grow<0, L> { using type = L; };
template <class L> struct sum;
template <int N, class... Ts> struct sum<list<N, Ts...>> {
	template <class T> static int of(int x) { int s = x; for (int i = 0; i < N; i++) s = s * 31 + sizeof(T) + i; return s; }
	static int all(int x) { int s = 0; ((s ^= of<Ts>(x + s)), ...); return s; }
};
template <int N> int use(int x) { return sum<typename grow<N, list<N>>::type>::all(x) + use<N - 1>(x); }
template <> int use<0>(int) { return 0; }
int main(int argc, char **) { return use<40>(argc); }
"""

# Functions that are made and compiled all the time, as a server with templates has them.
SERVER = """
const made = []; let sink = 0;
const make = i => new Function('a', 'b', `
  function inner_of_template_${i}(x) { let s = 0; for (let k = 0; k < 20; k++) s += Math.imul(x, k) ^ (s >>> 3); return s; }
  const row = { id: a, name: 'row' + b, list: [a, b, a + b] };
  return inner_of_template_${i}(row.list.reduce((p, q) => p + q, 0)) + JSON.stringify(row).length;`);
setInterval(() => {
  for (const until = Date.now() + 50; Date.now() < until;) {
    made.push(make(made.length));
    for (let j = 0; j < 100; j++) { const f = made[(Math.random() * made.length) | 0]; for (let k = 0; k < 30; k++) sink ^= f(k, j); }
    sink ^= 'alpha=1,beta=2'.replace(/(\\w+)=(\\d)/g, (all, a, b) => b + a).length;
  }
}, 1);
"""

PROGRAM = "int main(int c, char **v) { long s = 0; for (long i = 0; i < 3000000; i++) s += i * c; return s & 1; }"

FARM = """
cd /tmp; cp /mnt/one.c .
build() { i=0; while :; do i=$((i + 1)); gcc -O1 -g -DX=$i -o build$1.$i one.c && ./build$1.$i; rm -f build$1.$i; done; }
many() { while :; do for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
	/bin/true; /bin/ls >/dev/null; /usr/bin/id -u >/dev/null; /usr/bin/env true; /usr/bin/sort /etc/group >/dev/null; done; done; }
echo READY
build 1 & build 2 & many & many & many & wait
"""


def java(jdk):
    """JDK 8 has its compiler in another package."""
    compiles = f"mkdir /tmp/out; while :; do {JAVAC}; done" if jdk > 8 else ":"
    return ["sh", "-c", f"({compiles}) & {JAVA_RUN} Churn 600 1 50 >/dev/null & exec {JAVA_RUN} Mixed 600 100 2"]


@pytest.fixture
def neighbours(app, tmp_path):
    tmp_path.chmod(0o755)
    for name, text in (("templates.cc", TEMPLATES), ("server.js", SERVER), ("one.c", PROGRAM), ("farm.sh", FARM)):
        (app / name).write_text(text)
    neighbours = Neighbours(app, tmp_path)
    yield neighbours
    neighbours.end()


def start_all(engine, neighbours):
    """Their names by container id."""
    names = {}
    for jdk in JDKS:
        names[engine.start(f"honest-{jdk}", java(jdk), ["-v", f"{JAVA_SOURCES}:/java:ro"], jdk=jdk).id] = f"JDK {jdk}"
    compiler = "while :; do clang -x c++ -std=c++17 -O2 -g -c /mnt/templates.cc -o /tmp/out.o || exit; done"
    server = "node --perf-basic-prof --interpreted-frames-native-stack /mnt/server.js & exec node --perf-basic-prof /mnt/server.js"
    for name, command in (("compiler", ["sh", "-c", f"echo READY; {compiler}"]), ("Node", ["sh", "-c", f"echo READY; {server}"]),
                          ("build farm", ["sh", "/mnt/farm.sh"])):
        names[neighbours.start(name.replace(" ", "-"), *command).id] = name
    return names


def streams_of(profiler, begin, end):
    listed = profiler.dump_raw("--list", "--format", "json", "--since", f"@{begin + CLOCK_SLACK:.3f}",
                               "--until", f"@{end - CLOCK_SLACK:.3f}")
    return json.loads(listed.stdout)["streams"] if listed.returncode == 0 else []


def samples_by_name(profiler, names):
    samples = dict.fromkeys(names.values(), 0)
    for stream in profiler.list_json():
        if stream.get("container_id") in names:
            samples[names[stream["container_id"]]] += stream["samples"]
    return samples


@pytest.mark.long("a load lives, or a window lasts, so many seconds by the clock")
def test_programs_that_only_work_hard_come_to_no_budget(engine, neighbours, daemon):
    profiler = daemon(window=f"{WINDOW}s").start().wait_ready()
    names = start_all(engine, neighbours)
    begin = time.time()
    wait_until(lambda: time.time() > begin + SECONDS and
               min(samples_by_name(profiler, names).values()) >= LEAST_SAMPLES, 120, "all are sampled")
    assert profiler.stop() == 0, profiler.log()
    samples = samples_by_name(profiler, names)
    print(samples)
    cut = [(names[stream["container_id"]], stream["over_budget"], stream["comm"]) for window in profiler.windows()
           for stream in streams_of(profiler, *window)
           if stream.get("container_id") in names and stream.get("over_budget")]
    assert not cut
