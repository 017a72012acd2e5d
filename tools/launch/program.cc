// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/program.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tools/launch/binary.h"
#include "tools/launch/refusal.h"
#include "tools/launch/surroundings.h"

namespace fci::tools {

namespace {

constexpr std::chrono::seconds kPythonPatience{120};  // an interpreter may come from a slow disk
constexpr const char* kQuestion = R"(
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
import re
for line in open("/proc/self/maps"):
    if re.search(r"/libmpi(ch|_abi)?\.so[.\d]*$", line.rstrip()):
        print("library " + line.split(None, 5)[5].rstrip())
        break
)";

bool is_mpi_library(const std::string& name) {
    for (const char* known : {"libmpi.so", "libmpich.so", "libmpi_abi.so"}) {
        if (name == known || name.starts_with(std::string(known) + ".")) return true;
    }
    return false;
}

bool is_python(const std::string& path) {
    const std::string name = base_name(path);
    if (!name.starts_with("python")) return false;
    return name.find_first_not_of("0123456789.", 6) == std::string::npos;
}

/// The interpreter of a Python program, or nothing.
std::string python_of(const std::string& file) {
    if (is_python(file)) return file;
    const Binary script(file);
    const std::string line(script.bytes().substr(0, script.bytes().substr(0, 256).find('\n')));
    if (!line.starts_with("#!") || line.find("python") == std::string::npos) return "";
    const std::vector<std::string> words = split(line.substr(2), " \t\r");
    const bool by_env = words.size() > 1 && words[0].ends_with("/env");
    return words.empty() ? "" : file_of(by_env ? words[1] : words[0]);
}

std::string library_of_python(const std::string& python, const std::string& program) {
    const std::string said = said_by({python, "-c", kQuestion}, kPythonPatience);
    const std::string library = between(said + "\n", "library ", '\n');
    const std::vector<std::string> lines = split(said, "\n");
    if (library.empty() && !lines.empty()) {
        throw Refusal{
            python + " cannot load mpi4py, so which MPI " + program + " uses is not known",
            lines.back(),
            "install mpi4py into that Python, or name the MPI: fci-run --mpi NAME ..."};
    }
    return library;
}

}  // namespace

Program look_at(const std::string& name) {
    Program program{name, file_of(name), "", ""};
    if (!is_file(program.file)) return program;
    if (const std::string python = python_of(program.file); !python.empty()) {
        program.library = library_of_python(python, name);
        return program;
    }
    for (const Needed& one : libraries_of(program.file)) {
        if (!is_mpi_library(one.name)) continue;
        (one.path.empty() ? program.lacking : program.library) =
            one.path.empty() ? one.name : one.path;
        break;
    }
    return program;
}

bool find_lacking(Program* program, const std::string& launcher) {
    const auto above = [](const std::string& file) { return directory_of(file) + "/.."; };
    for (const std::string& place : {above(program->file), launcher.empty() ? "" : above(launcher),
                                     environment("I_MPI_ROOT"), environment("VIRTUAL_ENV")}) {
        const std::string folder = place + "/lib";
        if (place.empty() || !is_file(folder + "/" + program->lacking)) continue;
        put_in_front("LD_LIBRARY_PATH", folder);
        program->library = folder + "/" + program->lacking;
        program->lacking.clear();
        return true;
    }
    return false;
}

void insist_on_program(const std::string& name) {
    const std::string is = "'" + name + "' is ";
    const std::string how = "name it as the shell would start it: fci-run -n 2 ./program";
    const std::string file = file_of(name);
    struct stat known {};
    if (file.empty() || stat(file.c_str(), &known) != 0) {
        throw Refusal{"there is no program '" + name + "'", "it is neither a path nor in PATH",
                      how};
    }
    if (S_ISDIR(known.st_mode)) {
        throw Refusal{is + "a directory", "a program is wanted", how};
    }
    if (access(file.c_str(), X_OK) == 0) return;
    throw Refusal{is + "not executable", "it is a text, or nobody may run it",
                  name.ends_with(".py")
                      ? "fci-run -n 2 python3 " + name
                      : "compile it with the MPI's mpicc, or allow it: chmod +x " + name};
}

}  // namespace fci::tools
