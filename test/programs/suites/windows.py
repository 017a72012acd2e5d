# SPDX-License-Identifier: BSD-3-Clause
"""Windows of Open MPI. Through the provider: osc/rdma over btl/ofi, which is remote memory and atomics
of libfabric. Beside the component, which has the messages: the same, by memory that all ranks map,
and by messages."""

import re

from harness import (HERE, Case, built, failed, open_mpi_release, passed, run, signal_named)
from suites import hosts

LIMIT = 120


def start(settings, ranks, transport, options=()):
    where = settings.directory("windows")
    binary = built(settings, HERE / "windows.c", where / "windows", mpi=True, against_fci=False)
    command, env = settings.mpirun(ranks, [binary], transport, ["-x", "FCI_STATS=on", *options])
    ran = run(command, cwd=where, env=env, timeout=LIMIT)
    if ran.code or ran.left or signal_named(ran.err) or "windows right" not in ran.out:
        return failed(f"{ran.ended()}: {ran.last_line()}"), []
    counters = re.findall(r"^fci: counters of .*", ran.err, re.M)
    return None, [int((re.search(r"\bsent_eager (\d+)", line) or [0, 0])[1]) for line in counters]


def provider(settings, ranks):
    wrong, carried = start(settings, ranks, "fci-windows")
    if not wrong and sum(count > 0 for count in carried) != ranks:
        return failed("Open MPI did not give its windows to the provider")
    return wrong or passed(f"{sum(carried)} requests and answers with data")


def beside_component(settings, ranks, options, contexts):
    wrong, carried = start(settings, ranks, settings.transport, options)
    if not wrong and len(carried) != contexts * ranks:
        return failed(f"{len(carried)} contexts of FCI, expected {contexts * ranks}")
    return wrong or passed(f"{sum(carried)} messages with data")


def between_hosts(settings):
    """As fci-run sets it up, where Debian's configuration file forbids it."""
    where = settings.directory("windows")
    binary = built(settings, HERE / "windows.c", where / "windows", mpi=True, against_fci=False)
    command, env = hosts.fci_run(settings)
    names = ",".join(f"n{number}:2" for number in range(1, settings.lab.hosts + 1))
    ran = run([*command, "--hosts", names, str(binary)], cwd=where, env=env, timeout=LIMIT)
    if ran.code or "windows right" not in ran.out:
        return failed(f"{ran.ended()}: {ran.last_line()}")
    return passed(f"{2 * settings.lab.hosts} ranks")


def cases(settings):
    if settings.lab:
        if open_mpi_release() == "4.1":
            yield Case("hosts", lambda: between_hosts(settings))
        return
    through = ["--mca", "osc", "rdma", "--mca", "osc_rdma_btls", "ofi", "--mca", "btl",
               "ofi,self,vader", "--mca", "btl_ofi_provider_include", "fci", "-x",
               "FI_PROVIDER=fci", "-x", f"FI_PROVIDER_PATH={settings.provider().parent}"]
    ways = {"memory": ([], 1), "provider": (through, 2)}
    if open_mpi_release() == "4.1":  # 5.0 has it no more; Debian's configuration file leaves it out
        ways["messages"] = (["--mca", "osc", "pt2pt"], 1)
    for ranks in (2, 4):
        if settings.transport == "fci":
            yield Case(f"{ranks}-ranks", lambda ranks=ranks: provider(settings, ranks))
            continue
        for name, way in ways.items():
            yield Case(f"{name}-{ranks}-ranks", lambda ranks=ranks, way=way:
                       beside_component(settings, ranks, *way))
