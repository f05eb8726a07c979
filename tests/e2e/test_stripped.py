# SPDX-License-Identifier: Apache-2.0
"""Functions of a program without symbols are told apart by where they begin, as its .eh_frame says."""
import re
import shutil
import subprocess

import pytest

from harness.folded import assert_rare, assert_share
from harness.programs import AIDS, run

pytestmark = pytest.mark.live

NAME = "stripped_spinner"


@pytest.fixture
def stripped(readable_folder):
    program = shutil.copy(AIDS / "native_spinner", readable_folder / NAME)
    assert run("strip", "--strip-all", program).returncode == 0
    process = subprocess.Popen([program, "600"])
    yield process
    process.kill()
    process.wait()


def symbols():
    """Where the functions of the program that was stripped begin, by name."""
    lines = run("nm", AIDS / "native_spinner", check=True).stdout.splitlines()
    return {cells[2]: int(cells[0], 16) for cells in map(str.split, lines) if len(cells) == 3}


@pytest.mark.long("at most 3 % of 300 samples elsewhere and a share of 70 %, from the first window on")
def test_functions_without_symbols_have_their_place_as_a_name(stripped, daemon):
    daemon = daemon("--pid", stripped.pid, window="2s").start().wait_ready()
    daemon.wait_samples({stripped.pid: 300})
    folded = daemon.dump("--pid", stripped.pid)
    [stream] = daemon.list_json("--pid", stripped.pid)
    assert daemon.stop() == 0, daemon.log()
    begins = symbols()
    burns = {name: folded.with_frame(f"{NAME}+0x{begins[name]:x}") for name in ("burn_seventy", "burn_thirty")}
    assert_rare(folded.total - sum(burns.values()), folded.total, 0.03, folded)
    assert_share(burns["burn_seventy"], sum(burns.values()), 0.7)
    assert not folded.with_frame(f"[{NAME}]"), folded
    places = {name for name in folded.names() if name.startswith(f"{NAME}+")}
    assert all(re.fullmatch(re.escape(NAME) + r"\+0x[0-9a-f]+", name) for name in places), places
    # It is a place, no name: the frames count as unknown.
    assert stream["unknown_frames"] >= folded.total, stream
