#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""units: what .ci/run --full has and each other run has not, in units of a minute or two. Those that
were not run for longest are run first; one that fails is run again by the next run.
  units [--seconds N]   until N seconds have passed; default: all
  units --list          names them, with when each passed"""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path[1:1] = [str(Path(__file__).resolve().parents[2] / each)
                 for each in ("test/mutants", "test/rdma")]

import step  # noqa: E402
from guest import PACKAGES  # noqa: E402
from ledger import KEPT, ROOT, Commit, Ledger  # noqa: E402
from parts import PARTS  # noqa: E402
from plan import OVER_MPICH  # noqa: E402
from rooms import ROOMS  # noqa: E402

MPICH = Path(os.environ.get("CI_MPICH") or KEPT / "mpich")
LARGE = ("coll", "pt2pt", "threads")
OVER_HOSTS = ("coll", "pt2pt")


def listed(*words):
    said = subprocess.run(["test/programs/run", "--list", "--mpich", str(MPICH), *map(str, words)],
                          cwd=ROOT, capture_output=True, text=True, check=False).stdout
    return [line.removesuffix("  (--full)") for line in said.splitlines()]


def programs():
    """The cases that no other step runs."""
    for transport in ("fci", "fci-openmpi", "fci-mpich", "fci-openmpi5", "fci-mpich5", "fci-intel"):
        own = ["--transport", transport]
        # MPICH is built without Fortran, which coarrays need.
        suites, more = ([OVER_MPICH, ["mpi4py"]] if transport == "fci-mpich" else [[], []])
        others = listed(*own, *suites)
        for case in listed("--full", *own, *suites, *more):
            if case not in others:
                yield f"{transport} {case}", ["test/programs/run", "--full", *own, case]
    for transport in ("fci-openmpi", "fci-mpich"):
        for hosts in (2, 4):
            own = ["--transport", transport, "--hosts", hosts]
            # Strangers are the same, whatever they meet.
            suites = ["launchers"] + ["security"] * (own[1:] == ["fci-openmpi", "--hosts", 2])
            others = listed(*own, *suites) if hosts == 2 else []
            for case in listed("--full", *own, *suites):
                if case not in others:
                    yield f"{transport} {hosts} hosts {case}", [
                        "test/programs/run", "--full", *own, case]


def mpich_lists():
    """Each folder, the large ones by the first letters of their tests."""
    words = ["test/mpich/run", "--prefix", MPICH]
    said = subprocess.run([*words, "--list"], cwd=ROOT, capture_output=True, text=True,
                          check=False).stdout
    names = re.findall(r"^([a-z_0-9]+)/(\S)\S* \d+", said, re.M)
    patterns = {f"{folder}/{letter}*" if folder in LARGE else f"{folder}/*"
                for folder, letter in names}
    for pattern in sorted(patterns):
        yield f"mpich {pattern}", [*words, "--lines=20", "--only", pattern]
        if pattern.split("/")[0] in OVER_HOSTS:
            yield f"mpich 2 hosts {pattern}", [*words, "--lines=20", "--hosts", "2", "--only",
                                               pattern]


def others():
    for release in ("4.2", "4.3", "5.0"):
        # Exit code 3: the archive does not have them.
        yield f"mpich-headers {release}", [
            "sh", "-c", '"$@"; [ $? -ne 1 ]', "sh", "test/mpich/mpich-headers", "fetch", release,
            "--fci", "build/prefix"]
    for room in ROOMS:
        yield f"mutants of {room.name}", ["test/mutants/run", "--room", room.name, "--count", 15,
                                          "--seed", Commit().seed, "--least", 60, "--jobs", 1]
    yield "README.md, on several hosts", ["test/tools/journeys"]
    yield "MPICH 5", [".ci/mpich-5"]


def over_rdma():
    """With --full only: each needs some minutes of both cores for an emulated processor."""
    for part in PARTS if not lacks_rdma() else []:
        yield f"RDMA {part}", ["test/rdma/run", part]


def lacks_rdma():
    """Why there are no units of test/rdma/run; .ci/run --full installs what it needs, as root."""
    missing = [name for name in PACKAGES if not shutil.which(name)]
    return f"RDMA verbs are left out: no {', no '.join(missing)} here" if missing else ""


def everything(is_full):
    units = dict([*programs(), *mpich_lists(), *others(), *(over_rdma() if is_full else [])])
    return {unit: [*words, "--mpich", MPICH] if words[0] == "test/programs/run" else words
            for unit, words in units.items()}


def run(ledger, unit, words):
    """How many cases passed and failed."""
    name = "full-" + "".join(c if c.isalnum() else "-" for c in unit)
    outcome = step.run(step.Step(name, unit, words))
    ledger.keep_unit(unit, not outcome.failed, outcome.seconds)
    print(f"{'FAIL' if outcome.failed else 'pass'}  {unit:50} {outcome.seconds:6.1f} s  "
          f"{outcome.passed} passed, {outcome.failed} failed", flush=True)
    for line in outcome.complaints:
        print("    " + line)
    return outcome.passed, outcome.failed


def main():
    words = sys.argv[1:]
    is_full = words[:1] != ["--seconds"]
    ledger, units = Ledger(Commit(), counts=False), everything(is_full)
    order = ledger.oldest(list(units))
    if words == ["--list"]:
        for unit in reversed(order):
            known = ledger.units.get(unit)
            print(f"{unit:60} " + (f"{known['commit']}, {known['seconds']:.0f} s" if known else
                                   "never"))
        return 0
    if words and (words[0] != "--seconds" or len(words) != 2 or not words[1].isdecimal()):
        print(__doc__)
        return 2
    ends = time.monotonic() + (float(words[1] if words else "inf"))
    ran, counts = 0, [0, 0]
    for unit in order:
        left = ends - time.monotonic()
        if left < 0 or (ran and ledger.units.get(unit, {}).get("seconds", 0) > left):
            continue
        counts = [a + b for a, b in zip(counts, run(ledger, unit, units[unit]))]
        ran += 1
    ages = [ledger.runs_since(unit) for unit in units]
    never = sum(age is None for age in ages)
    print(f"note: {ran} of {len(units)} units; " + (
        f"{never} have not passed here yet" if never else f"the oldest {max(ages)} runs ago"))
    if is_full and lacks_rdma():
        print(f"note: {lacks_rdma()}")
    print(f"{counts[0]} passed, {counts[1]} failed")
    return 1 if counts[1] else 0


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    sys.exit(main())
