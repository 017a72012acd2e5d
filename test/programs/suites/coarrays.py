# SPDX-License-Identifier: BSD-3-Clause
"""OpenCoarrays' own tests (Debian's libcoarrays-mpich-dev): Fortran programs whose coarrays are MPI
windows and whose teams are communicators, linked with Debian's MPICH.

How each ends, and how often it says that it passed, must be what coarrays.expected holds, which
`--transport mpich --record` writes; where a run differs, the program is run over stock MPICH at once.
"""

import re
from pathlib import Path

from harness import (HERE, STOCK, Case, failed, known, passed, run, signal_named, skipped)

SOURCE = Path("/usr/lib/x86_64-linux-gnu/open-coarrays/mpich/bin/OpenCoarrays-2.10.1-tests")
EXPECTED = HERE / "coarrays.expected"
IMAGES = 4
OTHER_IMAGES = {"hello_multiverse": 2, "issue-488-multi-dim-cobounds": 8,
                "issue-515-mimic-mpi-gatherv": 2, "sync_team": 8, "team_number": 8, "teams_coarray_get": 5,
                "teams_coarray_get_by_ref": 5, "teams_coarray_send": 5,
                "teams_coarray_send_by_ref": 5, "teams_coarray_sendget": 5, "teams_subset": 3}
WORDS = {"issue-488-multi-dim-cobounds": ["true"]}
LIMIT = 60
PASSED = re.compile(r"\btests? passed\b", re.I)


def start(settings, program, transport):
    where = settings.directory(f"coarrays-{transport}-{program}")
    images = OTHER_IMAGES.get(program, IMAGES)
    # These end images on purpose, and look whether the others go on.
    options = ["-disable-auto-cleanup"] if program.startswith("image_fail") else []
    command, env = settings.mpirun(images, [SOURCE / program, *WORDS.get(program, [])], transport,
                                   options)
    ran = run(command, cwd=where, env=env, timeout=LIMIT)
    end = "endless" if ran.timed_out else "good end" if ran.code == 0 else "bad end"
    return ran, f"{end}, {len(PASSED.findall(ran.out))} passed"


def expected():
    rows = [line.split(None, 1) for line in EXPECTED.read_text().splitlines()
            if line.strip() and not line.startswith("#")] if EXPECTED.exists() else []
    return dict(rows)


def record(program, outcome):
    table = {**expected(), program: outcome}
    head = ("# How the programs of libcoarrays-mpich-dev end over Debian's MPICH (ch4:ucx). Made by:\n"
            "#   test/programs/run --transport mpich --record coarrays\n")
    EXPECTED.write_text(head + "".join(f"{name:44} {table[name]}\n" for name in sorted(table)))


def one(settings, program):
    ran, outcome = start(settings, program, settings.transport)
    if settings.record:
        record(program, outcome)
    reference = expected().get(program, "")
    if outcome != reference and settings.transport in STOCK:
        reference = start(settings, program, STOCK[settings.transport])[1]
    if outcome.startswith("good end") and "0 passed" not in outcome:
        return passed(outcome)  # whatever stock does
    if outcome.startswith("bad end") and reference.startswith("endless"):
        return known(f"{outcome}; over the stock transport {reference}")
    if outcome != reference:
        return failed(f"{outcome}; over the stock transport {reference or 'not known'} "
                      f"({signal_named(ran.err) or ran.last_line()})")
    return passed(outcome) if ran.code == 0 else known(outcome)


def cases(settings):
    if not SOURCE.is_dir():
        yield Case("all", lambda: skipped("Debian's libcoarrays-mpich-dev is not installed"))
        return
    for path in sorted(SOURCE.iterdir()):
        yield Case(path.name, lambda program=path.name: one(settings, program))
