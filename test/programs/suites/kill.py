# SPDX-License-Identifier: BSD-3-Clause
"""kill -9 of any rank at random moments: the others end by themselves and name the dead one, though
none of their sleeps ends by time; nothing is left of anybody. One that only stops is waited for."""

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid

from harness import (HERE, SLOWNESS, Case, await_end, built, failed, left_over, name_of,
                     open_mpi_release, passed, patience, processes_of, run, skipped, snapshot)
from suites.hpcc import write_input
from survivors import LOST, Crowd

TIMES, TIMES_FULL = 20, 500
OTHER_TIMES, MPI_TIMES = 5, 5
STOPPED = 4  # seconds; nothing within a host is waited for longer
NOBODY = 65534  # a user
USED_MOST = 1.0  # seconds of processor time until a survivor hears of a death
PATIENCE = 60  # for their end; those that sleep then do so for ever


def calm(settings):
    """Nobody is killed: everybody ends well. Without this the rest would prove nothing."""
    with Crowd(settings, 4, rounds=200) as crowd:
        crowd.hand_out(crowd.cards())
        crowd.watch(patience(PATIENCE))
        for rank in range(4):
            if rank not in crowd.ends or crowd.code(rank) != 0 or crowd.text(rank):
                return failed(f"rank {rank}: exit {crowd.code(rank)}: {crowd.text(rank).strip()}")
        left = crowd.left_behind()
        return failed("left behind: " + ", ".join(left)) if left else passed("4 x 3 x 200 messages")


def strike(crowd, victim, number):
    """Kills one. Returns what gives (seconds, those of processor time) that another one took to hear
    of it."""
    before = crowd.schedules()
    killed = crowd.kill(victim, number)
    return lambda rank, lost: (int(lost.group(3)) / 1e9 - killed,
                               int(lost.group(4)) / 1e9 - before[rank][0])


def kill_one(settings, size, victim, delay, mode, number):
    """What went wrong ("" if nothing), and what each survivor says of the death."""
    notices = []
    with Crowd(settings, size, mode=mode) as crowd:
        crowd.hand_out(crowd.cards())
        crowd.watch(delay)
        if crowd.ends:
            rank = min(crowd.ends)
            return f"rank {rank} ended before anybody was killed: {crowd.text(rank).strip()}", []
        notice = strike(crowd, victim, number)
        crowd.watch(patience(PATIENCE), lambda: len(crowd.ends.keys() - {victim}) == size - 1)
        for rank in set(range(size)) - {victim}:
            text = crowd.text(rank).strip()
            if rank not in crowd.ends:
                return f"rank {rank} does not end after rank {victim} was killed: {text}", []
            lost = LOST.search(text)
            if crowd.code(rank) != 3 or not lost:
                return f"rank {rank}: exit {crowd.code(rank)} without naming it: {text}", []
            if int(lost.group(2)) != victim:
                return f"rank {rank} blames rank {lost.group(2)}, not rank {victim}: {text}", []
            if not lost.group(5):
                return f"rank {rank} gives no reason", []
            notices.append(notice(rank, lost))
            if notices[-1][1] > USED_MOST * SLOWNESS:
                return f"rank {rank} heard of it after {notices[-1][1]:.2f} s of processor time", []
        crowd.kill(victim)  # what it became may live on
        crowd.watch(1)
        left = crowd.left_behind()
        return ("left behind: " + ", ".join(left) if left else ""), notices


def survivors(settings, times, mode="", number=signal.SIGKILL, least=0.0):
    """least: for so many seconds nobody is killed."""
    chance = random.Random(settings.seed)
    notices = []
    for turn in range(times):
        size = chance.choice([2, 3, 4, 6])
        victim = chance.randrange(size)
        delay = least + chance.choice([0.0, 0.3]) * chance.random()  # at once, while meeting, or later
        wrong, heard = kill_one(settings, size, victim, delay, mode, number)
        if wrong:
            return failed(f"time {turn + 1}, {size} ranks, rank {victim} killed after "
                          f"{delay * 1000:.1f} ms, seed {settings.seed}: {wrong}")
        notices += heard
    seconds, used = (max(column) * 1000 for column in zip(*notices))
    return passed(f"{times} times, noticed within {seconds:.0f} ms, {used:.0f} of processor time")


def kill_under_launcher(settings, where, chance):
    """mpirun ends everybody else; what counts is that nothing stays."""
    victims = []

    def strike(child, tag):
        limit = time.monotonic() + patience(PATIENCE)
        ranks = []
        while len(ranks) < 4 and time.monotonic() < limit and child.poll() is None:
            ranks = [pid for pid in processes_of(tag) if name_of(pid) == "hpcc"]
        time.sleep(chance.random() * 1.5)
        if len(ranks) == 4 and child.poll() is None:
            victims.append(chance.choice(ranks))
            try:
                os.kill(victims[0], signal.SIGKILL)
            except ProcessLookupError:
                victims.clear()
        limit = time.monotonic() + patience(PATIENCE)
        while child.poll() is None and time.monotonic() < limit:
            time.sleep(0.01)
        await_end(tag, patience(PATIENCE))
        victims.append(processes_of(tag))

    with tempfile.TemporaryDirectory(prefix="fci-") as empty:
        before = snapshot(empty)
        command, env = settings.mpirun(4, ["hpcc"])
        ran = run(command, cwd=where, env=env, timeout=3 * PATIENCE, during=strike)
        still = victims.pop()
        left = left_over(before, empty)
    if still or ran.timed_out:
        return f"{len(still)} processes did not end", bool(victims)
    if left:
        return "left behind: " + ", ".join(left), bool(victims)
    if victims and ran.code == 0:
        return "mpirun reports success", True
    return "", bool(victims)


def launched(settings):
    chance = random.Random(settings.seed)
    where = settings.directory("kill-hpcc")
    write_input(where / "hpccinf.txt", 2, 2)
    hit = 0
    for turn in range(MPI_TIMES):
        wrong, struck = kill_under_launcher(settings, where, chance)
        if wrong:
            return failed(f"time {turn + 1}, seed {settings.seed}: {wrong}")
        hit += struck
    return passed(f"{hit} kills in {MPI_TIMES} runs of hpcc") if hit else failed("nobody was hit")


def stopped(settings):
    """SIGSTOP is no death: the others wait, and all go on where they were."""
    with Crowd(settings, 4, rounds=1000) as crowd:
        crowd.hand_out(crowd.cards())
        crowd.watch(0.2)
        crowd.kill(2, signal.SIGSTOP)
        crowd.watch(STOPPED)
        crowd.kill(2, signal.SIGCONT)
        early = sorted(crowd.ends)
        crowd.watch(patience(PATIENCE))
        for rank in range(4):
            if rank in early or rank not in crowd.ends or crowd.code(rank) or crowd.text(rank):
                return failed(f"rank {rank}: exit {crowd.code(rank)}"
                              f"{', early' if rank in early else ''}: {crowd.text(rank).strip()}")
        left = crowd.left_behind()
    return failed("left behind: " + ", ".join(left)) if left else passed(
        f"one of 4 stopped for {STOPPED} s, then all went on")


def run_that_is_ended(settings):
    """A run of this very script: whoever ends it finds nothing of it any more."""
    tag = uuid.uuid4().hex
    with tempfile.TemporaryDirectory(prefix="fci-") as home:
        env = {**os.environ, "TMPDIR": home, "PROGRAMS_OUTER": tag}
        words = [sys.executable, HERE / "run", "--prefix", settings.prefix, "kill/stopped"]
        inner = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        try:
            limit, names = time.monotonic() + patience(PATIENCE), []
            while names.count("survivor") < 4 and time.monotonic() < limit:
                time.sleep(0.05)
                names = [name_of(pid) for pid in processes_of(tag, "PROGRAMS_OUTER")]
            time.sleep(1)  # one of them is stopped now
            inner.terminate()
            code = inner.wait(patience(PATIENCE))
            left = [name_of(pid) for pid in processes_of(tag, "PROGRAMS_OUTER")]
            left += os.listdir(home)
        finally:
            inner.kill()
            inner.wait()
            for pid in processes_of(tag, "PROGRAMS_OUTER"):
                os.kill(pid, signal.SIGKILL)
    if code != 128 + signal.SIGTERM:
        return failed(f"exit {code}")
    return failed("left behind: " + ", ".join(left)) if left else passed("nothing left")


def beside_another_user(settings):
    if os.geteuid() != 0:
        return skipped("only root can start another user's job")
    try:
        return beside(settings, NOBODY)
    except PermissionError as reason:
        return skipped(f"another user cannot get at the program: {reason}")


def beside(settings, user):
    """Two jobs on one host at once. A rank of one is killed: the other job hears nothing of it."""
    with Crowd(settings, 3, user=user) as other, Crowd(settings, 3, rounds=1500) as mine:
        cards = other.cards()
        if not all(cards):
            return skipped("another user cannot start the program: " + other.text(0).strip())
        other.hand_out(cards)
        mine.hand_out(mine.cards())
        mine.watch(0.5)
        if other.left_behind(0) == [] or mine.ends:
            return failed("one of the jobs was over before the other could disturb it")
        other.kill(1)
        other.watch(patience(PATIENCE))
        lost = [rank for rank in (0, 2) if other.code(rank) != 3]
        if lost:
            return failed(f"rank {lost[0]} of the other job: {other.text(lost[0]).strip()}")
        mine.watch(patience(PATIENCE))
        for rank in range(3):
            if rank not in mine.ends or mine.code(rank) or mine.text(rank):
                return failed(f"rank {rank}: exit {mine.code(rank)}: {mine.text(rank).strip()}")
        left = mine.left_behind() + other.left_behind()
    return failed("left behind: " + ", ".join(left)) if left else passed(
        "a rank of the one was killed, the other did all its rounds")


def named(settings, ranks=4):
    """Of each that was lost the user reads once, and by its rank, also where it was never sent to."""
    where = settings.directory("kill-named")
    binary = built(settings, HERE / "mourner.c", where / "mourner", mpi=True, against_fci=False)
    command, env = settings.mpirun(ranks, [binary], options=["--enable-recovery"])
    ran = run(command, cwd=where, env=env, timeout=60)
    said = re.findall(r"fci: lost ([^:]*):", ran.err)
    if not re.search(r"^\d+ receives failed$", ran.out, re.M):
        return failed(f"{ran.ended()}: {ran.last_line()}")
    if sorted(said) != [f"rank {rank} of MPI_COMM_WORLD" for rank in range(1, ranks)]:
        return failed("said: " + (", ".join(said) or "nothing"))
    return passed(f"{len(said)} were lost, each was named once; {ran.out.strip()}")


def cases(settings):
    yield Case("under-mpirun", lambda: launched(settings), load="waits")
    if settings.transport == "fci-openmpi" and open_mpi_release() == "4.1":
        yield Case("named", lambda: named(settings))
    if settings.transport != "fci":
        return  # the others are without MPI: once is enough
    yield Case("nobody", lambda: calm(settings))
    times = TIMES_FULL if settings.full else TIMES
    yield Case("survivors", lambda: survivors(settings, times))
    # A child of the dead one holds copies of all its descriptors: its sockets do not close.
    yield Case("survivors-with-children", lambda: survivors(settings, OTHER_TIMES, "fork"))
    # Its process lives on as another program, which has nothing of FCI's.
    yield Case("survivors-of-exec", lambda: survivors(settings, OTHER_TIMES, "exec",
                                                          signal.SIGUSR1))
    yield Case("stopped", lambda: stopped(settings), load="waits")
    yield Case("run-that-is-ended", lambda: run_that_is_ended(settings), load="waits")
    yield Case("beside-own-job", lambda: beside(settings, None))
    yield Case("beside-other-users-job", lambda: beside_another_user(settings))
