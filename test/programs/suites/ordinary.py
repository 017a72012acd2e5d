# SPDX-License-Identifier: BSD-3-Clause
"""Everybody meets everybody as a user without privileges, with the usual number of descriptors and
with few: the kernel counts what is under way between processes of such a user, and root is exempt.
How soon they have met is judged by their calls, and by their processor time beside that of a bare
meeting of the same ranks (bare_meeting.h), whatever else runs and how fast the machine is."""

import dataclasses
import os
import pwd
import re
import shutil

from harness import HERE, Case, built, failed, passed, processes_of_user, run, signal_named

LIMIT = 120
BYTES = 4096
ROUNDS = 2
# Two that want to meet may both call, and are called once more by what they share beside: 1.7 to 2.5.
CALLS_MOST = 4     # for each pair
USED_MOST = 25     # bare meetings in processor time: 5 to 10


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
    binary = built(settings, HERE / "alltoall.c", where / "alltoall", mpi=True, against_fci=False,
                   options=["-rdynamic"])
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

    command, more = prefix.mpirun(ranks, [binary, BYTES, ROUNDS, "beside"])
    limited = ["sh", "-c", f'ulimit -n {descriptors} && exec "$@"', "sh"]
    ran = run(as_user + limited + command, cwd=where, env={**more, **env}, timeout=LIMIT)
    if ran.code or ran.left or signal_named(ran.err):
        return failed(f"{ran.ended()}: {ran.last_line()}")
    met = re.search(rf"^alltoall: {ranks} ranks, all right, met by (\d+) calls of which (\d+) were "
                    r"answered, in (\d+) ms of processor time, (\d+) bare$", ran.out, re.M)
    if not met:
        return failed(ran.last_line())
    calls, answered, used, bare = map(int, met.groups())
    pairs = ranks * (ranks - 1) // 2
    times = used / max(bare, 1)
    verdict = passed if (pairs <= answered <= calls <= CALLS_MOST * pairs and
                         times <= USED_MOST) else failed
    return verdict(f"{pairs} pairs met by {calls} calls, {answered} of them answered, in {used} ms of "
                   f"processor time, {times:.1f} times that of a bare meeting")


def cases(settings):
    if not settings.over_our_build:
        return
    for ranks, descriptors in ((24, 1024), (64, 1024), (24, 256)):
        yield Case(f"{ranks}-ranks-{descriptors}",
                   lambda ranks=ranks, descriptors=descriptors:
                   all_to_all(settings, ranks, descriptors))
