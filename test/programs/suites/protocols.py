# SPDX-License-Identifier: BSD-3-Clause
"""Each message protocol (FCI_PROTOCOL) under a whole program, with more ranks than cores: what is
copied at once under one of them waits under another to be asked for."""

from harness import HERE, Case, built, failed, passed, run, signal_named

LIMIT = 60
RANKS = 4
ROUNDS = 3
LENGTHS = (1, 4096, 200_000)  # bytes
PROTOCOLS = ("enhanced-mixed", "two-sided", "optimistic", "one-sided", "mixed")


def all_to_all(settings, protocol):
    where = settings.directory("protocols")
    binary = built(settings, HERE / "alltoall.c", where / "alltoall", mpi=True, against_fci=False)
    for length in LENGTHS:
        command, env = settings.mpirun(RANKS, [binary, length, ROUNDS])
        ran = run(command, cwd=where, env={**env, "FCI_PROTOCOL": protocol}, timeout=LIMIT)
        if ran.code or ran.left or signal_named(ran.err):
            return failed(f"{length} B: {ran.ended()}: {ran.last_line()}")
        if f"alltoall: {RANKS} ranks, all right" not in ran.out:
            return failed(f"{length} B: {ran.last_line()}")
    return passed(f"{RANKS} ranks, {len(LENGTHS)} lengths")


def cases(settings):
    if not settings.over_our_build:
        return
    for protocol in PROTOCOLS:
        yield Case(protocol, lambda protocol=protocol: all_to_all(settings, protocol))
