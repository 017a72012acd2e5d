# SPDX-License-Identifier: BSD-3-Clause
"""Marks of lines that compare FCI with something else, and what they come to in the end.

A line is marked where one side is more than 1.3 times better, alike for both directions: less than
that is the machine's noise. None is marked where a figure is missing.
"""
import math

MARKED_FROM = 1.3


class Marks:
    def __init__(self):
        self.lines = self.better = self.worse = 0

    def mark(self, gain):
        """What is put behind a line. `gain`: how many times better FCI is; below 1 it is worse."""
        if not (math.isfinite(gain) and gain > 0):
            return ""
        self.lines += 1
        if gain > MARKED_FROM:
            self.better += 1
            return f"   <-- FCI {gain:.1f} x BETTER"
        if gain < 1 / MARKED_FROM:
            self.worse += 1
            return f"   <-- FCI {1 / gain:.1f} x WORSE"
        return ""

    def mark_pair(self, theirs, ours, less_is_better):
        """The same, of two figures."""
        if not (theirs > 0 and ours > 0):
            return ""
        return self.mark(theirs / ours if less_is_better else ours / theirs)

    def sentence(self):
        return (f"Of {self.lines} lines that compare, FCI is more than {MARKED_FROM} times better "
                f"in {self.better} and more than {MARKED_FROM} times worse in {self.worse}; these "
                "are marked.")
