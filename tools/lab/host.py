# SPDX-License-Identifier: BSD-3-Clause
"""One host: namespaces and directories of its own."""

import os
import socket

from lab import files, kernel, network, server, servers, wire

PRIVATE = kernel.NEWNS | kernel.NEWNET | kernel.NEWUTS | kernel.NEWIPC


def tmpfs(target, mode):
    kernel.mount("tmpfs", target, "tmpfs", kernel.NOSUID | kernel.NODEV, f"mode={mode}")


def mount_proc():
    kernel.mount("proc", "/proc", "proc", kernel.NOSUID | kernel.NODEV | kernel.NOEXEC)


def mount_sys():
    """/sys/class/net shows the interfaces of whoever mounted it. A container may forbid this; what
    looks there then sees the interfaces of the computer."""
    groups = os.open("/sys/fs/cgroup", os.O_PATH) if os.path.isdir("/sys/fs/cgroup") else -1
    try:
        kernel.mount("sysfs", "/sys", "sysfs", kernel.NOSUID | kernel.NODEV | kernel.NOEXEC)
        if groups >= 0:
            kernel.bind(f"/proc/self/fd/{groups}", "/sys/fs/cgroup")
    except OSError:
        pass
    if groups >= 0:
        os.close(groups)


def mount_own(plan, host):
    """Returns the computer's /tmp, which is covered then."""
    mount_proc()
    mount_sys()
    outer = os.open("/tmp", os.O_PATH | os.O_DIRECTORY)
    shared = os.open(wire.SHARED, os.O_PATH | os.O_DIRECTORY)
    for target, mode in (("/run", "755"), ("/dev/shm", "1777"), ("/tmp", "1777")):
        tmpfs(target, mode)
    for directory in ("/run/lock", "/run/user", f"/run/user/{plan.uid}", wire.SHARED):
        os.mkdir(directory)
    os.chmod(f"/run/user/{plan.uid}", 0o700)
    kernel.bind(f"/proc/self/fd/{shared}", wire.SHARED)
    os.close(shared)
    kernel.bind(f"{wire.SHARED}/hosts", "/etc/hosts")
    if os.path.exists("/etc/hostname"):
        with open("/run/hostname", "w") as file:
            file.write(host + "\n")
        kernel.bind("/run/hostname", "/etc/hostname")
    return outer


def allow_ping(plan):
    """Without rights of its own, as ping has them on most computers by its file."""
    most = 0 if plan.uid else 2147483647
    try:
        with open("/proc/sys/net/ipv4/ping_group_range", "w") as file:
            file.write(f"0 {most}")
    except OSError:
        pass


def main(plan, host, listener, holder, users):
    """Never returns. listener: the name outside; holder: the one that this host belongs to."""
    kernel.set_name(f"fci-lab {host}")
    kernel.unshare(PRIVATE)
    socket.sethostname(host)
    wire.send(holder, {"apart": True})
    if wire.receive(holder) is None:
        os._exit(1)
    outer = mount_own(plan, host)
    network.open_interfaces(plan, host)
    allow_ping(plan)
    os.sched_setaffinity(0, plan.cores_of(host))
    here = server.Server(plan, host, users, outer)
    here.listen(listener)
    files.show_outer(outer, "/tmp")  # servers may find this program itself there
    servers.serve(plan, host)
    wire.send(holder, {"ready": True})
    holder.close()
    here.serve()
