/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives. */
#include "netmod/openmpi/pml_fci.h"

#include <ompi/message/message.h>
#include <opal/runtime/opal_progress.h>

void pml_fci_set_status(ompi_status_public_t *status, ompi_communicator_t *comm, int rank,
                        const struct fci_icl_status *from)
{
    status->MPI_SOURCE = rank != MPI_ANY_SOURCE ? rank : pml_fci_rank_of(comm, from);
    status->MPI_TAG = (int) (uint32_t) from->match;
    status->_ucount = from->length;
    status->_cancelled = 0;
}

/* Fills `status` with the outcome of a receive, its error too. */
static void tell(ompi_status_public_t *status, ompi_communicator_t *comm, int rank,
                 const struct fci_icl_status *from)
{
    status->MPI_ERROR = MPI_SUCCESS;
    if (OPAL_LIKELY(from->error == FCI_ICL_OK || from->error == FCI_ICL_ETRUNC)) {
        pml_fci_set_status(status, comm, rank, from);
        status->_ucount = from->received;
    }
    if (OPAL_UNLIKELY(from->error == FCI_ICL_ECANCELED))
        status->_cancelled = 1;
    else if (OPAL_UNLIKELY(from->error != FCI_ICL_OK))
        status->MPI_ERROR = pml_fci_error(from->error, from->source);
}

/* --- requests --- */

static void received(void *user, void *owner, const struct fci_icl_status *status)
{
    pml_fci_request *const request = user;
    pml_fci_packed *const packed = owner;
    if (OPAL_UNLIKELY(packed != NULL)) {
        if (status->error == FCI_ICL_OK || status->error == FCI_ICL_ETRUNC)
            pml_fci_unpack(packed, status->received);
        pml_fci_free_packed(packed);
    }
    tell(&request->ompi.req_status, request->ompi.req_mpi_object.comm, request->rank, status);
    pml_fci_complete(request);
}

int pml_fci_start_receive(pml_fci_request *request)
{
    ompi_communicator_t *const comm = request->ompi.req_mpi_object.comm;
    struct fci_icl_status status;
    pml_fci_data data;
    uint32_t source;
    int error = pml_fci_source_of(comm, request->rank, &source);
    if (error == OMPI_SUCCESS)
        error = pml_fci_data_to_receive(request->buffer, request->count, request->datatype, &data);
    if (error != OMPI_SUCCESS)
        return error;
    const struct fci_icl_receive receive = {
        .source = source,
        .match = pml_fci_receive_match(pml_fci_comm_of(comm), request->tag),
        .ignore = pml_fci_ignore(request->tag),
        .iov = data.ranges,
        .iov_count = data.count,
        .completion = { received, request, data.packed }
    };
    pml_fci_enter();
    const int answer = fci_icl_receive(pml_fci.context, &receive, &request->order, &status);
    if (answer != FCI_ICL_OK) {
        if (answer != FCI_ICL_DONE)
            status = (struct fci_icl_status) { .error = answer, .source = source };
        received(request, data.packed, &status);
    }
    pml_fci_exit();
    return OMPI_SUCCESS;
}

static pml_fci_request *describe(void *buffer, size_t count, ompi_datatype_t *datatype, int rank,
                                 int tag, ompi_communicator_t *comm, bool persistent)
{
    pml_fci_request *const request = pml_fci_new_request(comm, false, rank, tag, persistent);
    if (request == NULL)
        return NULL;
    request->buffer = buffer;
    request->count = count;
    request->datatype = datatype;
    return request;
}

int pml_fci_irecv_init(void *buffer, size_t count, ompi_datatype_t *datatype, int rank, int tag,
                       ompi_communicator_t *comm, ompi_request_t **request)
{
    pml_fci_request *const own = describe(buffer, count, datatype, rank, tag, comm, true);
    if (own == NULL)
        return OMPI_ERR_OUT_OF_RESOURCE;
    OBJ_RETAIN(datatype);
    *request = &own->ompi;
    return OMPI_SUCCESS;
}

int pml_fci_irecv(void *buffer, size_t count, ompi_datatype_t *datatype, int rank, int tag,
                  ompi_communicator_t *comm, ompi_request_t **request)
{
    struct iovec where;
    uint32_t source;
    pml_fci_request *const own = describe(buffer, count, datatype, rank, tag, comm, false);
    if (own == NULL)
        return OMPI_ERR_OUT_OF_RESOURCE;
    if (OPAL_LIKELY(pml_fci_is_contiguous(buffer, count, datatype, &where)) &&
        OPAL_LIKELY(pml_fci_source_of(comm, rank, &source) == OMPI_SUCCESS)) {
        pml_fci_enter();
        own->order = fci_icl_post(pml_fci.context, source,
                                  pml_fci_receive_match(pml_fci_comm_of(comm), tag),
                                  pml_fci_ignore(tag), where.iov_base, where.iov_len, received,
                                  own, NULL);
        pml_fci_exit();
    }
    const int error = own->order != 0 ? OMPI_SUCCESS : pml_fci_start_receive(own);
    if (error == OMPI_SUCCESS)
        *request = &own->ompi;
    else
        pml_fci_return_request(own);
    return error;
}

/* --- waiting for one --- */

/* Of a receive that one thread waits for, on its stack; under way until a status is there. */
enum { UNDER_WAY = 1 };

static void end_wait(void *user, void *owner, const struct fci_icl_status *status)
{
    *(struct fci_icl_status *) user = *status;
}

static bool is_under_way(const struct fci_icl_status *status)
{
    return *(volatile const int *) &status->error == UNDER_WAY;
}

/* Without windows turns are FCI's alone; what else wants to progress (nonblocking collectives, the
 * launcher) has one after each that brought something else, and now and then, more often in a long
 * wait. */
static void turn_until_done(const struct fci_icl_status *status)
{
    enum { QUICK_LOOKS = 4096, SELDOM = 256, OFTEN = 16 };
    unsigned looks = 0;
    pml_fci_begin_turn();
    for (;;) {
        pml_fci_call();  /* before a turn in which this process may sleep */
        const int events = pml_fci_turn();
        if (!is_under_way(status))
            break;
        ++looks;
        if (events > 0 || pml_fci.has_windows ||
            looks % (looks < QUICK_LOOKS ? SELDOM : OFTEN) == 0)
            opal_progress();
    }
    pml_fci_call();
}

/* A receive that fci_icl_post() does not take: a message may be here, or be long. */
static PML_FCI_APART void receive_otherwise(uint32_t source, uint64_t match, uint64_t ignore,
                                            const struct iovec *where,
                                            struct fci_icl_status *status)
{
    const struct fci_icl_completion completion = { end_wait, status, NULL };
    fci_icl_order order;
    const int answer =
        fci_icl_receive_bytes(pml_fci.context, source, 0, match, ignore, where->iov_base,
                              where->iov_len, &completion, &order, status);
    if (answer == FCI_ICL_OK)
        status->error = UNDER_WAY;
    else if (answer != FCI_ICL_DONE)
        *status = (struct fci_icl_status) { .error = answer, .source = source };
}

/* A call with one status leaves the error in it alone. */
static PML_FCI_APART int tell_failure(ompi_status_public_t *status, ompi_communicator_t *comm,
                                      int rank, const struct fci_icl_status *from)
{
    ompi_status_public_t own;
    tell(&own, comm, rank, from);
    if (status != MPI_STATUS_IGNORE)
        OMPI_COPY_STATUS(status, own, false);
    return own.MPI_ERROR;
}

static PML_FCI_APART int receive_and_wait(void *buffer, size_t count, ompi_datatype_t *datatype,
                                          int rank, int tag, ompi_communicator_t *comm,
                                          ompi_status_public_t *status)
{
    ompi_request_t *request;
    int error = pml_fci_irecv(buffer, count, datatype, rank, tag, comm, &request);
    if (error != OMPI_SUCCESS)
        return error;
    ompi_request_wait_completion(request);
    if (status != MPI_STATUS_IGNORE)
        OMPI_COPY_STATUS(status, request->req_status, false);
    error = request->req_status.MPI_ERROR;
    ompi_request_free(&request);
    return error;
}

static PML_FCI_APART int receive_here(const struct iovec *where, uint32_t source, uint64_t match,
                                      uint64_t ignore, int rank, ompi_communicator_t *comm,
                                      ompi_status_public_t *status)
{
    struct fci_icl_status received = { .error = UNDER_WAY };
    if (fci_icl_post(pml_fci.context, source, match, ignore, where->iov_base, where->iov_len,
                     end_wait, &received, NULL) == 0)
        receive_otherwise(source, match, ignore, where, &received);
    if (is_under_way(&received))
        turn_until_done(&received);
    if (OPAL_UNLIKELY(received.error != FCI_ICL_OK))
        return tell_failure(status, comm, rank, &received);
    if (status != MPI_STATUS_IGNORE)
        pml_fci_set_status(status, comm, rank, &received);
    return OMPI_SUCCESS;
}

int pml_fci_recv(void *buffer, size_t count, ompi_datatype_t *datatype, int rank, int tag,
                 ompi_communicator_t *comm, ompi_status_public_t *status)
{
    const pml_fci_comm *const own = pml_fci_comm_of(comm);
    const uint32_t source = rank >= 0 ? own->peers[rank] : FCI_ICL_ANY_SOURCE;
    struct fci_icl_status received;
    struct iovec where;
    if (OPAL_UNLIKELY(opal_using_threads() ||
                      !pml_fci_is_contiguous(buffer, count, datatype, &where) ||
                      (source == PML_FCI_UNKNOWN && rank != MPI_ANY_SOURCE)))
        return receive_and_wait(buffer, count, datatype, rank, tag, comm, status);
    const uint64_t match = pml_fci_receive_match(own, tag);
    const uint64_t ignore = pml_fci_ignore(tag);
    if (where.iov_len > pml_fci.take_bytes ||
        fci_icl_take(pml_fci.context, source, match, ignore, where.iov_base, where.iov_len,
                     &received) != FCI_ICL_DONE)
        return receive_here(&where, source, match, ignore, rank, comm, status);
    if (status != MPI_STATUS_IGNORE)
        pml_fci_set_status(status, comm, rank, &received);
    return OMPI_SUCCESS;
}

/* --- a message that was taken out of the matching --- */

int pml_fci_imrecv(void *buffer, size_t count, ompi_datatype_t *datatype,
                   struct ompi_message_t **message, ompi_request_t **request)
{
    pml_fci_data data;
    struct fci_icl_status status;
    fci_icl_message *const claimed = (*message)->req_ptr;
    pml_fci_request *const own =
        describe(buffer, count, datatype, (*message)->peer, MPI_ANY_TAG, (*message)->comm, false);
    if (own == NULL)
        return OMPI_ERR_OUT_OF_RESOURCE;
    const int error = pml_fci_data_to_receive(buffer, count, datatype, &data);
    if (error != OMPI_SUCCESS) {
        pml_fci_return_request(own);
        return error;
    }
    const struct fci_icl_completion completion = { received, own, data.packed };
    pml_fci_enter();
    const int answer = fci_icl_receive_claimed(pml_fci.context, claimed, data.ranges, data.count,
                                               &completion, &own->order, &status);
    if (answer != FCI_ICL_OK) {
        if (answer != FCI_ICL_DONE)
            status = (struct fci_icl_status) { .error = answer, .source = PML_FCI_UNKNOWN };
        received(own, data.packed, &status);
    }
    pml_fci_exit();
    ompi_message_return(*message);
    *message = MPI_MESSAGE_NULL;
    *request = &own->ompi;
    return OMPI_SUCCESS;
}

int pml_fci_mrecv(void *buffer, size_t count, ompi_datatype_t *datatype,
                  struct ompi_message_t **message, ompi_status_public_t *status)
{
    ompi_request_t *request;
    const int error = pml_fci_imrecv(buffer, count, datatype, message, &request);
    return error == OMPI_SUCCESS ? ompi_request_wait(&request, status) : error;
}
