"""What SECURITY.md says of strangers: a user without rights, on a host of the job or on another one
of its network (--hosts), reads nothing of what a job sends by multicast, and changes nothing of it;
and nobody who lacks a secret of the job is answered by its processes."""

import os
import re
import struct
import subprocess
import time

import lab
from harness import HERE, Case, built, failed, passed, run, signal_named, skipped

RANKS = 4
PORTS = "41000-41003"  # as a firewall's rules tell everybody; four, that multicast keeps to them
LIMIT = 300  # ends what hangs
MOST_CHI = 500  # of 255 degrees of freedom: 255 +- 23 where bytes are random
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
    limit = time.monotonic() + LIMIT
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


def is_read(told):
    """What he could read, if so."""
    if told["open"]:
        return f"the data are in {told['open']} of {told['heard']} datagrams that nobody hears"
    if told["chi"] > MOST_CHI:
        return f"what nobody hears is not random: chi-square {told['chi']} of 255"
    return ""


def forged(settings, host, count):
    """A job is heard; its datagrams, and many made of them, go to itself and to the next job."""
    if settings.transport == "fci":
        return skipped("libfabric has no such collectives")
    faults, told = [], []
    with lab.instead(settings, RANKS + 1):
        for earlier in (None, f"{host}-first"):
            record = f"{host}-{'second' if earlier else 'first'}"
            ran, (heard, why) = Job(settings).during(
                lambda record=record, earlier=earlier: hostile(settings, host, count, record, earlier))
            if heard is None:
                return failed(f"nobody on {host}: {why}")
            if not heard["heard"] or not counted(ran, "hints_heard") and not ran.code:
                return failed(f"nothing went by multicast: {heard}")
            said = sentences(ran, rf"forge.*{re.escape(heard['own'])}\b")
            faults += filter(None, [
                wrong_with(ran), is_read(heard),
                heard["sent"] < count and f"only {heard['sent']} of {count} were sent",
                not said and f"nobody says that {heard['own']} forges",
                max(said.values(), default=0) > 1 and f"a rank says it more than once: {said}"])
            told.append(f"{heard['heard']} heard, {heard['sent']} sent, "
                        f"{counted(ran, 'hints_forged')} refused")
    return failed("; ".join(faults)) if faults else passed("; ".join(told))


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
    return [data[at + 8:at + 36] for at in range(0, len(data), size)]


def in_headings(hellos, headings):
    """Whether 32 bits of what names a process of the job are in a heading, but for the mark of its
    host in the upper 16, which is no secret."""
    secrets = {hello[at:at + 6] for hello in hellos for at in (48, 64)}
    return any(secret[at:at + 4] in heading and any(secret[at:at + 4])
               for secret in secrets for at in range(3) for heading in headings)


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


def hear_group(settings, host):
    """The datagrams of a job as nobody hears them, and nothing sent: (of the last, their headings)."""
    if settings.transport == "fci":  # has none
        return {"name": 0}, []
    heard, why = hostile(settings, host, 0, "heard")
    if heard is None:
        raise RuntimeError(f"nobody on {host}: {why}")
    return heard, headings_in(place(settings) / "heard")


def earlier_job(settings):
    """What is recorded of it: hellos, and headings that nobody on another host has heard."""
    where = place(settings)
    recorder = recorded(settings, where / "hellos")
    ran, (_, headings) = Job(settings).during(lambda: hear_group(settings, f"n{RANKS + 1}"))
    recorder.wait(LIMIT)
    return wrong_with(ran), hellos_in(where / "hellos"), headings


def hellos(settings, host, count):
    """Hellos made of what can be learnt of a job and of an earlier one are answered with no word, or
    a refusal that says nothing."""
    sleeping = {"FCI_WAIT": "sleep"}  # else all of the processor's time is used, whatever happens
    with lab.instead(settings, RANKS + 1):
        why, known, headings = earlier_job(settings)
        if why or not known:
            return failed(f"a job that nobody disturbs: {why or 'no hello was seen'}")
        calm = None
        if count > FEW:
            calm, _ = Job(settings, sleeping).during(lambda: time.sleep(20))

        def call():
            name = hear_group(settings, host)[0]["name"]
            return calls(settings, host, count, name)

        ran, told = Job(settings, sleeping).during(call)
    faults = list(filter(None, [
        wrong_with(ran), in_headings(known, headings) and "32 bits of a process' incarnation are in "
        "a datagram that nobody hears",
        told["listening"] < RANKS and f"only {told['listening']} processes were found",
        told["told"] and f"{told['told']} of {told['answered']} answers tell job or settings"]))
    if faults:
        return failed("; ".join(faults))
    said = f"{told['called']} calls, {told['heard']} heard out, {told['answered']} answered"
    if calm is not None:
        before, during = (float(re.search(r"([\d.]+) us of", each.out).group(1))
                          for each in (calm, ran))
        said += f"; {before / during:.2f} of the undisturbed rate, by processor time"
    return passed(said)


def cases(settings):
    if not settings.lab or not settings.over_our_build:
        return
    for host in ("n1", f"n{RANKS + 1}"):
        name = "host-of-the-job" if host == "n1" else "other-host"
        yield Case(f"forged-{name}", lambda host=host: forged(settings, host, FEW))
        yield Case(f"forged-{name}-many", lambda host=host: forged(settings, host, MANY), ci=False)
        yield Case(f"hellos-{name}", lambda host=host: hellos(settings, host, FEW))
        yield Case(f"hellos-{name}-many", lambda host=host: hellos(settings, host, MANY), ci=False)
