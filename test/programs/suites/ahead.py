# SPDX-License-Identifier: BSD-3-Clause
"""Two ranks that send many short messages before either receives: it is local, in whatever way they
are sent, as it is over ob1 for what that sends without being asked (4 KiB on one host, 64 KiB over
TCP), however many messages there are. What waits for its receiver over ob1 does so here as well:
longer ones, and MPI_Ssend in all its forms."""


from harness import HERE, Case, built, failed, passed, run, signal_named
from suites.flood import WAITS

LIMIT = 600  # seconds; it ends what hangs
MODES = ("send", "rsend", "isend", "irsend", "start", "bsend", "ibsend", "bstart")
COUNT = 100000


def ran(settings, mode, options=(), **how):
    where = settings.directory("ahead")
    binary = built(settings, HERE / "ahead.c", where / "ahead", mpi=True, against_fci=False)
    command, env = settings.mpirun(2, [binary, mode, COUNT], options=options)
    return run(command, cwd=where, env=env, timeout=LIMIT, **how)


def local(settings, mode):
    it = ran(settings, mode)
    if it.code or it.left or signal_named(it.err) or "ahead: all right" not in it.out:
        return failed(f"{it.ended()}: {it.last_line()}")
    if "has waited for" in it.err:
        return failed(f"a send waited: {it.last_line()}")
    return passed(f"{it.seconds:.1f} s")


def held(settings, mode):
    """Where no more may be copied a send waits; each rank says so, once."""
    it = ran(settings, mode, ["--mca", "pml_fci_copies_mib", "1"],
             until=lambda err: len(set(WAITS.findall(err))) == 2)
    said = WAITS.findall(it.err)
    if not it.timed_out or len(said) != 2:
        return failed(f"{it.ended()}; {len(said)} ranks said that they wait: {it.last_line()}")
    return passed("both ranks said it, once")


def cases(settings):
    if settings.transport != "fci-openmpi":
        return
    for mode in MODES:
        yield Case(mode, lambda mode=mode: local(settings, mode))
    for mode in ("isend", "start"):
        yield Case(f"held-{mode}", lambda mode=mode: held(settings, mode), load="waits")
