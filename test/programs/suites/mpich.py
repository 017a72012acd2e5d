# SPDX-License-Identifier: BSD-3-Clause
"""What FCI under MPICH promises beside carrying messages: a death is an error that names the rank,
never a hang; nothing is said that nobody asked for; nothing stays behind; MPI_T shows the counters."""

import re
import tempfile

from harness import HERE, Case, built, failed, left_over, passed, run, signal_named, snapshot

DEATHS = ["receive", "any-source", "strangers", "ssend", "barrier", "lock", "flush", "fence", "complete",
          "partitioned", "later-barrier", "later-bcast", "later-bcast-to", "later-allreduce"]
RANKS = 3
LIMIT = 120  # seconds; it ends what hangs
SURVIVOR = re.compile(r"^survivor (\d+): (\w+): class (\d+): (.*)$", re.M)
# Hydra kills all ranks as soon as it sees one die, whatever -disable-auto-cleanup says.
UNNOTICED = ["sh", "-c", '"$0" "$@"; sleep 3']
PROC_FAILED = "101"  # MPIX_ERR_PROC_FAILED


def program(settings, name):
    return built(settings, HERE / f"{name}.c", settings.scratch / name, mpi=True,
                 against_fci=False)


def start(settings, name, words=(), ranks=RANKS, before_it=(), env=None):
    """The run, and what it left in /dev/shm, in its TMPDIR and among abstract sockets."""
    with tempfile.TemporaryDirectory(prefix="fci-", ignore_cleanup_errors=True) as home:
        before = snapshot(home)
        command, extra = settings.mpirun(ranks,
                                         [*before_it, program(settings, name), *words])
        ran = run(command, cwd=home, env={**extra, **(env or {})}, timeout=LIMIT)
        return ran, left_over(before, home) + ran.left


def death(settings, way):
    ran, left = start(settings, "mpich_death", [way], before_it=UNNOTICED)
    lines = SURVIVOR.findall(ran.out)
    if ran.timed_out:
        return failed(f"hangs: {len(lines)} of {RANKS - 1} survivors got an error")
    if len(lines) != RANKS - 1:
        said = (ran.out + ran.err).split("\n====")[0]  # the rest is the launcher's
        return failed(f"{len(lines)} of {RANKS - 1} survivors got an error: {said.strip()[-300:]}")
    for rank, call, number, text in lines:
        if number != PROC_FAILED:
            return failed(f"rank {rank}: {call}: class {number}: {text}")
        if f"rank {RANKS - 1} of MPI_COMM_WORLD" not in text:
            return failed(f"rank {rank}: {call} does not name rank {RANKS - 1}: {text}")
    if left:
        return failed(f"left behind: {', '.join(left)}")
    return passed(re.sub(r".*: (?=rank \d)", "", lines[0][3]).strip()[:150])


def quiet(settings, ranks):
    """No word without being asked, nothing left; one line when it is."""
    ran, left = start(settings, "mpich_counters", ranks=ranks)
    if ran.code or signal_named(ran.err) or left:
        return failed(f"{ran.ended()}, left {left}: {ran.last_line()}")
    if ran.out + ran.err:
        return failed(f"output that nobody asked for: {ran.last_line()}")
    ran, _ = start(settings, "mpich_counters", ranks=ranks, env={"FCI_INFO": "on"})
    said = (ran.out + ran.err).splitlines()
    if len(said) != 1 or "MPICH" not in said[0]:
        return failed(f"{len(said)} lines with FCI_INFO=on: {ran.last_line()}")
    return passed(said[0])


def counters(settings):
    ran, _ = start(settings, "mpich_counters", ["show"], ranks=2)
    if ran.code:
        return failed(f"{ran.ended()}: {ran.last_line()}")
    return passed(ran.out.strip())


def flush(settings):
    ran, _ = start(settings, "mpich_flush", ranks=2)
    if ran.code or "flush right" not in ran.out:
        return failed(f"{ran.ended()}: {ran.last_line()}")
    return passed(ran.out.strip())


def cases(settings):
    for ranks in (1, 2, 8):
        yield Case(f"quiet-{ranks}-ranks", lambda ranks=ranks: quiet(settings, ranks))
    yield Case("counters", lambda: counters(settings))
    yield Case("flush", lambda: flush(settings))
    for way in DEATHS:
        yield Case(f"death-{way}", lambda way=way: death(settings, way), load="waits")
