# SPDX-License-Identifier: BSD-3-Clause
"""A rank that calls nothing of MPI for longer than any host may be silent, or is stopped, while
messages wait for it, over TCP: all of them arrive, also where the sender ends meanwhile. Hosts may be
silent for 2 s; and once, over one transport, for as long as they usually may."""

from concurrent.futures import ThreadPoolExecutor

from harness import HERE, Case, built, failed, passed, run, signal_named

SECONDS, SECONDS_USUAL = 5, 15  # a host that is silent for 3 s, or usually for 11 s, has gone
SHORT, USUAL = {"FCI_SILENCE_MS": "2000"}, {"FCI_WAIT": "sleep"}  # which leaves the cores to others
LIMIT = 120
WAYS = ("waits", "finalizes", "stops")


def one(settings, where, binary, way, seconds, silence):
    here = {} if settings.lab else {"FCI_DRIVER": "tcp", "FCI_NET": "lo"}
    here = {**here, **silence}
    options = [word for name in here for word in settings.exporting(name)]
    command, env = settings.mpirun(2, [binary, seconds, way], options=options)
    ran = run(command, cwd=where, timeout=LIMIT, env={**env, **here})
    if ran.code or ran.left or signal_named(ran.err):
        return f"{way}: {ran.ended()}: {ran.last_line()}"
    if "deaf: all right" not in ran.out:
        return f"{way}: {ran.last_line()}"
    return "" if ran.seconds >= seconds else f"{way}: over after {ran.seconds:.1f} s"


def all_ways(settings, seconds, silence):
    where = settings.directory("deaf")
    binary = built(settings, HERE / "deaf.c", where / "deaf", mpi=True, against_fci=False)
    with ThreadPoolExecutor() as together:
        for failure in together.map(
                lambda way: one(settings, where, binary, way, seconds, silence), WAYS):
            if failure:
                return failed(failure)
    return passed(f"{seconds} s")


def cases(settings):
    if settings.over_our_build:
        yield Case("tcp", lambda: all_ways(settings, SECONDS, SHORT), load="waits")
    if settings.transport == "fci-openmpi" and not settings.lab:
        yield Case("tcp-in-real-time", lambda: all_ways(settings, SECONDS_USUAL, USUAL), load="waits")
