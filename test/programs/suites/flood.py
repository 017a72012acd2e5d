# SPDX-License-Identifier: BSD-3-Clause
"""Messages that nobody receives yet: the receiver's memory stays within the bound of
docs/architecture.md, the sender is held back, and everything arrives in the end, in order. Over Open MPI's component the sender keeps
much of it, and gives that memory back."""

import re

from harness import HERE, Case, built, failed, passed, run, signal_named

LIMIT = 120
UNEXPECTED = 1 << 20      # FCI_UNEXPECTED_BYTES
CHARGE = 64 + 8           # of one message of 8 bytes
PENDING_KIB = 0.25        # at the receiver, for each send that is pending at its sender
MPI_KIB = 4096            # what the MPI library itself may take meanwhile
LEFT_KIB = 16384          # kept after a flood of twice that and more
WAITS = re.compile(r"fci: a send to rank (\d) of MPI_COMM_WORLD has waited for \d+ s")
HELD = re.compile(r"^held after (\d+) sends, sender (-?\d+) KiB, receiver (-?\d+) KiB$", re.M)


def bound_kib(sent):
    pending = max(0, sent - UNEXPECTED // CHARGE)
    return 3 * UNEXPECTED / 1024 + pending * PENDING_KIB + MPI_KIB


def flood(settings, mode, count):
    where = settings.directory("flood")
    binary = built(settings, HERE / "flood.c", where / "flood", mpi=True, against_fci=False)
    # The component's sender keeps 1 GiB of copies otherwise.
    bound = ["--mca", "pml_fci_copies_mib", "16"] if settings.transport == "fci-openmpi" else []
    command, env = settings.mpirun(2, [binary, mode, count], options=bound)
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


def both(settings, count, size):
    """Two ranks that send before they receive, as much as MPI programs get away with elsewhere."""
    where = settings.directory("flood")
    binary = built(settings, HERE / "flood.c", where / "flood", mpi=True, against_fci=False)
    command, env = settings.mpirun(2, [binary, "both", count, size])
    ran = run(command, cwd=where, env=env, timeout=LIMIT)
    found = re.search(r"^sent and received .* grown by (-?\d+) KiB$", ran.out, re.M)
    if ran.code or ran.left or signal_named(ran.err) or not found:
        return failed(f"{ran.ended()}: {ran.last_line()}")
    if int(found.group(1)) > LEFT_KIB:
        return failed(f"{found.group(1)} KiB were not given back")
    return passed(f"{ran.seconds:.1f} s; {found.group(1)} KiB are kept")


def held(settings):
    """A sender that is held back for long says so, once, and goes on."""
    where = settings.directory("flood")
    binary = built(settings, HERE / "flood.c", where / "flood", mpi=True, against_fci=False)
    command, env = settings.mpirun(2, [binary, "both", 40000, 8],
                                   options=["--mca", "pml_fci_copies_mib", "1"])
    ran = run(command, cwd=where, env=env, timeout=LIMIT,
              until=lambda err: len(set(WAITS.findall(err))) == 2)
    said = WAITS.findall(ran.err)
    if not ran.timed_out or len(said) != 2:  # each rank waits for the other
        return failed(f"{ran.ended()}; {len(said)} ranks said that they wait: {ran.last_line()}")
    return passed("both ranks said it, once")


def cases(settings):
    if not settings.over_our_build:
        return
    if settings.transport == "fci-openmpi":
        for count, size in ((80000, 8), (16000, 1000), (8000, 4000)):
            yield Case(f"both-{size}", lambda count=count, size=size: both(settings, count, size))
        yield Case("held", lambda: held(settings), load="waits")
    counts = {"send": 1000000, "behind": 40000, "isend": 200000, "overtake": 20000}
    if settings.mpi == "mpich":
        del counts["behind"]  # MPI_Send waits there for its receive, as it may
    for mode, count in counts.items():
        yield Case(mode, lambda mode=mode, count=count: flood(settings, mode, count))
