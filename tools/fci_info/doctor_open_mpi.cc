// Whether Open MPI, as it is set up here, would use FCI's component or libfabric for its messages.
#include <unistd.h>

#include <fstream>

#include "tools/fci_info/doctor.h"

namespace fci::info {

namespace {

std::string trimmed(const std::string& text) {
    const char* const blanks = " \t\r";
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string::npos) return "";
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

struct Setting {
    std::string value, where;
    bool set = false;
};

void read_file(const std::string& path, const std::string& name, Setting* setting) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        line = line.substr(0, line.find('#'));
        const std::size_t equals = line.find('=');
        if (equals == std::string::npos || trimmed(line.substr(0, equals)) != name) continue;
        *setting = {trimmed(line.substr(equals + 1)), path, true};
    }
}

/// The last one that Open MPI reads wins: the system's file, the user's, the environment.
Setting setting_of(const std::string& name) {
    Setting setting;
    read_file("/etc/openmpi/openmpi-mca-params.conf", name, &setting);
    if (!environment("HOME").empty()) {
        read_file(environment("HOME") + "/.openmpi/mca-params.conf", name, &setting);
    }
    const std::string variable = "OMPI_MCA_" + name;
    if (!environment(variable.c_str()).empty()) {
        setting = {environment(variable.c_str()), "the environment (" + variable + ")", true};
    }
    return setting;
}

/// "a,b" or "^a,b".
bool list_allows(const std::string& list, const std::string& name) {
    const bool excludes = !list.empty() && list.front() == '^';
    for (const std::string& item : split(excludes ? list.substr(1) : list, ",")) {
        if (item == name) return !excludes;
    }
    return excludes;
}

/// In "a,b", not in "^a,b".
bool list_names(const std::string& list, const std::string& name) {
    return !list.empty() && list.front() != '^' && list_allows(list, name);
}

bool installed() {
    if (access("/etc/openmpi/openmpi-mca-params.conf", R_OK) == 0) return true;
    for (const std::string& directory : split(environment("PATH"), ":")) {
        if (access((directory + "/ompi_info").c_str(), X_OK) == 0) return true;
    }
    return false;
}

}  // namespace

bool open_mpi_is_native() { return list_names(setting_of("pml").value, "fci"); }

void examine_open_mpi(Findings* findings) {
    if (!installed()) {
        add_ok(findings, "Open MPI", "not installed here");
        return;
    }
    if (open_mpi_is_native()) {
        const Setting pml = setting_of("pml");
        add_ok(findings, "Open MPI", "pml = " + pml.value + " (" + pml.where + ")");
        Setting path = setting_of("opal_mca_base_component_path");
        if (!path.set) path = setting_of("mca_base_component_path");
        examine_chosen_component(path.value, findings);
        return;
    }
    examine_other_component(!list_names(setting_of("pml").value, "cm"), findings);
    const struct {
        const char *name, *part;
    } layers[] = {{"pml", "cm"}, {"mtl", "ofi"}};
    std::string fine;
    for (const auto& layer : layers) {
        const Setting setting = setting_of(layer.name);
        const std::string said = std::string(layer.name) + " = " + setting.value;
        if (setting.set && !list_allows(setting.value, layer.part)) {
            add_problem(findings, "Open MPI " + std::string(layer.name),
                        said + " in " + setting.where + " leaves out " + layer.part +
                            ", so no message goes through libfabric",
                        kRemedy);
        } else {
            fine += (fine.empty() ? "" : ", ") +
                    (setting.set ? said + " (" + setting.where + ")"
                                 : std::string(layer.name) + " not restricted");
        }
    }
    if (!fine.empty()) add_ok(findings, "Open MPI", fine);
}

}  // namespace fci::info
