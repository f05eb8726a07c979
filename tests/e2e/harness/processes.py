# SPDX-License-Identifier: Apache-2.0
"""A process's children, which come, go and take another name at any moment."""
import contextlib
import os
import time
from pathlib import Path

from .programs import comm_of, wait_until


def children_of(pid):
    """Of all its threads; none of one that ends meanwhile. The kernel's list may leave one out when its brother ends."""
    found = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                found += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
    return found


def children(pid, name):
    found = []
    for child in children_of(pid):
        with contextlib.suppress(OSError):  # gone meanwhile
            if comm_of(child) == name:
                found.append(child)
    return found


def only_child(pid, name):
    """The one of that name. A child has its maker's name until it takes its own: then there are two for a moment, or, where
    the list leaves the maker out, only the wrong one."""
    def look():
        found = children(pid, name)
        time.sleep(0.1)
        return found[0] if len(found) == 1 and children(pid, name) == found else None
    return wait_until(look, 30, f"process {pid} has one child {name}")
