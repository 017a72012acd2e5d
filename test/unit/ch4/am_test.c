/* SPDX-License-Identifier: BSD-3-Clause */
/* Active messages that are sent: a peer hears them. */
#include "test/unit/ch4/job.h"

/* The calls, ends and bytes that the two sides have seen. */
static struct {
    int calls, id, origin_calls, origin_error;
    char header[64], data[64];
    size_t header_bytes;
    MPI_Aint bytes;
    fci_icl_peer source;
    MPIR_Request* sent;
} seen;

static void open_am(int rank, int size) {
    memset(&seen, 0, sizeof seen);
    open_job(rank, size);
}

static void peer_heard(void* user, fci_icl_peer source, const void* header, size_t header_bytes,
                       const void* data, uint64_t bytes, struct fci_icl_am_landing* landing) {
    seen.calls++;
    seen.id = (int)(intptr_t)user;
    seen.source = source;
    seen.header_bytes = header_bytes;
    memcpy(seen.header, header, MPL_MIN(header_bytes, sizeof seen.header));
    seen.bytes = (MPI_Aint)bytes;
    if (data != NULL) memcpy(seen.data, data, MPL_MIN(bytes, sizeof seen.data));
}

static void hear_at(int rank, int id) {
    EXPECT_EQ(
        fci_icl_am_register(job.peers[rank].context, (uint32_t)id, peer_heard, (void*)(intptr_t)id),
        FCI_ICL_OK);
}

static int origin_done(MPIR_Request* request) {
    seen.origin_calls++;
    seen.sent = request;
    seen.origin_error = request->status.MPI_ERROR;
    return MPI_SUCCESS;
}

static MPIR_Request* am_request(void) {
    MPIR_Request* const request = MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__SEND, 0, 1);
    MPIDI_NM_am_request_init(request);
    return request;
}

TEST(Am, header__comes_with_whole_words) {
    const char header[16] = "abcdefghijklmno";
    const struct {
        MPI_Aint bytes;
        size_t come;
    } cases[] = {{0, 0}, {1, 8}, {7, 8}, {8, 8}, {9, 16}, {16, 16}};
    open_am(0, 2);
    hear_at(1, 3);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memset(&seen, 0x55, sizeof seen.header + 100);
        seen.calls = 0;
        memset(seen.header, 0x55, sizeof seen.header);
        EXPECT_EQ(MPIDI_NM_am_send_hdr(1, job.world, 3, header, cases[i].bytes, 0, 0), MPI_SUCCESS);
        TURN_UNTIL(seen.calls == 1);
        EXPECT_EQ(seen.header_bytes, cases[i].come);
        EXPECT_BYTES(seen.header, header, (size_t)cases[i].bytes);
        for (size_t at = (size_t)cases[i].bytes; at < cases[i].come; at++)
            EXPECT_EQ(seen.header[at], 0);
        EXPECT_EQ(seen.bytes, 0);
    }
    close_job();
}

TEST(Am, header_of_whole_words__is_sent_from_where_it_is) {
    const char header[16] = "abcdefghijklmno";
    open_am(0, 2);
    (void)MPIDI_NM_am_send_hdr(1, job.world, 3, header, 16, 0, 0);
    EXPECT_TRUE(tap.header == header);
    (void)MPIDI_NM_am_send_hdr(1, job.world, 3, header, 15, 0, 0);
    EXPECT_TRUE(tap.header != header);
    EXPECT_EQ(tap.header_bytes, 16);
    close_job();
}

TEST(Am, each_way_to_send__reaches_the_named_rank_with_its_number) {
    const char header[8] = "header.";
    open_am(1, 3);
    hear_at(2, 5);
    hear_at(2, 63);
    (void)MPIDI_NM_am_send_hdr(2, job.world, 5, header, 8, 0, 0);
    TURN_UNTIL(seen.calls == 1);
    EXPECT_EQ(seen.id, 5);
    (void)MPIDI_NM_am_send_hdr_reply(job.world, 2, 63, header, 8, 0, 0);
    TURN_UNTIL(seen.calls == 2);
    EXPECT_EQ(seen.id, 63);
    (void)MPIDI_NM_am_isend(2, job.world, 5, header, 8, "data", 4, MPI_BYTE, 0, 0, NULL);
    TURN_UNTIL(seen.calls == 3);
    EXPECT_EQ(seen.bytes, 4);
    EXPECT_BYTES(seen.data, "data", 4);
    (void)MPIDI_NM_am_isend_reply(job.world, 2, 63, header, 8, "more", 4, MPI_BYTE, 0, 0, NULL);
    TURN_UNTIL(seen.calls == 4);
    EXPECT_BYTES(seen.data, "more", 4);
    EXPECT_EQ(seen.id, 63);
    EXPECT_EQ(seen.source, job.peers[2].netmod);
    close_job();
}

TEST(Am, data__may_be_none_or_of_any_datatype) {
    const char header[8] = "header.";
    open_am(0, 2);
    hear_at(1, 3);
    MPIDIG_global.origin_cbs[3] = origin_done;
    const MPI_Datatype vector = new_type((struct shape){3, 1, 2, 1, 1});
    const MPI_Datatype shifted = new_type((struct shape){1, 3, 3, 2, 1});
    MPIR_Request* const request = am_request();

    (void)MPIDI_NM_am_isend(1, job.world, 3, header, 8, "x", 0, MPI_BYTE, 0, 0, request);
    EXPECT_TRUE(tap.data == NULL);
    TURN_UNTIL(seen.calls == 1 && seen.origin_calls == 1);
    EXPECT_EQ(seen.bytes, 0);
    upper.mallocs_good = 0; /* there is nothing to pack */
    (void)MPIDI_NM_am_isend(1, job.world, 3, header, 8, "x", 0, vector, 0, 0, request);
    upper.mallocs_good = -1;
    EXPECT_TRUE(tap.data == NULL);
    TURN_UNTIL(seen.calls == 2 && seen.origin_calls == 2);

    (void)MPIDI_NM_am_isend(1, job.world, 3, header, 8, "012345", 1, shifted, 0, 0, request);
    TURN_UNTIL(seen.calls == 3 && seen.origin_calls == 3);
    EXPECT_EQ(seen.bytes, 3);
    EXPECT_BYTES(seen.data, "234", 3);

    (void)MPIDI_NM_am_isend(1, job.world, 3, header, 8, ".a.b.c", 1, vector, 0, 0, request);
    TURN_UNTIL(seen.calls == 4 && seen.origin_calls == 4);
    EXPECT_EQ(seen.bytes, 3);
    EXPECT_BYTES(seen.data, "abc", 3);
    EXPECT_TRUE(seen.sent == request);
    EXPECT_EQ(seen.origin_error, MPI_SUCCESS);
    EXPECT_TRUE(MPIDI_FCI_AMREQ(request).pack_buffer == NULL);
    free_type(vector);
    free_type(shifted);
    close_job();
}

TEST(Am, one_byte_of_data__is_sent) {
    const char header[8] = "header.";
    open_am(0, 2);
    hear_at(1, 3);
    const MPI_Datatype vector = new_type((struct shape){1, 1, 2, 1, 1});
    MPIDIG_global.origin_cbs[3] = origin_done;
    MPIR_Request* const request = am_request();
    (void)MPIDI_NM_am_isend(1, job.world, 3, header, 8, "x", 1, MPI_BYTE, 0, 0, request);
    TURN_UNTIL(seen.calls == 1 && seen.origin_calls == 1);
    EXPECT_EQ(seen.bytes, 1);
    EXPECT_BYTES(seen.data, "x", 1);
    (void)MPIDI_NM_am_isend(1, job.world, 3, header, 8, ".y", 1, vector, 0, 0, request);
    TURN_UNTIL(seen.calls == 2 && seen.origin_calls == 2);
    EXPECT_EQ(seen.bytes, 1);
    EXPECT_BYTES(seen.data, "y", 1);
    free_type(vector);
    close_job();
}

TEST(Am, long_data__end_the_request_when_they_have_gone) {
    enum { kLong = 1 << 20 };
    static char data[2 * kLong];
    const char header[8] = "header.";
    open_am(0, 2);
    MPIDIG_global.origin_cbs[7] = origin_done;
    MPIDIG_global.origin_cbs[3] = NULL;
    hear_at(1, 7);
    const MPI_Datatype vector = new_type((struct shape){kLong, 1, 2, 0, 1});
    MPIR_Request* const request = am_request();
    (void)MPIDI_NM_am_isend(1, job.world, 7, header, 8, data, 1, vector, 0, 0, request);
    EXPECT_EQ(seen.origin_calls, 0);
    EXPECT_TRUE(MPIDI_FCI_AMREQ(request).pack_buffer != NULL);
    TURN_UNTIL(seen.origin_calls == 1);
    EXPECT_TRUE(MPIDI_FCI_AMREQ(request).pack_buffer == NULL);
    free_type(vector);
    close_job();
}

TEST(Am, refused_one__is_an_error_that_names_the_peer) {
    const char header[8] = "header.";
    open_am(0, 2);
    MPIDIG_global.origin_cbs[3] = origin_done;
    MPIR_Request* const request = am_request();
    tap_force(TAP_AM_SEND, FCI_ICL_EPEER);
    EXPECT_EQ(MPIDI_NM_am_isend(1, job.world, 3, header, 8, "x", 1, MPI_BYTE, 0, 0, request),
              MPIX_ERR_PROC_FAILED);
    EXPECT_TRUE(strncmp(upper.error, "**fci_nm_peer rank 1 of MPI_COMM_WORLD: ", 40) == 0);
    tap_force(TAP_AM_SEND, FCI_ICL_EAGAIN);
    EXPECT_EQ(MPIDI_NM_am_send_hdr(1, job.world, 3, header, 5, 0, 0), MPI_ERR_OTHER);
    EXPECT_EQ(seen.origin_calls, 0);
    close_job();
}

TEST(Am, done_at_once__ends_the_request_once) {
    const char header[8] = "header.";
    open_am(0, 2);
    MPIDIG_global.origin_cbs[3] = origin_done;
    MPIR_Request* const request = am_request();
    tap_force(TAP_AM_SEND, FCI_ICL_DONE);
    EXPECT_EQ(MPIDI_NM_am_isend(1, job.world, 3, header, 8, "x", 1, MPI_BYTE, 0, 0, request),
              MPI_SUCCESS);
    EXPECT_EQ(seen.origin_calls, 1);
    tap_force(TAP_AM_SEND, FCI_ICL_OK);
    EXPECT_EQ(MPIDI_NM_am_isend(1, job.world, 3, header, 8, "x", 1, MPI_BYTE, 0, 0, request),
              MPI_SUCCESS);
    EXPECT_EQ(seen.origin_calls, 1);
    tap_force(TAP_AM_SEND, FCI_ICL_DONE);
    EXPECT_EQ(MPIDI_NM_am_isend(1, job.world, 3, header, 8, "x", 1, MPI_BYTE, 0, 0, NULL),
              MPI_SUCCESS);
    close_job();
}

TEST(Am, peer_that_goes__ends_what_waits_for_it) {
    enum { kLong = 1 << 20 };
    static char data[kLong];
    const char header[8] = "header.";
    open_am(0, 2);
    MPIDIG_global.origin_cbs[3] = origin_done;
    MPIR_Request* const request = am_request();
    EXPECT_EQ(MPIDI_NM_am_isend(1, job.world, 3, header, 8, data, kLong, MPI_BYTE, 0, 0, request),
              MPI_SUCCESS);
    end_peer(1);
    TURN_UNTIL(seen.origin_calls == 1);
    EXPECT_EQ(seen.origin_error, MPIX_ERR_PROC_FAILED);
    close_job();
}

TEST(Am, without_memory__is_an_error) {
    const char header[8] = "header.";
    open_am(0, 2);
    const MPI_Datatype vector = new_type((struct shape){3, 1, 2, 0, 1});
    MPIR_Request* const request = am_request();
    upper.mallocs_good = 0;
    EXPECT_EQ(MPIDI_NM_am_send_hdr(1, job.world, 3, header, 5, 0, 0), MPI_ERR_OTHER);
    EXPECT_TEXT(upper.error, "**nomem");
    EXPECT_EQ(MPIDI_NM_am_isend(1, job.world, 3, header, 8, "a.b.c.", 1, vector, 0, 0, request),
              MPI_ERR_OTHER);
    upper.mallocs_good = -1;
    upper.upper_error = MPI_ERR_TYPE;
    EXPECT_EQ(MPIDI_NM_am_isend(1, job.world, 3, header, 8, "a.b.c.", 1, vector, 0, 0, request),
              MPI_ERR_TYPE);
    EXPECT_EQ(tap_count(TAP_AM_SEND), 0);
    MPIDI_NM_am_request_finalize(request);
    EXPECT_TRUE(MPIDI_FCI_AMREQ(request).pack_buffer == NULL);
    free_type(vector);
    close_job();
}

TEST(Am, limits__are_those_of_a_header) {
    open_am(0, 2);
    struct fci_icl_limits limits;
    fci_icl_limits(MPIDI_FCI_global.context, &limits);
    const MPI_Aint most = MPL_MIN((MPI_Aint)limits.am_header_bytes, 16 * 1024);
    EXPECT_EQ(MPIDI_NM_am_hdr_max_sz(), most);
    EXPECT_EQ(MPIDI_NM_am_eager_limit(), most);
    EXPECT_EQ(MPIDI_NM_am_eager_buf_limit(), most);
    EXPECT_TRUE(MPIDI_NM_am_check_eager(8, most - 8, NULL, 0, MPI_BYTE, NULL));
    EXPECT_TRUE(!MPIDI_NM_am_check_eager(8, most - 7, NULL, 0, MPI_BYTE, NULL));
    EXPECT_TRUE(MPIDI_NM_am_get_data_copy_cb(0) == NULL);
    EXPECT_TRUE(!MPIDI_NM_am_can_do_tag());
    close_job();
}
