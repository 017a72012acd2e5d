# SPDX-License-Identifier: BSD-3-Clause
"""The verdict in sentences : host, direction, figures, a place to look.

hosts are those of a result: {"name", "interface", "line_rate", ...}."""

from perf import stats

RDMA = ("mlx", "hfi", "qib")  # names of devices, not of interfaces
SLOWER_LINE = 0.9  # of the others' line rate
PLACES = {  # (of, kind, None for any kind of a host): a place to look; {at}: an interface
    ("rate", "pair"): "the way between {first} and {second}: cables and ports between their "
                      "switches, link aggregation or routes that put many streams on one link, "
                      "errors and drops ({errors})",
    ("rate", None): "cable and port of {first}, its link speed ({speed}), pause frames, "
                    "what else runs there",
    ("latency", "pair"): "the way between {first} and {second}: a detour through more switches, "
                         "a busy or faulty link (errors: {errors})",
    ("latency", None): "power saving states of {first} (cpupower idle-info), interrupts that its "
                       "card holds back ({delay}), a busy core, what else runs there",
    ("still", None): "a paused or moved virtual machine, swapping (vmstat 1), more processes than "
                     "cores on {first}"}


def short(accusation, hosts):
    """For the row of a table: "n5 -> all, 24 %"."""
    first, second = _names(accusation, hosts)
    joint = " - " if accusation.of == "latency" else " -> "
    name = {"sending": f"{first}{joint}all", "receiving": f"all{joint}{first}",
            "pair": f"{first}{joint}{second}"}.get(accusation.kind, first)
    return f"{name}, {_factor(accusation)}"


def told(accusations, hosts, shares=()):
    """Lines: each accusation and its places to look, then notes about shares of the line's rate."""
    lines = []
    for each in accusations:
        lines += [f"BAD: {_sentence(each, accusations, hosts)}",
                  f"     look at: {_place(each, hosts)}"]
    return lines + _notes(shares, hosts)


def _names(accusation, hosts):
    other = accusation.other
    return hosts[accusation.host]["name"], None if other is None else hosts[other]["name"]


def _sentence(accusation, accusations, hosts):
    first, second = _names(accusation, hosts)
    if accusation.of == "still":
        return f"the process on {first} stood still for {accusation.low:.1f} s as it was measured."
    usual = f"{_factor(accusation)} {'of ' * (accusation.of == 'rate')}the usual"
    if accusation.kind == "pair":
        subject = (f"{first} -> {second} is slow" if accusation.of == "rate" else
                   f"the latency of {first} - {second} is high")
        way, contrast = "", _contrast(accusation, accusations, hosts)
    else:
        subject, way, contrast = {
            "sending": (f"what {first} sends is slow", "to", "; what it receives is not"),
            "receiving": (f"what {first} receives is slow", "from", "; what it sends is not"),
            "host": (f"{first} is slow in both directions" if accusation.of == "rate" else
                     f"the latency of {first} is high", "with", "")}[accusation.kind]
    if accusation.low is None:
        return f"{subject} ({usual}, not measured again){contrast}."
    figures = span(accusation.low, accusation.high, accusation.of)
    partners = accusation.partners
    others = f"all {partners}" if partners == len(hosts) - 1 else f"{partners} others"
    return (f"{subject} ({figures} {way} {others}" if way else f"{subject} ({figures}, {usual}") + (
        f", measured again alone){contrast}.")


def _contrast(pair, accusations, hosts):
    """The rest of what was measured with both hosts of a pair, unless it is accused, too."""
    both = {pair.host, pair.other}
    if any(each is not pair and each.of == pair.of and both & {each.host, each.other}
           for each in accusations):
        return ""
    if len(hosts) > 2:
        return "; both with others are not" if pair.of == "rate" else "; others of both are not"
    return "; the other direction is not" if pair.of == "rate" else ""


def _place(accusation, hosts):
    host, kind = hosts[accusation.host], "pair" if accusation.kind == "pair" else None
    first, second = _names(accusation, hosts)
    at = host["interface"] or "INTERFACE"
    rdma = at.startswith(RDMA)
    place = PLACES[accusation.of, kind].format(
        first=first, second=second, speed=f"ibstat {at}" if rdma else f"ethtool {at}",
        errors=f"perfquery of {at}" if rdma else f"ethtool -S {at}",
        delay=f"settings of {at}" if rdma else f"ethtool -c {at}")
    known = [each["line_rate"] for each in hosts if each["line_rate"]]
    if accusation.of == "rate" and kind is None and host["line_rate"]:
        others = stats.median(known)
        if host["line_rate"] < SLOWER_LINE * others:
            place = (f"the line of {first}, which runs at {span(host['line_rate'])}, that of "
                     f"others at {span(others)}; then: {place}")
    return place


def _notes(shares, hosts):
    known = [each for each in shares if each.share is not None]
    low = [each for each in known if each.is_low]
    if len(low) > 1 and len(low) == len(known):
        most = max(each.share for each in low)
        return [f"note: each host reaches at most {100 * most:.0f} % of its line's rate as it "
                "sends: no host is bad for it.",
                "      look at: the network that the MPI uses, its settings, the processor's clock"]
    return [f"note: {hosts[each.host]['name']} reaches {100 * each.share:.0f} % of the rate of its "
            "line as it sends." for each in low]


def _factor(accusation):
    if accusation.of == "still":
        return f"{accusation.low:.1f} s"
    if accusation.of == "latency":
        return f"{accusation.factor:.3g} times"
    return f"{100 * accusation.factor:.0f} %"


def span(low, high=None, of="rate"):
    """"0.27-0.29 GB/s", "14.2 us": of one figure, or of two that look different."""
    high = low if high is None else high
    units = ((1e9, "GB/s", 2), (1e6, "MB/s", 1)) if of == "rate" else ((1, "s", 2), (1e-3, "ms", 2),
                                                                      (1e-6, "us", 1))
    one, unit, digits = next((each for each in units if high >= 0.1 * each[0] and of == "rate" or
                              high >= each[0]), units[-1])
    least, most = f"{low / one:.{digits}f}", f"{high / one:.{digits}f}"
    return f"{least if least == most else f'{least}-{most}'} {unit}"
