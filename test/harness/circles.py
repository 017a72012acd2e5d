# SPDX-License-Identifier: BSD-3-Clause
"""Circles inside a plug: files that include or call each other, directly or by way of others. A
header and its source are one file, which has the name of both without the ending.

A file calls another one when it uses the name of a function that the other one defines for all, or
of a macro with parameters. Members of classes are left out: a file that calls one includes its
class, so that a circle of such calls is one of includes."""

import os
import re

PLUGS = "netmod/"


def plug_of(name):
    return "/".join(name.split("/")[:2])


def stem(name):
    return os.path.splitext(name)[0]


def includes(texts):
    """Each file of a plug -> the files of its plug that it includes -> how."""
    edges = {stem(name): {} for name in texts if is_part(name)}
    for name, text in texts.items():
        if not is_part(name):
            continue
        for path in re.findall(r'(?m)^\s*#\s*include\s*"([^"]+)"', text):
            for wanted in (path, os.path.join(os.path.dirname(name), path)):
                other = stem(os.path.normpath(wanted))
                if other in edges and other != stem(name):
                    edges[stem(name)][other] = f'"{path}"'
    return edges


def calls(readers):
    """Each file of a plug -> the files of its plug whose functions it uses -> one of these."""
    edges, offered = {}, {}
    for name, reader in readers.items():
        if is_part(name):
            for function in reader.offered:
                offered.setdefault((plug_of(name), function), set()).add(stem(name))
    for name, reader in sorted(readers.items()):
        if not is_part(name):
            continue
        mine = edges.setdefault(stem(name), {})
        for word in sorted(reader.uses()):
            others = offered.get((plug_of(name), word), set())
            if stem(name) not in others:
                for other in others:
                    mine.setdefault(other, f"{word}()")
    return edges


def is_part(name):
    return name.startswith(PLUGS) and name.endswith((".h", ".c", ".cc"))


def knots(edges):
    """Sets of files, each of which leads to all others of its set."""
    def reached(start):
        seen, left = set(), [start]
        while left:
            for other in set(edges.get(left.pop(), ())) - seen:
                seen.add(other)
                left.append(other)
        return seen
    reach = {file: reached(file) for file in edges}
    found = {frozenset(other for other in reach[file] if file in reach.get(other, ()))
             for file in edges if file in reach[file]}
    return sorted(found, key=sorted)
