# SPDX-License-Identifier: Apache-2.0
"""The kernel counts runs and run time of BPF programs while somebody holds BPF_ENABLE_STATS (since 5.8): for the
while of a measurement, without a change to the host's settings."""
import ctypes
import os
import platform

BPF_ENABLE_STATS = 32
SYS_BPF = {"x86_64": 321, "aarch64": 280}


class BpfStats:
    def __enter__(self):
        libc = ctypes.CDLL(None, use_errno=True)
        attributes = (ctypes.c_uint32 * 32)()  # type BPF_STATS_RUN_TIME = 0
        self.fd = libc.syscall(SYS_BPF[platform.machine()], BPF_ENABLE_STATS, attributes, ctypes.sizeof(attributes))
        if self.fd < 0:
            raise SystemExit(f"bench: BPF statistics cannot be switched on: {os.strerror(ctypes.get_errno())}")
        return self

    def __exit__(self, *_):
        os.close(self.fd)
