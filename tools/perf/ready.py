# SPDX-License-Identifier: BSD-3-Clause
"""The look at all hosts before a first job: that each can be started on, knows the others, and
reaches them. It says of all hosts what fci_info --doctor says of one."""

import base64
import hashlib
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from perf import names, shells, there, versions, ways
from perf.finding import Seen, bad, by_value, good, lines_of, named, note
from perf.trouble import Trouble

TELL_S, TAKE_S, REACH_S = 14, 20, 20  # for the answer of a host; most come within one second
MORE_S = 0.25  # for each host: this computer starts all shells at the same time
MOST_PEERS = 128  # that one host tries
NEIGHBOURS = 900  # that a computer's kernel knows at a time, of all hosts of a lab (gc_thresh3)


@dataclass
class Options:
    """fci_run, mpirun: paths here, or empty where there is none; plain: jobs do without FCI; net,
    ports: FCI_NET and FCI_PORTS of the jobs."""
    fci_run: str = field(default_factory=lambda: shutil.which("fci-run") or "")
    mpirun: str = field(default_factory=lambda: shutil.which("mpirun") or "")
    plain: bool = False
    net: str = field(default_factory=lambda: os.environ.get("FCI_NET", ""))
    ports: str = field(default_factory=lambda: os.environ.get("FCI_PORTS", ""))


@dataclass
class Readiness:
    """findings: of finding.Finding; hosts: of finding.Seen, those that a job can be measured on,
    each once, in the order in which they were named."""
    findings: list
    hosts: list

    @property
    def code(self):
        return max((each.code for each in self.findings), default=0)


def told(readiness):
    """(lines for a person, exit code: 0, or 1 where long messages would hang, or 2 where no job can
    start)"""
    return lines_of(readiness.findings), readiness.code


class Look:
    """All hosts at the same time, each through a shell of its own."""

    def __init__(self, hosts, program_path, options):
        self.hosts, self.options, self.token = hosts, options, os.urandom(8).hex()
        self.shells, self.calls = shells.remote_shells(), {}
        self.program, self.content = os.path.abspath(program_path) if program_path else "", b""
        if program_path:
            with open(program_path, "rb") as file:
                self.content = file.read()

    def each(self, keys, task):
        """key -> the result of task(key), or the Silent that it raised."""
        def kept(key):
            try:
                return task(key)
            except shells.Silent as silent:
                return silent
        keys = list(keys)
        with ThreadPoolExecutor(max(1, len(keys))) as pool:
            return dict(zip(keys, pool.map(kept, keys)))

    def first_answer(self, name):
        """By the first remote shell that gets there; raises the Silent of the first otherwise."""
        failed = []
        for shell in self.shells:
            try:
                call = self.calls[name] = shells.Call(name, shell)
                return self.about(call)
            except shells.Silent as silent:
                failed.append(silent)
                if silent.kind != "shell":
                    break
        raise failed[0]

    def about(self, call):
        options = self.options
        ports = re.fullmatch(r"(\d+)(?:-(\d+))?", options.ports)
        return call.ask({
            "do": "tell", "token": self.token, "names": [host.name for host in self.hosts],
            "fci": [options.fci_run, "fci-run"], "mpi": [options.mpirun, "mpirun"],
            "program": self.program, "digest": hashlib.sha256(self.content).hexdigest(),
            "ports": [int(ports[1]), int(ports[2] or ports[1])] if ports else None,
        }, min(TELL_S + MORE_S * len(self.hosts), there.LIFE_S), shells.SOURCE)

    def sent(self, seen):
        """Gives the program to those hosts that lack it."""
        lacks = [host.name for host in seen if not host.told["program"]]
        if not self.program or not seen:
            return []
        if not lacks:
            return [good("program", f"{self.program} is on all hosts")] if len(seen) > 1 else []
        content = base64.b64encode(self.content).decode()
        answers = self.each(lacks, lambda name: self.calls[name].ask(
            {"do": "take", "program": self.program, "content": content}, TAKE_S))
        refused = {}
        for name, answer in answers.items():
            why = answer.cause if isinstance(answer, shells.Silent) else answer["refused"]
            refused.setdefault(why, []).append(name)
        findings = []
        if "" in refused:
            findings.append(good("program", f"sent to {named(refused.pop(''))}, which had no such "
                                 f"{self.program}"))
        folder = os.path.dirname(self.program)
        return findings + [
            bad("program", f"it cannot be put into {folder} on {named(hosts)}: {why}",
                "name a folder that can be written on all hosts: XDG_CACHE_HOME=FOLDER", hosts)
            for why, hosts in refused.items()]

    def tried(self, seen):
        """((from, to) -> what there.Here.reach() found, findings about hosts without an answer)"""
        goals = {host.name: [host.name, host.address, host.told["tcp"], host.told["udp"]]
                 for host in seen if host.address and host.told["tcp"]}
        peers = peers_of([host.name for host in seen if host.name in goals], most_peers(seen))
        answers = self.each(peers, lambda name: self.calls[name].ask(
            {"do": "reach", "peers": [goals[peer] for peer in peers[name]]}, REACH_S))
        silent = {name: each for name, each in answers.items() if isinstance(each, shells.Silent)}
        found = {(name, other): {"tcp": answer["tcp"].get(other, "silent"),
                                 "mtu": answer["mtu"].get(other, [0, 0, 0])}
                 for name, answer in answers.items() if name not in silent for other in peers[name]}
        return found, silent_findings(silent, self.by)

    @property
    def by(self):
        """The remote shells that are used, in words."""
        found = dict.fromkeys(call.shell.name for call in self.calls.values() if not call.is_own)
        return f" by {named(found)}" if found else ""

    def end(self):
        self.each(self.calls, lambda name: self.calls[name].end())


def most_peers(seen):
    """How many each host may try: hosts of a lab share the kernel's table of neighbours, in which
    each pair takes two places."""
    on_one = max(map(len, by_value(seen, lambda host: host.computer).values()))
    return MOST_PEERS if on_one == 1 else min(MOST_PEERS, max(2, NEIGHBOURS // on_one))


def peers_of(hosts, most):
    """host -> those that it tries: all, or, where these are more than `most`, those at distances
    spread over the circle of hosts, both ways round: each pair is tried in both directions."""
    count, half = len(hosts), most // 2
    steps = set(range(1, count))
    if len(steps) > most:
        steps = {way * (1 + i * (count // 2 - 1) // half) % count
                 for i in range(half) for way in (1, -1)}
    return {host: [other for j, other in enumerate(hosts) if (j - i) % count in steps]
            for i, host in enumerate(hosts)}


def silent_findings(silent, by):
    """silent: name -> Silent. Those about hosts that gave no answer, one for each cause."""
    groups = {}
    for name, each in silent.items():
        groups.setdefault((each.kind, each.cause), []).append(name)
    for (kind, cause), names_of in groups.items():
        first = silent[names_of[0]]
        cause += f" ({first.said})" if first.said else ""
        if kind == "python":
            yield note("hosts", f"on {named(names_of)} nothing more is looked at: {cause}",
                       first.remedy, names_of)
        else:
            yield bad("hosts", f"{named(names_of)} cannot be reached{by}: {cause}", first.remedy,
                      names_of)


def without_port(seen, ports):
    """Hosts on which no port of FCI_PORTS was free."""
    hosts = [host.name for host in seen if not host.told["tcp"]]
    return [bad("ports", f"no port of FCI_PORTS={ports} is free on {named(hosts)}",
                "name others, or more of them", hosts)] if hosts else []


def judged(look, answers):
    """Readiness of what the hosts answered, with what those tell that are asked again."""
    silent = {name: each for name, each in answers.items() if isinstance(each, shells.Silent)}
    findings = list(silent_findings(silent, look.by))
    seen = [Seen(host.name, host.slots, answers[host.name]) for host in look.hosts
            if host.name not in silent]
    blind = [Seen(host.name, host.slots) for host in look.hosts
             if host.name in silent and silent[host.name].kind == "python"]
    if not seen:
        return Readiness(findings, blind)
    count = f"{len(seen)} of {len(answers)} answer{look.by}: " * (len(answers) > 1)
    findings.insert(0, good("hosts", count + named(host.name for host in seen)))
    seen, more = names.twins(seen)
    options = look.options
    network = names.addresses(seen, options.net)
    findings += [*more, *names.names(seen), *network,
                 *versions.fci(seen, options.fci_run, options.plain),
                 *versions.mpi(seen, not look.shells[-1].is_srun), *versions.system(seen),
                 *versions.interfaces(seen), *look.sent(seen), *without_port(seen, options.ports)]
    if len(seen) > 1:
        tried, more = look.tried(seen)
        receives = {host.name: host.of_interface("mtu") for host in seen}
        findings += [*more, *ways.ports(tried, len(seen)), *ways.mtus(tried, receives)]
    return Readiness(findings, sorted(seen + blind, key=lambda each: [*answers].index(each.name)))


def looked_at(hosts, program_path=None, options=None):
    """Readiness of these hosts (hosts.Host). program_path: of the measuring program, which has to
    lie there on each host and is sent where it does not."""
    try:
        look = Look(hosts, program_path, options or Options())
    except OSError as error:
        raise Trouble("the measuring program cannot be read", f"{error.filename}: {error.strerror}",
                      "build it again: call fci_perf once more") from None
    try:
        return judged(look, look.each([host.name for host in hosts], look.first_answer))
    finally:
        look.end()
