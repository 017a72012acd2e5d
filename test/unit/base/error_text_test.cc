// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/error_text.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <clocale>
#include <cstring>
#include <string>

namespace fci {
namespace {

TEST(errno_text, names_number_and_meaning) {
    EXPECT_EQ(errno_text(EACCES), "Permission denied (EACCES)");
    EXPECT_EQ(errno_text(ENOSPC), "No space left on device (ENOSPC)");
    EXPECT_EQ(errno_text(99999), "error 99999");
    EXPECT_EQ(errno_text(0), "error 0");
    EXPECT_EQ(errno_text(-1), "error -1");
}

#if __GLIBC_PREREQ(2, 32)
TEST(errno_text, names_all_that_glibc_knows) {
    for (int number = 1; number < 4096; ++number) {
        const char* const name = strerrorname_np(number);
        EXPECT_EQ(errno_text(number), name == nullptr ? "error " + std::to_string(number)
                                                      : std::string(strerrordesc_np(number)) +
                                                            " (" + name + ")");
    }
}
#endif

TEST(errno_text, speaks_plainly_whatever_the_program_speaks) {
    for (const char* const locale : {"de_DE.UTF-8", "C.UTF-8", "C"}) {
        if (setlocale(LC_ALL, locale) == nullptr) continue;
        EXPECT_EQ(errno_text(EACCES), "Permission denied (EACCES)");
    }
    setlocale(LC_ALL, "C");
}

TEST(error_text, puts_all_parts_in_order) {
    EXPECT_EQ(error_text({"cannot open the socket", "port 1", "Permission denied (EACCES)",
                          "Use a port above 1023."}),
              "fci: cannot open the socket (port 1): Permission denied (EACCES). "
              "Use a port above 1023.");
}

TEST(error_text, leaves_out_what_is_not_known) {
    EXPECT_EQ(error_text({"no driver works", "", "", ""}), "fci: no driver works.");
    EXPECT_EQ(error_text({"no driver works", "", "", "Run fci_info."}),
              "fci: no driver works. Run fci_info.");
}

}  // namespace
}  // namespace fci
