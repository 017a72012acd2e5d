# SPDX-License-Identifier: BSD-3-Clause
"""Which hosts are meant: those that the user names, or else those of the allocation."""

import os
import re
import socket
import subprocess
from dataclasses import dataclass

from perf.trouble import Trouble

MOST_SLOTS = 999_999  # as fci-run
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
LIST_REMEDY = "fci_perf check --hosts a,b:4"
FILE_REMEDY = "a line for each host: NAME, NAME slots=4 or NAME:4"
FILES_OF_SLOTS = ("PBS_NODEFILE", "LSB_DJOB_HOSTFILE")  # a line for each slot
FILES_OF_LAUNCHERS = ("OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile",
                      "HYDRA_HOST_FILE")


@dataclass
class Host:
    name: str
    slots: int = 1


def merged(hosts):
    """A host that is named twice gets the slots of both."""
    found = {}
    for host in hosts:
        found.setdefault(host.name, Host(host.name, 0)).slots += host.slots
    return list(found.values())


def in_line(where, line, remedy):
    """The host of "a", "a:4" or "a slots=4", as fci-run reads them."""
    def refuse(cause):
        raise Trouble(f"{where}: '{line}' is no host", cause, remedy)

    first, *words = re.sub(r"\s*=\s*", "=", line).split() or [""]
    name, colon, slots = first.partition(":")
    slots = slots if colon else "1"
    for word in words:
        if word.startswith("slots="):
            slots = word.partition("=")[2]
        elif not re.match(r"max[_-]slots=", word):
            refuse(f"it is not known what {word} means")
    if not NAME.fullmatch(name):
        refuse(f"{name} is no name of a host" if name else "the name is empty")
    if not slots:
        refuse("behind the name a number is missing")
    if not re.fullmatch("[0-9]{1,6}", slots) or not 0 < int(slots) <= MOST_SLOTS:
        refuse(f"{slots} is no number of slots")
    return Host(name, int(slots))


def in_list(text, option="--hosts"):
    """Hosts of "a,b:4"."""
    if not all(part.strip() for part in text.split(",")):
        raise Trouble(f"{option} '{text}' leaves out a name", "names stand between commas",
                      LIST_REMEDY)
    return merged(in_line(option, part.strip(), LIST_REMEDY) for part in text.split(","))


def lines_of(option, path):
    """The lines of a file, without comments."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [re.split("[#\r]", line)[0].strip() for line in file.read().split("\n")]
    except OSError as error:
        raise Trouble(f"there is no host file '{path}'", f"{option}: {error.strerror}",
                      FILE_REMEDY) from None
    if not any(lines):
        raise Trouble(f"{option} {path} names no host", "nothing but comments is there",
                      FILE_REMEDY)
    return list(filter(None, lines))


def in_file(path, option="--hostfile"):
    return merged(in_line(f"{option} {path}", line, FILE_REMEDY)
                  for line in lines_of(option, path))


def of_slurm(nodes):
    """Names of Slurm's short form of a list, n[1-4]: Slurm's own program knows all of its forms."""
    command = ["scontrol", "show", "hostnames", nodes]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as error:
        cause = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1]
        raise Trouble(f"the hosts of this allocation, {nodes}, are not known",
                      f"{' '.join(command)}: {cause}", "name them: " + LIST_REMEDY) from None
    return merged(Host(name) for name in said.stdout.split())


def allocated(environment):
    """Hosts of the allocation or of the launchers' file that this process is in; none: []."""
    nodes = environment.get("SLURM_JOB_NODELIST")
    if nodes:
        return of_slurm(nodes)
    for name in FILES_OF_SLOTS:
        if environment.get(name):
            return merged(Host(line.split()[0]) for line in lines_of(name, environment[name]))
    if environment.get("LSB_HOSTS", "").split():
        return merged(map(Host, environment["LSB_HOSTS"].split()))
    for name in FILES_OF_LAUNCHERS:
        if environment.get(name):
            return in_file(environment[name], name)
    return []


def wanted(listed="", file="", environment=os.environ):
    """The hosts of --hosts or --hostfile; else the allocation's; else this computer alone."""
    if listed and file:
        raise Trouble("--hosts and --hostfile are both given", "each says which hosts are meant",
                      "leave one out")
    if listed:
        return in_list(listed)
    if file:
        return in_file(file)
    return allocated(environment) or [Host(socket.gethostname(), len(os.sched_getaffinity(0)))]
