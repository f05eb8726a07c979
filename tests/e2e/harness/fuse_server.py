# SPDX-License-Identifier: Apache-2.0
"""A FUSE file system with one file, which stops answering when it is told to: its own process, as a
server that hangs is. Speaks the kernel's protocol itself (include/uapi/linux/fuse.h), as much as a
program needs that is run from there.

Usage: fuse_server.py SOURCE FOLDER    mounts a file system with SOURCE as FOLDER/program; SIGUSR1: hangs, and
says so; SIGUSR2: hangs when a file is closed, SIGHUP: when it is read, and answers all else"""
import ctypes
import os
import select
import signal
import stat
import struct
import sys

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, OPENDIR, BATCH_FORGET = \
    1, 2, 3, 14, 15, 17, 18, 25, 26, 27, 42
ENOENT, ENOSYS = 2, 38
ROOT, PROGRAM = 1, 2
IN_HEADER, OUT_HEADER = struct.Struct("<IIQQIIIHH"), struct.Struct("<IiQ")
BUFFER_BYTES = 1 << 20
MOUNT_FLAGS = 2 | 4  # MS_NOSUID, MS_NODEV


class Server:
    def __init__(self, source, folder):
        with open(source, "rb") as file:
            self.content = file.read()
        self.device = os.open("/dev/fuse", os.O_RDWR)
        libc = ctypes.CDLL(None, use_errno=True)
        options = f"fd={self.device},rootmode=40755,user_id=0,group_id=0,allow_other".encode()
        if libc.mount(b"jbpf-test", folder.encode(), b"fuse", MOUNT_FLAGS, options):
            raise OSError(ctypes.get_errno(), "mount")
        self.hangs = self.hangs_at_close = self.hangs_at_read = False
        signal.signal(signal.SIGUSR1, self.hang)
        signal.signal(signal.SIGUSR2, self.hang_at_close)
        signal.signal(signal.SIGHUP, self.hang_at_read)

    def hang(self, *_):
        self.hangs = True
        print("hangs", flush=True)

    def hang_at_close(self, *_):
        self.hangs_at_close = True

    def hang_at_read(self, *_):
        self.hangs_at_read = True

    def attributes(self, node):
        mode, size = (stat.S_IFDIR | 0o755, 0) if node == ROOT else (stat.S_IFREG | 0o755, len(self.content))
        return struct.pack("<QQQQQQIIIIIIIIII", node, size, 0, 1000, 1000, 1000, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def answer(self, opcode, node, body):
        if opcode == INIT:
            # No more than is asked for here: 7.23 has the first 24 bytes and the rest as zeros.
            return struct.pack("<IIIIHHIIHHI28x", 7, 23, 65536, 0, 12, 9, 65536, 1, 32, 0, 0)
        if opcode == LOOKUP:
            if body.split(b"\0")[0] != b"program":
                return -ENOENT
            return struct.pack("<QQQQII", PROGRAM, 0, 0, 0, 0, 0) + self.attributes(PROGRAM)  # valid for no time
        if opcode == GETATTR:
            return struct.pack("<QII", 0, 0, 0) + self.attributes(node)
        if opcode in (OPEN, OPENDIR):
            return struct.pack("<QII", 0, 0, 0)
        if opcode == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return self.content[offset:offset + size]
        if opcode == STATFS:
            return struct.pack("<QQQQQIIII24x", 1, 0, 0, 2, 0, 4096, 255, 4096, 0)
        if opcode in (RELEASE, FLUSH):
            return b""
        return -ENOSYS

    def serve(self):
        # A signal that comes right before a read would be seen behind it only: after a request that may never come.
        signals, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        while True:
            ready = select.select([self.device, signals], [], [])[0]
            if signals in ready:
                os.read(signals, 64)
                continue
            request = os.read(self.device, BUFFER_BYTES)
            _, opcode, unique, node, *_ = IN_HEADER.unpack_from(request)
            if opcode in (FORGET, BATCH_FORGET) or self.hangs or \
                    self.hangs_at_close and opcode == FLUSH or self.hangs_at_read and opcode == READ:
                continue
            answer = self.answer(opcode, node, request[IN_HEADER.size:])
            error, body = (answer, b"") if isinstance(answer, int) else (0, answer)
            os.write(self.device, OUT_HEADER.pack(OUT_HEADER.size + len(body), error, unique) + body)


if __name__ == "__main__":
    server = Server(sys.argv[1], sys.argv[2])
    print("mounted", flush=True)
    server.serve()
