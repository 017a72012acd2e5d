# SPDX-License-Identifier: BSD-3-Clause
"""Collectives that Open MPI begins by itself while a program's own begin, and that small nonblocking
ones of programs go by FCI's groups. MPI_Comm_split beside MPI_Comm_idup of the same communicator is
not here: each agrees on a number by collectives of the same communicator, whose order Open MPI does
not keep, and that hangs over ob1 as well if one rank is late."""

import re

from harness import HERE, Case, built, failed, passed, run, signal_named

LIMIT = 120
KINDS = {"barrier": 40, "bcast": 40, "reduce": 40, "allgather": 40, "allreduce": 40, "long": 5,
         "dup": 20}  # how often
ROUNDS = 500


def ran(settings, ranks, *words):
    where = settings.directory("underway")
    binary = built(settings, HERE / "underway.c", where / "underway", mpi=True, against_fci=False)
    command, env = settings.mpirun(ranks, [binary, *words], options=settings.exporting("FCI_STATS"),
                                   env={"FCI_STATS": "on"})
    it = run(command, cwd=where, env=env, timeout=LIMIT)
    if it.code or it.left or signal_named(it.err) or "underway: all right" not in it.out:
        return it, failed(f"{' '.join(map(str, words))}: {it.ended()}: {it.last_line()}")
    return it, None


def idup(settings, ranks):
    for kind, rounds in KINDS.items():
        _, wrong = ran(settings, ranks, "idup", kind, rounds)
        if wrong:
            return wrong
    return passed(f"{len(KINDS)} kinds")


def loops(settings, ranks):
    it, wrong = ran(settings, ranks, "loops", ROUNDS)
    if wrong:
        return wrong
    told = [int(number) for number in re.findall(r"\btable_collectives\D+(\d+)", it.err + it.out)]
    if len(told) != ranks or (min(told) < 4 * ROUNDS and not settings.lab):
        return failed(f"of {4 * ROUNDS} collectives went by tables: {told or 'none'}")
    return passed(f"{min(told)} of {4 * ROUNDS} and more")


def cases(settings):
    if settings.transport not in ("fci-openmpi", "fci-mpich"):
        return
    for ranks in (2, 3, 4):
        yield Case(f"idup-{ranks}", lambda ranks=ranks: idup(settings, ranks))
    if settings.transport == "fci-openmpi":
        yield Case("loops", lambda: loops(settings, 4))
