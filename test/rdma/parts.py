# SPDX-License-Identifier: BSD-3-Clause
"""What is run in the guest, and what its output is taken to say."""

import re
from dataclasses import dataclass

PROGRAM = "build/test_conformance"
PROVIDER = "build/prefix/lib/fci/libfci-fi.so"
# Of a case of a suite, as it ends; at the end of all the suite names those that failed once more.
OF_GTEST = {"passed": r"^\[       OK \] .*\(\d+ ms\)$", "skipped": r"^\[  SKIPPED \] .*\(\d+ ms\)$",
            "failed": r"^\[  FAILED  \] .*\(\d+ ms\)$"}
OF_PROGRAMS = re.compile(r"^(\d+) passed, (\d+) failed$")
OF_CASE = re.compile(r"^(pass|fail|skip|known) +\S+/\S+ +[\d.]+ s")
SKIPS = "skip"


@dataclass
class Part:
    needs: list  # files
    command: list
    seconds: int
    kept: str = ""  # what must be in ~/.cache/fci, since a guest has no network to fetch it by
    made_by: str = ""

    def words(self, name):
        return name, self.seconds, self.command


@dataclass
class Result:
    passed: int
    failed: int
    text: str
    details: list


def conformance(way):
    return Part([PROGRAM], [PROGRAM, f"--gtest_filter=Drivers/Nhi.*/ucx_{way}"], 240)


def programs(*cases, transport="fci", seconds=240, **more):
    return Part([PROVIDER], ["test/programs/run", "--transport", transport, *cases], seconds, **more)


PARTS = {
    "conformance-rc": conformance("rc"),
    "conformance-ud": conformance("ud"),
    "killed-rc": programs("ucx/rc-killed"),
    "killed-ud": programs("ucx/ud-killed"),
    "lent-rc": programs("lent/ucx-rc-cancels"),
    "programs-rc": programs("ucx/rc", transport="fci-openmpi"),
    "programs-ud": programs("ucx/ud", transport="fci-openmpi"),
    "mpi4py-rc": programs("mpi4py/ucx-rc", transport="fci-openmpi",
                          kept="mpi4py-*-openmpi-*/complete",
                          made_by="test/programs/run --transport fci-openmpi mpi4py/1-ranks"),
}


def judge(lines, code):
    """Of a part that has ended. One that counts nothing failed, and so did one that was to end well
    and did not."""
    of_programs = [found.groups() for found in map(OF_PROGRAMS.match, lines) if found]
    if of_programs:
        passed, failed = map(int, of_programs[-1])
        cases = [line for line in lines if OF_CASE.match(line)]
        skipped = sum(line.startswith(SKIPS) for line in cases)
        details = cases
    else:
        of_gtest = {each: [line for line in lines if re.match(pattern, line)]
                    for each, pattern in OF_GTEST.items()}
        passed, skipped, failed = map(len, of_gtest.values())
        details = of_gtest["failed"]
    if (code or not passed) and not failed:
        failed = 1
        ended = "no end in time" if code in (124, 137) else f"exit code {code}"
        details = [*details, f"{ended}; last: {next(filter(str.strip, reversed(lines)), '')[:160]}"]
    return Result(passed, failed, f"{passed} passed, {skipped} skipped, {failed} failed", details)
