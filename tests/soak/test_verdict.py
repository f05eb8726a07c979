# SPDX-License-Identifier: Apache-2.0
"""The soak's verdict must be able to fail, and must not fail by luck: it is judged on readings whose
truth is known. Run by the soak itself before it begins; no root, no time."""
import random

from verdict import account_of, is_flat, is_growing, slope_of


def readings(growth_per_hour, seconds, seed, noise=200):
    """Every 2 s, noise that lasts for some readings, as short-lived JVMs make it."""
    random.seed(seed)
    times, values, mood = [], [], 0.0
    for step in range(seconds // 2):
        mood = 0.8 * mood + random.gauss(0, noise * 0.6)
        times.append(step * 2.0)
        values.append(20000 + mood + growth_per_hour * step * 2 / 3600)
    return times, values


def test_a_leak_of_an_hour_is_seen():
    for seed in range(50):
        slope = slope_of(*readings(4096, 2400, seed))
        assert is_growing(slope, 2048) and not is_flat(slope, 2048), slope


def test_a_flat_hour_is_flat():
    flat = sum(is_flat(slope_of(*readings(0, 2400, seed)), 2048) for seed in range(100))
    assert flat >= 97, flat


def test_five_flat_minutes_are_never_called_growing():
    slopes = [slope_of(*readings(0, 200, seed)) for seed in range(500)]
    assert not [slope for slope in slopes if is_growing(slope, 16384)]


def test_a_leak_of_five_minutes_is_seen():
    grown = sum(is_growing(slope_of(*readings(60000, 200, seed)), 16384) for seed in range(50))
    assert grown >= 48, grown


def test_a_sample_without_a_reason_is_unexplained():
    lines = ["host 0 10 0 6 memory=1 store=0 undecided=1", "stream 0 10 0 3 pid=1 text=3",
             "host 10 10 10 5 memory=0 store=2 undecided=0", "stream 10 10 10 5 pid=1 text=5"]
    account = account_of(lines)
    assert (account.counted, account.kept, account.unexplained, account.lost_samples) == (11, 8, 1, 3)


def test_gaps_between_windows_are_found():
    account = account_of(["host 0 2000000000 0 0", "host 0 2000000000 2000000000 0", "host 0 5 9000000000 0"])
    assert (account.windows, account.gaps, account.gap_ns) == (3, 1, 5_000_000_000)


ALL = [value for name, value in sorted(globals().items()) if name.startswith("test_")]
