# SPDX-License-Identifier: BSD-3-Clause
"""How far a matrix-vector product scales (fci-dissertation.txt, sections 2.2, 2.8.1, appendix B).
Times are in s, speeds in operations/s; p, a number of processes, need not be whole."""

import math
from dataclasses import dataclass

WAYS = ("message passing", "shared memory", "remote store")
ENOUGH = 0.5  # the efficiency that a reasonable number of processes has


@dataclass(frozen=True)
class Problem:
    """size: s, rows of the matrix; operation: t_op; serial: t_serial; latency, clock: t_latency and
    t_clock of the network, a value a cycle; sync: t_sync, a process's part of a barrier."""
    size: int
    operation: float
    serial: float
    latency: float
    clock: float
    sync: float = 0.0
    way: str = WAYS[0]
    is_alike: bool = False  # remote store is charged all values that each receives, as messages are


@dataclass(frozen=True)
class Model:
    """t_exec(p) = constant + shared / p + each p; alone: t_exec of the serial program."""
    constant: float
    shared: float
    each: float
    alone: float
    operations: float

    def time(self, p):
        return self.constant + self.shared / p + self.each * p

    def speed(self, p):
        """P(p), equation B.13, without the serial part's operations."""
        return self.operations / self.time(p)

    def efficiency(self, p):
        """E(p) = S(p) / p, equations B.1 and B.12."""
        return self.alone / self.time(p) / p

    def most(self):
        """p with the greatest speed."""
        return math.sqrt(max(1.0, self.shared / self.each))

    def enough(self):
        """p with an efficiency of one half, at most most()."""
        missing = self.shared - self.alone / ENOUGH
        root = math.sqrt(self.constant ** 2 - 4 * self.each * missing)
        return max(1.0, min(self.most(), (root - self.constant) / (2 * self.each)))


def model(problem):
    """Table 2.14 (equations 2.5, 2.26-2.30)."""
    operations = 2 * problem.size ** 2
    shared, alone = operations * problem.operation, problem.serial + operations * problem.operation
    values = problem.size * problem.clock
    if problem.way == "message passing":
        return Model(problem.serial + values, shared, problem.latency, alone, operations)
    if problem.way == "shared memory":
        reads = 2 * problem.size * (problem.latency + problem.clock)  # one of p of them is near
        return Model(problem.serial + reads, shared - reads, problem.sync, alone, operations)
    constant = problem.serial + problem.latency
    if problem.is_alike:
        return Model(constant + values, shared, problem.sync, alone, operations)
    return Model(constant, shared + values, problem.sync, alone, operations)


def messages(processes):
    """How many messages algorithm A.2 sends in a step: from each to each other."""
    return processes * (processes - 1)
