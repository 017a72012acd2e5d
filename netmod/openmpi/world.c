/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes and communicators. A process is its card, which goes through the launcher's exchange;
 * its number is asked for when it is first spoken to. */
#include "netmod/openmpi/pml_fci.h"

#include <ompi/proc/proc.h>

/* Of a process' endpoint: its peer number and one, so that NULL stays "unknown". */
#define TO_ENDPOINT(peer) ((void *) ((uintptr_t) (peer) + 1))
#define TO_PEER(endpoint) ((uint32_t) ((uintptr_t) (endpoint) - 1))

extern mca_pml_base_component_t mca_pml_fci_component;

int pml_fci_publish_card(void)
{
    unsigned char card[FCI_ICL_CARD_BYTES];
    int error;
    fci_icl_card(pml_fci.context, card);
    OPAL_MODEX_SEND(error, PML_FCI_GLOBAL, &mca_pml_fci_component.pmlm_version, card, sizeof card);
    if (error != OPAL_SUCCESS)
        opal_output(0, "fci: this process' card could not be given to the launcher (%s); was the "
                    "program started by Open MPI's mpirun or by a launcher with PMIx?",
                    opal_strerror(error));
    return error == OPAL_SUCCESS ? OMPI_SUCCESS : OMPI_ERROR;
}

static int add_proc(ompi_proc_t *proc)
{
    unsigned char *card = NULL;
    size_t bytes = 0;
    uint32_t peer;
    int error;
    OPAL_MODEX_RECV(error, &mca_pml_fci_component.pmlm_version, &proc->super.proc_name,
                    (uint8_t **) &card, &bytes);
    if (error != OPAL_SUCCESS || card == NULL || bytes != FCI_ICL_CARD_BYTES) {
        opal_output(0, "fci: rank %u of its job has no card of FCI (%s); it was perhaps started "
                    "with another --mca pml than this process, or with another version of FCI",
                    (unsigned) proc->super.proc_name.vpid,
                    error != OPAL_SUCCESS ? opal_strerror(error) : "wrong length");
        free(card);
        return OMPI_ERR_UNREACH;
    }
    pml_fci_enter();
    error = fci_icl_add_peer(pml_fci.context, card, &peer);
    pml_fci_exit();
    free(card);
    if (error < 0) {
        opal_output(0, "fci: rank %u of its job cannot be spoken to: %s",
                    (unsigned) proc->super.proc_name.vpid, fci_icl_strerror(error));
        /* Of two jobs that connect both end by this error. A process that has ended answers no
         * launcher's question for its card, and the process that asks would wait for ever. */
        if (error == FCI_ICL_EUNREACHABLE)
            sleep(1);
        return error == FCI_ICL_ENOMEM ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_ERR_UNREACH;
    }
    proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_PML] = TO_ENDPOINT(peer);
    return OMPI_SUCCESS;
}

int pml_fci_add_procs(struct ompi_proc_t **procs, size_t count)
{
    int error = mca_pml_base_pml_check_selected("fci", procs, count);
    for (size_t i = 0; i < count && error == OMPI_SUCCESS; i++)
        if (procs[i]->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_PML] == NULL)
            error = add_proc(procs[i]);
    return error;
}

/* A peer is never taken back: others may still send to it. It costs next to nothing. */
int pml_fci_del_procs(struct ompi_proc_t **procs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        procs[i]->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_PML] = NULL;
    return OMPI_SUCCESS;
}

int pml_fci_find_peer(ompi_communicator_t *comm, int rank, uint32_t *peer)
{
    ompi_proc_t *const proc = ompi_comm_peer_lookup(comm, rank);
    if (proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_PML] == NULL) {
        const int error = add_proc(proc);
        if (error != OMPI_SUCCESS)
            return error;
    }
    *peer = TO_PEER(proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_PML]);
    pml_fci_comm_of(comm)->peers[rank] = *peer;
    return OMPI_SUCCESS;
}

/* --- communicators --- */

/* Where ranks share a residue, a source is found by its peer number: then all must be known. */
static int find_all(ompi_communicator_t *comm, int size)
{
    int error = OMPI_SUCCESS;
    uint32_t peer;
    for (int rank = 0; rank < size && error == OMPI_SUCCESS; rank++)
        error = pml_fci_find_peer(comm, rank, &peer);
    return error;
}

static void set_idle(void)
{
    fci_icl_set_idle(pml_fci.context, pml_fci.computes ? FCI_ICL_KEEPS_CORE
                     : pml_fci.has_windows ? FCI_ICL_MAY_YIELD : FCI_ICL_MAY_SLEEP);
}

void pml_fci_count_windows(void)
{
    const opal_pointer_array_t *const windows = &ompi_mpi_windows;
    pml_fci.windows_free = windows->number_free;
    pml_fci.has_windows = windows->size - windows->number_free > 1;  /* MPI_WIN_NULL */
    set_idle();
}

void pml_fci_set_computes(bool computes)
{
    if (computes == pml_fci.computes || pml_fci.context == NULL)
        return;
    pml_fci.computes = computes;
    set_idle();
}

/* Discards messages that came on a communicator with this context id and were never received. */
static void discard_leftovers(uint64_t context)
{
    (void) fci_icl_discard(pml_fci.context, 0, context, PML_FCI_RANK_MASK | UINT32_MAX);
}

/* Discards also messages that are on their way. */
static void bring_in_and_discard(uint64_t context)
{
    enum { TURNS_MOST = 64 };
    pml_fci_enter();
    for (int turns = 0; turns < TURNS_MOST && !pml_fci.in_turn && pml_fci_turn() > 0; turns++) {
    }
    discard_leftovers(context);
    pml_fci_exit();
}

int pml_fci_add_comm(ompi_communicator_t *comm)
{
    const int size = comm->c_remote_group->grp_proc_count;
    const uint64_t context = (uint64_t) PML_FCI_CONTEXT_ID(comm) << PML_FCI_CONTEXT_SHIFT;
    pml_fci_comm *const own = malloc(sizeof *own + (size_t) size * sizeof own->peers[0]);
    if (own == NULL)
        return OMPI_ERR_OUT_OF_RESOURCE;
    own->receives = context;
    own->sends = context | (uint64_t) ompi_comm_rank(comm) << PML_FCI_RANK_SHIFT;
    own->size = size;
    for (int rank = 0; rank < size; rank++)
        own->peers[rank] = PML_FCI_UNKNOWN;
    comm->c_pml_comm = (struct mca_pml_comm_t *) own;
    /* Of communicators before this one that had its context id. Nobody has sent on this one yet:
     * Open MPI lets its members meet first, when each has added it. */
    bring_in_and_discard(context);
    pml_fci_call();
    /* A receive from any source hears of the death of each rank of the job that FCI knows. */
    if (comm == &ompi_mpi_comm_world.comm && size <= PML_FCI_RANKS_MET)
        (void) find_all(comm, size);
    const int error = size > PML_FCI_RANKS_TOLD ? find_all(comm, size) : OMPI_SUCCESS;
    if (error != OMPI_SUCCESS)
        (void) pml_fci_del_comm(comm);
    return error;
}

/* Also inside fci_icl_progress(), where the last request of the communicator has ended. */
int pml_fci_del_comm(ompi_communicator_t *comm)
{
    pml_fci_comm *const own = pml_fci_comm_of(comm);
    if (own != NULL && pml_fci.context != NULL)
        bring_in_and_discard(own->receives);
    free(own);
    comm->c_pml_comm = NULL;
    return OMPI_SUCCESS;
}

/* --- senders --- */

int pml_fci_rank_of(const ompi_communicator_t *comm, const struct fci_icl_status *status)
{
    const pml_fci_comm *const own = pml_fci_comm_of(comm);
    int rank = (int) (status->match >> PML_FCI_RANK_SHIFT);
    while (rank + PML_FCI_RANKS_TOLD < own->size && own->peers[rank] != status->source)
        rank += PML_FCI_RANKS_TOLD;
    return rank;
}

/* "rank 3 of MPI_COMM_WORLD", where it is one of them: also one that was never sent anything. */
static void name_peer(fci_icl_peer peer, char *text, size_t size)
{
    ompi_communicator_t *const world = &ompi_mpi_comm_world.comm;
    const int ranks = pml_fci_comm_of(world) != NULL ? pml_fci_comm_of(world)->size : 0;
    uint32_t other;
    snprintf(text, size, "a process of another job");
    for (int rank = 0; rank < ranks; rank++)
        if (pml_fci_peer_of(world, rank, &other) == OMPI_SUCCESS && other == peer)
            snprintf(text, size, "rank %d of MPI_COMM_WORLD", rank);
}

/* Whether this is the first time that this is asked for this peer. */
static bool is_news(fci_icl_peer peer)
{
    static fci_icl_peer *said;
    static size_t count;
    for (size_t i = 0; i < count; i++)
        if (said[i] == peer)
            return false;
    fci_icl_peer *const more = realloc(said, (count + 1) * sizeof *said);
    if (more != NULL) {
        said = more;
        said[count++] = peer;
    }
    return true;
}

/* Another version is said of one peer only: most often all of its host have it. opal_show_help()
 * would say it once for the job, but mpirun loses some of it where the job ends at once. */
static void say_lost(bool is_mismatch, const char *name, const char *reason)
{
    static bool is_said;
    if (!is_mismatch)
        opal_output(0, "fci: lost %s: %s", name, reason);
    else if (!is_said)
        opal_output(0, "fci: cannot speak to %s: %s", name, reason);
    is_said = is_said || is_mismatch;
}

int pml_fci_error(int code, fci_icl_peer peer)
{
    const bool lost =
        code == FCI_ICL_EPEER || code == FCI_ICL_EUNREACHABLE || code == FCI_ICL_EMISMATCH;
    const char *reason = lost ? fci_icl_peer_reason(pml_fci.context, peer) : NULL;
    char name[64];
    if (code == FCI_ICL_ETRUNC)
        return MPI_ERR_TRUNCATE;
    if (code == FCI_ICL_ENOMEM)
        return MPI_ERR_NO_MEM;
    if (reason == NULL || *reason == '\0')
        reason = code == FCI_ICL_EPEER
            ? "it has closed, or another rank, which told this one, has lost it and says why"
            : fci_icl_strerror(code);
    if (!lost) {
        opal_output(0, "fci: a message failed: %s", reason);
    } else if (is_news(peer)) {
        name_peer(peer, name, sizeof name);
        say_lost(code == FCI_ICL_EMISMATCH, name, reason);
    }
    return lost ? PML_FCI_PEER_LOST : MPI_ERR_OTHER;
}
