# SPDX-License-Identifier: Apache-2.0
"""Leaves in JIT code and interpreted frames: what the BPF side takes of a thread whose registers,
stack and code are known to the word (jit_load), against a walk of the same memory written here."""
import collections
import platform
import tempfile
from contextlib import contextmanager

import pytest

from harness.programs import wait_until
from live import (END_BAD_FP, END_FAULT, END_LEAF, END_MAX_DEPTH, END_ROOT, Sampling, assert_nothing_lost, keys_of, load,
                  of_pid, sample as live_sample, samples, settled, tell, total)

pytestmark = pytest.mark.live

# The last: as frames of JIT code are taken in a walk by rules.
VARIANTS = {"oncpu": [], "oncpu_compat": ["--compat"], "rules": ["--space", "fp"]}
# tests/unit/bpf/test_walk.c walks all of them, over the same memory: in the gate, one shows that the kernel does as it does.
REPLAYED = pytest.mark.long("one variant more of what test_walk.c judges by replay: time")


def walks(*in_gate):
    """Each walk. `in_gate`: those that the gate runs; the code is the same for the others."""
    return pytest.mark.parametrize("variant", [
        pytest.param(options, id=name, marks=() if name in in_gate else REPLAYED) for name, options in VARIANTS.items()])


def walks_with(name, values, in_gate):
    """Each walk with each value. `in_gate`: a walk, and its value."""
    return pytest.mark.parametrize(f"variant, {name}", [
        pytest.param(options, value, id=f"{walk_name}-{value}", marks=() if (walk_name, value) == in_gate else REPLAYED)
        for walk_name, options in VARIANTS.items() for value in values])


PAGE = 4096
CODE = 0x10000000000  # code of the fake JVM, of which only the first pages are mapped
CODE_END = CODE + (64 << 30)
INTERPRETER = CODE + (32 << 30)  # none of it but its first page is mapped: who returns there never does
INTERPRETER_END = CODE + (48 << 30)
STACKS = 0x30000000000
METHODS = 0x50000000000
METHOD_BIT = 1 << 63
MAX_DEPTH = 1024
RANGE = f"{CODE:x}:{CODE_END:x}:{INTERPRETER:x}:{INTERPRETER_END:x}"

if platform.machine() == "x86_64":
    # 1: dec %rcx; jnz 1b; jmp *%rbx          1: jmp 1b
    SPIN = bytes.fromhex("48ffc975fbffe3")
    SPIN_AT = (0, 3, 5)
    STAY = bytes.fromhex("ebfe")
    # 1: mov $39, %eax (getpid); syscall; jmp 1b
    SYSCALLS = bytes.fromhex("b8270000000f05ebf7")
    AFTER_SYSCALL = 7
else:
    pytest.skip("the code of these programs is for x86_64", allow_module_level=True)


class Memory:
    """What jit_load is to be, and what is in it."""

    def __init__(self):
        self.lines = []
        self.pages = set()
        self.words = {}

    def map(self, address, length):
        assert address % PAGE == 0 and length % PAGE == 0
        self.lines.append(f"map {address:x} {length:x}")
        self.pages |= set(range(address, address + length, PAGE))

    def hole(self, address, length):
        self.lines.append(f"hole {address:x} {length:x}")
        self.pages -= set(range(address, address + length, PAGE))

    def word(self, address, value):
        assert address % 8 == 0
        self.lines.append(f"word {address:x} {value:x}")
        self.words[address] = value

    def code(self, address, text):
        assert address % 8 == 0
        text += bytes(-len(text) % 8)
        for i in range(0, len(text), 8):
            self.word(address + i, int.from_bytes(text[i:i + 8], "little"))

    def bytes_at(self, address, length):
        return bytes((self.words.get((at & ~7), 0) >> 8 * (at & 7)) & 0xff for at in range(address, address + length))

    def run(self, ip, sp, fp, rounds):
        self.lines.append(f"run {ip:x} {sp:x} {fp:x} {rounds:x}")

    def has(self, address, length):
        return all(at // PAGE * PAGE in self.pages for at in (address, address + length - 1))

    def at(self, address):
        return self.words.get(address, 0)


def in_code(address):
    return CODE <= address < CODE_END


def interpreted_leaf(memory, fp, method):
    """The frame of code of the interpreter that is interrupted: its Method*, and its caller's stack pointer."""
    memory.word(fp - 24, method)
    memory.word(fp - 8, fp + 16)


def is_made(memory, sp, fp):
    """Is the interpreter certainly in this frame, and is it no other's that rbp still points to?"""
    sender, back = memory.at(fp - 8), memory.at(fp + 8)
    return fp - sp >= 64 and 0 <= sender - fp - 8 <= 1 << 20 and sender % 8 == 0 and in_code(back - 1)


def walk(memory, ip, sp, fp, max_depth=MAX_DEPTH):
    """The stack as the contract says, (words, end), one frame after another."""
    words, address, low = [ip], ip, fp + 1
    if not fp:
        return words, END_ROOT
    if fp < sp or fp % 8:
        return words, END_BAD_FP
    while True:
        if not memory.has(fp, 16):
            return words, END_FAULT
        if len(words) == 1 and INTERPRETER <= ip < INTERPRETER_END and platform.machine() == "x86_64":
            if not is_made(memory, sp, fp):
                return words, END_LEAF
            low = memory.at(fp - 8)
        if INTERPRETER <= address < INTERPRETER_END and memory.has(fp - 24, 24):
            method = memory.at(fp - 24)
            if 4096 < method < 1 << 56 and method % 8 == 0:
                if len(words) == max_depth:
                    return words, END_MAX_DEPTH
                words.append(method | METHOD_BIT)
        above, address = memory.at(fp), memory.at(fp + 8)
        if not 0 < address < 1 << 56:
            return words, END_BAD_FP if address else END_ROOT
        if len(words) == max_depth:
            return words, END_MAX_DEPTH
        words.append(address)
        if above < low or above % 8:
            return words, END_BAD_FP if above else END_ROOT
        fp, low = above, above + 1


@contextmanager
def jit_load(memory):
    with tempfile.TemporaryFile("w+") as file:
        file.write("\n".join(memory.lines) + "\n")
        file.seek(0)
        with load(program="jit_load", stdin=file) as process:
            yield process


def sample(memory, *args, frequency=1999, until=lambda counts: total(counts) >= 200):
    """What was counted once the program knew the code range."""
    def known(data):
        return settled(data, process.pid)
    with jit_load(memory) as process:
        data = live_sample("--range", RANGE, "--frequency", frequency, "--pid", process.pid, *args,
                           until=lambda data: until(known(data)))
    assert_nothing_lost(data)
    return data, known(data)


def code_memory():
    memory = Memory()
    memory.map(CODE, 2 * PAGE)
    memory.map(INTERPRETER, PAGE)
    for address in (CODE, INTERPRETER):
        memory.code(address, SPIN)
        memory.code(address + 64, STAY)
    return memory


class Chain:
    """Frames in memory from `fp` on, every so many bytes; which are interpreted says a function."""
    cnt = 0

    def __init__(self, memory, fp, spacings, is_interpreted):
        Chain.cnt += 1
        self.fp = fp
        self.marks = []
        for i, spacing in enumerate(spacings):
            is_last = i == len(spacings) - 1
            base = INTERPRETER if is_interpreted(i) else CODE + (1 << 30)
            address = base + (Chain.cnt << 16) + 4096 + i * 3
            memory.word(fp, 0 if is_last else fp + spacing)
            memory.word(fp + 8, address)
            # A method wherever one might be looked for: taken only where it is wanted.
            if spacing >= 40 and not is_last:
                memory.word(fp + spacing - 24, METHODS + (Chain.cnt << 16) + i * 8)
            self.marks.append(address)
            fp += spacing
        self.end = fp


def mark_of(item):
    """The first return address; None: jit_load itself, between two states."""
    words = item["user"]["ips"]
    return next((word for word in words[1:] if not word & METHOD_BIT), None) if in_code(words[0]) else None


def expect_states(memory, states, variant=()):
    """States are all seen, and as walk() sees them. `states`: the first return address -> (ip, sp, fp)."""
    expected = {mark: [walk(memory, ip + at, sp, fp) for at in SPIN_AT]
                for mark, (ip, sp, fp) in states.items()}
    _, counts = sample(memory, *variant, "--window", 0.2, until=lambda counts: (
        total(counts) >= 400 and {mark_of(item) for item in counts} >= set(states)))
    wrong = []
    for item in counts:
        mark, user = mark_of(item), item["user"]
        if mark is None or (user["ips"], user["end"]) in expected[mark]:
            continue
        # While the kernel moves a page it is not there: a method on it is left out then, and a frame on it ends the walk.
        known, found = ({word for words, _ in expected[mark] for word in words}, user["ips"])
        assert user["end"] in (expected[mark][0][1], END_FAULT) and set(found) <= known, f"{mark:x} {found}"
        wrong.append(item)
    # by construction: each of them is one that a moving page explains, as is asserted above
    assert total(wrong) <= max(2, 0.001 * total(counts)), wrong


@walks_with("spacing", (40, 136, 2032, 2040, 2048, 4080), ("oncpu", 136))
def test_methods_are_found_wherever_pages_and_windows_end(variant, spacing):
    """The chain begins at each multiple of 8 of a page, once each, and spans several windows."""
    memory = code_memory()
    states = {}
    frame_cnt = max(4, 6000 // spacing)
    room = ((frame_cnt + 1) * spacing + 2 * PAGE) // PAGE * PAGE + PAGE
    step = 8 if not variant else 56
    for i, shift in enumerate(range(0, PAGE, step)):
        area = STACKS + i * (room + PAGE)
        memory.map(area, room)
        chain = Chain(memory, area + PAGE + shift, [spacing] * frame_cnt, lambda _: True)
        interpreted_leaf(memory, chain.fp, METHODS + i * 8)
        ip = INTERPRETER if i % 2 else CODE
        memory.run(ip, chain.fp - 64, chain.fp, 100000)
        states[chain.marks[0]] = (ip, chain.fp - 64, chain.fp)
    expect_states(memory, states, variant)


@walks("oncpu")
def test_where_the_page_below_is_missing_only_the_method_is(variant):
    """Frames at 0, 8, 16, ... of a page whose neighbour below is not there."""
    memory = code_memory()
    states = {}
    for i, shift in enumerate(range(0, 48, 8)):
        area = STACKS + i * 16 * PAGE
        memory.map(area, 8 * PAGE)
        # The third frame is the first above a hole.
        low, high = area + PAGE + 64, area + 5 * PAGE + shift
        chain = Chain(memory, low, [64, high - low - 64] + [48] * 12, lambda _: True)
        memory.hole(area + 4 * PAGE, PAGE)
        interpreted_leaf(memory, low, METHODS + 8)
        memory.run(INTERPRETER, low - 64, low, 100000)
        states[chain.marks[0]] = (INTERPRETER, low - 64, low)
    expect_states(memory, states, variant)


def test_what_is_no_method_is_no_word():
    memory = code_memory()
    states = {}
    values = [0, 8, 4096, 4104, METHODS + 1, METHODS + 4, (1 << 56) - 8, 1 << 56, METHOD_BIT | METHODS, (1 << 64) - 8]
    for i, value in enumerate(values):
        area = STACKS + i * 4 * PAGE
        memory.map(area, 2 * PAGE)
        chain = Chain(memory, area + 1024, [48] * 4, lambda i: i != 1)
        interpreted_leaf(memory, chain.fp, value)
        memory.word(chain.fp + 48 - 24, value)
        memory.run(INTERPRETER, chain.fp - 64, chain.fp, 100000)
        states[chain.marks[0]] = (INTERPRETER, chain.fp - 64, chain.fp)
    taken = {value for value in values
             if walk(memory, INTERPRETER, 0, STACKS + values.index(value) * 4 * PAGE + 1024)[0][1] & METHOD_BIT}
    assert taken == {4104, (1 << 56) - 8}
    expect_states(memory, states)


def test_chains_that_are_none_end_as_ever():
    """Frames closer than frames can be, falling, crooked, out of memory, with addresses of nobody."""
    memory = code_memory()
    states = {}

    def add(i, words, fp=1024):
        area = STACKS + i * 4 * PAGE
        memory.map(area, PAGE)
        mark = INTERPRETER + 8 * 4096 + i * 8
        memory.word(area + fp + 8, mark)
        interpreted_leaf(memory, area + fp, 0)
        for offset, value in words.items():
            memory.word(area + offset, value if value >= PAGE or not value else area + value)
        memory.run(INTERPRETER, area + fp - 512, area + fp, 100000)
        states[mark] = (INTERPRETER, area + fp - 512, area + fp)

    some = INTERPRETER + 808
    add(0, {1000: METHODS, 1024: 1032, 1040: some})  # 8 apart: a return address is the next frame
    add(1, {1000: METHODS, 1024: 1040, 1040: 1056, 1048: some, 1056: 1072, 1064: some, 1072: 0,
            1080: some})  # 16 apart
    add(2, {1000: METHODS, 1024: 1048, 1048: 1072, 1056: some, 1072: 1096, 1080: some})  # 24 apart
    add(3, {1000: METHODS, 1024: 1024})
    add(4, {1000: METHODS, 1024: 1016})
    add(5, {1000: METHODS, 1024: 1033})
    add(6, {1000: METHODS, 1024: (1 << 63) + 8})
    add(7, {1000: METHODS, 1024: 2048, 2048: 3072, 2056: 1 << 56, 2024: METHODS + 8})
    add(8, {1000: METHODS, 1024: 2048, 2048: 3072, 2056: METHOD_BIT | some, 2024: METHODS + 8})
    add(9, {1000: METHODS, 1024: 4088 - 24, 4064: 4088 - 8, 4072: some, 4040: METHODS + 8})  # leaves by the top
    expect_states(memory, states)


@walks("oncpu")
def test_a_long_chain_with_interpreted_frames_in_it_is_whole_or_cut_at_the_limit(variant):
    memory = code_memory()
    memory.map(STACKS, 64 * PAGE)
    memory.map(STACKS + (1 << 30), 128 * PAGE)
    whole = Chain(memory, STACKS + PAGE, [96] * 600, lambda i: i % 2 == 0)
    cut = Chain(memory, STACKS + (1 << 30) + PAGE, [112] * 1500, lambda i: i % 3 == 0)
    states = {}
    for chain in (whole, cut):
        interpreted_leaf(memory, chain.fp, METHODS + 8)
        memory.run(INTERPRETER, chain.fp - 64, chain.fp, 1000000)
        states[chain.marks[0]] = (INTERPRETER, chain.fp - 64, chain.fp)
    words, end = walk(memory, INTERPRETER, whole.fp - 64, whole.fp)
    assert (sum(not word & METHOD_BIT for word in words), len(words), end) == (601, 902, END_ROOT)
    words, end = walk(memory, INTERPRETER, cut.fp - 64, cut.fp)
    assert (len(words), end) == (MAX_DEPTH, END_MAX_DEPTH)
    expect_states(memory, states, variant)


# The leaf, its method, and around the end of the chain of 61.
@pytest.mark.parametrize("depth", [depth if depth == 62 else pytest.param(
    depth, marks=REPLAYED) for depth in (1, 2, 3, 4, 5, 61, 62, 63, 64)])
def test_the_limit_counts_words_and_is_kept_to_the_word(depth):
    memory = code_memory()
    memory.map(STACKS, 8 * PAGE)
    chain = Chain(memory, STACKS + PAGE, [200] * 40, lambda i: i % 2 == 0)
    interpreted_leaf(memory, chain.fp, METHODS + 8)
    memory.run(INTERPRETER + 64, chain.fp - 64, chain.fp, 1)
    _, counts = sample(memory, "--max-depth", depth)
    expected = walk(memory, INTERPRETER + 64, chain.fp - 64, chain.fp, depth)
    assert depth > 61 or len(expected[0]) == depth
    assert {(tuple(item["user"]["ips"]), item["user"]["end"]) for item in counts} == \
        {(tuple(expected[0]), expected[1])}


@walks("oncpu")
def test_at_a_leaf_in_jit_code_two_words_and_the_code_are_taken(variant):
    """Of two words that lie on two pages, those that are addresses of JIT code, and 0; the others are taken as 0."""
    words = [((CODE + 5, CODE_END - 1), (CODE + 5, CODE_END - 1)),
             ((CODE, 0), (CODE, 0)),
             ((CODE_END, CODE + 1), (0, CODE + 1)),
             ((CODE - 1, INTERPRETER), (0, INTERPRETER)),
             ((0x7f0000001000, (1 << 64) - 1), (0, 0))]
    memory = code_memory()
    states = {}
    for i, (there, expected) in enumerate(words):
        area = STACKS + i * 4 * PAGE
        memory.map(area, 2 * PAGE)
        chain = Chain(memory, area + PAGE, [64] * 3, lambda _: False)
        sp = area + PAGE - 8
        memory.words.pop(sp + 8)
        memory.word(sp, there[0])
        memory.word(sp + 8, there[1])
        memory.run(CODE, sp, chain.fp + 64, 100000)
        states[chain.marks[1]] = (expected, chain.marks[1:])
    _, counts = sample(memory, *variant, until=lambda counts: (
        total(counts) >= 400 and {mark_of(item) for item in counts} >= set(states)))
    hashes = collections.defaultdict(set)
    for item in counts:
        mark, user = mark_of(item), item["user"]
        if mark is not None:
            leaf, *callers = user["ips"]
            assert (tuple(user["leaf_words"]), callers) == states[mark]
            assert bytes.fromhex(user["leaf_code"]) == memory.bytes_at(leaf, 16)
            hashes[(mark, leaf)].add(user["hash"])
    assert {len(of_one) for of_one in hashes.values()} == {1}


def test_stacks_that_differ_in_the_leaf_alone_are_two():
    memory = code_memory()
    memory.map(STACKS, 4 * PAGE)
    chain = Chain(memory, STACKS + 2 * PAGE, [64] * 3, lambda _: False)
    sps = [STACKS + 1024 * i for i in range(4)]
    words = [(CODE + 1, 0), (0, CODE + 1), (CODE + 2, CODE + 1), (0, 0)]
    for sp, pair in zip(sps, words):
        memory.word(sp, pair[0])
        memory.word(sp + 8, pair[1])
        memory.run(CODE, sp, chain.fp, 1000000)
    _, counts = sample(memory, until=lambda counts: len({
        tuple(item["user"]["leaf_words"]) for item in counts if "leaf_words" in item["user"]}) == len(words))
    seen = collections.defaultdict(set)
    for item in counts:
        if in_code(item["user"]["ips"][0]):
            assert item["user"]["ips"][1:] == chain.marks
            seen[(item["user"]["ips"][0], *item["user"]["leaf_words"])].add(item["user"]["hash"])
    assert {(first, second) for _, first, second in seen} == set(words)
    assert {len(hashes) for hashes in seen.values()} == {1}
    assert len(set.union(*seen.values())) == len(seen)


def test_a_leaf_without_memory_costs_the_sample_nothing():
    memory = code_memory()
    memory.map(STACKS, PAGE)
    chain = Chain(memory, STACKS + 256, [64] * 3, lambda _: False)
    # sp where nothing is: no words. Code that ends with its page, above which nothing is: no code.
    edge = CODE + 2 * PAGE - 8
    memory.code(edge, SPIN)
    memory.run(CODE, STACKS - 8, chain.fp, 1000000)
    memory.run(edge, STACKS, chain.fp, 1000000)

    def at_edge(item):
        return item["user"]["ips"][0] >= edge

    def in_both(counts):
        inside = [item for item in counts if in_code(item["user"]["ips"][0])]
        return min(total(item for item in inside if at_edge(item) == where) for where in (True, False)) >= 20
    data, counts = sample(memory, until=in_both)
    assert data["counters"]["leaf_unread"] > 20
    for item in counts:
        user = item["user"]
        if in_code(user["ips"][0]):
            assert user["ips"][1:] == chain.marks
            assert ("leaf_words" in user, "leaf_code" in user) == ((True, False) if at_edge(item) else (False, True))


@walks("oncpu", "oncpu_compat")
def test_a_leaf_is_taken_when_the_kernel_was_interrupted_too(variant):
    memory = code_memory()
    memory.map(STACKS, PAGE)
    chain = Chain(memory, STACKS + 256, [64] * 3, lambda _: False)
    memory.word(STACKS + 64, CODE + 3)
    memory.code(CODE + 128, SYSCALLS)
    memory.run(CODE + 128, STACKS + 64, chain.fp, 1)

    def is_seen(counts):
        inside = [item for item in counts if "kernel" in item]
        return total(inside) > 20 and CODE + 128 + AFTER_SYSCALL in {item["user"]["ips"][0] for item in inside}
    _, counts = sample(memory, *variant, until=is_seen)
    inside = [item for item in counts if "kernel" in item]
    for item in inside:
        assert item["user"]["leaf_words"] == [CODE + 3, 0]
        assert item["user"]["ips"][1:] == chain.marks
        assert bytes.fromhex(item["user"]["leaf_code"]) == memory.bytes_at(item["user"]["ips"][0], 16)


def interpreter_load():
    memory = code_memory()
    memory.map(STACKS, PAGE)
    chain = Chain(memory, STACKS + 256, [64] * 3, lambda _: True)
    interpreted_leaf(memory, chain.fp, METHODS + 8)
    memory.run(INTERPRETER + 64, STACKS, chain.fp, 1)
    return memory


@walks_with("off", ("0,1", "1,0", "18446744073709551615,0", "0,4294967295"),
            ("oncpu", "1,0"))
def test_the_range_of_another_run_of_the_pid_is_not_used(variant, off):
    _, counts = sample(interpreter_load(), *variant, "--range-of", off)
    for item in counts:
        assert not {"leaf_words", "leaf_code"} & set(item["user"])
        assert not any(word & METHOD_BIT for word in item["user"]["ips"])


def test_without_a_range_nothing_is_taken():
    with jit_load(interpreter_load()) as process:
        data = live_sample("--frequency", 499, "--pid", process.pid, until=samples(50))
    assert {len(item["user"]["ips"]) for item in data["counts"]} == {4}
    assert not any("leaf_words" in item["user"] for item in data["counts"])


def code_ranges_of(pid):
    return keys_of(pid, "code_ranges")


def wait_for_code_ranges(sampling, pids):
    wait_until(lambda: code_ranges_of(sampling.process.pid) == pids, 30, f"code ranges of {pids}")


def test_an_entry_ends_with_its_process():
    with jit_load(interpreter_load()) as process, Sampling("--range", RANGE, "--pid", process.pid) as sampling:
        wait_for_code_ranges(sampling, [process.pid])
        process.kill()
        process.wait()
        assert code_ranges_of(sampling.process.pid) == []


def test_an_entry_ends_with_its_program():
    everything = "1000:7ffffffff000:0:0"

    def leaves(data, comm, with_words):
        return total(item for item in of_pid(data, process.pid)
                     if item["comm"] == comm and "user" in item and ("leaf_words" in item["user"]) == with_words)
    # The second program outlives the sampling: who exits has no memory, and no user stack.
    with load("exec", "lines") as process, \
            Sampling("--frequency", 499, "--range", everything, "--range-once", "--pid", process.pid) as sampling:
        wait_for_code_ranges(sampling, [process.pid])
        sampling.wait(lambda data: leaves(data, "load", True) > 20)
        tell(process)
        sampling.wait(lambda data: leaves(data, "exe", False) > 20)
        assert code_ranges_of(sampling.process.pid) == []
        data = sampling.result()
    assert leaves(data, "exe", True) == 0
    for item in of_pid(data, process.pid):
        # Within exec the kernel has cleared the registers of the one program and not set those of the next.
        assert "user" in item or "kernel" in item, item
