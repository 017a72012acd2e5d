// SPDX-License-Identifier: BSD-3-Clause
// Log: the few lines that FCI ever prints, all to standard error, each as one write.
#pragma once

#include <string>

namespace fci::log {

/// Prints "fci: <text>" when `asked`. Lines of several processes do not mix.
void line(bool asked, const std::string& text);

/// The same, but a text that this process has printed is not printed again.
void hint_once(bool asked, const std::string& text);

}  // namespace fci::log
