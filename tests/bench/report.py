# SPDX-License-Identifier: Apache-2.0
"""Rows of a run: printed as they come, kept for JSON. A row is one figure of one program, with its unit, the
spread over the rounds, what jbpf is to reach, and how it stands to a peer that was measured beside it."""
import json
import math
import statistics

# Two-sided 95 % quantiles of Student's t by degrees of freedom; beyond the table it is close to 1.96.
T95 = [0, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12,
       2.11, 2.10, 2.09, 2.09, 2.08, 2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05, 2.04]


def mean_and_margin(values):
    """The mean and half the width of its 95 % confidence interval; infinite for less than two values."""
    if len(values) < 2:
        return (values[0] if values else math.nan), math.inf
    t = T95[len(values) - 1] if len(values) <= len(T95) else 1.96 + 2.5 / len(values)
    return statistics.mean(values), t * statistics.stdev(values) / math.sqrt(len(values))


def short(value):
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)


def place(row):
    return ", ".join(filter(None, (row["part"], row["scenario"]))) + ": " + row["figure"].strip()


class Report:
    def __init__(self):
        self.rows = []
        self.part = ""
        self.scenario = ""

    def begin(self, part, title):
        self.part, self.scenario = part, ""
        print(f"\n## {part}: {title}", flush=True)

    def at(self, scenario):
        """The rows that follow are of this load."""
        self.scenario = scenario
        print(f"-- {scenario}", flush=True)

    def row(self, figure, values, unit, target=None, met=None, note=None, **more):
        """One figure. `values`: of each round, or one value; the median is what counts."""
        values = list(values) if isinstance(values, (list, tuple)) else [values]
        value = statistics.median(values) if isinstance(values[0], (int, float)) else values[0]
        row = {"part": self.part, "scenario": self.scenario, "figure": figure, "value": value, "unit": unit, "target": target, "met": met,
               "rounds": len(values), **more}
        if len(values) > 1:
            row["least"], row["most"] = min(values), max(values)
        if note:
            row["note"] = note
        self.rows.append(row)
        self.show(row)
        return value

    def show(self, row):
        spread = f"{short(row['least'])}..{short(row['most'])}" if "least" in row else ""
        mark = "" if row["met"] is None else "ok" if row["met"] else "MISSED"
        ratio = ""
        if "ratio" in row:
            ratio = f"jbpf/it {short(row['ratio'])}" + (" LOST" if row["lost"] else "")
        line = (f"{row['figure']:<56} {short(row['value']):>9} {row['unit']:<9} {spread:<15} "
                f"{row['target'] or '':<8} {mark:<6} {ratio}")
        print(line.rstrip() + (f"  ({row['note']})" if "note" in row else ""), flush=True)

    def missing(self, figure, why):
        """A row that cannot be had here: visible, with the reason."""
        self.rows.append({"part": self.part, "scenario": self.scenario, "figure": figure, "value": None, "unit": "", "target": None,
                          "met": None, "note": why})
        print(f"{figure:<56} {'-':>9}  ({why})", flush=True)

    def beside(self, figure, unit, measured, ours="jbpfd", goal="least", notes=None):
        """The same figure of several programs; each peer's row says what jbpf's is to it.
        `measured`: program -> values of the rounds, or a text that says why there are none."""
        mine = measured.get(ours)
        mine = statistics.median(mine) if mine and not isinstance(mine, str) else None
        for program, values in measured.items():
            name = f"{figure}: {program}"
            if isinstance(values, str) or not values:
                self.missing(name, values or "nothing was measured")
                continue
            more = {"program": program}
            peer = statistics.median(values)
            if program != ours and mine is not None and peer > 0:
                more["ratio"] = mine / peer
                more["lost"] = more["ratio"] > 1 if goal == "least" else more["ratio"] < 1
            self.row(name, values, unit, note=(notes or {}).get(program), **more)

    def keep(self, path, about):
        """What there is so far, so that a run that is cut off is not lost."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"about": about, "rows": self.rows}, file, indent=1)
            file.write("\n")

    def finish(self):
        lost = [row for row in self.rows if row.get("lost")]
        missed = [row for row in self.rows if row["met"] is False]
        print(f"\n{len(missed)} figures missed" + "".join(f"\n  {place(r)}" for r in missed))
        print(f"{len(lost)} comparisons lost" +
              "".join(f"\n  {place(r)} (jbpf is {short(r['ratio'])} of it)" for r in lost))
