"""Everybody meets everybody as a user without privileges, with the usual number of descriptors and
with few: the kernel counts what is under way between processes of such a user, and root is exempt."""

import dataclasses
import os
import pwd
import re
import shutil

from harness import (HERE, STOCK, Case, built, failed, passed, processes_of_user, run,
                     signal_named)

LIMIT = 120
BYTES = 4096
ROUNDS = 2
MEETING_MS = 600  # of 64 ranks on two cores: 280 on a fast machine, where nothing else runs
BESIDE_STOCK = 7  # on others, as many times what the MPI's own shared memory takes: 5 to 6
ATTEMPTS = 5


def unused_user():
    """A number that nobody has and as which nothing runs: limits hold for all of a user together."""
    for number in range(61000, 61100):
        try:
            pwd.getpwuid(number)
        except KeyError:
            if not processes_of_user(number):
                return number
    raise RuntimeError("no user number is free between 61000 and 61100")


def readable_copy(settings, where):
    """Settings for copies of all that is run, where another user may read: a clone or a home
    directory often lets nobody else in."""
    copied = where / "prefix"
    if not copied.exists():
        shutil.copytree(settings.prefix / "lib", copied / "lib", symlinks=True)
        if settings.transport == "fci-mpich":
            for part in ("bin", "lib"):
                shutil.copytree(settings.mpich() / part, copied / "mpich" / part, symlinks=True)
            # Where MPICH was told to find it the other user may not look.
            for library in copied.glob("lib/libfci.so*"):
                shutil.copy2(library, copied / "mpich/lib", follow_symlinks=False)
    return dataclasses.replace(settings, prefix=copied, mpich_prefix=None)


def all_to_all(settings, ranks, descriptors):
    where = settings.directory("ordinary")
    binary = built(settings, HERE / "alltoall.c", where / "alltoall", mpi=True, against_fci=False)
    prefix, as_user, env = settings, [], {}
    if os.geteuid() == 0:
        user = unused_user()
        settings.scratch.chmod(0o755)
        prefix = readable_copy(settings, where)
        home = where / f"home-{ranks}-{descriptors}"
        home.mkdir(exist_ok=True)
        os.chown(home, user, user)
        as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups",
                   "--bounding-set=-all", "--inh-caps=-all"]
        env = {"TMPDIR": str(home), "HOME": str(home)}

    def start(transport):
        command, more = prefix.mpirun(ranks, [binary, BYTES, ROUNDS], transport)
        limited = ["sh", "-c", f'ulimit -n {descriptors} && exec "$@"', "sh"]
        return run(as_user + limited + command, cwd=where, env={**more, **env}, timeout=LIMIT)

    ran = start(settings.transport)
    if ran.code or ran.left or signal_named(ran.err):
        return failed(f"{ran.ended()}: {ran.last_line()}")
    took = met_after(ran, ranks)
    if took is None:
        return failed(ran.last_line())
    said = f"{ranks} ranks, {descriptors} descriptors: all had met after {took} ms"
    times = 1 if settings.transport == "fci-openmpi" else 2
    if took <= times * MEETING_MS:
        return passed(said)
    stock = met_after(start(STOCK[settings.transport]), ranks)
    said += f", over {STOCK[settings.transport]} after {stock}"
    verdict = passed if stock and took <= times * BESIDE_STOCK * stock else failed
    return verdict(said)


def met_after(ran, ranks):
    """ms; None: it failed."""
    took = re.search(rf"^alltoall: {ranks} ranks, all right, the first in (\d+) ms$", ran.out, re.M)
    return int(took.group(1)) if took and not ran.code else None


def meeting(settings, ranks, descriptors):
    """Other work on the machine may keep the cores from them: once in a few times they have them."""
    for _ in range(ATTEMPTS):
        verdict = all_to_all(settings, ranks, descriptors)
        if verdict.status == "pass":
            break
    return verdict


def cases(settings):
    if not settings.over_our_build:
        return
    for ranks, descriptors in ((24, 1024), (64, 1024), (24, 256)):
        yield Case(f"{ranks}-ranks-{descriptors}",
                   lambda ranks=ranks, descriptors=descriptors:
                   meeting(settings, ranks, descriptors))
