# SPDX-License-Identifier: BSD-3-Clause
"""An archive as the kernel takes it for its first files: cpio's format "newc"."""

FOLDER, PROGRAM, FILE = 0o040755, 0o100755, 0o100644
END = "TRAILER!!!"


def padded(data):
    return data + bytes(-len(data) % 4)


def entry(number, name, mode, content):
    name = name.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields)
    return padded(head + name) + padded(content)


def archive(folders, files):
    """folders: names; files: name -> (mode, bytes)."""
    entries = [(name, FOLDER, b"") for name in folders]
    entries += [(name, mode, content) for name, (mode, content) in files.items()]
    entries.append((END, 0, b""))
    return b"".join(entry(number, *each) for number, each in enumerate(entries, 1))
