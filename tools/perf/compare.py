# SPDX-License-Identifier: BSD-3-Clause
"""`fci_perf compare OLD NEW`: the rows and links of two result files (schema 1) that differ by more
than their noise, as text. All is judged in logarithms, of times, so that more is slower."""

import math
import statistics
from dataclasses import dataclass

from perf import units
from perf.fit import heading
from perf.trouble import Trouble

LEAST = math.log(1.05)  # a smaller change is not worth a word
SIGMAS = 4  # of its own noise, that the change of a row has to be
UNKNOWN = math.log(1.20)  # the least change where nothing tells the noise
BESIDE = 2  # lengths on each side whose noise tells that of a row, which has few samples
SHARED = 4  # degrees of freedom that the noise of others has in that of a row
OF_MEDIAN = 1.2  # a median varies by this much more than a mean
MOST = 2 / 3  # of lengths or links, that have a change in common
# A link has one figure in each file: the spread of all their changes is all that tells noise.
SIGMAS_OF_LINKS = 5
HOST, LINK = math.log(1.07), math.log(1 / 0.85)  # the least change of a host's links, and of one
KEPT, OF_KEPT = 5 / 6, 0.64  # the nearest five of six values have 0.64 of the whole deviation
FEW = 12  # links from which on their spread tells their noise
PARTNERS = 3  # links of a host from which on their median is not that of one bad link


@dataclass(frozen=True)
class Change:
    """shift: log of the new time over the old one, above 0 where it is slower; old and new: median
    figures in s or B/s, shown by `show`, or not where that is None: of different lengths."""
    title: str
    shift: float
    old: float
    new: float
    show: object = None


@dataclass(frozen=True)
class Pair:
    """Figures of one length, or of one link, in both files: shift as of Change, noise: its standard
    deviation, None where it is not known."""
    title: str
    shift: float
    old: float
    new: float
    noise: float = None


def _limit(noise, least=LEAST, sigmas=SIGMAS):
    return UNKNOWN if noise is None else max(least, sigmas * noise)


def _common(shifts):
    """Their median if most of them are at least half of it; else they have nothing in common."""
    middle = statistics.median(shifts)
    far = sum(shift / middle >= 0.5 for shift in shifts) if middle else 0
    return middle if far >= MOST * len(shifts) else 0


def _change(title, pairs, show=None):
    return Change(title, *(statistics.median(getattr(pair, name) for pair in pairs)
                           for name in ("shift", "old", "new")), show)


# --- rows ---

def _rows(result):
    """(case, ranks, bytes, order) -> samples, s."""
    found = {}
    for row in result["rows"]:
        if row["seconds"]:
            key = row["case"], row["ranks"], row["bytes"], row.get("order")
            found[key] = found.get(key, []) + row["seconds"]
    return found


def _squares(samples):
    """Sum of the squares of log samples about their mean, and its degrees of freedom."""
    logs = [math.log(sample) for sample in samples]
    mean = math.fsum(logs) / len(logs)
    return math.fsum((each - mean) ** 2 for each in logs), len(logs) - 1


def _variances(squares):
    """That of each row from the sums of squares and degrees of freedom of all rows of its group, in
    the order of their lengths: that of its neighbours, or its own if it is more; None if no length
    has two samples."""
    freedom = sum(each[1] for each in squares)
    if not freedom:
        return [None] * len(squares)

    def mixed(rows, other):
        return ((math.fsum(each[0] for each in rows) + SHARED * other)
                / (sum(each[1] for each in rows) + SHARED))
    of_all = math.fsum(each[0] for each in squares) / freedom
    found = []
    for index, own in enumerate(squares):
        beside = mixed(squares[max(0, index - BESIDE):index + BESIDE + 1], of_all)
        found.append(max(beside, mixed([own], beside)))
    return found


def _groups(old, new):
    """(case, ranks) -> Pairs of the rows that both have."""
    old, new = _rows(old), _rows(new)
    both = sorted((key for key in old if key in new), key=lambda key: (*key[:3], key[3] or 0))
    found = {key[:2]: [] for key in old if key in new}
    for group, pairs in found.items():
        keys = [key for key in both if key[:2] == group]
        squares = [[a + b for a, b in zip(_squares(old[key]), _squares(new[key]))] for key in keys]
        for key, variance in zip(keys, _variances(squares)):
            before, after = statistics.median(old[key]), statistics.median(new[key])
            noise = None if variance is None else OF_MEDIAN * math.sqrt(
                variance * (1 / len(old[key]) + 1 / len(new[key])))
            title = units.length(key[2]) + (f", order {key[3]}" if key[3] is not None else "")
            pairs.append(Pair(title, math.log(after / before), before, after, noise))
    return found


def _changes_of_rows(title, pairs):
    """The change that all lengths have in common, then lengths that differ from that."""
    common = _common([pair.shift for pair in pairs])
    noise = None
    if pairs[0].noise is not None:
        noise = OF_MEDIAN * math.sqrt(statistics.mean(p.noise ** 2 for p in pairs) / len(pairs))
    found = []
    if len(pairs) > 1 and abs(common) > _limit(noise):
        found.append(_change(f"{title}, all {len(pairs)} lengths", pairs))
    else:
        common = 0
    for pair in pairs:
        if abs(pair.shift - common) > _limit(pair.noise):
            found.append(_change(f"{title}, {pair.title}", [pair], units.duration))
    return found


# --- links ---

LATENCY, RATE = 2, 3  # figures of a link


def _links(result, figure):
    """(name of from, name of to) -> s or B/s. A ping-pong cannot tell directions: there is one
    latency for both."""
    names = [host["name"] for host in result["hosts"]]
    found = {}
    for link in result["links"]:
        key = names[link[0]], names[link[1]]
        if link[figure]:
            found.setdefault(key if figure == RATE else tuple(sorted(key)), []).append(link[figure])
    return {key: statistics.median(each) for key, each in found.items()}


def _pairs_of_links(old, new, figure):
    """(from, to) -> Pair of the figures in both files."""
    old, new = _links(old, figure), _links(new, figure)
    sign, between = (-1, " -> ") if figure == RATE else (1, " - ")
    return {key: Pair(between.join(key), sign * math.log(new[key] / old[key]), old[key], new[key])
            for key in old if key in new}


def _spread(shifts):
    """Their standard deviation about their median, by those that are near it; None of few."""
    if len(shifts) < FEW:
        return None
    middle = statistics.median(shifts)
    near = sorted(abs(shift - middle) for shift in shifts)[:int(len(shifts) * KEPT)]
    return math.sqrt(math.fsum(each ** 2 for each in near) / len(shifts)) / OF_KEPT


def _sides(pairs, figure):
    """(title, the pairs) of each host that sends and that receives; of latencies of each host."""
    for host in sorted({host for key in pairs for host in key}):
        if figure == RATE:
            yield f"{host} -> all", [key for key in pairs if key[0] == host]
            yield f"all -> {host}", [key for key in pairs if key[1] == host]
        else:
            yield f"{host} - all", [key for key in pairs if host in key]


def _changes_of_links(pairs, figure):
    """The change that all links have in common, then hosts and single links that differ from it."""
    what, show = ("rate", units.rate) if figure == RATE else ("latency", units.duration)
    noise = _spread([pair.shift for pair in pairs.values()])
    rest = {key: pair.shift for key, pair in pairs.items()}
    found = []

    def judge(title, keys, least):
        """The shift that these links have in common, 0 if it is noise."""
        shift = _common([rest[key] for key in keys])
        of_all = None if noise is None else OF_MEDIAN * noise / math.sqrt(len(keys))
        if abs(shift) <= _limit(of_all, least, SIGMAS_OF_LINKS):
            return 0
        found.append(_change(f"{what} {title}", [pairs[key] for key in keys], show))
        return shift

    if len(pairs) > 1:
        common = judge("of all links", list(pairs), LEAST)
        rest = {key: shift - common for key, shift in rest.items()}
    sides = [(keys, judge(title, keys, HOST)) for title, keys in _sides(pairs, figure)
             if PARTNERS <= len(keys) < len(pairs)]
    for keys, shift in sides:
        for key in keys:
            rest[key] -= shift
    found += [_change(f"{what} {pair.title}", [pair], show) for key, pair in pairs.items()
              if abs(rest[key]) > _limit(noise, LINK, SIGMAS_OF_LINKS)]
    return found


# --- the command ---

def changes(old, new):
    """(Changes, names of all that is as before, sentences about all that is in one file only)."""
    found, same, missing = [], [], []
    groups = _groups(old, new)
    for (case, ranks), pairs in groups.items():
        own = _changes_of_rows(f"{case}, {ranks} ranks", pairs)
        found += own
        if not own:
            same.append(f"{case}, {ranks} ranks, {units.count_of(len(pairs), 'length')}")
    for what, figure in (("latency", LATENCY), ("rate", RATE)):
        pairs = _pairs_of_links(old, new, figure)
        own = _changes_of_links(pairs, figure) if pairs else []
        found += own
        if pairs and not own:
            same.append(f"{what} of {units.count_of(len(pairs), 'link')}")
        missing += _lost(what, _links(old, figure), _links(new, figure))
    missing += _lost("times", _rows(old), _rows(new))
    if not found and not same:
        raise Trouble("these two cannot be compared", "no row and no link is in both",
                      "compare files of the same command, hosts and ranks")
    return found, same, missing


def _lost(what, old, new):
    lost, added = len(old.keys() - new.keys()), len(new.keys() - old.keys())
    for only, count in (("old", lost), ("new", added)):
        if count:
            yield f"only in the {only} file: {what} of " + units.count_of(
                count, "row" if what == "times" else "link")


def _line(change):
    """Of a rate the change of the rate, of a time that of the time."""
    is_rate = change.show == units.rate
    share = math.expm1(-change.shift if is_rate else change.shift)
    figures = [change.show(change.old), change.show(change.new)] if change.show else ["", ""]
    word = "slower" if change.shift > 0 else "faster"
    return [change.title, *figures, units.percent(share), word]


def told(old, new):
    """(lines of text, exit code): 1 if anything is slower than in the old file."""
    found, same, missing = changes(old, new)
    lines = [f"old: {heading(old)}", f"new: {heading(new)}"]
    if found:
        lines += units.table([["", "old", "new", "change", ""], *map(_line, found)])
    else:
        lines.append("nothing changed by more than its noise, or than 5 %")
    lines += [f"as before: {'; '.join(same)}"] * bool(same) + missing
    return lines, int(any(change.shift > 0 for change in found))
