# SPDX-License-Identifier: BSD-3-Clause
"""A job over hosts of a lab, and strangers there: users without rights who hear what it sends by
multicast (hostile.c) and call its processes (caller.c). For suites/security.py."""

import os
import re
import struct
import subprocess
import time

from harness import HERE, built, run, signal_named

RANKS = 4
PORTS = "41000-41003"  # as a firewall's rules tell everybody; four, that multicast keeps to them
LIMIT, FORMED = 300, 60  # seconds; they end what hangs
FEW, FEW_SECONDS = 20_000, 20
MANY = 1_000_000
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all",
          "--inh-caps=-all"]


def as_nobody():
    """Words before a command; an ordinary user of a lab is without rights himself."""
    return NOBODY if os.geteuid() == 0 else []


def place(settings):
    """A directory where a stranger can write, and find his programs."""
    where = settings.directory("security")
    settings.scratch.chmod(0o755)
    where.chmod(0o777)
    return where


def group_of(settings, host):
    """What every user of a host of the job sees: the address and the first port, once they are there."""
    limit = time.monotonic() + FORMED
    while time.monotonic() < limit:
        words = [*as_nobody(), "cat", "/proc/net/udp"]
        table = settings.lab.shell(host, *words).stdout
        found = [(address, int(port, 16)) for address, port in
                 re.findall(r": ([0-9A-F]{4}FFEF):([0-9A-F]{4}) ", table)]
        if found:
            address, port = min(found)
            octets = bytes.fromhex(address)[::-1]
            return ".".join(map(str, octets)), port
        time.sleep(0.1)
    return None


class Job:
    """marked.c on four of five hosts, until it is told to end."""

    def __init__(self, settings, env=()):
        self.where = place(settings)
        self.end = self.where / f"end-{os.urandom(4).hex()}"
        binary = built(settings, HERE / "marked.c", self.where / "marked", mpi=True,
                       against_fci=False)
        self.env = {"FCI_STATS": "on", "FCI_PORTS": PORTS, **dict(env)}
        tagged = ["--tag-output"] if settings.mpi == "openmpi" else ["-prepend-rank"]
        options = [word for name in self.env for word in settings.exporting(name)]
        self.command, more = settings.mpirun(RANKS, [binary, self.end], options=tagged + options)
        self.env.update(more)

    def during(self, stranger):
        """Runs it while `stranger` is called, which gives back anything: (how it ran, that)."""
        told = []

        def begun(_child, _tag):
            try:
                told.append(stranger())
            finally:
                self.end.touch()

        ran = run(self.command, cwd=self.where, env=self.env, timeout=3 * LIMIT, during=begun)
        return ran, told[0]


def wrong_with(ran):
    """Why it did not end as an undisturbed job; or nothing."""
    if ran.code or ran.left or signal_named(ran.err) or "marked: " not in ran.out:
        bad = re.search(r"marked: number .*", ran.err)
        return f"{ran.ended()}: {bad.group(0) if bad else ran.last_line()}"
    return ""


def counted(ran, counter):
    return sum(map(int, re.findall(rf"{counter} (\d+)", ran.err + ran.out)))


def sentences(ran, words):
    """rank -> how many lines of it hold the words."""
    told = {}
    for line in (ran.err + ran.out).splitlines():
        rank = re.match(r"\[(?:\d+,)?(\d+)\]", line)
        if rank and re.search(words, line) and "hints_" not in line:
            told[rank.group(1)] = told.get(rank.group(1), 0) + 1
    return told


def hostile(settings, host, count, record, earlier=None):
    """As nobody on a host: (what it has to say by name, its error)."""
    where = place(settings)
    binary = built(settings, HERE / "hostile.c", where / "hostile", against_fci=False)
    place_of = group_of(settings, "n1")
    if place_of is None:
        return None, "no group is to be seen"
    own = settings.lab.status()[host]["addresses"]["eth0"]
    seconds = FEW_SECONDS if count <= FEW else LIMIT
    words = [*as_nobody(), binary, *place_of, own, count, seconds, where / record,
             *([where / earlier] if earlier else [])]
    done = subprocess.run(settings.lab.on(host, list(map(str, words))), capture_output=True,
                          text=True, timeout=2 * LIMIT, check=False)
    found = re.fullmatch(r"heard (\d+), open (\d+), chi (\d+), name (\w+), cookie (\w+), "
                         r"sent (\d+)\n", done.stdout)
    if not found:
        return None, done.stderr.strip() or f"exit {done.returncode}"
    names = ("heard", "open", "chi", "name", "cookie", "sent")
    told = dict(zip(names, (int(word, 16 if name in ("name", "cookie") else 10)
                            for name, word in zip(names, found.groups()))))
    return {**told, "own": own}, ""


def recorded(settings, where, seconds=20):
    """Starts to write down the hellos that n1 hears and says, as who is on the path could."""
    script = HERE / "recorder.py"
    words = [settings.lab.tool, "shell", "--name", settings.lab.name, "--root", "n1", "--",
             "python3", str(script), str(seconds), str(where)]
    recorder = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    recorder.stdout.readline()
    return recorder


def hellos_in(path):
    data, hellos = path.read_bytes(), []
    while data:
        length, = struct.unpack_from("<I", data)
        hellos.append(data[4:4 + length])
        data = data[4 + length:]
    return hellos


def headings_in(path):
    """Of what hostile.c has written down; a datagram has 1472 bytes at most."""
    data, size = path.read_bytes(), 8 + 1472
    return [data[at + 8:at + 48] for at in range(0, len(data), size)]


def mark_of(settings, host):
    """As drivers/host/mark.h has it, of what every user of a host can read."""
    told = settings.lab.shell(host, *as_nobody(), "sh", "-c",
                              "cat /proc/sys/kernel/random/boot_id; stat -L -c %i /proc/self/ns/net")
    boot, inode = told.stdout.split()
    value = 0xcbf29ce484222325 ^ int(inode)
    for byte in (boot + "\n").encode():
        value = (value ^ byte) * 0x100000001b3 & (1 << 64) - 1
    value ^= value >> 32
    return (value ^ value >> 16) & 0xffff or 1


def calls(settings, host, count, name):
    """What a stranger on a host gets who says hellos to all processes of a job."""
    where = place(settings)
    binary = built(settings, HERE / "caller.c", where / "caller", against_fci=False)
    seconds = FEW_SECONDS if count <= FEW else LIMIT
    first, last = PORTS.split("-")
    addresses = [each["addresses"]["eth0"] for each in settings.lab.status().values()][:RANKS]
    words = [*as_nobody(), binary, count, seconds, f"{name:x}", f"{mark_of(settings, 'n1'):x}",
             where / "hellos", first, last, *addresses]
    done = subprocess.run(settings.lab.on(host, list(map(str, words))), capture_output=True,
                          text=True, timeout=2 * LIMIT, check=False)
    found = re.fullmatch(r"listening (\d+), called (\d+), heard out (\d+), answered (\d+), "
                         r"told (\d+)\n", done.stdout)
    if not found:
        raise RuntimeError(f"caller: {done.stderr.strip() or done.returncode}")
    return dict(zip(("listening", "called", "heard", "answered", "told"),
                    map(int, found.groups())))
