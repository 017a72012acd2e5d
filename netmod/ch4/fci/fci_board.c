/* The flag tables of section 2.6.11, on the board of one process, which all members of a
 * communicator load and store: who comes to a collective says so in one word of a line that all
 * share. A message to each of the others would do the same; it costs ten times as much, and the
 * processes of a core pay for it one after the other.
 *
 *   part    | written by                | read by
 *   at      | each member, its own word | all: the number of the last collective it has come to
 *   core    | each member, its own byte | all: a hint, who need not give the core away
 *   asleep  | each member, its own byte | whoever stores what that one may wait for
 *   said    | the root of a broadcast   | all; KEPT broadcasts, and none is overwritten before all
 *           |                           | are known to be past it
 *   brought | each member, its own two  | all, in a reduction; two, since who comes to the second
 *           |                           | next one has seen all come to the next
 *
 * Numbers only grow, also when a place is given to another communicator. */
#include "mpidimpl.h"
#include "fci_impl.h"
#include "fci_board.h"
#include <sched.h>

#if FCI_FLAT_COLLECTIVES

#define LINE 64
#define KEPT 16                 /* broadcasts */
#define LOOKS_FOR_THE_GONE 16   /* who went without dying, which nobody is told of */
#define LENGTH_BITS 6

struct entry {
    char data[MPIDI_FCI_BOARD_BYTES];
    MPL_atomic_uint64_t word;   /* number and length of a broadcast; length of what was brought */
} __attribute__ ((aligned(LINE)));

struct place {
    MPL_atomic_uint64_t at[MPIDI_FCI_BOARD_MOST] __attribute__ ((aligned(LINE)));
    MPL_atomic_int_t sleepers __attribute__ ((aligned(LINE)));
    volatile uint8_t asleep[MPIDI_FCI_BOARD_MOST];
    volatile uint8_t core[MPIDI_FCI_BOARD_MOST];        /* counted from 1, modulo 256 */
    struct entry said[KEPT];
    struct entry brought[MPIDI_FCI_BOARD_MOST][2];
};

#define PLACES MPIDI_FCI_BOARD_PLACES
MPL_static_assert(PLACES * sizeof(struct place) <= FCI_ICL_BOARD_BYTES, "all have room");
MPL_static_assert(MPIDI_FCI_BOARD_BYTES < 1 << LENGTH_BITS, "a length fits into its bits");

#define OWN(comm) MPIDI_FCI_COMM(comm)
#define PLACE(comm) ((struct place *) OWN(comm).board)

/* --- coming and leaving --- */

static bool all_at(const struct place *place, int members, uint64_t number)
{
    for (int rank = 0; rank < members; rank++)
        if (MPL_atomic_acquire_load_uint64(&place->at[rank]) < number)
            return false;
    return true;
}

static struct place *board_of(uint32_t peer)
{
    MPIDI_FCI_ENTER();
    struct place *const board = fci_icl_board(MPIDI_FCI_global.context, peer);
    MPIDI_FCI_EXIT();
    return board;
}

/* Counted from 0; PLACES: none is free. One is free again when all who had it have left it. */
static int take_free_place(const struct place *board, int members)
{
    struct MPIDI_FCI_board_place *const places = MPIDI_FCI_global.places;
    int i;

    MPIDI_FCI_ENTER();
    for (i = 0; i < PLACES; i++)
        if (!places[i].taken && all_at(&board[i], places[i].members, places[i].number))
            break;
    if (i < PLACES) {
        places[i].taken = true;
        places[i].members = members;
    }
    MPIDI_FCI_EXIT();
    return i;
}

void MPIDI_FCI_board_offer(MPIR_Comm * comm, struct MPIDI_FCI_board_offer *offer)
{
    struct place *const board = board_of(0);
    const int i = board == NULL ? PLACES : take_free_place(board, comm->local_size);

    offer->place = offer->number = 0;
    if (i == PLACES)
        return;
    struct place *const place = &board[i];
    for (int rank = 0; rank < MPIDI_FCI_BOARD_MOST; rank++) {
        MPL_atomic_release_store_uint64(&place->at[rank], MPIDI_FCI_global.places[i].number);
        place->asleep[rank] = place->core[rank] = 0;
    }
    MPL_atomic_release_store_int(&place->sleepers, 0);
    offer->place = i + 1;
    offer->number = MPIDI_FCI_global.places[i].number;
}

bool MPIDI_FCI_board_take(MPIR_Comm * comm, int owner, const struct MPIDI_FCI_board_offer *offer)
{
    const uint32_t peer = comm->rank == owner ? 0 : MPIDI_FCI_COMM_TO_PEER(comm, owner);
    struct place *const board = offer->place == 0 || offer->place > PLACES ? NULL : board_of(peer);

    OWN(comm).board = board == NULL ? NULL : &board[offer->place - 1];
    OWN(comm).board_owned = board != NULL && comm->rank == owner;
    OWN(comm).board_number = OWN(comm).board_all_at = offer->number;
    OWN(comm).board_gathers = 0;
    return board != NULL;
}

/* --- telling --- */

/* Who sleeps has said so and looked once more since; whoever calls this has stored something. */
static void wake_sleepers(MPIR_Comm * comm)
{
    const struct place *const place = PLACE(comm);

    MPL_atomic_read_write_barrier();
    if (likely(MPL_atomic_relaxed_load_int(&place->sleepers) == 0))
        return;
    for (int rank = 0; rank < comm->local_size; rank++) {
        if (place->asleep[rank] == 0)
            continue;
        MPIDI_FCI_ENTER();
        (void) fci_icl_am_send(MPIDI_FCI_global.context, MPIDI_FCI_COMM_TO_PEER(comm, rank),
                               MPIDI_FCI_AM_WAKE, 0, NULL, 0, NULL, 0, NULL, NULL);
        MPIDI_FCI_EXIT();
    }
}

static void come_to(MPIR_Comm * comm, uint64_t number)
{
    MPL_atomic_release_store_uint64(&PLACE(comm)->at[comm->rank], number);
}

void MPIDI_FCI_board_leave(MPIR_Comm * comm)
{
    if (!MPIDI_FCI_HAS_BOARD(comm) || MPIDI_FCI_global.context == NULL)
        return;
    /* A number of its own, since who has come to the last collective may still be reading. Nobody
     * sleeps over it: who waits for others to be past something has yet to say what comes then. */
    come_to(comm, ++OWN(comm).board_number);
    if (OWN(comm).board_owned) {
        const ptrdiff_t i = PLACE(comm) - board_of(0);
        MPIDI_FCI_ENTER();
        MPIDI_FCI_global.places[i].taken = false;
        MPIDI_FCI_global.places[i].number = OWN(comm).board_number;
        MPIDI_FCI_EXIT();
    }
    OWN(comm).board = NULL;
}

/* --- waiting --- */

/* For all members to come to a number, or for a root to have said something. */
struct wanted {
    MPIR_Comm *comm;
    uint64_t number;
    const struct entry *said;   /* or NULL */
    int root;
};

static bool is_here(const struct wanted *wanted)
{
    if (wanted->said != NULL)
        return MPL_atomic_acquire_load_uint64(&wanted->said->word) >> LENGTH_BITS ==
            wanted->number;
    return all_at(PLACE(wanted->comm), wanted->comm->local_size, wanted->number);
}

static bool lacks(const struct wanted *wanted, int rank)
{
    if (wanted->said != NULL)
        return rank == wanted->root;
    return MPL_atomic_relaxed_load_uint64(&PLACE(wanted->comm)->at[rank]) < wanted->number;
}

/* Somebody who is waited for was last on this core, and so must get it to go on. */
static bool is_needed_here(const struct wanted *wanted)
{
    struct place *const place = PLACE(wanted->comm);
    const uint8_t here = (uint8_t) (sched_getcpu() + 1);

    if (place->core[wanted->comm->rank] != here)
        place->core[wanted->comm->rank] = here;
    for (int rank = 0; rank < wanted->comm->local_size; rank++) {
        const uint8_t core = place->core[rank];
        if (rank != wanted->comm->rank && (core == here || core == 0) && lacks(wanted, rank))
            return true;
    }
    return false;
}

/* Somebody who is waited for is gone. */
static bool is_in_vain(const struct wanted *wanted)
{
    bool gone = false;

    MPIDI_FCI_ENTER();
    for (int rank = 0; rank < wanted->comm->local_size && !gone; rank++) {
        const uint32_t peer = MPIDI_FCI_COMM_TO_PEER(wanted->comm, rank);
        gone = rank != wanted->comm->rank && lacks(wanted, rank) &&
            *fci_icl_peer_reason(MPIDI_FCI_global.context, peer) != '\0';
    }
    MPIDI_FCI_EXIT();
    return gone;
}

/* Long enough that others compute, or have no core. */
static bool await_asleep(const struct wanted *wanted)
{
    struct place *const place = PLACE(wanted->comm);
    int mpi_errno = MPI_SUCCESS;
    bool here;

    place->asleep[wanted->comm->rank] = 1;
    MPL_atomic_fetch_add_int(&place->sleepers, 1);
    MPL_atomic_read_write_barrier();
    for (int looks = 1; !(here = is_here(wanted)) && mpi_errno == MPI_SUCCESS; looks++) {
        /* Who does much between two questions would be taken for one that computes. */
        if ((MPIDI_FCI_global.broken || looks % LOOKS_FOR_THE_GONE == 0) && is_in_vain(wanted))
            break;
        /* Only who waits for a message is let sleep for long; this is one that comes. */
        MPIDI_FCI_ENTER();
        (void) fci_icl_probe(MPIDI_FCI_global.context, FCI_ICL_ANY_SOURCE,
                             MPIDI_FCI_SPACE_DYNAMIC, ~UINT64_C(0), 0, NULL, NULL);
        MPIDI_FCI_EXIT();
        mpi_errno = MPID_Progress_test(NULL);
        MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    }
    place->asleep[wanted->comm->rank] = 0;
    MPL_atomic_fetch_add_int(&place->sleepers, -1);
    return here;
}

static bool await(const struct wanted *wanted)
{
    for (int yields = 0; yields < MPIDI_FCI_FLAT_YIELDS; yields++) {
        for (int looks = 0; looks < MPIDI_FCI_FLAT_LOOKS; looks++) {
            if (is_here(wanted))
                return true;
            if (is_needed_here(wanted))
                break;
        }
        /* Not progress: this is no row of questions in vain, over which one may fall asleep. */
        MPIDI_FCI_ENTER();
        (void) fci_icl_wait(MPIDI_FCI_global.context, 0);
        MPIDI_FCI_EXIT();
        MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
        sched_yield();
    }
    return await_asleep(wanted);
}

static bool await_all(MPIR_Comm * comm, uint64_t number)
{
    const struct wanted wanted = {.comm = comm,.number = number };
    uint64_t least = UINT64_MAX;

    if (!await(&wanted))
        return false;
    for (int rank = 0; rank < comm->local_size; rank++)
        least = MPL_MIN(least, MPL_atomic_relaxed_load_uint64(&PLACE(comm)->at[rank]));
    OWN(comm).board_all_at = least;
    return true;
}

/* --- the collectives --- */

/* The last one to come wakes who has slept over it. */
static bool meet(MPIR_Comm * comm, uint64_t number)
{
    come_to(comm, number);
    MPL_atomic_read_write_barrier();
    if (all_at(PLACE(comm), comm->local_size, number)) {
        OWN(comm).board_all_at = number;
        wake_sleepers(comm);
        return true;
    }
    return await_all(comm, number);
}

bool MPIDI_FCI_board_barrier(MPIR_Comm * comm)
{
    return meet(comm, ++OWN(comm).board_number);
}

static bool say(MPIR_Comm * comm, struct entry *said, const void *buffer, size_t bytes)
{
    const uint64_t number = OWN(comm).board_number;

    /* All must be past what lies there. */
    if (number > OWN(comm).board_all_at + KEPT && !await_all(comm, number - KEPT))
        return false;
    memcpy(said->data, buffer, bytes);
    MPL_atomic_release_store_uint64(&said->word, number << LENGTH_BITS | bytes);
    wake_sleepers(comm);
    return true;
}

bool MPIDI_FCI_board_bcast(MPIR_Comm * comm, int root, void *buffer, size_t * bytes)
{
    const uint64_t number = ++OWN(comm).board_number;
    struct entry *const said = &PLACE(comm)->said[number % KEPT];
    bool fine;

    if (comm->rank == root) {
        fine = say(comm, said, buffer, *bytes);
    } else {
        const struct wanted wanted = {.comm = comm,.number = number,.said = said,.root = root };
        fine = await(&wanted);
        if (fine) {
            const size_t came = MPL_atomic_relaxed_load_uint64(&said->word) &
                ((1 << LENGTH_BITS) - 1);
            if (came <= *bytes && came <= MPIDI_FCI_BOARD_BYTES)
                memcpy(buffer, said->data, came);
            *bytes = came;
        }
    }
    /* A root that waits for this waits for the half before the last one at most. */
    if (fine && number % (KEPT / 2) == 0) {
        come_to(comm, number);
        wake_sleepers(comm);
    }
    return fine;
}

bool MPIDI_FCI_board_gather(MPIR_Comm * comm, const void *brought, size_t bytes)
{
    struct entry *const mine = &PLACE(comm)->brought[comm->rank][++OWN(comm).board_gathers % 2];

    memcpy(mine->data, brought, bytes);
    MPL_atomic_relaxed_store_uint64(&mine->word, bytes);
    return meet(comm, ++OWN(comm).board_number);
}

const void *MPIDI_FCI_board_gathered(MPIR_Comm * comm, int rank, size_t * bytes)
{
    const struct entry *const entry = &PLACE(comm)->brought[rank][OWN(comm).board_gathers % 2];

    *bytes = MPL_atomic_relaxed_load_uint64(&entry->word);
    return entry->data;
}

#endif
