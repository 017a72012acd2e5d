// Doctor: looks at all that stands between a program and FCI, and says what to do about it.
#pragma once

#include <string>

#include "tools/fci_info/finding.h"
#include "tools/fci_info/surroundings.h"
#include "tools/fci_info/survey.h"

namespace fci::info {

/// `provider`: the file to look at; empty: the one that libfabric or this installation has.
Findings examine(const Survey& survey, const std::string& provider);

// Its parts, in the order in which they are asked.
void examine_core(const Survey& survey, Findings* findings);       // doctor_host.cc
void examine_host(Findings* findings);                             // doctor_host.cc
/// Whether Open MPI is told to use FCI's component, and so needs no libfabric.
bool open_mpi_is_native();                                         // doctor_open_mpi.cc
void examine_open_mpi(Findings* findings);                         // doctor_open_mpi.cc
/// Of a component that Open MPI is told to use: whether it loads it by this path of directories.
void examine_chosen_component(const std::string& path, Findings* findings);  // doctor_component.cc
/// Of another one. `ask`: Open MPI itself, too, which takes a quarter of a second.
void examine_other_component(bool ask, Findings* findings);                  // doctor_component.cc
void examine_mpich(Findings* findings);                            // doctor_mpich.cc
/// Where libfci-fi.so lies, or nothing; says what it did.
std::string find_provider(const std::string& wanted, Findings* findings);  // doctor_provider.cc
void examine_provider(const std::string& path, Findings* findings);        // doctor_provider.cc
void examine_filters(const std::string& path, Findings* findings);         // doctor_provider.cc

// Shared by the parts.
inline constexpr const char* kRemedy = "Start programs with fci-run, or eval \"$(fci-env)\" first.";
/// Where this installation put its plugs: known from the build, and beside libfci.so.
std::vector<std::string> own_places();                             // doctor_provider.cc

}  // namespace fci::info
