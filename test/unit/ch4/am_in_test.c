/* SPDX-License-Identifier: BSD-3-Clause */
/* Active messages that come: a handler of MPICH hears them. */
#include "test/unit/ch4/job.h"

#include <mpidig_recv_utils.h>

static struct {
    int calls, others, completed, completed_error;
    char header[8], data[8];
    MPI_Aint bytes;
    uint32_t attr;
    bool has_data, may_give;
    MPIR_Request *gives, *landed;
} seen;

static void open_am(void) {
    memset(&seen, 0, sizeof seen);
    open_job(0, 2);
}

static int handled(void* header, void* data, MPI_Aint bytes, uint32_t attr,
                   MPIR_Request** request) {
    seen.calls++;
    memcpy(seen.header, header, 8);
    seen.has_data = data != NULL;
    if (data != NULL) memcpy(seen.data, data, MPL_MIN((size_t)bytes, sizeof seen.data));
    seen.bytes = bytes;
    seen.attr = attr;
    seen.may_give = request != NULL;
    if (request != NULL) *request = seen.gives;
    return MPI_SUCCESS;
}

static int handled_by_another(void* header, void* data, MPI_Aint bytes, uint32_t attr,
                              MPIR_Request** request) {
    seen.others++;
    return MPI_SUCCESS;
}

static int landed(MPIR_Request* request) {
    seen.completed++;
    seen.landed = request;
    seen.completed_error = request->status.MPI_ERROR;
    return MPI_SUCCESS;
}

static int peer_am(int id, const void* data, size_t bytes) {
    const struct iovec where = {(void*)data, bytes};
    return fci_icl_am_send(job.peers[1].context, job.peers[1].netmod, (uint32_t)id, 0, "header.", 8,
                           &where, bytes > 0, NULL, NULL);
}

TEST(AmIn, message__reaches_the_handler_of_its_number) {
    open_am();
    for (int id = 0; id < MPIDI_AM_HANDLERS_MAX; id++)
        MPIDIG_global.target_msg_cbs[id] = handled_by_another;
    const int ids[] = {0, 1, MPIDI_AM_HANDLERS_MAX - 1};
    for (int i = 0; i < 3; i++) {
        seen.calls = 0;
        MPIDIG_global.target_msg_cbs[ids[i]] = handled;
        EXPECT_TRUE(peer_am(ids[i], "data", 4) >= 0);
        TURN_UNTIL(seen.calls == 1);
        MPIDIG_global.target_msg_cbs[ids[i]] = handled_by_another;
        EXPECT_BYTES(seen.header, "header.", 8);
        EXPECT_TRUE(seen.has_data && !seen.may_give);
        EXPECT_BYTES(seen.data, "data", 4);
        EXPECT_EQ(seen.bytes, 4);
        EXPECT_EQ(seen.attr, 0);
    }
    EXPECT_EQ(seen.others, 0);
    close_job();
}

TEST(AmIn, message_without_data__asks_for_no_place) {
    open_am();
    MPIDIG_global.target_msg_cbs[4] = handled;
    EXPECT_TRUE(peer_am(4, NULL, 0) >= 0);
    TURN_UNTIL(seen.calls == 1);
    EXPECT_TRUE(!seen.may_give);
    EXPECT_EQ(seen.bytes, 0);
    EXPECT_EQ(seen.attr, 0);
    close_job();
}

enum { kMany = 1 << 20 };
static char many[kMany], place[kMany + 8];

static void open_landing(void) {
    open_am();
    for (int i = 0; i < kMany; i++) many[i] = (char)(i * 17 >> 3);
    memset(place, 0, sizeof place);
    MPIDIG_global.target_msg_cbs[4] = handled;
    seen.gives = MPIDIG_request_create(MPIR_REQUEST_KIND__RECV, 1, 0, 0);
    MPIDIG_REQUEST(seen.gives, req->target_cmpl_cb) = landed;
    seen.gives->status.MPI_ERROR = MPI_SUCCESS;
}

static void close_landing(void) {
    let_go(seen.gives);
    close_job();
}

TEST(AmIn, long_data__go_straight_into_one_range_that_holds_them) {
    open_landing();
    (void)MPIDIG_recv_init(1, kMany, place, kMany, seen.gives);
    upper.mallocs_good = 0; /* it needs none */
    EXPECT_TRUE(peer_am(4, many, kMany) >= 0);
    TURN_UNTIL(seen.calls == 1);
    EXPECT_TRUE(seen.may_give && !seen.has_data);
    EXPECT_EQ(seen.bytes, kMany);
    EXPECT_EQ(seen.attr, MPIDIG_AM_ATTR__IS_ASYNC);
    TURN_UNTIL(seen.completed == 1);
    upper.mallocs_good = -1;
    EXPECT_TRUE(seen.landed == seen.gives);
    EXPECT_EQ(seen.completed_error, MPI_SUCCESS);
    EXPECT_EQ(MPIR_STATUS_GET_COUNT(seen.gives->status), kMany);
    EXPECT_BYTES(place, many, kMany);
    close_landing();
}

TEST(AmIn, range_that_is_too_short__is_filled_and_nothing_behind_it) {
    open_landing();
    (void)MPIDIG_recv_init(1, kMany, place, kMany - 1, seen.gives);
    EXPECT_TRUE(peer_am(4, many, kMany) >= 0);
    TURN_UNTIL(seen.completed == 1);
    EXPECT_EQ(seen.completed_error, MPI_ERR_TRUNCATE);
    EXPECT_EQ(place[kMany - 1], 0);
    close_landing();
}

TEST(AmIn, ranges__get_their_parts) {
    open_landing();
    struct iovec parts[2] = {{place, 100}, {place + 108, kMany - 100}};
    (void)MPIDIG_recv_init(0, kMany, parts, 2, seen.gives);
    EXPECT_TRUE(peer_am(4, many, kMany) >= 0);
    TURN_UNTIL(seen.completed == 1);
    EXPECT_EQ(seen.completed_error, MPI_SUCCESS);
    EXPECT_BYTES(place, many, 100);
    EXPECT_EQ(place[100], 0);
    EXPECT_BYTES(place + 108, many + 100, kMany - 100);
    close_landing();
}

TEST(AmIn, long_data_that_nobody_takes__are_dropped) {
    open_landing();
    MPIR_Request* const gives = seen.gives;
    seen.gives = NULL;
    EXPECT_TRUE(peer_am(4, many, kMany) >= 0);
    TURN_UNTIL(seen.calls == 1);
    settle();
    EXPECT_EQ(seen.completed, 0);
    EXPECT_TRUE(peer_am(4, "after", 5) >= 0);
    TURN_UNTIL(seen.calls == 2);
    seen.gives = gives;
    close_landing();
}

TEST(AmIn, sender_that_goes_meanwhile__is_an_error_of_the_request) {
    setenv("FCI_COPY", "ring", 1); /* through which not all fits at once */
    open_landing();
    unsetenv("FCI_COPY");
    (void)MPIDIG_recv_init(1, kMany, place, kMany, seen.gives);
    EXPECT_TRUE(peer_am(4, many, kMany) >= 0);
    for (const long long end = turns_end(); seen.calls == 0 && turns_go_on(end);) {
        (void)fci_icl_progress(job.peers[1].context);
        (void)MPIDI_NM_progress(0, 0);
    }
    EXPECT_EQ(seen.completed, 0);
    end_peer(1);
    TURN_UNTIL(seen.completed == 1);
    EXPECT_EQ(seen.completed_error, MPIX_ERR_PROC_FAILED);
    EXPECT_TRUE(strncmp(upper.error, "**fci_nm_peer rank 1 of MPI_COMM_WORLD: ", 40) == 0);
    close_landing();
}
