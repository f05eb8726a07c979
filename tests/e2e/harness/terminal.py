# SPDX-License-Identifier: Apache-2.0
"""A program in a terminal of its own: a pseudo-terminal, and an emulator that knows what is on its screen."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

import pyte

from harness.programs import Lacking, wait_until

KEYS = {"Enter": "\r", "Esc": "\x1b", "Tab": "\t", "Up": "\x1bOA", "Down": "\x1bOB", "Ctrl-C": "\x03"}
TERM = "screen-256color"  # has colours, a second screen, and no sequences that Screen does not know
COLOR = re.compile(rb"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;\d+)*m")


class Screen(pyte.Screen):
    """Scrolls a region, too (SU and SD of ECMA-48), which ncurses does and pyte does not know."""

    def _scroll(self, count, at_bottom, turn):
        margins = self.margins or (0, self.lines - 1)
        before = self.cursor.y
        self.cursor.y = margins[1] if at_bottom else margins[0]
        for _ in range(count or 1):
            turn()
        self.cursor.y = before

    def scroll_up(self, count=1):
        self._scroll(count, True, self.index)

    def scroll_down(self, count=1):
        self._scroll(count, False, self.reverse_index)


class Stream(pyte.ByteStream):
    csi = dict(pyte.ByteStream.csi, S="scroll_up", T="scroll_down")


class Terminal:
    def __init__(self, command, columns=120, lines=30, environment=None):
        self.output = b""  # all that was written
        self.screen = Screen(columns, lines)
        self.stream = Stream(self.screen)
        self.master, slave = pty.openpty()
        self.slave = slave  # kept, so that its settings can be asked for when the program has ended
        self._set_size(columns, lines)
        self.settings_before = termios.tcgetattr(slave)
        variables = {**os.environ, "TERM": TERM, "LC_ALL": "C.UTF-8", **(environment or {})}
        self.process = subprocess.Popen([str(word) for word in command], stdin=slave, stdout=slave, stderr=slave,
                                        env={name: value for name, value in variables.items() if value is not None},
                                        preexec_fn=self._take_terminal)

    @staticmethod
    def _take_terminal():
        # Some programs start others like that: perf record.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGWINCH})
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def _set_size(self, columns, lines):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read(self, seconds=0.2):
        """Takes what comes within that time."""
        while select.select([self.master], [], [], seconds)[0]:
            data = os.read(self.master, 65536)
            self.output += data
            self.stream.feed(data)
            seconds = 0.02

    def text(self):
        self.read()
        return "\n".join(line.rstrip() for line in self.screen.display)

    def lines(self):
        return self.text().split("\n")

    def press(self, *keys):
        for key in keys:
            os.write(self.master, KEYS.get(key, key).encode())
            self.read(0.1)

    def resize(self, columns, lines):
        """As a window that is drawn larger: the kernel tells the program."""
        self.screen.resize(lines, columns)
        self._set_size(columns, lines)

    def wait(self, condition, what, seconds=60):
        """Until the screen's text fulfils the condition; returns the text."""
        def fulfilled():
            text = self.text()
            assert self.process.poll() is None, f"it ended with {self.process.poll()}: {text}"
            return text if condition(text) else None
        try:
            return wait_until(fulfilled, seconds, what)
        except Lacking as error:
            raise Lacking(f"{error}; the screen:\n{self.text()}") from None

    def wait_end(self, seconds=20):
        """Its exit code, once it has ended by itself."""
        def ended():
            self.read(0.05)
            return self.process.poll() is not None
        wait_until(ended, seconds, f"it ends; the screen:\n{self.text()}")
        self.read()
        return self.process.returncode

    def is_restored(self):
        """The terminal is as it was: its settings, the other screen left, the cursor shown."""
        return (termios.tcgetattr(self.slave) == self.settings_before and
                self.output.rfind(b"\x1b[?1049l") > self.output.rfind(b"\x1b[?1049h") and
                max(self.output.rfind(b"\x1b[?25h"), self.output.rfind(b"\x1b[?12l\x1b[?25h")) >
                self.output.rfind(b"\x1b[?25l"))

    def has_colors(self):
        return COLOR.search(self.output) is not None

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        os.close(self.slave)
        os.close(self.master)
