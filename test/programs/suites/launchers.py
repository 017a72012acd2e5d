# SPDX-License-Identifier: BSD-3-Clause
"""A job over the hosts of a lab by what clusters start jobs with, called as there: by hand, on the
first host. With --full also whole programs, with four ranks in all."""

import concurrent.futures
import dataclasses
import os
import shutil

import lab
from harness import Case, failed, passed, skipped
from suites import hosts, imb, mpi4py, scalapack

PATH = os.environ.get("PATH", "") + ":/usr/sbin"
RANKS = 4  # of the programs


def slots(settings, ranks, form):
    """A line or word for each host, with its part of the ranks."""
    return [form.format(host, -(-ranks // settings.lab.hosts)) for host in settings.lab.status()]


def over_ssh(settings):
    """By the launcher of the MPI, with the hosts in a file."""
    form, *options = {"openmpi": ("{} slots={}\n", "--hostfile"),
                      "mpich": ("{}:{}\n", "-launcher", "ssh", "-f")}[settings.mpi]
    names = settings.directory("launchers") / f"hosts.{settings.mpi}"

    def starting(ranks, program):
        names.write_text("".join(slots(settings, ranks, form)))
        return settings.on_this_host(ranks, program, settings.transport, [*options, str(names)],
                                     None)
    return starting


def over_slurm(settings):
    """The interface for starting that Slurm has for the MPI, without a launcher of the MPI's own."""
    interface = {"openmpi": "pmix", "mpich": "pmi2"}[settings.mpi]
    chosen = {"fci": "openmpi-ofi", "fci-openmpi": "openmpi"}.get(settings.transport)
    setting = f'eval "$({settings.prefix}/bin/fci-env --mpi {chosen})" && ' if chosen else ""

    def starting(ranks, program):
        _, env = settings.on_this_host(ranks, program, settings.transport, (), None)
        command = ["sh", "-c", setting + 'exec "$@"', "sh", "srun", f"--mpi={interface}",
                   f"--nodes={settings.lab.hosts}", f"--ntasks={ranks}", *map(str, program)]
        return command, env
    return starting


def by_fci_run(settings):
    """It finds the MPI, its launcher and what that needs; Open MPI alone has to be told that what a
    rank spawns may be more than there are slots."""
    env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "OMPI_MCA_rmaps_base_oversubscribe": "1",
           "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    if settings.transport == "fci-mpich":
        env["LD_LIBRARY_PATH"] = str(settings.mpich() / "lib")
    words = fci_run(settings)

    def starting(ranks, program):
        listed = ",".join(slots(settings, ranks, "{}:{}"))
        return [str(word) for word in (*words, "--hosts", listed, "-n", ranks, *program)], env
    return starting


def fci_run(settings):
    return [settings.prefix / "bin/fci-run",
            *(["--mpi", "openmpi-ofi"] if settings.transport == "fci" else [])]


def by_fci_run_and_slurm(settings):
    """It tells srun by which interface it starts ranks of this MPI."""
    env = {"LD_LIBRARY_PATH": str(settings.mpich() / "lib")} \
        if settings.transport == "fci-mpich" else {}

    def starting(ranks, program):
        words = (*fci_run(settings), "srun", f"-N{settings.lab.hosts}", f"-n{ranks}", *program)
        return [str(word) for word in words], env
    return starting


# What a lab needs for each, and who makes the command.
LAUNCHERS = {"ssh": ("--ssh", "sshd", over_ssh), "slurm": ("--slurm", "slurmctld", over_slurm),
             "slurm-run": ("--slurm", "slurmctld", by_fci_run_and_slurm),
             "fci-run": ("--ssh", "sshd", by_fci_run), "run-ssh": ("--ssh", "sshd", None)}


def within(settings, launcher, job):
    """In a lab of its own, with servers."""
    option, server, make = LAUNCHERS[launcher]
    if os.geteuid() or not shutil.which(server, path=PATH):
        return skipped(f"needs root and {server}")
    with lab.instead(settings, settings.lab.hosts, options=[option]) as own:
        if not make:
            return job(settings)
        on_this_host = make(settings)

        def starting(ranks, program):
            command, env = on_this_host(ranks, program)
            return own.on("n1", command), env
        return job(dataclasses.replace(settings, starting=starting, full=False))


def each_of(names, job, at_once):
    """One verdict of many."""
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        verdicts = dict(zip(names, pool.map(job, names)))
    bad = [f"{name}: {verdict.detail}" for name, verdict in verdicts.items()
           if verdict.status == "fail"]
    known = sum(verdict.status == "known" for verdict in verdicts.values())
    if bad:
        return failed(f"{len(bad)} of {len(verdicts)}: {'; '.join(bad)}")
    return passed(f"{len(verdicts)} programs, of which {known} fail as over the stock transport")


# Open MPI says of Slurm's PMIx that MPI_Comm_accept is not supported there, and Slurm's pmi2
# publishes no names. Under Hydra, MPICH 4.0 leaves out a barrier (optional_bcast_barrier) where it
# spawns as many ranks as the number of their last host, though they are on that host alone: one of
# them asks for a name that another one has not yet put there.
NOT_BY = {("slurm", "openmpi"): ("test_dynproc",),
          ("slurm", "mpich"): ("test_dynproc.TestDPM.testNamePublishing",),
          ("ssh", "mpich"): ("test_spawn",), ("fci-run", "mpich"): ("test_spawn",)}


def all_of_mpi4py(settings, launcher):
    more = NOT_BY.get((launcher, settings.mpi), ())
    return mpi4py.one(settings, RANKS, (*mpi4py.left_out(settings), *more))


def part_of_scalapack(part):
    """Every fourth, so that a case takes a minute or two."""
    return lambda settings, _: each_of(scalapack.programs(settings.mpi)[part::PARTS],
                                       lambda program: scalapack.one(settings, program), 2)


def all_of_imb(settings, _):
    return each_of(imb.PROGRAMS, lambda name: imb.one(settings, name, RANKS), 1)


PARTS = 4
SCALAPACK = {f"scalapack-{part + 1}": part_of_scalapack(part) for part in range(PARTS)}
PROGRAMS = {"mpi4py": all_of_mpi4py, "imb": all_of_imb, **SCALAPACK}
# By which launchers what is run, where the suites have it for this MPI.
BUILT_HERE = (("ssh", "slurm", "fci-run"), ("mpi4py", *SCALAPACK))
FROM_WHEELS = {"openmpi5": (("fci-run",), ("mpi4py",)), "mpich5": (("fci-run",), ("mpi4py",)),
               "intel": (("fci-run",), ("imb",))}


def cases(settings):
    if not settings.lab or not settings.over_fci:
        return
    if settings.over_our_build:
        for launcher in ("ssh", "run-ssh", "slurm", "slurm-run"):
            yield Case(launcher, lambda launcher=launcher: within(settings, launcher, hosts.wire))
    launchers, programs = FROM_WHEELS.get(settings.mpi, BUILT_HERE)
    for launcher in launchers:
        for program in programs:
            def job(own, launcher=launcher, program=program):
                return PROGRAMS[program](own, launcher)
            yield Case(f"{launcher}-{program}",
                       lambda launcher=launcher, job=job: within(settings, launcher, job), ci=False)
