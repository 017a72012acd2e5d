/* Small collectives among more processes than cores, for MPICH 4.0: one process collects from all
 * and answers all. That is linear in messages, which cost a tenth of a microsecond, and each
 * process is waited for once. The usual logarithmic algorithms make each wait several times, and
 * every wait is a change of process on some core, ten times as long.
 *
 * The messages are those that MPICH's collectives would exchange, sent and received without its
 * requests: the collector handles all of them while the others wait for it. */
#include "mpidimpl.h"
#include "fci_impl.h"
#include "fci_tag.h"
#include <sched.h>

#if FCI_FLAT_COLLECTIVES

#define COLLECTOR 0
#define PATIENCE_S 0.5

#define TOGETHER 32             /* messages that are waited for at once */
#define ROOM 4096               /* bytes of them, on the stack */

/* A look takes as long as a message, a change of process ten times that. */
#define LOOKS 60
#define YIELDS 64               /* then a wait is like any other, and may become sleep */

/* On which core, counted from 1, each peer was when it last sent; 0: not known. A hint, so peers
 * may share a place. */
#define PLACES 1024
static uint16_t places[PLACES];

static uint16_t here(void)
{
    return (uint16_t) (sched_getcpu() + 1);
}

/* All members must come to the same answer, so it rests on what all of them know: they started
 * together on one host, and the cores there as counted by whoever sees the fewest. */
void MPIDI_FCI_look_for_crowd(MPIR_Comm * comm)
{
    bool crowded = comm->local_size > 2 && comm->local_size <= MPIDI_FCI_FLAT_MOST &&
        (unsigned) MPIR_Process.local_size > MPIDI_FCI_global.cores;

    for (int rank = 0; crowded && rank < comm->local_size; rank++) {
        int lpid = 0, avtid = 0;

        MPIDIU_comm_rank_to_pid(comm, rank, &lpid, &avtid);
        crowded = avtid == 0 && FCI_RANK_IS_LOCAL(rank, comm);
    }
    MPIDI_FCI_COMM(comm).crowded = crowded ? MPIDI_FCI_CROWDED : MPIDI_FCI_NOT_CROWDED;
}

/* One collective, as one of its processes sees it. */
struct flat {
    MPIR_Comm *comm;
    int tag;
    size_t bytes;               /* of each message */
    MPIR_Errflag_t *errflag;    /* what others are told */
    int first;                  /* MPI error here */
    volatile int pending;       /* messages waited for, */
    int posted;                 /* of so many: */
    uint32_t peers[TOGETHER];
    bool came[TOGETHER];
    fci_icl_order orders[TOGETHER];
};

/* An error of one message does not keep the others waiting: it is told at the end. */
static void note(struct flat *flat, int mpi_errno)
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

static int outcome(const struct flat *flat)
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

static int wrong_length(const struct flat *flat, const struct fci_icl_status *status)
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
        note(flat, MPIDI_FCI_error(status->error, status->source));
    } else if (unlikely(MPIR_TAG_CHECK_ERROR_BIT(tag))) {
        if (*flat->errflag == MPIR_ERR_NONE)
            *flat->errflag = MPIR_TAG_CHECK_PROC_FAILURE_BIT(tag) ?
                MPIR_ERR_PROC_FAILED : MPIR_ERR_OTHER;
    } else if (unlikely(status->length != flat->bytes)) {
        note(flat, wrong_length(flat, status));
    }
}

static void expect(struct flat *flat, int rank, void *buffer)
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

static void tell(struct flat *flat, int rank, const void *buffer)
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
        note(flat, MPIC_Send(buffer, flat->bytes, MPI_BYTE, rank, flat->tag, comm, flat->errflag));
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

/* Whether somebody who is waited for was last on this core, and so must get it to go on. */
static bool is_needed_here(const struct flat *flat)
{
    const uint16_t this_one = here();

    for (int message = 0; message < flat->posted; message++) {
        const uint16_t place = places[flat->peers[message] % PLACES];
        if (!flat->came[message] && (place == this_one || place == 0))
            return true;
    }
    return false;
}

/* Who waits gives its core away at once: others on it must come to where this one is, or it is the
 * collector's. Only the collector knows when all others that are here have come; then they could
 * only pass this core on, which takes longer than looking on for who is at work elsewhere. */
static void await(struct flat *flat, bool collects)
{
    int mpi_errno = MPI_SUCCESS;

    for (int yields = 0; flat->pending > 0 && yields < YIELDS; yields++) {
        MPIDI_FCI_ENTER();
        (void) fci_icl_progress(MPIDI_FCI_global.context);
        for (int looks = 1; collects && flat->pending > 0 && looks < LOOKS &&
             !is_needed_here(flat); looks++)
            (void) fci_icl_wait(MPIDI_FCI_global.context, 0);
        MPIDI_FCI_EXIT();
        if (flat->pending > 0) {
            MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
            sched_yield();
        }
    }
    while (flat->pending > 0 && mpi_errno == MPI_SUCCESS) {
        mpi_errno = MPID_Progress_test(NULL);
        MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    }
    if (mpi_errno != MPI_SUCCESS) {
        note(flat, mpi_errno);
        take_back(flat);
    }
    flat->posted = 0;
}

/* --- the collectives --- */

/* First to those that are on other cores: the others must wait for this one anyway. */
static void send_to_all(struct flat *flat, const void *buffer)
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
            tell(flat, rank, buffer);
        }
    }
}

static void send_and_receive(struct flat *flat, const void *out, void *in)
{
    tell(flat, COLLECTOR, out);
    expect(flat, COLLECTOR, in);
    await(flat, false);
}

/* From all others, as many at once as there is room for; `take` gets what came, message after
 * message. */
static void collect(struct flat *flat, void (*take) (void *to, const void *messages, int count),
                    void *to)
{
    long double room[ROOM / sizeof(long double)];      /* aligned for all types */
    const int most = flat->bytes == 0 ? TOGETHER : MPL_MIN(TOGETHER, (int) (ROOM / flat->bytes));

    for (int rank = 1; rank < flat->comm->local_size;) {
        const int count = MPL_MIN(most, flat->comm->local_size - rank);
        for (int i = 0; i < count; i++)
            expect(flat, rank + i, (char *) room + i * flat->bytes);
        await(flat, true);
        if (take != NULL)
            take(to, room, count);
        rank += count;
    }
}

int MPIDI_FCI_flat_barrier(MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    struct flat flat = {.comm = comm,.tag = MPIR_BARRIER_TAG,.errflag = errflag };

    if (comm->rank != COLLECTOR) {
        send_and_receive(&flat, NULL, NULL);
    } else {
        collect(&flat, NULL, NULL);
        send_to_all(&flat, NULL);
    }
    return outcome(&flat);
}

int MPIDI_FCI_flat_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                         MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    struct flat flat = {.comm = comm,.tag = MPIR_BCAST_TAG,.errflag = errflag };
    const bool is_plain = HANDLE_IS_BUILTIN(datatype);
    char packed[MPIDI_FCI_FLAT_BYTES];
    void *const bytes = is_plain ? buffer : packed;

    MPIR_Datatype_get_size_macro(datatype, flat.bytes);
    flat.bytes *= count;
    if (comm->rank == root) {
        if (!is_plain)
            note(&flat, MPIR_Localcopy(buffer, count, datatype, packed, flat.bytes, MPI_BYTE));
        send_to_all(&flat, bytes);
    } else {
        expect(&flat, root, bytes);
        await(&flat, false);
        if (!is_plain && flat.first == MPI_SUCCESS)
            note(&flat, MPIR_Localcopy(packed, flat.bytes, MPI_BYTE, buffer, count, datatype));
    }
    return outcome(&flat);
}

struct reduction {
    struct flat *flat;
    void *result;
    MPI_Aint count;
    MPI_Datatype datatype;
    MPI_Op op;
};

static void reduce(void *to, const void *messages, int count)
{
    struct reduction *const reduction = to;
    for (int i = 0; i < count && reduction->flat->first == MPI_SUCCESS; i++)
        note(reduction->flat,
             MPIR_Reduce_local((const char *) messages + i * reduction->flat->bytes,
                               reduction->result, reduction->count, reduction->datatype,
                               reduction->op));
}

int MPIDI_FCI_flat_allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                             MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                             MPIR_Errflag_t * errflag)
{
    struct flat flat = {.comm = comm,.tag = MPIR_ALLREDUCE_TAG,.errflag = errflag };

    MPIR_Datatype_get_size_macro(datatype, flat.bytes);
    flat.bytes *= count;
    if (comm->rank != COLLECTOR) {
        send_and_receive(&flat, sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, recvbuf);
    } else {
        struct reduction reduction = { &flat, recvbuf, count, datatype, op };

        if (sendbuf != MPI_IN_PLACE)
            note(&flat, MPIR_Localcopy(sendbuf, count, datatype, recvbuf, count, datatype));
        collect(&flat, reduce, &reduction);
        send_to_all(&flat, recvbuf);
    }
    return outcome(&flat);
}

#endif
