# SPDX-License-Identifier: BSD-3-Clause
"""Intel's own benchmarks, as its wheel has them, on Intel MPI: all of each program's benchmarks, one
round of short and long messages. What is looked for is not time but that they end, all of them.

IMB-RMA's windows need a provider with FI_RMA: Intel MPI reads long data by fi_read, offered or not.
"""

import os
import re
import shutil
import subprocess

from harness import Case, failed, passed, run, skipped

CLASSIC = ("-iter", "20", "-iter_policy", "off", "-msglog", "0:18")
# Not with fewer ranks as well; some of RMA's are for 2 only, and would be left out.
ALL_RANKS = ("MPI1", "NBC")
PROGRAMS = {  # program: its options, and how it says that it came to its end
    "MPI1": (CLASSIC, "All processes entering MPI_Finalize"),
    "NBC": (CLASSIC, "All processes entering MPI_Finalize"),
    "RMA": (CLASSIC, "All processes entering MPI_Finalize"),
    "P2P": (("-iter", "20", "-msglog", "0:18"), "All processes entering MPI_Finalize"),
    "MT": (("-thread_level", "multiple", "-repeat", "20", "-count", "1,256,65536", "-check", "on"),
           "AllReduceMT"),
}
NEEDS = {"Stencil2D": 4, "Stencil3D": 8}  # ranks
RANKS = (2, 4, 8)
THREADS = "2"  # of each rank, in IMB-MT
LIMIT = 900  # 8 ranks on 2 busy cores


def program(settings, name):
    return settings.wheel.home / "bin" / f"IMB-{name}"


def benchmarks(settings, name):
    """All that the program has, also those that it leaves out by default."""
    command, env = settings.mpirun(1, [program(settings, name), "-list"])
    said = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True,
                          check=True).stdout
    return [line.split()[0] for line in said.replace("#", " ").splitlines()
            if re.match(r"\s+[A-Z]\w+( \(non-default\))?\s*$", line)]


def offers_rma(settings):
    if not shutil.which("fi_info"):
        return True
    env = {**os.environ, "FI_PROVIDER_PATH": str(settings.provider().parent)}
    return subprocess.run(["fi_info", "-p", "fci", "-c", "FI_RMA"], env=env, capture_output=True,
                          check=False).returncode == 0


def one(settings, name, ranks):
    if name == "RMA" and settings.over_fci and not offers_rma(settings):
        return skipped("the provider offers no FI_RMA")
    options, end = PROGRAMS[name]
    names = [each for each in benchmarks(settings, name) if NEEDS.get(each, 1) <= ranks]
    words = [program(settings, name), *names, *options]
    if name in ALL_RANKS:
        words += ["-npmin", str(ranks)]
    command, env = settings.mpirun(ranks, words, env={"OMP_NUM_THREADS": THREADS})
    ran = run(command, cwd=settings.directory(f"imb-{name}"), env=env, timeout=LIMIT)
    begun = {found.lower() for found in re.findall(r"# Benchmarking:? *(\w+)", ran.out)}
    missing = [each for each in names if each.lower() not in begun]
    if ran.timed_out or ran.code or ran.left:
        last = re.findall(r"# Benchmarking:? *(\w+)", ran.out)[-1:] or ["start"]
        return failed(f"{ran.ended()} in {last[0]}: {ran.last_line()}")
    if missing:
        return failed(f"did not run: {', '.join(missing)}")
    if end not in ran.out:
        return failed(f"no '{end}' at the end: {ran.last_line()}")
    return passed(f"{len(names)} benchmarks")


def cases(settings):
    for name in PROGRAMS:
        for ranks in RANKS:
            yield Case(f"{name}-{ranks}", lambda name=name, ranks=ranks: one(settings, name, ranks),
                       ci=ranks == 2)
