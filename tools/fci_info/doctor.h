// SPDX-License-Identifier: BSD-3-Clause
// Doctor: looks at all that stands between a program and FCI, and says what to do about it.
#pragma once

#include <string>
#include <vector>

#include "tools/fci_info/finding.h"
#include "tools/fci_info/open_mpi.h"
#include "tools/launch/surroundings.h"
#include "tools/fci_info/survey.h"
#include "tools/fci_info/uses.h"

namespace fci::tools::info {

struct Diagnosis {
    Findings findings;
    Uses uses;
};

/// `provider`: the file to look at; empty: the one that libfabric or this installation has. Only
/// what concerns the plug that is used here is a problem, and a provider that is named.
Diagnosis examine(const Survey& survey, const std::string& provider);

// Its parts.
void examine_core(const Survey& survey, Findings* findings);  // doctor_host.cc
void examine_host(Findings* findings);                        // doctor_host.cc
/// FCI's component for Open MPI. `ask`: also whether one that is not chosen would load.
void examine_component(const OpenMpi& mpi, bool ask, Findings* findings);  // doctor_component.cc
/// Whether Open MPI would send its messages through libfabric.
void examine_layers(const OpenMpi& mpi, Findings* findings);  // doctor_open_mpi.cc
void examine_windows(const OpenMpi& mpi, Findings* findings);  // doctor_open_mpi.cc
void examine_mpich(Findings* findings);                       // doctor_mpich.cc
void examine_intel(Findings* findings);                       // doctor_mpich.cc
/// Where libfci-fi.so lies, or nothing; says what it did.
std::string find_provider(const std::string& wanted, Findings* findings);  // doctor_provider.cc
void examine_provider(const std::string& path, const std::string& libfabric,
                      Findings* findings);  // doctor_provider.cc
void examine_filters(const std::string& path, const std::string& libfabric,
                     Findings* findings);  // doctor_provider.cc

// Shared by the parts.
inline constexpr const char* kRemedy = "Start programs with fci-run, or eval \"$(fci-env)\" first.";
/// Where this installation put its plugs: known from the build, and beside libfci.so.
std::vector<std::string> own_places();  // doctor_provider.cc

}  // namespace fci::tools::info
