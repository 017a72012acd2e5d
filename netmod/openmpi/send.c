/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends. The plain short one is inline in the calls of Open MPI; of the others each is a request,
 * or is waited for here. */
#include "netmod/openmpi/pml_fci.h"

#include <ompi/mca/pml/base/pml_base_bsend.h>
#include <opal/runtime/opal_progress.h>
#include <stddef.h>

static uint64_t match_of(const ompi_communicator_t *comm, int tag)
{
    return pml_fci_comm_of(comm)->sends | (uint32_t) tag;
}

/* FCI_ICL_DONE: it is sent. Else nothing happened; FCI_ICL_EHELD: the peer holds all it will. */
static inline int send_short(const void *buffer, size_t count, const ompi_datatype_t *datatype,
                             int rank, int tag, mca_pml_base_send_mode_t mode,
                             const ompi_communicator_t *comm)
{
    struct iovec data;
    const uint32_t peer = pml_fci_comm_of(comm)->peers[rank];
    if (OPAL_UNLIKELY(!pml_fci_is_contiguous(buffer, count, datatype, &data) ||
                      data.iov_len >= pml_fci.inject_below || peer == PML_FCI_UNKNOWN ||
                      mode == MCA_PML_BASE_SEND_SYNCHRONOUS ||
                      mode == MCA_PML_BASE_SEND_BUFFERED))
        return FCI_ICL_EINVAL;
    pml_fci_enter();
    const int answer = fci_icl_send_short(pml_fci.context, peer, match_of(comm, tag),
                                          data.iov_base, data.iov_len);
    pml_fci_exit();
    return answer;
}

/* --- those that are held back --- */

/* A program may send many short messages before the one that its receiver waits for. The receiver
 * holds a bounded number (FCI_UNEXPECTED_BYTES); as many more wait here as the parameter copies_mib
 * allows, then sends wait. */
#define COPY_BYTES 384  /* that one takes besides its data, with the core's record of it */
#define TOLD_AFTER 3.0  /* seconds */

static struct {
    size_t bytes, count;
    opal_list_t held;               /* sends, the oldest first */
    bool told, looks;
} copies;

typedef struct {
    size_t bytes;
    char data[];
} sent_copy;

/* Says so once, where that lasts: the program may wait for ever, and nobody would know for what. */
static int tell(void)
{
    if (copies.told || (opal_using_threads() && pthread_mutex_trylock(&pml_fci.lock) != 0))
        return 0;
    const pml_fci_request *const request = opal_list_is_empty(&copies.held) ? NULL
        : (pml_fci_request *) opal_list_get_first(&copies.held);
    if (request != NULL && MPI_Wtime() - request->held_since >= TOLD_AFTER) {
        copies.told = true;
        opal_output(0, "fci: a send to rank %d of %s has waited for %.0f s: that rank holds as "
                    "many messages that it has not received as it will, and %zu more wait here, in "
                    "%zu MiB of %u (--mca pml_fci_copies_mib). Two ranks that both send before "
                    "they receive never end so: let one receive first, or raise that parameter.",
                    request->rank, request->ompi.req_mpi_object.comm->c_name, TOLD_AFTER,
                    copies.count, copies.bytes >> 20, pml_fci.copies_mib);
    }
    pml_fci_exit();
    return 0;
}

/* There is a look at the clock in each turn of progress from the first of them on. */
static void hold(pml_fci_request *request)
{
    if (request->held)
        return;
    request->held = true;
    request->held_since = MPI_Wtime();
    opal_list_append(&copies.held, &request->ompi.super.super);
    if (!copies.looks)
        copies.looks = opal_progress_register(tell) == OPAL_SUCCESS;
}

static void let_go(pml_fci_request *request)
{
    opal_list_remove_item(&copies.held, &request->ompi.super.super);
    request->held = false;
}

/* --- requests --- */

static void sent(void *user, void *packed, const struct fci_icl_status *status)
{
    pml_fci_request *const request = user;
    pml_fci_free_packed(packed);
    if (OPAL_UNLIKELY(request->held))
        let_go(request);
    if (OPAL_UNLIKELY(status->error == FCI_ICL_ECANCELED))
        request->ompi.req_status._cancelled = 1;
    else if (OPAL_UNLIKELY(status->error != FCI_ICL_OK))
        request->ompi.req_status.MPI_ERROR = pml_fci_error(status->error, status->source);
    else
        request->ompi.req_status._ucount = status->length;
    pml_fci_complete(request);
}

/* Of data in MPI's buffer for buffered sends, where a message of nothing has none: the request was
 * complete before. */
static void left_buffer(void *user, void *owner, const struct fci_icl_status *status)
{
    if (status->error != FCI_ICL_OK)
        (void) pml_fci_error(status->error, status->source);
    if (user != NULL)
        (void) mca_pml_base_bsend_request_free(user);
}

/* Into MPI's buffer. */
static int buffer_data(const pml_fci_request *request, size_t bytes, void **copy)
{
    *copy = NULL;
    if (bytes == 0)
        return OMPI_SUCCESS;
    /* Asking makes room, if there is some to be made. */
    for (int asked = 0; asked < 2 && *copy == NULL; asked++)
        *copy = mca_pml_base_bsend_request_alloc_buf(bytes);
    if (*copy == NULL)
        return OMPI_ERR_BUFFER;
    const int error =
        pml_fci_pack(request->buffer, request->count, request->datatype, *copy, bytes);
    if (error != OMPI_SUCCESS)
        (void) mca_pml_base_bsend_request_free(*copy);
    return error;
}

static int start_buffered(pml_fci_request *request, uint32_t peer)
{
    ompi_communicator_t *const comm = request->ompi.req_mpi_object.comm;
    const size_t bytes = request->count * request->datatype->super.size;
    const struct fci_icl_status done = { .error = FCI_ICL_OK, .length = bytes };
    struct fci_icl_status failed = { .source = peer };
    void *copy;
    const int error = buffer_data(request, bytes, &copy);
    if (error != OMPI_SUCCESS)
        return error;
    const struct fci_icl_completion completion = { left_buffer, copy, NULL };
    fci_icl_order order;
    pml_fci_enter();
    const int answer =
        fci_icl_send_bytes(pml_fci.context, peer, 0, 0, match_of(comm, request->tag), 0, copy,
                           bytes, &completion, &order);
    if (answer != FCI_ICL_OK) {
        failed.error = answer == FCI_ICL_DONE ? FCI_ICL_OK : answer;
        left_buffer(copy, NULL, &failed);
    }
    sent(request, NULL, &done);
    pml_fci_exit();
    return OMPI_SUCCESS;
}

/* --- copies --- */

/* Of a send that somebody may wait for; data in MPI's buffer for buffered sends may stay there. */
static void *take(const struct fci_icl_completion *of, size_t bytes)
{
    sent_copy *copy = NULL;
    if (of->done != sent)
        return NULL;
    if (copies.bytes >> 20 < pml_fci.copies_mib)
        copy = malloc(sizeof *copy + bytes);
    if (copy == NULL) {
        hold(of->user);
        return NULL;
    }
    copy->bytes = bytes;
    copies.count++;
    copies.bytes += COPY_BYTES + bytes;
    return copy->data;
}

static void copy_sent(void *user, void *owner, const struct fci_icl_status *status)
{
    sent_copy *const copy = (sent_copy *) ((char *) user - offsetof(sent_copy, data));
    if (status->error != FCI_ICL_OK)
        (void) pml_fci_error(status->error, status->source);
    copies.bytes -= COPY_BYTES + copy->bytes;
    copies.count--;
    free(copy);
}

void pml_fci_sends_init(void)
{
    OBJ_CONSTRUCT(&copies.held, opal_list_t);
    copies.told = copies.looks = false;
    fci_icl_keep(pml_fci.context, take, copy_sent);
}

void pml_fci_sends_fini(void)
{
    if (copies.looks)
        opal_progress_unregister(tell);
    while (!opal_list_is_empty(&copies.held))
        (void) opal_list_remove_first(&copies.held);
    OBJ_DESTRUCT(&copies.held);
}

/* --- starting --- */

int pml_fci_start_send(pml_fci_request *request)
{
    ompi_communicator_t *const comm = request->ompi.req_mpi_object.comm;
    pml_fci_data data;
    uint32_t peer;
    int error = pml_fci_peer_of(comm, request->rank, &peer);
    if (error == OMPI_SUCCESS && request->mode == MCA_PML_BASE_SEND_BUFFERED)
        return start_buffered(request, peer);
    if (error == OMPI_SUCCESS)
        error = pml_fci_data_to_send(request->buffer, request->count, request->datatype, &data);
    if (error != OMPI_SUCCESS)
        return error;
    const struct fci_icl_send send = {
        .peer = peer,
        .flags = request->mode == MCA_PML_BASE_SEND_SYNCHRONOUS ? FCI_ICL_SYNCHRONOUS : 0,
        .match = match_of(comm, request->tag),
        .iov = data.ranges,
        .iov_count = data.count,
        .completion = { sent, request, data.packed }
    };
    int answer;
    for (;;) {
        pml_fci_enter();
        answer = fci_icl_send(pml_fci.context, &send, &request->order);
        if (OPAL_LIKELY(answer != FCI_ICL_EAGAIN))
            break;
        pml_fci_exit();
        opal_progress();  /* millions of operations are under way: until one of them ends */
    }
    if (answer != FCI_ICL_OK) {
        const struct fci_icl_status status = {
            .error = answer == FCI_ICL_DONE ? FCI_ICL_OK : answer,
            .source = peer,
            .length = request->count * request->datatype->super.size
        };
        sent(request, data.packed, &status);
    }
    pml_fci_exit();
    return OMPI_SUCCESS;
}

static pml_fci_request *describe(const void *buffer, size_t count, ompi_datatype_t *datatype,
                                 int rank, int tag, mca_pml_base_send_mode_t mode,
                                 ompi_communicator_t *comm, bool persistent)
{
    pml_fci_request *const request = pml_fci_new_request(comm, true, rank, tag, persistent);
    if (request == NULL)
        return NULL;
    request->buffer = (void *) buffer;
    request->count = count;
    request->datatype = datatype;
    request->mode = mode;
    return request;
}

int pml_fci_isend_init(const void *buffer, size_t count, ompi_datatype_t *datatype, int rank,
                       int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t *comm,
                       ompi_request_t **request)
{
    pml_fci_request *const own =
        describe(buffer, count, datatype, rank, tag, mode, comm, true);
    if (own == NULL)
        return OMPI_ERR_OUT_OF_RESOURCE;
    OBJ_RETAIN(datatype);
    *request = &own->ompi;
    return OMPI_SUCCESS;
}

int pml_fci_isend(const void *buffer, size_t count, ompi_datatype_t *datatype, int rank, int tag,
                  mca_pml_base_send_mode_t mode, ompi_communicator_t *comm,
                  ompi_request_t **request)
{
    if (OPAL_LIKELY(send_short(buffer, count, datatype, rank, tag, mode, comm) == FCI_ICL_DONE)) {
        *request = &pml_fci.sent;
        return OMPI_SUCCESS;
    }
    pml_fci_request *const own =
        describe(buffer, count, datatype, rank, tag, mode, comm, false);
    if (own == NULL)
        return OMPI_ERR_OUT_OF_RESOURCE;
    const int error = pml_fci_start_send(own);
    if (error == OMPI_SUCCESS)
        *request = &own->ompi;
    else
        pml_fci_return_request(own);
    return error;
}

/* `answer`: what send_short() said. */
static PML_FCI_APART int send_and_wait(int answer, const void *buffer, size_t count,
                                       ompi_datatype_t *datatype, int rank, int tag,
                                       mca_pml_base_send_mode_t mode, ompi_communicator_t *comm)
{
    ompi_request_t *request;
    while (answer == FCI_ICL_EAGAIN) {
        opal_progress();
        answer = send_short(buffer, count, datatype, rank, tag, mode, comm);
    }
    if (answer == FCI_ICL_DONE)
        return OMPI_SUCCESS;
    int error = pml_fci_isend(buffer, count, datatype, rank, tag, mode, comm, &request);
    if (error != OMPI_SUCCESS)
        return error;
    ompi_request_wait_completion(request);
    error = request->req_status.MPI_ERROR;
    ompi_request_free(&request);
    return error;
}

int pml_fci_send(const void *buffer, size_t count, ompi_datatype_t *datatype, int rank, int tag,
                 mca_pml_base_send_mode_t mode, ompi_communicator_t *comm)
{
    const int answer = send_short(buffer, count, datatype, rank, tag, mode, comm);
    if (OPAL_LIKELY(answer == FCI_ICL_DONE))
        return OMPI_SUCCESS;
    return send_and_wait(answer, buffer, count, datatype, rank, tag, mode, comm);
}
