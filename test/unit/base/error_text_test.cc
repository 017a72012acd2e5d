#include "fci_core/base/error_text.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace fci {
namespace {

TEST(errno_text, names_number_and_meaning) {
    EXPECT_EQ(errno_text(EACCES), "Permission denied (EACCES)");
    EXPECT_EQ(errno_text(ENOSPC), "No space left on device (ENOSPC)");
    EXPECT_EQ(errno_text(99999), "error 99999");
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
