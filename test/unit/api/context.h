// SPDX-License-Identifier: BSD-3-Clause
// Contexts of one process, as tests of the C face open them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "fci_core/api/icl.h"

namespace fci {

struct CloseContext {
    void operator()(fci_icl_context* context) const { fci_icl_close(context, 0); }
};
using Context = std::unique_ptr<fci_icl_context, CloseContext>;

inline Context open_context(std::uint64_t job, std::uint32_t local_ranks = 0) {
    fci_icl_config config{};
    config.version = FCI_ICL_VERSION;
    config.job = job;
    config.local_ranks = local_ranks;
    fci_icl_context* context = nullptr;
    char* error = nullptr;
    EXPECT_EQ(fci_icl_open(&config, &context, &error), FCI_ICL_OK) << (error ? error : "");
    std::free(error);
    return Context(context);
}

}  // namespace fci
