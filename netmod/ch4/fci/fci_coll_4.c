/* Small collectives among more processes than cores, for MPICH 4.0: one process collects from all
 * and answers all. That is linear in messages, which cost a tenth of a microsecond, and each
 * process is waited for once. The usual logarithmic algorithms make each wait several times, and
 * every wait is a change of process on some core, ten times as long. */
#include "mpidimpl.h"
#include "fci_impl.h"

#if FCI_FLAT_COLLECTIVES

#define COLLECTOR 0
#define PATIENCE_S 0.5

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

/* An error of one message does not keep the others waiting: it is told at the end. */
static void note(int mpi_errno, int *first, MPIR_Errflag_t * errflag)
{
    if (mpi_errno == MPI_SUCCESS)
        return;
    *errflag = MPIR_ERR_GET_CLASS(mpi_errno) == MPIX_ERR_PROC_FAILED ?
        MPIR_ERR_PROC_FAILED : MPIR_ERR_OTHER;
    MPIR_ERR_ADD(*first, mpi_errno);
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

static int outcome(int first, MPIR_Errflag_t errflag)
{
    int mpi_errno = first;

    if (mpi_errno != MPI_SUCCESS || errflag == MPIR_ERR_NONE)
        return mpi_errno;
    if (errflag == MPIR_ERR_PROC_FAILED && knows_the_dead())
        return MPIDI_FCI_error(FCI_ICL_EPEER, MPIDI_FCI_global.dead);
    MPIR_ERR_SET(mpi_errno, errflag, "**coll_fail");
    return mpi_errno;
}

static void send_to_all(const void *buffer, MPI_Aint count, MPI_Datatype datatype, int tag,
                        MPIR_Comm * comm, int *first, MPIR_Errflag_t * errflag)
{
    for (int rank = 0; rank < comm->local_size; rank++) {
        if (rank != comm->rank)
            note(MPIC_Send(buffer, count, datatype, rank, tag, comm, errflag), first, errflag);
    }
}

int MPIDI_FCI_flat_barrier(MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    int first = MPI_SUCCESS;

    if (comm->rank != COLLECTOR) {
        note(MPIC_Send(NULL, 0, MPI_BYTE, COLLECTOR, MPIR_BARRIER_TAG, comm, errflag), &first,
             errflag);
        note(MPIC_Recv(NULL, 0, MPI_BYTE, COLLECTOR, MPIR_BARRIER_TAG, comm, MPI_STATUS_IGNORE,
                       errflag), &first, errflag);
    } else {
        for (int rank = 1; rank < comm->local_size; rank++)
            note(MPIC_Recv(NULL, 0, MPI_BYTE, rank, MPIR_BARRIER_TAG, comm, MPI_STATUS_IGNORE,
                           errflag), &first, errflag);
        send_to_all(NULL, 0, MPI_BYTE, MPIR_BARRIER_TAG, comm, &first, errflag);
    }
    return outcome(first, *errflag);
}

#ifdef HAVE_ERROR_CHECKING
static int check_length(const MPI_Status * status, MPI_Aint count, MPI_Datatype datatype)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Aint wanted, received;

    MPIR_Datatype_get_size_macro(datatype, wanted);
    wanted *= count;
    MPIR_Get_count_impl(status, MPI_BYTE, &received);
    if (received != wanted)
        MPIR_ERR_SET2(mpi_errno, MPI_ERR_OTHER, "**collective_size_mismatch",
                      "**collective_size_mismatch %d %d", (int) received, (int) wanted);
    return mpi_errno;
}
#else
#define check_length(status, count, datatype) MPI_SUCCESS
#endif

int MPIDI_FCI_flat_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                         MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    int first = MPI_SUCCESS;

    if (comm->rank == root) {
        send_to_all(buffer, count, datatype, MPIR_BCAST_TAG, comm, &first, errflag);
    } else {
        MPI_Status status;
        const int answer = MPIC_Recv(buffer, count, datatype, root, MPIR_BCAST_TAG, comm, &status,
                                     errflag);

        note(answer != MPI_SUCCESS ? answer : check_length(&status, count, datatype), &first,
             errflag);
    }
    return outcome(first, *errflag);
}

int MPIDI_FCI_flat_allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                             MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                             MPIR_Errflag_t * errflag)
{
    int first = MPI_SUCCESS;
    const int tag = MPIR_ALLREDUCE_TAG;

    if (comm->rank != COLLECTOR) {
        note(MPIC_Send(sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, count, datatype, COLLECTOR, tag,
                       comm, errflag), &first, errflag);
        note(MPIC_Recv(recvbuf, count, datatype, COLLECTOR, tag, comm, MPI_STATUS_IGNORE, errflag),
             &first, errflag);
    } else {
        long double from_other[MPIDI_FCI_FLAT_BYTES / sizeof(long double)];

        if (sendbuf != MPI_IN_PLACE)
            note(MPIR_Localcopy(sendbuf, count, datatype, recvbuf, count, datatype), &first,
                 errflag);
        for (int rank = 1; rank < comm->local_size; rank++) {
            const int answer = MPIC_Recv(from_other, count, datatype, rank, tag, comm,
                                         MPI_STATUS_IGNORE, errflag);

            note(answer != MPI_SUCCESS ? answer :
                 MPIR_Reduce_local(from_other, recvbuf, count, datatype, op), &first, errflag);
        }
        send_to_all(recvbuf, count, datatype, tag, comm, &first, errflag);
    }
    return outcome(first, *errflag);
}

#endif
