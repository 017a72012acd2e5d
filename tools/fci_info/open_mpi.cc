// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fci_info/open_mpi.h"

#include <sys/stat.h>

#include <cstdlib>

#include "tools/fci_info/doctor.h"

namespace fci::tools::info {

namespace {

constexpr const char* kFile = "mca_pml_fci.so";
constexpr const char* kDefaults = "SYS_DEFAULT:USER_DEFAULT";
/// The path's full name, which wins, and its older ones.
constexpr const char* kPathVariables[] = {"OMPI_MCA_opal_mca_base_component_path",
                                          "OMPI_MCA_mca_base_component_path",
                                          "OMPI_MCA_mca_component_path"};

/// The directory of the component for a release, in this installation, or nothing.
std::string directory_for(const std::string& release) {
    for (const std::string& place : own_places()) {
        const std::string directory = place + "/openmpi-" + release;
        if (!release.empty() && is_file(directory + "/" + kFile)) return directory;
    }
    return "";
}

/// The first directory of a path that does not exist; then Open MPI finds nothing by all of it.
std::string gap_in(const std::string& path) {
    for (const std::string& directory : split(path, ":")) {
        struct stat known {};
        const bool word = directory.ends_with("_DEFAULT");
        if (!word && stat(directory.c_str(), &known) != 0) return directory;
    }
    return "";
}

/// How it is asked for all of itself; with this path of components, or, where that is empty, its
/// own.
std::vector<std::string> question(const OpenMpi& mpi, const std::string& path) {
    std::vector<std::string> words = {"OMPI_MCA_mca_base_component_show_load_errors=1"};
    if (!path.empty()) words.push_back(std::string(kPathVariables[0]) + "=" + path);
    for (const char* word : {mpi.info.c_str(), "--all", "--parsable"}) words.push_back(word);
    return words;
}

/// The value of a parameter in Open MPI's output, and its origin.
Setting setting_in(const std::string& said, const std::string& name) {
    const std::string key = ":param:" + name + ":";
    std::string value = between(said, key + "value:", '\n');
    if (value.size() > 1 && value.front() == '"') value = value.substr(1, value.size() - 2);
    std::string where = between(said, key + "source:", '\n');
    if (where == "default" || where.empty()) return {value, ""};
    if (where == "environment") where = "the environment (OMPI_MCA_" + name + ")";
    if (where.starts_with("file (")) where = where.substr(6, where.size() - 7);
    return {value, where};
}

/// Open MPI says that the environment has it, not by which of its names.
Setting path_in(const std::string& said) {
    Setting path = setting_in(said, "mca_base_component_path");
    if (!path.where.starts_with("the environment")) return path;
    for (const char* name : kPathVariables) {
        if (std::getenv(name) != nullptr) {
            path.where = std::string("the environment (") + name + ")";
            break;
        }
    }
    return path;
}

/// The fate of FCI's component in Open MPI's output.
std::string error_in(const std::string& said, const OpenMpi& mpi, const std::string& path) {
    if (!mpi.starts) {
        const std::string gap = gap_in(path);
        return (gap.empty() ? "" : gap + " does not exist, so that ") + "by '" + path +
               "' not even mpirun finds its parts, and starts nothing";
    }
    const std::string built_for = setting_in(said, "pml_fci_open_mpi").value;
    if (!built_for.empty()) {
        if (release_of(built_for) == release_of(mpi.version)) return "";
        return "the one that '" + path + "' leads to is for Open MPI " + built_for;
    }
    for (const std::string& line : split(said, "\n")) {
        const std::string error =
            between(line + "\n", "mca_base_component_repository_open: ", '\n');
        if (error.find("mca_pml_fci") != std::string::npos) return error;
    }
    return "it finds none by '" + path + "', or was built with --disable-dlopen";
}

/// Where it cannot be asked, the environment alone.
Setting variable(const char* name) {
    const std::string value = environment(name);
    return {value, value.empty() ? "" : std::string("the environment (") + name + ")"};
}

}  // namespace

Inquiry::Inquiry(const Launcher& launcher) {
    mpi_.info = find_beside(launcher, "ompi_info");
    if (mpi_.info.empty()) return;
    mpi_.version = between(said_by({mpi_.info, "--version"}) + "\n", "Open MPI v", '\n');
    if (!mpi_.version.empty()) asked_.emplace(question(mpi_, ""));
}

OpenMpi Inquiry::answer() {
    OpenMpi mpi = mpi_;
    std::string said = asked_ ? asked_->answer() : "";
    if (said.find(":param:pml:value:") == std::string::npos) {
        mpi.version.clear();
        mpi.pml = variable("OMPI_MCA_pml");
        mpi.mtl = variable("OMPI_MCA_mtl");
        mpi.loads = false;
        return mpi;
    }
    mpi.starts = said.find("mca:pml:ob1:version:") != std::string::npos;
    mpi.path = path_in(said);
    mpi.error = error_in(said, mpi, mpi.path.where.empty() ? kDefaults : mpi.path.value);
    if (!mpi.starts) said = said_by(question(mpi, kDefaults));
    mpi.pml = setting_in(said, "pml");
    mpi.mtl = setting_in(said, "mtl");
    mpi.osc = setting_in(said, "osc");
    mpi.providers = setting_in(said, "mtl_ofi_provider_include").value;
    mpi.libfabric = said.find("mca:mtl:ofi:version:") != std::string::npos;
    mpi.loads = said.find("option:dlopen:no") == std::string::npos;
    mpi.own = directory_for(release_of(mpi.version));
    return mpi;
}

std::string load_error(const OpenMpi& mpi, const std::string& path) {
    return error_in(said_by(question(mpi, path)), mpi, path);
}

std::string path_to_own(const OpenMpi& mpi) {
    return mpi.own + ":" + (mpi.path.where.empty() || !mpi.starts ? kDefaults : mpi.path.value);
}

bool list_allows(const std::string& list, const std::string& name) {
    const bool excludes = list.empty() || list.front() == '^';
    for (const std::string& item : split(list.substr(list.empty() || !excludes ? 0 : 1), ",")) {
        if (item == name) return !excludes;
    }
    return excludes;
}

bool list_names(const std::string& list, const std::string& name) {
    return !list.empty() && list.front() != '^' && list_allows(list, name);
}

}  // namespace fci::tools::info
