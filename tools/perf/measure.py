# SPDX-License-Identifier: BSD-3-Clause
"""Measures, judges, and measures again what is accused: only what is slow twice is named."""

from datetime import datetime, timezone

from perf import launch, show, verdict
from perf.trouble import Trouble

WAITED_MOST = 0.2  # of the time that it measured, without a core; 0.09 where nothing else runs


class Measured:
    """A result, and the accusations that stand."""

    def __init__(self, result):
        self.result = result
        self.rates, self.latencies = (of(result["links"]) for of in (
            show.rates_of, show.latencies_of))
        self.first = self.accused()

    @property
    def is_judged(self):
        return bool(self.rates) and self.is_of_hosts and not self.crowded

    @property
    def is_of_hosts(self):
        """And not of the cores of one computer, which differ for good reasons."""
        return "/" not in self.result["hosts"][0]["name"]

    @property
    def crowded(self):
        """(hosts that share a computer, its cores, the greatest share of the time for which one of
        them waited for a core), where that is too much to judge the network; else nothing."""
        by_computer = {}
        for host in self.result["hosts"]:
            by_computer.setdefault(host["computer"], []).append(host)
        found = [(len(hosts), hosts[0]["cores"], max(host["waited"] for host in hosts))
                 for hosts in by_computer.values() if len(hosts) > 1 and self.is_of_hosts]
        return next((each for each in found if each[2] > WAITED_MOST), None)

    @property
    def shares(self):
        """Of the line's rate, that hosts reach as they send."""
        return verdict.against_line(self.rates, [host["line_rate"] for host in
                                                 self.result["hosts"]])

    def accused(self):
        tick = self.result.get("tick", 0)
        found = []
        if self.is_judged:
            found += verdict.accused(self.rates)
            found += verdict.accused(self.latencies, "latency", tick)
        return found

    def to_measure_again(self):
        return verdict.to_measure_again(self.first, self.result["hosts"])

    @property
    def accusations(self):
        """Those that stand; without a second measurement all of them."""
        again, tick = self.result.get("again"), self.result.get("tick", 0)
        found = list(self.first) if self.is_judged else []
        if again and self.is_judged:
            found = [*verdict.confirmed(self.first, self.rates, show.rates_of(again)),
                     *verdict.confirmed(self.first, self.latencies, show.latencies_of(again),
                                        "latency", tick)]
        still = verdict.still(self.result["hosts"])
        paused = {each.host for each in still}  # slow meanwhile, for that reason
        return [each for each in found if not paused & {each.host, each.other}] + still


def job(options, made, words, shows, plain):
    launcher = [launch.fci_run(options.beside), *["--plain"] * plain, *options.where]
    return launch.Job(launcher, str(made), words, shows)


def joined(first, second):
    """What the second measurement adds to the result of the first."""
    first["again"] = second["links"]
    first["wrong"] += second["wrong"]
    first["seconds"] += second["seconds"]
    first["complete"] = second["complete"]
    for host, seen in zip(first["hosts"], second["hosts"]):
        for name in ("still", "waited"):
            host[name] = max(host[name], seen[name])


def words_of(options):
    words = [options.command, "--seed", str(options.seed), *["--per-rank"] * options.per_rank]
    if options.command == "run":
        words += ["--cases", options.cases, "--bytes", options.bytes]
    elif options.rounds:
        words += ["--rounds", str(options.rounds)]
    return words


def measured(options, made, shows, plain):
    """(what was measured, why not all of it was). A second job measures what the first accuses."""
    one = job(options, made, words_of(options), shows, plain)
    started = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    result = one.run()
    result.update(tool=options.version, started=started, over="plain" if plain else "fci")
    found = Measured(result)
    if not result["complete"]:
        return found, one.why_partial()
    pairs = found.to_measure_again()
    if pairs:
        shows.note(f"measuring {len(pairs)} of {len(result['links']) // 2} pairs again, alone")
        two = job(options, made, [*words_of(options), "--pairs",
                                  ",".join(f"{a}:{b}" for a, b in pairs)], shows, plain)
        try:
            joined(result, two.run())
        except Trouble as trouble:  # what the first one measured is kept
            result["complete"] = False
            return found, f"the second job: {trouble.what}: {trouble.cause}"
        if not result["complete"]:
            return found, two.why_partial()
    return found, ""
