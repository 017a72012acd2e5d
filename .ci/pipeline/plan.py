# SPDX-License-Identifier: BSD-3-Clause
"""Which steps a run has: all that must hold for every change, and some of it by turns."""

import shutil
import subprocess

from ledger import memory
from step import ROOT, Step

SEEDS = 2000
TURNS = 3  # what goes by turns is not left out more often than twice in a row
# Steps that make what others use, whatever else is left out.
MAKERS = {"build", "made", "asan-made", "asan-tests", "mpich", "wheels"}
# Whole programs in which time and chance have a part.
BY_CHANCE = ["kill", "crowd", "underway", "ahead", "spawn", "copies"]
# What the drivers do is the same by each plug.
OF_THE_DRIVER = [f"hosts/{case}" for case in (
    "docker", "no-network", "no-ports", "few-ports", "firewall*", "shown", "jobs", "wireshark")]
OF_THE_PLUG = [f"hosts/{case}" for case in (
    "wire", "fci-run", "collectives", "hints", "long", "killed*", "heirs", "silent*")] + [
    "unequal", "launchers", "deaf", "security", "ucx", "netpipe/check", "protocols/enhanced-mixed",
    "underway", "ahead", "unlike"]
QUICK_OVER_OPEN_MPI = ["--quick", "--maxnp", 4, "--timeout", 0.17, "--dirs",
                       "attr,coll,comm,datatype,errhan,group,info,init,pt2pt,topo"]
QUICK_OVER_HOSTS = ["--hosts", 2, "--quick", "--only", "coll/* 8", "--only", "pt2pt/* 4",
                    "--only", "pt2pt/* 10", "--only", "pt2pt/huge_*", "--only", "pt2pt/*recv* 2",
                    "--only", "pt2pt/mprobe"]
OVER_MPICH = ["netpipe", "mpich", "flood", "spawn", "crowd", "ordinary", "protocols", "leftover",
              "deaf", "calm/barrier*", "perf"]


class Plan:
    def __init__(self, ledger, is_full, mpich):
        self.ledger, self.is_full, self.mpich = ledger, is_full, mpich
        # Each run of a tree rolls dice of its own.
        self.seed = ledger.commit.seed + 10 * SEEDS * ledger.runs
        self.parts = []  # (unit, content, steps): the ledger is told of it where these pass
        # Of the programs that are judged by what they print, where the plug is the same.
        self.third = self.third_of("compared", ["netmod/openmpi", "test/programs/suites"], "check")

    def steps(self):
        """The longest chains first, so that none of them is what all else waits for at the end."""
        return [*self.made(), *self.over_hosts(), *self.checked(), *self.over_mpis(), *self.seen(),
                self.slices(), *self.seeds(), *self.over_wheels(), *self.sometimes(),
                *self.counts()]

    def is_recalled(self, step):
        """Whether it passed with this tree, in these surroundings, within a day."""
        return not self.is_full and not step.has_chance and step.name not in MAKERS and \
            step.name in self.ledger.steps

    def turn(self, of, parts, steps=()):
        """The part that was not run for longest."""
        unit = self.ledger.oldest([f"{of}: {part}" for part in parts])[0]
        part = unit.removeprefix(f"{of}: ")
        self.parts.append((unit, "", steps or [f"{of}-{part}"]))
        return part

    def is_changed(self, of, paths, steps):
        """Whether what it depends on most is another content than when all of it passed."""
        unit, content = f"{of}: all", memory.content(paths)
        is_changed = self.is_full or self.ledger.units.get(unit, {}).get("content") != content
        if is_changed:
            self.parts.append((unit, content, steps))
        return is_changed

    def third_of(self, name, paths, step):
        """Which, as text; empty where all has to run."""
        if self.is_changed(name, paths, [step]):
            return ""
        return self.turn(name, [f"third {each}" for each in range(TURNS)], [step])[-1]

    def concerns(self, what):
        """Whether the commits since all passed here touch it; where none did, they may."""
        return not self.ledger.green or subprocess.run(
            ["test/harness/touches", what, self.ledger.green], cwd=ROOT, check=False,
            stdout=subprocess.DEVNULL).returncode != 1

    # --- what is made, and its tests ---

    def made(self):
        yield Step("build", "build", ["./bootstrap", "build"])
        yield Step("made", "random programs, compiled",
                   ["make", "-C", "build", "-j2", "simulation", "job_simulation"],
                   needs=("build",))
        yield Step("mpich", "MPICH 4.0.2 with FCI as its device", [".ci/mpich", self.mpich],
                   cores=1, needs=("build",))
        yield Step("wheels", "Open MPI 5, MPICH 5, Intel MPI from wheels",
                   ["test/programs/mpis", "install"], cores=0, needs=("build",))
        yield Step("wheel", "the wheel, in empty environments", ["test/tools/wheel"], cores=1,
                   needs=("build",))
        yield Step("asan-made", "random programs, sanitized",
                   [".ci/sanitized", "asan", "simulation", "job_simulation"], cores=1,
                   needs=("build",))
        yield Step("asan-tests", "tests, sanitized, compiled",
                   [".ci/sanitized", "asan", "sanitized-programs"], cores=1,
                   needs=("asan-made",))

    def checked(self):
        check = Step("check", "./bootstrap check", ["./bootstrap", "check"], cores=1,
                     needs=("made",), leads=True)
        yield check
        if self.is_recalled(check):
            for transport in ("fci-openmpi", "fci"):
                yield Step(f"chance-{transport}", f"time and chance, {transport}",
                           ["test/programs/run", "--transport", transport, *BY_CHANCE],
                           cores=1, needs=("build",), has_chance=True)
        yield Step("mpich-headers", "the netmod against MPICH's headers, 4.0",
                   ["test/mpich/mpich-headers", "fetch", "4.0", "--fci", "build/prefix",
                    "--prefix", self.mpich], cores=1, needs=("mpich",))
        yield Step("asan", "address and undefined-behaviour sanitizers",
                   [".ci/sanitized", "asan", "check-sanitized"], cores=1, needs=("asan-tests",))

    def sometimes(self):
        if self.is_full or self.concerns("threads") or self.is_due("tsan"):
            self.parts.append(("tsan", "", ["tsan"]))
            yield Step("tsan", "thread sanitizer", [".ci/sanitized", "tsan", "check-threads"],
                       cores=1, needs=("build",))
        whole = self.is_full or self.concerns("build")
        yield Step("tarball", "make distcheck" if whole else "list of the tarball",
                   ["make", "-C", "build", "check-tarball" if whole else "check-tarball-list"],
                   cores=1, needs=("check",))

    def seen(self):
        """What the tests see: of the lines that changed since all passed here, and of rules."""
        yield Step("mutants", "ten wrong lines among the changed ones",
                   ["test/mutants/run", "--since", self.ledger.green or "HEAD~1", "--count", 10,
                    "--seed", self.seed, "--least", 60, "--jobs", 1], cores=1, needs=("made",),
                   has_chance=True)
        of_rules = ["fci_core/group", "drivers/tcp", "drivers/multicast", "test/simulation"]
        if self.is_changed("decided", of_rules, ["decided"]) or self.is_due("decided"):
            self.parts.append(("decided", "", ["decided"]))
            yield Step("decided", f"rules that 2000 seeds from {self.seed} decide",
                       ["test/simulation/decided", "--seeds", SEEDS, "--from", self.seed,
                        "--jobs", 1], cores=1, needs=("made",))

    def is_due(self, unit):
        since = self.ledger.runs_since(unit)
        return since is None or since >= TURNS

    # --- random programs, and what comes over the wire ---

    def seeds(self):
        """Some of them sanitized, most as everybody has it."""
        times = 10 if self.is_full else 1
        for name, program, title, *options in (
                ("seeds", "simulation", "simulation"),
                ("seeds-jobs", "job_simulation", "whole jobs"),
                ("seeds-streams", "simulation", "over streams", "--streams"),
                ("seeds-mixed", "simulation", "half over shared memory", "--mixed")):
            yield self.seeded("build", name, program, title, SEEDS * times, *options)
        for name, program, title, count, *options in (
                ("seeds-asan", "simulation", "simulation, sanitized", 200),
                ("seeds-jobs-asan", "job_simulation", "whole jobs, sanitized", 200),
                ("seeds-streams-asan", "simulation", "over streams, sanitized", 200,
                 "--streams"),
                ("seeds-shared-asan", "simulation", "over shared memory, sanitized", 100,
                 "--shared")):
            yield self.seeded("build-asan", name, program, title, count * times, *options)
        if shutil.which("clang++"):
            targets = ("frames", "door", "datagrams", "notes", "ucx")
            of_wire = ["drivers/tcp", "drivers/multicast", "drivers/ucx", "drivers/host",
                       "fci_core/group", "test/fuzz", "test/unit/drivers/ucx_in_memory.cc",
                       "test/unit/drivers/ucx_in_memory_data.cc"]
            if not self.is_changed("fuzz", of_wire, ["fuzz"]):
                targets = (self.turn("fuzz", targets, ["fuzz"]),)
            yield Step("fuzz", "what comes over the wire, fuzzed", ["test/fuzz/run", *targets],
                       cores=1, needs=("build",), has_chance=True)

    def seeded(self, build, name, program, title, count, *options):
        return Step(name, f"{title}, {count} seeds from {self.seed}",
                    [f"{build}/{program}", *options, "--seeds", count, "--from", self.seed],
                    cores=1, needs=("made" if build == "build" else "asan-made",), has_chance=True)

    # --- whole programs ---

    def over_wheels(self):
        names = ("openmpi5", "mpich5", "intel")
        if not self.is_changed("programs", ["netmod/libfabric"], [f"programs-{n}" for n in names]):
            names = (self.turn("programs", names),)
        for name in names:
            yield Step(f"programs-{name}", f"programs over {name}",
                       ["test/programs/run", "--transport", f"fci-{name}"], cores=1,
                       needs=("wheels",))

    def over_hosts(self):
        yield Step("hosts-8", "8 hosts, Open MPI's component",
                   ["test/programs/run", "--transport", "fci-openmpi", "--hosts", 8,
                    "hpcc/8-ranks", "hosts/wire"], cores=0, needs=("build",), has_chance=True)
        plugs = ("fci-openmpi", "fci", "fci-mpich")
        by = self.turn("hosts", plugs)
        for plug in plugs:
            cases = OF_THE_PLUG + (OF_THE_DRIVER if self.is_full or plug == by else [])
            cases += [] if plug == "fci-mpich" else ["windows/hosts"]
            yield Step(f"hosts-{plug}", f"2 hosts, {plug}",
                       ["test/programs/run", "--transport", plug, "--mpich", self.mpich,
                        "--hosts", 2, *cases], cores=0,
                       needs=("mpich",) if plug == "fci-mpich" else ("build",), has_chance=True)

    def over_mpis(self):
        yield self.listed("openmpi-tests", "MPICH's tests over Open MPI's component",
                          ["--prefix", "openmpi", *QUICK_OVER_OPEN_MPI], "netmod/openmpi")
        yield Step("mpich-programs", "Debian's MPICH programs",
                   ["test/programs/run", "--transport", "fci-mpich", "--mpich", self.mpich,
                    *OVER_MPICH], cores=1, needs=("mpich",), has_chance=True)
        yield self.listed("mpich-tests", "MPICH's own tests", ["--prefix", self.mpich, "--quick"],
                          "netmod/ch4", "mpich-patches")
        yield self.listed("mpich-tests-hosts", "MPICH's own tests, 2 hosts",
                          ["--prefix", self.mpich, *QUICK_OVER_HOSTS], "netmod/ch4",
                          "mpich-patches", "test/programs/lab.py", cores=0,
                          needs=("mpich-tests",))

    def listed(self, name, title, words, *plug, cores=1, needs=("mpich",)):
        """Tests of one of MPICH's lists: all of them where the plug or the lists have changed since
        all passed, else a third."""
        third = self.third_of(name, [*plug, "test/mpich"], name)
        part = ["--third", third] if third else []
        return Step(name, title + (f", third {third}" if third else ""),
                    ["test/harness/remember", "-".join([name, *part[1:]]), "@core",
                     *plug, "test/mpich", "--", "test/mpich/run", *words, *part],
                    cores=cores, needs=needs)

    # --- alone: what looks at the clock does more where the machine is slow, and is counted, too ---

    def counts(self):
        for name, title, needs, *words in (
                ("instructions", "instructions of one short message", "build", "run", "build"),
                ("openmpi-instructions", "instructions of Open MPI's calls", "build", "calls",
                 "openmpi"),
                ("mpich-instructions", "instructions of MPICH's calls", "mpich", "calls", "mpich",
                 self.mpich)):
            yield Step(name, title, [f"test/instructions/{words[0]}", *words[1:]], needs=(needs,),
                       is_alone=True)

    def slices(self):
        seconds = [] if self.is_full else ["--seconds", 300]
        return Step("full", "of --full, those that waited longest",
                    ["python3", "-B", ".ci/pipeline/units.py", *seconds],
                    cores=2 if self.is_full else 0,
                    needs=("mpich", "wheels", "mpich-tests", "mpich-tests-hosts",
                           "openmpi-tests"), has_chance=True)
