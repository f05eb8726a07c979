# SPDX-License-Identifier: Apache-2.0
"""Folded text as the tests look at it."""
import math
import re

KIND = re.compile(r"_\[([kj10i])\]$")


class Folded:
    """Stacks as lists of frames, root first, with counts. Refuses text that breaks the format."""

    def __init__(self, text):
        self.stacks = []
        previous = None
        # Not splitlines(): names may have what that takes for the end of a line, too.
        for line in text.removesuffix("\n").split("\n") if text else ():
            stack, blank, count = line.rpartition(" ")
            assert blank and count.isdigit() and int(count) > 0, f"not a folded line: {line[:200]!r}"
            assert len(line.encode()) <= 60 << 10, f"longer than 60 KiB: {line[:100]!r}"
            assert previous is None or stack.encode() > previous, f"not sorted or not merged: {line[:200]!r}"
            previous = stack.encode()
            self.stacks.append((stack.split(";"), int(count)))

    def only(self, want):
        """Those stacks for which want(frames) is true."""
        found = Folded("")
        found.stacks = [(frames, count) for frames, count in self.stacks if want(frames)]
        return found

    def of(self, comm):
        """The samples of one program. A pid is its parent's program until it executes its own, a container's
        runc: what is sampled before belongs to the pid, too, and is none of the program's."""
        return self.only(lambda frames: frames[0] == comm)

    @property
    def total(self):
        return sum(count for _, count in self.stacks)

    def samples(self, want):
        """Samples of stacks for which want(frames) is true."""
        return sum(count for frames, count in self.stacks if want(frames))

    def show(self, want, most=6):
        """The commonest stacks for which want(frames) is true, for messages of failures."""
        found = sorted((stack for stack in self.stacks if want(stack[0])), key=lambda stack: -stack[1])
        return f"{sum(count for _, count in found)} of {self.total}: " + "".join(
            f"\n    {count} {';'.join(frames)[-700:]}" for frames, count in found[:most])

    def with_frame(self, name):
        """Samples of stacks with this frame, of whatever kind."""
        return self.samples(lambda frames: any(plain(frame) == name for frame in frames))

    def names(self):
        return {plain(frame) for frames, _ in self.stacks for frame in frames}

    def __repr__(self):
        top = sorted(self.stacks, key=lambda stack: -stack[1])[:8]
        return f"{self.total} samples: " + " | ".join(f"{';'.join(f[-6:])} {c}" for f, c in top)


def plain(frame):
    return KIND.sub("", frame)


def kind(frame):
    """'k', 'j', '1', '0', 'i', or 'n' for native."""
    match = KIND.search(frame)
    return match.group(1) if match else "n"


def kinds(frames):
    """The stack below the process's name as a word: "nnjjjnk", Java of any sort as "j"."""
    return "".join("j" if kind(frame) in "j10i" else kind(frame) for frame in frames[1:])


def most_by_luck(share, whole, chance=1e-6):
    """What may be true of `share` of all samples is true of more than so many of `whole` samples only
    by bad luck of one in a million. A limit on few samples needs it: 1 % of 150 samples is 1.5, but
    one run in fifteen has 4 and one in a thousand 7. (Poisson, which is no less than binomial.)"""
    expected, most, left = share * whole, -1, 1.0
    while left > chance and expected:
        most += 1
        left -= math.exp(most * math.log(expected) - expected - math.lgamma(most + 1))
    return max(most, 0)


def assert_rare(part, whole, share, what=""):
    """Fails when `part` of `whole` samples are more than a `share` of all can bring by chance."""
    assert part <= most_by_luck(share, whole), \
        f"{part} of {whole} samples, {100 * share:.2g} % may be so ({most_by_luck(share, whole)} by luck): {what}"


def assert_share(part, whole, expected, sigmas=5, slack=0.005):
    """part/whole is `expected` within what sampling allows: binomial, five sigmas or bad luck of one in
    a million, plus a little slack for the time a program spends between its two methods."""
    assert whole >= 200, f"only {whole} samples: too few to judge a share"
    allowed = sigmas * math.sqrt(expected * (1 - expected) / whole) + slack
    found = part / whole
    assert abs(found - expected) <= allowed, \
        f"share {found:.4f} ({part} of {whole}), expected {expected:.4f} +- {allowed:.4f}"
