# SPDX-License-Identifier: BSD-3-Clause
"""What a person reads of a result: a table, a map of the pairs, and the verdict."""

from perf import fit, stats, units
from perf.trouble import Trouble

MAP_MOST = 64  # hosts of which a map still fits a screen
USUAL = 0.95   # share of the median from which on the map has a point


def line(bits_per_second):
    giga = bits_per_second / 1e9
    return f"{giga:g} Gbit/s" if giga >= 1 else f"{giga * 1e3:g} Mbit/s"


def rates_of(links):
    return {(link[0], link[1]): link[3] for link in links}


def latencies_of(links):
    """Of both directions the same, so those with the smaller number first are left."""
    return {(link[0], link[1]): link[2] for link in links if link[0] < link[1]}


def heading(result):
    hosts = result["hosts"]
    computers = len({host["computer"] for host in hosts})
    parts = [units.count_of(len(hosts), "host")]
    if "/" in hosts[0]["name"]:
        parts = [f"{len(hosts)} processes on this computer"]
    elif computers < len(hosts):
        parts = [f"{len(hosts)} hosts of {units.count_of(computers, 'computer')}"]
    parts.append(result["mpi"] + (" over FCI" if result.get("over") == "fci" else ""))
    carriers = sorted({(host["interface"], host["line_rate"]) for host in hosts
                       if host["interface"]}, key=str)
    if len(carriers) == 1:
        name, known = carriers[0]
        parts.append(f"{name} {line(known * 8)}" if known else f"{name}, no line rate known")
    elif carriers:
        parts.append(f"{len(carriers)} different interfaces")
    told = ", ".join(parts)
    pairs = len(result["links"]) // 2
    if pairs:
        told += f"; {units.count_of(pairs, 'pair')}, both directions"
    return told + (f", {result['seconds']:.0f} s" if result["seconds"] else "")


def row(name, size, *columns):
    return f"{name:<10}{size:<12}" + "".join(f"{each:<18}" for each in columns).rstrip()


def pair_name(result, pair, arrow):
    names = [host["name"] for host in result["hosts"]]
    return f"{names[pair[0]]} {arrow} {names[pair[1]]}"


def latency_row(result, accused):
    values = latencies_of(result["links"])
    worst = max(values, key=values.get)
    return row("latency", "8 B", "median " + units.duration(stats.median(values.values())),
               f"worst {units.duration(values[worst])}", pair_name(result, worst, "-"),
               "BAD" if accused else "good")


def rate_row(result, accused):
    values = rates_of(result["links"])
    worst, median = min(values, key=values.get), stats.median(values.values())
    return row("rate", "1 MiB", f"median {units.rate(median)}",
               f"worst {units.rate(values[worst])}", pair_name(result, worst, "->"),
               "BAD" if accused else "good")


def together_rows(result):
    hosts, found = len(result["hosts"]), []
    if "together" in result:
        median = stats.median(rates_of(result["links"]).values()) if result["links"] else 0
        each = result["together"][0] / hosts
        found.append(row("together", "all send", units.rate(result["together"][0]),
                         f"{each / median:.0%} of a pair alone, each" if median else ""))
    if "barrier" in result:
        median = result["barrier"][0]
        found.append(row("barrier", "of all", units.duration(median), f"{1 / median:.0f} a second"))
    return found


def mark(value, median):
    share = value / median
    return "." if share >= USUAL else str(min(9, int(share * 10)))


def map_of(result):
    """Rows send, columns receive; a figure is the tenths of the median that a rate reaches."""
    hosts, values = result["hosts"], rates_of(result["links"])
    if not 4 <= len(hosts) <= MAP_MOST or not values:
        return []
    median = stats.median(values.values())
    if all(mark(value, median) == "." for value in values.values()):
        return []
    names = [host["name"] for host in hosts]
    width = max(map(len, names))
    lines = [f"{'':{width}}  rates: rows send, columns receive; 3 is 30 % of the median, "
             f"a point {USUAL:.0%} or more"]
    for s, name in enumerate(names):
        marks = "".join(" -" if s == d else " " + (
            mark(values[s, d], median) if (s, d) in values else " ") for d in range(len(hosts)))
        lines.append(f"{name:>{width}} {marks}")
    return lines


def line_rows(result):
    """The line through the ping-pong's times, or the lines of its regions."""
    rows = [(one["bytes"], one["seconds"]) for one in result["rows"] if one["case"] == "comms1"]
    if len(rows) < 2:
        return []
    try:
        found = fit.lines(rows)
    except Trouble as trouble:
        return [row("line", "", f"none: {trouble.cause}")]
    told = []
    for line_of in found:
        t0 = f"T0 {units.duration(line_of.t0)}" if line_of.t0 else "T0 unknown"
        misses = [f"{abs(miss):.0%} off at {units.length(count)}"
                  for count, miss in line_of.missed()[:1]]
        told.append(row("" if told else "line", f"to {units.length(line_of.last)}", t0,
                        f"RINF {units.rate(line_of.rinf)}",
                        f"NHALF {units.shown(line_of.nhalf, units.AMOUNTS)}", *misses))
    return told


def rows_table(result):
    """Each row: its median, where 8 of 10 samples lie, and bytes over time."""
    cells = [["case", "ranks", "bytes", "time", "from", "to", "rate"]]
    for one in result["rows"]:
        figures = one["seconds"]
        median = stats.median(figures)
        messages = one["ranks"] * (one["ranks"] - 1) if one["case"] == "comms3" else 1
        carried = one["bytes"] * messages
        cells.append([
            one["case"] + (f", {one['order']} operations a word" if "order" in one else ""),
            str(one["ranks"]), str(one["bytes"]), units.duration(median),
            *(units.duration(stats.quantile(figures, share)) for share in (0.1, 0.9)),
            units.rate(carried / median) if carried and median else
            f"{1 / median:.0f} a second" if median else ""])
    return units.table(cells, 1) if len(cells) > 1 else []


def wrong_lines(result):
    names = [host["name"] for host in result["hosts"]]
    return [f"BAD: from {names[one['from']]} to {names[one['to']]} "
            f"{units.count_of(one['messages'], 'message')} came with wrong bytes ({one['case']}): "
            f"message {one['message']} of {one['bytes']} bytes, byte {one['offset']}, expected "
            f"0x{one['expected']:02x}, got 0x{one['got']:02x}" for one in result["wrong"]]


def table(result, accusations):
    """The lines of it; accusations are what is left after the second measurement."""
    accused = {of: any(each.of == of for each in accusations) for of in ("rate", "latency")}
    lines = [heading(result)]
    if result["links"]:
        lines += [latency_row(result, accused["latency"]), rate_row(result, accused["rate"])]
    lines += together_rows(result)
    if result["command"] == "check":
        lines += line_rows(result)
    return lines + map_of(result)
