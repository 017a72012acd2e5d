# SPDX-License-Identifier: BSD-3-Clause
"""Takes calls to one host, each into a process of its own: the first process of a host, which keeps
its namespaces alive and reaps what nobody waits for."""

import os
import select
import signal
import socket

from lab import session, wire


class Server:
    def __init__(self, plan, host, users, outer_tmp=None):
        """users: the user namespace of programs, or None; outer_tmp: the computer's /tmp."""
        self.plan, self.host, self.users, self.outer_tmp = plan, host, users, outer_tmp
        self.listeners = []

    def listen(self, outside):
        """outside: a bound socket of the computer's namespace."""
        within = socket.socket(socket.AF_UNIX)
        within.bind(f"{wire.SHARED}/{self.host}")
        for listener in (outside, within):
            listener.listen(128)
            listener.setblocking(False)
            self.listeners.append(listener)

    def serve(self):
        """Until the process is killed."""
        poll = select.poll()
        for listener in self.listeners:
            poll.register(listener, select.POLLIN)
        wake, woken = os.pipe()
        for end in (wake, woken):
            os.set_blocking(end, False)
        poll.register(wake, select.POLLIN)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == wake:
                    os.read(wake, 4096)
                    self.reap()
            for listener in self.listeners:
                self.accept(listener)

    def reap(self):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass

    def accept(self, listener):
        """Anybody on the computer can call the name outside; only the lab's own user is heard."""
        try:
            caller = listener.accept()[0]
        except (BlockingIOError, ConnectionAbortedError):
            return
        if wire.peer(caller)[1] == 0 and os.fork() == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for each in self.listeners:
                each.close()
            session.main(self, caller)
        caller.close()
