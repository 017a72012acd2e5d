# SPDX-License-Identifier: BSD-3-Clause
"""HPCC (Debian's hpcc): PTRANS, HPL, RandomAccess, FFT and the rest, by its own verification.

Up to 4 ranks, and over Open MPI's component always, RandomAccess must find no error at all. With
more it posts four any-source receives and takes them by MPI_Testany and MPI_Waitany, which need
know nothing of their order: it may see a sender's last message before the one ahead of it and stop
early, as it does over the stock transport. HPCC allows for 1 % of errors; there its own word
counts. The component takes them in the order in which they came (netmod/openmpi/looks.c).
"""

import re

from harness import HERE, Case, failed, passed, run, signal_named

GRIDS = {2: (1, 2), 4: (2, 2), 8: (2, 4)}
LIMIT = 60
MATRIX = 400


def write_input(path, rows, columns):
    text = (HERE / "hpccinf.template").read_text()
    path.write_text(text.format(n=MATRIX, p=rows, q=columns))


def section(text, name):
    found = re.search(rf"Begin of {name} section\.(.*?)End of {name} section\.", text, re.S)
    return found.group(1) if found else ""


def complaints(text, is_exact):
    """What HPCC's report says against the run; an empty list when all of it verified."""
    values = dict(re.findall(r"^(\w+)=(\S+)$", section(text, "Summary"), re.M))
    wrong = []

    def must(condition, what):
        if not condition:
            wrong.append(what)

    must(values.get("Success") == "1", "Success is not 1")
    ptrans = re.findall(r"^(?:WALL|CPU)\s.*?(PASSED|FAILED)", section(text, "PTRANS"), re.M)
    must(ptrans and set(ptrans) == {"PASSED"}, "PTRANS")
    must(values.get("PTRANS_residual") == "0", "PTRANS residual")
    residuals = re.findall(r"^\|\|Ax-b\|\|.*\.\.\. (PASSED|FAILED)", section(text, "HPL"), re.M)
    must(residuals and set(residuals) == {"PASSED"}, "HPL residual")
    for name in ("MPIRandomAccess", "MPIRandomAccess_LCG"):
        must("(passed)" in section(text, name), name)
        must(not is_exact or values.get(name + "_Errors") == "0", name + " without an error")
        name = name.replace("MPI", "Star")
        must("(passed)" in section(text, name), name)
    must(0 <= float(values.get("MPIFFT_maxErr", "nan")) < 1e-12, "MPI FFT error")
    star = re.search(r"max\(\|x-x0\|\): (\S+)", section(text, "StarFFT"))
    must(star and float(star.group(1)) < 1e-12, "StarFFT error")
    must("Solution Validates" in section(text, "StarSTREAM"), "StarSTREAM")
    nodes = re.findall(r"^Node\(s\) with error (\d+)", text, re.M)
    must(nodes and set(nodes) == {"0"}, "nodes with errors")
    must(section(text, "LatencyBandwidth"), "LatencyBandwidth")
    return wrong


def must_be_exact(settings, ranks):
    """Whether RandomAccess may not have a single error (above)."""
    return ranks <= 4 or settings.transport == "fci-openmpi"


def one(settings, ranks):
    where = settings.directory(f"hpcc-{ranks}")
    write_input(where / "hpccinf.txt", *GRIDS[ranks])
    command, env = settings.mpirun(ranks, ["hpcc"])
    ran = run(command, cwd=where, env=env, timeout=LIMIT)
    report = where / "hpccoutf.txt"
    if ran.code or signal_named(ran.err) or ran.left or not report.exists():
        return failed(f"{ran.ended()}: {signal_named(ran.err) or ran.last_line()}")
    text = report.read_text()
    wrong = complaints(text, must_be_exact(settings, ranks))
    if wrong:
        return failed("not verified: " + ", ".join(wrong))
    ring = re.search(r"^RandomlyOrderedRingLatency_usec=(\S+)", text, re.M).group(1)
    return passed(f"PTRANS, HPL, RandomAccess, FFT verified; random ring {float(ring):.1f} us")


def cases(settings):
    for ranks in GRIDS:
        yield Case(f"{ranks}-ranks", lambda ranks=ranks: one(settings, ranks))
