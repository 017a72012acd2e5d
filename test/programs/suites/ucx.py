# SPDX-License-Identifier: BSD-3-Clause
"""Whole programs by the driver ucx, over networks of UCX that every host has: TCP and shared
memory; between hosts by UCX, within them by FCI's shared memory; and by verbs, over reliable
connections and over unreliable datagrams, where a port of an RDMA device is up (test/rdma/run)."""

import os
import re
from pathlib import Path
from unittest import mock

from harness import HERE, SLOWNESS, Case, built, failed, passed, run, signal_named, skipped
from suites import kill

LIMIT = 120
RANKS = 4
ROUNDS = 3
LENGTHS = (1, 4096, 200_000)  # bytes
WAYS = {
    "tcp": {"UCX_TLS": "tcp", "UCX_NET_DEVICES": "lo"},
    # Without the others UCX does not go by shared memory where it is to notice dead peers.
    "shared-memory": {"UCX_TLS": "posix,sysv", "UCX_POSIX_ERROR_HANDLING": "y",
                      "UCX_SYSV_ERROR_HANDLING": "y"},
}
VERBS = {"rc": "rc_v", "ud": "ud_v"}
OVER_TCP = {"UCX_TLS": "tcp", "UCX_WARN_UNUSED_ENV_VARS": "n"}
BETWEEN_HOSTS = {"FCI_FAR": "ucx", **OVER_TCP}
# Runs a program where a port of an RDMA device is up as far as the kernel's files say, if this host
# is one of those named first.
WITH_PORT = """#!/bin/sh
case " $1 " in *" $(hostname) "*) ;; *) shift; exec "$@" ;; esac
shift
exec unshare -m sh -ec '
    there=$(mktemp -d); mount --bind /sys/class/net "$there"; mount -t tmpfs none /sys/class
    mkdir -p /sys/class/net /sys/class/infiniband/port_0/ports/1
    mount --bind "$there" /sys/class/net
    echo "4: ACTIVE" > /sys/class/infiniband/port_0/ports/1/state
    exec "$@"' sh "$@"
"""


def rdma_port():
    """The first that is up, as UCX_NET_DEVICES has it, or nothing."""
    for state in sorted(Path("/sys/class/infiniband").glob("*/ports/*/state")):
        if "ACTIVE" in state.read_text():
            return f"{state.parts[-4]}:{state.parts[-2]}"
    return ""


def ways():
    port = rdma_port()
    verbs = {way: {"UCX_TLS": transports, "UCX_NET_DEVICES": port}
             for way, transports in VERBS.items() if port}
    return {**WAYS, **verbs}


def environment(way):
    return {**ways()[way], "FCI_DRIVER": "ucx", "UCX_WARN_UNUSED_ENV_VARS": "n"}


def is_missing(ran):
    return re.search(r"built without UCX|UCX cannot be opened", ran.out + ran.err)


def all_to_all(settings, ours, said, under=()):
    """By these variables, started by that command; FCI_INFO says so."""
    where = settings.directory("ucx")
    binary = built(settings, HERE / "alltoall.c", where / "alltoall", mpi=True, against_fci=False)
    for length in LENGTHS:
        command, env = settings.mpirun(RANKS, [*under, binary, length, ROUNDS])
        ran = run(command, cwd=where, env={**env, **ours, "FCI_INFO": "1"}, timeout=LIMIT)
        if is_missing(ran):
            return skipped("UCX is not here")
        if ran.code or ran.left or signal_named(ran.err):
            return failed(f"{length} B: {ran.ended()}: {ran.last_line()}")
        if f"alltoall: {RANKS} ranks, all right" not in ran.out:
            return failed(f"{length} B: {ran.last_line()}")
        if not re.search(said, ran.out + ran.err):
            return failed(f"FCI_INFO does not say '{said}'")
    return passed(f"{RANKS} ranks, {len(LENGTHS)} lengths")


def chosen(settings, hosts):
    """By itself on these hosts, as a port is up there, if UCX is such that it may be; to the others
    they go by TCP."""
    script = settings.directory("ucx") / "with-port"
    script.write_text(WITH_PORT)
    can = run(settings.lab.on("n1", ["sh", str(script), "n1", "true"]), cwd=script.parent,
              env={}, timeout=LIMIT)
    if can.code:
        return skipped("this user cannot show a port that is not there")
    said = (r"other hosts by UCX \S+, RDMA by port_0:1; by TCP where they have none"
            r"|RDMA by port_0:1 is up, but TCP is used: UCX 1\.13")
    return all_to_all(settings, OVER_TCP, said, ["sh", str(script), " ".join(hosts)])


def killed(settings, way):
    """A rank that is killed is named by the others, which learn of it by TCP. Over verbs once all have
    met: UCX 1.13 ends a process that gives a peer up to which it still connects (openucx/ucx#8175)."""
    with mock.patch.dict(os.environ, environment(way)):
        if way in VERBS:
            return kill.survivors(settings, 3, least=0.5 * SLOWNESS)
        return kill.survivors(settings, 10)


def report(settings):
    """What owners of cards run, here without one: all but that is good."""
    tool, where = settings.prefix / "bin/fci-ucx-report", settings.directory("ucx")
    ran = run(settings.lab.on("n1", [str(tool), "--hosts", "n1,n2", "--mpicc",
                                     f"mpicc.{settings.mpi}", "--output", "-"]),
              cwd=where, timeout=LIMIT, env={
                  "OMPI_MCA_plm_rsh_agent": "/run/fci-lab/rsh", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                  "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "XDG_CACHE_HOME": str(where / "cache"),
                  "UCX_TLS": "tcp", "UCX_WARN_UNUSED_ENV_VARS": "n"})
    if is_missing(ran):
        return skipped("UCX is not here")
    verdict = re.findall(r"^  (good|BAD ) {2}(.*)$", ran.out, re.M)
    bad = [name for word, name in verdict if word != "good" and name != "an RDMA port is up"]
    if bad or len(verdict) != 5 or ran.left:
        return failed(f"{ran.ended()}: {', '.join(bad)}: {ran.last_line()}")
    return passed(f"{ran.seconds:.0f} s")


def cases(settings):
    if not settings.over_our_build:
        return
    if settings.lab:
        yield Case("between-hosts",
                   lambda: all_to_all(settings, BETWEEN_HOSTS, "other hosts by UCX"))
        yield Case("chosen", lambda: chosen(settings, [f"n{1 + i}" for i in range(settings.lab.hosts)]))
        yield Case("chosen-by-one", lambda: chosen(settings, ["n1"]))
        if settings.transport == "fci-openmpi":
            yield Case("report", lambda: report(settings))
        return
    for way in ways():
        yield Case(way, lambda way=way: all_to_all(settings, environment(way), "driver ucx"))
        if settings.transport == "fci":
            yield Case(f"{way}-killed", lambda way=way: killed(settings, way))
