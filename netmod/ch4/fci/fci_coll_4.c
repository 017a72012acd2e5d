/* Small collectives among more processes than cores, for MPICH 4.0: one process collects from all
 * and answers all. That is linear in messages, which cost a tenth of a microsecond, and each
 * process is waited for once. The usual logarithmic algorithms make each wait several times, and
 * every wait is a change of process on some core, ten times as long.
 *
 * The messages are those that MPICH's collectives would exchange, sent and received without its
 * requests: the collector handles all of them while the others wait for it. The smallest ones, of
 * few processes, need no messages at all: they go by a table of flags (icl.h, groups). */
#include "mpidimpl.h"
#include "fci_impl.h"
#include "fci_flat.h"

#if FCI_FLAT_COLLECTIVES

#define COLLECTOR 0
#define ROOM 4096               /* bytes of messages, on the stack */

static void send_and_receive(struct flat *flat, const void *out, void *in)
{
    MPIDI_FCI_flat_tell(flat, COLLECTOR, out);
    MPIDI_FCI_flat_expect(flat, COLLECTOR, in);
    MPIDI_FCI_flat_await(flat, false);
}

/* From all others, as many at once as there is room for; `take` gets what came, message after
 * message. */
static void collect(struct flat *flat, void (*take) (void *to, const void *messages, int count),
                    void *to)
{
    long double room[ROOM / sizeof(long double)];      /* aligned for all types */
    const int most = flat->bytes == 0 ? MPIDI_FCI_FLAT_TOGETHER :
        MPL_MIN(MPIDI_FCI_FLAT_TOGETHER, (int) (ROOM / flat->bytes));

    for (int rank = 1; rank < flat->comm->local_size;) {
        const int count = MPL_MIN(most, flat->comm->local_size - rank);
        for (int i = 0; i < count; i++)
            MPIDI_FCI_flat_expect(flat, rank + i, (char *) room + i * flat->bytes);
        MPIDI_FCI_flat_await(flat, true);
        if (take != NULL)
            take(to, room, count);
        rank += count;
    }
}

/* --- by the table of a group --- */

enum by_table { BARRIER, BCAST, GATHER };

static bool has_table(const struct flat *flat)
{
    return MPIDI_FCI_COMM(flat->comm).group != NULL && flat->bytes <= FCI_ICL_GROUP_BYTES;
}

static void check_length(struct flat *flat, size_t came)
{
    const struct fci_icl_status status = {.length = came,
        .error = came > flat->bytes ? FCI_ICL_ETRUNC : FCI_ICL_OK
    };

    if (unlikely(came != flat->bytes))
        MPIDI_FCI_flat_note(flat, MPIDI_FCI_flat_wrong_length(flat, &status));
}

static int step(const struct flat *flat, enum by_table which, int root, void *buffer,
                size_t * bytes)
{
    fci_icl_context *const context = MPIDI_FCI_global.context;
    fci_icl_group *const group = MPIDI_FCI_COMM(flat->comm).group;

    switch (which) {
        case BARRIER:
            return fci_icl_group_barrier(context, group);
        case BCAST:
            return fci_icl_group_broadcast(context, group, root, buffer, bytes);
        default:
            return fci_icl_group_gather(context, group, buffer, *bytes);
    }
}

/* False: somebody has died who is waited for. An error of progress is told; the table tells by
 * itself whether what is waited for will come. */
static bool by_table(struct flat *flat, enum by_table which, int root, void *buffer)
{
    size_t bytes = flat->bytes;
    int answer;

    for (;;) {
        MPIDI_FCI_ENTER();
        answer = step(flat, which, root, buffer, &bytes);
        MPIDI_FCI_EXIT();
        if (answer != FCI_ICL_OK && answer != FCI_ICL_EAGAIN)
            break;
        const int mpi_errno = MPIDI_FCI_flat_pause(answer);
        if (flat->first == MPI_SUCCESS)
            MPIDI_FCI_flat_note(flat, mpi_errno);
    }
    if (answer != FCI_ICL_DONE)
        *flat->errflag = MPIR_ERR_PROC_FAILED;
    else
        check_length(flat, bytes);
    return answer == FCI_ICL_DONE;
}

void MPIDI_FCI_flat_leave(MPIR_Comm * comm)
{
    if (MPIDI_FCI_COMM(comm).group == NULL || MPIDI_FCI_global.context == NULL)
        return;
    MPIDI_FCI_ENTER();
    fci_icl_group_leave(MPIDI_FCI_global.context, MPIDI_FCI_COMM(comm).group);
    MPIDI_FCI_EXIT();
    MPIDI_FCI_COMM(comm).group = NULL;
}

/* --- the collectives --- */

int MPIDI_FCI_flat_barrier(MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    struct flat flat = {.comm = comm,.tag = MPIR_BARRIER_TAG,.errflag = errflag };

    if (has_table(&flat)) {
        by_table(&flat, BARRIER, 0, NULL);
    } else if (comm->rank != COLLECTOR) {
        send_and_receive(&flat, NULL, NULL);
    } else {
        collect(&flat, NULL, NULL);
        MPIDI_FCI_flat_tell_all(&flat, NULL);
    }
    return MPIDI_FCI_flat_outcome(&flat);
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
    if (comm->rank == root && !is_plain)
        MPIDI_FCI_flat_note(&flat, MPIR_Localcopy(buffer, count, datatype, packed, flat.bytes,
                                                  MPI_BYTE));
    if (has_table(&flat)) {
        by_table(&flat, BCAST, root, bytes);
    } else if (comm->rank == root) {
        MPIDI_FCI_flat_tell_all(&flat, bytes);
    } else {
        MPIDI_FCI_flat_expect(&flat, root, bytes);
        MPIDI_FCI_flat_await(&flat, false);
    }
    if (comm->rank != root && !is_plain && flat.first == MPI_SUCCESS)
        MPIDI_FCI_flat_note(&flat, MPIR_Localcopy(packed, flat.bytes, MPI_BYTE, buffer, count,
                                                  datatype));
    return MPIDI_FCI_flat_outcome(&flat);
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
        MPIDI_FCI_flat_note(reduction->flat,
                            MPIR_Reduce_local((const char *) messages + i * reduction->flat->bytes,
                                              reduction->result, reduction->count,
                                              reduction->datatype, reduction->op));
}

/* Each reduces for itself what all have brought, in the order of their ranks, so that all come to
 * the same. */
static void reduce_by_table(struct reduction *reduction, void *brought)
{
    struct flat *const flat = reduction->flat;

    if (!by_table(flat, GATHER, 0, brought))
        return;
    for (int rank = 0; rank < flat->comm->local_size; rank++) {
        size_t came;
        const void *const there =
            fci_icl_group_gathered(MPIDI_FCI_COMM(flat->comm).group, rank, &came);
        check_length(flat, came);
        if (came != flat->bytes)
            continue;
        if (rank == 0)
            memcpy(reduction->result, there, came);
        else
            reduce(reduction, there, 1);
    }
}

int MPIDI_FCI_flat_allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                             MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                             MPIR_Errflag_t * errflag)
{
    struct flat flat = {.comm = comm,.tag = MPIR_ALLREDUCE_TAG,.errflag = errflag };

    MPIR_Datatype_get_size_macro(datatype, flat.bytes);
    flat.bytes *= count;
    void *const brought = sendbuf == MPI_IN_PLACE ? recvbuf : (void *) sendbuf;
    struct reduction reduction = { &flat, recvbuf, count, datatype, op };
    if (has_table(&flat)) {
        reduce_by_table(&reduction, brought);
    } else if (comm->rank != COLLECTOR) {
        send_and_receive(&flat, brought, recvbuf);
    } else {
        if (sendbuf != MPI_IN_PLACE)
            MPIDI_FCI_flat_note(&flat, MPIR_Localcopy(sendbuf, count, datatype, recvbuf, count,
                                                      datatype));
        collect(&flat, reduce, &reduction);
        MPIDI_FCI_flat_tell_all(&flat, recvbuf);
    }
    return MPIDI_FCI_flat_outcome(&flat);
}

/* --- who takes part --- */

static bool join(MPIR_Comm * comm, const struct fci_icl_table *table)
{
    fci_icl_peer members[FCI_ICL_GROUP_MEMBERS];
    fci_icl_group *group;

    for (int rank = 0; rank < comm->local_size; rank++)
        members[rank] = rank == comm->rank ? 0 : MPIDI_FCI_COMM_TO_PEER(comm, rank);
    MPIDI_FCI_ENTER();
    const int answer = fci_icl_group_join(MPIDI_FCI_global.context, members, comm->local_size,
                                          comm->rank, COLLECTOR, table, &group);
    MPIDI_FCI_EXIT();
    MPIDI_FCI_COMM(comm).group = group;
    return answer == FCI_ICL_OK;
}

/* All have a table at the collector, or none. They tell each other: who has heard from another one
 * hears of its death. */
static void find_table(MPIR_Comm * comm)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    struct flat flat = {.comm = comm,.tag = MPIR_ALLGATHER_TAG,.errflag = &errflag,.bytes = 1 };
    struct fci_icl_table table = { 0, 0 };
    char there[FCI_ICL_GROUP_MEMBERS];
    char here;

    if (comm->rank == COLLECTOR) {
        MPIDI_FCI_ENTER();
        fci_icl_group_offer(MPIDI_FCI_global.context, comm->local_size, &table);
        MPIDI_FCI_EXIT();
    }
    const int mpi_errno =
        MPIDI_FCI_flat_bcast(&table, sizeof table, MPI_BYTE, COLLECTOR, comm, &errflag);
    here = mpi_errno == MPI_SUCCESS && join(comm, &table);
    bool all = here;
    MPIDI_FCI_flat_tell_all(&flat, &here);
    for (int rank = 0; rank < comm->local_size; rank++)
        if (rank != comm->rank)
            MPIDI_FCI_flat_expect(&flat, rank, &there[rank]);
    MPIDI_FCI_flat_await(&flat, true);
    for (int rank = 0; rank < comm->local_size; rank++)
        all = all && (rank == comm->rank || there[rank]);
    if (!all || MPIDI_FCI_flat_outcome(&flat) != MPI_SUCCESS)
        MPIDI_FCI_flat_leave(comm);
}

/* All members must come to the same answer, so it rests on what all of them know: they started
 * together on one host, and the cores there as counted by whoever sees the fewest. */
void MPIDI_FCI_look_for_crowd(MPIR_Comm * comm)
{
    /* Where a message waits at its sender to be asked for, all would wait for each other. */
    bool crowded = MPIDI_FCI_global.inject_bytes != 0 && comm->local_size > 2 &&
        comm->local_size <= MPIDI_FCI_FLAT_MOST &&
        (unsigned) MPIR_Process.local_size > MPIDI_FCI_global.cores;

    for (int rank = 0; crowded && rank < comm->local_size; rank++) {
        int lpid = 0, avtid = 0;

        MPIDIU_comm_rank_to_pid(comm, rank, &lpid, &avtid);
        crowded = avtid == 0 && FCI_RANK_IS_LOCAL(rank, comm);
    }
    MPIDI_FCI_COMM(comm).crowded = crowded ? MPIDI_FCI_CROWDED : MPIDI_FCI_NOT_CROWDED;
    if (crowded && comm->local_size <= (int) FCI_ICL_GROUP_MEMBERS)
        find_table(comm);
}

#endif
