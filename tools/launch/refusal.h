// SPDX-License-Identifier: BSD-3-Clause
// Refusal: why a tool does not go on, for people: what and where, likely cause, and what to do.
#pragma once

#include <string>

namespace fci::tools {

struct Refusal {
    std::string what, cause, remedy;  // the last two may be empty
    int code = 2;                     // the tool's exit code

    /// `tool` says it, as lines.
    [[nodiscard]] std::string text(const char* tool) const {
        std::string said = std::string(tool) + ": " + what + "\n";
        if (!cause.empty()) said += "  cause    " + cause + "\n";
        if (!remedy.empty()) said += "  remedy   " + remedy + "\n";
        return said;
    }
};

}  // namespace fci::tools
