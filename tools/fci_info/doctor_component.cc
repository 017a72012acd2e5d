// Open MPI's component of FCI: whether there is one for the Open MPI that is used here, and whether
// that loads it, which it is asked itself.
#include <sys/stat.h>

#include "tools/fci_info/doctor.h"

namespace fci::info {

namespace {

constexpr const char* kWhat = "Open MPI component";
constexpr const char* kFile = "mca_pml_fci.so";
constexpr const char* kPath = "OMPI_MCA_opal_mca_base_component_path";
constexpr const char* kDefaults = "SYS_DEFAULT:USER_DEFAULT";
constexpr const char* kRebuild =
    "Build FCI for this Open MPI (./configure --with-openmpi=MPICC), or let it use libfabric: "
    "fci-run --mpi openmpi-ofi.";

/// "4.1" of "4.1.4".
std::string release_of(const std::string& version) {
    return version.substr(0, version.find('.', version.find('.') + 1));
}

/// The directory of the component for a release, in this installation, or nothing.
std::string directory_for(const std::string& release) {
    for (const std::string& place : own_places()) {
        const std::string directory = place + "/openmpi-" + release;
        if (is_file(directory + "/" + kFile)) return directory;
    }
    return "";
}

/// The first directory of a path that does not exist; Open MPI reads no further.
std::string gap_in(const std::string& path) {
    for (const std::string& directory : split(path, ":")) {
        struct stat known {};
        const bool word = directory.ends_with("_DEFAULT");
        if (!word && stat(directory.c_str(), &known) != 0) return directory;
    }
    return "";
}

/// The Open MPI that PATH has.
struct OpenMpi {
    std::string info = find_program("ompi_info");
    std::string version = info.empty() ? "" : between(said_by({info, "--version"}) + "\n",
                                                      "Open MPI v", '\n');
    std::string name = "Open MPI " + version + " (" + info + ")";
    std::string own = directory_for(release_of(version));  // the component for it
};

/// Asks it to load the component that this path leads to. Empty: it does; else why not.
std::string load(const OpenMpi& mpi, const std::string& path) {
    const std::string said = said_by({"env", std::string(kPath) + "=" + path,
                                      "OMPI_MCA_mca_base_component_show_load_errors=1", mpi.info,
                                      "--parsable", "--param", "pml", "fci"});
    const std::string built_for = between(said, "mca:pml:fci:version:\"component:", '"');
    if (!built_for.empty()) {
        if (release_of(built_for) == release_of(mpi.version)) return "";
        return "the one that '" + path + "' leads to is for Open MPI " + built_for;
    }
    const std::string error = between(said, "mca_base_component_repository_open: ", '\n');
    if (!error.empty()) return error;
    const std::string gap = gap_in(path);
    if (!gap.empty()) {
        return gap + " does not exist, and Open MPI reads '" + path +
               "' no further, so that even mpirun lacks its parts";
    }
    return "it finds none by '" + path + "', or was built with --disable-dlopen";
}

}  // namespace

void examine_chosen_component(const std::string& path, Findings* findings) {
    const OpenMpi mpi;
    if (mpi.version.empty()) {
        add_problem(findings, kWhat, "chosen, but no ompi_info in PATH says whether it loads",
                    "Put the programs of the Open MPI that is used into PATH.");
        return;
    }
    const std::string error = load(mpi, path.empty() ? kDefaults : path);
    if (error.empty()) {
        add_ok(findings, kWhat, mpi.name + " loads it");
        return;
    }
    const bool elsewhere =
        !mpi.own.empty() && (":" + path + ":").find(":" + mpi.own + ":") == std::string::npos;
    add_problem(findings, kWhat, mpi.name + " does not load it: " + error,
                elsewhere ? kRemedy : kRebuild);
}

void examine_other_component(bool ask, Findings* findings) {
    const OpenMpi mpi;
    if (mpi.version.empty()) return;
    const std::string file = mpi.own + "/" + kFile;
    if (mpi.own.empty()) {
        add_ok(findings, kWhat, "none for " + mpi.name + ", which can use libfabric");
        return;
    }
    const std::string error = ask ? load(mpi, mpi.own + ":" + kDefaults) : "";
    if (!error.empty()) {
        add_problem(findings, kWhat, mpi.name + " does not load " + file + ": " + error, kRebuild);
    } else {
        add_ok(findings, kWhat, file + (ask ? ", which loads" : "") + ", not chosen");
    }
}

}  // namespace fci::info
