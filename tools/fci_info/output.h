// Output: what was found, for people and for programs.
#pragma once

#include <string>

#include "tools/fci_info/finding.h"
#include "tools/fci_info/survey.h"

namespace fci::info {

struct Chapters {
    bool drivers = false, limits = false, options = false, counters = false;
};

/// Blanks behind it, up to `width`.
std::string padded(const std::string& text, std::size_t width);

std::string survey_text(const Survey& survey, const Chapters& chapters);
std::string findings_text(const Findings& findings);

/// `findings` may be nullptr: nobody asked the doctor.
std::string json_text(const Survey& survey, const Findings* findings);

}  // namespace fci::info
