# SPDX-License-Identifier: Apache-2.0
"""Who opens a file for reading, and who reads it: fanotify(7) holds each of them until its name was taken down."""
import contextlib
import ctypes
import os
import select
import struct
import threading

from harness.programs import comm_of, stat_fields

FAN_CLASS_CONTENT, FAN_NONBLOCK, FAN_CLOEXEC = 0x4, 0x2, 0x1
FAN_MARK_ADD = 0x1
FAN_OPEN_PERM, FAN_ACCESS_PERM = 0x10000, 0x20000
FAN_ALLOW = 0x1
AT_FDCWD = -100
EVENT = struct.Struct("=IBBHQii")  # struct fanotify_event_metadata
RESPONSE = struct.Struct("=iI")


def forebears_of(pid):
    found = []
    while pid > 1:
        pid = int(stat_fields(pid)[1])
        found.append(pid)
    return tuple(found)


class FileWitness:
    """A descriptor that is only O_PATH is no opening. Ends with the process that has it, and lets everybody go then."""

    def __init__(self, path):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.called("fanotify_init", FAN_CLASS_CONTENT | FAN_NONBLOCK | FAN_CLOEXEC, os.O_RDONLY | os.O_CLOEXEC)
        self.called("fanotify_mark", self.fd, FAN_MARK_ADD, ctypes.c_uint64(FAN_OPEN_PERM | FAN_ACCESS_PERM), AT_FDCWD,
                    os.fsencode(path))
        self.seen = set()
        self.is_over = False
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def called(self, name, *arguments):
        result = getattr(self.libc, name)(*arguments)
        if result < 0:
            raise OSError(ctypes.get_errno(), name)
        return result

    def watch(self):
        while not self.is_over:
            if select.select([self.fd], [], [], 0.2)[0]:
                # Who was killed while it was held is not in the list any more.
                with contextlib.suppress(BlockingIOError):
                    self.take(os.read(self.fd, 65536))

    def take(self, events):
        while events:
            length, _, _, _, mask, fd, pid = EVENT.unpack_from(events)
            events = events[length:]
            # One that was killed meanwhile has done nothing, and waits for no answer.
            with contextlib.suppress(OSError):
                self.seen.add((bool(mask & FAN_OPEN_PERM), comm_of(pid), forebears_of(pid)))
            with contextlib.suppress(OSError):
                os.write(self.fd, RESPONSE.pack(fd, FAN_ALLOW))
            os.close(fd)

    def openers(self, ancestor):
        """Names of the processes below this one that opened it; others' profilers may be about."""
        return {name for opens, name, forebears in self.seen if opens and ancestor in forebears}

    def readers(self, ancestor):
        return {name for opens, name, forebears in self.seen if not opens and ancestor in forebears}

    def end(self):
        self.is_over = True
        self.thread.join()
        os.close(self.fd)
