// SPDX-License-Identifier: BSD-3-Clause
// fci-env: what an MPI program needs around it to run over FCI.
#include <cstdio>
#include <string>
#include <vector>

#include "fci_core/api/icl.h"
#include "tools/launch/options.h"
#include "tools/launch/refusal.h"
#include "tools/launch/settings.h"
#include "tools/launch/surroundings.h"

namespace {

using namespace fci::tools;  // NOLINT: a main program of that room

constexpr const char* kUsage =
    R"text(usage: fci-env [--sh | --csh | --fish | --mca | --params | --module] [--mpi NAME]
               [FCI_NAME=VALUE ...]
       fci-env --provider | --version | --help

  --sh        lines for a shell, for all MPIs; the default: eval "$(fci-env)"
  --csh       the same for csh and tcsh: eval `fci-env --csh`
  --fish      the same for fish: fci-env --fish | source
  --mca       options for Open MPI's mpirun: mpirun $(fci-env --mca) -np 2 ./program
  --params    lines for Open MPI's file of parameters: fci-env --params >>~/.openmpi/mca-params.conf
  --module    a module file (Environment Modules, Lmod) for all users of a cluster
  --mpi NAME  only what one MPI needs: openmpi openmpi-ofi mpich intel
  --provider  the provider's directory
  FCI_NAME=VALUE
              an option of FCI that the program shall get (fci_info -c lists them)

Open MPI gets FCI's own component, if there is one for the release that PATH's mpirun is of, else
the libfabric provider. As openmpi-ofi it gets the provider; as openmpi-4.1, or another release, the
component for that one, or an error.
FI_PROVIDER_PATH keeps what it holds, or libfabric's own directory: the provider's is put in front.
So does the path of Open MPI's components, OMPI_MCA_opal_mca_base_component_path: what FCI adds
stands behind Open MPI's own, SYS_DEFAULT.
Where FCI_NET says where FCI listens, Open MPI's own layers are told the same, unless somebody
told them already. Where Debian's file leaves out Open MPI 4.1's windows between hosts, and nobody
said anything of osc, they are let in again.
fci-run does all of this by itself: fci-run -n 2 ./program
)text";

enum class Form { sh, csh, fish, mca, params, module, provider };

struct Call {
    Form form = Form::sh;
    std::string way;
    std::vector<std::string> assignments;
};

const struct {
    const char* word;
    Form form;
} kForms[] = {{"--sh", Form::sh},
              {"--csh", Form::csh},
              {"--fish", Form::fish},
              {"--mca", Form::mca},
              {"--params", Form::params},
              {"--module", Form::module},
              {"--provider", Form::provider}};

/// FI_PROVIDER and its path travel with -x; what Open MPI reads itself is an option.
std::string as_options(const SettingList& settings) {
    std::string line, handed;
    for (const Setting& one : settings) {
        const std::size_t mark = one.name.find("_MCA_");
        if (mark == std::string::npos) {
            handed += "-x " + one.name + "=" + one.value + " ";
        } else {
            line += "--mca " + one.name.substr(mark + 5) + " " + one.value + " ";
        }
    }
    return line + handed + "\n";
}

std::string as_lines(const SettingList& settings, const char* before, const char* between,
                     const char* after) {
    std::string lines;
    for (const Setting& one : settings) {
        lines += before + one.name + between + one.value + after;
    }
    return lines;
}

/// The same words as in a variable, without what marks it as one; and no file for FCI's options, as
/// mpirun hands their variables on by a parameter of its own.
std::string as_parameters(const SettingList& settings) {
    std::string lines = "# Open MPI over FCI (fci-env --params)\n", handed;
    for (const Setting& one : settings) {
        const std::size_t mark = one.name.find("_MCA_");
        if (mark == std::string::npos) {
            handed += (handed.empty() ? "" : ";") + one.name + "=" + one.value;
        } else if (one.name.starts_with("OMPI_")) {
            std::string name = one.name.substr(mark + 5);
            if (name.starts_with("opal_mca_base_")) name.erase(0, 5);  // as files call it
            lines += name + " = " + one.value + "\n";
        }
    }
    return lines + (handed.empty() ? "" : "mca_base_env_list = " + handed + "\n");
}

std::string as_module(const SettingList& settings, const Installation& here) {
    const std::string prefix = directory_of(here.programs());
    return std::string("#%Module1.0\n") + "module-whatis {FCI " + fci_icl_library_version() +
           ", a network layer for MPI}\n" + "conflict fci\n" + "prepend-path PATH {" +
           here.programs() + "}\nprepend-path MANPATH {" + prefix + "/share/man}\n" +
           as_lines(settings, "setenv ", " {", "}\n");
}

std::string text_for(const Call& call, const SettingList& assigned) {
    const Installation here = Installation::find();
    const Way way = Way::find(here, call.way);
    if (call.form == Form::provider) return here.plugs() + "\n";
    SettingList settings = environment_of(here, way);
    settings.insert(settings.end(), assigned.begin(), assigned.end());
    switch (call.form) {
        case Form::mca:
            return as_options(settings);
        case Form::csh:
            return as_lines(settings, "setenv ", " '", "';\n");
        case Form::fish:
            return as_lines(settings, "set -gx ", " '", "'\n");
        case Form::params:
            return as_parameters(settings);
        case Form::module:
            return as_module(settings, here);
        default:
            return as_lines(settings, "export ", "='", "'\n");
    }
}

[[noreturn]] void refuse(const std::string& what) {
    throw Refusal{what, "", ""};
}

void read_form(const std::string& word, Call* call) {
    std::vector<std::string> known = {"--mpi", "--help", "--version"};
    for (const auto& one : kForms) {
        if (word == one.word) {
            call->form = one.form;
            return;
        }
        known.emplace_back(one.word);
    }
    const std::string near = nearest(word, known);
    refuse("no option '" + word + "'; " +
           (near.empty() ? "see fci-env --help" : "did you mean " + near + "?"));
}

Call read(Options options) {
    Call call;
    while (!options.is_over() && options.is_option()) {
        if (options.has({"-h", "--help"})) {
            std::fputs(kUsage, stdout);
            std::exit(0);
        }
        if (options.has({"-V", "--version"})) {
            std::fputs(Installation::find().version_text("fci-env").c_str(), stdout);
            std::exit(0);
        }
        if (const auto way = options.value({"--mpi"})) {
            if (!is_way(*way)) refuse("--mpi '" + *way + "': there are " + kWays);
            call.way = *way;
        } else {
            read_form(options.take(), &call);
        }
    }
    call.assignments = options.rest();
    const bool is_for_open_mpi = call.form == Form::mca || call.form == Form::params;
    if (!is_for_open_mpi) return call;
    if (call.way.empty()) call.way = "openmpi";
    if (call.way.starts_with("openmpi")) return call;
    refuse(std::string(call.form == Form::mca ? "--mca" : "--params") +
           " is for Open MPI, not for " + call.way);
}

}  // namespace

int main(int argc, char** argv) try {
    const Call call = read(Options(argc, argv));
    const std::string text = text_for(call, apply_assignments(call.assignments, false));
    return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
} catch (const Refusal& refusal) {
    std::fputs(refusal.text("fci-env").c_str(), stderr);
    return refusal.code;
}
