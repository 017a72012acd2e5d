# SPDX-License-Identifier: BSD-3-Clause
"""/dev/shm with 64 KiB, or with nothing left: programs run without it, or say clearly why not."""

import os
import re
import shutil

from harness import Case, failed, passed, run, signal_named, skipped

LIMIT = 120
SIZES = {"64k": "true", "full": "head -c 65536 /dev/zero > /dev/shm/filler"}


def inside(fill, command):
    """The command in a mount namespace of its own, with a small /dev/shm."""
    script = f"mount -t tmpfs -o size=64k tmpfs /dev/shm && {fill} && exec \"$@\""
    return ["unshare", "-m", "sh", "-c", script, "sh", *map(str, command)]


def impossible():
    """Why there can be no small /dev/shm here; empty if there can."""
    if os.geteuid() != 0:
        return "needs root, to mount a small /dev/shm"
    if not shutil.which("unshare"):
        return "needs unshare"
    probe = run(inside(SIZES["64k"], ["df", "--output=size,avail", "/dev/shm"]), cwd="/", timeout=10)
    if probe.code or "64" not in probe.out:
        return "cannot mount a small /dev/shm: " + probe.last_line()
    return ""


def judge(ran, complaints):
    """Without a complaint, or ended by a message of FCI's own that names the cause."""
    trouble = signal_named(ran.err + ran.out)
    if trouble or ran.code in (128 + 7, 128 + 11) or ran.timed_out:
        return failed(trouble or ran.ended())
    wrong = complaints(ran) if ran.code == 0 else [f"{ran.ended()}: {ran.last_line()}"]
    if not wrong:
        return passed("works without it")
    said = re.search(r"^fci: .*(?:/dev/shm|memory|space).*$", ran.err, re.M | re.I)
    return passed(said.group(0)) if said else failed(", ".join(wrong))


def one(settings, size):
    reason = impossible()
    if reason:
        return skipped(reason)
    where = settings.directory("shm-full")
    words = ["NPopenmpi", "-i", "-n", "5", "-l", "1", "-u", "4194304"]
    command, env = settings.mpirun(2, words)
    ran = run(inside(SIZES[size], command), cwd=where, env=env, timeout=LIMIT)

    def missing(ran):
        sizes = (ran.out + ran.err).count("Integrity check passed")
        return [] if sizes == 44 else [f"{sizes} of 44 sizes passed their integrity check"]

    return judge(ran, missing)


def many(settings):
    """Eight ranks, each with its memory for seven others."""
    reason = impossible()
    if reason:
        return skipped(reason)
    from suites.hpcc import complaints, must_be_exact, write_input
    where = settings.directory("shm-full-hpcc")
    write_input(where / "hpccinf.txt", 2, 4)
    command, env = settings.mpirun(8, ["hpcc"])
    ran = run(inside(SIZES["full"], command), cwd=where, env=env, timeout=LIMIT)
    report = where / "hpccoutf.txt"

    def unverified(ran):
        if not report.exists():
            return [f"no report: {ran.last_line()}"]
        return complaints(report.read_text(), must_be_exact(settings, 8))

    return judge(ran, unverified)


def cases(settings):
    for size in SIZES:
        yield Case(size, lambda size=size: one(settings, size))
    yield Case("full-8-ranks", lambda: many(settings))
