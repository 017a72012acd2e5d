# SPDX-License-Identifier: BSD-3-Clause
"""Findings about FCI, the MPI, the system and the interfaces of hosts, as each of them told."""

import os
import platform
import re

from perf.finding import bad, by_value, differing, good, named, note

SAME = "the same one on all hosts, at the same path"


def figures(text):
    """Of a version: 4.1.4."""
    found = re.search(r"\d+(\.\d+)+", text)
    return found.group(0) if found else text


def fci(seen, path, is_plain):
    """path: of fci-run here, or empty; is_plain: jobs do without FCI."""
    has = [host for host in seen if host.told["fci"]]
    if is_plain or not (has or path):
        text = "not used" if is_plain else "not installed: the MPI's own network is measured"
        return [note("FCI", text)] if not is_plain else []
    lacks = [host.name for host in seen if not host.told["fci"]]
    remedy = f"install {SAME}; or measure the MPI's own network: --plain"
    findings = []
    if lacks:
        findings.append(bad("FCI", f"not installed on {named(lacks)}: no fci-run, neither "
                            f"{f'at {path} ' if path else ''}nor in PATH", remedy, lacks))
    places, versions = (by_value(has, lambda host: host.told["fci"][i]) for i in (0, 1))
    numbers = by_value(has, lambda host: figures(host.told["fci"][1]))
    if len(places) > 1:
        findings.append(bad("FCI", f"not at the same place: {differing(places)}; jobs look for it "
                            "where the first host has it", remedy, [host.name for host in has]))
    if len(numbers) > 1:
        findings.append(bad("FCI", f"not the same version: {differing(versions)}; over TCP no host "
                            "takes connections from another version", remedy,
                            [host.name for host in has]))
    elif len(versions) > 1:
        findings.append(note("FCI", f"not the same commit: {differing(versions)}", remedy,
                             [host.name for host in has]))
    return findings or [good("FCI", f"{next(iter(versions))}, {next(iter(places))}"
                             + " on all hosts" * (len(seen) > 1))]


def mpi(seen, starts_by_mpirun):
    """starts_by_mpirun: the launcher calls programs of the MPI on each host, as over ssh, but not
    where Slurm starts the ranks."""
    has = [host for host in seen if host.told["mpi"]]
    lacks = [host.name for host in seen if not host.told["mpi"]]
    findings = []
    if not has:
        return [note("MPI", "no mpirun, neither here nor on another host", "install an MPI, or put "
                     "its programs into PATH")]
    if lacks:
        state = bad if starts_by_mpirun else note
        findings.append(state("MPI", f"no mpirun on {named(lacks)}, neither at the same place as "
                              "on the others nor in PATH of a shell that is no login: a launcher "
                              "can start nothing there", f"install {SAME}", lacks))
    versions = by_value(has, lambda host: host.told["mpi"][1] or "of no known version")
    if len(versions) > 1:
        findings.append(bad("MPI", f"not the same: {differing(versions)}; launchers refuse to work "
                            "with another version", f"install {SAME}", [host.name for host in has]))
    return findings or [good("MPI", f"{next(iter(versions))}, {has[0].told['mpi'][0]}"
                             + " on all hosts" * (len(seen) > 1))]


def older(one, other):
    """Whether the C library of a host is older than the other's."""
    return [*map(int, re.findall(r"\d+", one))] < [*map(int, re.findall(r"\d+", other))]


def system(seen):
    """Against this computer, as programs are built here."""
    machines, libraries, kernels = (by_value(seen, lambda host: host.told[each])
                                    for each in ("machine", "libc", "kernel"))
    machine, library, findings = platform.machine(), os.confstr("CS_GNU_LIBC_VERSION") or "", []
    others = [host.name for host in seen if host.told["machine"] != machine]
    if others:
        findings.append(bad("system", f"not the same machine: {differing(machines)}; a program "
                            f"that is built here ({machine}) does not run on {named(others)}",
                            "take hosts of one kind", others))
    others = [host.name for host in seen if older(host.told["libc"], library)]
    if others:
        findings.append(note("system", f"the C library is older on {named(others)} "
                             f"({differing(libraries)}) than here ({library}): a program that is "
                             "built here may not start there",
                             "build where the C library is the oldest", others))
    if len(kernels) > 1:
        findings.append(note("system", f"not the same kernel: {differing(kernels)}"))
    return findings or [good("system", f"Linux {next(iter(kernels))}, {named(libraries)}, {machine}"
                             " on all hosts" * (len(seen) > 1))]


def interfaces(seen):
    """MTU and speed of those that the others reach."""
    found = [host for host in seen if host.address]
    findings = []
    sizes = by_value(found, lambda host: host.of_interface("mtu"))
    speeds = by_value([host for host in found if host.line_rate],
                      lambda host: host.of_interface("speed"))
    if len(sizes) > 1:
        findings.append(note("interfaces", f"not the same MTU: {differing(sizes)}",
                             "the same one on all hosts, and on the ports of the switches"))
    if len(speeds) > 1:
        text = "; ".join(f"{value} Mbit/s on {named(names)}" for value, names in speeds.items())
        findings.append(note("interfaces", f"not the same speed: {text}",
                             "look at cable and port of the slower ones: ethtool INTERFACE"))
    if findings or len(found) < 2:
        return findings
    known = f", {next(iter(speeds))} Mbit/s" if sum(map(len, speeds.values())) == len(found) else ""
    return [good("interfaces", f"MTU {next(iter(sizes))}{known} on all hosts")]
