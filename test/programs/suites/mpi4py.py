# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py's own test suite (PyPI source package, over Debian's MPI) at 1, 2 and 4 ranks.

The measure for the provider is the same Open MPI over its own `tcp;ofi_rxm` provider: what fails,
crashes or hangs there is listed in mpi4py.broken and left out; everything else must pass. `--transport
tcp-rxm --record` makes the list. Over the component, as over Open MPI's shared memory, only test_spawn
is left out; over MPICH nothing, spawn included. The MPIs from wheels
are measured in the same way at 2 ranks, with mpi4py's wheel: mpi4py-openmpi5.broken and so on are
made by `--transport openmpi5 --record`.
"""

import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import time
from pathlib import Path
from unittest import mock

import wheels
from harness import (HERE, Case, cache_directory, failed, kill_all, name_of, open_mpi_release, passed,
                     patience, processes_of, run, signal_named, skipped)
from suites import ucx

VERSION = "4.1.2"
# The unpacked source of the mpi4py that this machine's Python has, for its tests: nothing is fetched.
SOURCE = os.environ.get("MPI4PY_SOURCE")
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else "python3"
SPAWNING = ("test_spawn", "test_dynproc", "test_util_pool", "test_ulfm")
SLOW = (*SPAWNING, "test_io", "test_file")
# Of a child that 4.1 has spawned and that hangs in PMIx_Init, before there is any FCI in it.
BEFORE_FCI = "hangs in a child that has not come to FCI"
# Passed over the MPI's own provider by a race in the MPI itself, or, as it seems, in mpi4py
# (docs/mpis.md).
RACES = {"mpich5": {f"test_comm_topo.{each}.testDistgraphcomm": "fails"
                    for each in ("TestTopoWorld", "TestTopoWorldDup")},
         "intel": {f"test_util_sync.{each}World.*": "hangs"
                   for each in ("TestMutexBasic", "TestMutexRecursive", "TestCondition",
                                "TestConditionMutex", "TestSemaphore")}}
# Over hosts MPICH's MPI_Win_test may, seldom, be called before a completion has come, by another
# way than the barrier behind it. And MPICH 4.0, also over UCX, crashes in MPI_Comm_split_type of an
# intercommunicator whose two sides have no host in common.
LATE = {"test_rma.TestRMAWorld.testStartCompletePostTest": "fails"}
BETWEEN_HOSTS = {"mpich5": LATE, "mpich": {**LATE, **{
    f"test_comm_inter.TestIntercomm{each}.testSplitTypeShared": "ends the job"
    for each in ("", "Dup", "DupDup")}}}
# What the component does not have with Open MPI 5.0 (docs/mpis.md): communicators that no other one
# is the parent of, and fault tolerance. The provider has not the second either.
NOT_NATIVELY = {name: "is not there" for name in (
    *(f"test_comm_inter.TestIntercommCreateFromGroups.{each}" for each in ("testHalf", "testPair")),
    *(f"test_ulfm.TestULFM{each}.testRevoke" for each in ("Self", "World", "Inter")))}
# Types of Fortran have no name in an MPICH without it.
WITHOUT_FORTRAN = {"test_datatype.TestDatatype.testGetSetName": "fails"}
RANKS = (1, 2, 4)
STALL = 20  # no test takes that long; silence means that it hangs
STALL_OVER_HOSTS = 120  # some do there, where the machine is busy besides
LIMIT = 1200  # with four ranks on two busy cores
START = re.compile(r"^(\w+) \((test_\w+(?:\.\w+)+)\)", re.M)
RESULT = re.compile(r"\b(ok|FAIL|ERROR|skipped .*|expected failure|unexpected success)$", re.M)
SUMMARY = re.compile(r"^(?:FAIL|ERROR): .*?\((test_\w+(?:\.\w+)+)\)", re.M)
# What each rank says goes into a file of its own, whatever starts it. Files that all ranks open
# must lie where all hosts have them.
APART = """import os, sys
names = "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"
rank = next(os.environ[name] for name in names if name in os.environ)
os.environ["TMPDIR"] = sys.argv[1]
os.dup2(os.open(f"{sys.argv[1]}/rank.{rank}", os.O_WRONLY | os.O_CREAT), 2)
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""
FRAME = re.compile(r"(?:lib|mca_)[\w.-]*\.so[.\d]*\((\w+)\+")


def output_of(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def in_c_only(settings):
    """An MPICH without Fortran lacks functions that what is built against Debian's asks for. The
    wheel's mpi4py does without, and takes whichever MPICH it is told."""
    return (settings.transport == "fci-mpich" and
            not (settings.mpich() / "lib/libmpichfort.so.12").exists())


def environment(settings):
    """A virtual environment with mpi4py, and its tests next to it: built once, then kept."""
    if SOURCE:
        return None
    if settings.wheel:
        return settings.wheel.home
    if in_c_only(settings):
        wheels.install(wheels.MPIS["mpich"])
        return wheels.MPIS["mpich"].home
    mpi = settings.mpi
    compiler = f"mpicc.{mpi}"
    recipe = [VERSION, output_of(PYTHON, "-VV"), output_of(compiler, "-show"),
              Path(__file__).read_text().split("def build")[1].split("\ndef ")[0]]
    key = hashlib.sha256("\n".join(recipe).encode()).hexdigest()[:12]
    home = cache_directory() / f"mpi4py-{VERSION}-{mpi}-{key}"
    home.parent.mkdir(parents=True, exist_ok=True)
    with open(home.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "complete").exists():
            shutil.rmtree(home, ignore_errors=True)
            build(home, compiler)
            (home / "complete").touch()
    return home


def build(home, compiler):
    wheels.run([PYTHON, "-m", "venv", home])
    pip = [home / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--quiet"]
    wheels.run([*pip, "download", "--no-deps", "--no-binary=mpi4py", f"mpi4py=={VERSION}",
                "--dest", home])
    source = home / f"mpi4py-{VERSION}.tar.gz"
    # Unoptimised: what is tested lies below these bindings, and it builds six times faster.
    wheels.run([*pip, "install", source], {**os.environ, "MPICC": compiler, "CFLAGS": "-O0 -g0"})
    with tarfile.open(source) as archive:
        archive.extractall(home)


def python(home):
    return PYTHON if SOURCE else home / "bin" / "python"


def tests(home):
    return Path(SOURCE or home / f"mpi4py-{VERSION}") / "test"


def modules(home, not_these, only="test_"):
    names = sorted(path.stem for path in tests(home).glob(f"{only}*.py"))
    return [name for name in names if name not in not_these]


# With threads, as mpi4py starts MPI, Debian's Open MPI has no windows between hosts, over its own TCP
# either: MPI_ERR_WIN.
WINDOWS = ("test_rma", "test_rma_nb", "test_win", "test_util_sync")


class Progress:
    """What one rank said: the tests it began, and how they ended."""

    def __init__(self, text):
        starts = list(START.finditer(text))
        ends = [start.start() for start in starts[1:]] + [len(text)]
        self.names = [start.group(2) for start in starts]
        body = text[starts[-1].end():ends[-1]] if starts else ""
        self.running = self.names[-1] if starts and not RESULT.search(body) else None
        bad = set(SUMMARY.findall(text))
        for start, end in zip(starts, ends):
            result = RESULT.search(text, start.end(), end)
            if result and result.group(1) in ("FAIL", "ERROR", "unexpected success"):
                bad.add(start.group(2))
        # The first only: what fails after it may fail because of what it left behind.
        self.bad = set(sorted(bad, key=self.order)[:1])
        ran = re.search(r"^Ran (\d+) tests? in", text, re.M)
        self.finished = ran is not None
        self.ran = int(ran.group(1)) if ran else 0


    def order(self, name):
        return self.names.index(name) if name in self.names else -1


def has_come_to_fci(pid):
    try:
        return re.search(r"/(?:libfci|mca_pml_fci)\S*$", Path(f"/proc/{pid}/maps").read_text(), re.M)
    except OSError:
        return True  # it has ended meanwhile


def waits_before_fci(tag):
    """Some rank has not come to FCI."""
    ranks = [pid for pid in processes_of(tag) if name_of(pid).startswith("python")]
    return not all(has_come_to_fci(pid) for pid in ranks)


class Sweep:
    """Runs the suite to its end, whatever crashes or hangs on the way: such a test is noted, left
    out, and the rest is run again from its module on."""

    def __init__(self, settings, home, ranks, todo, leave_out, most):
        self.settings, self.home, self.ranks, self.todo = settings, home, ranks, todo
        self.leave_out, self.most = leave_out, most
        self.found = {}  # test -> what happened
        self.ran = 0     # tests of the last run
        self.lost = ""   # why the suite could not be run to its end

    def run(self):
        todo = self.todo
        while todo and not self.lost:
            before = len(self.found)
            stopped_in = self.once(todo)
            if len(self.found) == before:
                break  # nothing bad any more
            if len(self.found) > self.most:
                self.lost = f"given up after {len(self.found)} bad tests"
            todo = todo[todo.index(stopped_in):] if stopped_in in todo else todo
        return self

    def once(self, todo):
        """Runs the modules; the one in which the first bad thing happened, or None."""
        where = self.settings.directory(f"mpi4py-{self.ranks}")
        shutil.rmtree(where)
        where.mkdir()
        skip = where / "leave-out"  # patterns, matched against the whole name
        skip.write_text("".join(f"*{name}\n" for name in {*self.leave_out, *self.found}))
        words = [python(self.home), "-c", APART, where]
        words += ["main.py", "-v", "-i", f"^({'|'.join(todo)})\\.py$"]
        words += ["--xfile", skip] if skip.stat().st_size else []
        more = {}
        if in_c_only(self.settings):
            more["MPI4PY_LIBMPI"] = str(self.settings.mpich() / "lib/libmpi.so.12")
        command, env = self.settings.mpirun(self.ranks, words, env=more)
        stalled = []
        ran = run(command, cwd=tests(self.home), env=env, timeout=LIMIT,
                  during=lambda child, tag: self.watch(where, child, tag, stalled))
        texts = [path.read_text(errors="replace") for path in where.glob("rank.*")]
        ranks = [Progress(text) for text in texts]
        self.ran = max((rank.ran for rank in ranks), default=0)
        return self.judge(ran, ranks, "\n".join(texts), stalled)

    def judge(self, ran, ranks, text, stalled):
        bad = set().union(*(rank.bad for rank in ranks)) - self.found.keys()
        finished = len(ranks) == self.ranks and all(rank.finished for rank in ranks)
        for name in bad:
            self.found[name] = "fails"
        running = [rank for rank in ranks if rank.running]
        if finished or (bad and running):  # what follows a failure may be its consequence
            if finished and ran.code and not bad:
                self.lost = f"all tests passed, then {ran.ended()}: {ran.last_line()}"
            return min(bad).split(".")[0] if bad else None
        if not running:
            self.lost = f"{ran.ended()} outside the tests: {ran.last_line()}"
            return None
        culprit = min(running, key=lambda rank: len(rank.names)).running
        frame = FRAME.search(text[text.find("Signal:"):]) if "Signal:" in text else None
        how = signal_named(text) or re.search(r"MPI_ERR_\w+.*|MPI_ABORT.*|$", text).group(0)
        module = culprit.split(".")[0]
        if stalled and stalled[0] and module in SPAWNING and open_mpi_release() == "4.1":
            self.found[culprit] = BEFORE_FCI
            return module
        self.found[culprit] = "hangs" if stalled or ran.timed_out else (
            f"ends the job: {how.strip()}" + (f" in {frame.group(1)}" if frame else ""))
        return module

    def watch(self, folder, child, tag, stalled):
        """Ends a run that says nothing any more."""
        most = STALL_OVER_HOSTS if self.settings.lab else STALL
        size, since = -1, time.monotonic()
        while child.poll() is None:
            now = sum(path.stat().st_size for path in folder.glob("rank.*"))
            if now != size:
                size, since = now, time.monotonic()
            elif time.monotonic() - since > patience(most):
                stalled.append(self.settings.over_fci and waits_before_fci(tag))
                kill_all(tag)
                return
            time.sleep(0.1)


def broken_list(mpi):
    return HERE / ("mpi4py.broken" if mpi == "openmpi" else f"mpi4py-{mpi}.broken")


def broken(mpi, ranks):
    """The tests that this MPI does not pass over its own provider at this number of ranks."""
    table, path = {}, broken_list(mpi)
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.strip() and not line.startswith("#"):
            count, name, how = line.split(None, 2)
            if int(count) == ranks:
                table[name] = how
    return table


def record(settings, ranks, found):
    title, path, provider = "Debian's Open MPI 4.1.4", "pml cm, mtl ofi", "tcp;ofi_rxm"
    if settings.wheel:
        title = f"{settings.wheel.title} {settings.wheel.version}"
        path, provider = "its libfabric path", settings.wheel.provider
    head = (f"# Tests of mpi4py {VERSION} that {title} does not pass with {path}\n"
            f"# over its own provider `{provider}`: ranks, test, what happens. The reasons are in\n"
            f"# docs/{'mpis' if settings.wheel else 'programs'}.md. Made by:\n"
            f"#   test/programs/run --transport {settings.transport} --record mpi4py\n")
    tables = {count: broken(settings.mpi, count) for count in RANKS}
    tables[ranks] = found
    lines = [f"{count} {name} {tables[count][name]}\n"
             for count in RANKS for name in sorted(tables[count])]
    broken_list(settings.mpi).write_text(head + "".join(lines))


def without_libfabric(settings):
    return settings.transport in ("stock", "fci-openmpi")


@functools.cache
def unreachable(settings):
    """Why there is no environment; pip, which may wait for long, is asked once."""
    try:
        environment(settings)
    except wheels.Unreachable as reason:
        return str(reason)
    return ""


def left_out(settings):
    """Modules. With 4.1, whatever the transport, children often hang in PMIx_Init, and 5.0's
    Spawn_multiple fails."""
    if settings.mpi != "openmpi":
        return ()
    spawning = ("test_spawn",) if without_libfabric(settings) else SPAWNING
    return (*spawning, *WINDOWS) if settings.lab else spawning


def one(settings, ranks, not_these=(), only="test_"):
    """not_these: modules, or single tests by their whole name; only: how the modules begin."""
    reason = unreachable(settings)
    if reason:  # continuous integration insists
        return failed(reason) if os.environ.get("CI") == "true" else skipped(reason)
    home = environment(settings)
    todo = modules(home, not_these, only)
    if settings.record:
        sweep = Sweep(settings, home, ranks, todo, {}, 400).run()
        if sweep.lost:
            return failed(sweep.lost)
        record(settings, ranks, sweep.found)
        return passed(f"{len(sweep.found)} tests noted")
    # The MPIs from wheels are measured at 2 ranks.
    leave_out = {} if without_libfabric(settings) else broken(settings.mpi,
                                                              2 if settings.wheel else ranks)
    if settings.transport == "fci-openmpi" and open_mpi_release() == "5.0":
        leave_out.update(NOT_NATIVELY)
    if in_c_only(settings):
        leave_out.update(WITHOUT_FORTRAN)
    if settings.lab:
        leave_out.update(BETWEEN_HOSTS.get(settings.mpi, {}))
    if settings.over_fci:
        leave_out.update(RACES.get(settings.mpi, {}))
    leave_out.update((name, "left out") for name in not_these if "." in name)
    sweep = Sweep(settings, home, ranks, todo, leave_out, 5).run()
    before = [name for name, how in sweep.found.items() if how == BEFORE_FCI]
    bad = "; ".join(f"{name} {how}" for name, how in sweep.found.items() if name not in before)
    if sweep.lost or bad:
        return failed("; ".join(text for text in (bad, sweep.lost) if text))
    return passed(f"{sweep.ran} tests; {len(leave_out)} left out" + "".join(
        f"; {name} {BEFORE_FCI}" for name in before))


def over_verbs(settings, way):
    """Point-to-point messages."""
    with mock.patch.dict(os.environ, ucx.environment(way)):
        return one(settings, 2, only="test_p2p_")


def cases(settings):
    if settings.wheel:
        yield Case("2-ranks", lambda: one(settings, 2), ci=settings.record)
        if not settings.record:
            yield Case("2-ranks-quick", lambda: one(settings, 2, SLOW))
        return
    for ranks in RANKS:
        yield Case(f"{ranks}-ranks",
                   lambda ranks=ranks: one(settings, ranks, left_out(settings)))
    for way in ucx.VERBS if settings.transport == "fci-openmpi" and not settings.lab else ():
        if way in ucx.ways():  # nowhere but where there is an RDMA device (test/rdma/run)
            yield Case(f"ucx-{way}", lambda way=way: over_verbs(settings, way), ci=False)
