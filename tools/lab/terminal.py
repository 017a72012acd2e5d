# SPDX-License-Identifier: BSD-3-Clause
"""A terminal of its own for a program on a host, so that its shell has job control."""

import fcntl
import os
import select
import signal
import termios
import tty


class Relay:
    def __init__(self):
        self.ours, self.program = os.openpty()
        self.before = termios.tcgetattr(0)
        self.copy_size()

    def copy_size(self, *_):
        size = fcntl.ioctl(0, termios.TIOCGWINSZ, b"\0" * 8)
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, size)

    def relay(self, sock):
        """Until the host has something to say: that the program ended."""
        os.close(self.program)
        signal.signal(signal.SIGWINCH, self.copy_size)
        try:
            tty.setraw(0)
            self.copy_until(sock)
        finally:
            termios.tcsetattr(0, termios.TCSADRAIN, self.before)

    def copy_until(self, sock):
        sources = [0, self.ours, sock]
        while True:
            ready = select.select(sources, [], [])[0]
            if self.ours in ready and not self.copy(self.ours, 1):
                sources.remove(self.ours)  # no process has the other end
            elif 0 in ready and not self.copy(0, self.ours):
                sources.remove(0)
            elif sock in ready and self.ours not in ready:
                return

    @staticmethod
    def copy(source, target):
        try:
            data = os.read(source, 65536)
            while data:
                data = data[os.write(target, data):]
                if not data:
                    return True
        except OSError:
            pass
        return False
