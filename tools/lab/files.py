# SPDX-License-Identifier: BSD-3-Clause
"""What of the computer's directory for temporary files a host sees."""

import os
import re
import stat

from lab import kernel


# Files that launchers keep there while they run: another job's would be taken for this host's.
OF_LAUNCHERS = ("ompi.", "prte.", "openmpi-sessions-")


def show_outer(outer, target):
    """Files and directories of `outer`, a descriptor, appear in `target`, where nothing else has
    their names: a program is often built, and its results are often wanted, below /tmp. What a host
    makes in its /tmp itself remains its own."""
    where = f"/proc/self/fd/{outer}"
    take_back(where, target)
    for entry in os.scandir(where):
        path = os.path.join(target, entry.name)
        if entry.name.startswith(OF_LAUNCHERS):
            continue
        try:
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                os.symlink(os.readlink(entry.path), path)
                continue
            if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
                continue
            if not make_place(path, stat.S_ISDIR(mode)):
                continue
            kernel.bind(os.path.join(where, entry.name), path)
        except OSError:  # gone in the meantime, or there already
            continue


def take_back(where, target):
    """What was shown in `target` and is not in `where` any more, or is another file by now. The
    kernel goes on showing what was there first."""
    for path in shown_in(where, target):
        try:
            now = identity(os.path.join(where, os.path.basename(path)))
            before = identity(path)
            if now == before:
                continue
            kernel.unmount(path)
            found = os.stat(path, follow_symlinks=False)
            if is_left_place(found, True):
                os.rmdir(path)
            elif is_left_place(found, False):
                os.unlink(path)
        except OSError:  # another call was faster
            continue


def shown_in(where, target):
    """What lies directly in `target` and comes from the file system of `where`."""
    device = os.stat(where).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    with open("/proc/self/mountinfo", errors="surrogateescape") as file:
        mounts = [line.split() for line in file]
    paths = {re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), words[4])
             for words in mounts if words[2] == number}
    return [path for path in paths if os.path.dirname(path) == target]


def identity(path):
    """None: there is nothing."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def make_place(path, is_directory):
    """Whether something can be mounted there: at a new place, or one that was left empty when what
    had been shown there was removed outside."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        if is_directory:
            os.mkdir(path, 0o000)
        else:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o000))
        return True
    return is_left_place(found, is_directory)


def is_left_place(found, is_directory):
    return (stat.S_IMODE(found.st_mode) == 0 and found.st_uid == os.geteuid()
            and stat.S_ISDIR(found.st_mode) == is_directory)
