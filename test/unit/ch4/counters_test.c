/* SPDX-License-Identifier: BSD-3-Clause */
/* FCI's counters, as a tool sees them. */
#include "test/unit/ch4/job.h"

static unsigned long long value(const struct counter* counter) {
    unsigned long long value = 4711;
    counter->read(counter->address, NULL, counter->count, &value);
    return value;
}

TEST(Counters, each__has_a_name_its_help_and_its_value) {
    open_job(0, 2);
    (void)MPIDI_FCI_send_now("x", 1, MPI_BYTE, 1, 1, job.world, 0);
    settle();
    int count = 0, moved = 0;
    char name[64];
    for (const char *help, *own; (own = fci_icl_counter_name((unsigned)count, &help)) != NULL;
         count++) {
        if (count == upper_counter_count) break;
        const struct counter* const counter = &upper_counters[count];
        snprintf(name, sizeof name, "fci_%s", own);
        EXPECT_TEXT(counter->name, name);
        EXPECT_TEXT(counter->help, help);
        EXPECT_TEXT(counter->category, "CH4_FCI");
        EXPECT_EQ(counter->count, 1);
        EXPECT_EQ(counter->type, MPI_UNSIGNED_LONG_LONG);
        EXPECT_EQ(value(counter), fci_icl_counter(MPIDI_FCI_global.context, (unsigned)count));
        moved += value(counter) > 0;
    }
    EXPECT_EQ(upper_counter_count, count);
    EXPECT_TRUE(count > 5 && moved > 0);
    close_job();
    for (int i = 0; i < count; i++) EXPECT_EQ(value(&upper_counters[i]), 0);
}

TEST(Counters, second_start__registers_none_again) {
    open_job(0, 1);
    const int count = upper_counter_count;
    close_job();
    open_job(0, 1);
    EXPECT_TRUE(count > 0);
    EXPECT_EQ(upper_counter_count, count);
    close_job();
}
