"""Messages that nobody received, on communicators that were freed: the next one that gets the same
context id finds none of them."""

from harness import HERE, Case, built, failed, passed, run, signal_named

LIMIT = 60


def leftover(settings, mode):
    where = settings.directory("leftover")
    binary = built(settings, HERE / "leftover.c", where / "leftover", mpi=True, against_fci=False)
    command, env = settings.mpirun(2, [binary, mode])
    ran = run(command, cwd=where, env=env, timeout=LIMIT)
    if ran.code or ran.left or signal_named(ran.err) or "leftover: all right" not in ran.out:
        return failed(f"{ran.ended()}: {ran.last_line()}")
    return passed()


def cases(settings):
    modes = {"fci-openmpi": ("arrived", "coming", "pending"), "fci-mpich": ("arrived",)}
    for mode in modes.get(settings.transport, ()):
        yield Case(mode, lambda mode=mode: leftover(settings, mode))
