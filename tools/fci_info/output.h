// SPDX-License-Identifier: BSD-3-Clause
// Output: what was found, for people and for programs.
#pragma once

#include <string>

#include "tools/fci_info/doctor.h"
#include "tools/fci_info/survey.h"

namespace fci::tools::info {

struct Chapters {
    bool drivers = false, network = false, limits = false, options = false, counters = false;
};

/// Blanks behind it, up to `width`.
std::string padded(const std::string& text, std::size_t width);

std::string survey_text(const Survey& survey, const Chapters& chapters);
/// Its last line says what mpirun uses.
std::string diagnosis_text(const Diagnosis& diagnosis);

/// `diagnosis` may be nullptr: nobody asked the doctor.
std::string json_text(const Survey& survey, const Diagnosis* diagnosis);

}  // namespace fci::tools::info
