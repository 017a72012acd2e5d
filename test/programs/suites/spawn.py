# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that spawn others: the jobs count as one, and few ranks, which have large buffers, meet many,
which have small ones."""

from harness import HERE, Case, built, failed, passed, run, signal_named

LIMIT = 120


def spawn(settings, ranks, children):
    where = settings.directory("spawn")
    binary = built(settings, HERE / "spawner.c", where / "spawner", mpi=True, against_fci=False)
    command, env = settings.mpirun(ranks, [binary, children])
    ran = run(command, cwd=where, env=env, timeout=LIMIT)
    if ran.code or ran.left or signal_named(ran.err):
        return failed(f"{ran.ended()}: {ran.last_line()}")
    if f"met {ranks} + {children}, parted" not in ran.out:
        return failed(ran.last_line())
    return passed()


def cases(settings):
    if not settings.over_our_build:
        return
    for ranks, children in ((1, 4), (2, 20), (1, 70)):
        yield Case(f"{ranks}+{children}",
                   lambda ranks=ranks, children=children: spawn(settings, ranks, children),
                   ci=children <= 20)
