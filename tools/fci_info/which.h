// SPDX-License-Identifier: BSD-3-Clause
// Which: the MPI of a program, and what fci-run would do with it.
#pragma once

#include <string>
#include <vector>

#include "tools/launch/choice.h"
#include "tools/launch/settings.h"

namespace fci::tools::info {

struct Which {
    Choice choice;
    SettingList settings;
};

/// `words`: a program, or a launcher and what follows. Throws Refusal.
Which which(const std::vector<std::string>& words);
std::string which_text(const Which& which);
std::string which_json(const Which& which);

}  // namespace fci::tools::info
