# SPDX-License-Identifier: BSD-3-Clause
"""`fci_perf model hockney|sci|matvec`: models of the four source documents, as text."""

from dataclasses import fields, replace

from perf import machines, matvec, sci, units
from perf.trouble import Trouble

LENGTHS = [0, *(8 ** power for power in range(1, 8))]  # B
LATER = (33, 66)  # MHz, Table 4.9
SPEEDS, LATENCIES = (1e6, 1e7, 1e8), (1e-3, 1e-4, 1e-5, 1e-6)  # values/s and s, Table 2.1
SWITCHING = {"now": sci.Parameters().switching, "enhanced": sci.Parameters().switching / 2}
HOSTS = (8, 16, 32, 64, 128, 256, 512, 1024)


def _values(words, allowed):
    """NAME=FIGURE words as {name: figure}."""
    found = {}
    for word in words:
        name, sign, text = word.partition("=")
        if not sign or name not in allowed:
            raise Trouble(f"'{word}' says nothing to this model", "it knows "
                          + ", ".join(f"{each}=FIGURE" for each in allowed),
                          "such as latency=14.2us rate=1.1GB/s hosts=64")
        found[name] = units.parsed(text)
    return found


# --- Hockney: T = T0 + N / RINF ---

def _recorded():
    rows = [["machine", "T0", "RINF", "NHALF", "of the limit", "name"]]
    for each in machines.machines().values():
        share = f"{100 * each.rate / each.limit:.0f} %" if each.limit else "not known"
        rows.append([each.title, units.duration(each.latency), units.rate(each.rate),
                     f"{each.nhalf:,.0f} B".replace(",", " "), share, each.name])
    return [*units.table(rows), "T = (N + NHALF) / RINF. T0 is the latency of 4 B, RINF the "
            "greatest rate of MPI (dissertation,", "Tables 4.11 and 4.12). More: fci_perf model "
            "hockney NAME, latency=T0 rate=RINF, easynet, linpack"]


def _curve(machine):
    rows = [["length", "T", "R", "of RINF"]]
    for count in LENGTHS:
        time = machine.time(count)
        rows.append([units.length(count), units.duration(time), units.rate(count / time),
                     f"{100 * count / time / machine.rate:.0f} %"])
    return [f"{machine.title}: T0 {units.duration(machine.latency)}, RINF "
            f"{units.rate(machine.rate)}, NHALF {units.shown(machine.nhalf, units.AMOUNTS)}",
            *units.table(rows)]


def _easynet():
    kinds = list(machines.easynet()[0][1])
    fits = [machines.easynet_fit(kind) for kind in kinds]
    rows = [["MHz", *kinds, "greatest rate"]]
    for frequency, latencies in machines.easynet():
        rows.append([str(frequency), *map(units.duration, latencies.values()),
                     units.rate(machines.easynet_rate(frequency))])
    for frequency in LATER:
        rows.append([f"{frequency} by the fit",
                     *(units.duration(a + b / frequency) for a, b in fits),
                     units.rate(machines.easynet_rate(frequency))])
    return ["EasyNet, latency one way as measured (dissertation, Table 4.8)", *units.table(rows),
            *(f"{kind}: {1e6 * a:.2f} us + {1e6 * b:.2f} us MHz / f"
              for kind, (a, b) in zip(kinds, fits))]


def _linpack():
    rows, said = [["machine", "most", "at size", "half of it at", "RINF", "NHALF", "peak"]], []
    for each in machines.linpack():
        rinf, nhalf = each.hockney()
        rows.append([each.title, f"{each.most / 1e9:.0f} Gflop/s", str(each.size), str(each.half),
                     f"{rinf / 1e9:.1f} Gflop/s", f"{nhalf:.0f}", f"{each.peak / 1e9:.0f} Gflop/s"])
        if not each.is_possible():
            said.append(f"{each.title}: this model does not hold: RINF would be {rinf / 1e9:.1f} "
                        "Gflop/s, above its peak")
    return ["LINPACK as R = RINF / (1 + NHALF / N) (dissertation, Table 4.13)",
            *units.table(rows), *said]


def _hockney(words):
    if not words:
        return _recorded()
    if words in (["easynet"], ["linpack"]):
        return _easynet() if words == ["easynet"] else _linpack()
    if len(words) == 1 and "=" not in words[0]:
        return _curve(machines.machine(words[0]))
    given = _values(words, ("latency", "rate", "nhalf"))
    if "rate" not in given or len(given) != 2 or not min(given.values()) > 0:
        raise Trouble("this line is not known", "it takes rate, and latency or nhalf, above 0",
                      "fci_perf model hockney rate=1.1GB/s latency=14us")
    latency = given.get("latency") or given["nhalf"] / given["rate"]
    return _curve(machines.Machine("own", "T = (N + NHALF) / RINF", latency, given["rate"]))


# --- SCI ---

def _sci(words):
    names = {"propagation", "forwarding", "switching", "overhead"}
    given = _values(words, (*sorted(names), "hosts", "bytes"))
    count, hosts = given.pop("bytes", sci.BASE), given.pop("hosts", None)
    parameters = replace(sci.Parameters(), **given)
    if hosts is not None and not hosts >= sci.LEAST or not count >= 0:
        raise Trouble("there is no such network", "a message has 0 B or more, a network two "
                      "hosts or more", "fci_perf model sci hosts=64 bytes=64")
    dimensions = range(1, sci.MOST_DIMENSIONS + 1)
    rows = [["hosts", "ring", *(f"{d} dimensions" for d in dimensions[1:]), "best"]]
    for each in [hosts] if hosts else HOSTS:
        times = [sci.average(each, d, parameters, count) for d in dimensions]
        best = times.index(min(times))
        rows.append([f"{each:g}", *map(_microseconds, times), rows[0][1 + best]])
    each = ", ".join(f"{field.name} {1e9 * getattr(parameters, field.name):g}"
                     for field in fields(parameters))
    pings = ", ".join(f"{1e9 * sci.request((hops,), parameters, count):.0f}"
                      for hops in range(1, 5))
    return [f"SCI, {count:g} B to another host on average (thesis, equation 17)",
            f"ns: {each} for 64 B", *units.table(rows),
            f"half of a ping-pong over 1, 2, 3, 4 links of a ring: {pings} ns", "",
            *_crossings(given, parameters)]


def _microseconds(seconds):
    return f"{1e6 * seconds:.3f} us"


def _crossings(given, parameters):
    """Table 2 beside the results of the equations, or those of the user's own parameters."""
    steps = [f"{d} to {d + 1}" for d in range(1, sci.MOST_DIMENSIONS)]
    if given:
        found = [sci.crossing(d, parameters) for d in range(1, sci.MOST_DIMENSIONS)]
        shown = ["never" if each is None else f"{each:.2f}" if each > sci.LEAST else "always"
                 for each in found]
        return ["from how many hosts on one dimension more is better",
                *units.table([["dimensions", *steps], ["hosts", *shown]])]
    rows = [["dimensions", *steps]]
    for system, switching in SWITCHING.items():
        own = replace(parameters, switching=switching)
        found = [f"{sci.crossing(d, own):.2f}" for d in range(1, sci.MOST_DIMENSIONS)]
        rows += [[f"{system}, switching {1e9 * switching:.0f} ns", *found],
                 *([f"  printed for {what}", *map(str, printed)]
                   for what, printed in zip(("the average", "one to all"), sci.PRINTED[system]))]
    return ["from how many hosts on one dimension more is better (Table 2)", *units.table(rows),
            "One to all is the average times the number of others, so both cross at the same",
            "sizes: its printed figures do not follow from the equations of the thesis."]


# --- the matrix-vector product ---

def _matvec(words):
    names = [field.name for field in fields(matvec.Problem)][:6]
    given = _values(words, names)
    if given:
        problems = [(way, _problem(given, way)) for way in matvec.WAYS]
        head = "t_exec(p) of your problem (dissertation, Table 2.14)"
        return [head, *units.table([_titles("way"), *(_row(*each) for each in problems)])]
    rows = [_titles("values/s, latency")]
    for speed in SPEEDS:
        for latency in LATENCIES:
            problem = matvec.Problem(10000, 4e-9, 5e-6, latency, 1 / speed)
            rows.append(_row(f"{speed / 1e6:.0f} M, {1e6 * latency:.0f} us", problem))
    ways = [_titles("way"), *(_row(way, matvec.Problem(
        100000, 2e-9, 2e-6, latency, 20e-9, 1e-6, way))
        for way, latency in zip(matvec.WAYS, (5e-6, 250e-9, 1e-6)))]
    return ["matrix of 10 000 x 10 000, 250 Mflop/s a process, messages (dissertation, Table 2.1)",
            *units.table(rows), "printed for 1 M, 1 us: 9.0 Gflop/s at half; it is 9.92", "",
            "matrix of 100 000 x 100 000, 500 Mflop/s a process (Table 2.15)", *units.table(ways),
            "remote store is charged s / p values there, messages s, though all receive s; charged",
            _alike()]


def _problem(given, way):
    """The user's figures; others as in section 2.8.1."""
    base = matvec.Problem(100000, 2e-9, 2e-6, 5e-6, 20e-9, 1e-6, way)
    problem = replace(base, **given)
    if min(problem.size, problem.operation, problem.latency, problem.sync) <= 0:
        raise Trouble("this problem has no best number of processes",
                      "size, operation, latency and sync are above 0",
                      "leave them out, or name others")
    return problem


def _titles(first):
    return [first, "Gflop/s", "processes", "efficiency", "Gflop/s at half", "processes"]


def _row(title, problem):
    """Speeds in Gflop/s."""
    found = matvec.model(problem)
    most, half = round(found.most()), found.enough()
    return [title, f"{found.speed(most) / 1e9:.1f}", str(most),
            f"{100 * found.efficiency(most):.0f} %", f"{found.speed(half) / 1e9:.1f}",
            f"{half:.0f}"]


def _alike():
    found = matvec.model(matvec.Problem(100000, 2e-9, 2e-6, 1e-6, 20e-9, 1e-6, is_alike=True,
                                        way="remote store"))
    return (f"alike it is {found.speed(found.most()) / 1e9:.0f} Gflop/s at {found.most():.0f} "
            f"processes, {found.speed(found.enough()) / 1e9:.0f} at {found.enough():.0f}.")


MODELS = {"hockney": _hockney, "sci": _sci, "matvec": _matvec}


def told(words):
    """(lines of text, exit code). words: the model and its figures."""
    if not words or words[0] not in MODELS:
        raise Trouble("there is no such model" if words else "no model is named",
                      "there are " + ", ".join(MODELS), "fci_perf model sci hosts=64")
    return MODELS[words[0]](list(words[1:])), 0
