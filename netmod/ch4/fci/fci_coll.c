/* SPDX-License-Identifier: BSD-3-Clause */
/* Small collectives, by the group of a communicator (icl.h). */
#include "mpidimpl.h"
#include "fci_impl.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_BARRIER_FCI_INTRA_ALGORITHM
      category    : COLLECTIVE
      type        : enum
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : |-
        How processes of one host do it, or one of each host
        mpir - by MPICH's algorithms
        fci  - by a table of flags, or FCI's messages, where that is possible
        auto - the same, unless MPIR_CVAR_BARRIER_INTRA_ALGORITHM names another one

    - name        : MPIR_CVAR_BCAST_FCI_INTRA_ALGORITHM
      category    : COLLECTIVE
      type        : enum
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : |-
        As MPIR_CVAR_BARRIER_FCI_INTRA_ALGORITHM; of up to 1088 bytes, and of
        more between hosts that hear multicast
        mpir - as there
        fci  - as there
        auto - as there

    - name        : MPIR_CVAR_ALLREDUCE_FCI_INTRA_ALGORITHM
      category    : COLLECTIVE
      type        : enum
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : |-
        As MPIR_CVAR_BCAST_FCI_INTRA_ALGORITHM
        mpir - as there
        fci  - as there
        auto - as there

    - name        : MPIR_CVAR_REDUCE_FCI_INTRA_ALGORITHM
      category    : COLLECTIVE
      type        : enum
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : |-
        As MPIR_CVAR_BCAST_FCI_INTRA_ALGORITHM
        mpir - as there
        fci  - as there
        auto - as there

    - name        : MPIR_CVAR_GATHER_FCI_INTRA_ALGORITHM
      category    : COLLECTIVE
      type        : enum
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : |-
        As MPIR_CVAR_BCAST_FCI_INTRA_ALGORITHM
        mpir - as there
        fci  - as there
        auto - as there

    - name        : MPIR_CVAR_ALLGATHER_FCI_INTRA_ALGORITHM
      category    : COLLECTIVE
      type        : enum
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : |-
        As MPIR_CVAR_BCAST_FCI_INTRA_ALGORITHM
        mpir - as there
        fci  - as there
        auto - as there

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

static int name_lost(MPIR_Comm * comm, uint32_t rank)
{
    return MPIDI_FCI_error(FCI_ICL_EPEER, rank == FCI_ICL_NO_RANK ? MPIDI_FCI_global.dead
                           : MPIDI_FCI_COMM_TO_PEER(comm, rank));
}

static int wrong_length(size_t came, size_t bytes)
{
    int mpi_errno = MPI_SUCCESS;
    if (came > bytes)
        MPIR_ERR_SET2(mpi_errno, MPI_ERR_TRUNCATE, "**truncate", "**truncate %d %d", (int) came,
                      (int) bytes);
#ifdef HAVE_ERROR_CHECKING
    else
        MPIR_ERR_SET2(mpi_errno, MPI_ERR_OTHER, "**collective_size_mismatch",
                      "**collective_size_mismatch %d %d", (int) came, (int) bytes);
#endif
    return mpi_errno;
}

/* Between two calls others of this process may come in, and where it takes long MPICH goes on with
 * all that it has. An error of progress is told; whether others will come tells the table. */
static int wait(int answer)
{
    const int mpi_errno = answer == FCI_ICL_EAGAIN ? MPID_Progress_test(NULL) : MPI_SUCCESS;
    MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    return mpi_errno;
}

/* MPIDI_FCI_PASSES: at all, it is to go by MPICH's algorithms. */
static int run(MPIR_Comm * comm, struct fci_icl_collective *it)
{
    const size_t bytes = it->bytes;
    int first = MPI_SUCCESS;

    for (;;) {
        MPIDI_FCI_ENTER();
        MPIDI_FCI_global.in_turn = true;        /* there may be one in it */
        const int answer =
            fci_icl_group_call(MPIDI_FCI_global.context, MPIDI_FCI_COMM(comm).group, it);
        MPIDI_FCI_global.in_turn = false;
        MPIDI_FCI_EXIT();
        if (likely(answer == FCI_ICL_DONE && it->bytes == bytes))
            return first;
        if (answer == FCI_ICL_DONE || answer == FCI_ICL_ETRUNC)
            return wrong_length(it->bytes, bytes);
        if (answer == FCI_ICL_EUNSUPPORTED)
            return MPIDI_FCI_PASSES;
        if (answer == FCI_ICL_EPEER)
            return name_lost(comm, it->lost);
        if (answer != FCI_ICL_OK && answer != FCI_ICL_EAGAIN)
            return MPIDI_FCI_error(answer, MPIDI_FCI_global.dead);
        const int mpi_errno = wait(answer);
        if (first == MPI_SUCCESS)
            first = mpi_errno;
    }
}

/* --- the group --- */

/* Of processes that started together: of one that came later its peers may have another card. */
static bool find_members(MPIR_Comm * comm, fci_icl_peer * members)
{
    for (int rank = 0; rank < comm->local_size; rank++) {
        if (!FCI_IS_OF_WORLD(comm, rank))
            return false;
        members[rank] = rank == comm->rank ? 0 : MPIDI_FCI_COMM_TO_PEER(comm, rank);
    }
    return true;
}

bool MPIDI_FCI_form_group(MPIR_Comm * comm)
{
    const int size = comm->local_size;
    fci_icl_peer *members = NULL;
    fci_icl_group *group = NULL;
    struct fci_icl_group_limits limits = { 0 };
    int answer = FCI_ICL_EUNREACHABLE;

    MPIDI_FCI_COMM(comm).asked = true;
    if (comm->comm_kind == MPIR_COMM_KIND__INTRACOMM && size > 1)
        members = MPL_calloc(size, sizeof *members, MPL_MEM_COMM);
    if (members != NULL && find_members(comm, members))
        answer = FCI_ICL_OK;
    while (answer == FCI_ICL_OK || answer == FCI_ICL_EAGAIN) {
        MPIDI_FCI_ENTER();
        MPIDI_FCI_global.in_turn = true;
        answer = fci_icl_group_form(MPIDI_FCI_global.context, members, size, comm->rank,
                                    comm->context_id, SIZE_MAX, &group);
        MPIDI_FCI_global.in_turn = false;
        MPIDI_FCI_EXIT();
        (void) wait(answer);
    }
    MPL_free(members);
    MPIDI_FCI_COMM(comm).group = group;
    if (answer != FCI_ICL_DONE && answer != FCI_ICL_EPEER) {
        MPIDI_FCI_leave_group(comm);
        return false;
    }
    fci_icl_group_limits(group, &limits);
    MPIDI_FCI_COMM(comm).longest = limits.longest;
    MPIDI_FCI_COMM(comm).broadcast = limits.broadcast;
    MPIDI_FCI_COMM(comm).gather = limits.gather;
    MPIDI_FCI_COMM(comm).keeps_order = limits.keeps_order;
    return true;
}

void MPIDI_FCI_leave_group(MPIR_Comm * comm)
{
    if (MPIDI_FCI_COMM(comm).group == NULL || MPIDI_FCI_global.context == NULL)
        return;
    MPIDI_FCI_ENTER();
    fci_icl_group_leave(MPIDI_FCI_global.context, MPIDI_FCI_COMM(comm).group);
    MPIDI_FCI_EXIT();
    MPIDI_FCI_COMM(comm).group = NULL;
}

/* --- the collectives --- */

int MPIDI_FCI_barrier(MPIR_Comm * comm)
{
    struct fci_icl_collective it = {.kind = FCI_ICL_BARRIER };
    return run(comm, &it);
}

int MPIDI_FCI_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, size_t bytes, int root,
                    MPIR_Comm * comm)
{
    struct fci_icl_collective it = {.kind = FCI_ICL_BROADCAST,.root = (uint32_t) root,
        .data = buffer,.bytes = bytes
    };
    char few[1024], *packed = few;
    int mpi_errno = MPI_SUCCESS;

    if (HANDLE_IS_BUILTIN(datatype))
        return run(comm, &it);
    if (bytes > sizeof few)
        packed = MPL_malloc(bytes, MPL_MEM_BUFFER);
    if (packed == NULL)
        return MPIDI_FCI_error(FCI_ICL_ENOMEM, 0);
    it.data = packed;
    if (comm->rank == root)
        mpi_errno = MPIR_Localcopy(buffer, count, datatype, packed, bytes, FCI_BYTE);
    const int ran = run(comm, &it);
    if (ran != MPIDI_FCI_PASSES)
        MPIR_ERR_ADD(mpi_errno, ran);
    if (comm->rank != root && ran == MPI_SUCCESS && mpi_errno == MPI_SUCCESS)
        mpi_errno = MPIR_Localcopy(packed, bytes, FCI_BYTE, buffer, count, datatype);
    if (packed != few)
        MPL_free(packed);
    return mpi_errno == MPI_SUCCESS ? ran : mpi_errno;
}

struct operation {
    MPI_Aint count;
    MPI_Datatype datatype;
    MPI_Op op;
    int mpi_errno;
};

static void apply(void *user, const void *in, void *inout)
{
    struct operation *const it = user;
    const int mpi_errno = MPIR_Reduce_local(in, inout, it->count, it->datatype, it->op);
    if (unlikely(mpi_errno != MPI_SUCCESS))
        it->mpi_errno = mpi_errno;
}

int MPIDI_FCI_reduce(const void *from, void *to, MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                     uint32_t root, MPIR_Comm * comm)
{
    struct operation what = { count, datatype, op, MPI_SUCCESS };
    struct fci_icl_collective it = {.kind = FCI_ICL_REDUCE,.root = root,
        .own = from == MPI_IN_PLACE ? to : from,.data = to,.reduction = {apply, &what}
    };
    MPI_Aint extent;

    MPIR_Datatype_get_extent_macro(datatype, extent);
    it.bytes = (size_t) (count * extent);
    const int mpi_errno = run(comm, &it);
    return mpi_errno != MPI_SUCCESS ? mpi_errno : what.mpi_errno;
}

/* Data that are not of a predefined datatype are packed, and unpacked where they come to. */
int MPIDI_FCI_gather(const void *from, MPI_Aint from_count, MPI_Datatype from_type, void *to,
                     MPI_Aint to_count, MPI_Datatype to_type, uint32_t root, MPIR_Comm * comm)
{
    const bool takes = root == MPIDI_FCI_ALL || root == (uint32_t) comm->rank;
    struct fci_icl_collective it = {.kind = FCI_ICL_GATHER,.root = root,.own = from,.data = to,
        .bytes = takes ? MPIDI_FCI_bytes_of(to_count, to_type)
            : MPIDI_FCI_bytes_of(from_count, from_type)
    };
    const size_t bytes = it.bytes, all = takes ? bytes * comm->local_size : 0;
    char own[bytes];
    char *packed = NULL;
    int mpi_errno = MPI_SUCCESS;

    if (from == MPI_IN_PLACE) {
        MPI_Aint extent;
        MPIR_Datatype_get_extent_macro(to_type, extent);
        it.own = (char *) to + comm->rank * to_count * extent;
        from_count = to_count;
        from_type = to_type;
    }
    if (!HANDLE_IS_BUILTIN(from_type)) {
        mpi_errno = MPIR_Localcopy(it.own, from_count, from_type, own, bytes, FCI_BYTE);
        it.own = own;
    }
    if (takes && !HANDLE_IS_BUILTIN(to_type)) {
        it.data = packed = MPL_malloc(all, MPL_MEM_BUFFER);
        if (packed == NULL)
            return MPIDI_FCI_error(FCI_ICL_ENOMEM, 0);
    }
    const int ran = run(comm, &it);
    MPIR_ERR_ADD(mpi_errno, ran);
    if (packed != NULL && mpi_errno == MPI_SUCCESS)
        mpi_errno = MPIR_Localcopy(packed, all, FCI_BYTE, to, to_count * comm->local_size, to_type);
    MPL_free(packed);
    return mpi_errno;
}
