// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/mpirun.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "fci_core/base/launcher.h"
#include "tools/launch/binary.h"
#include "tools/launch/surroundings.h"

namespace fci::tools {

namespace {

constexpr int kAncestors = 64;  // more are none of a rank

bool holds(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

/// "4.1" or "4.1.4", the first in a text.
std::string version_in(const std::string& text) {
    for (const std::string& word : split(text, " \t\n,()")) {
        const bool digits = word.find_first_not_of("0123456789.abrc") == std::string::npos;
        if (digits && word.front() >= '0' && word.front() <= '9' && holds(word, ".")) return word;
    }
    return "";
}

/// Not even that says Open MPI's by a path of components that leads nowhere.
std::string version_text(const std::string& program) {
    return said_by(
        {"OMPI_MCA_opal_mca_base_component_path=SYS_DEFAULT:USER_DEFAULT", program, "--version"});
}

/// Which MPI a launcher is of, by what it says of itself.
void identify(Launcher* launcher) {
    std::string said = version_text(launcher->path);
    if (holds(said, "HYDRA")) {  // Intel's mpirun may be a script around it
        const std::string hydra = directory_of(launcher->path) + "/mpiexec.hydra";
        if (hydra != launcher->path && is_program(hydra)) said = version_text(hydra);
    }
    const std::string version = version_in(said);
    const struct {
        const char* word;
        Mpi mpi;
        bool has_its_version;
    } known[] = {{"Intel(R) MPI", Mpi::intel, true},
                 {"Open MPI", Mpi::open_mpi, true},
                 {"OpenRTE", Mpi::open_mpi, true},
                 {"PRRTE", Mpi::open_mpi, false},
                 {"HYDRA", Mpi::mpich, true}};
    launcher->mpi = Mpi::other;
    for (const auto& one : known) {
        if (!holds(said, one.word)) continue;
        launcher->mpi = one.mpi;
        if (one.has_its_version) launcher->version = version;
        launcher->title = name_of(one.mpi) + (one.has_its_version ? " " + version : "");
        return;
    }
}

std::string program_of(pid_t process) {
    char path[PATH_MAX];
    const std::string link = "/proc/" + std::to_string(process) + "/exe";
    const ssize_t length = readlink(link.c_str(), path, sizeof path);
    return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "";
}

pid_t parent_of(pid_t process) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("PPid:")) return std::atoi(line.c_str() + 5);
    }
    return 0;
}

/// The launcher, or its daemon, that started this process; or nothing.
std::string launcher_above() {
    pid_t process = getppid();
    for (int above = 0; above < kAncestors && process > 1; ++above) {
        const std::string path = program_of(process);
        const std::string name = base_name(path);
        for (const char* of_open_mpi : {"orterun", "orted", "prterun", "prte", "prted", "mpirun"}) {
            if (name != of_open_mpi) continue;
            const std::string mpirun = directory_of(path) + "/mpirun";
            return is_program(mpirun + ".openmpi") ? mpirun + ".openmpi"
                   : is_program(mpirun)            ? mpirun
                                                   : path;
        }
        if (name == "hydra_pmi_proxy" || name == "mpiexec.hydra") {
            return directory_of(path) + "/mpiexec.hydra";
        }
        process = parent_of(process);
    }
    return "";
}

/// Directories of programs beside a library: those of the folders above it.
std::vector<std::string> programs_beside(const std::string& library) {
    std::vector<std::string> places;
    std::string folder = library.empty() ? "" : directory_of(real_path(library));
    for (; folder.size() > 1; folder = directory_of(folder)) places.push_back(folder + "/bin");
    return places;
}

}  // namespace

Launcher launcher_at(const std::string& path) {
    Launcher launcher;
    launcher.path = path;
    identify(&launcher);
    return launcher;
}

bool is_launcher_name(const std::string& word) {
    const std::string name = base_name(word);
    for (const char* known : {"mpirun", "mpiexec", "prterun", "orterun"}) {
        if (name.starts_with(known)) return true;
    }
    return name == "srun";
}

bool is_slurm(const Launcher& launcher) {
    return base_name(launcher.path) == "srun";
}

Launcher launcher_for(Mpi mpi, const std::string& library) {
    const Mpi wanted = launcher_of(mpi);
    const std::vector<const char*> names =
        wanted == Mpi::open_mpi
            ? std::vector{"mpirun.openmpi", "mpirun", "mpiexec"}
            : std::vector{"mpiexec.hydra", "mpiexec.mpich", "mpiexec", "mpirun"};
    std::vector<std::string> places = programs_beside(library);
    for (const std::string& place : split(environment("PATH"), ":")) places.push_back(place);
    for (const std::string& place : places) {
        for (const char* name : names) {
            const std::string path = place + "/" + name;
            if (!is_program(path)) continue;
            Launcher found = launcher_at(path);
            if (found.mpi == wanted) return found;
        }
    }
    return {};
}

Launcher find_launcher() {
    Launcher launcher;
    launcher.in_job = rank_in_job(own_variable) >= 0;
    if (launcher.in_job) launcher.path = launcher_above();
    for (const char* name : {"mpirun", "mpiexec"}) {
        if (launcher.path.empty()) launcher.path = find_program(name);
    }
    if (!launcher.path.empty()) identify(&launcher);
    return launcher;
}

std::string find_beside(const Launcher& launcher, const std::string& name) {
    const std::string beside = directory_of(launcher.path) + "/" + name;
    if (!launcher.path.empty() && is_program(beside)) return beside;
    return find_program(name);
}

std::string libfabric_of(const Launcher& launcher) {
    constexpr const char* kName = "libfabric.so.1";
    const std::string lib = directory_of(real_path(launcher.path)) + "/../lib/";
    for (const char* name : {"libmpi.so.40", "libmpi.so.12"}) {
        for (const Needed& one : libraries_of(lib + name)) {
            if (one.name == kName && !one.path.empty()) return one.path;
        }
    }
    return kName;
}

std::string device_of(const Launcher& launcher) {
    const std::string tool = find_beside(launcher, "mpichversion");
    if (tool.empty()) return "";
    const std::string text = between(said_by({tool}) + "\n", "MPICH Device:", '\n');
    const std::size_t begin = text.find_first_not_of(" \t");
    return begin == std::string::npos ? "" : text.substr(begin);
}

}  // namespace fci::tools
