"""Windows of Open MPI through the provider: osc/rdma over btl/ofi, which is remote memory and
atomics of libfabric."""

import re

from harness import HERE, Case, built, failed, passed, run, signal_named

LIMIT = 120


def one(settings, ranks):
    where = settings.directory("windows")
    binary = built(settings, HERE / "windows.c", where / "windows", mpi=True, against_fci=False)
    command, env = settings.mpirun(ranks, [binary], "fci-windows", ["-x", "FCI_STATS=on"])
    ran = run(command, cwd=where, env=env, timeout=LIMIT)
    if ran.code or ran.left or signal_named(ran.err) or "windows right" not in ran.out:
        return failed(f"{ran.ended()}: {ran.last_line()}")
    carried = [int(n) for n in re.findall(r"^fci: counters of .*\bsent_eager (\d+)", ran.err, re.M)]
    if len(carried) != ranks:
        return failed("Open MPI did not give its windows to the provider")
    return passed(f"{sum(carried)} requests and answers with data")


def cases(settings):
    for ranks in (2, 4):
        yield Case(f"{ranks}-ranks", lambda ranks=ranks: one(settings, ranks))
