/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends that do not go out at once, receives, and data that is not contiguous: it is packed into
 * one buffer before the send, and unpacked from one after the receive. */
#include "mpidimpl.h"
#include "fci_match.h"

/* Data on its way from or to a derived datatype. */
struct MPIDI_FCI_packed {
    void *buf;
    MPI_Aint count;
    MPI_Datatype datatype;
    char data[];
};

static struct MPIDI_FCI_packed *new_packed(void *buf, MPI_Aint count, MPI_Datatype datatype,
                                           MPIR_Datatype * dt_ptr, size_t bytes)
{
    struct MPIDI_FCI_packed *const packed =
        MPL_malloc(sizeof(struct MPIDI_FCI_packed) + bytes, MPL_MEM_BUFFER);
    if (packed == NULL)
        return NULL;
    packed->buf = buf;
    packed->count = count;
    packed->datatype = datatype;
    MPIR_Datatype_ptr_add_ref(dt_ptr);
    return packed;
}

static void free_packed(struct MPIDI_FCI_packed *packed)
{
    if (packed == NULL)
        return;
    MPIR_Datatype *dt_ptr;
    MPIR_Datatype_get_ptr(packed->datatype, dt_ptr);
    MPIR_Datatype_ptr_release(dt_ptr);
    MPL_free(packed);
}

/* --- send --- */

static void send_done(void *user, void *owner, const struct fci_icl_status *status)
{
    MPIR_Request *const req = user;
    free_packed(owner);
    if (status->error == FCI_ICL_ECANCELED) {
        MPIR_STATUS_SET_CANCEL_BIT(req->status, TRUE);
    } else if (status->error != FCI_ICL_OK) {
        req->status.MPI_ERROR = MPIDI_FCI_error(status->error, status->source);
    }
    FCI_REQUEST_COMPLETE(req);
}

int MPIDI_FCI_send_any(const void *buf, MPI_Aint count, MPI_Datatype datatype, uint32_t peer,
                       uint64_t match, uint32_t flags, MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS;
    int dt_contig;
    size_t data_sz;
    MPI_Aint dt_true_lb;
    MPIR_Datatype *dt_ptr;
    MPIR_Request *req = *request;
    struct MPIDI_FCI_packed *packed = NULL;
    const void *data;

    MPIDI_Datatype_get_info(count, datatype, dt_contig, data_sz, dt_ptr, dt_true_lb);
    if (dt_contig) {
        data = MPIR_get_contig_ptr(buf, dt_true_lb);
    } else {
        MPI_Aint bytes;
        packed = new_packed((void *) buf, count, datatype, dt_ptr, data_sz);
        MPIR_ERR_CHKANDJUMP(packed == NULL, mpi_errno, MPI_ERR_OTHER, "**nomem");
        mpi_errno = MPIR_Typerep_pack(buf, count, datatype, 0, packed->data, data_sz,
                                      &bytes FCI_PACK_FLAGS);
        MPIR_ERR_CHECK(mpi_errno);
        MPIR_Assert(bytes == (MPI_Aint) data_sz);
        data = packed->data;
    }
    if (req == NULL) {
        req = MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__SEND, MPIDI_FCI_VCI, 2);
        MPIR_ERR_CHKANDSTMT(req == NULL, mpi_errno, MPIX_ERR_NOREQ, goto fn_fail, "**nomemreq");
    } else {
        MPIR_Request_add_ref(req);
    }
    MPIDI_REQUEST_SET_LOCAL(req, 0, NULL);
    *request = req;

    const struct fci_icl_completion completion = { send_done, req, packed };
    const int answer =
        fci_icl_send_bytes(MPIDI_FCI_global.context, peer, MPIDI_FCI_SPACE_TAGGED, flags, match, 0,
                           data, data_sz, &completion, &MPIDI_FCI_REQ(req).order);
    if (answer != FCI_ICL_OK) {
        const struct fci_icl_status status = {.error = answer == FCI_ICL_DONE ? 0 : answer,
            .source = peer
        };
        send_done(req, packed, &status);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    free_packed(packed);
    goto fn_exit;
}

/* --- receive --- */

/* Bits of the match word that receives ignore: the sender's rank, MPICH's error bits, and for
 * MPI_ANY_TAG the user's part of the tag; collectives keep theirs. */
void MPIDI_FCI_set_ignored(void)
{
    uint64_t compared = MPIDI_FCI_TAG_MASK;
    MPIR_TAG_CLEAR_ERROR_BITS(compared);
    MPIDI_FCI_global.ignored[0] = MPIDI_FCI_RANK_MASK | (MPIDI_FCI_TAG_MASK & ~compared);
    MPIDI_FCI_global.ignored[1] =
        MPIDI_FCI_global.ignored[0] | (MPIDI_FCI_TAG_MASK & FCI_USER_TAG_MASK);
}

static int truncated(const MPIR_Request * req, const struct fci_icl_status *status)
{
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_TRUNCATE, "**truncate", "**truncate %d %d %d %d",
                                req->status.MPI_SOURCE, req->status.MPI_TAG,
                                (int) status->received, (int) status->length);
}

/* All that is not a whole message in the user's own buffer. */
static FCI_APART void received_otherwise(MPIR_Request * req, struct MPIDI_FCI_packed *packed,
                                         const struct fci_icl_status *status)
{
    MPIR_Comm *const comm = MPIDI_FCI_REQ(req).comm;
    MPI_Aint count = status->received;

    if (status->error == FCI_ICL_ECANCELED) {
        MPIR_STATUS_SET_CANCEL_BIT(req->status, TRUE);
        count = 0;
    } else {
        req->status.MPI_SOURCE = MPIDI_FCI_rank_of(status->match, status->source, comm);
        req->status.MPI_TAG = MPIDI_FCI_tag_of(status->match);
        req->status.MPI_ERROR = MPI_SUCCESS;
        if (packed != NULL && count > 0) {
            MPI_Aint unpacked = 0;
            (void) MPIR_Typerep_unpack(packed->data, count, packed->buf, packed->count,
                                       packed->datatype, 0, &unpacked FCI_PACK_FLAGS);
            if (unpacked < count)       /* the sender's basic types are others */
                req->status.MPI_ERROR =
                    MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                         MPI_ERR_TYPE, "**dtypemismatch", 0);
            count = unpacked;
        }
        if (status->error == FCI_ICL_ETRUNC)
            req->status.MPI_ERROR = truncated(req, status);
        else if (status->error != FCI_ICL_OK)
            req->status.MPI_ERROR = MPIDI_FCI_error(status->error, status->source);
    }
    MPIR_STATUS_SET_COUNT(req->status, count);
    free_packed(packed);
    if (comm != NULL) {
        MPIDI_FCI_REQ(req).comm = NULL;
        MPIR_Comm_release(comm);
    }
    FCI_REQUEST_COMPLETE(req);
}

void MPIDI_FCI_received(void *request, void *packed, const struct fci_icl_status *status)
{
    MPIR_Request *const req = request;
    const bool plain = packed == NULL && MPIDI_FCI_REQ(req).comm == NULL;

    if (unlikely(status->error != FCI_ICL_OK || !plain)) {
        received_otherwise(req, packed, status);
        return;
    }
    req->status.MPI_SOURCE = MPIDI_FCI_rank_of(status->match, status->source, NULL);
    req->status.MPI_TAG = MPIDI_FCI_tag_of(status->match);
    req->status.MPI_ERROR = MPI_SUCCESS;
    MPIR_STATUS_SET_COUNT(req->status, status->received);
    FCI_REQUEST_COMPLETE(req);
}

/* Where a receive's data goes: the buffer itself, or one to unpack from. */
static int landing(void *buf, MPI_Aint count, MPI_Datatype datatype, struct iovec *where,
                   struct MPIDI_FCI_packed **packed)
{
    int dt_contig;
    size_t data_sz;
    MPI_Aint dt_true_lb;
    MPIR_Datatype *dt_ptr;

    MPIDI_Datatype_get_info(count, datatype, dt_contig, data_sz, dt_ptr, dt_true_lb);
    where->iov_len = data_sz;
    if (likely(dt_contig)) {
        *packed = NULL;
        where->iov_base = MPIR_get_contig_ptr(buf, dt_true_lb);
        return MPI_SUCCESS;
    }
    *packed = new_packed(buf, count, datatype, dt_ptr, data_sz);
    if (*packed == NULL)
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                    MPI_ERR_OTHER, "**nomem", 0);
    where->iov_base = (*packed)->data;
    return MPI_SUCCESS;
}

int MPIDI_FCI_receive(void *buf, MPI_Aint count, MPI_Datatype datatype, uint32_t source,
                      uint64_t match, uint64_t ignore, MPIR_Request * request)
{
    struct iovec where;
    struct MPIDI_FCI_packed *packed;
    struct fci_icl_status status;
    const int mpi_errno = landing(buf, count, datatype, &where, &packed);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    const struct fci_icl_completion completion = { MPIDI_FCI_received, request, packed };
    const int answer =
        fci_icl_receive_bytes(MPIDI_FCI_global.context, source, MPIDI_FCI_SPACE_TAGGED, match,
                              ignore, where.iov_base, where.iov_len, &completion,
                              &MPIDI_FCI_REQ(request).order, &status);
    if (likely(answer == FCI_ICL_OK))
        return MPI_SUCCESS;
    if (answer != FCI_ICL_DONE)
        status = (struct fci_icl_status) {.error = answer,.source = source,.match = match };
    MPIDI_FCI_received(request, packed, &status);
    return MPI_SUCCESS;
}

int MPIDI_FCI_receive_claimed(void *buf, MPI_Aint count, MPI_Datatype datatype,
                              MPIR_Request * request)
{
    struct iovec where;
    struct MPIDI_FCI_packed *packed;
    struct fci_icl_status status = { 0 };
    fci_icl_message *const message = MPIDI_FCI_REQ(request).message;
    const int mpi_errno = landing(buf, count, datatype, &where, &packed);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    const struct fci_icl_completion completion = { MPIDI_FCI_received, request, packed };
    const int answer =
        fci_icl_receive_claimed(MPIDI_FCI_global.context, message, &where, 1, &completion,
                                &MPIDI_FCI_REQ(request).order, &status);
    if (answer == FCI_ICL_OK)
        return MPI_SUCCESS;
    if (answer != FCI_ICL_DONE)
        status.error = answer;
    MPIDI_FCI_received(request, packed, &status);
    return MPI_SUCCESS;
}
