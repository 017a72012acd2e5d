# SPDX-License-Identifier: BSD-3-Clause
"""What is known of mutants, in rows with ' | ' between their words: which cannot be noticed, and which
were written by hand."""

from dataclasses import dataclass
from pathlib import Path

import rules

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Row:
    place: str
    words: tuple


def rows_of(name, count):
    for number, line in enumerate((HERE / name).read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            words = tuple(word.strip() for word in line.split(" | "))
            if len(words) != count or not all(words):
                raise ValueError(f"{name}:{number}: not {count} parts, with ' | ' between them")
            yield Row(f"test/mutants/{name}:{number}", words)


class Equivalent:
    """Rows: a file or *, a part of the line or of the change as it is shown, the reason."""

    def __init__(self):
        self.rows, self.used = list(rows_of("equivalent.txt", 3)), set()

    def has(self, mutant, line):
        change = f"{mutant.before} -> {mutant.after}"
        found = [row for row in self.rows
                 if row.words[0] in ("*", Path(mutant.path).name) and
                 (row.words[1] in line or row.words[1] in change)]
        self.used.update(found)
        return bool(found)

    def dead(self):
        """Of what was asked for: rows that leave out nothing."""
        return [f"{row.place}: {row.words[0]} | {row.words[1]}   <- no mutant has this in its line: "
                "name where it is now, or delete the row"
                for row in self.rows if row not in self.used]


def written(texts):
    """(mutants of the files in `texts`, complaints). Rows: file, text, the text instead, what that
    means."""
    found, complaints = [], []
    for row in rows_of("written.txt", 4):
        path, old, new, _ = row.words
        if path in texts:
            try:
                found.append(rules.of_row(path, texts[path], old, new))
            except ValueError as problem:
                complaints.append(f"{row.place}: {problem}")
    return found, complaints


def elsewhere(texts):
    """Rows written by hand of a file that is in no room."""
    return [f"{row.place}: {row.words[0]} is in no room" for row in rows_of("written.txt", 4)
            if row.words[0] not in texts]
