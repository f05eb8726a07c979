# SPDX-License-Identifier: Apache-2.0
"""What jbpfd says of itself beside its store: DIR/state, as user/store/FORMAT.md has it."""
import time


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def make_state(store, window_s=10):
    """As a jbpfd writes it that has just ended a window."""
    body = f"{time.time_ns()}\njbpf_config_window_seconds {window_s}.000000000\n".encode()
    (store / "state").write_bytes(b"# jbpf-state 1 %08x " % crc32c(body) + body)
