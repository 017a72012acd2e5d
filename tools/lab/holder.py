# SPDX-License-Identifier: BSD-3-Clause
"""The first process of a lab. All else of it lives in its process namespace and below it, so that
the kernel ends everything with it, however it ends."""

import errno
import os
import shlex
import signal
import socket
import sys

from lab import host, kernel, network, server, servers, wire
from lab.trouble import Trouble

RSH = """#!/bin/sh
# As rsh and ssh are called: rsh [OPTION ...] HOST COMMAND [WORD ...]
exec {python} -I -S -B {program} "$@"
"""


def main(plan, places, starter):
    """Never returns. places: host -> bound socket of the computer's namespace; starter: who waits
    for the word that all is ready, and takes the lab with it if it dies before."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setsid()
    os.chdir("/")
    os.umask(0o022)
    kernel.set_name("fci-lab")
    close_all_but([starter.fileno(), *(place.fileno() for place in places.values())])
    try:
        Holder(plan, places, starter).run()
    except Trouble as trouble:
        wire.send(starter, {"trouble": trouble.args})
    except OSError as error:
        wire.send(starter, {"trouble": refused(error).args})
    finally:
        os._exit(1)


def refused(error):
    """Of the kernel, while namespaces and what is in them are made."""
    remedy = "see ulimit -a, df and dmesg for what is used up"
    if error.errno in (errno.EPERM, errno.EACCES):
        remedy = ("in a container: give it CAP_SYS_ADMIN and an unmasked /proc; on Ubuntu: sysctl "
                  "kernel.apparmor_restrict_unprivileged_userns=0; or call it as root")
    return Trouble("the namespaces of the lab cannot be set up",
                   f"{error.filename or 'the kernel'}: {error.strerror}", remedy)


def close_all_but(kept):
    """Whoever reads the output of up, or waits for its lock, shall not wait for the lab."""
    nothing = os.open("/dev/null", os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    before = 3
    for descriptor in sorted(kept):
        os.closerange(before, descriptor)
        before = descriptor + 1
    os.closerange(before, max(before, os.sysconf("SC_OPEN_MAX")))


def write_shared(plan):
    with open(f"{wire.SHARED}/hosts", "w") as file:
        file.write(plan.hosts_file())
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rsh.py")
    with open(f"{wire.SHARED}/rsh", "w") as file:
        file.write(RSH.format(python=shlex.quote(sys.executable), program=shlex.quote(program)))
    os.chmod(f"{wire.SHARED}/rsh", 0o755)
    servers.write_shared(plan)


def user_namespace(plan):
    """A descriptor of one in which the user has its own number and no rights. All programs of the
    lab share it: the kernel copies memory between processes of the same user namespace only."""
    told, tells = os.pipe()
    stay, leave = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(leave)
        kernel.unshare(kernel.NEWUSER)
        kernel.map_user(plan.uid, plan.gid, 0, 0)
        os.write(tells, b"1")
        os.read(stay, 1)
        os._exit(0)
    os.close(tells)
    if os.read(told, 1) != b"1":
        raise OSError(1, "a user namespace in the lab's own is refused", "unshare")
    users = os.open(f"/proc/{child}/ns/user", os.O_RDONLY)
    for descriptor in (told, stay, leave):
        os.close(descriptor)
    os.waitpid(child, 0)
    return users


class Holder:
    def __init__(self, plan, places, starter):
        self.plan, self.places, self.starter = plan, places, starter
        self.users = None
        self.pids, self.ends = {}, {}  # of the hosts: process, socket while they are made

    def run(self):
        kernel.unshare(host.PRIVATE)
        kernel.mount("", "/", "", kernel.REC | kernel.SLAVE)
        socket.sethostname(wire.SWITCH)
        host.mount_proc()
        host.tmpfs("/run", "755")
        os.mkdir(wire.SHARED)
        write_shared(self.plan)
        self.users = user_namespace(self.plan) if self.plan.uid else None
        self.make_hosts()
        here = server.Server(self.plan, wire.SWITCH, self.users)
        here.listen(self.places[wire.SWITCH])
        wire.send(self.starter, {"ready": True})
        go = wire.receive(self.starter)
        if go is None:
            return
        if not go["attached"]:
            kernel.prctl(kernel.PR_SET_PDEATHSIG, 0)
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        wire.send(self.starter, {"stays": True})
        wire.receive(self.starter)
        self.starter.close()
        here.serve()

    def make_hosts(self):
        """Each is the first process of its own process namespace."""
        own = os.open("/proc/self/ns/pid", os.O_RDONLY)
        for name in self.plan.hosts:
            self.ends[name], theirs = socket.socketpair()
            kernel.unshare(kernel.NEWPID)
            self.pids[name] = os.fork()
            if self.pids[name] == 0:
                self.become_host(name, theirs)
            kernel.setns(own, kernel.NEWPID)
            theirs.close()
        os.close(own)
        self.expect_all("apart")
        network.wire_hosts(self.plan, self.pids)
        for end in self.ends.values():
            wire.send(end, {"wired": True})
        self.expect_all("ready")
        for name in self.plan.hosts:
            self.ends[name].close()
            self.places[name].close()

    def become_host(self, name, holder):
        """Without what belongs to the others: as long as anybody has it, it seems to be alive."""
        self.starter.close()
        for end in self.ends.values():
            end.close()
        for other, place in self.places.items():
            if other != name:
                place.close()
        try:
            host.main(self.plan, name, self.places[name], holder, self.users)
        except Trouble as trouble:
            wire.send(holder, {"trouble": trouble.args})
        except OSError as error:
            wire.send(holder, {"trouble": refused(error).args})
        finally:
            os._exit(1)

    def expect_all(self, word):
        for name, end in self.ends.items():
            said = wire.receive(end)
            if said is None:
                raise Trouble(f"{name} ended before it was ready", "its process was killed",
                              "see dmesg: is there memory enough?")
            if "trouble" in said:
                raise Trouble(*said["trouble"])
            assert word in said
