// SPDX-License-Identifier: BSD-3-Clause
// Options: the words of a command line in front of a program, as launchers take them: -n2, -n 2,
// -np 2, --np=2. CLI11, which fci_info has, knows no -np, and no program behind its options.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace fci::tools {

class Options {
public:
    Options(int argc, char** argv) : words_(argv + (argc != 0 ? 1 : 0), argv + argc) {}
    explicit Options(std::vector<std::string> words) : words_(std::move(words)) {}

    [[nodiscard]] bool is_over() const { return at_ == words_.size(); }
    /// Nothing is to be read before is_over() was asked.
    [[nodiscard]] const std::string& word() const { return words_[at_]; }
    [[nodiscard]] bool is_option() const { return word().size() > 1 && word().front() == '-'; }
    std::string take() { return words_[at_++]; }
    [[nodiscard]] std::vector<std::string> rest() const {
        return {words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end()};
    }

    /// The next word is one of these; it is taken.
    bool has(std::initializer_list<const char*> names);
    /// The value of an option, if the next word is one of these: it stands in the word behind, or
    /// in the same word. Both are taken. Empty where the value is missing.
    std::optional<std::string> value(std::initializer_list<const char*> names);

private:
    std::vector<std::string> words_;
    std::size_t at_ = 0;
};

/// The one of `words` that was likely meant, or nothing.
std::string nearest(const std::string& given, const std::vector<std::string>& words);

}  // namespace fci::tools
