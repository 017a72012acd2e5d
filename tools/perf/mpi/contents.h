/* SPDX-License-Identifier: BSD-3-Clause */
/* contents.h: the bytes of messages, each of its own, and the first that was not as it was sent.
 * Byte o of message r from member s to member d is a mix of (seed, s, d, r, o). All bytes of all
 * messages are compared, outside of the timed loops; those of 8 bytes within them, as that takes
 * two nanoseconds. */
#ifndef FCI_PERF_CONTENTS_H
#define FCI_PERF_CONTENTS_H

#include "job.h"

struct wrong {
    long count; /* of messages that had a wrong byte */
    char in[16];
    int from, to;
    long message, bytes, offset;
    int expected, got;
};

static struct wrong wrong; /* of all that this process has received */

/* Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014). */
static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t key_of(int from, int to, long message) {
    return mix(mix(seed ^ ((uint64_t)from << 32 | (uint32_t)to)) + (uint64_t)message);
}

static uint64_t word_at(uint64_t key, size_t word) { return mix(key + word * 0x2545f4914f6cdd1du); }

static void fill(unsigned char *data, size_t bytes, uint64_t key) {
    for (size_t at = 0; at < bytes; at += 8) {
        const uint64_t word = word_at(key, at / 8);
        memcpy(data + at, &word, bytes - at < 8 ? bytes - at : 8);
    }
}

static void note_wrong(const char *in, int from, long message, size_t bytes, size_t offset,
                       int expected, int got) {
    if (wrong.count++ > 0) return;
    snprintf(wrong.in, sizeof wrong.in, "%s", in);
    wrong.from = from, wrong.to = self, wrong.message = message;
    wrong.bytes = (long)bytes, wrong.offset = (long)offset;
    wrong.expected = expected, wrong.got = got;
}

static void check_key(const char *in, int from, uint64_t key, long message,
                      const unsigned char *data, size_t bytes) {
    for (size_t at = 0; at < bytes; at += 8) {
        const size_t length = bytes - at < 8 ? bytes - at : 8;
        const uint64_t word = word_at(key, at / 8);
        unsigned char expected[8];
        memcpy(expected, &word, sizeof expected);
        if (memcmp(data + at, expected, length) == 0) continue;
        for (size_t i = 0; i < length; ++i)
            if (data[at + i] != expected[i]) {
                note_wrong(in, from, message, bytes, at + i, expected[i], data[at + i]);
                return;
            }
    }
}

static void check(const char *in, int from, long message, const unsigned char *data, size_t bytes) {
    check_key(in, from, key_of(from, self, message), message, data, bytes);
}

static void write_wrong(const struct wrong *one) {
    if (one->count == 0) return;
    write_line("wrong", ", \"case\": \"%s\", \"from\": %d, \"to\": %d, \"messages\": %ld, "
               "\"message\": %ld, \"bytes\": %ld, \"offset\": %ld, \"expected\": %d, \"got\": %d",
               one->in, one->from, one->to, one->count, one->message, one->bytes, one->offset,
               one->expected, one->got);
}

#endif
