/* SPDX-License-Identifier: BSD-3-Clause */
/* The context: from nothing to one, and back. Peers come to it in fci_world_*.c and fci_spawn.c. */
#include "mpidimpl.h"
#include "fci_impl.h"
#include "fci_match.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

categories :
    - name : CH4_FCI
      description : A category for CH4 FCI netmod variables

cvars:
    - name        : MPIR_CVAR_CH4_FCI_DRIVER
      category    : CH4_FCI
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        The driver that carries messages; fci_info lists them. Unset: what FCI_DRIVER says, or the
        best one that works here.

    - name        : MPIR_CVAR_CH4_FCI_PROTOCOL
      category    : CH4_FCI
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        The protocol between processes, as FCI_PROTOCOL names it. Unset: what that says, or
        enhanced-mixed. All processes must have the same.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

/* Any two MPICH processes of one user may connect (MPI_Comm_connect), whatever launcher started
 * them; strangers at a reused place are told by the incarnation in their card. */
#define JOB UINT64_C(0x4d50494348464349)

static int open_context(void)
{
    int mpi_errno = MPI_SUCCESS;
    char *why = NULL;
    const struct fci_icl_config config = {
        .version = FCI_ICL_VERSION,
        .driver = MPIR_CVAR_CH4_FCI_DRIVER,
        .protocol = MPIR_CVAR_CH4_FCI_PROTOCOL,
        .job = JOB,
        .job_ranks = (uint32_t) MPIR_Process.size,
        .launch = MPIR_pmi_job_id(),
        .user_agent = "MPICH " MPICH_VERSION
    };
    struct fci_icl_limits limits;

    if (fci_icl_open(&config, &MPIDI_FCI_global.context, &why) != FCI_ICL_OK)
        MPIR_ERR_SETANDJUMP1(mpi_errno, MPI_ERR_OTHER, "**fci_nm_open", "**fci_nm_open %s",
                             why ? why : "no reason is known");
    if (MPIR_ThreadInfo.thread_provided == MPI_THREAD_MULTIPLE)
        fci_icl_share(MPIDI_FCI_global.context);
    fci_icl_limits(MPIDI_FCI_global.context, &limits);
    MPIDI_FCI_global.inject_bytes = limits.inject_bytes;
    MPIDI_FCI_global.am_eager_bytes =
        MPL_MIN(limits.am_header_bytes, FCI_PACK_BUFFER_BYTES);
    MPIDI_FCI_am_register();
    MPIDI_FCI_register_counters();
    fci_icl_on_death(MPIDI_FCI_global.context, MPIDI_FCI_peer_died, NULL);

    if (MPIR_CVAR_DEBUG_SUMMARY && MPIR_Process.rank == 0) {
        printf("==== FCI netmod ====\n");
        printf("%s\n", fci_icl_summary(MPIDI_FCI_global.context));
        printf("inline bytes: %zu, eager bytes: %zu, announced receives from: %zu bytes\n",
               limits.inline_bytes, limits.eager_bytes, limits.offer_bytes);
        printf("tag bits: %d, context bits: %d\n", MPIDI_FCI_TAG_BITS, MPIDI_FCI_CONTEXT_BITS);
        printf("====================\n");
    }

  fn_exit:
    MPL_external_free(why);     /* of libfci, which has no part in MPICH's memory checks */
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void close_context(void)
{
    if (MPIDI_FCI_global.context != NULL)
        (void) fci_icl_close(MPIDI_FCI_global.context, FCI_ICL_LINGER);
    MPL_free(MPIDI_FCI_global.gpids);
    memset(&MPIDI_FCI_global, 0, sizeof MPIDI_FCI_global);
}

int MPIDI_FCI_init_local(int *tag_bits)
{
    MPL_COMPILE_TIME_ASSERT(MPIR_CONTEXT_ID_BITS <= MPIDI_FCI_CONTEXT_BITS);
    *tag_bits = MPL_MIN(MPIDI_FCI_TAG_BITS, MPIR_TAG_BITS_DEFAULT);
    FCI_ONE_VCI();
    return open_context();
}

/* Closing writes out what others still wait for, and the PMI barrier would not: so it is first. */
int MPIDI_FCI_mpi_finalize_hook(void)
{
    if (MPIDI_FCI_global.context == NULL)
        return MPI_SUCCESS;
    close_context();
    return FCI_COLLECTIVE_FINALIZE ? MPIR_pmi_barrier() : MPI_SUCCESS;
}

void *MPIDI_FCI_mpi_alloc_mem(MPI_Aint size, MPIR_Info * info)
{
    return MPIDIG_mpi_alloc_mem(size, info);
}

int MPIDI_FCI_mpi_free_mem(void *ptr)
{
    return MPIDIG_mpi_free_mem(ptr);
}
