// SPDX-License-Identifier: BSD-3-Clause
// Parameters: the options of one context, one member for each line of parameters.def.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fci_core/base/port_range.h"

namespace fci {

struct Parameters {
    struct Type {
        using text = std::string;
        using file = std::string;
        using choice = std::string;
        using ports = PortRange;
        using bytes = std::uint64_t;
        using number = std::uint64_t;
    };
#define FCI_PARAMETER(name, type, fallback, env, help) Type::type name{};
#include "fci_core/base/parameters.def"
#undef FCI_PARAMETER

    /// Defaults, overridden by the environment. Each unusable value is left at its default and
    /// described in *complaints: what was given, where, what is allowed.
    static Parameters from_environment(std::vector<std::string>* complaints);
};

/// One option as users see it.
struct ParameterText {
    const char *name, *type, *fallback, *env, *help;
};
unsigned parameter_count() noexcept;
const ParameterText& parameter_text(unsigned i) noexcept;
/// The value that from_environment() gives, as text; *from_env tells whether it was set there.
std::string parameter_value(unsigned i, bool* from_env);

/// FCI_* variables of the environment that are no option, each with the nearest option's name.
/// Variables of other programs that share the prefix are listed in the source, and left alone.
std::vector<std::string> unknown_variables();

}  // namespace fci
