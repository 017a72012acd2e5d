# SPDX-License-Identifier: BSD-3-Clause
"""How sure the parameters of a line are: intervals that hold the truth 95 times of 100."""

import math
import random
import statistics

from perf.lines import least_squares, medians, sum_of, weights_of

SEVERAL = 3  # samples of each length from which on the samples themselves tell the interval
RESAMPLES = 1000
MANY, NARROWER = 5, 0.87  # medians of five or more, resampled, spread 1.15 times as far
SHARE = 0.95


def student(freedom, share=SHARE):
    """The t that a share of Student's distribution lies within, by its closed form for whole
    degrees of freedom (Abramowitz, Stegun 26.7.3, 26.7.4) and halving."""
    def within(t):
        angle = math.atan(t / math.sqrt(freedom))
        cosine = math.cos(angle)
        term = cosine if freedom % 2 else 1.0
        total = term if freedom > 1 else 0.0
        for i in range(3 if freedom % 2 else 2, freedom - 1, 2):
            term *= cosine ** 2 * (i - 1) / i
            total += term
        total *= math.sin(angle)
        return 2 / math.pi * (angle + total) if freedom % 2 else total
    low, high = 0.0, 1e4
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle) < share else (low, middle)
    return high


def _inverse(low, high):
    """The interval of 1 / x where x > 0 lies between low and high."""
    return 1 / high if high > 0 else math.inf, 1 / low if low > 0 else math.inf


def _named(intercept, slope, nhalf):
    return {"rinf": _inverse(*slope), "nhalf": nhalf, "t0": intercept, "pi0": _inverse(*intercept)}


def interval_of_line(rows, is_equal=False):
    """From how far the times are from the line, with n - 2 degrees of freedom; NHALF, a ratio, by
    Fieller's theorem. None below three lengths."""
    counts, times = medians(rows)
    if len(rows) < 3:
        return None
    weights = weights_of(times, is_equal)
    a, b = least_squares(counts, times, weights)
    whole = math.fsum(weights)
    x = math.fsum(w * count for w, count in zip(weights, counts)) / whole
    spread = math.fsum(w * (count - x) ** 2 for w, count in zip(weights, counts))
    noise = sum_of(counts, times, weights) / (len(rows) - 2)
    scale = student(len(rows) - 2) ** 2 * noise
    aa, ab, bb = (scale * each for each in (1 / whole + x * x / spread, -x / spread, 1 / spread))
    first, half, last = b * b - bb, a * b - ab, a * a - aa
    root = math.sqrt(max(0.0, half * half - first * last))
    nhalf = ((half - root) / first, (half + root) / first) if first > 0 else (-math.inf, math.inf)
    return _named((a - math.sqrt(aa), a + math.sqrt(aa)),
                  (b - math.sqrt(bb), b + math.sqrt(bb)), nhalf)


def interval_of_samples(rows, is_equal=False, seed=1, resamples=RESAMPLES):
    """From lines through medians of samples that are drawn again from those of each length. Such a
    median of normal noise spreads 1.15 times as far as that of other samples, from five on."""
    drawn = random.Random(seed)
    counts, times = medians(rows)
    lines = []
    for _ in range(resamples):
        again = [time + (statistics.median(drawn.choices(samples, k=len(samples))) - time)
                 * (NARROWER if len(samples) >= MANY else 1)
                 for time, (_, samples) in zip(times, rows)]
        lines.append(least_squares(counts, again, weights_of(again, is_equal)))

    def middle(values):
        ordered = sorted(values)
        tail = round(resamples * (1 - SHARE) / 2)
        return ordered[tail], ordered[-1 - tail]
    return _named(middle(a for a, _ in lines), middle(b for _, b in lines),
                  middle(a / b if b > 0 else math.inf for a, b in lines))


def interval(rows, is_equal=False, seed=1):
    if all(len(samples) >= SEVERAL for _, samples in rows):
        return interval_of_samples(rows, is_equal, seed)
    return interval_of_line(rows, is_equal)
