# SPDX-License-Identifier: BSD-3-Clause
"""Programs that call fork() and system() while messages are under way; and what a library must
leave alone: signal handlers, the terminal, files."""

import re

from harness import HERE, Case, built, failed, passed, patience, run, signal_named
from survivors import Crowd

LIMIT = 60


def start(settings, transport, binary):
    command, env = settings.mpirun(2, [binary, 60], transport)
    return run(command, cwd=settings.directory("fork"), env=env, timeout=LIMIT)


def forker(settings):
    return built(settings, HERE / "forker.c", settings.directory("fork") / "forker", mpi=True,
                 against_fci=False)


def mpi_program(settings):
    """Data right, the same handlers changed as over the stock transport, no other output."""
    binary = forker(settings)
    ours, changed = settings.transport, {}
    for transport in ("stock", ours):
        ran = start(settings, transport, binary)
        if ran.code or ran.left or signal_named(ran.err):
            return failed(f"{transport}: {ran.ended()}: {ran.last_line()}")
        changed[transport] = re.findall(r"^changed [^:]*:(.*)$", ran.out, re.M)
        other = [line for line in (ran.out + ran.err).splitlines()
                 if not line.startswith("changed ")]
        if transport == ours and other:
            return failed("output that nobody asked for: " + other[0])
    if len(changed[ours]) != 2 or changed[ours] != changed["stock"]:
        return failed(f"signal handlers changed: {changed[ours]}, stock {changed['stock']}")
    return passed("60 rounds; handlers as over the stock transport")


def stray(settings, call):
    """A child that calls MPI is told what is wrong and ends; the job goes on."""
    binary = forker(settings)
    command, env = settings.mpirun(2, [binary, 6, call])
    ran = run(command, cwd=settings.directory("fork"), env=env, timeout=LIMIT)
    ended = re.search(r"stray child: (\w+) (\d+)", ran.out)
    told = re.search(r"^(?:\[\S+\] )?fci: process \d+ came from fork\(\).*", ran.err, re.M)
    if ran.code or not ended:
        return failed(f"{ran.ended()}: {ran.last_line()}")
    if not told or ended.group(1) != "exit" or ended.group(2) == "0":
        return failed(f"{ended.group(0)}; {told.group(0) if told else 'nothing was said'}")
    return passed(f"it was told, and {ended.group(1)} {ended.group(2)}; its parent went on")


def plain(settings):
    """The same without MPI, with children that end through exit(), or stay."""
    with Crowd(settings, 3, rounds=400, mode="fork") as crowd:
        crowd.hand_out(crowd.cards())
        crowd.watch(patience(LIMIT))
        for rank in range(3):
            if rank not in crowd.ends or crowd.code(rank) != 0:
                return failed(f"rank {rank}: exit {crowd.code(rank)}: {crowd.text(rank).strip()}")
            if crowd.text(rank):
                return failed("output that nobody asked for: " + crowd.text(rank).strip())
        left = crowd.left_behind()
    if left:
        return failed("left behind: " + ", ".join(left))
    return passed("no handler changed, no output, nothing left")


def cases(settings):
    yield Case("mpi", lambda: mpi_program(settings))
    yield Case("stray", lambda: stray(settings, "send"))
    if settings.transport == "fci-openmpi":  # by the provider a communicator is none of FCI's
        yield Case("stray-dup", lambda: stray(settings, "dup"))
    if settings.transport == "fci":  # without MPI: once is enough
        yield Case("plain", lambda: plain(settings))
