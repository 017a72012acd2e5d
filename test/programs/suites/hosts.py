# SPDX-License-Identifier: BSD-3-Clause
"""A job over the hosts of a lab (--hosts): that its messages went over the wire, whatever else the
hosts have, and what is said when a rank is killed, its host falls silent or is behind a firewall,
or there is no network or port as the user wants it."""

import json
import os
import re
import shutil
import subprocess
import threading
import time

import lab
from harness import HERE, TAG, Case, built, failed, open_mpi_release, passed, run, skipped
from suites import crowd

SHORT_SILENCE = {"FCI_SILENCE_MS": "2000"}  # of a host until it is taken for gone
LIMIT = 120  # seconds; it ends what hangs
LENGTH, ROUNDS = 1 << 20, 4  # of what each rank sends to each
ENDED = 10  # seconds; the launcher of a job that lost a rank may not end by itself
GOES_ON = {"openmpi": ["--enable-recovery"], "mpich": ["-disable-auto-cleanup"]}
# Whatever its option says, Hydra kills all of a host when a process that it started is killed, and
# sends SIGUSR1 when one is gone. So it starts a shell, which ends in order.
UNSEEN = {"openmpi": [], "mpich": ["sh", "-c", "trap '' USR1; \"$@\"; exit 0", "sh"]}


def widow(settings):
    where = settings.directory("hosts")
    return where, built(settings, HERE / "widow.c", where / "widow", mpi=True, against_fci=False,
                        options=["-rdynamic"])


def said_who(settings, ran, rank, address):
    """Whether somebody said it. Open MPI shows nothing of what a provider tells it."""
    at = rf"[^\n]*?at {re.escape(address)}:" if address else ""
    said = rf"rank {rank} of MPI_COMM_WORLD: {at}"
    return settings.transport == "fci" or re.search(said, ran.err + ran.out)


def alltoall(settings):
    where = settings.directory("hosts")
    return where, built(settings, HERE / "alltoall.c", where / "alltoall", mpi=True,
                        against_fci=False)


def over_eth0(settings, ranks, command, env):
    """Runs alltoall: (how it ran, the verdict). What ranks on different hosts send goes over eth0."""
    where, _ = alltoall(settings)
    before = settings.lab.traffic()
    ran = run(command, cwd=where, env=env, timeout=LIMIT)
    if ran.code or f"alltoall: {ranks} ranks, all right" not in ran.out:
        return ran, failed(f"{ran.ended()}: {ran.last_line()}")
    came = settings.lab.traffic() - before
    between = ROUNDS * LENGTH * ranks * (ranks - 2)  # each to all but those on its host
    if not between <= came <= 1.3 * between + 1e6:
        return ran, failed(f"{came} bytes came to the hosts, {between} were to go between them")
    return ran, passed(f"{ranks} ranks, {came / 1e6:.0f} MB over the wire, {between / 1e6:.0f} of "
                       "them data")


def wire(settings):
    ranks = 2 * settings.lab.hosts
    command, env = settings.mpirun(ranks, [alltoall(settings)[1], LENGTH, ROUNDS])
    return over_eth0(settings, ranks, command, env)[1]


# As ssh does it: nothing of the environment reaches the other host by itself.
BARE_RSH = f"""#!/bin/sh
exec env -i PATH="$PATH" HOME="$HOME" {TAG}="${TAG}" /run/fci-lab/rsh "$@"
"""
RSH_VARIABLES = ("OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent", "HYDRA_LAUNCHER_EXEC")


def fci_run(settings):
    """It, on the first host, without the words for the hosts: (command, environment)."""
    rsh = settings.directory("hosts") / "rsh"
    rsh.write_text(BARE_RSH)
    rsh.chmod(0o755)
    env = {name: str(rsh) for name in RSH_VARIABLES}
    env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    if settings.transport == "fci-mpich":
        env["LD_LIBRARY_PATH"] = str(settings.mpich() / "lib")
    name = {"fci": ["--mpi", "openmpi-ofi"], "fci-mpich": []}.get(
        settings.transport, ["--mpi", f"openmpi-{open_mpi_release()}"])
    return settings.lab.on("n1", [str(settings.prefix / "bin/fci-run"), *name]), env


def by_fci_run(settings):
    """fci-run brings the job and its options to other hosts, with nothing but their names, and what
    a rank spawns as well."""
    where, binary = alltoall(settings)
    spawner = built(settings, HERE / "spawner.c", where / "spawner", mpi=True, against_fci=False)
    hosts = [f"n{number}:2" for number in range(1, settings.lab.hosts + 1)]
    command, env = fci_run(settings)
    ranks = 2 * settings.lab.hosts
    ran, verdict = over_eth0(settings, ranks, [
        *command, "--hosts", ",".join(hosts), "FCI_STATS=on", str(binary), str(LENGTH), str(ROUNDS)],
        env)
    if verdict.status != "pass":
        return verdict
    told = (ran.err + ran.out).count("fci: counters of rank")
    if told != ranks:
        return failed(f"FCI_STATS=on has reached {told} of {ranks} ranks")
    listed = where / "hostfile"
    listed.write_text("# 2 each\n" + "".join(f"{host.replace(':', ' slots=')}\n" for host in hosts))
    spawned = run([*command, "--hostfile", str(listed), "-n", "1", str(spawner), str(ranks - 2)],
                  cwd=where, env=env, timeout=LIMIT)
    if spawned.code or f"met 1 + {ranks - 2}, parted" not in spawned.out:
        return failed(f"spawned on other hosts: {spawned.ended()}: {spawned.last_line()}")
    return verdict


DOCKER = """ip link add docker0 type bridge && ip address add 172.17.0.1/16 dev docker0 &&
ip link set docker0 up && { echo 127.0.1.1 $(hostname); cat /etc/hosts; } >/run/hosts &&
mount --bind /run/hosts /etc/hosts"""


def docker(settings):
    """A bridge with the same address on each host, which also takes its own name for 127.0.1.1."""
    with lab.instead(settings, settings.lab.hosts) as hosts:
        for host in hosts.status():
            made = hosts.shell(host, "sh", "-c", DOCKER, root=True)
            if made.returncode:
                return failed(f"{host}: {made.stderr.strip()}")
        return wire(settings)


def refused(settings, says, begins=(), **variables):
    """What the variables say cannot be done: the job ends, and somebody says why. `begins`: the
    collective with which the program does; none: with messages."""
    where, binary = alltoall(settings)
    options = [word for name in variables for word in settings.exporting(name)]
    command, env = settings.mpirun(2 * settings.lab.hosts, [binary, 8, 1, *begins],
                                   options=options)
    ran = run(command, cwd=where, timeout=LIMIT, env={**env, **variables})
    said = ran.err + ran.out
    if ran.timed_out or not ran.code or ran.left:
        return failed(f"{ran.ended()}: {ran.last_line()}")
    missing = [words for words in says if words not in said]
    if missing:
        return failed(f"nobody said '{missing[0]}': {ran.last_line()}")
    return passed(f"{ran.seconds:.1f} s")


# Answers come in, whatever port of the range the kernel took for a call from here.
FIREWALL = """nft add table inet own && nft 'add chain inet own in {{ type filter hook input priority 0; }}' &&
nft 'add rule inet own in tcp dport {ports} tcp flags & (syn | ack) == syn {does}'"""
DEAF = ("nft add table inet deaf && "
        "nft 'add chain inet deaf in { type filter hook input priority 0; }' && "
        "nft add rule inet deaf in ip daddr 239.255.0.0/16 drop")
LOSES = ("nft add table inet loses && "
         "nft 'add chain inet loses in { type filter hook input priority 0; }' && "
         "nft add rule inet loses in ip daddr 239.255.0.0/16 numgen random mod 3 == 0 drop")


def firewall(settings, does="drop", says=("does not answer", "`nc -vz 10.77.0."), begins=()):
    """One on each host that keeps out what comes to the ports of FCI."""
    if not shutil.which("nft", path=os.environ["PATH"] + ":/usr/sbin"):
        return skipped("needs nft")
    ports = "41000-41009"
    with lab.instead(settings, 2) as hosts:
        for host in hosts.status():
            made = hosts.shell(host, "sh", "-c", FIREWALL.format(ports=ports, does=does), root=True)
            if made.returncode:
                return skipped("no rule can be made: " + made.stderr.strip())
        return refused(settings, says, begins, FCI_PORTS=ports, **SHORT_SILENCE)


def first_collectives(settings):
    """What is said where messages come first is said where a collective does."""
    does = {"barrier": ("drop", ["does not answer"]),
            "bcast": ("reject with tcp reset", ["nobody listens at 10.77.0."]),
            "allreduce": ("reject with tcp reset", ["nobody listens at 10.77.0."])}
    for begins, (way, says) in does.items():
        verdict = firewall(settings, way, says, [begins])
        if verdict.status != "pass":
            return verdict if verdict.status == "skip" else failed(f"{begins}: {verdict.detail}")
    return passed(f"{len(does)} of them")


def peers_told(settings, ranks):
    """What fci_info says on the first host of the peers of each rank there, once all have met."""
    looked = settings.lab.shell("n1", str(settings.prefix / "bin/fci_info"), "--job", "--json")
    jobs = json.loads(looked.stdout or '{"jobs": []}')["jobs"]
    of = {context["rank"]: context["peers"] for job in jobs for context in job["contexts"]}
    met = [peers for peers in of.values() if len(peers) == ranks - 1 and
           all(peer["bytes_sent"] and peer["bytes_received"] for peer in peers)]
    return of if len(of) == len(met) == 2 else None


def shown(settings):
    """By which way each rank reaches each other one, as fci_info --job says while they run."""
    where, ranks = settings.directory("hosts"), 2 * settings.lab.hosts
    binary = built(settings, HERE.parent / "tools/everyone.c", where / "everyone", mpi=True,
                   against_fci=False)
    end, told = where / "end", []

    def during(child, tag):
        def look():
            while child.poll() is None and not told:
                time.sleep(0.2)
                told.extend(filter(None, [peers_told(settings, ranks)]))
            end.touch()
        threading.Thread(target=look, daemon=True).start()

    command, env = settings.mpirun(ranks, [binary, end])
    ran = run(command, cwd=where, env=env, timeout=LIMIT, during=during)
    if ran.code or not told:
        return failed(f"{ran.ended()}: {ran.last_line()}")
    for rank, peers in told[0].items():
        for peer in peers:
            other = peer["rank"] // 2
            way, host = ("memory", 0) if other == rank // 2 else ("tcp", other)
            if peer["way"] != way or peer["host"] != f"10.77.0.{host + 1}":
                return failed(f"rank {rank} reaches rank {peer['rank']} by {peer}")
    return passed(f"{2 * (ranks - 1)} peers")


def collectives(settings):
    """Each byte of small ones, on communicators that come and go; and that they went by levels."""
    ran, verdict = crowd.collectives(settings, 2 * settings.lab.hosts, 7)
    if verdict.status != "pass" or settings.transport == "fci":  # libfabric has no such collectives
        return verdict
    between = [int(count) for count in re.findall(r"host_collectives (\d+)", ran.err + ran.out)]
    if not any(between):
        return failed(f"none went between hosts: {between}")
    return passed(f"{sum(between)} between hosts, as each rank counts them")


def hints(settings):
    """The same by multicast, with whole hosts deaf to it, and where nobody hears any."""
    if settings.transport == "fci":
        return skipped("libfabric has no such collectives")
    if not shutil.which("nft", path=os.environ["PATH"] + ":/usr/sbin"):
        return skipped("needs nft")
    told = []
    with lab.instead(settings, 4) as hosts:
        for deaf in ([], ["n3"], ["n1", "n2", "n4"]):
            for host in deaf:
                made = hosts.shell(host, "sh", "-c", DEAF, root=True)
                if made.returncode:
                    return skipped("no rule can be made: " + made.stderr.strip())
            ran, verdict = crowd.collectives(settings, 2 * hosts.hosts, 7)
            if verdict.status != "pass":
                return verdict
            said = {name: sum(map(int, re.findall(rf"{name} (\d+)", ran.err + ran.out)))
                    for name in ("hints_sent", "hints_heard")}
            told.append(f"{said['hints_heard']} heard of {said['hints_sent']} sent")
            if bool(said["hints_heard"]) != (len(deaf) < 3) or not said["hints_sent"]:
                return failed(f"deaf {deaf}: {told[-1]}")
    return passed("; ".join(told))


def long_broadcasts(settings):
    """Each byte of long ones, some members late, while more and more of the hints are lost: all
    right, and what is lost goes by messages."""
    if settings.transport == "fci":
        return skipped("libfabric has no such collectives")
    if not shutil.which("nft", path=os.environ["PATH"] + ":/usr/sbin"):
        return skipped("needs nft")
    where = settings.directory("hosts")
    binary = built(settings, HERE / "broadcasts.c", where / "broadcasts", mpi=True,
                   against_fci=False)
    told = []
    with lab.instead(settings, 4) as hosts:
        for name, rule, deaf in (("all heard", None, []), ("a third lost", LOSES, hosts.status()),
                                 ("one deaf", DEAF, ["n3"]),
                                 ("nobody hears", DEAF, ["n1", "n2", "n4"])):
            for host in deaf:
                made = hosts.shell(host, "sh", "-c", rule, root=True)
                if made.returncode:
                    return skipped("no rule can be made: " + made.stderr.strip())
            # MPICH has come down to one host before FCI is asked, and goes different ways there.
            more = ["lengths"] if not deaf and settings.mpi == "openmpi" else []
            program = [binary, 2, 6 + settings.seed, *more]
            command, env = settings.mpirun(2 * hosts.hosts, program, env={"FCI_STATS": "on"})
            ran = run(command, cwd=where, env=env, timeout=LIMIT)
            if ran.code or ran.left or "broadcasts: " not in ran.out:
                return failed(f"{name}: {ran.ended()}: {ran.last_line()}")
            said = {counter: sum(map(int, re.findall(rf"{counter} (\d+)", ran.err + ran.out)))
                    for counter in ("hints_heard", "hints_repaired", "hints_off")}
            told.append(f"{name}: {re.search(r'broadcasts: (.*) right', ran.out).group(1)}")
            is_right = (bool(said["hints_heard"]) == (len(deaf) != 3) and
                        (said["hints_repaired"] or not rule) and
                        (said["hints_off"] or not rule))
            if not is_right:
                return failed(f"{name}: {said}")
    return passed("; ".join(told))


def two_jobs(settings):
    """On the same hosts at the same time: neither hears what the other one sends to all."""
    if settings.transport == "fci":
        return skipped("libfabric has no such collectives")
    where = settings.directory("hosts")
    binary = built(settings, HERE / "broadcasts.c", where / "broadcasts", mpi=True,
                   against_fci=False)
    ended = []
    with lab.instead(settings, 3):
        jobs = []
        for seed in (7, 9):
            command, env = settings.mpirun(3, [binary, 2, seed], env={"FCI_STATS": "on"})
            jobs.append(threading.Thread(target=lambda command=command, env=env: ended.append(
                run(command, cwd=where, env=env, timeout=LIMIT))))
            jobs[-1].start()
        for job in jobs:
            job.join()
    told = []
    for ran in ended:
        if ran.code or "broadcasts: " not in ran.out:
            return failed(f"{ran.ended()}: {ran.last_line()}")
        said = {counter: sum(map(int, re.findall(rf"{counter} (\d+)", ran.err + ran.out)))
                for counter in ("hints_heard", "hints_stray")}
        if said["hints_stray"] > said["hints_heard"] / 4:
            return failed(f"what another job sends comes here: {said}")
        told.append(f"{said['hints_heard']} heard, {said['hints_stray']} of no use")
    return passed("; ".join(told))


def dissected(settings):
    """What a job sends is told apart by the dissector: each kind of frame, and hints."""
    if not shutil.which("tshark") or not shutil.which("dumpcap"):
        return skipped("needs tshark")
    where = settings.directory("hosts")
    programs = [[built(settings, HERE / f"{name}.c", where / name, mpi=True, against_fci=False), *more]
                for name, *more in (("alltoall", 100_000, 4), ("broadcasts", 0.1, 7))]
    captured = where / f"captured-{settings.mpi}.pcapng"
    script = HERE.parent.parent / "tools/wireshark/fci.lua"
    with lab.instead(settings, 3) as hosts:
        with hosts.captured("n1", captured):
            ended = []
            for program in programs:
                command, env = settings.mpirun(3, program)
                ended.append(run(command, cwd=where, env=env, timeout=LIMIT))
    for ran in ended:
        if ran.code:
            return failed(f"{ran.ended()}: {ran.last_line()}")

    def told(*names, only="fci"):
        words = ["tshark", "-r", str(captured), "-X", f"lua_script:{script}", "-Y", only,
                 "-T", "fields", *(word for name in names for word in ("-e", name))]
        lines = subprocess.run(words, capture_output=True, text=True, check=False).stdout
        return set(re.findall(r"[^,\s]+", lines))

    ranks, kinds = told("fci.hello.rank"), told("fci.frame.kind")
    wrong = told("frame.number", only="fci.broken || (fci && _ws.malformed)")
    if ranks != {"0", "1", "2"} or kinds != {"1", "2", "3", "4"} or wrong:
        return failed(f"ranks {ranks}, kinds {kinds}, not known in {wrong}")
    hinted = told("fci.hint.number")
    if bool(hinted) != (settings.transport != "fci"):
        return failed(f"hints {hinted}")
    return passed(f"{len(hinted)} numbers of hints")


def heard_of(settings, ranks, victim, words, env=()):
    """widow.c, in which that rank is killed: why not all others heard of it; or nothing."""
    where, binary = widow(settings)
    env, told = dict(env), where / f"heard-{os.urandom(4).hex()}"
    options = GOES_ON[settings.mpi] + [word for name in env for word in settings.exporting(name)]
    told.mkdir()

    def during(child, _tag):
        def end_once_all_have_heard():
            while child.poll() is None and len(list(told.glob("heard-*"))) < ranks - 1:
                time.sleep(0.1)
            time.sleep(ENDED / 5)  # for what they say
            child.terminate()
        threading.Thread(target=end_once_all_have_heard, daemon=True).start()

    command, more = settings.mpirun(ranks, [*UNSEEN[settings.mpi], binary, *words, told],
                                    options=options)
    ran = run(command, cwd=where, env={**env, **more}, timeout=LIMIT, during=during)
    heard = len(list(told.glob("heard-*")))
    if heard != ranks - 1:
        return f"{heard} of {ranks - 1} heard; {ran.ended()}: {ran.last_line()}"
    # The others of its host hear of it by memory, some from one of these.
    address = f"10.77.0.{victim // 2 + 1}" if words[0] == "kill" else None
    return "" if said_who(settings, ran, victim, address) else \
        f"nobody said that rank {victim} was lost: {ran.last_line()}"


def killed(settings):
    """All that wait for a rank hear of its death, by name, within a tenth of a second: their clocks
    stand still then. MPICH ends a barrier with success where a rank sends nothing to the dead one."""
    ranks = 2 * settings.lab.hosts
    ways = [(ranks - 1, "kill")]
    if settings.mpi == "openmpi":
        ways += [(victim, "barrier", victim) for victim in (ranks - 1, ranks - 2)]
    for victim, *words in ways:
        unheard = heard_of(settings, ranks, victim, words)
        if unheard:
            return failed(f"{words[0]} of rank {victim}: {unheard}")
    return passed(f"{ranks - 1} ranks heard, {len(ways)} times")


def heirs(settings):
    """Each rank waits for the next one, and ends when that has ended: all know whose death it was."""
    where, binary = widow(settings)
    ranks = 4
    with lab.instead(settings, ranks):
        command, env = settings.mpirun(ranks, [*UNSEEN[settings.mpi], binary, "heirs"],
                                       options=GOES_ON[settings.mpi])
        ran = run(command, cwd=where, env=env, timeout=ENDED)
    said = re.findall(r"rank (\d) of MPI_COMM_WORLD: ([^\n]*)", ran.err + ran.out)
    wrong = [": ".join(each) for each in said
             if each[0] != "3" and "it ended after it had lost rank 3;" not in each[1]]
    if wrong:
        return failed("rank 3 was killed; somebody lost rank " + wrong[0])
    if {each[0] for each in said} == {"1", "2", "3"}:
        return passed("rank 3 named by all, by two of them as the cause of other losses")
    return failed(f"lost were {[each[0] for each in said]}; {ran.ended()}: {ran.last_line()}")


def killed_unmet(settings):
    """The same on one host, where ranks wait by memory for some that they have never met, spinning."""
    ranks = 6
    with lab.instead(settings, 1):
        for victim in range(3, ranks):
            unheard = heard_of(settings, ranks, victim, ["barrier", victim], {"FCI_WAIT": "spin"})
            if unheard:
                return failed(f"barrier of rank {victim}: {unheard}")
    return passed(f"{ranks - 1} ranks heard, {ranks - 3} times")


def silent(settings):
    """A host that is cut off while the launcher still reaches it."""
    where, binary = widow(settings)
    told = where / f"ready-{os.urandom(4).hex()}"
    told.mkdir()
    env = {"FCI_NET": "eth0", **SHORT_SILENCE}
    options = GOES_ON[settings.mpi] + [word for name in env for word in settings.exporting(name)]
    with lab.instead(settings, 2, networks=2) as two:
        command, more = settings.mpirun(2, [binary, "cut", told], options=options)
        env.update(more, OMPI_MCA_oob_tcp_if_include="10.77.1.0/24")
        cut = []

        def during(child, tag):
            def cut_off():
                while child.poll() is None and not (told / "ready-0").exists():
                    time.sleep(0.1)
                cut.append(time.monotonic())
                two.shell("n2", "ip", "link", "set", "eth0", "down", root=True)
            threading.Thread(target=cut_off, daemon=True).start()

        ran = run(command, cwd=where, env=env, timeout=LIMIT, during=during)
    heard = re.search(r"heard at (\S+)", ran.out)
    if not heard or not cut:
        return failed(f"{ran.ended()}: {ran.last_line()}")
    seconds = float(heard.group(1)) - cut[0]
    if seconds < 0.5:  # its last answer was a second before, or less
        return failed(f"heard {seconds:.1f} s after the host was cut off")
    if not said_who(settings, ran, 1, "10.77.0.2"):
        return failed("nobody said which rank on which host was lost: " + ran.last_line())
    return passed(f"noticed after {seconds:.1f} s")


def cases(settings):
    if not settings.lab:
        return
    yield Case("wire", lambda: wire(settings), load="alone")
    yield Case("fci-run", lambda: by_fci_run(settings), load="alone")
    yield Case("shown", lambda: shown(settings))
    yield Case("docker", lambda: docker(settings))
    yield Case("no-network", lambda: refused(settings, ["FCI_NET='nosuch'", "eth0 10.77.0."],
                                             FCI_NET="nosuch"))
    yield Case("no-ports", lambda: refused(settings, ["FCI_PORTS='41009-41000'", "40000-40999"],
                                           FCI_PORTS="41009-41000"))
    yield Case("few-ports", lambda: refused(settings, ["no port of FCI_PORTS=41000 is free at 10.77."],
                                            FCI_PORTS="41000"))
    yield Case("firewall", lambda: firewall(settings), load="waits")
    yield Case("firewall-collectives", lambda: first_collectives(settings), load="waits")
    yield Case("collectives", lambda: collectives(settings))
    yield Case("hints", lambda: hints(settings))
    yield Case("long", lambda: long_broadcasts(settings))
    yield Case("jobs", lambda: two_jobs(settings))
    yield Case("wireshark", lambda: dissected(settings))
    yield Case("killed", lambda: killed(settings), load="waits")
    if settings.transport != "fci":  # it shows nothing of what a provider tells it
        yield Case("heirs", lambda: heirs(settings), load="waits")
    if settings.transport == "fci-openmpi":  # the others have no tables
        yield Case("killed-unmet", lambda: killed_unmet(settings))
    if settings.mpi == "openmpi":  # Hydra takes a host that it does not reach for dead, and ends all
        yield Case("silent", lambda: silent(settings), load="waits")
