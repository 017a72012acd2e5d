"""Messages that nobody receives yet: the receiver's memory stays within the bound of
docs/architecture.md, the sender is held back, and everything arrives in the end, in order."""

import re

from harness import HERE, Case, built, failed, passed, run, signal_named

LIMIT = 120
UNEXPECTED = 1 << 20      # FCI_UNEXPECTED_BYTES
CHARGE = 64 + 8           # of one message of 8 bytes
PENDING_KIB = 0.25        # at the receiver, for each send that is pending at its sender
MPI_KIB = 4096            # what the MPI library itself may take meanwhile
HELD = re.compile(r"^held after (\d+) sends, sender (-?\d+) KiB, receiver (-?\d+) KiB$", re.M)


def bound_kib(sent):
    pending = max(0, sent - UNEXPECTED // CHARGE)
    return 3 * UNEXPECTED / 1024 + pending * PENDING_KIB + MPI_KIB


def flood(settings, mode, count):
    where = settings.directory("flood")
    binary = built(settings, HERE / "flood.c", where / "flood", mpi=True, against_fci=False)
    command, env = settings.mpirun(2, [binary, mode, count])
    ran = run(command, cwd=where, env=env, timeout=LIMIT)
    found = HELD.search(ran.out)
    if ran.code or ran.left or signal_named(ran.err) or not found:
        return failed(f"{ran.ended()}: {ran.last_line()}")
    sent, sender, receiver = map(int, found.groups())
    if mode == "send" and sent >= count:
        return failed(f"nothing held the sender back: {sent} sends came back")
    if receiver > bound_kib(sent):
        return failed(f"the receiver took {receiver} KiB for {sent} messages, more than "
                      f"{bound_kib(sent):.0f} KiB")
    return passed(f"{count} messages; held back after {sent}; receiver {receiver} KiB, at most "
                  f"{bound_kib(sent):.0f}; sender {sender} KiB")


def cases(settings):
    if not settings.over_our_build:
        return
    counts = {"send": 1000000, "behind": 40000, "isend": 200000, "overtake": 20000}
    if settings.mpi == "mpich":
        del counts["behind"]  # MPI_Send waits there for its receive, as it may
    for mode, count in counts.items():
        yield Case(mode, lambda mode=mode, count=count: flood(settings, mode, count))
