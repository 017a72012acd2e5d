# SPDX-License-Identifier: BSD-3-Clause
"""Buffers of long messages that go back to the program: by a cancel, or as their peer has died. The
program unmaps them at once, so that nothing reads or writes one of them unseen. By shared memory,
TCP, and UCX over TCP."""

from harness import HERE, SLOWNESS, Case, built, failed, passed, run, skipped
from suites import ucx

LIMIT = 600
TIMES = {"cancels": (200, 10_000), "deaths": (40, 1000)}  # in CI, and with --full
DRIVERS = {"shm": {"FCI_DRIVER": "shm"}, "tcp": {"FCI_DRIVER": "tcp"},
           "ucx": ucx.environment("tcp"),
           **{f"ucx-{way}": ucx.environment(way) for way in ucx.VERBS if way in ucx.ways()}}


def one(settings, driver, what):
    where = settings.directory("lent")
    binary = built(settings, HERE / "lent.c", where / "lent")
    times = int(TIMES[what][settings.full] / SLOWNESS)
    ran = run([str(binary), what, str(times), str(settings.seed)], cwd=where,
              env={**DRIVERS[driver], "FCI_JOB": f"lent-{settings.seed}"}, timeout=LIMIT)
    if ucx.is_missing(ran):
        return skipped("UCX is not here")
    if ran.code or ran.left:
        return failed(f"{ran.ended()}: {ran.last_line()} (seed {settings.seed})")
    return passed(ran.out.strip().removeprefix("lent: "))


def cases(settings):
    if settings.transport != "fci" or settings.lab:
        return
    for driver in DRIVERS:
        for what in TIMES:
            yield Case(f"{driver}-{what}", lambda driver=driver, what=what: one(settings, driver,
                                                                                what))
