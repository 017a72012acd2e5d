# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program on a host, with the descriptors, directory and environment of this process."""

import os
import signal
import sys

from lab import session, wire
from lab.trouble import Trouble

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def reach(lab, host):
    try:
        return wire.connect(lab, host)
    except PermissionError as error:
        raise Trouble(f"the lab '{lab}' is not this user's", error.strerror,
                      "name another one: fci-lab up --name OTHER ...") from None
    except OSError:
        pass
    try:
        plan = ask(wire.connect(lab, wire.SWITCH), {"do": "plan"})
    except OSError:
        raise Trouble(f"there is no lab '{lab}'", "none was made, or it has ended",
                      "fci-lab up 2" + (f" --name {lab}" if lab != "lab" else "")) from None
    hosts = [each["name"] for each in plan["hosts"]]
    if host in hosts:
        raise Trouble(f"{host} does not answer", "its first process was killed",
                      "make the lab anew: fci-lab down, fci-lab up")
    raise Trouble(f"there is no host '{host}'", f"the lab has {hosts[0]} to {hosts[-1]}, and "
                  f"{wire.SWITCH}, where its bridges are", "name one of those", 2)


def ask(sock, request):
    with sock:
        wire.send(sock, request)
        said = wire.receive(sock)
    if said is None:
        raise ConnectionResetError
    return said


def call(lab, host, argv, env=None, root=False, files=None, terminal=None):
    """Returns the exit code, 128 + n of what signal n ended. files: path -> text, there while it
    runs. terminal: what stands between this terminal and that of the program (terminal.Relay)."""
    sock = reach(lab, host)
    request = {"do": "run", "argv": argv, "env": dict(os.environ if env is None else env),
               "cwd": os.getcwd(), "root": root, "files": files or {}, "limits": session.limits(),
               "umask": os.umask(0o022), "terminal": terminal is not None}
    os.umask(request["umask"])
    descriptors = [terminal.program] * 3 if terminal else standard()

    def pass_on(number, _):
        try:
            wire.send(sock, {"signal": number})
        except OSError:
            pass

    before = {number: signal.signal(number, pass_on) for number in PASSED_ON}
    try:
        wire.send(sock, request, descriptors)
        if terminal:
            terminal.relay(sock)
        said = wire.receive(sock)
    except ConnectionError:
        said = None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if said is None:
        raise Trouble(f"{host} ended while {argv[0]} ran", "the lab was ended, or its host killed",
                      "fci-lab status")
    if "refused" in said:
        raise Trouble(f"{host} cannot start {argv[0]} in {request['cwd']}", said["refused"],
                      "name what the host can see: all but /run and what is below /dev/shm", 2)
    return said["status"]


def standard():
    """0, 1, 2; what the caller has closed is /dev/null there."""
    found = []
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            number = os.open(os.devnull, os.O_RDWR)
        found.append(number)
    sys.stdout and sys.stdout.flush()
    return found
