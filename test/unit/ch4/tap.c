/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/unit/ch4/tap.h"

#include <mpidimpl.h>

struct tap tap;

void tap_force(enum tapped call, int answer) {
    tap.is_forced[call] = true;
    tap.answer[call] = answer;
}

unsigned tap_count(enum tapped call) {
    const unsigned calls = tap.calls[call];
    tap.calls[call] = 0;
    return calls;
}

/* Whether this call of the netmod is answered here. */
static bool forced(const fci_icl_context* context, enum tapped call, int* answer) {
    if (context != MPIDI_FCI_global.context) return false;
    tap.calls[call]++;
    if (!tap.is_forced[call] || tap.then_after-- > 0) return false;
    tap.then_after = 0;
    tap.is_forced[call] = false;
    *answer = tap.answer[call];
    return true;
}

static void others(const fci_icl_context* context) {
    if (context == MPIDI_FCI_global.context && tap.between != NULL) tap.between();
}

#define REAL(type, name, ...)        \
    type __real_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__)

REAL(int, fci_icl_open, const struct fci_icl_config* config, fci_icl_context** context,
     char** why) {
    int answer;
    if (context != &MPIDI_FCI_global.context) return __real_fci_icl_open(config, context, why);
    tap.config = *config;
    if (!forced(NULL, TAP_OPEN, &answer)) return __real_fci_icl_open(config, context, why);
    return answer;
}

REAL(int, fci_icl_close, fci_icl_context* context, int64_t linger_ns) {
    if (context == MPIDI_FCI_global.context) tap.linger_ns = linger_ns;
    return __real_fci_icl_close(context, linger_ns);
}

REAL(void, fci_icl_share, fci_icl_context* context) {
    int answer;
    (void)forced(context, TAP_SHARE, &answer);
    __real_fci_icl_share(context);
}

REAL(int, fci_icl_add_peer, fci_icl_context* context, const unsigned char card[16],
     fci_icl_peer* peer) {
    int answer;
    return forced(context, TAP_ADD_PEER, &answer) ? answer
                                                  : __real_fci_icl_add_peer(context, card, peer);
}

REAL(int, fci_icl_peer_card, const fci_icl_context* context, fci_icl_peer peer,
     unsigned char card[16]) {
    int answer;
    return forced(context, TAP_PEER_CARD, &answer) ? answer
                                                   : __real_fci_icl_peer_card(context, peer, card);
}

REAL(int, fci_icl_send_short, fci_icl_context* context, fci_icl_peer peer, uint64_t match,
     const void* buffer, size_t bytes) {
    int answer;
    return forced(context, TAP_SEND_SHORT, &answer)
               ? answer
               : __real_fci_icl_send_short(context, peer, match, buffer, bytes);
}

REAL(int, fci_icl_send_bytes, fci_icl_context* context, fci_icl_peer peer, uint32_t space,
     uint32_t flags, uint64_t match, uint64_t immediate, const void* buffer, size_t bytes,
     const struct fci_icl_completion* completion, fci_icl_order* order) {
    int answer;
    if (context == MPIDI_FCI_global.context) tap.flags = flags;
    return forced(context, TAP_SEND_BYTES, &answer)
               ? answer
               : __real_fci_icl_send_bytes(context, peer, space, flags, match, immediate, buffer,
                                           bytes, completion, order);
}

REAL(fci_icl_order, fci_icl_post, fci_icl_context* context, fci_icl_peer source, uint64_t match,
     uint64_t ignore, void* buffer, size_t bytes, fci_icl_done_fn done, void* user, void* owner) {
    int answer;
    return forced(context, TAP_POST, &answer)
               ? (fci_icl_order)answer
               : __real_fci_icl_post(context, source, match, ignore, buffer, bytes, done, user,
                                     owner);
}

REAL(int, fci_icl_receive_bytes, fci_icl_context* context, fci_icl_peer source, uint32_t space,
     uint64_t match, uint64_t ignore, void* buffer, size_t bytes,
     const struct fci_icl_completion* completion, fci_icl_order* order,
     struct fci_icl_status* status) {
    int answer;
    if (!forced(context, TAP_RECEIVE_BYTES, &answer))
        return __real_fci_icl_receive_bytes(context, source, space, match, ignore, buffer, bytes,
                                            completion, order, status);
    *status = tap.status;
    return answer;
}

REAL(int, fci_icl_receive, fci_icl_context* context, const struct fci_icl_receive* receive,
     fci_icl_order* order, struct fci_icl_status* status) {
    int answer;
    return forced(context, TAP_RECEIVE, &answer)
               ? answer
               : __real_fci_icl_receive(context, receive, order, status);
}

REAL(int, fci_icl_receive_claimed, fci_icl_context* context, fci_icl_message* message,
     const struct iovec* iov, size_t count, const struct fci_icl_completion* completion,
     fci_icl_order* order, struct fci_icl_status* status) {
    int answer;
    if (!forced(context, TAP_RECEIVE_CLAIMED, &answer))
        return __real_fci_icl_receive_claimed(context, message, iov, count, completion, order,
                                              status);
    *status = tap.status;
    return answer;
}

REAL(int, fci_icl_discard_claimed, fci_icl_context* context, fci_icl_message* message) {
    int answer;
    return forced(context, TAP_DISCARD_CLAIMED, &answer)
               ? answer
               : __real_fci_icl_discard_claimed(context, message);
}

REAL(int, fci_icl_discard, fci_icl_context* context, uint32_t space, uint64_t match,
     uint64_t ignore) {
    int answer;
    return forced(context, TAP_DISCARD, &answer)
               ? answer
               : __real_fci_icl_discard(context, space, match, ignore);
}

REAL(int, fci_icl_cancel, fci_icl_context* context, fci_icl_order order) {
    int answer;
    return forced(context, TAP_CANCEL, &answer) ? answer : __real_fci_icl_cancel(context, order);
}

REAL(int, fci_icl_am_send, fci_icl_context* context, fci_icl_peer peer, uint32_t id, uint32_t flags,
     const void* header, size_t header_bytes, const struct iovec* iov, size_t count,
     const struct fci_icl_completion* completion, fci_icl_order* order) {
    int answer;
    if (context == MPIDI_FCI_global.context) {
        tap.header = header;
        tap.header_bytes = header_bytes;
        tap.data = count > 0 ? iov->iov_base : NULL;
    }
    return forced(context, TAP_AM_SEND, &answer)
               ? answer
               : __real_fci_icl_am_send(context, peer, id, flags, header, header_bytes, iov, count,
                                        completion, order);
}

REAL(int, fci_icl_progress, fci_icl_context* context) {
    int answer;
    if (!forced(context, TAP_PROGRESS, &answer)) answer = __real_fci_icl_progress(context);
    others(context);
    return answer;
}

REAL(int, fci_icl_group_form, fci_icl_context* context, const fci_icl_peer* members, uint32_t count,
     uint32_t self, uint64_t key, size_t most, fci_icl_group** group) {
    int answer;
    if (context == MPIDI_FCI_global.context) {
        tap.key = key;
        tap.most = most;
        tap.self = self;
        memcpy(tap.members, members, MPL_MIN(count, TAP_MEMBERS) * sizeof *members);
    }
    if (!forced(context, TAP_GROUP_FORM, &answer))
        answer = __real_fci_icl_group_form(context, members, count, self, key, most, group);
    others(context);
    return answer;
}

REAL(int, fci_icl_group_call, fci_icl_context* context, fci_icl_group* group,
     struct fci_icl_collective* collective) {
    int answer;
    if (context == MPIDI_FCI_global.context) tap.collective = *collective;
    if (!forced(context, TAP_GROUP_CALL, &answer)) {
        answer = __real_fci_icl_group_call(context, group, collective);
    } else {
        collective->bytes = tap.bytes;
        collective->lost = tap.lost;
    }
    others(context);
    return answer;
}

REAL(void, fci_icl_group_leave, fci_icl_context* context, fci_icl_group* group) {
    int answer;
    (void)forced(context, TAP_GROUP_LEAVE, &answer);
    __real_fci_icl_group_leave(context, group);
}

REAL(void, fci_icl_group_limits, const fci_icl_group* group, struct fci_icl_group_limits* limits) {
    if (group == NULL)
        *limits = tap.limits;
    else
        __real_fci_icl_group_limits(group, limits);
}
