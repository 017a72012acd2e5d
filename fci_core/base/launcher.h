// Launcher: which process of which job a process is, as its launcher tells in the environment.
#pragma once

#include <functional>
#include <string>

namespace fci {

/// A variable of the environment of some process; empty: not set.
using Variable = std::function<std::string(const char* name)>;
/// Of this process.
std::string own_variable(const char* name);

/// The name of its job; empty: no launcher told. Jobs that spawned each other have the same.
std::string job_name(const Variable& variable);

/// Its rank in that job; -1: no launcher told.
long rank_in_job(const Variable& variable);

}  // namespace fci
