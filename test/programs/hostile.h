/* hostile.h: what a datagram of FCI looks like to a stranger (drivers/multicast/datagram.h), in the
 * version before it was sealed and in the one since. */
#pragma once

#include <stdint.h>

enum {
    OPEN_VERSION = 1, /* sum: CRC32C of all words before it, and of the data if COVERS_DATA */
    OPEN_HEADING = 32,
    COVERS_DATA = 1,
    SEALED_HEADING = 44, /* the words up to `check` are authenticated, 16 bytes of tag follow */
    CHECKED = 28,
    DATAGRAM_MOST = 1472,
    LANES = 4,
};

struct heading {
    uint32_t cookie;
    uint8_t version, flags;
    uint16_t rank;
    uint64_t name;
    uint32_t number, offset, total;
    uint32_t check;
};

static inline unsigned heading_of(const unsigned char* bytes) {
    return bytes[4] == OPEN_VERSION ? OPEN_HEADING : SEALED_HEADING;
}

/* As a process without anything secret can: so that version 1 takes it for right. */
static inline uint32_t sum_of(const unsigned char* bytes, unsigned length) {
    uint32_t sum = ~0u;
    const unsigned end = (bytes[5] & COVERS_DATA) != 0 ? length : CHECKED;
    for (unsigned i = 0; i < end; ++i) {
        if (i >= CHECKED && i < OPEN_HEADING) continue;
        sum ^= bytes[i];
        for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (0x82f63b78u & -(sum & 1));
    }
    return ~sum;
}
