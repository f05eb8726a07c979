# SPDX-License-Identifier: Apache-2.0
"""Is it flat? Statistics of a soak's readings, and the account of its samples.

Readings follow each other closely and are not independent (a JVM that lives for ten seconds lifts five
of them), so they are averaged in 12 blocks, and a line is laid through the blocks' means: the interval
of its slope is Student's with 10 degrees of freedom, 99 %."""
from dataclasses import dataclass

BLOCKS = 12
STUDENT_99 = 3.169  # two-sided, 10 degrees of freedom
GAP_NS = 1_000_000


@dataclass
class Slope:
    per_hour: float
    margin: float  # the true one is within it with 99 %

    @property
    def low(self):
        return self.per_hour - self.margin

    @property
    def high(self):
        return self.per_hour + self.margin


def slope_of(times, values):
    """Slope per hour of readings at `times` (seconds)."""
    assert len(times) == len(values) and len(times) >= 2 * BLOCKS, f"only {len(times)} readings"
    first, length = times[0], (times[-1] - times[0]) / BLOCKS
    blocks = [[] for _ in range(BLOCKS)]
    for time, value in zip(times, values):
        blocks[min(int((time - first) / length), BLOCKS - 1)].append((time, value))
    assert all(blocks), "the readings have gaps"
    xs = [sum(time for time, _ in block) / len(block) / 3600 for block in blocks]
    ys = [sum(value for _, value in block) / len(block) for block in blocks]
    x_mean, y_mean = sum(xs) / BLOCKS, sum(ys) / BLOCKS
    xx = sum((x - x_mean) ** 2 for x in xs)
    slope = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys)) / xx
    rest = sum((y - y_mean - slope * (x - x_mean)) ** 2 for x, y in zip(xs, ys))
    return Slope(slope, STUDENT_99 * (rest / (BLOCKS - 2) / xx) ** 0.5)


def is_growing(slope, limit):
    """Proved: the whole interval lies above the limit."""
    return slope.low > limit


def is_flat(slope, limit):
    """Proved: the whole interval lies below the limit."""
    return slope.high < limit


@dataclass
class Account:
    """What became of each sample, from the store's windows."""
    counted: int = 0  # by the kernel
    kept: int = 0     # in streams
    text: int = 0     # in the text of their stacks
    windows: int = 0
    gaps: int = 0
    gap_ns: int = 0
    lost: dict = None
    damage: list = None

    @property
    def unexplained(self):
        """Counted in the kernel, and neither kept nor lost for a reason that was counted. Nothing opts out
        here; `undecided` are those of programs that ended before it was known whether they do, `given_up`
        those that nothing named before it was known."""
        return self.counted - self.kept - sum(self.lost.get(reason, 0) for reason in ("memory", "undecided", "given_up"))

    @property
    def lost_samples(self):
        return sum(self.lost.get(reason, 0) for reason in ("counts_full", "no_map", "store", "memory"))


def account_of(lines):
    """Account from what tests/tools/store_windows prints."""
    account, hosts = Account(lost={}, damage=[]), []
    for line in lines:
        if line.startswith("damage"):
            account.damage.append(line)
            continue
        what, _, duration, boot, samples, *rest = line.split()
        values = {key: int(value) for key, value in (field.split("=") for field in rest)}
        if what == "host":
            hosts.append((int(boot), int(boot) + int(duration)))
            account.counted += int(samples)
            for reason, count in values.items():
                account.lost[reason] = account.lost.get(reason, 0) + count
        else:
            account.kept += int(samples)
            account.text += values["text"]
    hosts.sort()
    account.windows = len(hosts)
    covered = hosts[0][1] if hosts else 0
    for begin, end in hosts[1:]:
        if begin > covered + GAP_NS:
            account.gaps += 1
            account.gap_ns += begin - covered
        covered = max(covered, end)
    return account
