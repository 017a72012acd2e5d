# SPDX-License-Identifier: BSD-3-Clause
"""What SECURITY.md says of strangers: a user without rights, on a host of the job or on another one
of its network (--hosts), reads nothing of what a job sends by multicast, and changes nothing of it;
and nobody who lacks a secret of the job is answered by its processes."""

import fnmatch
import os
import re
import shutil
import subprocess
import time

import lab
from harness import HERE, ROOT, Case, built, failed, passed, run, skipped
from strangers import (FEW, LIMIT, MANY, RANKS, Job, calls, counted, headings_in, hellos_in,
                       hostile, place, recorded, sentences, wrong_with)
from suites import hosts as over_hosts

MOST_CHI = 500  # of 255 degrees of freedom: 255 +- 23 where bytes are random


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
            said = sentences(ran, rf"somebody at {re.escape(heard['own'])} forges")
            faults += filter(None, [
                wrong_with(ran), is_read(heard),
                heard["sent"] < count and f"only {heard['sent']} of {count} were sent",
                not said and f"nobody says that {heard['own']} forges",
                max(said.values(), default=0) > 1 and f"a rank says it more than once: {said}"])
            told.append(f"{heard['heard']} heard, {heard['sent']} sent, "
                        f"{counted(ran, 'hints_forged')} refused")
    return failed("; ".join(faults)) if faults else passed("; ".join(told))


def in_headings(hellos, headings):
    """Whether 32 bits of what names a process of the job are in a heading, but for the mark of its
    host in the upper 16, which is no secret."""
    secrets = {hello[at:at + 6] for hello in hellos for at in (48, 64)}
    return any(secret[at:at + 4] in heading and any(secret[at:at + 4])
               for secret in secrets for at in range(3) for heading in headings)


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
    said = sentences(ran, "without knowing its secret")
    faults = list(filter(None, [
        wrong_with(ran), max(said.values(), default=0) > 1 and f"a rank says it more than once: {said}",
        in_headings(known, headings) and "32 bits of a process' incarnation are in "
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


ONLY_TUNNEL = """nft add table inet only &&
nft 'add chain inet only in { type filter hook input priority 0; }' &&
nft add rule inet only in iifname eth0 udp dport 51820 accept &&
nft add rule inet only in iifname eth0 drop"""


def recipe():
    """The lines of SECURITY.md for each host, for each of the others, and for a job."""
    text = (ROOT / "SECURITY.md").read_text().split("## A network that others can listen to")[1]
    blocks = [block.replace("\n    ", "\n").strip() for block in
              re.findall(r"(?:^    .*\n)+", text, re.M)]
    if len(blocks) != 3:
        raise RuntimeError(f"SECURITY.md has {len(blocks)} blocks of commands, not 3")
    return blocks


KERNELS_LINE = "ip link add wg0 type wireguard"


def has_kernels(three, host):
    return three.shell(host, "sh", "-c", "ip link add tried type wireguard && ip link del tried",
                       root=True).returncode == 0


def has_no_wireguard(three, path):
    """Why there is none; or nothing."""
    if has_kernels(three, "n1"):
        return ""
    if not shutil.which("wireguard-go", path=path):
        return "this kernel has no WireGuard; needs wireguard-go (Debian: wireguard-go)"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "this kernel has no WireGuard, and /dev/net/tun, which wireguard-go needs, is root's"
    return ""


def without_kernel(three, host):
    """As `wireguard-go wg0`, but its end is that of the lab; returns once the interface is there."""
    subprocess.Popen([three.tool, "shell", "--name", three.name, "--root", host, "--",
                      "wireguard-go", "-f", "wg0"], stdin=subprocess.DEVNULL,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while three.shell(host, "ip", "link", "show", "wg0").returncode:
        time.sleep(0.1)


def tunnel(three, on_each, for_each_other):
    """Runs these lines on each host. What the kernel has not got is taken from wireguard-go."""
    if KERNELS_LINE not in on_each:
        return f"SECURITY.md has no line '{KERNELS_LINE}'"
    status, keys = three.status(), {}
    inside = {host: f"10.78.0.{number}" for number, host in enumerate(status, 1)}
    for host in status:
        # A directory of the computer's, which all hosts share.
        own = "mount -t tmpfs none /etc/wireguard && "
        lines = on_each
        if not has_kernels(three, host):
            without_kernel(three, host)
            lines = on_each.replace(KERNELS_LINE + "\n", "")
        made = three.shell(host, "env", f"INSIDE={inside[host]}", "sh", "-ec", own + lines, root=True)
        if made.returncode:
            return f"{host}: {made.stderr.strip()}"
        keys[host] = made.stdout.split()[-1]
    for host in status:
        for other in set(status) - {host}:
            told = three.shell(
                host, "env", f"KEY={keys[other]}", f"THEIRS={inside[other]}",
                f"ADDRESS={status[other]['addresses']['eth0']}", "sh", "-ec", for_each_other, root=True)
            if told.returncode:
                return f"{host}: {told.stderr.strip()}"
        closed = three.shell(host, "sh", "-c", ONLY_TUNNEL, root=True)
        if closed.returncode:
            return f"{host}: {closed.stderr.strip()}"
    return ""


def wireguard(settings):
    """What SECURITY.md says of a tunnel, word for word; nothing goes beside it."""
    if settings.mpi != "openmpi":
        return skipped("Hydra's own connections do not follow FCI_NET")
    path = os.environ["PATH"] + ":/usr/sbin"
    for name, package in (("wg", "wireguard-tools"), ("nft", "nftables")):
        if not shutil.which(name, path=path):
            return skipped(f"needs {name} (Debian: {package})")
    where = place(settings)
    binary = built(settings, HERE / "marked.c", where / "marked", mpi=True, against_fci=False)
    on_each, for_each_other, job = recipe()
    with lab.instead(settings, 3) as three:
        without_kernels = has_no_wireguard(three, path)
        if without_kernels:
            return skipped(without_kernels)
        why = tunnel(three, on_each, for_each_other)
        if why:
            return failed(why)
        end = where / "end-of-tunnel"
        end.touch()  # one round of broadcasts
        words = job.replace("a,b", "n1,n2,n3").split()
        options = words[1:words.index("./program")]
        command, env = over_hosts.fci_run(settings)
        ran = run([*command, *options, "FCI_INFO=on", str(binary), str(end)], cwd=where, env=env,
                  timeout=LIMIT)
    if wrong_with(ran):
        return failed(wrong_with(ran))
    return passed("3 hosts") if "at 10.78.0.1 (wg0)" in ran.err + ran.out or \
        settings.transport == "fci" else failed("not at 10.78.0.1 (wg0): " + ran.last_line())


HIDE = """for each in $(ldconfig -p | sed -n 's/.*libcrypto\\.so\\.[13].* => //p'); do
    mount --bind /dev/null "$each" || exit
done"""


def unsealed(settings):
    """One host has no library that seals: nothing goes by multicast, and that host says why."""
    if settings.transport == "fci":
        return skipped("libfabric has no such collectives")
    with lab.instead(settings, RANKS):
        hidden = settings.lab.shell("n3", "sh", "-c", HIDE, root=True)
        if hidden.returncode:
            return failed("n3: " + hidden.stderr.strip())
        job = Job(settings)
        job.end.touch()  # one round of broadcasts
        ran, _ = job.during(lambda: None)
    said = sentences(ran, "broadcasts go by TCP alone")
    if wrong_with(ran):
        return failed(wrong_with(ran))
    if list(said.values()) != [1] or counted(ran, "hints_sent"):
        return failed(f"said {said}, {counted(ran, 'hints_sent')} sent")
    return passed(f"rank {list(said)[0]} says why")


def named(settings):
    """Each test that SECURITY.md names is there."""
    names = set(re.findall(r"`((?:security|hosts)/[\w*-]+|\w+)`",
                           (ROOT / "SECURITY.md").read_text()))
    programs = {f"{suite}/{case.name}" for suite, module in
                (("security", cases), ("hosts", over_hosts.cases)) for case in module(settings)}
    units = "".join(path.read_text() for path in (ROOT / "test/unit").rglob("*_test.cc"))
    missing = [name for name in sorted(names)
               if ("/" in name and not any(fnmatch.fnmatch(each, name) for each in programs)) or
               (re.fullmatch(r"Shm\w+|tcp_\w+", name) and not
                re.search(rf"TEST(_F)?\({name},", units))]
    return failed("no test: " + ", ".join(missing)) if missing else passed(f"{len(names)} words")


def cases(settings):
    if not settings.lab or not settings.over_our_build:
        return
    yield Case("named", lambda: named(settings))
    yield Case("unsealed", lambda: unsealed(settings))
    yield Case("wireguard", lambda: wireguard(settings))
    for host in ("n1", f"n{RANKS + 1}"):
        name = "host-of-the-job" if host == "n1" else "other-host"
        yield Case(f"forged-{name}", lambda host=host: forged(settings, host, FEW))
        yield Case(f"forged-{name}-many", lambda host=host: forged(settings, host, MANY), ci=False)
        yield Case(f"hellos-{name}", lambda host=host: hellos(settings, host, FEW))
        yield Case(f"hellos-{name}-many", lambda host=host: hellos(settings, host, MANY), ci=False)
