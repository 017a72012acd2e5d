// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/log.h"

#include <unistd.h>

#include <mutex>
#include <set>

namespace fci::log {

namespace {

void print(const std::string& text) {
    const std::string whole = "fci: " + text + "\n";
    // A closed or full standard error must not disturb the program; there is no one left to tell.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, whole.data(), whole.size());
}

/// True the first time. Never destroyed, so that a late caller at exit finds it alive.
bool is_new(const std::string& text) {
    static std::mutex& guard = *new std::mutex;
    static std::set<std::string>& said = *new std::set<std::string>;
    const std::lock_guard lock(guard);
    return said.insert(text).second;
}

}  // namespace

void line(bool asked, const std::string& text) {
    if (asked) print(text);
}

void hint_once(bool asked, const std::string& text) {
    if (asked && is_new(text)) print(text);
}

}  // namespace fci::log
