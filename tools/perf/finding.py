# SPDX-License-Identifier: BSD-3-Clause
"""A finding of the look at all hosts, the hosts as they were seen, and the words for several."""

import textwrap
from dataclasses import dataclass, field

COLUMNS, INDENT = 90, 13  # as fci_info --doctor prints
MARKS = {"good": "ok       ", "note": "note     ", "bad": "PROBLEM  "}
MOST_NAMED = 6


@dataclass
class Finding:
    """state: good, note or bad; what: the subject in a word; where: names of hosts, or pairs of
    them as (from, to); code: of the exit, 0, or 1 where a job starts and does not get on, or 2
    where none could start."""
    state: str
    what: str
    text: str
    remedy: str = ""
    where: list = field(default_factory=list)
    code: int = 0


def good(what, text):
    return Finding("good", what, text)


def note(what, text, remedy="", where=()):
    return Finding("note", what, text, remedy, list(where))


def bad(what, text, remedy, where=(), code=2):
    return Finding("bad", what, text, remedy, list(where), code)


@dataclass
class Seen:
    """A host that can be started on. told: as there.Here.tell() has it, empty where there is no
    python3; address and interface: those by which the others are to reach it, empty where they
    are not known."""
    name: str
    slots: int
    told: dict = field(default_factory=dict)
    address: str = ""
    interface: str = ""

    @property
    def computer(self):
        """Its boot id: hosts of a lab share it."""
        return self.told.get("computer", "")

    @property
    def cores(self):
        return self.told.get("cores", 0)

    def of_interface(self, key):
        """MTU in bytes or speed in Mbit/s of the interface that the others reach, or None."""
        return self.told.get("interfaces", {}).get(self.interface, {}).get(key)

    @property
    def line_rate(self):
        """B/s of that interface, or None where it does not say."""
        megabits = self.of_interface("speed")
        return megabits and megabits * 1e6 / 8

    @property
    def addresses(self):
        """address -> interface, of all but loopback."""
        return {address: name for name, each in self.told["interfaces"].items()
                for address in each["addresses"] if not address.startswith("127.")}


def named(names):
    """The names, or the first of many."""
    names = list(names)
    if len(names) <= MOST_NAMED + 1:
        return ", ".join(names)
    return ", ".join(names[:MOST_NAMED]) + f" and {len(names) - MOST_NAMED} others"


def by_value(seen, value):
    """value -> names of the hosts that have it, the most frequent first."""
    found = {}
    for host in seen:
        found.setdefault(value(host), []).append(host.name)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def differing(groups):
    """A sentence's part for what by_value() found."""
    return "; ".join(f"{value} on {named(names)}" for value, names in groups.items())


def folded(pairs, tried):
    """Pairs (from, to) in words: a host's whole row or column of those tried is one, where it has
    two or more."""
    rows, columns, hosts = {}, {}, {}
    for of, to in tried:
        rows.setdefault(of, set()).add((of, to))
        columns.setdefault(to, set()).add((of, to))
        hosts.update({of: 1, to: 1})
    left, words = set(pairs), []
    for host in hosts:
        for row, text in ((rows.get(host, set()), f"{host} -> all"),
                          (columns.get(host, set()), f"all -> {host}")):
            if len(row) > 1 and row <= set(pairs) and row & left:
                words.append(text)
                left -= row
        if len(words) >= len(hosts) and not left:
            return "all -> all"
    return named(words + [f"{of} -> {to}" for of, to in pairs if (of, to) in left])


def wrapped(text):
    indent = " " * INDENT
    return textwrap.wrap(text, COLUMNS, initial_indent=indent, subsequent_indent=indent,
                         break_long_words=False, break_on_hyphens=False)


def lines_of(findings):
    """As fci_info --doctor prints findings."""
    lines = []
    for each in findings:
        lines += [MARKS[each.state] + each.what, *wrapped(each.text)]
        if each.remedy:
            lines += wrapped(f"-> {each.remedy[0].upper()}{each.remedy[1:]}.")
    count = sum(each.state == "bad" for each in findings)
    if not count:
        return [*lines, "", "No problem found."]
    verb = "is a problem" if count == 1 else "are problems"
    return [*lines, "", f"{count} of {len(findings)} findings {verb}; each line with -> says what "
            "to do."]
