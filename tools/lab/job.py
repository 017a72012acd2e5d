# SPDX-License-Identifier: BSD-3-Clause
"""What a launcher has to know to spread a job over the hosts of a lab."""

import os

from lab import wire

SUBNET = "10.77.0.0/24"


def distribute(hosts, ranks, per_host):
    """[(host, ranks there)], in blocks as even as can be, or per_host each until none is left."""
    if per_host:
        counts = [min(per_host, max(0, ranks - i * per_host)) for i in range(len(hosts))]
    else:
        counts = [ranks // len(hosts) + (i < ranks % len(hosts)) for i in range(len(hosts))]
    return [(host, count) for host, count in zip(hosts, counts) if count]


def host_files(placed, round_robin):
    """path -> text: for Open MPI, for Hydra."""
    stem = f"{wire.SHARED}/hosts-{os.getpid()}-{os.urandom(4).hex()}"
    open_mpi = "".join(f"{host} slots={count}\n" for host, count in placed)
    hydra = "".join(f"{host}:{1 if round_robin else count}\n" for host, count in placed)
    return {f"{stem}.openmpi": open_mpi, f"{stem}.hydra": hydra}


def launchers(paths, round_robin, is_root, has_ssh):
    """Variables that the launchers read. Where hosts have ssh, that is what starts ranks. They are not
    bound: each host believes that all cores are its own, and would begin with the first."""
    open_mpi, hydra = paths
    mapping = "node" if round_robin else "slot"
    rsh = "ssh" if has_ssh else f"{wire.SHARED}/rsh"
    bootstrap = "ssh" if has_ssh else "rsh"
    found = {
        "OMPI_MCA_orte_default_hostfile": open_mpi, "PRTE_MCA_prte_default_hostfile": open_mpi,
        "OMPI_MCA_plm": "rsh", "OMPI_MCA_plm_rsh_agent": rsh,
        "PRTE_MCA_plm": "ssh", "PRTE_MCA_plm_ssh_agent": rsh,
        "OMPI_MCA_oob_tcp_if_include": SUBNET, "PRTE_MCA_prte_if_include": SUBNET,
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "PRTE_MCA_hwloc_default_binding_policy": "none",
        "OMPI_MCA_rmaps_base_mapping_policy": mapping,
        "PRTE_MCA_rmaps_default_mapping_policy": mapping,
        "HYDRA_HOST_FILE": hydra, "HYDRA_LAUNCHER": bootstrap, "HYDRA_LAUNCHER_EXEC": rsh,
        "I_MPI_HYDRA_HOST_FILE": hydra, "I_MPI_HYDRA_BOOTSTRAP": bootstrap,
        "I_MPI_HYDRA_BOOTSTRAP_EXEC": rsh}
    if is_root:
        for name in ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"):
            found.update({name: "1", f"{name}_CONFIRM": "1"})
    return found


def own_network(is_crowded):
    """Of each MPI without FCI: TCP between hosts. UCX would use shared memory, which hosts of a lab
    could share if they tried."""
    found = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader,tcp",
             "OMPI_MCA_btl_tcp_if_include": SUBNET, "UCX_TLS": "tcp,self",
             "UCX_NET_DEVICES": "eth0", "I_MPI_FABRICS": "shm:ofi", "I_MPI_OFI_PROVIDER": "tcp"}
    if is_crowded:
        found["OMPI_MCA_mpi_yield_when_idle"] = "1"
    return found


def environment(settings):
    """What the user has set stays, but for what says that FCI is to be used."""
    given = {name: value for name, value in os.environ.items()
             if not (name in settings and value == "fci")}
    return {**settings, **given}
