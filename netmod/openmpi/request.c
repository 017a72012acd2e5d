/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: where they come from, what ends them, and the turns of progress in which they end. */
#include "netmod/openmpi/pml_fci.h"

#include <opal/runtime/opal_progress.h>

/* --- one request --- */

static int free_request(ompi_request_t **user)
{
    pml_fci_request *const request = (pml_fci_request *) *user;
    pml_fci_enter();
    if (request->active)
        request->freed = true;
    else
        pml_fci_return_request(request);
    pml_fci_exit();
    *user = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

/* Its completion comes from progress: cancelled, or as ever where the message was first. */
static int cancel_request(ompi_request_t *user, int flag)
{
    pml_fci_request *const request = (pml_fci_request *) user;
    pml_fci_enter();
    if (request->active && request->order != 0)
        (void) fci_icl_cancel(pml_fci.context, request->order);
    pml_fci_exit();
    return OMPI_SUCCESS;
}

static void construct(pml_fci_request *request)
{
    request->ompi.req_type = OMPI_REQUEST_PML;
    request->ompi.req_start = pml_fci_start;
    request->ompi.req_free = free_request;
    request->ompi.req_cancel = cancel_request;
    request->active = request->freed = request->held = false;
}

OBJ_CLASS_INSTANCE(pml_fci_request, ompi_request_t, construct, NULL);

static void set_active(pml_fci_request *request)
{
    ompi_status_public_t *const status = &request->ompi.req_status;
    request->ompi.req_complete = REQUEST_PENDING;
    request->ompi.req_state = OMPI_REQUEST_ACTIVE;
    request->active = true;
    request->order = 0;
    status->MPI_SOURCE = request->is_send ? ompi_comm_rank(request->ompi.req_mpi_object.comm)
        : request->rank;
    status->MPI_TAG = request->tag;
    status->MPI_ERROR = MPI_SUCCESS;
    status->_ucount = 0;
    status->_cancelled = 0;
}

static void set_inactive(pml_fci_request *request)
{
    request->ompi.req_complete = REQUEST_COMPLETED;
    request->ompi.req_state = OMPI_REQUEST_INACTIVE;
    request->active = false;
}

pml_fci_request *pml_fci_new_request(ompi_communicator_t *comm, bool is_send, int rank, int tag,
                                     bool persistent)
{
    pml_fci_request *const request = (pml_fci_request *) opal_free_list_get(&pml_fci.requests);
    if (OPAL_UNLIKELY(request == NULL))
        return NULL;
    OMPI_REQUEST_INIT(&request->ompi, persistent);
    OBJ_RETAIN(comm);
    request->ompi.req_mpi_object.comm = comm;
    request->is_send = is_send;
    request->freed = false;
    request->rank = rank;
    request->tag = tag;
    if (!persistent)
        set_active(request);
    return request;
}

void pml_fci_return_request(pml_fci_request *request)
{
    if (request->ompi.req_persistent)
        OBJ_RELEASE(request->datatype);
    OBJ_RELEASE(request->ompi.req_mpi_object.comm);
    request->active = false;
    OMPI_REQUEST_FINI(&request->ompi);
    opal_free_list_return(&pml_fci.requests, &request->ompi.super);
}

/* --- completion --- */

/* A completion callback may wait for a lock of its own, under which other threads send, and may
 * make progress until another message has come. So it is called without our lock, and outside of
 * fci_icl_progress(). Nothing else that happens there makes progress. */
static void call_later(pml_fci_request *request)
{
    request->next = NULL;
    *pml_fci.called_end = request;
    pml_fci.called_end = &request->next;
}

void pml_fci_complete(pml_fci_request *request)
{
    request->ended = ++pml_fci.ended;
    if (OPAL_UNLIKELY(request->ompi.req_complete_cb != NULL)) {
        call_later(request);
        return;
    }
    request->active = false;
    if (OPAL_UNLIKELY(request->freed))
        pml_fci_return_request(request);
    else
        ompi_request_complete(&request->ompi, true);
}

PML_FCI_APART void pml_fci_call_all(void)
{
    pml_fci_request *request, *next;
    pml_fci_enter();
    request = pml_fci.called;
    pml_fci.called = NULL;
    pml_fci.called_end = &pml_fci.called;
    pml_fci_exit();
    for (; request != NULL; request = next) {
        next = request->next;
        pml_fci_enter();
        const bool freed = request->freed;
        request->active = freed;  /* if the callback frees it again, it stays until below */
        pml_fci_exit();
        ompi_request_complete(&request->ompi, true);
        if (freed) {
            pml_fci_enter();
            pml_fci_return_request(request);
            pml_fci_exit();
        }
    }
}

int pml_fci_progress(void)
{
    int events;
    if (OPAL_UNLIKELY(pml_fci.context == NULL))  /* in a child of fork() */
        return 0;
    pml_fci_call();  /* before a turn in which this process may sleep */
    if (OPAL_UNLIKELY(opal_using_threads()) && pthread_mutex_trylock(&pml_fci.lock) != 0)
        return 0;
    pml_fci_begin_turn();
    events = pml_fci_turn();
    pml_fci_exit();
    pml_fci_call();
    return events > 0 ? events : 0;
}

/* --- persistent requests --- */

int pml_fci_start(size_t count, ompi_request_t **requests)
{
    int first = OMPI_SUCCESS;
    if (OPAL_UNLIKELY(pml_fci.context == NULL))  /* MPI_Start() calls this by the request */
        return pml_fci_end_child();
    for (size_t i = 0; i < count; i++) {
        pml_fci_request *const request = (pml_fci_request *) requests[i];
        int error = OMPI_ERR_REQUEST;
        if (request == NULL || request->ompi.req_type != OMPI_REQUEST_PML)
            continue;
        if (!request->active) {
            set_active(request);
            error = request->is_send ? pml_fci_start_send(request)
                : pml_fci_start_receive(request);
            if (error != OMPI_SUCCESS)
                set_inactive(request);
        }
        if (error != OMPI_SUCCESS && first == OMPI_SUCCESS)
            first = error;
    }
    return first;
}

/* --- all of them --- */

static int free_sent(ompi_request_t **request)
{
    *request = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

static int cancel_sent(ompi_request_t *request, int flag)
{
    return OMPI_SUCCESS;
}

int pml_fci_requests_init(void)
{
    ompi_request_t *const sent = &pml_fci.sent;
    pml_fci.called_end = &pml_fci.called;
    OBJ_CONSTRUCT(sent, ompi_request_t);
    OMPI_REQUEST_INIT(sent, false);
    sent->req_type = OMPI_REQUEST_PML;
    sent->req_free = free_sent;
    sent->req_cancel = cancel_sent;
    sent->req_mpi_object.comm = &ompi_mpi_comm_world.comm;
    sent->req_status = ompi_status_empty;
    sent->req_state = OMPI_REQUEST_ACTIVE;
    ompi_request_complete(sent, false);

    OBJ_CONSTRUCT(&pml_fci.requests, opal_free_list_t);
    return opal_free_list_init(&pml_fci.requests, sizeof(pml_fci_request), 64,
                               OBJ_CLASS(pml_fci_request), 0, 0, 64, -1, 256, NULL, 0, NULL, NULL,
                               NULL);
}

void pml_fci_requests_fini(void)
{
    OBJ_DESTRUCT(&pml_fci.requests);
    OMPI_REQUEST_FINI(&pml_fci.sent);
    OBJ_DESTRUCT(&pml_fci.sent);
}
