/* SPDX-License-Identifier: BSD-3-Clause */
/* contents.h: what the buffers of a rank must hold, and how much did not. */
#ifndef FCI_BENCH_CONTENTS_H
#define FCI_BENCH_CONTENTS_H

#include <stddef.h>

static int rank;
static unsigned char *out, *in;
static long wrong; /* bytes that were not as sent */

static unsigned char pattern(size_t at, unsigned round) {
    return (unsigned char)(at * 131 + (at >> 8) * 29 + round * 71 + 3);
}

static void fill(unsigned char *data, size_t bytes, unsigned round) {
    for (size_t i = 0; i < bytes; ++i) data[i] = pattern(i, round);
}

static void check(const unsigned char *data, size_t bytes, unsigned round) {
    for (size_t i = 0; i < bytes; ++i) wrong += data[i] != pattern(i, round);
}

#endif
