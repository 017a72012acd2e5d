"""What of the computer's directory for temporary files a host sees."""

import os
import stat

from lab import kernel


def show_outer(outer, target):
    """Files and directories of `outer`, a descriptor, appear in `target`, where nothing else has
    their names: a program is often built, and its results are often wanted, below /tmp. What a host
    makes in its /tmp itself remains its own."""
    where = f"/proc/self/fd/{outer}"
    for entry in os.scandir(where):
        path = os.path.join(target, entry.name)
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
