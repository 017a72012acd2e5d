# SPDX-License-Identifier: BSD-3-Clause
"""What is let pass, row by row, each with a reason: real-time.txt has the cases that the clock judges,
skips.txt those that need what a machine may not have. A row that names no case fails the run."""

import dataclasses
import fnmatch
from pathlib import Path

import harness

HERE = Path(__file__).resolve().parent
REAL_TIME = "-in-real-time"


def rows(name, columns):
    lines = (HERE / name).read_text().splitlines()
    found = [[part.strip() for part in line.split("|")] for line in lines
             if line.strip() and not line.startswith("#")]
    wrong = [" | ".join(row) for row in found if len(row) != columns or not all(row)]
    if wrong:
        raise RuntimeError(f"{name}: a row has {columns} columns: {wrong[0]}")
    return found


def names_of(settings, modules):
    """transport -> suite/case of all that there is, on one host or several."""
    named = {}
    for transport in harness.TRANSPORTS:
        named[transport] = {
            f"{suite}/{case.name}" for lab in (None, True) for suite, module in modules.items()
            for case in module.cases(dataclasses.replace(settings, transport=transport, lab_of_run=lab))}
    return named


def is_skip_listed(transport, name):
    return any(fnmatch.fnmatchcase(transport, of) and fnmatch.fnmatchcase(name, pattern)
               for of, pattern, _ in rows("skips.txt", 3))


def faults(settings, modules):
    """(name, sentence) of what is in no list and should be, or in one and is not there."""
    named = names_of(settings, modules)
    everything = set().union(*named.values())
    listed = {name for name, _ in rows("real-time.txt", 2)}
    for name in sorted({name for name in everything if name.endswith(REAL_TIME)} - listed):
        yield name, "the clock judges it, and real-time.txt has no row with a reason"
    for name in sorted(listed - {name for name in everything if name.endswith(REAL_TIME)}):
        yield name, f"real-time.txt names it, and there is no such case that ends in {REAL_TIME}"
    for of, pattern, _ in rows("skips.txt", 3):
        if not any(fnmatch.fnmatchcase(transport, of) and fnmatch.filter(names, pattern)
                   for transport, names in named.items()):
            yield pattern, f"skips.txt names it over {of}, and there is no such case"
