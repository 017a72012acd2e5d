// SPDX-License-Identifier: BSD-3-Clause
// Surroundings: what this process sees around itself: variables, files, what other programs say.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace fci::info {

std::string environment(const char* name);  // empty when not set
bool is_file(const std::string& path);
bool is_program(const std::string& path);
/// The first one in PATH, or nothing.
std::string find_program(const std::string& name);
std::string directory_of(const std::string& path);

/// A program that was asked something; it is ended four seconds after it was.
class Asked {
public:
    explicit Asked(const std::vector<std::string>& words);
    ~Asked();
    Asked(const Asked&) = delete;
    Asked& operator=(const Asked&) = delete;
    /// All that it says, on both of its outputs; once.
    std::string answer();

private:
    std::chrono::steady_clock::time_point end_;
    int child_ = 0, from_ = -1;
};

std::string said_by(const std::vector<std::string>& words);

/// Parts between the separators; empty ones are left out.
std::vector<std::string> split(const std::string& text, const char* separators);
/// What stands between two texts, or nothing.
std::string between(const std::string& text, const std::string& before, char after);

}  // namespace fci::info
