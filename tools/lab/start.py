# SPDX-License-Identifier: BSD-3-Clause
"""Makes a lab: what is done in the namespaces of whoever calls up."""

import os
import resource
import socket

from lab import holder, kernel, programs, servers, wire
from lab.trouble import Trouble


def up(plan, attached):
    """Until it is ready, the lab ends with this process; if it is attached, also then."""
    if programs.find("ip") is None:
        raise Trouble("no network can be made", "there is no command ip",
                      "apt-get install iproute2", 2)
    servers.require(plan)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # programs have their callers' limits
    places = bind_places(plan)
    apart(plan)
    mine, theirs = socket.socketpair()
    if os.fork() == 0:
        mine.close()
        holder.main(plan, places, theirs)
    theirs.close()
    for place in places.values():
        place.close()
    try:
        for word in ("ready", "stays"):
            expect(wire.receive(mine), word)
            wire.send(mine, {"attached": attached})
    except ConnectionError:
        expect(None, "stays")


def expect(said, word):
    if said is None:
        raise Trouble("the lab ended before it was ready", "its first process was killed",
                      "see dmesg: is there memory enough?")
    if "trouble" in said:
        raise Trouble(*said["trouble"])
    assert word in said


def bind_places(plan):
    """While this process is still in the computer's network namespace."""
    places = {}
    for host in [wire.SWITCH, *plan.hosts]:
        places[host] = socket.socket(socket.AF_UNIX)
        try:
            places[host].bind(wire.outside_address(plan.name, host, plan.uid))
        except OSError:
            raise Trouble(f"there is a lab '{plan.name}' already",
                          "its hosts are up, or another call is making them",
                          "end it: fci-lab down; or make another one beside it: "
                          "fci-lab up --name OTHER ...", 2) from None
    return places


def apart(plan):
    """The next process that is started will be the first of a process namespace, as root in it."""
    try:
        if plan.uid:
            kernel.unshare(kernel.NEWUSER)
            kernel.map_user(0, 0, plan.uid, plan.gid)
        kernel.unshare(kernel.NEWPID)
    except OSError as error:
        cause, remedy = why_not(error)
        raise Trouble("this user cannot make namespaces" if plan.uid else
                      "namespaces cannot be made here", cause, remedy, 2) from None


def why_not(error):
    for name, forbids, remedy in (
            ("user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"),
            ("kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
            ("kernel/apparmor_restrict_unprivileged_userns", "1",
             "sysctl kernel.apparmor_restrict_unprivileged_userns=0")):
        try:
            with open(f"/proc/sys/{name}") as file:
                if file.read().strip() == forbids:
                    return (f"{name.replace('/', '.')} is {forbids}: {error.strerror}",
                            f"as root: {remedy}; or call fci-lab as root")
        except OSError:
            pass
    return (f"{error.filename}: {error.strerror}",
            "call it outside of the container, or give that CAP_SYS_ADMIN; or call it as root")
