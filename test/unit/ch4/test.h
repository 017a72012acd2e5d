/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests in C. They see MPICH's own objects, whose headers no C++ compiler takes; googletest runs
 * them (main.cc). */
#ifndef FCI_TEST_CH4_TEST_H
#define FCI_TEST_CH4_TEST_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct test {
    const char *subject, *name, *file;
    int line;
    void (*body)(void);
};

void add_test(const struct test* test);

/* The value that was looked at is as it should be; else the test has failed, and goes on. */
bool is_true(const char* file, int line, const char* what, bool holds);
bool is_number(const char* file, int line, const char* what, long long actual, long long expected);
bool is_text(const char* file, int line, const char* what, const char* actual,
             const char* expected);

#ifdef __cplusplus
}
#endif

#define TEST(subject, name)                                                                    \
    static void subject##_##name(void);                                                        \
    __attribute__((constructor)) static void add_##subject##_##name(void) {                    \
        static const struct test it = {#subject, #name, __FILE__, __LINE__, subject##_##name}; \
        add_test(&it);                                                                         \
    }                                                                                          \
    static void subject##_##name(void)

#define EXPECT_TRUE(condition) is_true(__FILE__, __LINE__, #condition, (condition))
#define EXPECT_EQ(actual, expected) \
    is_number(__FILE__, __LINE__, #actual, (long long)(actual), (long long)(expected))
#define EXPECT_TEXT(actual, expected) is_text(__FILE__, __LINE__, #actual, actual, expected)
#define EXPECT_BYTES(actual, expected, bytes) \
    is_true(__FILE__, __LINE__, #actual, memcmp(actual, expected, bytes) == 0)

/* Turns of all contexts until it holds (job.h). */
#define TURN_UNTIL(condition)                                                       \
    do {                                                                            \
        const long long end_of_turns = turns_end();                                 \
        bool holds_now = false;                                                     \
        while (!(holds_now = (condition)) && turns_go_on(end_of_turns)) turn_all(); \
        is_true(__FILE__, __LINE__, "comes to hold: " #condition, holds_now);       \
    } while (0)

#endif
