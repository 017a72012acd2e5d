# SPDX-License-Identifier: BSD-3-Clause
"""Writes mutants into a copy of a file, each behind a switch of its own, so that one program holds
them all. No line moves."""

from source import Source

INCLUDE = '#include "test/mutants/switch.h"'


def overlaps(a, b):
    """Whether neither holds the other, and they are not apart."""
    return a[0] < b[0] < a[1] < b[1] or b[0] < a[0] < b[1] < a[1]


def flat(text):
    """In one line: it is not the place of what it replaces that counts."""
    return " ".join(text.split())


def written(text, mutants):
    """The text with all of these (number, mutant) in it, and the numbers of those that got no place."""
    kinds = {(site.begin, site.end): site.kind for site in Source(text).sites}
    places, left_out = {}, []
    for number, mutant in mutants:
        place = mutant.place[:2]
        if any(overlaps(place, other) for other in places):
            left_out.append(number)
        else:
            places.setdefault(place, []).append((number, mutant.place[2]))
    openings, closings = {}, {}
    for place, texts in sorted(places.items(), key=lambda each: (each[0][0], -each[0][1])):
        kind = kinds.get(place, "statement")
        if kind in ("statement", "jump"):
            before = "{ " + "".join(f"if (fci_mutant({number})) {{ {flat(other)} }} else "
                                    for number, other in texts) + "{ "
            after = " } }"
        else:
            truth = "!!" if kind in ("condition", "loop") else ""
            before = "(" + "".join(f"fci_mutant({number}) ? {truth}({flat(other)}) : "
                                   for number, other in texts) + f"{truth}("
            after = "))"
        openings[place[0]] = openings.get(place[0], "") + before
        closings[place[1]] = after + closings.get(place[1], "")
    out, last = [], 0
    for at in sorted({*openings, *closings}):
        out += [text[last:at], closings.get(at, ""), openings.get(at, "")]
        last = at
    return f"{INCLUDE}\n#line 1\n{''.join(out)}{text[last:]}", left_out
