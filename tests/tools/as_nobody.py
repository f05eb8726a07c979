#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command as nobody, without any right, in a network that has no other host (scripts/run-e2e-tests).

  as_nobody.py COMMAND [ARGUMENT...]

What runs so and passes starts no daemon, no container and no download, whatever else is on the host."""
import ctypes
import fcntl
import os
import pwd
import socket
import struct
import sys

CLONE_NEWNET = 0x40000000  # linux/sched.h
SIOCSIFFLAGS = 0x8914  # linux/sockios.h
IFF_UP = 1  # linux/if.h
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38  # linux/prctl.h

LIBC = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    if getattr(LIBC, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def network_of_its_own():
    call("unshare", CLONE_NEWNET)
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def give_up_rights():
    nobody = pwd.getpwnam("nobody")
    last = int(open("/proc/sys/kernel/cap_last_cap").read())
    for capability in range(last + 1):
        call("prctl", PR_CAPBSET_DROP, capability, 0, 0, 0)
    os.setgroups([])
    os.setresgid(*[nobody.pw_gid] * 3)
    os.setresuid(*[nobody.pw_uid] * 3)
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    network_of_its_own()
    give_up_rights()
    os.execvp(sys.argv[1], sys.argv[1:])


main()
