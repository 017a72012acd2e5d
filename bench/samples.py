# SPDX-License-Identifier: BSD-3-Clause
"""Samples: figures with t_c around them, sorted by the machine's mode; medians of pair ratios."""
import math

# As in floor.cc: borders between what was measured on machines of three kinds.
SIBLINGS_BELOW_NS, SAME_L3_BELOW_NS = 35, 120
STEADY_FACTOR = 1.5
QUIET_ENOUGH = 3  # batches of a sample, as in probe.c


def mode_of(tc_ns):
    if not tc_ns > 0:
        return "unknown"
    if tc_ns < SIBLINGS_BELOW_NS:
        return "siblings"
    return "same-l3" if tc_ns < SAME_L3_BELOW_NS else "far"


def tc_values(*samples):
    return [value for sample in samples
            for value in (sample["tc_before_ns"], sample["tc_after_ns"])]


def mode_of_pair(*samples):
    """The mode that all samples were taken in; "changed" where t_c moved by more than a factor,
    "disturbed" where other processes got the cores all the time."""
    if any(not sample["crowded"] and sample["quiet"] < QUIET_ENOUGH for sample in samples):
        return "disturbed"
    values = tc_values(*samples)
    if min(values) <= 0:
        return "unknown"
    if max(values) > STEADY_FACTOR * min(values):
        return "changed"
    return mode_of(math.exp(sum(map(math.log, values)) / len(values)))


def quantile(values, q):
    """Linear between the two nearest."""
    ordered = sorted(values)
    at = q * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def ratio(ours, theirs):
    """Above 1: ours is better, for times as for rates."""
    if ours["unit"] == "ns":
        return theirs["value"] / ours["value"]
    return ours["value"] / theirs["value"]


def pair_up(ours, theirs):
    """Sample i of ours belongs to sample i of theirs. Returns, for each mode, the pairs' figures,
    and how many pairs were dropped for what reason."""
    modes, dropped = {}, {}
    for mine, other in zip(ours, theirs):
        if mine is None or other is None:
            dropped["failed"] = dropped.get("failed", 0) + 1
            continue
        mode = mode_of_pair(mine, other)
        if mode in ("changed", "unknown", "disturbed"):
            dropped[mode] = dropped.get(mode, 0) + 1
            continue
        modes.setdefault(mode, []).append((mine, other))
    return modes, dropped


def summary(pairs):
    ratios = [ratio(mine, other) for mine, other in pairs]
    return {
        "pairs": len(pairs),
        "ratio": quantile(ratios, 0.5),
        "ratio_p10": quantile(ratios, 0.1),
        "ratio_p90": quantile(ratios, 0.9),
        "ours": quantile([mine["value"] for mine, _ in pairs], 0.5),
        "theirs": quantile([other["value"] for _, other in pairs], 0.5),
        "unit": pairs[0][0]["unit"],
        "tc_ns": quantile(tc_values(*[sample for pair in pairs for sample in pair]), 0.5),
    }
