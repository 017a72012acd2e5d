// SPDX-License-Identifier: BSD-3-Clause
// Binary: what a program or a library says of itself: the libraries that the loader finds for it,
// and words that it holds. Nothing of it is run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fci::tools {

struct Needed {
    std::string name;  // "libmpi.so.40"
    std::string path;  // empty: the loader does not find it
};

/// All that the loader would load with this file, now and in this environment. None: it is
/// statically linked, or no program.
std::vector<Needed> libraries_of(const std::string& file);

/// A file's bytes, which are looked through as they are mapped. Of a program or a library only what
/// is no code.
class Binary {
public:
    explicit Binary(const std::string& file);
    ~Binary();
    Binary(const Binary&) = delete;
    Binary& operator=(const Binary&) = delete;

    [[nodiscard]] bool holds(std::string_view text) const;
    /// Between two bytes of zero.
    [[nodiscard]] bool holds_word(std::string_view word) const;
    /// The first word such as "4.1.4" or "5.0.0rc7"; or nothing.
    [[nodiscard]] std::string version() const;
    /// All of it, code as well.
    [[nodiscard]] std::string_view bytes() const { return bytes_; }

private:
    std::string_view bytes_{};
    std::vector<std::string_view> parts_;  // that are looked through
};

}  // namespace fci::tools
