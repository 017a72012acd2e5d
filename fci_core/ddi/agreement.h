// SPDX-License-Identifier: BSD-3-Clause
// Agreement: the settings that the two ends of a connection must have in common.
#pragma once

#include <cstdio>
#include <string>

#include "fci_core/ddi/device.h"

namespace fci::ddi {

/// The first difference, with both values and a remedy, as the end of a sentence; empty: none.
inline std::string difference(const Settings& ours, const Settings& theirs) {
    char text[160] = "";
    const auto differ = [&](const char* format, std::uint64_t here, std::uint64_t there) {
        if (here == there || text[0] != '\0') return;
        std::snprintf(text, sizeof text, format, static_cast<unsigned long long>(here),
                      static_cast<unsigned long long>(there));
    };
    differ("differ in their job: %llu and %llu; start them by one launcher, or give both the same "
           "FCI_JOB",
           ours.job, theirs.job);
    differ("differ in their version of FCI: %llx and %llx; install the same one on all hosts",
           ours.layout_digest >> 32, theirs.layout_digest >> 32);
    differ("differ in options of FCI: %llx and %llx; set the same FCI_ variables for both",
           ours.layout_digest, theirs.layout_digest);
    return text;
}

}  // namespace fci::ddi
