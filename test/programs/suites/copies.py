# SPDX-License-Identifier: BSD-3-Clause
"""A kernel that refuses to copy between processes, in one direction or both, to some ranks or all,
from the start or in the middle of messages (a container's seccomp profile): they arrive whole."""

import json

from harness import HERE, Case, built, failed, passed, run, signal_named, skipped

LIMIT = 120
RANKS = 2
NO_FILTERS = 77
WAYS = ("auto", "shared", "pull")  # FCI_COPY
DIRECTIONS = ("write", "read", "both")


def refused(settings, direction, moment, ranks):
    where = settings.directory("copies")
    binary = built(settings, HERE / "refused.c", where / "refused", mpi=True, against_fci=False)
    on_the_way = 0
    for way in WAYS:
        report = where / f"{direction}-{moment}-{ranks}-{way}.json"
        options = [*settings.exporting("FCI_REPORT"), *settings.exporting("FCI_COPY")]
        command, env = settings.mpirun(RANKS, [binary, direction, moment, ranks], options=options)
        ran = run(command, cwd=where, timeout=LIMIT,
                  env={**env, "FCI_COPY": way, "FCI_REPORT": str(report)})
        if ran.code and "refused: no filters here" in ran.out:
            return skipped("the kernel takes no filters (seccomp)")
        if ran.code or ran.left or signal_named(ran.err):
            return failed(f"FCI_COPY={way}: {ran.ended()}: {ran.last_line()}")
        if f"refused: {RANKS} ranks, all right" not in ran.out:
            return failed(f"FCI_COPY={way}: {ran.last_line()}")
        counters = [json.loads(line)["counters"] for line in report.read_text().splitlines()]
        if len(counters) != RANKS:
            return failed(f"FCI_COPY={way}: {len(counters)} of {RANKS} ranks reported")
        on_the_way += sum(of["copies_refused"] for of in counters)
        copied = sum(of["kernel_bytes"] for of in counters)
        if moment == "start" and ranks == "all" and direction != "write" and copied:
            return failed(f"FCI_COPY={way}: the kernel copied {copied} bytes")
        if moment == "start" and on_the_way:
            return failed(f"FCI_COPY={way}: refused in the middle, {on_the_way} times")
    return passed(f"{len(WAYS)} ways, 64 KiB to 16 MiB"
                  + (f", {on_the_way} messages refused on their way" if on_the_way else ""))


def cases(settings):
    if not settings.over_our_build:
        return
    for moment in ("start", "middle"):
        for direction in DIRECTIONS:
            for ranks in ("all", "odd"):
                yield Case(f"{direction}-{moment}-{ranks}",
                           lambda direction=direction, moment=moment, ranks=ranks:
                           refused(settings, direction, moment, ranks),
                           ci=moment == "middle" or ranks == "all")
