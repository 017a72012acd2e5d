/* Messages of the flat collectives: those that MPICH's own would exchange, sent and received
 * without its requests; and how they are waited for where there are more processes than cores. */
#include "mpidimpl.h"
#include "fci_impl.h"
#include "fci_match.h"
#include "fci_flat.h"
#include <sched.h>

#if FCI_FLAT_COLLECTIVES

#define PATIENCE_S 0.5

/* On which core, counted from 1, each peer was when it last sent; 0: not known. A hint, so peers
 * may share a place. */
#define PLACES 1024
static uint16_t places[PLACES];

static uint16_t here(void)
{
    return (uint16_t) (sched_getcpu() + 1);
}

void MPIDI_FCI_flat_note(struct flat *flat, int mpi_errno)
{
    if (mpi_errno == MPI_SUCCESS)
        return;
    *flat->errflag = MPIR_ERR_GET_CLASS(mpi_errno) == MPIX_ERR_PROC_FAILED ?
        MPIR_ERR_PROC_FAILED : MPIR_ERR_OTHER;
    MPIR_ERR_ADD(flat->first, mpi_errno);
}

/* Who hears of a death from the collector may be about to hear of it by itself. */
static bool knows_the_dead(void)
{
    MPL_time_t begin, now;
    double waited = 0;

    MPIDI_FCI_ENTER();
    for (MPL_wtime(&begin); !MPIDI_FCI_global.broken && waited < PATIENCE_S;) {
        fci_icl_progress(MPIDI_FCI_global.context);
        MPL_wtime(&now);
        MPL_wtime_diff(&begin, &now, &waited);
    }
    MPIDI_FCI_EXIT();
    return MPIDI_FCI_global.broken;
}

int MPIDI_FCI_flat_outcome(const struct flat *flat)
{
    const MPIR_Errflag_t errflag = *flat->errflag;
    int mpi_errno = flat->first;

    if (mpi_errno != MPI_SUCCESS || errflag == MPIR_ERR_NONE)
        return mpi_errno;
    if (errflag == MPIR_ERR_PROC_FAILED && knows_the_dead())
        return MPIDI_FCI_error(FCI_ICL_EPEER, MPIDI_FCI_global.dead);
    MPIR_ERR_SET(mpi_errno, errflag, "**coll_fail");
    return mpi_errno;
}

/* --- one message --- */

int MPIDI_FCI_flat_wrong_length(const struct flat *flat, const struct fci_icl_status *status)
{
    int mpi_errno = MPI_SUCCESS;
    if (status->error == FCI_ICL_ETRUNC)
        MPIR_ERR_SET2(mpi_errno, MPI_ERR_TRUNCATE, "**truncate", "**truncate %d %d",
                      (int) status->length, (int) flat->bytes);
#ifdef HAVE_ERROR_CHECKING
    else
        MPIR_ERR_SET2(mpi_errno, MPI_ERR_OTHER, "**collective_size_mismatch",
                      "**collective_size_mismatch %d %d", (int) status->length,
                      (int) flat->bytes);
#endif
    return mpi_errno;
}

static void arrived(void *user, void *owner, const struct fci_icl_status *status)
{
    struct flat *const flat = user;
    const int tag = MPIDI_FCI_tag_of(status->match);
    bool *const came = owner;

    flat->pending--;
    *came = true;
    places[status->source % PLACES] = (uint16_t) status->immediate;
    if (unlikely(status->error != FCI_ICL_OK && status->error != FCI_ICL_ETRUNC)) {
        MPIDI_FCI_flat_note(flat, MPIDI_FCI_error(status->error, status->source));
    } else if (unlikely(MPIR_TAG_CHECK_ERROR_BIT(tag))) {
        if (*flat->errflag == MPIR_ERR_NONE)
            *flat->errflag = MPIR_TAG_CHECK_PROC_FAILURE_BIT(tag) ?
                MPIR_ERR_PROC_FAILED : MPIR_ERR_OTHER;
    } else if (unlikely(status->length != flat->bytes)) {
        MPIDI_FCI_flat_note(flat, MPIDI_FCI_flat_wrong_length(flat, status));
    }
}

void MPIDI_FCI_flat_expect(struct flat *flat, int rank, void *buffer)
{
    MPIR_Comm *const comm = flat->comm;
    const uint32_t peer = MPIDI_FCI_COMM_TO_PEER(comm, rank);
    const struct iovec where = { buffer, flat->bytes };
    const int message = flat->posted++;
    bool *const came = &flat->came[message];
    const struct fci_icl_receive receive = {
        .source = peer,
        .space = MPIDI_FCI_SPACE_TAGGED,
        .match = MPIDI_FCI_receive_match(comm->recvcontext_id + MPIR_CONTEXT_INTRA_COLL, flat->tag),
        .ignore = MPIDI_FCI_ignore(flat->tag),
        .iov = &where,
        .iov_count = 1,
        .completion = {arrived, flat, came}
    };
    struct fci_icl_status status = {.source = peer,.length = flat->bytes };

    flat->pending++;
    flat->peers[message] = peer;
    *came = false;
    MPIDI_FCI_ENTER();
    const int answer = fci_icl_receive(MPIDI_FCI_global.context, &receive,
                                       &flat->orders[message], &status);
    MPIDI_FCI_EXIT();
    if (answer == FCI_ICL_OK)
        return;
    if (answer != FCI_ICL_DONE)
        status.error = answer;
    arrived(flat, came, &status);
}

void MPIDI_FCI_flat_tell(struct flat *flat, int rank, const void *buffer)
{
    MPIR_Comm *const comm = flat->comm;
    int tag = flat->tag;

    if (unlikely(*flat->errflag == MPIR_ERR_PROC_FAILED))
        MPIR_TAG_SET_PROC_FAILURE_BIT(tag);
    else if (unlikely(*flat->errflag != MPIR_ERR_NONE))
        MPIR_TAG_SET_ERROR_BIT(tag);
    MPIDI_FCI_ENTER();
    const int answer =
        fci_icl_send_bytes(MPIDI_FCI_global.context, MPIDI_FCI_COMM_TO_PEER(comm, rank),
                           MPIDI_FCI_SPACE_TAGGED, FCI_ICL_BUFFERED | FCI_ICL_IMMEDIATE,
                           MPIDI_FCI_match(comm->context_id + MPIR_CONTEXT_INTRA_COLL, comm->rank,
                                           tag), here(), buffer, flat->bytes,
                           NULL, NULL);
    MPIDI_FCI_EXIT();
    if (unlikely(answer != FCI_ICL_DONE))
        MPIDI_FCI_flat_note(flat, MPIC_Send(buffer, flat->bytes, MPI_BYTE, rank, flat->tag, comm,
                                            flat->errflag));
}

/* First to those that are on other cores: the others must wait for this one anyway. */
void MPIDI_FCI_flat_tell_all(struct flat *flat, const void *buffer)
{
    const uint16_t this_one = here();
    bool is_told[MPIDI_FCI_FLAT_MOST] = { false };

    is_told[flat->comm->rank] = true;
    for (int near = 0; near <= 1; near++) {
        for (int rank = 0; rank < flat->comm->local_size; rank++) {
            const uint32_t peer = MPIDI_FCI_COMM_TO_PEER(flat->comm, rank);
            if (is_told[rank] || (!near && places[peer % PLACES] == this_one))
                continue;
            is_told[rank] = true;
            MPIDI_FCI_flat_tell(flat, rank, buffer);
        }
    }
}

/* --- waiting --- */

static void take_back(struct flat *flat)
{
    MPIDI_FCI_ENTER();
    for (int i = 0; i < flat->posted; i++)
        (void) fci_icl_cancel(MPIDI_FCI_global.context, flat->orders[i]);
    while (flat->pending > 0)
        fci_icl_progress(MPIDI_FCI_global.context);
    MPIDI_FCI_EXIT();
}

static int is_over(void *user)
{
    return ((const struct flat *) user)->pending == 0;
}

/* Always yield: either another rank on this core has not arrived, or the collector needs it. */
static int is_passed_on(void *user)
{
    return 1;
}

/* Only the collector knows when all others that are here have come; then they could only pass this
 * core on, which takes longer than looking on for who is at work elsewhere. */
static int is_needed_here(void *user)
{
    const struct flat *const flat = user;
    const uint16_t this_one = here();

    for (int message = 0; message < flat->posted; message++) {
        const uint16_t place = places[flat->peers[message] % PLACES];
        if (!flat->came[message] && (place == this_one || place == 0))
            return 1;
    }
    return 0;
}

int MPIDI_FCI_flat_pause(int answer)
{
    const int mpi_errno = answer == FCI_ICL_EAGAIN ? MPID_Progress_test(NULL) : MPI_SUCCESS;

    MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    return mpi_errno;
}

void MPIDI_FCI_flat_await(struct flat *flat, bool collects)
{
    struct fci_icl_condition all = { is_over, collects ? is_needed_here : is_passed_on, flat, 0 };
    int mpi_errno = MPI_SUCCESS;

    while (mpi_errno == MPI_SUCCESS) {
        MPIDI_FCI_ENTER();
        const int answer = fci_icl_step(MPIDI_FCI_global.context, &all);
        MPIDI_FCI_EXIT();
        if (answer == FCI_ICL_DONE)
            break;
        mpi_errno = MPIDI_FCI_flat_pause(answer);
    }
    if (mpi_errno != MPI_SUCCESS) {
        MPIDI_FCI_flat_note(flat, mpi_errno);
        take_back(flat);
    }
    flat->posted = 0;
}

#endif
