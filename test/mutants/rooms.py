# SPDX-License-Identifier: BSD-3-Clause
"""Which tests see the mutants of which files."""

from dataclasses import dataclass

SEEDS = "60"


@dataclass(frozen=True)
class Room:
    name: str
    folders: tuple
    units: tuple        # programs of googletest
    random: tuple = ()  # random programs, with their options
    left_out: tuple = ()  # files that these do not have
    modules: tuple = ()   # that these load


ROOMS = (
    Room("mp", ("fci_core/mp",), ("test_mp", "test_api"),
         (("simulation", "--seeds", SEEDS),)),
    Room("group", ("fci_core/group",), ("test_group", "test_api"),
         (("job_simulation", "--seeds", SEEDS),)),
    Room("network", ("drivers/tcp", "drivers/multicast"),
         ("test_drivers", "test_conformance", "test_api"),
         (("simulation", "--streams", "--seeds", SEEDS),)),
    Room("ucx", ("drivers/ucx",), ("test_drivers", "test_conformance"),
         left_out=("without.cc",)),
    Room("shm", ("drivers/shm",), ("test_drivers", "test_conformance", "test_api"),
         (("simulation", "--shared", "--seeds", "10"),)),
    Room("core", ("fci_core/base", "fci_core/gcs", "fci_core/ddi", "fci_core/progress",
                  "fci_core/api", "drivers/host", "drivers/node"),
         ("test_base", "test_ddi", "test_gcs", "test_progress", "test_mp", "test_api",
          "test_drivers"),
         (("simulation", "--seeds", SEEDS),)),
    Room("openmpi", ("netmod/openmpi",), ("test_openmpi",)),
    Room("ch4", ("netmod/ch4/fci",), ("test_ch4",),
         left_out=("fci_process_5.c", "fci_world_5.c")),
    Room("libfabric", ("netmod/libfabric",), ("test_provider",), modules=("libfci-fi.la",)),
)
