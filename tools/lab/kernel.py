# SPDX-License-Identifier: BSD-3-Clause
"""What Python 3.11 lacks of the kernel's calls: namespaces, mounts, prctl."""

import ctypes
import os

NEWNS, NEWUTS, NEWIPC = 0x00020000, 0x04000000, 0x08000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
NOSUID, NODEV, NOEXEC, BIND, REC, SLAVE = 2, 4, 8, 0x1000, 0x4000, 0x80000
PR_SET_PDEATHSIG, PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 1, 15, 36

libc = ctypes.CDLL(None, use_errno=True)


def checked(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def unshare(flags):
    checked(libc.unshare(flags), "unshare")


def setns(descriptor, kind):
    checked(libc.setns(descriptor, kind), "setns")


def mount(source, target, kind="", flags=0, data=""):
    checked(libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags),
                       data.encode()), target)


def bind(source, target):
    """With all that is mounted below: what another user mounted cannot be left out."""
    mount(source, target, "", BIND | REC)


def unmount(target):
    """At once, whoever uses it still."""
    detach = 2
    checked(libc.umount2(target.encode(), detach), target)


def prctl(option, value):
    checked(libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0), "prctl")


def set_name(name):
    """What ps -e and /proc/PID/comm show."""
    buffer = ctypes.create_string_buffer(name.encode()[:15])
    libc.prctl(PR_SET_NAME, buffer, 0, 0, 0)


def map_user(inside_uid, inside_gid, outside_uid, outside_gid):
    """Of a user namespace that this process has just made for itself."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{inside_uid} {outside_uid} 1"),
                       ("gid_map", f"{inside_gid} {outside_gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
