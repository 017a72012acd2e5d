# SPDX-License-Identifier: BSD-3-Clause
"""How large a class is with all that an object of it has: what it inherits, and what lies in it."""

import os


def last(name):
    return name.split("::")[-1]


class Classes:
    """Those of a tree, by the readers of its files (cxx.py)."""

    def __init__(self, readers):
        self.all = [found for reader in readers.values() for found in reader.classes]
        self.named = {}
        for found in self.all:
            self.named.setdefault(last(found.name), []).append(found)

    def base(self, derived, written):
        """The class of the tree that is meant by `written`. None: it is another's, or not known."""
        folder = os.path.dirname(derived.file)
        room = written.split("::")[-2:-1]
        ways = (lambda other: other.file == derived.file,
                lambda other: room and room[0] in other.file.split("/")[:-1],
                lambda other: os.path.dirname(other.file) == folder,
                lambda other: True)
        others = [other for other in self.named.get(last(written), []) if other is not derived]
        for way in ways:
            found = [other for other in others if way(other)]
            if len(found) == 1:
                return found[0]
        return None

    def held(self, owner):
        """Classes inside it of which it has a data member, and those of which these have one."""
        for other in self.all:
            outer, _, name = other.name.rpartition("::")
            if other.file == owner.file and outer == owner.name and name in owner.types:
                yield other
                yield from self.held(other)

    def size(self, found, above=()):
        """Names of its functions, and how many data members. A function that overrides one of a
        base is one, and a base's constructors and destructor are none of it."""
        functions, members = list(found.functions), found.members
        for inner in self.held(found):
            functions += inner.functions
            members += inner.members
        for written in found.bases:
            base = self.base(found, written)
            if base is None or base in above:
                continue
            inherited, more = self.size(base, (*above, found))
            own = set(functions)
            functions += [name for name in inherited
                          if name not in own and name.lstrip("~") != last(base.name)]
            members += more
        return functions, members
