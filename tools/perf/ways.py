# SPDX-License-Identifier: BSD-3-Clause
"""Findings about the ways between hosts: the ports, and the largest packets that pass."""

from perf import there
from perf.finding import bad, folded, good, note

PORTS = ("let the firewalls of the hosts accept TCP from each other (nft list ruleset; "
         "firewall-cmd --list-all), or name the ports that they let through: FCI_PORTS=40000-40999")
REFUSED = ("refused, though the port is open there: a firewall rejects what comes, or another host "
           "has the address, too", PORTS)
SILENT = (f"no answer within {there.CONNECT_S:.0f} s, as where a firewall drops what comes", PORTS)
NO_WAY = ("unreachable: there is no way to that network, the interface there is down, or a "
          "firewall rejects what comes", "see whether ping gets there, and what ip route and "
          "ip -br address say on both; else " + PORTS)
FORBIDDEN = ("a firewall of the sending host forbids it",
             "let it send TCP to the others (nft list ruleset)")
CAUSES = {"ECONNREFUSED": REFUSED, "silent": SILENT, "ETIMEDOUT": SILENT, "EHOSTUNREACH": NO_WAY,
          "ENETUNREACH": NO_WAY, "ENETDOWN": NO_WAY, "EPERM": FORBIDDEN, "EACCES": FORBIDDEN}


def grouped(tried, key):
    """key(tried[pair]) -> pairs, without None."""
    found = {}
    for pair, result in tried.items():
        group = key(result)
        if group is not None:
            found.setdefault(group, []).append(pair)
    return found


def ports(tried, count):
    """tried: (from, to) -> {"tcp": "" or why not, "mtu": [MTU, passes, told]}; count: of hosts."""
    causes = grouped(tried, lambda result: CAUSES.get(result["tcp"], (
        f"it fails: {result['tcp']}", PORTS)) if result["tcp"] else None)
    findings = [bad("ports", f"{folded(pairs, tried)}: {cause}", remedy, pairs)
                for (cause, remedy), pairs in causes.items()]
    if findings or not tried:
        return findings
    every = count * (count - 1)
    return [good("ports", f"{len(tried)} of {every} directions connect"
                 + "; more were not tried" * (len(tried) < every))]


def judged(result, receives):
    """(kind, MTU, passes) where less than the MTU passes. receives: bytes, the receiver's MTU,
    which TCP knows."""
    mtu, passes, told = result["mtu"]
    if result["tcp"] or not mtu or passes >= mtu:
        return None
    if not passes:
        return "unknown", mtu, 0
    kind = "told" if told == passes else "receiver" if passes >= receives else "silent"
    return kind, mtu, passes


def mtus(tried, receives):
    """receives: host -> MTU of its interface."""
    judgements = {pair: judged(result, receives[pair[1]]) for pair, result in tried.items()}
    findings = []
    for (kind, mtu, passes), pairs in grouped(judgements, lambda each: each).items():
        text = f"{folded(pairs, tried)}: {mtu} configured, {passes} passes"
        if kind == "unknown":
            findings.append(note(
                "MTU", f"{folded(pairs, tried)}: not known, as no datagram of UDP comes through; "
                "TCP does", "if long messages hang, look at the MTU of each port on the way",
                pairs))
        elif kind == "told":
            findings.append(note("MTU", f"{text}; a router says so, and TCP heeds it",
                                 f"an MTU of {passes} on the hosts saves the question", pairs))
        elif kind == "receiver":
            findings.append(note("MTU", f"{text}, which is the receiver's MTU: TCP heeds it, other "
                                 "protocols lose what is larger", "the same MTU on all hosts",
                                 pairs))
        else:
            findings.append(bad(
                "MTU", f"{text}; what is larger is lost without a word, so that connections come "
                "about and long messages hang", "set each port of the switches on the way to "
                f"{mtu} at least, or the hosts to {passes // 10 * 10}: ip link set INTERFACE "
                f"mtu {passes // 10 * 10}", pairs, code=1))
    checked = {pair: each for pair, each in tried.items() if not each["tcp"]}
    if findings or not checked:
        return findings
    sizes = sorted({result["mtu"][0] for result in checked.values()})
    return [good("MTU", f"{' and '.join(map(str, sizes))} B pass, without being cut")]
