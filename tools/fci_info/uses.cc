// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fci_info/uses.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>

#include <algorithm>

#include "tools/launch/surroundings.h"

namespace fci::tools::info {

namespace {

/// The layer that gets the messages under these settings: FCI, or `other`, for the reason
/// `because`.
struct Choice {
    bool fci = false;
    std::string other, because;
};

/// A program of this installation, with its directory where it is known.
std::string own_program(const std::string& name) {
    char self[PATH_MAX];
    if (realpath("/proc/self/exe", self) == nullptr) return name;
    const std::string beside = directory_of(self) + "/" + name;
    return is_program(beside) ? beside : name;
}

/// libfabric offers fci alone; else it is behind all others.
bool libfabric_is_fci() {
    const auto names = split(environment("FI_PROVIDER"), ",;");
    return !names.empty() && std::all_of(names.begin(), names.end(),
                                         [](const std::string& name) { return name == "fci"; });
}

bool goes_through_libfabric(const OpenMpi& mpi) {
    return mpi.libfabric && list_allows(mpi.pml.value, "cm") && list_allows(mpi.mtl.value, "ofi");
}

bool takes_fci_of_libfabric(const OpenMpi& mpi) {
    return libfabric_is_fci() || list_names(mpi.providers, "fci");
}

/// Network cards for which Open MPI prefers others of its own to ob1.
bool has_fabric() {
    for (const char* kind : {"/sys/class/infiniband", "/sys/class/cxi"}) {
        DIR* const open = opendir(kind);
        if (open == nullptr) continue;
        bool any = false;
        while (const dirent* const entry = readdir(open)) any |= entry->d_name[0] != '.';
        closedir(open);
        if (any) return true;
    }
    return false;
}

/// Open MPI takes what is not named only where nothing is: then cm, if libfabric or a card is there
/// for it, goes before ob1; a component from outside, as FCI's, never does.
Choice choice_of_open_mpi(const OpenMpi& mpi) {
    const std::string pml = mpi.pml.value;
    if (list_names(pml, "fci")) return {true, "", ""};
    const bool told_of_libfabric = list_names(pml, "cm") || list_names(mpi.mtl.value, "ofi");
    if (goes_through_libfabric(mpi)) {
        if (takes_fci_of_libfabric(mpi)) return {true, "", ""};
        if (told_of_libfabric) {
            return {false, "libfabric, and FCI only where no other of its providers fits", ""};
        }
    }
    if (pml == "cm" && !has_fabric()) {
        return {false, "nothing, since cm is left without libfabric, and MPI_Init fails", ""};
    }
    if (!pml.empty() && pml.front() != '^') {
        return {false, "Open MPI's own " + pml + ", not FCI",
                "pml = " + pml + " in " + mpi.pml.where};
    }
    if (has_fabric()) return {false, "what Open MPI takes for the network cards here, not FCI", ""};
    return {false, "Open MPI's own ob1, not FCI", ""};
}

/// The network modules that an MPICH has, the first of which is its default.
std::vector<std::string> modules_of(const std::string& device) {
    return split(device.starts_with("ch4:") ? device.substr(4) : "", " ,\t");
}

bool has_module(const std::string& device, const char* name) {
    const auto modules = modules_of(device);
    return std::find(modules.begin(), modules.end(), name) != modules.end();
}

Choice choice_of_mpich(const std::string& device) {
    if (has_module(device, "fci")) return {true, "", ""};
    const auto modules = modules_of(device);
    std::string module = environment("MPIR_CVAR_CH4_NETMOD");
    if (module.empty() && !modules.empty()) module = modules.front();
    if (module != "ofi") {
        return {false,
                "its own shared memory and " + (module.empty() ? "network" : module) + ", not FCI",
                ""};
    }
    if (environment("MPIR_CVAR_NOLOCAL") != "1") {
        return {false, "its own shared memory within this host, not FCI", ""};
    }
    if (libfabric_is_fci()) return {true, "", ""};
    return {false, "libfabric, and FCI only where no other of its providers fits", ""};
}

Choice choice_of_intel() {
    if (environment("I_MPI_FABRICS") != "ofi") {
        return {false, "its own shared memory within this host, not FCI", ""};
    }
    if (environment("I_MPI_OFI_PROVIDER") == "fci" || libfabric_is_fci()) return {true, "", ""};
    return {false, "libfabric, and the provider that Intel MPI prefers, not FCI", ""};
}

std::string subject(const Launcher& launcher) {
    const std::string name = base_name(launcher.path);
    return (launcher.in_job ? "This job" : name) +
           (launcher.title.empty() ? "" : " (" + launcher.title + ")");
}

/// The command that makes it FCI.
std::string command(const Launcher& launcher) {
    const std::string settings = own_program("fci-env");
    if (launcher.in_job && launcher.mpi == Mpi::open_mpi) {
        return "mpirun $(" + settings + " --mca) ...";
    }
    return "eval \"$(" + settings + ")\"";
}

std::string how_carried(Plug plug) {
    switch (plug) {
        case Plug::component: return "by its component pml/fci";
        case Plug::provider: return "by the libfabric provider";
        case Plug::device: break;
    }
    return "which is its device";
}

/// Of an MPICH that can load no provider: FCI is in another one.
std::string own_mpich_text(const Launcher& launcher, const std::string& device) {
    const bool built = is_program(directory_of(own_program("fci-run")) + "/../mpich/bin/mpiexec");
    return subject(launcher) + " uses its own device " + device +
           ", which cannot load FCI; for FCI: " +
           (built ? "" : own_program("fci-mpich-build") + " once, then ") + own_program("fci-run") +
           " -n 2 ./program";
}

}  // namespace

const char* name_of(Plug plug) {
    switch (plug) {
        case Plug::component: return "component";
        case Plug::provider: return "provider";
        case Plug::device: break;
    }
    return "device";
}

Plug plug_of(const Launcher& launcher, const OpenMpi& mpi) {
    if (launcher.mpi == Mpi::mpich && has_module(device_of(launcher), "fci")) return Plug::device;
    if (launcher.mpi != Mpi::open_mpi && launcher.mpi != Mpi::none) return Plug::provider;
    if (list_names(mpi.pml.value, "fci")) return Plug::component;
    if (list_names(mpi.pml.value, "cm") || list_names(mpi.mtl.value, "ofi")) return Plug::provider;
    if (goes_through_libfabric(mpi) && takes_fci_of_libfabric(mpi)) return Plug::provider;
    return mpi.own.empty() || !mpi.loads ? Plug::provider : Plug::component;
}

Uses uses_of(const Launcher& launcher, const OpenMpi& mpi, Plug plug, Health health) {
    Uses uses{launcher, plug, false, ""};
    if (launcher.mpi == Mpi::none) {
        uses.text = "There is no mpirun in PATH; " + own_program("fci-run") +
                    " -n 2 ./program finds a program's MPI, and starts it over FCI";
        return uses;
    }
    if (launcher.mpi == Mpi::other) {
        uses.text = launcher.path + " is of no MPI that FCI knows; for FCI: Open MPI, MPICH or " +
                    "Intel MPI, whose programs " + own_program("fci-run") + " starts";
        return uses;
    }
    Choice choice;
    if (launcher.mpi == Mpi::mpich) {
        const std::string device = device_of(launcher);
        if (!device.empty() && !has_module(device, "ofi") && !has_module(device, "fci")) {
            uses.text = own_mpich_text(launcher, device);
            return uses;
        }
        choice = choice_of_mpich(device);
    } else {
        choice = launcher.mpi == Mpi::intel ? choice_of_intel() : choice_of_open_mpi(mpi);
    }
    const std::string remedy =
        (health == Health::broken ? "mend the PROBLEM above, then " : "") + command(launcher);
    uses.fci = choice.fci && health == Health::sound;
    if (!mpi.starts) {
        uses.text = subject(launcher) + " starts nothing; for FCI: " + remedy;
    } else if (uses.fci) {
        uses.text = subject(launcher) + " uses FCI, " + how_carried(plug) + ".";
    } else if (choice.fci) {
        uses.text = subject(launcher) + " is told to use FCI, " + how_carried(plug) +
                    ", but does not get it; for FCI: " + remedy;
    } else {
        uses.text = subject(launcher) + " uses " + choice.other +
                    (choice.because.empty() ? "" : " (" + choice.because + ")") +
                    "; for FCI: " + remedy;
    }
    return uses;
}

}  // namespace fci::tools::info
