# SPDX-License-Identifier: BSD-3-Clause
"""Small collectives of all kinds, in any order, on communicators that come and go, among more ranks
than cores: where FCI has ways of its own for them, and where it has none. And many communicators,
which give back the memory that they took."""

from harness import HERE, Case, built, failed, passed, run, signal_named

LIMIT = 120
ROUNDS = 400


def collectives(settings, ranks, seed):
    """Runs crowd.c: (how it ran, the verdict)."""
    seed += settings.seed - 1
    where = settings.directory("crowd")
    binary = built(settings, HERE / "crowd.c", where / "crowd", mpi=True, against_fci=False)
    command, env = settings.mpirun(ranks, [binary, seed, ROUNDS], env={"FCI_STATS": "on"})
    ran = run(command, cwd=where, env=env, timeout=LIMIT)
    if ran.code or ran.left or signal_named(ran.err):
        return ran, failed(f"{ran.ended()}: {ran.last_line()}")
    if f"crowd: {ROUNDS} rounds, all right" not in ran.out:
        return ran, failed(ran.last_line())
    return ran, passed(f"seed {seed}")


def communicators(settings, ranks, alive, rounds):
    where = settings.directory("communicators")
    binary = built(settings, HERE / "communicators.c", where / "communicators", mpi=True,
                   against_fci=False)
    command, env = settings.mpirun(ranks, [binary, alive, rounds])
    ran = run(command, cwd=where, env=env, timeout=LIMIT)
    if ran.code or ran.left or signal_named(ran.err) or "communicators: " not in ran.out:
        return failed(f"{ran.ended()}: {ran.last_line()}")
    return passed(ran.last_line())


def cases(settings):
    if not settings.over_our_build:
        return
    for ranks, seed in ((2, 1), (3, 2), (5, 3), (8, 4), (16, 5), (20, 6)):
        yield Case(f"{ranks}-ranks", lambda ranks=ranks, seed=seed: collectives(settings, ranks, seed)[1],
                   ci=ranks in (3, 8, 20))
    for ranks, alive, rounds in ((2, 200, 10), (4, 200, 3)):
        yield Case(f"communicators-{ranks}",
                   lambda ranks=ranks, alive=alive, rounds=rounds:
                   communicators(settings, ranks, alive, rounds), ci=ranks == 4)
