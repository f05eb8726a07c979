# SPDX-License-Identifier: Apache-2.0
"""What readelf says of .eh_frame, row by row, and where jbpf's unwind table says something else."""
import bisect
import re
import subprocess
from collections import namedtuple

from harness.programs import BUILD, run

TOOL = BUILD / "tests" / "tools" / "unwind_rows"

# One function's rows: (start address, rule), where a rule is what the tool prints.
Function = namedtuple("Function", "start end rows")

FDE = re.compile(r"^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)")
CIE = re.compile(r'^([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ CIE "([^"]*)"')
ROW = re.compile(r"^[0-9a-f]{16} [a-z]")


def expected(cfa, fp, ra, is_signal):
    """The rules that a row may have: more than one where readelf does not show an expression."""
    if ra == "u":
        return {"end"}
    if is_signal:
        return {"signal"} if cfa == "exp" else {"unsupported"}
    if ra != "c-8":
        return {"unsupported"}
    saved = re.fullmatch(r"c-(\d+)", fp)
    if saved:
        slot = int(saved.group(1))
        if slot % 8 or not 16 <= slot <= 1016:
            return {"unsupported"}
        fp = f"c-{slot}"
    elif (cfa, fp) == ("exp", "exp"):
        return {"exp", "unsupported"}
    elif fp not in ("u", "s"):
        return {"unsupported"}
    else:
        slot, fp = 0, "u"
    if cfa == "exp":
        return {"exp", "unsupported"}
    base, offset = re.fullmatch(r"(\w+)([+-]\d+)", cfa).groups()
    offset = int(offset)
    if base not in ("rsp", "rbp") or offset % 8 or offset <= 0:
        return {"unsupported"}
    if offset > 1023 * 8 and (base == "rbp" or slot >= 64 or offset > 16383 * 8):
        return {"unsupported"}
    return {f"{'sp' if base == 'rsp' else 'fp'}+{offset} fp={fp}"}


def functions(path, section):
    """What readelf prints, in order of address, without those that overlap an earlier one."""
    result = run("readelf", "-wNF", path, timeout=300)  # N: not of its debug file, too
    assert result.returncode == 0, result.stderr
    cies, found, columns, rows, is_signal, cie = {}, [], [], [], False, None
    is_wanted = False
    for line in result.stdout.splitlines():
        if line.startswith("Contents of the "):
            is_wanted = line == f"Contents of the {section} section:"
        elif not is_wanted:
            continue
        elif match := CIE.match(line):
            cie, signals = match.groups()
            cies[cie] = ("S" in signals, [])
            rows, is_signal = cies[cie][1], "S" in signals
        elif match := FDE.match(line):
            cie, start, end = match.groups()
            is_signal, default = cies[cie]
            rows = []
            found.append((int(start, 16), int(end, 16), rows, default))
        elif line.startswith("   LOC"):
            columns = line.split()
        elif ROW.match(line):
            cells = dict(zip(columns, re.sub(r" \(\w+\)", "", line).split()))
            rows.append((int(cells["LOC"], 16),
                         expected(cells["CFA"], cells.get("rbp", "u"), cells.get("ra", "u"), is_signal)))
    functions, last = [], 0
    for start, end, rows, default in sorted(found, key=lambda one: one[0]):
        if start < last or start == end:
            continue
        last = end
        rows = rows or [(start, default[0][1])]
        functions.append(Function(start, end, rows))
    return functions


def tool(*args, stdin=""):
    result = subprocess.run([TOOL, *args], input=stdin, text=True, capture_output=True, timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def is_same(found, wanted):
    if found == "sp+8 fp=popped":
        return bool({"sp+8 fp=u", "sp+8 fp=c-16"} & wanted)
    return found in wanted or ("exp" in wanted and (found == "plt" or found[0] == "*"))


def code_ranges(path):
    """Addresses that executable segments have in the file."""
    ranges = []
    for line in run("readelf", "-lW", path).stdout.splitlines():
        cells = line.split()
        if cells[:1] == ["LOAD"] and "E" in "".join(cells[6:-1]):
            start, size = int(cells[2], 16), int(cells[4], 16)
            ranges.append((start, start + size))
    return ranges


def differences(path, unstripped=None):
    """Rows that were compared, and those that differ: (address, what the table says, what readelf says). The truth is
    its .eh_frame, or .debug_frame of the file that it was before that was taken out."""
    ranges = code_ranges(path)
    truth = [one for one in functions(unstripped or path, ".debug_frame" if unstripped else ".eh_frame")
             if any(low <= one.start and one.end <= high for low, high in ranges)]
    wanted = []
    for one in truth:
        starts = dict(one.rows)  # of several at one address the last counts
        wanted += sorted((start, rule) for start, rule in starts.items() if start < one.end)
    answers = tool(path, "-", stdin="".join(f"{start:x}\n" for start, _ in wanted))
    assert len(answers) == len(wanted)
    different = [(hex(start), found, rule) for (start, rule), found in zip(wanted, answers)
                 if not is_same(found, rule)]
    # Rows of the table in the middle of those. What readelf says of their addresses is said before.
    starts, ends = [start for start, _ in wanted], [one.end for one in truth]
    for line in tool(path):
        address, _, found = line.partition(" ")
        address = int(address, 16)
        where = bisect.bisect_right(starts, address) - 1
        is_covered = bisect.bisect_right(ends, address) < len(truth) and \
            truth[bisect.bisect_right(ends, address)].start <= address
        if is_covered and not found.startswith("frame") and not is_same(found, wanted[where][1]):
            different.append((hex(address), found, wanted[where][1]))
    return len(wanted), different
