// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace fci::log {
namespace {

TEST(log, line__is_silent_unless_asked) {
    testing::internal::CaptureStderr();
    line(false, "nobody asked");
    line(true, "FCI is here");
    line(true, "FCI is here");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "fci: FCI is here\nfci: FCI is here\n");
}

TEST(log, hint_once__says_each_text_once) {
    testing::internal::CaptureStderr();
    hint_once(true, "one");
    hint_once(true, "two");
    hint_once(true, "one");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "fci: one\nfci: two\n");
}

TEST(log, hint_once__not_asked_does_not_count_as_said) {
    testing::internal::CaptureStderr();
    hint_once(false, "later");
    hint_once(true, "later");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "fci: later\n");
}

TEST(log, line__survives_a_closed_standard_error) {
    EXPECT_EXIT(
        {
            close(STDERR_FILENO);
            line(true, "nobody hears this");
            _exit(7);
        },
        testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace fci::log
