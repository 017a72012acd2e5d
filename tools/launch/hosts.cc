// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/hosts.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "fci_core/base/parse.h"
#include "tools/launch/refusal.h"
#include "tools/launch/surroundings.h"

namespace fci::tools {

namespace {

constexpr unsigned kSlotsMost = 999'999;
constexpr const char* kListRemedy = "fci-run --hosts a,b:4 ./program";
constexpr const char* kFileRemedy = "a line for each host: NAME, NAME slots=4 or NAME:4";

bool is_name(const std::string& name) {
    const auto is_of_name = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
    };
    return !name.empty() && name.front() != '-' && name.front() != '.' &&
           std::all_of(name.begin(), name.end(), is_of_name);
}

std::string without_spaces_around_equals(std::string line) {
    for (std::size_t at = 0; (at = line.find('=', at)) != std::string::npos; ++at) {
        while (at > 0 && std::isspace(static_cast<unsigned char>(line[at - 1])) != 0) {
            line.erase(--at, 1);
        }
        while (at + 1 < line.size() &&
               std::isspace(static_cast<unsigned char>(line[at + 1])) != 0) {
            line.erase(at + 1, 1);
        }
    }
    return line;
}

}  // namespace

/// A host that is named twice gets the slots of both.
void Hosts::add(const std::string& where, const std::string& line, const std::string& remedy) {
    const auto refuse = [&](const std::string& cause) {
        throw Refusal{where + ": '" + line + "' is no host", cause, remedy};
    };
    const std::vector<std::string> words = split(without_spaces_around_equals(line), " \t");
    std::string name = words.front(), slots = "1";
    if (const std::size_t colon = name.find(':'); colon != std::string::npos) {
        slots = name.substr(colon + 1);
        name.erase(colon);
    }
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (words[i].starts_with("slots=")) {
            slots = words[i].substr(6);
        } else if (!words[i].starts_with("max_slots=") && !words[i].starts_with("max-slots=")) {
            refuse("it is not known what " + words[i] + " means");
        }
    }
    if (!is_name(name)) refuse(name.empty() ? "the name is empty" : name + " is no name of a host");
    if (slots.empty()) refuse("behind the name a number is missing");
    const auto number = parse_number(slots);
    if (!number || *number == 0 || *number > kSlotsMost) refuse(slots + " is no number of slots");
    const auto known = std::find_if(hosts_.begin(), hosts_.end(),
                                    [&](const Host& host) { return host.name == name; });
    if (known != hosts_.end()) {
        known->slots += static_cast<unsigned>(*number);
    } else {
        hosts_.push_back({name, static_cast<unsigned>(*number)});
    }
}

Hosts Hosts::in_list(const std::string& option, const std::string& list) {
    Hosts hosts;
    if (("," + list + ",").find(",,") != std::string::npos) {
        throw Refusal{option + " '" + list + "' leaves out a name", "names stand between commas",
                      kListRemedy};
    }
    for (const std::string& one : split(list, ",")) {
        if (split(one, " \t").empty()) {
            throw Refusal{option + ": '" + one + "' is no host", "the name is empty", kListRemedy};
        }
        hosts.add(option, one, kListRemedy);
    }
    return hosts;
}

Hosts Hosts::in_file(const std::string& option, const std::string& file) {
    struct stat known {};
    const bool is_readable = stat(file.c_str(), &known) == 0 && !S_ISDIR(known.st_mode) &&
                             access(file.c_str(), R_OK) == 0;
    if (!is_readable) {
        throw Refusal{"there is no host file '" + file + "'",
                      "it is no file that can be read from here", kFileRemedy};
    }
    Hosts hosts;
    for (std::string line : split(content_of(file), "\n")) {
        line = line.substr(0, line.find_first_of("#\r"));
        while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) {
            line.pop_back();
        }
        if (!line.empty()) hosts.add(option + " " + file, line, kFileRemedy);
    }
    if (hosts.empty()) {
        throw Refusal{option + " " + file + " names no host", "nothing but comments is there",
                      kFileRemedy};
    }
    return hosts;
}

unsigned Hosts::slots() const {
    unsigned sum = 0;
    for (const Host& host : hosts_) sum += host.slots;
    return sum;
}

unsigned Hosts::most_slots() const {
    unsigned most = 0;
    for (const Host& host : hosts_) most = std::max(most, host.slots);
    return most;
}

std::string Hosts::text() const {
    std::string text;
    for (const Host& host : hosts_) {
        text += (text.empty() ? "" : ",") + host.name + ":" + std::to_string(host.slots);
    }
    return text;
}

void Hosts::hand_over(Mpi mpi) const {
    std::string lines;
    for (const Host& host : hosts_) {
        lines += host.name + (mpi == Mpi::open_mpi ? " slots=" : ":") + std::to_string(host.slots) +
                 "\n";
    }
    const int file = memfd_create("hosts", 0);  // the launcher inherits it
    if (file < 0 || write(file, lines.data(), lines.size()) != static_cast<ssize_t>(lines.size())) {
        throw Refusal{"the hosts cannot be handed over", "no file can be made in memory",
                      "see that this user may have more memory and open files"};
    }
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    if (mpi != Mpi::open_mpi) {
        set_variable("HYDRA_HOST_FILE", path);
        set_variable("I_MPI_HYDRA_HOST_FILE", path);
        return;
    }
    // 4.1 reads the first; 5 the second, but its ranks see only the first.
    set_variable("OMPI_MCA_orte_default_hostfile", path);
    set_variable("PRTE_MCA_prte_default_hostfile", path);
    // 5 refuses to bind as many, where 4.1 leaves it.
    if (most_slots() > usable_cores() &&
        environment("PRTE_MCA_hwloc_default_binding_policy").empty()) {
        set_variable("PRTE_MCA_hwloc_default_binding_policy", "none");
    }
}

}  // namespace fci::tools
