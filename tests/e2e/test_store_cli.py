# SPDX-License-Identifier: Apache-2.0
"""The store's files to those who do not have jbpf: plain zstd tools print folded text, and a reader
written from user/store/FORMAT.md alone, in another language, understands every record."""
import re
import struct
import subprocess

import pytest

from harness.programs import PATIENCE, TOP
from harness.state import crc32c

GOLDEN = TOP / "tests/fixtures/store/format-1.zst"
GOLDEN_224 = TOP / "tests/fixtures/store/format-1-224.zst"
FOLDED_LINE = re.compile(rb"^[^;\x00-\x1f]+(;[^;\x00-\x1f]+)* [0-9]+$")
TEXT = b"""java;java.lang.Thread.run_[0];shop.Cart.add_[j] 17
java;java.lang.Thread.run_[0];shop.Cart.total_[1];shop.Tax.of_[i] 3
java;start_thread;[unknown];do_syscall_64_[k] 1
redis-server;main;aeMain 99
"""


def zstd(*arguments, data):
    return subprocess.run(["zstd", *arguments], input=data, capture_output=True, timeout=60 * PATIENCE)


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def bytes(self, size):
        assert self.at + size <= len(self.data)
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, size):
        return int.from_bytes(self.bytes(size), "little")

    def string(self):
        return self.bytes(self.number(2)).decode()


def data_frame_size(data):
    """By the frame's own words (RFC 8878, 3.1.1): header, blocks, checksum."""
    descriptor = data[4]
    single_segment = descriptor >> 5 & 1
    size = 5 + (1 - single_segment) + (0, 1, 2, 4)[descriptor & 3]
    size += (single_segment, 2, 4, 8)[descriptor >> 6]
    last = False
    while not last:
        header = int.from_bytes(data[size:size + 3], "little")
        last, kind, length = header & 1, header >> 1 & 3, header >> 3
        size += 3 + (1 if kind == 1 else length)
    return size + 4 * (descriptor >> 2 & 1)


def parse_record(record):
    cursor = Cursor(record)
    assert cursor.number(4) == 0x184D2A5B
    assert cursor.number(4) == len(record) - 8
    assert cursor.bytes(4) == b"JBPF"
    kind, version = cursor.number(2), cursor.number(2)
    assert (version, cursor.number(4), cursor.number(4)) == (1, 0, 0)
    payload = cursor.bytes(cursor.number(4))
    assert cursor.number(4) == crc32c(record[:-4])
    assert cursor.at == len(record)
    return kind, Cursor(payload)


FIXED = ("start duration start_boot boot_id:16 hz:4 cpus:4 pid:4 ns_pid:4 process_start cgroup_id exec_id:4 "
         "is_jvm:4 samples unknown_frames frames truncated_samples jit_frames unknown_jit_frames "
         "ambiguous_frames jit_source:4 jit_age_ms:4 jit_entries:4 attach_outcome:4 attach_cnt:4 "
         "attach_command_ms:4 preserve_frame_pointer:4 reserved:4")
LATER = ("inlined_frames interpreted_frames jit_leaf_samples repaired_samples unrepaired_samples "
         "preserve_frame_pointer_origin:4 lines_len:4 lines_crc:4 reserved:4")


def parse_commit(cursor):
    unit = {"segment_id": cursor.bytes(16), "sequence": cursor.number(8),
            "data_len": cursor.number(4), "data_crc": cursor.number(4), "text_len": cursor.number(8)}
    fixed = Cursor(cursor.bytes(cursor.number(4)))
    for field in (FIXED + " " + LATER if len(fixed.data) > 168 else FIXED).split():
        name, _, size = field.partition(":")
        unit[name] = fixed.number(int(size or 8))
    assert fixed.at == len(fixed.data) and fixed.at in (168, 224)
    unit["lost"] = [cursor.number(8) for _ in range(cursor.number(2))]
    unit["labels"] = {cursor.bytes(cursor.number(1)).decode(): cursor.string()
                      for _ in range(cursor.number(2))}
    assert cursor.at == len(cursor.data)
    return unit


def parse_file(data):
    """(header, units); every unit with its text."""
    units, header, at, frame, lines = [], None, 0, b"", b""
    while at < len(data):
        if data[at:at + 4] == struct.pack("<I", 0xFD2FB528):
            assert frame == b""
            frame = data[at:at + data_frame_size(data[at:])]
            at += len(frame)
            continue
        record = data[at:at + 8 + int.from_bytes(data[at + 4:at + 8], "little")]
        kind, cursor = parse_record(record)
        at += len(record)
        if kind == 1:
            assert header is None and not units
            header = {"version": cursor.number(4), "segment_id": cursor.bytes(16),
                      "boot_id": cursor.bytes(16), "created": cursor.number(8),
                      "host": cursor.string(), "software": cursor.string()}
            continue
        if kind == 6:
            assert (frame, lines) == (b"", b"")
            length, lines = cursor.number(4), record
            text_of_lines = zstd("-dc", data=cursor.data[cursor.at:]).stdout
            assert length == len(text_of_lines)
            continue
        assert kind == 2
        unit = parse_commit(cursor)
        assert unit["segment_id"] == header["segment_id"]
        assert unit["sequence"] == len(units) + 1
        assert unit["data_len"] == len(frame)
        assert unit["data_crc"] == (crc32c(frame) if frame else 0)
        unit["text"] = zstd("-dc", data=frame).stdout if frame else b""
        assert unit["text_len"] == len(unit["text"])
        assert unit.get("lines_len", 0) == len(lines)
        assert unit.get("lines_crc", 0) == (crc32c(lines) if lines else 0)
        unit["lines"] = text_of_lines if lines else b""
        units.append(unit)
        frame = lines = b""
    return header, units


@pytest.mark.parametrize("golden", [GOLDEN, GOLDEN_224], ids=lambda path: path.name)
def test_format_is_what_its_description_says(golden):
    header, units = parse_file(golden.read_bytes())
    assert header == {"version": 1, "segment_id": b"golden segment 1", "boot_id": b"boot id 16 bytes",
                      "created": 1795262400 * 10**9, "host": "node-1", "software": "jbpf golden"}
    assert b"".join(unit["text"] for unit in units) == TEXT
    java, native, host = units
    assert (java["pid"], java["ns_pid"], java["samples"], java["hz"], java["cpus"]) == (4711, 1, 21, 99, 8)
    assert (java["process_start"], java["cgroup_id"], java["exec_id"]) == (444000000002, 0x123456789abc, 2)
    assert [java[name] for name in "unknown_frames frames truncated_samples jit_frames unknown_jit_frames "
            "ambiguous_frames jit_source jit_age_ms jit_entries attach_outcome attach_cnt attach_command_ms "
            "preserve_frame_pointer is_jvm".split()] == [4, 70, 5, 40, 6, 7, 1, 1500, 3210, 2, 3, 44, 2, 1]
    assert java["labels"]["pod"] == "shop-7d9f-x2x4k" and java["labels"]["jit_problem"] == "café"
    if golden is GOLDEN:
        assert len(java["labels"]) == 13
    else:
        assert len(java["labels"]) == 14
        assert java["labels"]["jit_fallback"] == "its tables could not be read"
        assert [java[name] for name in "inlined_frames interpreted_frames jit_leaf_samples repaired_samples "
                "unrepaired_samples preserve_frame_pointer_origin".split()] == [8, 9, 19, 10, 11, 2]
        assert java["lines"] == (b"shop.Cart.add_[j];Cart.java:42 9\nshop.Tax.of_[i];Tax.java:7 3\n"
                                 b"[other lines] 2\n")
        assert native["lines"] == host["lines"] == b""
    assert native["labels"] == {"comm": "redis-server"} and native["lost"] == []
    assert (host["pid"], host["text"], host["lost"]) == (0, b"", list(range(1000, 1007)))


def test_plain_zstd_prints_folded_text():
    data = GOLDEN.read_bytes()
    assert zstd("-t", data=data).returncode == 0
    cat = zstd("-dcf", data=data)
    assert (cat.returncode, cat.stdout) == (0, TEXT)
    assert all(FOLDED_LINE.match(line) for line in cat.stdout.splitlines())


@pytest.mark.parametrize("tail", [b"\x28", b"\x28\xb5\x2f", bytes(4096)], ids=["one", "three", "zeros"])
def test_zstdcat_does_not_notice_a_torn_tail(tail):
    """Why FORMAT.md says that its exit code is no check. Should this fail one day, rejoice."""
    cat = zstd("-dcf", data=GOLDEN.read_bytes() + tail)
    assert (cat.returncode, cat.stdout) == (0, TEXT + tail)


def test_zstdcat_prints_what_is_before_a_cut():
    data = GOLDEN.read_bytes()
    for cut in range(len(data) - 1, len(data) - 300, -37):
        cat = zstd("-dcf", data=data[:cut])
        assert TEXT.startswith(cat.stdout) and cat.stdout
