# SPDX-License-Identifier: Apache-2.0
"""Stores whose content is known."""
import subprocess

from harness.programs import BUILD, PATIENCE

MKSTORE = BUILD / "tests" / "tools" / "mkstore"


def make_store(folder, script):
    """Makes a store there of what tests/tools/mkstore.c describes; returns the folder."""
    made = subprocess.run([MKSTORE, folder], input=script, text=True, timeout=60 * PATIENCE,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert made.returncode == 0, made.stdout
    return folder
