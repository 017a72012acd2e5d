"""kill -9 of any rank at random moments: the others end by themselves within a second and name
the dead one; nothing is left of anybody. One that only stops is waited for."""

import os
import random
import signal
import tempfile
import time

from harness import (Case, failed, left_over, name_of, passed, processes_of, run, skipped,
                     snapshot)
from suites.hpcc import write_input
from survivors import LOST, Crowd

TIMES, TIMES_FULL = 50, 500
MPI_TIMES = 10
STOPPED = 9  # seconds
NOBODY = 65534  # a user
LIMIT = 1.0  # seconds that survivors have
PAUSE = 0.45  # what survivor.c stays on purpose once it knows


def calm(settings):
    """Nobody is killed: everybody ends well. Without this the rest would prove nothing."""
    with Crowd(settings, 4, rounds=200) as crowd:
        crowd.hand_out(crowd.cards())
        crowd.watch(60)
        for rank in range(4):
            if rank not in crowd.ends or crowd.code(rank) != 0 or crowd.text(rank):
                return failed(f"rank {rank}: exit {crowd.code(rank)}: {crowd.text(rank).strip()}")
        left = crowd.left_behind()
        return failed("left behind: " + ", ".join(left)) if left else passed("4 x 3 x 200 messages")


def kill_one(settings, size, victim, delay, mode, number):
    """What went wrong ("" if nothing), and how long the slowest survivor took to notice."""
    with Crowd(settings, size, mode=mode) as crowd:
        crowd.hand_out(crowd.cards())
        crowd.watch(delay)
        if crowd.ends:
            rank = min(crowd.ends)
            return f"rank {rank} ended before anybody was killed: {crowd.text(rank).strip()}", 0
        killed = crowd.kill(victim, number)
        crowd.watch(10, lambda: len(crowd.ends.keys() - {victim}) == size - 1)
        worst = 0.0
        for rank in set(range(size)) - {victim}:
            text = crowd.text(rank).strip()
            if rank not in crowd.ends:
                return f"rank {rank} does not end after rank {victim} was killed: {text}", 0
            lost = LOST.search(text)
            if crowd.code(rank) != 3 or not lost:
                return f"rank {rank}: exit {crowd.code(rank)} without naming it: {text}", 0
            if int(lost.group(2)) != victim:
                return f"rank {rank} blames rank {lost.group(2)}, not rank {victim}: {text}", 0
            if not lost.group(4):
                return f"rank {rank} gives no reason", 0
            took = crowd.ends[rank] - killed - PAUSE
            if took > LIMIT:
                return f"rank {rank} took {took:.2f} s to end", 0
            worst = max(worst, int(lost.group(3)) / 1e9 - killed)
        crowd.kill(victim)  # what it became may live on
        crowd.watch(1)
        left = crowd.left_behind()
        return ("left behind: " + ", ".join(left) if left else ""), worst


def survivors(settings, times, mode="", number=signal.SIGKILL):
    chance = random.Random(settings.seed)
    worst = 0.0
    for turn in range(times):
        size = chance.choice([2, 3, 4, 6])
        victim = chance.randrange(size)
        delay = chance.choice([0.0, 0.3]) * chance.random()  # at once, while meeting, or later
        wrong, noticed = kill_one(settings, size, victim, delay, mode, number)
        if wrong:
            return failed(f"time {turn + 1}, {size} ranks, rank {victim} killed after "
                          f"{delay * 1000:.1f} ms, seed {settings.seed}: {wrong}")
        worst = max(worst, noticed)
    return passed(f"{times} times, the last one noticed after {worst * 1000:.0f} ms at most")


def kill_under_launcher(settings, where, chance):
    """mpirun ends everybody else; what counts is that nothing stays."""
    victims = []

    def strike(child, tag):
        limit = time.monotonic() + 20
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
        limit = time.monotonic() + 20
        while child.poll() is None and time.monotonic() < limit:
            time.sleep(0.01)
        time.sleep(0.2)
        victims.append(processes_of(tag))

    with tempfile.TemporaryDirectory(prefix="fci-") as empty:
        before = snapshot(empty)
        command, env = settings.mpirun(4, ["hpcc"])
        ran = run(command, cwd=where, env=env, timeout=60, during=strike)
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
    with Crowd(settings, 4, rounds=4000) as crowd:
        crowd.hand_out(crowd.cards())
        crowd.watch(0.5)
        crowd.kill(2, signal.SIGSTOP)
        crowd.watch(STOPPED)
        crowd.kill(2, signal.SIGCONT)
        early = sorted(crowd.ends)
        crowd.watch(60)
        for rank in range(4):
            if rank in early or rank not in crowd.ends or crowd.code(rank) or crowd.text(rank):
                return failed(f"rank {rank}: exit {crowd.code(rank)}"
                              f"{', early' if rank in early else ''}: {crowd.text(rank).strip()}")
        left = crowd.left_behind()
    return failed("left behind: " + ", ".join(left)) if left else passed(
        f"one of 4 stopped for {STOPPED} s, then all went on")


def beside_another_user(settings):
    if os.geteuid() != 0:
        return skipped("only root can start another user's job")
    try:
        return beside(settings, NOBODY)
    except PermissionError as reason:
        return skipped(f"another user cannot get at the program: {reason}")


def beside(settings, user):
    """Two jobs on one host at once. A rank of one is killed: the other job hears nothing of it."""
    with Crowd(settings, 3, user=user) as other, Crowd(settings, 3, rounds=3000) as mine:
        cards = other.cards()
        if not all(cards):
            return skipped("another user cannot start the program: " + other.text(0).strip())
        other.hand_out(cards)
        mine.hand_out(mine.cards())
        mine.watch(0.5)
        if other.left_behind(0) == [] or mine.ends:
            return failed("one of the jobs was over before the other could disturb it")
        other.kill(1)
        other.watch(10)
        lost = [rank for rank in (0, 2) if other.code(rank) != 3]
        if lost:
            return failed(f"rank {lost[0]} of the other job: {other.text(lost[0]).strip()}")
        mine.watch(60)
        for rank in range(3):
            if rank not in mine.ends or mine.code(rank) or mine.text(rank):
                return failed(f"rank {rank}: exit {mine.code(rank)}: {mine.text(rank).strip()}")
        left = mine.left_behind() + other.left_behind()
    return failed("left behind: " + ", ".join(left)) if left else passed(
        "a rank of the one was killed, the other did all its rounds")


def cases(settings):
    yield Case("nobody", lambda: calm(settings))
    times = TIMES_FULL if settings.full else TIMES
    yield Case("survivors", lambda: survivors(settings, times))
    # A child of the dead one holds copies of all its descriptors: its sockets do not close.
    yield Case("survivors-with-children", lambda: survivors(settings, 10, "fork"))
    # Its process lives on as another program, which has nothing of FCI's.
    yield Case("survivors-of-exec", lambda: survivors(settings, 10, "exec", signal.SIGUSR1))
    yield Case("under-mpirun", lambda: launched(settings))
    yield Case("stopped", lambda: stopped(settings))
    yield Case("beside-own-job", lambda: beside(settings, None))
    yield Case("beside-other-users-job", lambda: beside_another_user(settings))
