# SPDX-License-Identifier: BSD-3-Clause
"""More ranks than cores: what those cost that wait for long, whether they are woken, and whether
those that only look by the way go on; and as many ranks as cores, where nobody should sleep. All is
judged by what the kernel counts of a rank, so other work on the machine makes no difference."""

import contextlib
import multiprocessing
import os
import re
import time

from harness import HERE, Case, built, failed, passed, run, signal_named, skipped

LIMIT = 120  # seconds; it ends what hangs
SECONDS = 2
USED_MOST = 3.0   # percent of a core, by each rank that waits, from its second second on
# Small steps by so many ranks, and how many of them may go by until a rank sleeps once more. Where
# each look for a message is taken for waiting, that is one.
STEPS = {4: (100000, 50), 8: (40000, 20)}
STEPS_ALONE = 3000000  # with a core for each rank
# A daemon takes a twentieth of a core, or a little more. A rank that loses more of it shares it with
# others, and may sleep; so may one that has lost a part of the time, while it tries again.
LOST_MOST = 1 / 6
SLEPT_MOST = 40  # seconds for each that a rank has waited for a core; 600 where it shares with a daemon


def start(settings, ranks, *words):
    where = settings.directory("calm")
    binary = built(settings, HERE / "calm.c", where / "calm", mpi=True, against_fci=False,
                   options=["-rdynamic"])
    command, env = settings.mpirun(ranks, [binary, *words])
    return run(command, cwd=where, env=env, timeout=LIMIT)


def calm(settings, mode, ranks):
    ran = start(settings, ranks, mode, SECONDS)
    told = re.findall(r"^rank \d+ used (\d+) us, woke up (\d+) times in (\S+) s$", ran.out, re.M)
    waiting = ranks - (2 if mode == "compute" else 1)
    if len(told) != waiting:
        return failed(f"{ran.ended()}: {ran.last_line()}")
    used = max(int(us) / float(seconds) / 1e4 for us, _, seconds in told)
    if used >= USED_MOST:
        return failed(f"a rank that waits used {used:.2f} % of a core")
    if ran.timed_out:
        return failed("somebody who waits is not woken; no sleep ended by time")
    if ran.code or ran.left or signal_named(ran.err) or "answers from all" not in ran.out:
        return failed(f"{ran.ended()}: {ran.last_line()}")
    return passed(f"{used:.2f} % of a core at most for each that waits, which woke up "
                  f"{max(int(times) for _, times, _ in told)} times, and by its message")


def schedules(settings, ranks, steps):
    """Of each rank how often it slept, and for how long it did, ran, and waited for a core."""
    ran = start(settings, ranks, "steps", steps)
    told = re.findall(rf"^{steps} steps, slept (\d+) times for (\S+) s, ran for (\S+), waited for "
                      r"a core for (\S+)$", ran.out, re.M)
    of = [(int(times), *map(float, seconds)) for times, *seconds in told]
    if ran.code or ran.left or signal_named(ran.err) or len(of) != ranks:
        raise RuntimeError(f"{ran.ended()}: {ran.last_line()}")
    return of


def steps(settings, ranks):
    """Who looks for a message before each of many small steps does not wait."""
    count, each = STEPS[ranks]
    times = max(times for times, *_ in schedules(settings, ranks, count))
    verdict = failed if times * each > count else passed
    return verdict(f"{times} sleeps in {count} steps")


def wake_often(cpu):
    """As a daemon does: it wants the core a thousand times a second, and never for long."""
    os.sched_setaffinity(0, {cpu})
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        time.sleep(0.001)
        busy_until = time.monotonic() + 50e-6
        while time.monotonic() < busy_until:
            pass


@contextlib.contextmanager
def daemons_on(cpus):
    daemons = [multiprocessing.Process(target=wake_often, args=(cpu,), daemon=True)
               for cpu in cpus]
    for daemon in daemons:
        daemon.start()
    try:
        yield
    finally:
        for daemon in daemons:
            daemon.kill()
            daemon.join()


def steps_alone(settings):
    """Two ranks on two cores, which a daemon interrupts: they do not share their cores for that."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        return skipped("two ranks need two cores")
    with daemons_on(cpus):
        of = schedules(settings, 2, STEPS_ALONE)
    wrong = [slept for times, slept, ran, waited in of
             if times and slept > SLEPT_MOST * waited and waited < LOST_MOST * (ran + waited)]
    said = "; ".join(f"slept {times} times for {slept:.2f} s, ran for {ran:.2f}, waited for a core "
                     f"for {waited:.2f}" for times, slept, ran, waited in of)
    return (failed if wrong else passed)(f"{STEPS_ALONE} steps: {said}")


def cases(settings):
    if not settings.over_our_build:
        return
    for mode in ("recv", "barrier", "probe", "compute", "mixed"):
        yield Case(f"{mode}-8", lambda mode=mode: calm(settings, mode, 8),
                   load="computes" if mode == "compute" else "waits")
    if settings.transport == "fci-openmpi":  # which does not sleep while there is a window
        yield Case("window-8", lambda: calm(settings, "window", 8), load="waits")
    yield Case("steps-2", lambda: steps_alone(settings), load="alone")
    yield Case("steps-8", lambda: steps(settings, 8))
    if settings.transport == "fci-openmpi":
        yield Case("steps-4", lambda: steps(settings, 4))
    yield Case("barrier-64", lambda: calm(settings, "barrier", 64), ci=False)
