/* SPDX-License-Identifier: BSD-3-Clause */
/* One source for several releases of MPICH, 4.0 to 5.0: what they changed has one name here. Where
 * the shape differs and not only a name, there are files for one of the two: *_4.[ch], *_5.[ch]. */
#ifndef FCI_COMPAT_H_INCLUDED
#define FCI_COMPAT_H_INCLUDED

#define FCI_MPICH(major, minor) (MPICH_NUMVERSION >= (major) * 10000000 + (minor) * 100000)

/* --- 4.1: one integer tells of a message what had an argument or a function of its own --- */

#if FCI_MPICH(4, 1)
#define FCI_CONTEXT_OFFSET(attr) MPIR_PT2PT_ATTR_CONTEXT_OFFSET(attr)
#define FCI_SEND_FLAGS(attr) (MPIR_PT2PT_ATTR_GET_SYNCFLAG(attr) ? FCI_ICL_SYNCHRONOUS : 0)
#define FCI_SEND_ERROR(attr) MPIR_PT2PT_ATTR_GET_ERRFLAG(attr)
#define FCI_CANCEL_ARGS MPIR_Request * rreq, bool is_blocking
#define FCI_REQUEST_COMPLETE(req) MPIDI_Request_complete_fast(req)
#define FCI_PACK_FLAGS , MPIR_TYPEREP_FLAG_NONE
#define FCI_RMA_COUNT MPI_Aint
#define FCI_PACK_BUFFER_BYTES ((size_t) MPIR_CVAR_CH4_PACK_BUFFER_SIZE)
/* One context and one lock; more of them would only wait for each other. */
#define FCI_ONE_VCI() (MPIDI_global.n_vcis = MPIDI_global.n_total_vcis = 1)
#define FCI_DIRECT_ADDRESSES(comm) NULL
#else
#define FCI_CONTEXT_OFFSET(attr) (attr)
#define FCI_SEND_FLAGS(attr) 0
#define FCI_SEND_ERROR(attr) 0
#define FCI_CANCEL_ARGS MPIR_Request * rreq
#define FCI_REQUEST_COMPLETE(req) MPIDIU_request_complete(req)
#define FCI_PACK_FLAGS
#define FCI_RMA_COUNT int
#define FCI_PACK_BUFFER_BYTES ((size_t) MPIR_CVAR_CH4_AM_PACK_BUFFER_SIZE)
#define FCI_ONE_VCI() (MPIDI_global.n_vcis = 1)
/* One process alone sends to itself, which is MPICH's. */
#define FCI_DIRECT_ADDRESSES(comm) \
    (MPIDI_COMM(comm, map).mode == MPIDI_RANK_MAP_DIRECT_INTRA && (comm)->remote_size > 1 ? \
     MPIDI_global.avt_mgr.av_table0->table : NULL)
#endif

/* --- 4.2: progress tells whether there was any, a request names its communicator, and collectives
 * are told of errors by value --- */

#if FCI_MPICH(4, 2)
#define FCI_PROGRESS_ARGS int vci, int *made_progress
#define FCI_PROGRESS_TELL(turns) \
    do { \
        if ((turns) > 0) \
            *made_progress = 1; \
    } while (0)
/* Its error handler is the one that is called, and it must not be freed and its id given to
 * another while the request is pending. Freeing the request releases it. */
#define FCI_REQUEST_SET_COMM(req, comm_ptr) \
    do { \
        if ((req)->comm == NULL) { \
            (req)->comm = (comm_ptr); \
            MPIR_Comm_add_ref(comm_ptr); \
        } \
    } while (0)
#define FCI_RANK_IS_LOCAL(rank, comm) MPIDIU_av_is_local(MPIDIU_comm_rank_to_av(comm, rank))
#define FCI_COLLECTIVE_FINALIZE (!MPIR_CVAR_NO_COLLECTIVE_FINALIZE)
#define FCI_COLL_ATTR MPIR_Errflag_t
#define FCI_CONTEXT_PT2PT MPIR_CONTEXT_PT2PT_OFFSET
#define FCI_CONTEXT_COLL MPIR_CONTEXT_COLL_OFFSET
#else
#define FCI_PROGRESS_ARGS int vci, int blocking
#define FCI_PROGRESS_TELL(turns) ((void) (turns))
#define FCI_REQUEST_SET_COMM(req, comm_ptr) ((void) (comm_ptr))
#define FCI_RANK_IS_LOCAL(rank, comm) MPIDIU_rank_is_local(rank, comm)
#define FCI_COLLECTIVE_FINALIZE 1
#define FCI_COLL_ATTR MPIR_Errflag_t *
#define FCI_CONTEXT_PT2PT MPIR_CONTEXT_INTRA_PT2PT
#define FCI_CONTEXT_COLL MPIR_CONTEXT_INTRA_COLL
#endif

/* --- 4.3: MPIR_TAG_USABLE_BITS is no mask any more but a number of bits, and a partitioned receive
 * is told whether a shmmod has it --- */

#if FCI_MPICH(4, 3)
#define FCI_USER_TAG_MASK MPIR_TAG_USABLE_MASK
#define FCI_PRECV_LOCALITY false,
#else
#define FCI_USER_TAG_MASK MPIR_TAG_USABLE_BITS
#define FCI_PRECV_LOCALITY
#endif

/* --- 5.0: processes are known by world and rank, and get acquainted communicator by communicator;
 * tables of a communicator are left out where a rule tells the same --- */

#if FCI_MPICH(5, 0)
#define FCI_BYTE MPIR_BYTE_INTERNAL
#define FCI_VCI_LOCK(vci) MPIDI_VCI_LOCK(vci)
#define FCI_AM_TAG_ARGS MPIR_Request * rreq
#define FCI_RANK_ON_HOST(comm, rank) \
    ((comm)->attr & MPIR_COMM_ATTR__HIERARCHY ? MPIR_Get_intranode_rank(comm, rank) : -1)
#undef FCI_COLL_ATTR
#define FCI_COLL_ATTR int
#define FCI_IS_OF_WORLD(comm, rank) (MPIR_LPID_WORLD_INDEX(MPIR_comm_rank_to_lpid(comm, rank)) == 0)
#define FCI_IS_ON_ONE_HOST(comm) \
    (MPIR_Comm_is_parent_comm(comm) && (comm)->num_external == 1)
#define FCI_FORGET_HIERARCHY(comm) ((comm)->hierarchy_flags &= ~MPIR_COMM_HIERARCHY__PARENT)
typedef MPIR_Lpid FCI_process;
#define FCI_PROCESS_AV(process) MPIDIU_lpid_to_av_slow(process)
#define FCI_WORLD_AV(rank) FCI_PROCESS_AV(rank)
/* MPICH connects and accepts with the lock held, which others get in between only by a yield. */
#define FCI_DYNAMIC_ENTER()
#define FCI_DYNAMIC_EXIT()
#define FCI_DYNAMIC_TURN() MPIDI_FCI_turn_and_yield()
#else
#define FCI_BYTE MPI_BYTE
#define FCI_VCI_LOCK(vci) MPIDI_VCI(vci).lock
#define FCI_AM_TAG_ARGS void
#define FCI_RANK_ON_HOST(comm, rank) \
    ((comm)->intranode_table != NULL ? (comm)->intranode_table[rank] : -1)
#define FCI_IS_OF_WORLD(comm, rank) \
    ({ int lpid_, avtid_; MPIDIU_comm_rank_to_pid(comm, rank, &lpid_, &avtid_); avtid_ == 0; })
#define FCI_IS_ON_ONE_HOST(comm) \
    ((comm)->hierarchy_kind == MPIR_COMM_HIERARCHY_KIND__PARENT && (comm)->node_comm != NULL && \
     (comm)->node_comm->local_size == (comm)->local_size)
#define FCI_FORGET_HIERARCHY(comm) ((comm)->hierarchy_kind = MPIR_COMM_HIERARCHY_KIND__FLAT)
typedef uint64_t FCI_process;
#define FCI_PROCESS_AV(process) \
    (&MPIDIU_get_av(MPIDIU_GPID_GET_AVTID(process), MPIDIU_GPID_GET_LPID(process)))
#define FCI_WORLD_AV(rank) (&MPIDIU_get_av(0, rank))
#define FCI_DYNAMIC_ENTER() MPIDI_FCI_ENTER()
#define FCI_DYNAMIC_EXIT() MPIDI_FCI_EXIT()
#define FCI_DYNAMIC_TURN() MPID_Progress_test(NULL)
#endif

#endif
