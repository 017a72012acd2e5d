# SPDX-License-Identifier: BSD-3-Clause
"""Straight lines through times of messages: PARKBENCH's four parameters (parkbench-low-level.txt,
lines 7-17), and where one line ends and another begins, as libraries change their protocol.

T = (N + NHALF) / RINF, T and T0 in s, N and NHALF in B, RINF in B/s, PI0 in 1/s. Rows are pairs
(bytes, [seconds of each sample]); the time of a length is the median of its samples."""

import math
import statistics
from dataclasses import dataclass

from perf.trouble import Trouble

LEAST_LENGTHS = 4  # in a region that is found
GAIN = 6  # of BIC, for one region more; BIC alone splits 13 of 100 lines of noise
EXACT = 1e-12  # relative variance below which a fit is exact: clocks are no better
MISSED = 0.15  # a line that misses a time by more is not a description of it


@dataclass(frozen=True)
class Line:
    """T = intercept + slope N for lengths first <= N <= last (s, s/B, B). misses: (bytes, T of the
    line / measured T - 1) of each length; interval: name of a parameter -> (low, high), or None
    where there are too few figures; most_seen: greatest N / T, B/s."""
    intercept: float
    slope: float
    first: int
    last: int
    misses: tuple
    most_seen: float
    interval: dict = None

    @property
    def rinf(self):
        return 1 / self.slope

    @property
    def nhalf(self):
        return self.intercept / self.slope

    @property
    def t0(self):
        """None where NHALF is not positive: no time to start is below 0."""
        return self.intercept if self.intercept > 0 else None

    @property
    def pi0(self):
        return 1 / self.intercept if self.intercept > 0 else None

    def time(self, count):
        return self.intercept + self.slope * count

    def rate(self, count):
        """R = RINF / (1 + NHALF / N); of an empty message 0."""
        return count / self.time(count)

    def missed(self):
        """The lengths whose time the line misses by more than MISSED, the worst first."""
        far = [miss for miss in self.misses if abs(miss[1]) > MISSED]
        return sorted(far, key=lambda miss: -abs(miss[1]))


@dataclass(frozen=True)
class Poly:
    """R = rhat / (1 + fhalf / F): R and rhat in operations/s, F and fhalf in operations a word."""
    rhat: float
    fhalf: float


def least_squares(xs, ys, weights):
    """(a, b) of the line y = a + b x with the least weighted sum of squares. About the centre, so
    that nothing cancels: the same as b = (W S(wxy) - S(wx) S(wy)) / (W S(wxx) - S(wx)^2)."""
    whole = math.fsum(weights)
    x = math.fsum(w * each for w, each in zip(weights, xs)) / whole
    y = math.fsum(w * each for w, each in zip(weights, ys)) / whole
    spread = math.fsum(w * (each - x) ** 2 for w, each in zip(weights, xs))
    slope = math.fsum(w * (p - x) * (q - y) for w, p, q in zip(weights, xs, ys)) / spread
    return y - slope * x, slope


def weights_of(times, is_equal=False):
    """1 / T^2, but for a factor: noise is a share of the time, so all lengths count alike; or 1."""
    return [1.0] * len(times) if is_equal else [(min(times) / time) ** 2 for time in times]


def checked(rows):
    """Rows in the order of their lengths, each length once; refuses figures that are none."""
    merged = {}
    for count, samples in rows:
        for sample in samples:
            if not (0 < sample < math.inf and 0 <= count < 2 ** 63):
                raise Trouble("there is no line through these times",
                              f"{count} B are said to have taken {sample} s",
                              "measure again; lengths are 0 or more, times more than 0")
        merged.setdefault(count, []).extend(samples)
    rows = [(count, samples) for count, samples in sorted(merged.items()) if samples]
    if len(rows) < 2:
        raise Trouble("there is no line through these times",
                      f"there is one length, {rows[0][0]} B" if rows else "there are no times",
                      "measure at least two lengths, better eight, from 8 B to 1 MiB")
    return rows


def medians(rows):
    return [count for count, _ in rows], [statistics.median(samples) for _, samples in rows]


def line_through(rows, is_equal=False):
    """The one line through checked rows, without an interval."""
    counts, times = medians(rows)
    intercept, slope = least_squares(counts, times, weights_of(times, is_equal))
    if not slope > 0:
        raise Trouble("there is no line through these times",
                      f"they fall from {times[0]:.3g} s at {counts[0]} B to {times[-1]:.3g} s at "
                      f"{counts[-1]} B, so RINF would be negative",
                      "measure longer messages, and with nothing else running")
    misses = tuple((count, (intercept + slope * count) / time - 1)
                   for count, time in zip(counts, times))
    return Line(intercept, slope, counts[0], counts[-1], misses,
                max(count / time for count, time in zip(counts, times)))


# --- where one line ends and another begins ---

def sum_of(counts, times, weights):
    """The weighted sum of squares about the line; unlimited where the line falls."""
    intercept, slope = least_squares(counts, times, weights)
    if not slope > 0:
        return math.inf
    return math.fsum(w * (intercept + slope * count - time) ** 2
                     for w, count, time in zip(weights, counts, times))


def found_regions(rows, is_equal=False):
    """Parts of the rows with a line each: over all ways to part them the one with the least sum, as
    many parts as BIC is better for by GAIN each, with at least LEAST_LENGTHS lengths in a part. Its
    first term has n - 2 in place of n: n would part 3.4 of 100 lines of noise."""
    counts, times = medians(rows)
    size = len(rows)
    weights = weights_of(times, is_equal)  # of one factor for all parts
    floor = EXACT * math.fsum(w * time ** 2 for w, time in zip(weights, times))
    sums = {(begin, end): sum_of(counts[begin:end], times[begin:end], weights[begin:end])
            for end in range(2, size + 1) for begin in range(end - 1)
            if end - begin >= LEAST_LENGTHS or end - begin == size}
    least = {0: (0.0, ())}  # end of the parts so far -> (their sum, the end of each)
    choices = [(math.inf, (size,))]
    for parts in range(1, max(1, size // LEAST_LENGTHS) + 1):
        least = {end: min((least[begin][0] + value, (*least[begin][1], end))
                          for (begin, last), value in sums.items()
                          if last == end and begin in least)
                 for end in {last for begin, last in sums if begin in least}}
        if size in least:
            value, ends = least[size]
            parameters = 3 * parts - 1  # two of each line, and where it ends
            choices.append(((size - 2) * math.log(max(value, floor) / size)
                            + parameters * math.log(size) + GAIN * parts, ends))
    ends = min(choices)[1]
    return [rows[begin:end] for begin, end in zip((0, *ends), ends)]


def given_regions(rows, breaks):
    """Parts of the rows that end with these lengths, which belong to the shorter ones."""
    edges = [-1, *sorted(breaks), math.inf]
    parts = [[row for row in rows if low < row[0] <= high] for low, high in zip(edges, edges[1:])]
    for part, low, high in zip(parts, edges, edges[1:]):
        if len(part) < 2:
            upper = "" if high == math.inf else f" up to {high} B"
            raise Trouble("there is no line for each of these regions",
                          f"above {max(low, 0)} B{upper} there "
                          + ("is one length" if part else "are no lengths"),
                          "name other --breaks, or measure more lengths")
    return parts


# --- POLY3 ---

def poly(points):
    """POLY3 (lines 19-21): the line through (1 / F, 1 / R). points: (F, R)."""
    points = sorted(points)
    if len({intensity for intensity, _ in points}) < 2 or not all(
            math.isfinite(each) and each > 0 for point in points for each in point):
        raise Trouble("there is no line through these rates of POLY3",
                      "it takes two intensities at least, and rates above 0", "measure again")
    inverse = [1 / rate for _, rate in points]
    intercept, slope = least_squares([1 / intensity for intensity, _ in points], inverse,
                                     weights_of(inverse))
    if not intercept > 0:
        raise Trouble("there is no line through these rates of POLY3",
                      "they grow faster than the intensity, so RHAT would be negative",
                      "measure with nothing else running, or greater intensities")
    return Poly(1 / intercept, slope / intercept)
