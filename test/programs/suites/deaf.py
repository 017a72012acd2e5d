"""A rank that calls nothing of MPI for longer than any host may be silent, or is stopped, while
messages wait for it, over TCP: all of them arrive, also where the sender ends meanwhile."""

from concurrent.futures import ThreadPoolExecutor

from harness import HERE, Case, built, failed, passed, run, signal_named

SECONDS = 15  # a host that is silent for 11 s has gone
LIMIT = 60
WAYS = {"waits": SECONDS, "finalizes": SECONDS, "stops": 9}


def one(settings, where, binary, way):
    here = {} if settings.lab else {"FCI_DRIVER": "tcp", "FCI_NET": "lo"}
    options = [word for name in here for word in settings.exporting(name)]
    command, env = settings.mpirun(2, [binary, WAYS[way], way], options=options)
    ran = run(command, cwd=where, timeout=LIMIT, env={**env, **here})
    if ran.code or ran.left or signal_named(ran.err):
        return f"{way}: {ran.ended()}: {ran.last_line()}"
    if "deaf: all right" not in ran.out:
        return f"{way}: {ran.last_line()}"
    return "" if ran.seconds >= WAYS[way] else f"{way}: over after {ran.seconds:.1f} s"


def both(settings):
    where = settings.directory("deaf")
    binary = built(settings, HERE / "deaf.c", where / "deaf", mpi=True, against_fci=False)
    with ThreadPoolExecutor() as together:
        for failure in together.map(lambda way: one(settings, where, binary, way), WAYS):
            if failure:
                return failed(failure)
    return passed(f"{SECONDS} s")


def cases(settings):
    if settings.over_our_build:
        yield Case("tcp", lambda: both(settings))
