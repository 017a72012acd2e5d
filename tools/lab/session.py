# SPDX-License-Identifier: BSD-3-Clause
"""One call to a host: a program with the caller's descriptors, until it or the caller ends."""

import fcntl
import os
import resource
import select
import signal
import termios
import time

from lab import files, kernel, network, wire

GRACE_S = 2.0  # from the caller's death: mpirun tidies up when it is asked to end
LIMITS = ("NOFILE", "CORE", "STACK", "AS", "FSIZE", "MEMLOCK")


def limits():
    """Of the caller, by name: the soft ones."""
    return {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[0] for name in LIMITS}


def main(server, caller):
    """In a process of its own; never returns."""
    try:
        request, descriptors = wire.receive_with(caller, 3)
        if request is None:
            return
        if request["do"] == "plan":
            wire.send(caller, server.plan.described())
        elif request["do"] == "counters":
            wire.send(caller, {"interfaces": network.counters(), "processes": processes()})
        elif request["do"] == "run" and len(descriptors) == 3:
            Session(server, caller, request, descriptors).run()
    except ConnectionError:
        pass
    finally:
        os._exit(0)


def processes():
    """Of this host, but for its first one and the two of this call."""
    return max(0, sum(name.isdigit() for name in os.listdir("/proc")) - 2)


class Session:
    def __init__(self, server, caller, request, descriptors):
        self.server, self.caller, self.request = server, caller, request
        self.descriptors = descriptors

    def run(self):
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        if self.server.outer_tmp is not None:
            files.show_outer(self.server.outer_tmp, "/tmp")
        for path, text in self.request["files"].items():
            with open(path, "w") as file:
                file.write(text)
        try:
            self.start()
            for descriptor in self.descriptors:
                os.close(descriptor)
            if self.child:
                self.watch()
        finally:
            for path in self.request["files"]:
                os.unlink(path)

    def start(self):
        """Sets child, to None where it could not be started, which the caller is told."""
        told, tells = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            try:
                self.become_program()
            except BaseException as error:  # whatever it is, the caller has to know
                os.write(tells, f"{getattr(error, 'strerror', None) or error}".encode())
            os._exit(127)
        os.close(tells)
        cause = b"".join(iter(lambda: os.read(told, 4096), b"")).decode()
        os.close(told)
        if cause:
            os.waitpid(self.child, 0)
            self.child = None
            wire.send(self.caller, {"refused": cause})

    def become_program(self):
        request, env = self.request, self.request["env"]
        os.setsid()
        for number, descriptor in enumerate(self.descriptors):
            os.dup2(descriptor, number)
        if request["terminal"]:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        for name, soft in request["limits"].items():
            which = getattr(resource, f"RLIMIT_{name}")
            hard = resource.getrlimit(which)[1]
            if hard == resource.RLIM_INFINITY or 0 <= soft <= hard:
                resource.setrlimit(which, (soft, hard))
        os.umask(request["umask"])
        os.chdir(request["cwd"])
        if self.server.users is not None and not request["root"]:
            kernel.setns(self.server.users, kernel.NEWUSER)
        env.update(TMPDIR="/tmp", HOSTNAME=self.server.host,
                   XDG_RUNTIME_DIR=f"/run/user/{self.server.plan.uid}")
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execvpe(request["argv"][0], request["argv"], env)

    def watch(self):
        """Until the program ends. Its end is told; signals of the caller are passed on."""
        ended = os.pidfd_open(self.child)
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        poll.register(self.caller, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if ended in ready:
                status = os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])
                wire.send(self.caller, {"status": status if status >= 0 else 128 - status})
                return
            message = wire.receive(self.caller)
            if message is None:
                self.end_all(ended)
                return
            try:
                os.killpg(self.child, message["signal"])
            except ProcessLookupError:
                pass

    def end_all(self, ended):
        """The program and all that it started, also what has left its process group."""
        for number, seconds in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, None)):
            try:
                os.killpg(self.child, number)
            except ProcessLookupError:
                pass
            if seconds is not None:
                select.select([ended], [], [], seconds)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            for pid in descendants(os.getpid()):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                return


def descendants(pid):
    found = []
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = [int(word) for word in file.read().split()]
    except FileNotFoundError:
        return []
    for child in children:
        found += [child, *descendants(child)]
    return found
