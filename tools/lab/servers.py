# SPDX-License-Identifier: BSD-3-Clause
"""What serves on the hosts of a lab that root makes with an option. Each has PROGRAMS, which it
needs; write_shared, called once for a lab; serve, called on each host."""

from lab import programs, slurm, ssh

BY_NAME = {"ssh": ssh, "slurm": slurm}


def require(plan):
    for name in plan.servers:
        programs.require(plan, f"--{name}", BY_NAME[name].PROGRAMS)


def write_shared(plan):
    for name in plan.servers:
        BY_NAME[name].write_shared(plan)


def serve(plan, host):
    """All end with the process namespace of the host."""
    for name in plan.servers:
        BY_NAME[name].serve(plan, host)
