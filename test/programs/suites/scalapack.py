# SPDX-License-Identifier: BSD-3-Clause
"""ScaLAPACK's testers (Debian's scalapack-mpi-test, both flavours), at 4 ranks.

What each prints (so many PASSED, FAILED, SKIPPED) must equal what it prints over the stock
transport. scalapack.expected holds that; `--transport stock --record` writes it. It is the same for
MPICH, since these are the same programs. Where a run
differs, the program is run over the stock transport at once: that decides, since the counts of a
numerical tester may depend on the machine.
"""

import collections
import dataclasses
import re
import shutil
import threading
from pathlib import Path

from harness import HERE, STOCK, Case, failed, known, passed, run, signal_named, skipped

PLACE = Path("/usr/lib/x86_64-linux-gnu/scalapack")
EXPECTED = HERE / "scalapack.expected"
RANKS = 4
LIMIT = 150
SHORT_LIMIT = 20
# These often do not end, on any transport: p?gerfs and p?porfs hand p?lacon a variable that they never
# set (valgrind names it), and ranks on whose stacks it differs take different branches: two wait in
# MPI_Recv (p?amax, or p?getrs), two in MPI_Allreduce, or what one sends has not the length that
# another one expects, which ends the job; or p?getrs itself sees that they want different things of
# it. By which number it ends is the launcher's choice, and mpirun may lose the sentence, but not its
# number.
# What the stack holds differs from run to run, so they get several, where there is time.
ENDLESS = {"xslu", "xsllt", "xdllt"}
SELDOM_ENDING = {"xsllt", "xdllt"}
ATTEMPTS = 3
RANKS_DIFFER = re.compile(r"[Mm]essage truncated|message sizes do not match|"
                          r"On entry to P.GETRS parameter number +1 had an illegal value")
MPI_ERR_TRUNCATE = {"openmpi": 15, "mpich": 14}
# The last test of these is BLACS_ABORT. What the job then ends with is the launcher's choice (255,
# or 137 by srun), and so is whether the last lines before it still come; the totals were printed
# long before.
ABORTING = {"BLACS/xCbtest", "BLACS/xFbtest"}
WORD = re.compile(r"\b(PASS(?:ED)?|FAIL(?:ED|URE)?|SKIP(?:PED)?|BYPASS)\b", re.I)
TOTAL = re.compile(r"(?:^|[;,])\s*(\d+)\s+(?:tests\s+)?(?:completed and\s+)?"
                   r"(passed|failed|skipped)\b", re.I | re.M)
# Their driver compares two limits, VL and VU, with copies of them, to see that nobody changed them,
# but never sets them (p?seprtst.f): where the stack happens to hold a NaN, it differs from itself
# and the test counts as failed, with good residuals. What the stack holds depends on the transport.
UNSET_LIMITS = {"xssyevr", "xdsyevr", "xcheevr", "xzheevr"}
UNSET_ROW = re.compile(r"^(.*\s)([\d.E+-]+)\s+([\d.E+-]+)\s+FAILED\s*$", re.M)
EVR_THRESHOLD = 80.0  # the smallest in SEPR.dat
# BLACS itself decides whether its sums are repeatable by whether they were, this time.
TIMING_DEPENDENT = re.compile(r"^.*REPEATABLE SUM TEST.*$", re.M)


def source(mpi):
    return PLACE / f"{mpi}-tests"


def programs(mpi="openmpi"):
    """Every program once; the two of the top directory that are links into BLACS only there."""
    found = []
    for folder in (".", "PBLAS", "PBLAS/TIMING", "BLACS"):
        for path in sorted((source(mpi) / folder).iterdir()):
            if path.is_file() and path.stat().st_mode & 0o111:
                found.append(path.name if folder == "." else f"{folder}/{path.name}")
    doubled = {name.split("/")[1] for name in found if name.startswith("BLACS/")}
    return [name for name in found if name not in doubled]


def judged_by_residuals(text):
    def verdict(row):
        good = max(float(row.group(2)), float(row.group(3))) < EVR_THRESHOLD
        return f"{row.group(1)}{'PASSED' if good else 'FAILED'}"
    return re.sub(r"^.*tests completed and.*$", "", UNSET_ROW.sub(verdict, text), flags=re.M)


def results(program, text):
    """What the tester says, without times: how often each verdict, and the sums of its totals."""
    text = TIMING_DEPENDENT.sub("", text)
    if program in UNSET_LIMITS:
        text = judged_by_residuals(text)
    words = collections.Counter(word.upper() for word in WORD.findall(text))
    sums = collections.Counter()
    for number, word in TOTAL.findall(text):
        sums[word.lower()] += int(number)
    if not words:  # the timing programs judge nothing
        words["LINES"] = len(text.splitlines())
    return " ".join([f"{word}={words[word]}" for word in sorted(words)] +
                    [f"{word}:{sums[word]}" for word in sorted(sums)])


def is_among(reference, program, outcome):
    """Whether it is one of these, but for what a launcher decides."""
    def comparable(one):
        code, found = one.split(": ", 1)
        if program not in ABORTING or code in ("exit 0", "endless"):
            return one
        return "aborted: " + " ".join(word for word in found.split() if ":" in word)
    return comparable(outcome) in map(comparable, reference)


def start(settings, program):
    folder, name = Path(program).parent, Path(program).name
    where = settings.directory(f"scalapack-{settings.transport}-{name}")
    for data in (source(settings.mpi) / folder).glob("*.dat"):  # read from, and written to, the present directory
        shutil.copy(data, where)
    command, env = settings.mpirun(RANKS, [source(settings.mpi) / program])
    limit = SHORT_LIMIT if program in ENDLESS else LIMIT
    ran = run(command, cwd=where, env=env, timeout=limit)
    shutil.rmtree(where, ignore_errors=True)
    return ran, f"{'endless' if ran.timed_out else f'exit {ran.code}'}: {results(program, ran.out)}"


def expected():
    """Program -> what it printed over the stock transport; more than one where that varies."""
    table = collections.defaultdict(list)
    for line in EXPECTED.read_text().splitlines() if EXPECTED.exists() else []:
        if line.strip() and not line.startswith("#"):
            program, outcome = line.split(None, 1)
            table[program].append(outcome)
    return table


def record(program, outcome):
    table = expected()
    if outcome not in table[program]:
        table[program].append(outcome)
    head = ("# What the programs of scalapack-mpi-test 2.2.1 print at 4 ranks over Open MPI's own\n"
            "# shared memory; several lines for a program whose results vary from run to run.\n"
            "# Each run of this adds what it finds:\n"
            "#   test/programs/run --transport stock --record scalapack\n")
    lines = [f"{name:20} {outcome}\n" for name in programs() for outcome in table[name]]
    EXPECTED.write_text(head + "".join(lines))


def one(settings, program):
    ran, outcome = start(settings, program)
    for _ in range(1, ATTEMPTS if program in ENDLESS and settings.full else 1):
        if ran.code == 0:
            break
        ran, outcome = start(settings, program)
    trouble = signal_named(ran.err)
    if trouble or ran.left:
        return failed(trouble or f"still running afterwards: {', '.join(ran.left)}")
    split = (ran.timed_out or ran.code == MPI_ERR_TRUNCATE[settings.mpi]
             or RANKS_DIFFER.search(ran.out + ran.err))
    if program in ENDLESS and split and "FAILED" not in outcome:  # how far it comes varies
        return known(f"does not end well, nor does it over the stock transport: {outcome}")
    if settings.record:
        record(program, outcome)
    reference = expected()[program]
    if program in ENDLESS and not reference and "failed:0" in outcome:
        return passed(outcome) if ran.code == 0 else failed(f"{outcome} ({ran.last_line()})")
    # One that varies anyway is asked again.
    if len(reference) > 1 and not is_among(reference, program, outcome):
        outcome = start(settings, program)[1]
    if not is_among(reference, program, outcome) and settings.transport in STOCK:
        stock = dataclasses.replace(settings, transport=STOCK[settings.transport],
                                    lab_of_run=None, of_case=threading.local(),
                                    starting=None)  # it may not go between hosts
        reference = [start(stock, program)[1]]
    if not is_among(reference, program, outcome):
        there = " or ".join(reference) or "not known"
        return failed(f"{outcome}; over the stock transport {there} ({ran.last_line()})")
    if program in ABORTING:
        return passed(f"ends with BLACS_ABORT as it should; {outcome}")
    return passed(outcome) if ran.code == 0 else known(outcome)


def cases(settings):
    if not source(settings.mpi).is_dir():
        yield Case("all", lambda: skipped("Debian's scalapack-mpi-test is not installed"))
        return
    for program in programs(settings.mpi):
        yield Case(program.replace("/", "-"), lambda program=program: one(settings, program),
                   ci=program not in SELDOM_ENDING)
