# SPDX-License-Identifier: BSD-3-Clause
"""Mutants: what a line could wrongly mean. An edge is moved, a check is left out, an order swapped, a
wake-up or a return of credit forgotten, a unit or a sign is another."""

import random
import re
from dataclasses import dataclass, field

from source import Source

EDGES = [("<", "<="), ("<=", "<"), (">", ">="), (">=", ">")]
UNITS = [("+", "-"), ("-", "+"), ("+=", "-="), ("-=", "+="), ("*", "/"), ("/", "*"), ("%", "/"),
         ("<<", ">>"), (">>", "<<"), ("&", "|"), ("|", "&"), ("|=", "&="), ("&=", "|=")]
WORDS = [("std::min", "std::max"), ("std::max", "std::min")]
SHOWN = 150  # letters of a mutant
# Statements without a meaning that a test could see.
SAID = re.compile(r"FCI_(?:ICL_)?ASSERT\b|assert\(|log::|opal_output|static_cast<void>|\(void\)\w+;$")


@dataclass(frozen=True)
class Mutant:
    path: str
    line: int
    kind: str      # edge, check, order, forgotten, unit, word, told, written
    before: str    # in one line
    after: str
    place: tuple = field(compare=False, repr=False)  # begin and end of its site, the new text
    lines: range = field(compare=False, repr=False)  # of its site

    def __str__(self):
        return f"{self.path}:{self.line}: {self.kind}: {self.before}  ->  {self.after}"


def shown(text):
    return " ".join(text.split())[:SHOWN] or "nothing"


def parts_of(code, sign):
    """Where the operands of `sign` lie, if it is the outermost operator."""
    depth, at, found = 0, 0, []
    for i, letter in enumerate(code):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0 and code.startswith(sign, i) and code[i - 1:i] != sign[0] \
                and code[i + 2:i + 3] != sign[0]:
            found.append((at, i))
            at = i + len(sign)
        elif depth == 0 and letter == "?":
            return []
    return [*found, (at, len(code))] if found else []


# Methods that change their own object and nothing else.
OWN = "add|append|assign|clear|close|erase|insert|pop|pop_front|push_back|reset|resize"
PATH = r"[A-Za-z_]\w*(?:(?:\.|->)[A-Za-z_]\w*)*"  # a.b->c


def written(text):
    """What a statement changes, as paths; None: it may be anything, as it calls a function."""
    changed = re.match(rf"(?:\(void\))?(?:({PATH})(?:\[[^]]*\])? (?:[-+|&^]?=|<<=|>>=) "
                       rf"|({PATH})(?:\.|->)(?:{OWN})\()", text)
    return changed and {re.sub("->", ".", changed[1] or changed[2])}


def depend(first, second):
    """Whether it can matter which of two statements is first: one changes what the other names."""
    for one, other in ((first, second), (second, first)):
        names = {re.sub("->", ".", name) for name in re.findall(PATH, other)}
        changes = written(one)
        if changes is None:
            if written(other) is None or any(re.search(r"_\b", name) for name in names):
                return True
            continue
        for change in changes:
            if any(f"{name}.".startswith(f"{change}.") or f"{change}.".startswith(f"{name}.")
                   for name in names):
                return True
    return False


class Rules:
    """All mutants of a file."""

    def __init__(self, path, text):
        self.path, self.source = path, Source(text)
        self.text, self.code = self.source.text, self.source.code
        self.found = []
        for site in self.source.sites:
            if not SAID.match(self.text[site.begin:site.end]):
                self.of(site)
        for run in self.source.runs:
            self.orders(run)

    def put(self, site, kind, begin, end, text):
        """`text` instead of what is from `begin` to `end` of the site."""
        before, after = self.text[site.begin:begin], self.text[end:site.end]
        whole = before + text + after
        if len(whole) > SHOWN:  # the change is to be seen
            before, after = before[-20:], after[:40]
        self.found.append(Mutant(
            self.path, self.source.line(begin), kind, shown(before + self.text[begin:end] + after),
            shown(before + text + after), (site.begin, site.end, whole), self.lines(site)))

    def lines(self, first, last=None):
        return range(self.source.line(first.begin), self.source.line((last or first).end) + 1)

    def of(self, site):
        code = self.code[site.begin:site.end]
        if site.kind == "statement":
            self.put(site, "forgotten", site.begin, site.end, ";")
        elif site.kind == "jump":
            self.put(site, "forgotten", site.begin, site.end, ";")
            return
        elif site.kind == "value" and code in ("true", "false"):
            self.put(site, "told", site.begin, site.end, "false" if code == "true" else "true")
        if "{" in code:
            return
        self.operators(site, code)
        if site.kind in ("condition", "loop", "value"):
            self.checks(site, code)

    def operators(self, site, code):
        for pairs, kind in ((EDGES, "edge"), (UNITS, "unit")):
            for old, new in pairs:
                for found in re.finditer(rf"(?<= ){re.escape(old)}(?= )", code):
                    self.put(site, kind, site.begin + found.start(), site.begin + found.end(), new)
        for old, new in WORDS:
            for found in re.finditer(rf"(?<!\w){re.escape(old)}(?!\w)", code):
                self.put(site, "word", site.begin + found.start(), site.begin + found.end(), new)
        for found in re.finditer(r"(?<![\w.>])(\+\+|--)(?=\w)", code):
            self.put(site, "unit", site.begin + found.start(), site.begin + found.end(),
                     "--" if found[1] == "++" else "++")
        for found in re.finditer(r"(?<![\w.'<])(\d+)(?=u?\b)(?![\w.'>])", code):
            self.put(site, "edge", site.begin + found.start(), site.begin + found.end(),
                     str(int(found[1]) + 1))

    def checks(self, site, code):
        """One operand of && or || left out; a condition of one that is never true, or always."""
        for sign in ("||", "&&"):
            parts = parts_of(code, sign)
            for begin, end in parts:
                rest = f" {sign} ".join(self.text[site.begin + b:site.begin + e].strip()
                                        for b, e in parts if b != begin)
                self.put(site, "check", site.begin, site.end, rest)
            if parts:
                return
        if site.kind == "condition":
            for told in ("false", "true"):
                self.put(site, "check", site.begin, site.end, told)

    def orders(self, run):
        """Two statements that follow each other, the other way round."""
        for first, second in zip(run, run[1:]):
            texts = [self.text[each.begin:each.end] for each in (first, second)]
            if any("{" in text or SAID.match(text) or "(" not in text for text in texts) or \
                    self.code[first.end:second.begin].strip() or not depend(*texts) or \
                    "#" in self.text[first.end:second.begin]:  # a line for the preprocessor
                continue
            swapped = texts[1] + " " + texts[0]
            self.found.append(Mutant(
                self.path, self.source.line(first.begin), "order", shown(" ".join(texts)),
                shown(swapped), (first.begin, second.end, swapped), self.lines(first, second)))


def of_row(path, text, old, new):
    """A mutant written by hand: at the place of the text `old`, which is there once."""
    begin = text.find(old)
    if begin < 0 or text.find(old, begin + 1) >= 0:
        raise ValueError(f"{path}: not there exactly once: {old}")
    rules = Rules(path, text)
    around = [site for site in rules.source.sites
              if site.begin <= begin and begin + len(old) <= site.end]
    if not around:
        raise ValueError(f"{path}: no statement and no condition holds: {old}")
    site = min(around, key=lambda each: each.end - each.begin)
    whole = text[site.begin:begin] + new + text[begin + len(old):site.end]
    return Mutant(path, rules.source.line(begin), "written", shown(old), shown(new),
                  (site.begin, site.end, whole), rules.lines(site))


def sample(mutants, count, seed):
    """As many of each kind as there are, as far as they go; not two of a line."""
    chance, lines, chosen = random.Random(seed), set(), []
    kinds = {}
    for mutant in chance.sample(mutants, len(mutants)):
        kinds.setdefault(mutant.kind, []).append(mutant)
    while len(chosen) < count and any(kinds.values()):
        for kind in sorted(kinds):
            while kinds[kind]:
                mutant = kinds[kind].pop()
                if (mutant.path, mutant.line) not in lines:
                    lines.add((mutant.path, mutant.line))
                    chosen.append(mutant)
                    break
    return chosen[:count]
