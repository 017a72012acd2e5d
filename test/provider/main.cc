// SPDX-License-Identifier: BSD-3-Clause
// The tests' main: libfabric reads its environment once, before anything is asked of it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int count, char** words) {
    const char* directory = std::getenv("FCI_TEST_PROVIDER_DIR");
    if (directory == nullptr) {
        std::fprintf(stderr, "FCI_TEST_PROVIDER_DIR must name the directory of libfci-fi.so\n");
        return 99;
    }
    setenv("FI_PROVIDER_PATH", directory, 1);
    setenv("FI_PROVIDER", "fci", 1);
    // A job of their own: two runs on one machine do not meet.
    setenv("FCI_JOB", ("provider-test-" + std::to_string(getpid())).c_str(), 0);
    testing::InitGoogleTest(&count, words);
    return RUN_ALL_TESTS();
}
