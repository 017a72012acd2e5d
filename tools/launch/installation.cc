// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/installation.h"

#include "fci_core/api/icl.h"
#include "tools/launch/surroundings.h"

namespace fci::tools {

namespace {

bool has_plugs(const std::string& folder) {
    return is_file(folder + "/libfci-fi.so") ||
           !paths_like(folder + "/openmpi-*/mca_pml_fci.so").empty();
}

}  // namespace

Installation Installation::find() {
    Installation found;
    found.bin_ = own_directory();
    const std::string above = directory_of(found.bin_);
    for (const char* pattern : {"/lib/fci", "/lib/*/fci", "/lib64/fci"}) {
        for (const std::string& folder : paths_like(above + pattern)) {
            if (found.plugs_.empty() && has_plugs(folder)) found.plugs_ = real_path(folder);
        }
    }
    if (!found.plugs_.empty()) return found;
    const bool is_in_place = found.bin_ == real_path(FCI_BIN_DIRECTORY);
    found.plugs_ = is_in_place ? FCI_PROVIDER_DIRECTORY : above + "/lib/fci";
    return found;
}

bool Installation::has_provider() const {
    return is_file(provider_file());
}

std::string Installation::component_for(const std::string& release) const {
    if (release.empty()) return "";
    const std::string own = FCI_COMPONENT_DIRECTORY;
    const bool is_of_own = !own.empty() && release == FCI_COMPONENT_RELEASE;
    for (const std::string& folder : {plugs_ + "/openmpi-" + release, is_of_own ? own : ""}) {
        // It goes between colons and blanks.
        const bool is_plain = folder.find_first_of(" \t:") == std::string::npos;
        if (is_plain && is_file(folder + "/mca_pml_fci.so")) return folder;
    }
    return "";
}

bool Installation::is_own_place(const std::string& component) {
    return component == FCI_COMPONENT_DIRECTORY;
}

std::string Installation::mpich_names() const {
    const std::string folder = plugs_ + "/mpich-names";
    return is_file(folder + "/libmpich.so.12") ? folder : "";
}

std::string Installation::own_mpich() const {
    const std::string root = directory_of(bin_) + "/mpich";
    return is_program(root + "/bin/mpiexec.hydra") ? root : "";
}

std::string Installation::shared(const std::string& name) const {
    return directory_of(bin_) + "/share/fci/" + name;
}

std::string Installation::version_text(const char* tool) const {
    const std::vector<std::string> commit = split(content_of(shared("commit")), " \n");
    return std::string(tool) + " " + fci_icl_library_version() + " (" +
           (commit.empty() ? "unknown" : commit.front()) + ")\n";
}

}  // namespace fci::tools
