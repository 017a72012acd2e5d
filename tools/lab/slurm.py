# SPDX-License-Identifier: BSD-3-Clause
"""Slurm on the hosts of a lab: its controller on the first, its daemon and munge on each.

The /etc/slurm of a host is a directory of the lab, as is the key of munge; what the servers write
is in the host's /run. All of that is in memory and ends with the lab.
"""

import os
import subprocess

from lab import kernel, programs, wire

DIRECTORY = f"{wire.SHARED}/slurm"
PROGRAMS = {"slurmctld": "slurmctld", "slurmd": "slurmd", "munged": "munge",
            "srun": "slurm-client", "sinfo": "slurm-client"}
CPUS = 256

# A host takes as many ranks as are wanted, as with run, whatever cores there are: they are not
# bound. Steps are known by their process groups, as groups of the kernel (cgroups) are not the
# lab's.
CONFIGURATION = """ClusterName=lab
SlurmctldHost={first}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/linear
SlurmdParameters=config_overrides
ReturnToService=2
Prolog={directory}/prolog
StateSaveLocation=/run/slurm/state
SlurmdSpoolDir=/run/slurm/spool
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurm/slurmd.pid
SlurmctldLogFile=/run/slurm/slurmctld.log
SlurmdLogFile=/run/slurm/slurmd.log
NodeName=n[1-{count}] CPUs={cpus} State=UNKNOWN
PartitionName=lab Nodes=ALL Default=YES OverSubscribe=FORCE:64 MaxTime=INFINITE State=UP
"""
# Run by the daemon of a host before the first program of a job. A failure would close the host.
PROLOG = f"""#!/bin/sh
# What lay in the computer's /tmp when a job was started is there.
{wire.SHARED}/rsh "$(uname -n)" true </dev/null >/dev/null 2>&1
exit 0
"""


def write_shared(plan):
    os.mkdir(DIRECTORY, 0o755)
    with open(f"{DIRECTORY}/slurm.conf", "w") as file:
        file.write(CONFIGURATION.format(first=plan.hosts[0], count=plan.count, cpus=CPUS,
                                        directory=DIRECTORY))
    with open(f"{DIRECTORY}/prolog", "w") as file:
        file.write(PROLOG)
    os.chmod(f"{DIRECTORY}/prolog", 0o755)
    with open(f"{DIRECTORY}/munge.key", "wb") as file:
        os.chmod(file.fileno(), 0o600)
        file.write(os.urandom(128))


def serve(plan, host):
    """On a host, with its directories and addresses. That of the controller waits for all."""
    kernel.bind(DIRECTORY, "/etc/slurm")
    for directory in ("/run/munge", "/run/slurm", "/run/slurm/state", "/run/slurm/spool"):
        os.mkdir(directory, 0o755)
    log = "/run/munge/munged.log"
    programs.serve(["munged", "--force", f"--key-file={DIRECTORY}/munge.key", f"--log-file={log}",
                    "--pid-file=/run/munge/munged.pid", "--seed-file=/run/munge/munged.seed"],
                   log, lambda: os.path.exists("/run/munge/munge.socket.2"))
    servers = ["slurmctld", "slurmd"] if host == plan.hosts[0] else ["slurmd"]
    for server in servers:
        programs.serve([server], f"/run/slurm/{server}.log",
                       lambda: os.path.exists(f"/run/slurm/{server}.pid"))
    if len(servers) > 1:
        programs.wait_until(lambda: idle() == plan.count, "Slurm", "/run/slurm/slurmctld.log")


def idle():
    """How many hosts the controller has a sign of life of."""
    said = subprocess.run([programs.find("sinfo"), "-h", "-t", "idle", "-o", "%D"], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False).stdout
    return int(said) if said.strip().isdigit() else 0
