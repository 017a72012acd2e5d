// SPDX-License-Identifier: BSD-3-Clause
// The tests, handed to googletest.
#include <gtest/gtest.h>

#include <string>
#include <vector>

// Its macros have the names of googletest's, for tests in C.
#undef TEST
#undef EXPECT_EQ
#undef EXPECT_TRUE
#include "test/unit/ch4/test.h"

namespace {

class Case : public testing::Test {
public:
    explicit Case(void (*body)()) : body_(body) {}
    void TestBody() override { body_(); }

private:
    void (*body_)();
};

std::vector<const test*>& tests() {
    static std::vector<const test*> all;
    return all;
}

bool note(const char* file, int line, bool holds, const std::string& text) {
    if (!holds)
        GTEST_MESSAGE_AT_(file, line, text.c_str(), testing::TestPartResult::kNonFatalFailure);
    return holds;
}

}  // namespace

void add_test(const test* test) {
    tests().push_back(test);
}

bool is_true(const char* file, int line, const char* what, bool holds) {
    return note(file, line, holds, what);
}

bool is_number(const char* file, int line, const char* what, long long actual, long long expected) {
    return note(
        file, line, actual == expected,
        std::string(what) + " is " + std::to_string(actual) + ", not " + std::to_string(expected));
}

bool is_text(const char* file, int line, const char* what, const char* actual,
             const char* expected) {
    return note(file, line, std::string(actual) == expected,
                std::string(what) + " is \"" + actual + "\", not \"" + expected + "\"");
}

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    for (const test* const one : tests()) {
        testing::RegisterTest(one->subject, one->name, nullptr, nullptr, one->file, one->line,
                              [one]() -> testing::Test* { return new Case(one->body); });
    }
    return RUN_ALL_TESTS();
}
