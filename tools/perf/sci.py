# SPDX-License-Identifier: BSD-3-Clause
"""Latency of rings and tori of SCI (sci-topology-thesis.txt, chapters 4 to 6): a message leaves its
host, passes links, is forwarded by hosts of its ring and switched by those where it changes to
another ring. Latencies are in s, hops a tuple with a number for each dimension, each ring has n
hosts, D is the number of dimensions. All is without contention."""

from dataclasses import dataclass

GRADIENT = 11.6e-9  # s/B, Table 1
BASE = 64  # B, of the message whose overhead is 2 085 ns
MOST_DIMENSIONS = 4
LEAST = 2.0  # hosts of a network
PRINTED = {"now": ((18, 191, 1831), (20, 220, 2050)), "enhanced": ((9, 45, 232), (5, 9, 18))}


@dataclass(frozen=True)
class Parameters:
    """Table 1 (lines 733-742), s. overhead: of each end, for a message of 64 B."""
    propagation: float = 7e-9
    forwarding: float = 60e-9
    switching: float = 670e-9
    overhead: float = 2085e-9

    def overhead_of(self, count):
        """o of a message of this many B."""
        return self.overhead + GRADIENT * (count - BASE)


def _latency(parts, parameters, count):
    links, forwards, switches = parts
    return (2 * parameters.overhead_of(count) + links * parameters.propagation
            + forwards * parameters.forwarding + switches * parameters.switching)


def request(hops, parameters=Parameters(), count=BASE):
    """Equation 8; also half of a ping-pong (equations 18, 22-25)."""
    rings = sum(1 for each in hops if each)
    return _latency((sum(hops), sum(hops) - rings, rings - 1), parameters, count)


def response(hops, n, parameters=Parameters(), count=BASE):
    """Equation 9: the rest of each ring that the request has gone a part of."""
    return request([n - each if each else 0 for each in hops], parameters, count)


def average_parts(n, dimensions):
    """Links, forwards and switches on the way to another host, on average (equations 14, 16, 15).
    n need not be whole: that is how sizes between those of tori are read off (lines 825-830)."""
    others = n ** dimensions - 1
    links = dimensions / 2 * n ** dimensions * (n - 1) / others
    switches = dimensions * (n - 1) * n ** (dimensions - 1) / others - 1
    return links, links - 1 - switches, switches


def average(hosts, dimensions, parameters=Parameters(), count=BASE):
    """Equation 17, of all hosts together."""
    return _latency(average_parts(hosts ** (1 / dimensions), dimensions), parameters, count)


def to_all(hosts, dimensions, parameters=Parameters(), count=BASE):
    """One message to each other host, one after the other (lines 783-793): a sum over all others is
    their number times the mean."""
    return (hosts - 1) * average(hosts, dimensions, parameters, count)


def crossing(dimensions, parameters=Parameters(), of=average):
    """From how many hosts on one dimension more is better (Table 2), not rounded; None: of none."""
    def is_better(hosts):
        return of(hosts, dimensions + 1, parameters) < of(hosts, dimensions, parameters)
    low = high = LEAST
    while not is_better(high):
        low, high = high, 2 * high
        if high > 1e12:
            return None
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if is_better(middle) else (middle, high)
    return high
