// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ucx/ports.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace fci::ucx {

namespace {

/// The names in a folder; none where there is no such folder, or it may not be read: an iterator
/// that finds an error is at its end.
std::vector<std::string> names_in(const std::filesystem::path& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator each(folder, error), end; each != end;
         each.increment(error)) {
        names.push_back(each->path().filename());
    }
    std::ranges::sort(names);
    return names;
}

/// Of "4: ACTIVE", as the kernel writes it.
std::string word_of_state(const std::filesystem::path& file) {
    std::ifstream stream(file);
    std::string number, word;
    stream >> number >> word;
    return word;
}

/// Of those that are up, or of those that are not.
std::string names_of(const std::vector<Port>& ports, bool up) {
    std::string names;
    for (const Port& port : ports) {
        if (port.is_up() == up) names += (names.empty() ? "" : ", ") + port.name;
    }
    return names;
}

}  // namespace

std::vector<Port> ports(const std::string& folder) {
    std::vector<Port> found;
    for (const std::string& device : names_in(folder)) {
        const std::filesystem::path its = std::filesystem::path(folder) / device / "ports";
        for (const std::string& number : names_in(its)) {
            found.push_back({device + ":" + number, word_of_state(its / number / "state")});
        }
    }
    return found;
}

std::string rdma_text(const std::vector<Port>& ports) {
    const std::string up = names_of(ports, true), down = names_of(ports, false);
    if (!up.empty()) return "RDMA by " + up;
    const std::string goes_by = ": it goes by what else it has, where FCI_DRIVER=tcp is simpler";
    if (!down.empty()) return "no port of an RDMA device is up (" + down + ")" + goes_by;
    return "no RDMA device" + goes_by;
}

std::string unused_text(const std::vector<Port>& ports) {
    const std::string up = names_of(ports, true);
    return up.empty() ? up : "RDMA by " + up + " is up: FCI_FAR=ucx goes by it";
}

}  // namespace fci::ucx
