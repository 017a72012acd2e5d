// SPDX-License-Identifier: BSD-3-Clause
// Error texts: what went wrong, where, the likely cause, and what to do, always in that order.
#pragma once

#include <string>
#include <string_view>

namespace fci {

/// "Permission denied (EACCES)".
std::string errno_text(int number);

struct Diagnosis {
    std::string_view what;    // "cannot open the socket"
    std::string_view where;   // "127.0.0.1:40001"; may be empty
    std::string_view cause;   // "Permission denied (EACCES)"; may be empty
    std::string_view remedy;  // "Choose another port with ..."; may be empty
};
/// "fci: cannot open the socket (127.0.0.1:40001): Permission denied (EACCES). Choose ..."
std::string error_text(const Diagnosis& diagnosis);

}  // namespace fci
