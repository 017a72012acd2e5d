// SPDX-License-Identifier: BSD-3-Clause
// Surroundings: what this process sees around itself: variables, files, what other programs say.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace fci::tools {

std::string environment(const char* name);  // empty when not set
bool is_file(const std::string& path);
bool is_program(const std::string& path);
/// The first one in PATH, or nothing.
std::string find_program(const std::string& name);
/// Where a shell would look for a program of this name; empty: it is not in PATH.
std::string file_of(const std::string& name);
std::string directory_of(const std::string& path);
/// Behind the last slash.
std::string base_name(const std::string& path);
/// Without links; the path as it is where it leads nowhere.
std::string real_path(const std::string& path);
/// Where this program lies, without links.
std::string own_directory();
/// As a shell would replace the pattern.
std::vector<std::string> paths_like(const std::string& pattern);
/// All of a file; empty where it cannot be read.
std::string content_of(const std::string& path);

/// Cores that this process may use.
unsigned usable_cores();

/// Sets a variable of this process and its children.
void set_variable(const std::string& name, const std::string& value);
/// Puts a directory in front of a path such as PATH, unless it has it.
void put_in_front(const char* name, const std::string& directory);

/// A program that was asked something; it is ended where it does not answer. Words in front of it
/// with an equals sign are variables for it, which this process does not have.
class Asked {
public:
    static constexpr std::chrono::seconds kPatience{4};
    explicit Asked(const std::vector<std::string>& words,
                   std::chrono::seconds patience = kPatience);
    ~Asked();
    Asked(const Asked&) = delete;
    Asked& operator=(const Asked&) = delete;
    /// All that it says, on both of its outputs; once.
    std::string answer();

private:
    std::chrono::steady_clock::time_point end_;
    int child_ = 0, from_ = -1;
};

std::string said_by(const std::vector<std::string>& words,
                    std::chrono::seconds patience = Asked::kPatience);

/// Parts between the separators; empty ones are left out.
std::vector<std::string> split(const std::string& text, const char* separators);
/// The text between two texts, or nothing.
std::string between(const std::string& text, const std::string& before, char after);

}  // namespace fci::tools
