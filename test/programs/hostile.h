/* SPDX-License-Identifier: BSD-3-Clause */
/* hostile.h: what a datagram of FCI looks like to a stranger (drivers/multicast/datagram.h). */
#pragma once

#include <assert.h>
#include <stdint.h>

enum { DATAGRAM_MOST = 1472, LANES = 4 };

struct heading {
    uint32_t cookie;
    uint8_t version, magic;
    uint16_t rank;
    uint64_t name, serial, number;
    uint32_t offset, total;
    uint8_t tag[16];
};
static_assert(sizeof(struct heading) == 56, "as it is sent");
