// SPDX-License-Identifier: BSD-3-Clause
// What a process keeps that has opened UCX: its signal handlers and its environment.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <string>

#include "drivers/ucx/ucx.h"

namespace fci::ucx {
namespace {

/// The library that handles the signal; empty: none does.
std::string handler_of(int number) {
    struct sigaction now {};
    Dl_info where;
    if (sigaction(number, nullptr, &now) != 0 || now.sa_handler == SIG_DFL) return {};
    const bool is_known = dladdr(reinterpret_cast<void*>(now.sa_handler), &where) != 0;
    return is_known ? where.dli_fname : "";
}

TEST(ucx, open__leaves_signals_and_environment) {
    std::string text;
    if (!probe_ucx(&text)) GTEST_SKIP() << text;
    ddi::Settings settings;
    settings.block_bytes = 4096;
    Status status;
    ASSERT_NE(open_ucx(settings, &status, &text), nullptr) << text;
    for (int number = 1; number < NSIG; ++number) {
        EXPECT_EQ(handler_of(number).find("libucs"), std::string::npos) << number;
    }
    EXPECT_EQ(std::getenv("UCX_ERROR_SIGNALS"), nullptr);
    EXPECT_EQ(std::getenv("UCX_DEBUG_SIGNO"), nullptr);
}

}  // namespace
}  // namespace fci::ucx
