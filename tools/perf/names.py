# SPDX-License-Identifier: BSD-3-Clause
"""Findings about the names and addresses of hosts, as each of them told."""

import fnmatch
import ipaddress

from perf.finding import bad, by_value, differing, good, named, note

LOOPBACK = ("127.",)
LINK_LOCAL = ("169.254.",)


def twins(seen):
    """(hosts without those that are another one by a second name, findings). Equal are the boot id,
    which hosts of a lab and containers share, the host's own name and all addresses."""
    first, findings = {}, []
    for host in seen:
        key = host.computer, host.told["name"], frozenset(host.addresses)
        if key not in first:
            first[key] = host
            continue
        other = first[key]
        other.slots += host.slots
        findings.append(note(
            "hosts", f"{host.name} is {other.name} by another name (the same boot id and "
            "addresses); it is taken once, as it would be measured as two", "name it once",
            [host.name]))
    return list(first.values()), findings


# --- names ---

def own_names(seen):
    """Hosts that take their own name for loopback."""
    found = {}
    for host in seen:
        answer = host.told["names"].get(host.name)
        if isinstance(answer, list) and any(each.startswith(LOOPBACK) for each in answer):
            found.setdefault(next(filter(lambda each: each.startswith(LOOPBACK), answer)),
                             []).append(host)
    for address, hosts in found.items():
        many = len(hosts) > 1
        lines = named(f"{host.address or 'ADDRESS'} {host.name}" for host in hosts)
        yield note("names", f"{named(host.name for host in hosts)} take{'s' * (not many)} "
                   f"{'their own names' if many else 'its own name'} for {address}: an MPI that "
                   "looks for its address by its name tells the others this one, and they do not "
                   "reach it; FCI does not look by name",
                   f"in /etc/hosts there, write instead of {address}: {lines}",
                   [host.name for host in hosts])


def strange(seen, target):
    """Pairs of a host and an address for which it takes the target, which is that of another host,
    or loopback."""
    for host in seen:
        answer = host.told["names"].get(target.name)
        for address in answer if host is not target and isinstance(answer, list) else ():
            if address.startswith(LOOPBACK):
                yield host, f"{address}, which is {host.name} itself"
            elif address not in target.addresses:
                others = [each.name for each in seen if address in each.addresses]
                if others:
                    yield host, f"{address}, which is {named(others)}"


def double(seen, target):
    """An address that the name of a host leads to, and that others have, too."""
    answers = [host.told["names"].get(target.name) for host in seen]
    known = {address for each in answers if isinstance(each, list) for address in each}
    for address in sorted(known & set(target.addresses)):
        others = [each.name for each in seen if each is not target and address in each.addresses]
        if others:
            yield bad("names", f"{target.name} is {address}, which {named(others)} "
                      f"ha{'ve' if len(others) > 1 else 's'}, too: packets reach the one or the "
                      "other", "give each host an address of its own (ip -br address)",
                      [target.name, *others])


def of_target(seen, target):
    """How the others know a host."""
    yield from double(seen, target)
    wrong = list(strange(seen, target))
    for host, text in wrong:
        yield bad("names", f"{host.name} takes {target.name} for {text}",
                  f"in /etc/hosts or DNS of {host.name}: {target.address or 'ADDRESS'} "
                  f"{target.name}", [(host.name, target.name)])
    known = {host.name: host.told["names"].get(target.name) for host in seen}
    unknown = {name: answer for name, answer in known.items() if not isinstance(answer, list)}
    if unknown:
        hosts = "no host" if len(unknown) == len(seen) else named(unknown)
        yield note("names", f"{target.name} is not known on {hosts} "
                   f"({named(sorted(set(unknown.values())))}): launchers that start hosts from "
                   "other hosts, and MPIs that call back by name, do not get through",
                   f"the same /etc/hosts on all hosts, or DNS, with: {target.address or 'ADDRESS'} "
                   f"{target.name}", list(unknown))
    skipped = {host.name for host, _ in wrong} | set(unknown) | {target.name}
    groups = by_value([host for host in seen if host.name not in skipped],
                      lambda host: named(known[host.name]))
    if len(groups) > 1:
        yield note("names", f"{target.name} is {differing(groups)}",
                   "the same /etc/hosts on all hosts, or DNS", [target.name])


def names(seen):
    """How each host knows itself and the others."""
    if len(seen) < 2:
        return []
    findings = [*own_names(seen), *(each for target in seen for each in of_target(seen, target))]
    return findings or [good("names", f"each of {len(seen)} hosts knows all, by the same "
                             "addresses")]


# --- addresses ---

def fits(net, interface, address):
    """Whether FCI_NET means it: an interface, a pattern of such, a subnet or an address."""
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(net, strict=False)
    except ValueError:
        return fnmatch.fnmatchcase(interface, net)


def candidates(host, seen, net):
    """Addresses at which others could reach a host, those that names lead to first: those of
    interfaces that are up, and of no other host, as those of Docker's bridges are."""
    taken = {address for other in seen if other is not host for address in other.addresses}
    free = [(address, name) for address, name in host.addresses.items()
            if host.told["interfaces"][name]["up"] and not address.startswith(LINK_LOCAL)
            and address not in taken]
    wanted = [each for each in free if not net or fits(net, each[1], each[0])]
    answers = [other.told["names"].get(host.name) for other in seen]
    known = [address for each in answers if isinstance(each, list) for address in each]
    return sorted(wanted, key=lambda each: -known.count(each[0]))


def had(host, seen):
    """The addresses of a host in a sentence, each with the reason against it."""
    shown = []
    for address, name in host.addresses.items():
        others = [other.name for other in seen if other is not host and address in other.addresses]
        shown.append(f"{name} {address}" + ", which is down" *
                     (not host.told["interfaces"][name]["up"])
                     + (f", which is that of {named(others)}, too" if others else ""))
    return "; ".join(shown) or "nothing but loopback"


def addresses(seen, net):
    """Sets address and interface of each host."""
    findings = []
    for host in seen:
        found = candidates(host, seen, net)
        if found:
            host.address, host.interface = found[0]
        elif len(seen) > 1:
            why = f"FCI_NET='{net}' fits none of" if net else "it has"
            findings.append(bad(
                "network", f"{host.name} has no address at which the others could reach it: {why} "
                f"{had(host, seen)}",
                "give each host an address of its own on a network that all are on, and see that "
                "it is up (ip -br address); FCI_NET=INTERFACE or FCI_NET=10.1.0.0/16 says which",
                [host.name]))
    shown = [f"{host.name} {host.address} ({host.interface})" for host in seen if host.address]
    return findings or ([good("network", named(shown))] if len(seen) > 1 else [])
