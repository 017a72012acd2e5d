# SPDX-License-Identifier: BSD-3-Clause
"""fci_perf in a lab of 8 hosts that share this computer, over networks with a fault that slow.c
makes: each fault is named, and nothing where there is none. Where other work takes the cores it
says that it cannot judge, and names nothing that is slow. --full: 20 times each."""

import json
import os
import re
import statistics

import lab
import wheels
from harness import HERE, ROOT, Case, built, failed, passed, run

HOSTS, LIMIT, TIMES = 8, 300, 20
FLIPS = 100  # with --full
SURE = ("stopped", "flipped")
USUAL = ("clean", "rate", "stopped", "flipped")  # the others with --full
SOURCE = ROOT / "tools/perf/mpi/perf.c"
CASES = "comms1,comms2,comms3,synch1,poly3,oneway,preposted"
# name: the fault, and a pattern of the sentence that has to be there; None: no sentence at all
FAULTS = {
    "clean": ("", None),
    "rate": ("from=n3,rate=0.25", r"BAD: what n3 sends is slow"),
    "rate-received": ("to=n6,rate=0.25", r"BAD: what n6 receives is slow"),
    "latency": ("from=n4,latency=0.001", r"BAD: the latency of n4 is high"),
    "pair": ("pair=n2:n7,rate=0.25", r"BAD: n2 -> n7 is slow"),
    "stopped": ("from=n5,stop=5", r"BAD: the process on n5 stood still for (4\.9|5\.\d) s"),
    "flipped": ("from=n2,to=n5,flip=1e-4",
                r"BAD: from n2 to n5 \d+ messages? came with wrong bytes"),
}


def mpicc(settings):
    """Intel's wheel has none; programs of MPICH's wheel are also Intel's."""
    if settings.transport == "fci-mpich":
        return str(settings.mpich() / "bin/mpicc")
    if settings.wheel:
        home = wheels.MPIS["mpich"].home if settings.mpi == "intel" else settings.wheel.home
        return str(home / "bin/mpicc")
    return f"mpicc.{settings.mpi}"


def preload(settings):
    return str(built(
        settings, HERE / "slow.c", settings.directory("perf") / f"slow-{settings.mpi}.so", mpi=True,
        against_fci=False, options=["-shared", "-fPIC"]))


def environment(settings, fault):
    """Of the launcher, on a host of the lab: its ranks get all of it."""
    env = {name: "/run/fci-lab/rsh" for name in (
        "OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent", "HYDRA_LAUNCHER_EXEC")}
    env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
               OMPI_MCA_hwloc_base_binding_policy="none",
               XDG_CACHE_HOME=str(settings.directory("perf") / "cache"))
    if settings.transport == "fci-mpich":
        env["LD_LIBRARY_PATH"] = str(settings.mpich() / "lib")
    if fault:
        env.update(SLOW=fault, LD_PRELOAD=preload(settings))
    return env


def command(settings, hosts, *words):
    return hosts.on("n1", [str(settings.prefix / "bin/fci_perf"), *words, "--mpicc",
                           mpicc(settings), *["--plain"] * (not settings.over_fci), "--hosts",
                           ",".join(f"n{number}" for number in range(1, HOSTS + 1))])


def is_named(ran, pattern, is_sure):
    """All sentences that accuse are the one that is asked for."""
    accused = [line for line in ran.out.splitlines() if line.startswith("BAD:")]
    if pattern is None or (not is_sure and "too few cores to judge" in ran.out):
        return not accused and ran.code == 0
    return bool(accused) and all(re.match(pattern, line) for line in accused) and ran.code == 1


def verdicts(settings, name, fault, pattern, times):
    """Of a pause and of wrong bytes it is sure in any case."""
    where, unjudged = settings.directory("perf"), 0
    with lab.instead(settings, HOSTS, cores=len(os.sched_getaffinity(0))) as hosts:
        for time in range(times):
            env = environment(settings, fault)
            if fault:
                env["SLOW_SEED"] = str(settings.seed + time)
            ran = run(command(settings, hosts, "links"), cwd=where, env=env, timeout=LIMIT)
            unjudged += "too few cores to judge" in ran.out
            is_good = is_named(ran, pattern, name in SURE)
            if not is_good or ran.left:
                return failed(f"time {time}: {ran.ended()}: " + "; ".join(
                    line for line in ran.out.splitlines() if line.startswith(("BAD", "note"))))
    return passed(f"{times} times, {unjudged} not judged, {ran.seconds:.0f} s the last")


def killed(settings):
    """A rank dies: it ends, with what was measured so far, and says that it is partial."""
    where = settings.directory("perf")
    told = where / f"partial-{os.urandom(3).hex()}.json"
    with lab.instead(settings, HOSTS, cores=len(os.sched_getaffinity(0))) as hosts:
        def during(_child, _tag):
            hosts.shell("n3", "sh", "-c", "for i in $(seq 1000); do "
                        "pgrep -f '[p]erf links' && break; sleep 0.1; done; "
                        "sleep 2; pkill -KILL -f '[p]erf links'")
        ran = run(command(settings, hosts, "links", "--json", str(told)), cwd=where,
                  env=environment(settings, ""), timeout=LIMIT, during=during)
    if ran.code != 2 or "cause" not in ran.err or ran.left:
        return failed(f"{ran.ended()}: {ran.last_line()}")
    if told.exists() and json.loads(told.read_text())["complete"]:
        return failed("what was measured is said to be complete")
    return passed(f"ended after {ran.seconds:.0f} s")


def by_launcher(settings):
    """The program alone, started by a launcher of this MPI, whatever is below it: the same lines,
    of which `show` makes the same table."""
    where, tool = settings.directory("perf"), settings.prefix / "bin/fci_perf"
    cache = {"XDG_CACHE_HOME": str(where / "cache")}
    warned = run([mpicc(settings), "-std=gnu99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                  str(SOURCE)], cwd=where, timeout=LIMIT)
    made = run([str(tool), "--program", mpicc(settings)], cwd=where, timeout=LIMIT, env=cache)
    if made.code or warned.code:
        return failed((warned if warned.code else made).last_line())
    lines, result = where / "lines.txt", where / "run.json"
    for words in (["links", "--per-rank"], ["run", "--per-rank", "--cases", CASES]):
        command_line, env = settings.mpirun(4, [made.out.strip(), *words, "--lines", lines])
        ran = run(command_line, cwd=where, env=env, timeout=LIMIT)
        shown = run([str(tool), "show", str(lines), "--json", str(result)], cwd=where,
                    timeout=LIMIT)
        if ran.code or shown.code:
            return failed(f"{words[0]}: {ran.ended()}: {ran.last_line()}; {shown.last_line()}")
        told = json.loads(result.read_text())
        if not told["complete"] or told["ranks"] != 4 or told["wrong"]:
            return failed(f"{words[0]}: {shown.last_line()}")
        if words[0] == "links" and len(told["links"]) != 4 * 3:
            return failed(f"{len(told['links'])} links of 4 ranks")
    cases = {row["case"] for row in told["rows"]}
    return passed(told["mpi"]) if cases == set(CASES.split(",")) else failed(f"rows of {cases}")


def duplex(settings):
    """comms2 is twice as fast as comms1 over a wire that carries both directions at once, and as
    fast over one that does not."""
    where, tool, ratios = settings.directory("perf"), settings.prefix / "bin/fci_perf", []
    cache = {"XDG_CACHE_HOME": str(where / "cache")}
    made = run([str(tool), "--program", mpicc(settings)], cwd=where, timeout=LIMIT, env=cache)
    for half in (0, 1):
        wire = where / f"wire-{half}"
        wire.mkdir()
        env = {"SLOW": f"wire=2e7,half={half}", "SLOW_WIRE": str(wire),
               "LD_PRELOAD": preload(settings)}
        command_line, more = settings.mpirun(
            2, [made.out.strip(), "run", "--per-rank", "--cases", "comms1,comms2", "--bytes",
                1 << 20],
            options=[word for name in env for word in settings.exporting(name)])
        ran = run(command_line, cwd=where, timeout=LIMIT, env={**env, **more})
        rows = [json.loads(line)["seconds"] for line in ran.out.splitlines() if '"row"' in line]
        if ran.code or len(rows) != 2:
            return failed(f"{ran.ended()}: {ran.last_line()}")
        ratios.append(statistics.median(rows[0]) / statistics.median(rows[1]))
    told = f"comms1 / comms2: {ratios[0]:.2f} full duplex, {ratios[1]:.2f} half duplex"
    return passed(told) if ratios[0] > 1.6 and 0.8 < ratios[1] < 1.25 else failed(told)


def judge(settings, name):
    fault, pattern = FAULTS[name]
    times = (FLIPS if name == "flipped" else TIMES) if settings.full else 1
    return verdicts(settings, name, fault, pattern, times)


def cases(settings):
    if settings.lab:
        return
    yield Case("program", lambda: by_launcher(settings))
    if settings.wheel or settings.transport in ("fci", "tcp-rxm"):
        return
    names = list(FAULTS) if settings.transport == "fci-openmpi" else ["clean", "rate"]
    for name in names:
        yield Case(name, lambda name=name: judge(settings, name), ci=name in USUAL)
    yield Case("duplex", lambda: duplex(settings))
    if settings.transport == "fci-openmpi":
        yield Case("killed", lambda: killed(settings))
