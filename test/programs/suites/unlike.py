# SPDX-License-Identifier: BSD-3-Clause
"""Collectives to which ranks bring different numbers of bytes, among them such that some go by FCI's
group and others by Open MPI's messages: the job ends with MPI_ERR_TRUNCATE, and both lengths are
said. Where a rank is only late nothing is said of that."""

import re

from harness import HERE, Case, built, failed, passed, run, signal_named

LIMIT = 120
RANKS = 3
# Bytes of the first rank and of the others. What fits into a table: 1088 bytes on one host.
LENGTHS = {"gather": ((100, 10), (2000, 500), (500, 2000)),
           "bcast": ((10, 100), (100, 5000), (5000, 100)),
           "reduce": ((100, 10), (2000, 500), (500, 2000)),
           "allreduce": ((100, 10), (2000, 500), (500, 2000)),
           "allgather": ((100, 10), (2000, 500), (500, 2000))}
LATE = 8  # seconds
TRUNCATED = 15  # MPI_ERR_TRUNCATE of Open MPI, with which the job ends
# A rank that has gone on to the barrier has 0 bytes there.
SAID = re.compile(r"fci: MPI_\w+ of MPI_COMM_WORLD: .* has (\d+) bytes, rank \d has (\d+)")


def ran(settings, *words):
    where = settings.directory("unlike")
    binary = built(settings, HERE / "unlike.c", where / "unlike", mpi=True, against_fci=False)
    command, env = settings.mpirun(RANKS, [binary, *words])
    return run(command, cwd=where, env=env, timeout=LIMIT)


def ends(settings, kind):
    """Or lives on, as over ob1, where no rank has to wait for another one."""
    lived = 0
    for root, others in LENGTHS[kind]:
        it = ran(settings, kind, root, others)
        said = it.err + it.out
        what = f"{kind} of {root} and {others}: {it.ended()}"
        if it.timed_out or it.left or signal_named(said):
            return failed(f"{what}: {it.last_line()}")
        if it.code == 0:
            lived += 1
            continue
        numbers = SAID.findall(said)
        told = any({first, second} == {str(root), str(others)} or (first, second) == ("0", str(root))
                   for first, second in numbers)
        # Where all go by messages it is Open MPI's own error, whose sentence mpirun loses at times.
        if not told and (numbers or it.code != TRUNCATED):
            return failed(f"{what}: the lengths are not said: {it.last_line()}")
    return passed(f"{len(LENGTHS[kind]) - lived} ended, {lived} lived")


def late(settings):
    it = ran(settings, "late", 0, LATE)
    if it.code or it.left or "unlike: all right" not in it.out or "fci: MPI_" in it.err:
        return failed(f"{it.ended()}: {it.last_line()}")
    return passed("nothing was said")


def cases(settings):
    if settings.transport != "fci-openmpi":
        return
    for kind in LENGTHS:
        yield Case(kind, lambda kind=kind: ends(settings, kind), load="waits")
    yield Case("late", lambda: late(settings), load="waits")
