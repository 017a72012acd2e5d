# SPDX-License-Identifier: BSD-3-Clause
"""Steps side by side: one more than there are cores for, those that wait beside them, in order as far
as what each needs allows."""

import concurrent.futures
import os

WAITING_MOST = 3  # that wait for most of their time, at once
ONE_MORE = 1  # than there are cores for: a step keeps its core for two thirds of its time


class Lanes:
    def __init__(self, steps, cores=None):
        self.cores = cores or len(os.sched_getaffinity(0))
        self.left, self.now = list(steps), []

    def uses(self, step):
        return min(step.cores, self.cores)

    def fits(self, step):
        """Whether it can begin beside those that run."""
        if any(name in {each.name for each in self.left + self.now} for name in step.needs):
            return False
        if step.is_alone:  # and so it comes last of those that could begin
            return not self.now and all(each.is_alone for each in self.left)
        if any(each.is_alone for each in self.now):
            return False
        if step.cores == 0:
            return sum(each.cores == 0 for each in self.now) < WAITING_MOST
        now = [self.uses(each) for each in (*self.now, step)]
        return sum(now) <= self.cores + (ONE_MORE if max(now) < self.cores else 0)

    def next(self):
        """One that can begin now, in their order; None: one has to end first."""
        chosen = next((step for step in self.left if self.fits(step)), None)
        if chosen:
            self.left.remove(chosen)
            self.now.append(chosen)
        return chosen

    def run(self, work, tell):
        """`work` does a step, in a thread of its own; `tell` hears of each with what came of it."""
        with concurrent.futures.ThreadPoolExecutor(self.cores + WAITING_MOST) as pool:
            futures = {}
            while self.left or futures:
                while step := self.next():
                    futures[pool.submit(work, step)] = step
                done, _ = concurrent.futures.wait(
                    futures, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in done:
                    step = futures.pop(future)
                    self.now.remove(step)
                    tell(step, future.result())
