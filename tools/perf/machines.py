# SPDX-License-Identifier: BSD-3-Clause
"""Machines that were measured: those of the dissertation (machines.json), as Hockney's lines, and
EasyNet at other frequencies. s, B, B/s."""

import json
from dataclasses import dataclass
from pathlib import Path

from perf.lines import least_squares
from perf.trouble import Trouble

WIDTH = 4  # B that EasyNet carries in a cycle
FILE = Path(__file__).resolve().with_name("machines.json")


@dataclass(frozen=True)
class Machine:
    """latency: of 4 B, s, taken for T0; rate: the greatest of MPI, taken for RINF; limit: of the
    network, None where it is not known."""
    name: str
    title: str
    latency: float
    rate: float
    limit: float = None

    @property
    def nhalf(self):
        return self.latency * self.rate

    def time(self, count):
        return self.latency + count / self.rate


@dataclass(frozen=True)
class Linpack:
    """Table 4.13: operations/s and problem sizes. half: the size with half of `most`."""
    title: str
    peak: float
    most: float
    size: int
    half: int

    def hockney(self):
        """(RINF, NHALF) of the R = RINF / (1 + NHALF / N) through both points."""
        nhalf = 1 / (1 / self.half - 2 / self.size)
        return self.most * (1 + nhalf / self.size), nhalf

    def is_possible(self):
        """Whether RINF is not above the peak."""
        return self.hockney()[0] <= self.peak


def _recorded():
    return json.loads(FILE.read_text(encoding="utf-8"))


def machines():
    """By name, the least latency first."""
    return {each["name"]: Machine(**each) for each in _recorded()["machines"]}


def machine(name):
    found = machines()
    if name not in found:
        raise Trouble(f"there is no recorded machine '{name}'", "recorded are " + ", ".join(found),
                      "fci_perf model hockney shows them")
    return found[name]


def linpack():
    return [Linpack(**each) for each in _recorded()["linpack"]]


def easynet():
    """Table 4.8: [(MHz, {which latency: s})]."""
    record = _recorded()["easynet"]
    return [(frequency, dict(zip(record["kinds"], (each * 1e-6 for each in latencies))))
            for frequency, *latencies in record["us"]]


def easynet_rate(megahertz):
    """Theoretical maximum of Table 4.10."""
    return WIDTH * megahertz * 1e6


def easynet_fit(kind):
    """(a, b) of latency = a + b / f, s and s MHz: equations 4.3-4.5. All points count alike."""
    points = [(1 / frequency, latencies[kind]) for frequency, latencies in easynet()]
    return least_squares([x for x, _ in points], [y for _, y in points], [1.0] * len(points))
