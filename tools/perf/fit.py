# SPDX-License-Identifier: BSD-3-Clause
"""`fci_perf fit FILE`: the lines through the times of a result file (schema 1), as text."""

import statistics
from dataclasses import dataclass, replace

from perf import units
from perf.intervals import interval
from perf.lines import checked, found_regions, given_regions, line_through, poly
from perf.trouble import Trouble

WORD = 8  # B of a number of POLY3
BOTTLENECK = 4  # times FHALF is the least intensity of a program


@dataclass(frozen=True)
class Options:
    """breaks: lengths in B at which regions end, found where none is given; is_equal: weights 1 in
    place of 1 / T^2; seed: of the resamples."""
    breaks: tuple = ()
    is_equal: bool = False
    seed: int = 1


def lines(rows, options=Options()):
    """A Line with its interval for each region. rows: (bytes, [seconds of each sample])."""
    rows = checked(rows)
    if options.breaks:
        parts = given_regions(rows, options.breaks)
    else:
        line_through(rows, options.is_equal)  # refuses times that fall with the length
        parts = found_regions(rows, options.is_equal)
    return [replace(line_through(part, options.is_equal),
                    interval=interval(part, options.is_equal, options.seed)) for part in parts]


def _groups(result):
    """(case, ranks) -> its rows, in the order of the file."""
    found = {}
    for row in result["rows"]:
        if row["case"] != "synch1":  # a barrier has no length
            found.setdefault((row["case"], row["ranks"]), []).append(row)
    return found


def _carried(case, ranks, count):
    """N of the line, B; of COMMS3 all bytes of a round (parkbench-low-level.txt, line 19)."""
    return count * ranks * (ranks - 1) if case == "comms3" else count


def _cells(line):
    """The parameters of a line, and below each its interval."""
    figures = [("rinf", line.rinf, units.RATES), ("nhalf", line.nhalf, units.AMOUNTS),
               ("t0", line.t0, units.DURATIONS), ("pi0", line.pi0, units.COUNTS)]
    if line.t0 is None:
        figures[1:] = []
    cells = [units.shown(value, unit) for _, value, unit in figures]
    spans = [units.span(*line.interval[name], value, unit) if line.interval else ""
             for name, value, unit in figures]
    if line.t0 is None:
        return [*cells, "negative", "-", "-"], [*spans, "", "", ""]
    return cells, spans


def _table(case, ranks, found):
    """Two lines of the table for each region, and sentences about them."""
    rows, said = [], []
    for index, line in enumerate(found):
        cells, spans = _cells(line)
        begin = [case, str(ranks)] if index == 0 else ["", ""]
        count, miss = max(line.misses, key=lambda each: abs(each[1]))
        span = f"{units.length(line.first)} to {units.length(line.last)}"
        rows.append([*begin, span, *cells, units.rate(line.most_seen),
                     f"{units.percent(miss)} at {units.length(count)}"])
        if line.interval:
            rows.append(["", "", "", *spans, "", ""])
        if line.t0 is None:
            said.append(f"{case}, {ranks} ranks, {span}: NHALF negative: T0 not meaningful")
        if line.missed():
            count, miss = line.missed()[0]
            said.append(f"{case}, {ranks} ranks: the line misses {len(line.missed())} of "
                        f"{len(line.misses)} lengths by more than 15 %, {units.length(count)} by "
                        f"{units.percent(miss)}: it does not describe these times")
    return rows, said


def _told_of_poly(ranks, rows):
    """rows of case poly3 have their "order": the multiplications and additions for each word."""
    found = poly([(row["order"],
                   row["order"] * row["bytes"] / WORD / statistics.median(row["seconds"]))
                  for row in rows if "order" in row])
    least = units.number(BOTTLENECK * found.fhalf)
    return (f"poly3, {ranks} ranks: RHAT {units.number(found.rhat / 1e6)} million operations/s, "
            f"FHALF {units.number(found.fhalf)}; the intensity of a program must exceed 4 FHALF = "
            f"{least} operations for each word that it moves, or it waits for the network")


def heading(result):
    """One line: over which network, ranks, MPI, when; and that a run was not finished."""
    over = {"fci": " over FCI", "plain": " over the MPI's own network"}.get(result.get("over"), "")
    partial = "" if result.get("complete", True) else "; partial: the run was not finished"
    return (f"{result['command']} of {result['ranks']} ranks{over}, {result['mpi']}, "
            f"{result['started']}{partial}")


def told(result, options=Options()):
    """(lines of text, exit code). Refuses a file with nothing that a line goes through."""
    table, said, refused = [], [], []
    for (case, ranks), rows in _groups(result).items():
        try:
            if case == "poly3":
                said.append(_told_of_poly(ranks, rows))
                continue
            found = lines([(_carried(case, ranks, row["bytes"]), row["seconds"]) for row in rows],
                          options)
        except Trouble as trouble:
            refused.append(trouble)
            said.append(f"{case}, {ranks} ranks: no line: {trouble.cause}")
            continue
        cells, sentences = _table(case, ranks, found)
        table += cells
        said += sentences
    if not table and len(said) == len(refused):
        raise refused[0] if refused else Trouble(
            "there is nothing to fit", "the file has no rows of times",
            "fci_perf run comms1 --json FILE, then fci_perf fit FILE")
    head = ["case", "ranks", "lengths", "RINF", "NHALF", "T0", "PI0", "fastest", "farthest"]
    about = ["T = (N + NHALF) / RINF, T0 = NHALF / RINF = 1 / PI0. Below each: its interval, which "
             "holds the truth", "95 times of 100. fastest: N / T that was seen; farthest: the line "
             "beside the time that it misses most."]
    if any(row[0] == "comms3" for row in table):
        about.append("comms3: N is what all send in one round, P (P - 1) messages.")
    return [heading(result), *(units.table([head, *table], 3) + about if table else []), *said], 0
