// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/options.h"

#include <cctype>

#include "fci_core/base/parse.h"

namespace fci::tools {

bool Options::has(std::initializer_list<const char*> names) {
    for (const char* name : names) {
        if (word() != name) continue;
        ++at_;
        return true;
    }
    return false;
}

std::optional<std::string> Options::value(std::initializer_list<const char*> names) {
    for (const std::string name : names) {
        if (word() == name) {
            ++at_;
            return is_over() ? "" : take();
        }
        if (!word().starts_with(name)) continue;
        const std::string behind = word().substr(name.size());
        const bool is_short = name.size() <= 3 && name[1] != '-';
        const bool is_number = std::isdigit(static_cast<unsigned char>(behind.front())) != 0;
        if (behind.front() != '=' && !(is_short && is_number)) continue;
        ++at_;
        return behind.substr(behind.front() == '=' ? 1 : 0);
    }
    return {};
}

std::string nearest(const std::string& given, const std::vector<std::string>& words) {
    std::string all;
    for (const std::string& word : words) all += (all.empty() ? "" : "|") + word;
    return std::string(nearest_word(given, all));
}

}  // namespace fci::tools
