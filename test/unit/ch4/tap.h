/* SPDX-License-Identifier: BSD-3-Clause */
/* The netmod's calls go through to its core. They are counted here, and a test may have the
 * next call answered otherwise than the core would: as it does without memory, or with a peer of
 * another version. The linker leads the calls here (--wrap); those of other contexts pass. */
#ifndef FCI_TEST_CH4_TAP_H
#define FCI_TEST_CH4_TAP_H

#include <fci/icl.h>
#include <stdbool.h>

enum tapped {
    TAP_OPEN,
    TAP_ADD_PEER,
    TAP_PEER_CARD,
    TAP_SEND_SHORT,
    TAP_SEND_BYTES,
    TAP_POST,
    TAP_RECEIVE_BYTES,
    TAP_RECEIVE,
    TAP_RECEIVE_CLAIMED,
    TAP_DISCARD_CLAIMED,
    TAP_CANCEL,
    TAP_AM_SEND,
    TAP_PROGRESS,
    TAP_GROUP_FORM,
    TAP_GROUP_CALL,
    TAP_GROUP_LEAVE,
    TAP_SHARE,
    TAP_DISCARD,
    TAPS
};

#define TAP_MEMBERS 8

struct tap {
    unsigned calls[TAPS];
    bool is_forced[TAPS]; /* the next call gets this answer: */
    int answer[TAPS];
    int then_after;                       /* so many calls go through before a forced one */
    struct fci_icl_config config;         /* of the context that was opened last */
    struct fci_icl_status status;         /* of a forced answer that has one */
    struct fci_icl_collective collective; /* of the last call of a group, as it went in */
    size_t bytes;                         /* what a forced call of a group says of the length; */
    uint32_t lost;                        /* and of who has gone */
    const void *header, *data;            /* of the last active message that was sent */
    size_t header_bytes;
    int64_t linger_ns;
    uint32_t flags; /* of the last send */
    /* Of the last forming of a group; and what a group that was forced has for limits. */
    fci_icl_peer members[TAP_MEMBERS];
    uint32_t self;
    uint64_t key;
    size_t most;
    struct fci_icl_group_limits limits;
    void (*between)(void); /* after each call of progress or of a group: what others do then */
};
extern struct tap tap;

void tap_force(enum tapped call, int answer);
/* How many since the last look. */
unsigned tap_count(enum tapped call);

#endif
