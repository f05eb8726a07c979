# SPDX-License-Identifier: Apache-2.0
"""What Chains.java's stacks must be: each chain of its calls is known."""
import re

from harness.folded import kind, plain
from harness.programs import wait_until

TRUNCATED = "[truncated]"
# Frames whose code or method was not read in time, on a busy host, are there all the same.
NAMELESS = ("[unknown", "Interpreter")
STUBS = ("StubRoutines", "I2C/C2I", "vtable", "itable")
METHOD = re.compile(r"Chains\.[abc](\d+)")


def layers_of(frames):
    """Layer of each frame of the program, -1 for the lambda; None for what is neither."""
    layers = []
    for frame in frames:
        match = METHOD.fullmatch(plain(frame))
        if match:
            layers.append(int(match.group(1)))
        elif plain(frame).startswith("Chains.lambda$"):
            layers.append(-1)
        else:
            layers.append(None)
    return layers


def verdict(frames):
    """"whole", "impossible", "leaf" (cut right behind it), "cut"; None when it is not the program's."""
    layers = layers_of(frames)
    ours = [i for i, layer in enumerate(layers) if layer is not None]
    if not ours:
        return None
    first, last = ours[0], ours[-1]
    if any(layers[i] != layers[first] + i - first and not frames[i].startswith(NAMELESS) for i in range(first, last + 1)):
        return "impossible"
    if TRUNCATED not in frames:
        above = layers[first] + 1
        is_there = above <= first and all(frame.startswith(NAMELESS) for frame in frames[first - above:first])
        return "whole" if is_there else "impossible"
    # Of a stub that makes no frame only the caller is known, if that.
    user = [frame for frame in frames[frames.index(TRUNCATED) + 1:] if kind(frame) != "k"]
    is_stub = user[-1].startswith(STUBS)
    return "leaf" if len(user) <= 1 + is_stub else "cut"


def wait_whole(profiler, pid):
    """Until its mappings and its tables are known, stacks are followed by frame pointers, or cut."""
    met = profiler.wait_met([pid])
    profiler.wait_samples({pid: 1}, since=met)
    wait_until(lambda: profiler.dump("--pid", pid, since=met).samples(lambda frames: verdict(frames) == "whole") >= 100,
               120, "stacks are whole")
