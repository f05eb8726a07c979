# SPDX-License-Identifier: Apache-2.0
"""Unwind tables against binutils' reading of the same .eh_frame: each row of a dozen files."""
import subprocess
from pathlib import Path

import pytest

from harness.programs import BUILD, run
from harness.unwind_truth import TOOL, differences

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
# Plain C, C++, hand-written assembly, a PLT, signal frames, frame pointers.
FILES = [LIBRARIES / name for name in ("libc.so.6", "ld-linux-x86-64.so.2", "libm.so.6", "libz.so.1",
                                       "libgcc_s.so.1", "libstdc++.so.6", "libssl.so.3", "libzstd.so.1",
                                       "liblzma.so.5", "libelf.so.1")]
OWN = [BUILD / "bin" / "jbpfd"]


def is_there(path):
    return path.exists()


@pytest.mark.parametrize("path", [path for path in FILES if is_there(path)] + OWN, ids=lambda path: path.name)
def test_each_row_is_what_readelf_says(path):
    cnt, different = differences(path)
    assert cnt > 50
    assert not different, f"{len(different)} of {cnt} rows: {different[:10]}"


def test_a_jvm_s_library_has_no_other_rows():
    """It keeps frame pointers: most of its functions are one row, which stands for many."""
    libjvm = next(iter(sorted(Path("/usr/lib/jvm").glob("*/lib/server/libjvm.so"))), None)
    assert libjvm, "there is no JDK"
    cnt, different = differences(libjvm)
    assert cnt > 100_000
    assert not different, f"{len(different)} of {cnt} rows: {different[:10]}"


# Frames of several kinds: by rsp, by rbp, large, with registers saved, several returns, a tail call.
SOURCE = r"""
#include <alloca.h>
#include <stdarg.h>
#include <string.h>
extern int other(void *, int);
int plain(int a) { return a + other(&a, 1); }
int saved(int a, int b, int c, int d) { while (other(&a, b)) a += c * d + other(&d, a); return a ^ b ^ c ^ d; }
int large(int a) { char room[9000]; memset(room, a, sizeof(room)); return other(room, a); }
int by_rbp(int n) { char *room = alloca(n); return other(room, n); }
int some(int n, ...) { va_list l; va_start(l, n); int r = other(&l, va_arg(l, int)); va_end(l); return r; }
int leaves(int a) { if (a > 3) return other(&a, 3); if (a > 2) return plain(a); return 0; }
int tail(int a) { other(&a, 0); return plain(a); }
"""


@pytest.mark.root
@pytest.mark.parametrize("place,packing", [("link", "none"), ("build id", "none"), ("link", "zlib"), ("link", "zstd")])
def test_rows_of_a_file_without_rules_are_those_of_its_debug_file(tmp_path, place, packing):
    source, library, debug = tmp_path / "lib.c", tmp_path / "libnone.so", tmp_path / "libnone.debug"
    whole = tmp_path / "whole.so"
    source.write_text(SOURCE)
    for command in (["cc", "-O2", "-g", "-gz=none", "-fPIC", "-shared", "-Wl,--build-id", "-o", library, source,
                     "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"],
                    ["objcopy", "--only-keep-debug", f"--compress-debug-sections={packing}", library, debug],
                    ["cp", library, whole], ["strip", library]):
        subprocess.run([str(part) for part in command], check=True)
    sections = subprocess.run(["readelf", "-St", str(debug)], check=True, capture_output=True, text=True).stdout
    assert (packing.upper() in sections.split(".debug_frame")[1].split("[")[1]) == (packing != "none"), sections
    if place == "link":
        subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", str(library)], check=True, cwd=tmp_path)
    else:
        notes = subprocess.run(["readelf", "-n", str(library)], check=True, capture_output=True, text=True).stdout
        build_id = notes.split("Build ID: ")[1].split()[0]
        place = Path("/usr/lib/debug/.build-id") / build_id[:2]
        place.mkdir(parents=True, exist_ok=True)
        debug = debug.rename(place / f"{build_id[2:]}.debug")
    try:
        cnt, different = differences(library, whole)
    finally:
        debug.unlink()
    assert cnt > 30
    assert not different, f"{len(different)} of {cnt} rows: {different[:10]}"


def test_a_debug_file_of_another_build_is_not_taken(tmp_path):
    source, library, debug = tmp_path / "lib.c", tmp_path / "libnone.so", tmp_path / "libnone.debug"
    build = ["cc", "-O2", "-g", "-fPIC", "-shared", "-Wl,--build-id", "-fno-asynchronous-unwind-tables"]
    for path, text in ((debug, SOURCE), (library, SOURCE + "int more(int a) { return other(&a, 9); }\n")):
        source.write_text(text)
        subprocess.run([*build, "-o", str(path), str(source)], check=True)
    subprocess.run(["strip", str(library)], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", str(library)], check=True, cwd=tmp_path)
    result = run(TOOL, library)
    assert result.returncode == 1 and "No data available" in result.stderr, result
