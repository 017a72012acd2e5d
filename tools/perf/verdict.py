# SPDX-License-Identifier: BSD-3-Clause
"""Hosts and pairs that are slower than is usual here.

Values are those of one measurement: rates {(s, d): B/s} from s to d, or latencies {(a, b): s} with
a < b, since a ping-pong cannot tell one direction from the other. Hosts are indices. Not every
pair need be there. All is judged in logarithms, as noise and faults multiply:

    log rate = level + sending(s) + receiving(d) + rest(s, d)
    -log latency = level + host(a) + host(b) + rest(a, b)

It differs from a median polish in four things; drawn matrices showed that each is needed:
- It takes the upper quartile of a row, not its median, because a fault only makes slower. A median
  takes two slow pairs of a host among 4 for a slow host, and two slow hosts of 4 for usual.
- Pairs whose other end is slow itself do not count for a row: a rate is that of the slower end, so
  such a pair is no slower for the second fault, and would hide it.
- Sigma is a deviation without the farthest sixth, not a MAD: of the 12 residuals of 4 hosts 7 are
  about 0 since the polish made them so, and one MAD in 100 is four times the usual one (now twice).
- The limit is 4 sigma (3 for few hosts) instead of 5, because the second measurement has the same
  limit, and a better sigma: it is told from the differences of both measurements, too.
"""

import math
from dataclasses import dataclass

from perf import stats

HOST, PAIR = math.log(1 / 0.90), math.log(1 / 0.85)  # the least excess that is worth a word
FEW = math.log(1 / 0.75)  # the greatest limit where few values tell the noise badly, or not at all
SIGMAS, SIGMAS_OF_FEW = 4, 3  # the latter in the first of the two measurements only
OF_QUARTILE, OF_MEDIAN = 1.36, 1.25  # either of n values varies by this x sigma / sqrt(n)
UPPER, UPPER_MIDDLE, ROUNDS = 0.75, 0.51, 4
FREEDOM, FREEDOM_ENOUGH = 5, 16  # degrees of it: to tell the noise at all, and to within a third
PARTNERS, OTHERS, CONTROLS = 8, 3, 4  # measured again: of a host, of an end of a pair, of others
MOST = 32  # accusations that are measured again; each takes about a second
SWITCHES = 1e-6  # s: so much is the way through some more switches, for which no host is bad
LOW_SHARE = 0.60  # of the line's rate
STILL = 1.0  # s
LEAST = 1e-12  # B/s, s: instead of 0, of which there is no logarithm


@dataclass(frozen=True)
class Accusation:
    """A host or a pair that is slow.

    of: "rate", "latency" or "still"; kind: "sending", "receiving", "host" (both), "pair" (from
    host to other; of a latency between them) or "still". factor: share of the usual rate, or
    multiple of the usual latency. low, high: B/s or s as measured again with so many partners, None
    if it was not; of "still" both are the seconds for which the process stood still."""
    of: str
    kind: str
    host: int
    other: int = None
    factor: float = 1.0
    low: float = None
    high: float = None
    partners: int = 0


@dataclass(frozen=True)
class Share:
    """The share of the line's rate that a host reaches as it sends; None: the line is unknown."""
    host: int
    share: float = None

    @property
    def is_low(self):
        return self.share is not None and self.share < LOW_SHARE


# --- the model ---

class Model:
    """effects: {(kind, host): log}; rest: {(s, d): log}; sigma: inf where it cannot be told."""

    def __init__(self, values, of):
        self.of = of
        self.kinds = ("host", "host") if of == "latency" else ("sending", "receiving")
        self.rest = {pair: self.speed(value) for pair, value in values.items()}
        self.groups, self.others = {}, {}  # of each end its pairs, and their other ends
        for pair in self.rest:
            for end, other in (self.ends(pair), self.ends(pair)[::-1]):
                self.groups.setdefault(end, []).append(pair)
                self.others.setdefault(end, []).append(other)
        self.effects = dict.fromkeys(sorted(self.groups), 0.0)
        self.level, self.sigma = 0.0, math.inf
        self.free = len(self.rest) - len(self.groups) + len(set(self.kinds)) - 1
        self.sigmas = SIGMAS if self.free >= FREEDOM_ENOUGH else SIGMAS_OF_FEW
        if self.free < FREEDOM or len({host for _, host in self.groups}) < 4:
            self._compare()
        else:
            self._polish()

    def speed(self, value):
        """A logarithm that is smaller where something is slower."""
        log = math.log(max(value, LEAST))
        return -log if self.of == "latency" else log

    def ends(self, pair):
        return (self.kinds[0], pair[0]), (self.kinds[1], pair[1])

    def usual(self, pair, slow):
        """The logarithm to be expected of a pair if its slow ends were as those of others."""
        return self.level + sum(self.effects.get(end, 0.0) for end in self.ends(pair)
                                if end not in slow)

    def limit(self, least, spread):
        """The excess from which on something is slow; spread: of its estimate, in sigmas."""
        found = max(least, self.sigmas * spread * self.sigma)
        return found if self.free >= FREEDOM_ENOUGH else min(found, FEW)

    def is_measurable(self, excess, tick):
        """A latency is not judged by less than a tick of the clock (s), or than SWITCHES."""
        return (self.of == "rate" or
                math.exp(-self.level) * (math.exp(-excess) - 1) >= max(tick, SWITCHES))

    def factor(self, excess):
        return math.exp(-excess if self.of == "latency" else excess)

    def _raise(self, by):
        self.level += by
        self.rest = {pair: value - by for pair, value in self.rest.items()}

    def _compare(self):
        """Few values: the best one is the usual one, and a row is slow if all of it is."""
        self._raise(max(self.rest.values()))
        for group, pairs in self.groups.items():
            if len(pairs) > 1:
                row = [self.rest[pair] for pair in pairs]
                middle, best = stats.median(row), max(row)
                self.effects[group] = middle if best < middle / 2 else best
        self.rest = {pair: value - sum(self.effects[end] for end in self.ends(pair))
                     for pair, value in self.rest.items()}

    def _polish(self):
        self._raise(stats.quantile(self.rest.values(), UPPER))
        for _ in range(ROUNDS):
            for kind in dict.fromkeys(self.kinds):
                own = [group for group in self.effects if group[0] == kind]
                for group in own:
                    self._polish_row(group)
                usual = stats.quantile([self.effects[group] for group in own], UPPER_MIDDLE)
                self.level += usual * self.kinds.count(kind)
                for group in own:
                    self.effects[group] -= usual
        self._raise(stats.median(self.rest.values()))
        self.sigma = stats.deviation(self.rest.values()) * math.sqrt(len(self.rest) / self.free)

    def _polish_row(self, group):
        effects, rest, pairs = self.effects, self.rest, self.groups[group]
        row = [rest[pair] for pair, other in zip(pairs, self.others[group])
               if effects[other] > -HOST]
        effect = stats.quantile(row or [rest[pair] for pair in pairs], UPPER)
        effects[group] += effect
        for pair in pairs:
            rest[pair] -= effect


# --- the first measurement ---

def accused(values, of="rate", tick=0.0):
    """Accusations that a second measurement has to confirm.

    A host is slow below 0.90, a pair below 0.85 of the usual rate, if that is beyond SIGMAS of the
    noise. The same limits are for 1 / latency, 1.11 and 1.18 times the usual one, because a program
    waits as much longer in either case; but a latency within a tick of the clock (s), or within
    what some switches take, is as usual: hosts at the edge of a network are farther, not bad.
    Of less than 4 hosts, or with few values, the best one is usual and the limit is 0.75 of it
    (1.33 times): then the noise is not known. A pair of a slow host is named if it is slower still
    by more than the host is."""
    if not values:
        return []
    found = Model(values, of)
    slow = {}
    for group, effect in found.effects.items():
        limit = found.limit(HOST, OF_QUARTILE / math.sqrt(len(found.groups[group])))
        if effect < -limit and found.is_measurable(effect, tick):
            slow[group] = effect
    limit = found.limit(PAIR, 1.0)
    pairs = [Accusation(of, "pair", *pair, found.factor(rest))
             for pair, rest in sorted(found.rest.items())
             if rest < -limit and all(rest < slow.get(end, 0.0) for end in found.ends(pair))
             and found.is_measurable(rest, tick)]
    return [Accusation(of, kind, host, None, found.factor(effect))
            for host, kind, effect in _hosts(slow)] + pairs


def _hosts(slow):
    """(host, kind, excess) of {(kind, host): excess}: a host that is slow in both is named once."""
    for host in sorted({host for _, host in slow}):
        kinds = {kind: excess for (kind, other), excess in slow.items() if other == host}
        yield host, "host" if len(kinds) > 1 else next(iter(kinds)), stats.median(kinds.values())


# --- the second measurement ---

def to_measure_again(accusations, hosts):
    """Pairs (a, b), a < b, to be measured alone, in both directions, one after the other.

    Of each accused host some partners, of a pair also both hosts with others, so that it can be
    told from a host, and a few pairs of other hosts, which show how fast a pair is that is alone.
    Of more accusations than MOST these are the worst, as this has to end within seconds."""
    worst = sorted((each for each in accusations if each.of != "still"),
                   key=lambda each: -abs(math.log(each.factor)))[:MOST]
    involved = {host for each in worst for host in (each.host, each.other)}
    clear = [host for host in range(len(hosts)) if host not in involved]
    pairs = set(zip(clear, clear[1:CONTROLS + 1])) if worst else set()
    for each in worst:
        count = OTHERS if each.kind == "pair" else PARTNERS
        for host in {each.host, each.other} - {None}:
            pairs.update((host, far) for far in _partners(host, clear, len(hosts))[:count])
        if each.kind == "pair":
            pairs.add((each.host, each.other))
    return sorted({(min(pair), max(pair)) for pair in pairs})


def _partners(host, clear, count):
    """The other hosts in a circle, those first of which nothing is suspected."""
    known = set(clear)
    return sorted(((host + step) % count for step in range(1, count)),
                  key=lambda far: far not in known)


def confirmed(accusations, first, second, of="rate", tick=0.0):
    """Accusations of those hosts and pairs that are slow again, by the same limits.

    first, second: the values of both measurements. A host may turn out to be slow one way only, and
    a pair to be one of a slow host. Nothing is named that was not measured again."""
    accusations = [each for each in accusations if each.of == of]
    if not accusations or not second:
        return []
    again = _Again(accusations, first, second, of, tick)
    slow = {end: again.excess_of(end) for end in sorted(again.suspects)}
    pairs = [pair for pair in sorted(again.named) if again.is_pair_slow(pair)]
    for pair in list(pairs):
        wider = {end: again.excess_of(end, pair) for end in again.found.ends(pair)
                 if end not in again.suspects}
        if any(wider.values()):
            pairs.remove(pair)
            slow.update(wider)
    slow = {end: excess for end, excess in slow.items() if excess is not None}
    return ([again.accusation(kind, host) for host, kind, _ in _hosts(slow)] +
            [again.accusation("pair", *pair) for pair in pairs])


class _Again:
    """The second measurement beside the first. excess: {(s, d): log} against the usual speed.

    Pairs of which nothing is suspected tell by how much all is faster now, since a pair that is
    alone may be faster than one among others, and their differences tell the noise."""

    def __init__(self, accusations, first, second, of, tick):
        self.values, self.tick, self.found = second, tick, Model(first, of)
        self.named = {(each.host, each.other) for each in accusations if each.kind == "pair"}
        self.suspects = {(kind, each.host) for each in accusations for kind in self.found.kinds
                         if each.kind in (kind, "host")}
        speed = self.found.speed
        drift = [speed(second[pair]) - speed(first[pair]) for pair in second.keys() & first.keys()
                 if pair not in self.named and not self.suspects & set(self.found.ends(pair))]
        shift = 0.0
        if len(drift) > 3:
            shift = stats.median(drift)
            self._learn(first, [each - shift for each in drift], shift)
        self.excess = {pair: speed(value) - shift - self.found.usual(pair, self.suspects)
                       for pair, value in second.items()}

    def _learn(self, first, drift, shift):
        """Takes the usual speed from the means of both, and sigma from residuals and drift."""
        before, count = self.found, len(drift) - 1
        of_second = math.exp(shift if before.of == "latency" else -shift)
        means = {pair: math.sqrt(value * self.values[pair] * of_second) if pair in self.values
                 else value for pair, value in first.items()}
        self.found = Model(means, before.of)
        self.found.sigmas = SIGMAS
        if before.sigma < math.inf:
            squares = before.free * before.sigma ** 2 + count * stats.deviation(drift) ** 2 / 2
            self.found.free = before.free + count
            self.found.sigma = math.sqrt(squares / self.found.free)

    def pairs_of(self, end):
        return [pair for pair in self.excess if end in self.found.ends(pair)]

    def excess_of(self, end, besides=None):
        """The excess of a host in a kind, None if it is not slow; of a host that was not a suspect
        by the others of its pairs, nearly all of which have to be slow."""
        excess = [self.excess[pair] for pair in self.pairs_of(end) if pair != besides]
        if len(excess) < 2:
            return None
        middle = stats.quantile(excess, UPPER) if besides else stats.median(excess)
        limit = self.found.limit(HOST, OF_MEDIAN / math.sqrt(len(excess)))
        return middle if middle < -limit and self.found.is_measurable(middle, self.tick) else None

    def is_pair_slow(self, pair):
        excess = self.excess.get(pair, 0.0)
        return (excess < -self.found.limit(PAIR, 1.0) and
                self.found.is_measurable(excess, self.tick))

    def accusation(self, kind, host, other=None):
        ends = {(each, host) for each in self.found.kinds if kind in (each, "host")}
        pairs = [(host, other)] if ends == set() else [
            pair for pair in self.excess if ends & set(self.found.ends(pair))]
        values = [self.values[pair] for pair in pairs]
        factor = self.found.factor(stats.median([self.excess[pair] for pair in pairs]))
        partners = {host for pair in pairs for host in pair} - {host}
        return Accusation(self.found.of, kind, host, other, factor, min(values), max(values),
                          len(partners))


# --- the line's rate, and processes that stood still ---

def against_line(values, line_rates):
    """The share of the line's rate that each host reaches as it sends: the median of its pairs.

    values: rates; line_rates: B/s of each host, None where it is unknown, which stays so. Of two
    hosts the slower line counts. This informs and accuses nobody: over a fast line one stream of
    many an MPI reaches less than LOW_SHARE, on every host alike, and no host is bad for it."""
    shares = {host: [] for host in sorted({s for s, _ in values})}
    for (s, d), value in values.items():
        if line_rates[s]:
            shares[s].append(value / min(line_rates[s], line_rates[d] or line_rates[s]))
    return [Share(host, stats.median(each) if each else None) for host, each in shares.items()]


def still(hosts):
    """Accusations of those hosts of a result whose process stood still for more than a second."""
    return [Accusation("still", "still", number, low=host["still"], high=host["still"])
            for number, host in enumerate(hosts) if host["still"] > STILL]
