# SPDX-License-Identifier: BSD-3-Clause
"""Order statistics of a few figures, and a deviation that a few far ones do not change."""

import math
import statistics

LEFT_OUT = 6  # one of so many figures, of those that are farthest from 0
OF_NORMAL = 0.64  # the deviation that the others of a normal distribution have, as a share of sigma


median = statistics.median


def quantile(values, share):
    """The least figure with this share of all at or below it: the nearest rank."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def deviation(residuals):
    """Sigma of residuals about 0, without the farthest sixth of them; there are 4 or more."""
    kept = sorted(map(abs, residuals))[:-round(len(residuals) / LEFT_OUT)]
    return math.sqrt(sum(each * each for each in kept) / len(residuals)) / OF_NORMAL
