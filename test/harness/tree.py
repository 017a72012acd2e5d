# SPDX-License-Identifier: BSD-3-Clause
"""The files of a tree that are written by hand, and the room of each."""

import os
import subprocess

SOURCES = (".h", ".c", ".cc", ".def")
SPLIT = ("fci_core", "drivers", "netmod")  # into one room for each folder
WHOLE = ("test", "bench", "tools")


def names_of(tree):
    if os.path.exists(os.path.join(tree, ".git")):
        listed = subprocess.run(
            ["git", "-C", tree, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            check=True, capture_output=True).stdout.decode()
        names = [name for name in listed.split("\0") if name]
    else:
        names = [os.path.relpath(os.path.join(folder, name), tree)
                 for folder, _, files in os.walk(tree) for name in files]
    return sorted(name for name in names if name.split("/")[0] in SPLIT + WHOLE)


def text_of(tree, name):
    """Nothing: it is no file of this tree, or one that is not there."""
    path = os.path.join(tree, name)
    if not os.path.isfile(path) or os.path.islink(path):
        return None
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def room_of(name):
    parts = name.split("/")
    return "/".join(parts[:2]) if parts[0] in SPLIT and len(parts) > 2 else parts[0]
