/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives to which members bring different numbers of bytes. It is an error of the program; but
 * where one member goes by the group, because it has few, and another one below, each waits for the
 * other for ever. So each remembers what it was called with, and asks the others once it has waited
 * for long. They answer where they were called otherwise, and then the job ends. */
#include "netmod/openmpi/coll_fci.h"

#include <ompi/errhandler/errhandler.h>
#include <opal/runtime/opal_progress.h>
#include <string.h>
#include <unistd.h>

#define ASKED_AFTER 3.0     /* seconds; and again after as many more */
#define LOOK_EVERY 16u      /* turns */
#define IDLE_MOST 16u       /* turns */
#define ASKED_MOST 128      /* members, the lowest */
#define MESSAGE 1u          /* the number of the active message */
#define SAYING_MS 200

typedef struct {
    uint64_t key;           /* the communicator's */
    coll_fci_record record; /* of the sender */
    uint64_t is_answer;
} message;

static struct {
    coll_fci_module *known; /* all that have a group */
    coll_fci_module *waits; /* the module of the call that waits now; NULL: none */
    unsigned turns;         /* of that wait */
    double since;
    coll_fci_record other;  /* of another member, which differs; number 0: none is known */
    fci_icl_peer peer;      /* whose */
    bool is_open;           /* look_in_turn() is called, */
    unsigned idle;          /* and nothing has waited in so many turns */
} own;

static const char *const names[] = {
    [COLL_FCI_BARRIER] = "MPI_Barrier",     [COLL_FCI_BCAST] = "MPI_Bcast",
    [COLL_FCI_REDUCE] = "MPI_Reduce",       [COLL_FCI_ALLREDUCE] = "MPI_Allreduce",
    [COLL_FCI_GATHER] = "MPI_Gather",       [COLL_FCI_ALLGATHER] = "MPI_Allgather",
};

static const coll_fci_record *last_of(const coll_fci_module *module)
{
    return &module->records[module->calls % COLL_FCI_RECORDS];
}

static void say(const coll_fci_module *module, fci_icl_peer peer, bool is_answer,
                const coll_fci_record *record)
{
    const message it = { module->key, *record, is_answer };
    fci_icl_order order;
    (void) fci_icl_am_send(pml_fci.context, peer, MESSAGE, 0, &it, sizeof it, NULL, 0, NULL,
                           &order);
}

/* Another process has written it. */
static void hear(void *user, fci_icl_peer source, const void *header, size_t bytes,
                 const void *data, uint64_t data_bytes, struct fci_icl_am_landing *landing)
{
    message it;
    if (bytes != sizeof it || data_bytes != 0)
        return;
    memcpy(&it, header, sizeof it);
    coll_fci_module *module = own.known;
    while (module != NULL && module->key != it.key)
        module = module->next_known;
    if (module == NULL)
        return;
    const coll_fci_record *const mine =
        &module->records[it.record.number % COLL_FCI_RECORDS];
    const bool differs = mine->number == it.record.number && mine->kind == it.record.kind &&
        mine->bytes != it.record.bytes && mine->below != it.record.below;
    if (!differs)  /* or this member has not come to it */
        return;
    if (it.is_answer == 0) {
        say(module, source, true, mine);
    } else if (module == own.waits && mine->number == module->calls) {
        own.other = it.record;
        own.peer = source;
    }
}

static void ask(coll_fci_module *module)
{
    const pml_fci_comm *const comm = pml_fci_comm_of(module->comm);
    const int most = comm->size < ASKED_MOST ? comm->size : ASKED_MOST;
    pml_fci_enter();
    for (int rank = 0; rank < most; rank++)
        if (rank != ompi_comm_rank(module->comm) && comm->peers[rank] != PML_FCI_UNKNOWN)
            say(module, comm->peers[rank], false, last_of(module));
    pml_fci_exit();
}

/* Of a member; -1: of one that this process does not know by its rank. */
static int rank_of(const ompi_communicator_t *comm, fci_icl_peer peer)
{
    int rank = pml_fci_comm_of(comm)->size - 1;
    while (rank >= 0 && pml_fci_comm_of(comm)->peers[rank] != peer)
        rank--;
    return rank;
}

void coll_fci_tell_lengths(const coll_fci_module *module, int rank, size_t bytes)
{
    const coll_fci_record *const mine = last_of(module);
    char who[32] = "another rank", how_many[32] = "another number of";
    if (rank >= 0)
        (void) snprintf(who, sizeof who, "rank %d", rank);
    /* A table may say no more than that they differ, and says so by a number that none has. */
    if (rank >= 0 || bytes <= module->called.limits.longest)
        (void) snprintf(how_many, sizeof how_many, "%zu", bytes);
    opal_output(0, "fci: %s of %s: %s has %s bytes, rank %d has %zu. All ranks have to "
                "say the same: look for a count or a datatype that differs.", names[mine->kind],
                module->comm->c_name, who, how_many, ompi_comm_rank(module->comm),
                (size_t) mine->bytes);
    /* The job most often ends of it, and what a launcher has not brought from a host by then is
     * lost. */
    (void) usleep(SAYING_MS * 1000);
}

/* Nobody can take back what the others of the collective have done, so the job ends even if errors
 * are to return. */
static void end(coll_fci_module *module)
{
    const coll_fci_record *const mine = last_of(module);
    coll_fci_tell_lengths(module, rank_of(module->comm, own.peer), (size_t) own.other.bytes);
    own.waits = NULL;
    (void) OMPI_ERRHANDLER_INVOKE(module->comm, MPI_ERR_TRUNCATE, names[mine->kind]);
    (void) ompi_mpi_abort(module->comm, MPI_ERR_TRUNCATE);
}

void coll_fci_look(void)
{
    if (own.waits == NULL)
        return;
    if (own.other.number != 0)
        end(own.waits);
    else if (own.turns++ % LOOK_EVERY == 0) {
        const double now = MPI_Wtime();
        if (own.turns == 1) {
            own.since = now;
        } else if (now - own.since >= ASKED_AFTER) {
            own.since = now;
            ask(own.waits);
        }
    }
}

/* Open MPI calls it in each of its turns, but not for ever. */
static int look_in_turn(void)
{
    if (own.waits != NULL) {
        own.idle = 0;
        coll_fci_look();
    } else if (own.idle++ == IDLE_MOST) {
        opal_progress_unregister(look_in_turn);
        own.is_open = false;
    }
    return 0;
}

/* With threads several may wait at a time: then nobody is asked. */
coll_fci_module *coll_fci_begin_wait(coll_fci_module *module, bool below)
{
    coll_fci_module *const before = own.waits;
    if (module->called.group == NULL || pml_fci.context == NULL || opal_using_threads())
        return before;
    module->records[module->calls % COLL_FCI_RECORDS].below = below;
    if (below && !own.is_open) {
        own.idle = 0;
        own.is_open = opal_progress_register(look_in_turn) == OPAL_SUCCESS;
    }
    own.turns = 0;
    own.other.number = 0;
    own.waits = module;
    return before;
}

void coll_fci_end_wait(coll_fci_module *before)
{
    own.waits = before;
    own.turns = 0;
    own.other.number = 0;
}

void coll_fci_know(coll_fci_module *module, ompi_communicator_t *comm, uint64_t key)
{
    module->comm = comm;
    module->key = key;
    module->next_known = own.known;
    own.known = module;
    (void) fci_icl_am_register(pml_fci.context, MESSAGE, hear, NULL);
}

void coll_fci_forget(coll_fci_module *module)
{
    for (coll_fci_module **at = &own.known; *at != NULL; at = &(*at)->next_known)
        if (*at == module) {
            *at = module->next_known;
            break;
        }
    if (own.waits == module)
        own.waits = NULL;
    if (own.known == NULL && own.is_open) {
        opal_progress_unregister(look_in_turn);
        own.is_open = false;
    }
}
