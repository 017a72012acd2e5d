# SPDX-License-Identifier: BSD-3-Clause
"""What is beyond a limit, against the list of what may be. The list may only shrink, so it has to
say what is so today: a figure that is worse fails, and so does one that is better than its line."""

from dataclasses import dataclass

REASON = "REASON"  # stands where one has still to be written


@dataclass(frozen=True)
class Excess:
    """Something beyond a limit; figure: a number, or the files of a circle."""
    where: str
    what: str
    figure: object
    says: str = ""    # in words, with the limit
    remedy: str = ""

    def words(self):
        is_circle = isinstance(self.figure, frozenset)
        figure = ",".join(sorted(self.figure)) if is_circle else self.figure
        return f"{self.where} {self.what} {figure}"


@dataclass(frozen=True)
class Line:
    """One of the list."""
    number: int
    excess: Excess
    reason: str

    def allows(self, other):
        """Whether it is about this, however much of it there is."""
        mine = self.excess
        if (mine.where, mine.what) != (other.where, other.what):
            return False
        return not isinstance(mine.figure, frozenset) or other.figure <= mine.figure


def lines_of(text):
    """The lines of the list, and what is wrong with others."""
    lines, wrong = [], []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split(maxsplit=3)
        if len(words) < 4 or words[3] == REASON:
            wrong.append((number, f"{line}   <- no reason given"))
        if len(words) < 3:
            continue
        figure = int(words[2]) if words[2].isdigit() else frozenset(words[2].split(","))
        lines.append(Line(number, Excess(words[0], words[1], figure),
                          words[3] if len(words) > 3 else REASON))
    return lines, wrong


def complaints(excesses, name, text):
    """A line for each thing that is wrong, with what to do; `name` and `text` are the list's."""
    lines, wrong = lines_of(text)
    said = [f"{name}:{number}: {what}" for number, what in wrong]
    used = set()
    for excess in excesses:
        line = next((line for line in lines if line not in used and line.allows(excess)), None)
        if line is None:
            said.append(f"{excess.where}: {excess.says}   <- {excess.remedy}")
            continue
        used.add(line)
        allowed = line.excess.figure
        if isinstance(allowed, int) and excess.figure > allowed:
            said.append(f"{excess.where}: {excess.says}, {name} allows {allowed}"
                        f"   <- {excess.remedy}")
        elif excess.figure != allowed:
            said.append(f"{name}:{line.number}: {line.excess.words()}"
                        f"   <- it is better now: write {excess.words()}")
    for line in lines:
        if line not in used:
            said.append(f"{name}:{line.number}: {line.excess.words()}"
                        "   <- not beyond the limit any more: delete the line")
    return said


def listed(excesses, text):
    """The list as it has to be today: its comments, and the reasons of lines that are in it."""
    lines = lines_of(text)[0]
    result = [line for line in text.splitlines() if line.startswith("#")]
    for excess in excesses:
        reason = next((line.reason for line in lines if line.allows(excess)), REASON)
        result.append(f"{excess.words()} {reason}")
    return "\n".join(result) + "\n"
