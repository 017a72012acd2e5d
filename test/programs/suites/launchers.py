"""A job over the hosts of a lab by what clusters start jobs with, called as there: by hand, on the
first host."""

import os
import shutil

import lab
from harness import Case, skipped
from suites import hosts

PATH = os.environ.get("PATH", "") + ":/usr/sbin"


def over_ssh(settings):
    """By the launcher of the MPI, with the hosts in a file."""
    slots = "{} slots=2\n" if settings.mpi == "openmpi" else "{}:2\n"
    names = settings.directory("launchers") / f"hosts.{settings.mpi}"
    names.write_text("".join(slots.format(host) for host in settings.lab.status()))
    options = {"openmpi": ["--hostfile", names], "mpich": ["-launcher", "ssh", "-f", names]}

    def starting(ranks, program):
        command, env = settings.on_this_host(ranks, program, settings.transport,
                                             map(str, options[settings.mpi]), None)
        return settings.lab.on("n1", command), env
    return hosts.sends_over_wire(settings, starting)


def over_slurm(settings):
    """The interface for starting that Slurm has for the MPI, without a launcher of the MPI's own."""
    interface = {"openmpi": "pmix", "mpich": "pmi2"}[settings.mpi]
    chosen = {"fci": "openmpi-ofi", "fci-openmpi": "openmpi"}.get(settings.transport)
    setting = f'eval "$({settings.prefix}/bin/fci-env --mpi {chosen})" && ' if chosen else ""

    def starting(ranks, program):
        _, env = settings.on_this_host(ranks, program, settings.transport, (), None)
        command = ["sh", "-c", setting + 'exec "$@"', "sh", "srun", f"--mpi={interface}",
                   f"--nodes={settings.lab.hosts}", f"--ntasks={ranks}", *map(str, program)]
        return settings.lab.on("n1", command), env
    return hosts.sends_over_wire(settings, starting)


def within(settings, option, server, job):
    """In a lab of its own, with servers."""
    if os.geteuid() or not shutil.which(server, path=PATH):
        return skipped(f"needs root and {server}")
    with lab.instead(settings, settings.lab.hosts, options=[option]):
        return job(settings)


def cases(settings):
    if not settings.lab or not settings.over_our_build:
        return
    yield Case("ssh", lambda: within(settings, "--ssh", "sshd", over_ssh))
    yield Case("run-ssh", lambda: within(settings, "--ssh", "sshd", hosts.wire))
    yield Case("slurm", lambda: within(settings, "--slurm", "slurmctld", over_slurm))
