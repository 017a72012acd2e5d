# SPDX-License-Identifier: BSD-3-Clause
"""NetPIPE (Debian's NPopenmpi, NPmpich2): ping-pong with the data checked, and as a benchmark.

NetPIPE takes exactly two ranks: those in between go straight to MPI_Finalize while the first and
the last one wait in MPI_Barrier, so it hangs with 3 or more ranks on every transport. Four and
eight ranks are therefore two and four pairs side by side, as jobs of their own.
"""

import concurrent.futures
import re

from harness import Case, failed, passed, run, signal_named

PROGRAM = {"openmpi": "NPopenmpi", "mpich": "NPmpich2"}
LIMIT = 120
CHECK = ["-i", "-n", "20", "-l", "1", "-u", "4194304"]
WAYS = {  # how messages are sent and received, besides plain blocking
    "check": [],
    "check-preposted": ["-a"],
    "check-any-source": ["-z"],
    "check-synchronous": ["-S"],
}


def start(settings, name, words, timeout=LIMIT):
    where = settings.directory("netpipe-" + name)
    command, env = settings.mpirun(2, [PROGRAM[settings.mpi], *words])
    return run(command, cwd=where, env=env, timeout=timeout)


def sizes_of(settings, name):
    """Those in its file: on the terminal the lines of the two ranks may be mixed."""
    table = settings.directory("netpipe-" + name) / "np.out"
    return [int(line.split()[0]) for line in table.read_text().splitlines()] if table.exists() else []


def judge_check(ran, sizes):
    """Every size must have been reached and found intact; NetPIPE ends at the first that is not."""
    text = ran.out + ran.err
    trouble = signal_named(ran.err)
    damaged = re.search(r"Integrity check failed.*", text)
    if damaged:
        return failed(f"at {sizes[-1] if sizes else '?'} bytes: {damaged.group(0)}")
    if ran.code or trouble or ran.left:
        return failed(f"{ran.ended()} after {len(sizes)} sizes: {trouble or ran.last_line()}")
    if "Integrity check passed" not in text or len(sizes) != 44 or sizes[-1] != 4194304:
        return failed(f"{len(sizes)} of 44 sizes were checked")
    return passed("44 sizes intact, 1 B to 4 MiB")


def check(settings, name, words):
    return judge_check(start(settings, name, CHECK + words), sizes_of(settings, name))


def pairs(settings, ranks):
    count = ranks // 2
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        verdicts = list(pool.map(lambda number: check(settings, f"pair{number}-of-{count}", []),
                                 range(count)))
    bad = [verdict for verdict in verdicts if verdict.status != "pass"]
    return bad[0] if bad else passed(f"{count} pairs side by side, each {verdicts[0].detail}")


def speed(settings):
    ran = start(settings, "speed", ["-u", "1048576", "-n", "200"])
    table = settings.directory("netpipe-speed") / "np.out"
    rows = [line.split() for line in table.read_text().splitlines()] if table.exists() else []
    if ran.code or signal_named(ran.err) or not rows:
        return failed(f"{ran.ended()} after {len(rows)} sizes: {ran.last_line()}")
    if int(rows[-1][0]) < 1048576:
        return failed(f"stopped at {rows[-1][0]} bytes")
    short = min(float(seconds) for size, mbps, seconds in rows if int(size) <= 8)
    best = max(float(mbps) for size, mbps, seconds in rows)
    return passed(f"{short * 1e6:.2f} us up to 8 B, {best * 1024 * 1024 / 8e9:.2f} GB/s at best")


def summary_line(settings):
    """FCI_INFO says what is used, one line for the job; without it nothing is said."""
    words = [PROGRAM[settings.mpi], "-i", "-n", "2", "-u", "64"]
    said = {}
    for info in ("off", "on"):
        env = {"FCI_INFO": info}
        command, more = settings.mpirun(2, words, options=settings.exporting("FCI_INFO"))
        ran = run(command, cwd=settings.directory("netpipe-info"), env={**env, **more},
                  timeout=LIMIT)
        if ran.code:
            return failed(f"FCI_INFO={info}: {ran.ended()}: {ran.last_line()}")
        said[info] = [line for line in (ran.out + ran.err).splitlines()
                      if re.match(r"fci\b", line, re.I)]
    if said["off"]:
        return failed(f"output that nobody asked for: {said['off'][0]}")
    if len(said["on"]) != 1:
        return failed(f"{len(said['on'])} lines with FCI_INFO=on, expected one for the job")
    return passed(said["on"][0])


def cases(settings):
    for name, words in WAYS.items():
        if name == "check-any-source" and settings.mpi == "mpich":
            continue  # NetPIPE writes -1, Open MPI's MPI_ANY_SOURCE: for MPICH it means "nobody"
        yield Case(name, lambda name=name, words=words: check(settings, name, words))
    for ranks in (4, 8):
        yield Case(f"check-{ranks}-ranks", lambda ranks=ranks: pairs(settings, ranks))
    yield Case("speed", lambda: speed(settings))
    if settings.over_our_build:
        yield Case("summary-line", lambda: summary_line(settings))
