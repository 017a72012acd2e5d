# SPDX-License-Identifier: BSD-3-Clause
"""What was done already, and from what: results are kept under a key of their content."""

import hashlib
import os
import pathlib


def digest(*parts):
    total = hashlib.sha256()
    for part in parts:
        total.update(part.read_bytes() if isinstance(part, pathlib.Path) else str(part).encode())
        total.update(b"\0")
    return total.hexdigest()


class Marks:
    """The key under which each step of a directory was done last."""

    def __init__(self, directory):
        self.directory = directory

    def done(self, step, key):
        try:
            return (self.directory / f".done-{step}").read_text() == key
        except OSError:
            return False

    def mark(self, step, key):
        (self.directory / f".done-{step}").write_text(key)

    def forget(self, step):
        (self.directory / f".done-{step}").unlink(missing_ok=True)


def listing(tree):
    """Names, sizes and times of a tree: quick, and enough to see that it changed."""
    total = hashlib.sha256()
    for directory, names, files in os.walk(tree):
        names[:] = sorted(n for n in names if n != ".git")
        for name in sorted(files):
            path = os.path.join(directory, name)
            status = os.lstat(path)
            total.update(f"{os.path.relpath(path, tree)} {status.st_size} "
                         f"{status.st_mtime_ns}\n".encode())
    return total.hexdigest()


def digest_of_file(path):
    total = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            total.update(block)
    return total.hexdigest()


