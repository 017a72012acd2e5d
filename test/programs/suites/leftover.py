# SPDX-License-Identifier: BSD-3-Clause
"""What is let go before it has ended: messages that nobody received, on communicators that were
freed, of which the next one with the same context id finds none; and a request that was freed, of
which a part of Open MPI wants to hear."""

import subprocess

from harness import HERE, Case, built, failed, open_mpi_release, passed, run, signal_named

LIMIT = 60


def leftover(settings, mode):
    where = settings.directory("leftover")
    binary = built(settings, HERE / "leftover.c", where / "leftover", mpi=True, against_fci=False)
    command, env = settings.mpirun(2, [binary, mode])
    ran = run(command, cwd=where, env=env, timeout=LIMIT)
    if ran.code or ran.left or signal_named(ran.err) or "leftover: all right" not in ran.out:
        return failed(f"{ran.ended()}: {ran.last_line()}")
    return passed()


def callback(settings):
    where = settings.directory("leftover")
    include = subprocess.run(["mpicc.openmpi", "--showme:incdirs"], check=True, text=True,
                             capture_output=True).stdout.split()
    options = ["-mcx16", *(f"-isystem{path}/openmpi" for path in include)]
    binary = built(settings, HERE / "callbacks.c", where / "callbacks", mpi=True,
                   against_fci=False, options=options)
    command, env = settings.mpirun(2, [binary])
    ran = run(command, cwd=where, env=env, timeout=LIMIT)
    if ran.code or ran.left or signal_named(ran.err) or ran.out != "called once\n":
        return failed(f"{ran.ended()}: {ran.last_line()}")
    return passed()


def cases(settings):
    modes = {"fci-openmpi": ("arrived", "coming", "pending"), "fci-mpich": ("arrived",)}
    for mode in modes.get(settings.transport, ()):
        yield Case(mode, lambda mode=mode: leftover(settings, mode))
    if settings.transport == "fci-openmpi" and open_mpi_release() == "4.1":  # it has the headers
        yield Case("callback", lambda: callback(settings))
