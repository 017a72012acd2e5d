// SPDX-License-Identifier: BSD-3-Clause
// Launcher: which process of which job a process is, as its launcher tells in the environment.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fci {

/// Looks up a variable in the environment of some process; empty: not set.
using Lookup = std::function<std::string(const char* name)>;
/// In that of this process.
std::string own_variable(const char* name);

/// The variables that may name a job: the first that is set counts.
inline constexpr const char* kJobVariables[] = {"PMIX_NAMESPACE", "SLURM_JOB_ID", "PMI_JOBID"};
/// The name of its job; empty: no launcher told. Jobs that spawned each other have the same.
std::string job_name(const Lookup& variable);

/// Its rank in that job; -1: no launcher told.
int rank_in_job(const Lookup& variable);

/// Its number among the processes of that job on its host, from 0; -1: no launcher told.
int rank_on_host(const Lookup& variable);

/// Processes of that job, on all of its hosts; 0: no launcher told.
unsigned ranks_in_job(const Lookup& variable);

/// Processes of that job on its host; 0: no launcher told.
unsigned ranks_on_host(const Lookup& variable);
/// "2(x3),1": tasks on the `node`-th node; 0 where the text does not say.
unsigned slurm_tasks_on_node(const std::string& text, unsigned node);

/// The environment names hosts for the launcher, so what this job spawns may be on another one.
/// Which hosts its command line names is told to nobody.
bool has_more_hosts(const Lookup& variable);
/// Another job spawned this one, maybe from another host: Hydra and Slurm tell, Open MPI, too.
bool was_spawned(const Lookup& variable);

/// The launcher's IPv4 addresses, in network byte order, without loopback; none: it told none. The
/// first variable that tells counts, and names are left alone: nothing is resolved.
std::vector<std::uint32_t> launcher_addresses(const Lookup& variable);
/// "7.0;tcp://10.0.0.1,172.17.0.1:4711;tcp6://[fe80::1]:4711", or "10.0.0.1:4711".
std::vector<std::uint32_t> numeric_addresses(const std::string& text);

/// The launcher has bound this process to a part of the host's cores, where it binds only while
/// there are cores for all.
bool was_bound_at_launch(const Lookup& variable);

}  // namespace fci
