// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/open_mpi_files.h"

#include "tools/launch/binary.h"
#include "tools/launch/surroundings.h"

namespace fci::tools {

OpenMpiFiles::OpenMpiFiles(const std::string& library, const Launcher& launcher)
    : library_(library), version_(library.empty() ? launcher.version : Binary(library).version()) {
    const std::string linked =
        library.empty() ? directory_of(launcher.path) + "/ompi_info" : library;
    for (const Needed& one : libraries_of(linked)) {
        if (one.name.starts_with("libopen-pal.")) core_ = one.path;
    }
}

std::string OpenMpiFiles::release() const {
    const bool loads = core_.empty() || Binary(core_).holds_word("dlopen");
    return loads ? release_of(version_) : "";
}

bool OpenMpiFiles::has_libfabric() const {
    if (core_.empty()) return true;
    const std::string folder = directory_of(real_path(core_));
    for (const std::string& place : {library_, folder + "/libmpi.so", folder + "/libmpi.so.40"}) {
        if (!place.empty() && Binary(place).holds("help-mtl-ofi.txt")) return true;  // built in
    }
    // Components lie in openmpi/ beside it, or, as Debian has them, in openmpi/lib/openmpi3/.
    for (const char* below : {"/openmpi*/", "/openmpi/lib/openmpi*/"}) {
        if (!paths_like(folder + below + "mca_mtl_ofi.so").empty()) return true;
    }
    return false;
}

}  // namespace fci::tools
