// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace fci {

const char* environment_value(const char* name) noexcept { return std::getenv(name); }

std::vector<std::string> environment_names(std::string_view prefix) {
    std::vector<std::string> names;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view line(*entry);
        if (line.starts_with(prefix)) names.emplace_back(line.substr(0, line.find('=')));
    }
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace fci
