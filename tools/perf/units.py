# SPDX-License-Identifier: BSD-3-Clause
"""Figures as people read them: us, MB/s of 10^6 B/s, lengths of messages in KiB where they are
whole, other amounts of bytes in kB of 1 000 B. In files all are s, B/s and B."""

import math
import re

from perf.trouble import Trouble

SIZES = {"": 1, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9,
         "KiB": 2 ** 10, "MiB": 2 ** 20, "GiB": 2 ** 30,
         "B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9,
         "s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
STEPS = ((2 ** 30, "GiB"), (2 ** 20, "MiB"), (2 ** 10, "KiB"))


def number(value):
    """Three significant digits, without exponents; thousands are set apart."""
    if not math.isfinite(value):
        return "unlimited"
    if value == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(value) * (1 + 1e-12)))
    rounded = f"{round(value, digits):,.{max(0, min(digits, 9))}f}"
    return rounded.replace(",", " ")


def parsed(text):
    """14.2us, 1.1GB/s, 64KiB, 1e-6: in s, B/s or B."""
    found = re.fullmatch(r"(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)\s*([A-Za-z/]*)", text)
    if not found or found.group(2) not in SIZES or float(found.group(1)) > 1e30:
        raise Trouble(f"'{text}' is no figure", "it is a number, and may end in one of "
                      + ", ".join(unit for unit in SIZES if unit), "such as 14.2us or 1.1GB/s")
    return float(found.group(1)) * SIZES[found.group(2)]


DURATIONS = ((10, 1, "s"), (1e-2, 1e-3, "ms"), (0, 1e-6, "us"))
RATES = ((1e9, 1e9, "GB/s"), (0, 1e6, "MB/s"))
AMOUNTS = ((1e6, 1e6, "MB"), (1e4, 1e3, "kB"), (0, 1, "B"))  # of bytes; need not be whole
COUNTS = ((0, 1, "/s"),)


def shown(value, units):
    """units: (least value, size of a unit, its name), falling; the last is for all that is less."""
    _, size, name = next((each for each in units if abs(value) >= each[0]), units[-1])
    return f"{number(value / size)} {name}"


def span(low, high, value, units):
    """An interval in the unit of the value that it is of, without the unit."""
    _, size, _ = next((each for each in units if abs(value) >= each[0]), units[-1])
    if low == -math.inf:
        return "unknown"
    if high == math.inf:
        return f"{number(low / size)} or more"
    return f"{number(low / size)}{'-' if low >= 0 else ' to '}{number(high / size)}"


def duration(seconds):
    return shown(seconds, DURATIONS)


def rate(bytes_per_second):
    return shown(bytes_per_second, RATES)


def length(count):
    """The length of a message in bytes, exact."""
    for size, name in STEPS:
        if count >= size and count % size == 0:
            return f"{count // size} {name}"
    return f"{count:,} B".replace(",", " ")


def count_of(number, noun):
    return f"{number} {noun}{'s' * (number != 1)}"


def percent(share):
    """A change: +2.1 %, -0.4 %, +120 %."""
    return f"{100 * share:+.{1 if abs(share) < 0.0995 else 0}f} %"


def table(rows, left=1):
    """Lines of equally wide columns, two blanks apart; the first `left` columns begin at the left,
    the others end at the right. rows: of strings, all as long as the first."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) if i < left else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
            for row in rows]
