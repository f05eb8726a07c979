# SPDX-License-Identifier: Apache-2.0
"""One neighbour attacks, others must not notice. An attacker in a container of its own, and beside it
witnesses in theirs: a JVM, a C program, and a newcomer whose file nobody has seen. Under each attack

 - every window is written, readable 10 s and a window after its end at the latest, none between is missing;
 - the witnesses keep their samples (held against the CPU time that they used) and 99 % of their names;
 - their text has no frame that they did not run;
 - jbpfd uses twice the CPU time and memory that it uses beside an honest neighbour, or says for whom;
 - what is lost is on the attacker's name.

Each attack ends by itself, and lives in namespaces and cgroups that the test made."""
import http.client
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

from harness.fairness import (LATE, LATE_CHAIN, LEAST_NAMED, LEAST_SAMPLES, LIFE, PERCENT, WINDOW, Scene, Trial, Windows,
                              lost_history, make_history, make_user)
from harness.hostile_elf import equal_hash_changes, equal_symbols, large_dynamic_tables
from harness.ports import free_ports
from harness.processes import only_child
from harness.programs import AIDS, BUILD, Lacking, jbpf, run, wait_until

FUSE_SERVER = Path(__file__).parent / "harness" / "fuse_server.py"
ATTACKS = {}
# It attacks every jbpfd of the host, and measures what one costs.
pytestmark = [pytest.mark.alone, pytest.mark.live, pytest.mark.released]
LARGE_TABLE_MIB = 64  # the largest that is read


def attack(check=None, **settings):
    """Registers an attack: a function that starts it in a trial. `check(trial, what it returned)`: what must be
    so besides."""
    def register(start):
        ATTACKS[start.__name__.replace("_", "-")] = (start, check, settings)
        return start
    return register


@attack()
def nothing_but_work(trial):
    """No attack: that this passes says that the others fail for what they do."""
    trial.hostile("work")


# ---- processes and their names --------------------------------------------------------------------

@attack()
def short_processes(trial):
    trial.attack("/mnt/hostile_process", "short", 100000)


@attack()
def fork_bomb(trial):
    trial.attack("/mnt/hostile_process", "bomb", 60, processes=300)


@attack()
def exec_with_large_environments(trial):
    trial.hostile("exec")


@attack()
def process_that_becomes_others(trial):
    trial.attack("/mnt/hostile-a", "exec", 60, "/mnt/hostile-b")


@attack()
def names_of_a_thread(trial):
    trial.attack("/mnt/hostile_process", "rename", 60)


@attack()
def thousands_of_threads(trial):
    trial.attack("/mnt/hostile_process", "threads", 60, 3000)


@attack()
def processes_that_stop_and_go_on(trial):
    trial.hostile("stops")


@attack()
def container_that_is_frozen(trial):
    one = trial.hostile("rewrite")
    time.sleep(0.5)
    one.cgroup.freeze(True)


# ---- cgroups --------------------------------------------------------------------------------------

@attack()
def cgroups_that_come_and_go(trial):
    trial.hostile("cgroups", "{cgroup}")


def is_nobody_else(trial, _):
    """The witness's container has the witness and no other process."""
    witness = trial.scene.native
    listed = jbpf("dump", "--store", trial.scene.daemon.store, "--since", f"@{trial.begin:.0f}", "--container", witness.neighbour.id[:12])
    trial.must("planted" not in listed.stdout, "the attacker's samples are another container's")
    trial.must("leaf" in listed.stdout, f"the witness is not in its container: {listed.stderr}")


@attack(check=is_nobody_else)
def name_of_another_container(trial):
    trial.hostile("become", f"{{cgroup}}/docker-{trial.scene.native.neighbour.id}.scope")


# ---- files and address spaces ---------------------------------------------------------------------

@attack()
def many_mapped_files(trial):
    trial.attack("/mnt/hostile_process", "maps", 60, 4000, "/tmp")


@attack()
def program_that_is_damaged_and_mended(trial):
    trial.attack("/mnt/hostile_process", "rewrite", 60, "/tmp")


@attack()
def areas_of_memory(trial):
    trial.hostile("areas", 65000)


@attack()
def programs_in_memory_files(trial):
    trial.hostile("memfd")


@attack()
def symbols_that_are_slow_to_sort(trial):
    path = trial.scene.app / "planted-symbols"
    path.write_bytes(equal_symbols((AIDS / "hostile_neighbour").read_bytes()))
    path.chmod(0o755)
    trial.hostile("file", "/mnt/planted-symbols")


def fuse_setup(folders, program):
    """Shell: file systems whose servers run beside, in the container's own mounts. "$P0", "$P1", ... are their pids."""
    return "".join(f"mkdir {folder}; python3 /mnt/fuse_server.py /mnt/{program} {folder} & P{i}=$!; "
                   for i, folder in enumerate(folders)) + \
        "".join(f"until [ -e {folder}/program ]; do sleep 0.1; done; " for folder in folders)


def is_told_its_limit(trial, _):
    """It has two files that hang; those beyond are not opened, which costs nobody a second. Said in the windows in
    which it was so."""
    said = trial.scene.said_since(trial.attack_begin, trial.attackers)
    trial.must(any("files not opened because others hang" in one for one in said),
               f"nothing says that the attacker's files were not opened: {said} {trial.scene.daemon.log()[-3000:]}")


@attack(check=is_told_its_limit)
def file_systems_that_hang(trial):
    folders = [f"/tmp/hang{i}" for i in range(17)]
    # Each is loaded and stands still before it works; it works when its file system hangs.
    runs = "".join(f"{folder}/program 60 2 stopped & Q{i}=$!; until grep -q stopped /proc/$Q{i}/status; do sleep 0.05; done; "
                   for i, folder in enumerate(folders))
    hangs = "".join(f"kill -USR1 $P{i}; kill -CONT $Q{i}; " for i in range(len(folders)))
    trial.attack("sleep", "60", user=0, setup=fuse_setup(folders, "native_spinner") + runs + hangs + "echo READY;")
    time.sleep(6)  # a second for each file that does not open: it has met them when the newcomer comes


# ---- perf maps and stacks -------------------------------------------------------------------------

@attack()
def names_that_are_empty(trial):
    trial.hostile("nul")


@attack()
def perf_map_that_is_rewritten(trial):
    trial.hostile("rewrite")


@attack()
def large_perf_maps(trial):
    trial.hostile("large", 4, 62)


# As many samples as a host of eight CPUs has.
@attack(options=("--frequency", "400"))
def long_names(trial):
    trial.hostile("names", 2, 14000, 4090)


@attack(options=("--frequency", "400"))
def stacks_of_any_frames(trial):
    trial.hostile("frames", 4)


# ---- memory that lies -----------------------------------------------------------------------------

def lying(kind):
    def start(trial):
        for _ in range(3):
            trial.attack("/mnt/lies/libjvm.so", kind, 60, 20, user=0)
    start.__name__ = f"tables_{kind}"
    return start


for one in ("endless", "loops", "changing", "stalling"):
    attack()(lying(one))


def goes_on(trial, _):
    """The reader did hang, or was killed, and its copy took its place with all that it knew."""
    trial.must("its copy goes on" in trial.scene.daemon.log()[trial.log_begin:], "no copy of the reader went on")


def goes_on_and_says_over_whom(trial, result):
    goes_on(trial, result)
    said = trial.scene.said_since(trial.attack_begin, trial.attackers)
    trial.must(any("reader hung, crashed or was killed over it" in one for one in said),
               f"nothing says over whom the reader hung: {said}")


@attack(check=goes_on_and_says_over_whom)
def tables_in_a_file_system_that_hangs(trial):
    """jbpfd's reader hangs in the kernel. Its copy takes its place, and knows which code of others lay where."""
    trial.log_begin = len(trial.scene.daemon.log())
    trial.attack("sh", "-c", "exec /mnt/lies/libjvm.so file 60 50 /tmp/hang/program $P0", user=0,
                 setup=fuse_setup(["/tmp/hang"], "native_spinner") + "export P0;")


def waits_without_end(pid):
    """In poll() or ppoll(), until something comes: its system call's number and arguments."""
    words = Path(f"/proc/{pid}/syscall").read_text().split()
    return words[0] == "7" and words[3] == "0xffffffff" or words[0] == "73" and words[3] == "0x0"


def kill_reader(daemon_pid):
    """While it has nothing to do: whoever it works on when it ends is left alone for a while."""
    namer = only_child(only_child(daemon_pid, "jbpfd-launcher"), "jbpfd-namer")
    wait_until(lambda: waits_without_end(namer), 20, "the reader waits")
    os.kill(namer, signal.SIGKILL)


@attack(check=goes_on)
def memory_that_is_short(trial):
    """The kernel ends jbpfd's reader in the midst of a window, as it would do to have its memory."""
    trial.log_begin = len(trial.scene.daemon.log())
    threading.Timer(3 * WINDOW / 2, kill_reader, [trial.scene.daemon.process.pid]).start()


def is_told_its_memory(trial, _):
    trial.must(any("memory while one of its files was read" in line for line in trial.said),
               f"nothing says whose file took {LARGE_TABLE_MIB} MiB, only {trial.said}")


@attack(check=is_told_its_memory)
def library_with_large_tables(trial):
    for _ in range(4):
        trial.attack("/mnt/large/libjvm.so", "empty", 60, 20)


@attack()
def hundreds_of_jvms_that_are_none(trial):
    trial.attack("sleep", "60", setup="echo READY; i=0; while [ $i -lt 600 ]; do "
                 "/mnt/lies/libjvm.so empty 60 1 >/dev/null & i=$((i + 1)); done;")


# ---- the host's files and sockets -----------------------------------------------------------------

@pytest.fixture
def rootless(tmp_path):
    """A user of the host whose home has a file of 16 MiB for whoever asks what a container is called."""
    name, uid = make_user(tmp_path / "home")
    for folder in (tmp_path, *list(tmp_path.parents)[:-2]):
        folder.chmod(folder.stat().st_mode | 0o011)
    storage = tmp_path / "home/.local/share/containers/storage/overlay-containers"
    storage.mkdir(parents=True)
    (storage / "containers.json").write_text("[" + "{}," * (16 * 1024 * 1024 // 3 - 10) + "{}]")
    for one in [tmp_path / "home", *(tmp_path / "home").rglob("*")]:
        shutil.chown(one, uid, uid)
    yield uid
    run("userdel", name)
    shutil.rmtree(tmp_path / "home")


@attack(wants="rootless")
def large_json_in_a_home(trial, uid):
    for _ in range(3):
        trial.attack("/mnt/hostile_neighbour", "work", 60, user=uid,
                     cgroup=f"user.slice/user-{uid}.slice/libpod-{{id}}.scope")


METRICS = f"127.0.0.1:{free_ports(1)[0]}"


def answers_others(trial, _):
    connection = http.client.HTTPConnection(METRICS, timeout=LATE)
    try:
        connection.request("GET", "/healthz")
        trial.must(connection.getresponse().status == 200, "it says that it is not well")
    except OSError as error:
        trial.must(False, f"/healthz does not answer others: {error}")
    finally:
        connection.close()


@attack(check=answers_others, options=("--metrics", METRICS))
def connections_that_say_nothing(trial):
    trial.hostile("connect", METRICS.rpartition(":")[2])


@attack()
def stack_with_the_hash_of_another(trial):
    """Planted before the other stack is there."""
    changes = trial.scene.app / "changes"
    numbers = equal_hash_changes()
    for part in range(2):
        (changes.parent / f"changes{part}").write_text("\n".join(f"{number:x}" for number in numbers[part::2]))
        trial.attack("/mnt/witness_spinner", 60, 100, "plant", f"/mnt/changes{part}")
    planted = len(numbers) / 2 * 0.011 + 0.3  # seconds of CPU time, each
    wait_until(lambda: all(one.cgroup.cpu_seconds() >= planted for one in trial.attackers), 30, "all numbers had their turn")
    trial.late_victim = trial.scene.witness("victim", "/mnt/witness_spinner", LIFE, PERCENT, "late", chain=LATE_CHAIN)


# ---- running them ---------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def scene(app, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fairness")
    lies, large = app / "lies", app / "large"
    for one in (lies, large):
        one.mkdir(exist_ok=True)
    jvm = (AIDS / "hostile_jvm").read_bytes()
    (lies / "libjvm.so").write_bytes(jvm)
    (large / "libjvm.so").write_bytes(large_dynamic_tables(jvm, LARGE_TABLE_MIB))
    process = (AIDS / "hostile_process").read_bytes()
    (app / "hostile-a").write_bytes(process)
    (app / "hostile-b").write_bytes(process.replace(b"work_of_file_a", b"work_of_file_b"))
    for one in ("lies/libjvm.so", "large/libjvm.so", "hostile-a", "hostile-b"):
        (app / one).chmod(0o755)
    shutil.copy(FUSE_SERVER, app)
    scene = Scene(app, folder)
    try:
        scene.begin()
        yield scene
    finally:
        scene.end()


@pytest.mark.long("how soon jbpfd names what it sampled is the host's")
@pytest.mark.parametrize("name", ATTACKS)
def test_neighbours_do_not_notice(scene, request, name):
    start, check, settings = ATTACKS[name]
    options = settings.get("options", ())
    if not scene.is_well(options):
        scene.replace_daemon(*options)
    trial = Trial(scene)
    wanted = [request.getfixturevalue(settings["wants"])] if "wants" in settings else []
    try:
        trial.late_victim = None
        result = start(trial, *wanted)
        trial.run(trial.late_victim)
        if check:
            check(trial, result)
    finally:
        trial.stop()
    trial.verdict()


# ---- what befalls the host ------------------------------------------------------------------------

@pytest.fixture
def disk(scene):
    """A small file system, with a store and room for what a neighbour writes."""
    folder = scene.app / "disk"
    folder.mkdir()
    mounted = run("mount", "-t", "tmpfs", "-o", "mode=1777,size=100m", "none", folder)
    assert mounted.returncode == 0, mounted.stderr
    yield folder
    scene.end_daemon()
    run("umount", "-l", folder)
    folder.rmdir()


def test_neighbour_that_fills_the_disk_costs_windows_and_no_history(scene, disk):
    starts = make_history(disk / "store")
    scene.replace_daemon(store=disk / "store")
    scene.daemon.wait_samples({scene.native.pid: 1})
    attacker = scene.neighbours.start("attacker", "/mnt/hostile_neighbour", "fill", 60, "/mnt/disk/filler")
    try:
        time.sleep(8 * WINDOW)  # by construction: that the daemon lives is true at any time
        assert scene.daemon.process.poll() is None, scene.daemon.log()[-500:]
    finally:
        attacker.end()
    assert not lost_history(disk / "store", starts), "a full disk has cost history"
    (disk / "filler").unlink(missing_ok=True)  # it removes it when its time is over
    begin = time.time()
    wait_until(lambda: scene.samples_since(scene.native, begin), 3 * WINDOW + LATE, "windows are written again")
    assert not lost_history(disk / "store", starts)


def uptime():
    with open("/proc/uptime") as file:
        return float(file.read().split()[0])


@pytest.mark.parametrize("clock,seconds", [("REALTIME", 40 * 86400), ("BOOTTIME", 3700)], ids=["40-days-ahead", "an-hour-asleep"])
def test_clock_that_jumps_costs_neither_history_nor_the_daemon(scene, tmp_path, clock, seconds):
    """40 days: a wrong clock. An hour, of the clock that counts while a host is asleep: suspend, or a daemon that was
    stopped for so long."""
    for ahead in (5, 20, 80):  # seconds: on a busy host it may not sample before the first
        store = tmp_path / f"store-{ahead}"
        starts = make_history(store)
        scene.end_daemon()
        jump_at = int(uptime()) + ahead
        scene.replace_daemon(store=store, environment=[
            f"LD_PRELOAD={BUILD / 'tests/soak/hour_steps.so'}", f"CLOCK_JUMP_AT={jump_at}", f"CLOCK_JUMP_{clock}={seconds}"])
        if uptime() < jump_at:
            break
    else:
        raise Lacking("jbpfd never began before its clock jumped")
    # by construction: the clock has jumped by then; what follows waits for windows
    time.sleep(max(jump_at - uptime(), 0) + 3 * WINDOW)
    # What it writes from here on, it writes after the jump.
    begin = time.time() + (seconds if clock == "REALTIME" else 0)
    wait_until(lambda: scene.daemon.process.poll() is not None or scene.samples_since(scene.native, begin) >= 20,
               3 * WINDOW + LATE, lambda: f"windows are written after the jump: {scene.daemon.log()[-500:]}")
    assert scene.daemon.process.poll() is None, scene.daemon.log()[-500:]
    assert not lost_history(store, starts)


# ---- a crowd of those who hang whoever reads them ---------------------------------------------------

def named_share(scene, witness, begin, end):
    """Of its samples in whole windows between two moments those that have all names."""
    windows = Windows(scene.daemon.store, begin, end)
    assert windows.hosts, f"no window from {begin} to {end}: {scene.daemon.log()[-500:]}"
    seen = scene.seen(witness, windows)
    print(f"{witness.name}: {len(windows.hosts)} windows, {seen}")
    assert seen.folded.total, f"{witness.name} has no samples: {seen}"
    return 1 - seen.nameless / seen.folded.total


def start_crowd(scene, number):
    """Containers of which each hangs whoever reads it, once that file is there: all at once."""
    lie = scene.app / "lies" / f"crowd-{number}"
    wait = f"echo READY; until [ -e /mnt/lies/{lie.name} ]; do sleep 1; done; "
    crowd = [scene.neighbours.start(f"liar-{i}", "sh", "-c", f"{wait} exec /mnt/lies/libjvm.so file {LIFE} 2 /tmp/hang0/program $P0",
                                    user=0, setup=fuse_setup(["/tmp/hang0"], "native_spinner") + "export P0;")
             for i in range(number)]
    return crowd, lie


@pytest.mark.long("a share of names, while each container costs whoever names two seconds")
@pytest.mark.parametrize("number", [13, 40])
def test_witness_keeps_its_names_beside_a_crowd_that_hangs_whoever_reads_it(scene, number):
    """From the first of them on: who was named before waits for no more than one of them."""
    scene.replace_daemon()
    wait_until(lambda: min(scene.samples_since(one, 0) for one in (scene.jvm, scene.native)) >= 20, 60, "the witnesses have samples")
    crowd, lie = start_crowd(scene, number)
    try:
        began = time.time()
        lie.touch()
        wait_until(lambda: scene.daemon.log().count(" hung over process ") >= number, 300,
                   lambda: f"each hangs one; log: {scene.daemon.log()[-3000:]}")
        print(f"all hung one after {time.time() - began:.0f} s")
        time.sleep(2 * WINDOW)
        end = time.time()
        assert scene.wait_readable(end), scene.daemon.log()[-500:]
        shares = [named_share(scene, witness, began, end) for witness in (scene.jvm, scene.native)]
        assert min(shares) >= LEAST_NAMED, shares
    finally:
        for one in crowd:
            one.end()  # with the server of its file what hangs ends
    gone = time.time()
    newcomer = scene.newcomer()
    came = time.time()
    time.sleep(3 * WINDOW)
    end = time.time()
    assert scene.wait_readable(end), scene.daemon.log()[-500:]
    assert named_share(scene, scene.jvm, gone, end) >= LEAST_NAMED
    assert named_share(scene, newcomer, came, end) >= LEAST_NAMED


@pytest.mark.long("CPU, memory or bytes of the daemon are the host's, too")
def test_witnesses_kept_their_samples_in_all_attacks_together(scene):
    """One attack has few samples: what luck may take there would show here."""
    for witness in (scene.native, scene.jvm):
        print(f"{witness.name}: {witness.samples} samples of {witness.expected:.0f}")
        assert witness.samples >= LEAST_SAMPLES * witness.expected - 4 * witness.expected ** 0.5
