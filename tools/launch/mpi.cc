// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/mpi.h"

#include <string_view>

#include "tools/launch/binary.h"
#include "tools/launch/surroundings.h"

namespace fci::tools {

namespace {

/// An MPICH names the modules of its device: "ch4:ofi", "ch4:ucx ofi", "ch4:ofi,ucx".
bool has_module_ofi(const Binary& library) {
    for (const char* device : {"ch4:ofi", "ch4:ucx ofi", "ch4:ucx,ofi", "ch4:fci ofi"}) {
        if (library.holds(device)) return true;
    }
    return false;
}

/// Where the loader finds a library whose name begins so, for this file; or nothing.
std::string library_of(const std::string& file, std::string_view begin) {
    for (const Needed& one : libraries_of(file)) {
        if (one.name.starts_with(begin)) return one.path;
    }
    return "";
}

/// "4.1" of "mpirun (Open MPI) 4.1.4".
std::string release_said_by(const std::string& launcher) {
    const std::string said = said_by({launcher, "--version"});
    for (const char* name : {"(Open MPI) ", "(OpenRTE) "}) {
        const std::string version = between(said + "\n", name, '\n');
        const std::size_t dot = version.find('.');
        const std::size_t end = version.find_first_not_of("0123456789", dot + 1);
        if (dot != std::string::npos) return version.substr(0, end);
    }
    return "";
}

/// A component lies below a library: in openmpi/, or, as Debian has it, in openmpi/lib/openmpi3/.
bool lies_below(const std::string& library, const std::string& component) {
    const std::string folder = directory_of(real_path(library));
    for (const char* below : {"/openmpi*/", "/openmpi/lib/openmpi*/"}) {
        if (!paths_like(folder + below + component).empty()) return true;
    }
    return false;
}

/// What the programs of an installation are linked to, where its libmpi is not known.
std::string core_library(const std::string& library, const std::string& launcher) {
    const std::string of = library.empty() ? directory_of(launcher) + "/ompi_info" : library;
    return library_of(of, "libopen-pal.");
}

}  // namespace

Mpi mpi_of(const std::string& library) {
    const Binary file(library);
    if (file.holds("ompi_mpi_init")) return Mpi::open_mpi;
    if (file.holds("Intel(R) MPI Library")) return Mpi::intel;
    if (!file.holds("ch4:") || file.holds("MVAPICH")) return Mpi::other;
    if (file.holds("ch4:fci")) return Mpi::fci;
    return has_module_ofi(file) ? Mpi::mpich : Mpi::ch4;
}

const char* word_of(Mpi mpi) {
    switch (mpi) {
        case Mpi::open_mpi:
            return "openmpi";
        case Mpi::intel:
            return "intel";
        default:
            return "mpich";
    }
}

const char* name_of(Mpi mpi) {
    switch (mpi) {
        case Mpi::open_mpi:
            return "Open MPI";
        case Mpi::intel:
            return "Intel MPI";
        default:
            return "MPICH";
    }
}

Mpi launcher_of(Mpi mpi) {
    return mpi == Mpi::open_mpi || mpi == Mpi::intel ? mpi : Mpi::mpich;
}

bool are_related(Mpi one, Mpi other) {
    return launcher_of(one) == launcher_of(other) ||
           (one != Mpi::open_mpi && other != Mpi::open_mpi);
}

std::string open_mpi_release(const std::string& library, const std::string& launcher) {
    const std::string core = core_library(library, launcher);
    if (!core.empty() && !Binary(core).holds_word("dlopen")) return "";
    const std::string version = library.empty() ? "" : Binary(library).version();
    if (version.empty()) return library.empty() ? release_said_by(launcher) : "";
    return version.substr(0, version.find('.', version.find('.') + 1));
}

bool has_libfabric(const std::string& library, const std::string& launcher) {
    const std::string core = core_library(library, launcher);
    if (core.empty()) return true;  // it is not to be seen
    const std::string folder = directory_of(real_path(core));
    for (const std::string& place : {library, folder + "/libmpi.so", folder + "/libmpi.so.40"}) {
        if (!place.empty() && Binary(place).holds("help-mtl-ofi.txt")) return true;  // built in
    }
    return lies_below(core, "mca_mtl_ofi.so");
}

}  // namespace fci::tools
