# SPDX-License-Identifier: BSD-3-Clause
"""The same measured over FCI and over the MPI's own network, in turns: two columns, a sentence."""

from perf import measure, stats, units

TURNS = 2


def figures(found):
    """What is compared, of one job: name -> (value, how it is written)."""
    result = found.result
    together, barrier = result.get("together", [0])[0], result.get("barrier", [0])[0]
    return {"latency 8 B": (stats.median(found.latencies.values()), units.duration),
            "rate 1 MiB": (stats.median(found.rates.values()), units.rate),
            "all send": (together, units.rate), "barrier": (barrier, units.duration)}


def measured(options, made, shows):
    """([found over FCI, one for each turn], [found over the other], why not all of it was)"""
    of_fci, of_plain = [], []
    for turn in range(TURNS):
        for found, plain in ((of_fci, False), (of_plain, True)):
            shows.note(f"turn {turn + 1} of {TURNS}, over " + (
                "the MPI's own network" if plain else "FCI"))
            one, why = measure.measured(options, made, shows, plain)
            found.append(one)
            if why:
                return of_fci, of_plain, why
    return of_fci, of_plain, ""


def told(of_fci, of_plain):
    """Medians of the turns, and the median and the range of the turns' ratios."""
    cells, ratios = [["", "over FCI", "over its own", "ratio", "turns"]], {}
    turns = [(figures(one), figures(other)) for one, other in zip(of_fci, of_plain)]
    for name, (_, text) in turns[0][0].items():
        each = [one[name][0] / other[name][0] for one, other in turns if other[name][0] > 0]
        if not each:
            continue
        ratios[name] = stats.median(each)
        sides = [text(stats.median([turn[side][name][0] for turn in turns])) for side in (0, 1)]
        cells.append([name, *sides, f"{ratios[name]:.2f}", f"{min(each):.2f}-{max(each):.2f}"])
    mpi = of_fci[0].result["mpi"]
    return [*units.table(cells, 1),
            f"Over FCI the latency is {ratios['latency 8 B']:.2f} of that of {mpi}'s own network "
            f"here, the rate {ratios['rate 1 MiB']:.2f} of it."]
