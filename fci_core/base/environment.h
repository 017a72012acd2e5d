// SPDX-License-Identifier: BSD-3-Clause
// The environment, read in one place. Nothing here keeps or changes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fci {

/// nullptr when it is not set.
const char* environment_value(const char* name) noexcept;

/// Names of all variables that begin with `prefix`, sorted.
std::vector<std::string> environment_names(std::string_view prefix);

}  // namespace fci
