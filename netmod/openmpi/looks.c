/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks: MPI_Test and its like. A program that does nothing but look waits, and is better off
 * asleep where cores are short; one that looks before each small step of its own computes, and
 * every sleep costs it a thousand steps. Open MPI's own part of a look takes longer than many a
 * step, so only the time from the end of one look to the begin of the next tells them apart. */
#include "netmod/openmpi/pml_fci.h"

#include <x86intrin.h>

enum {
    LOOKS_EACH = 64,    /* of so many one is measured */
    JUDGED = 8,         /* of so many that were measured the shortest counts: others lost a core */
    STEP_TICKS = 180,   /* of the processor's clock; a loop that only looks takes 10 to 70, and to
                         * 150 where it has just slept */
    LOOK_TICKS = 20000  /* a caller that looked for so long has slept: its next step is slow, and
                         * says nothing */
};

static ompi_request_fns_t others;  /* Open MPI's functions before */

static struct {
    unsigned until_measured;
    unsigned measured;
    uint64_t came;          /* when the look began after which is measured */
    uint64_t left;          /* when the last look ended; 0: it is not measured */
    uint64_t shortest;
} looks = { .until_measured = LOOKS_EACH, .shortest = UINT64_MAX };

static PML_FCI_APART void measure(void)
{
    _mm_lfence();  /* the step's computation may still be under way */
    const uint64_t step = __rdtsc() - looks.left;
    looks.left = 0;
    if (step < looks.shortest)
        looks.shortest = step;
    if (++looks.measured < JUDGED)
        return;
    pml_fci_set_computes(looks.shortest >= STEP_TICKS);
    looks.measured = 0;
    looks.shortest = UINT64_MAX;
}

static inline void begin_look(void)
{
    pml_fci.looks = true;
    if (OPAL_UNLIKELY(looks.left != 0))
        measure();
    if (OPAL_UNLIKELY(looks.until_measured == 1))
        looks.came = __rdtsc();
}

static inline int end_look(int answer)
{
    pml_fci.looks = false;
    if (OPAL_UNLIKELY(--looks.until_measured == 0)) {
        const uint64_t now = __rdtsc();
        const bool slept = now - looks.came > LOOK_TICKS;
        looks.until_measured = LOOKS_EACH;
        looks.left = slept ? 0 : now;
    }
    return answer;
}

static int test(ompi_request_t **request, int *completed, ompi_status_public_t *status)
{
    begin_look();
    return end_look(others.req_test(request, completed, status));
}

enum { NONE_ENDED = -1, NONE_ACTIVE = -2 };

/* Of those that have ended the first one to do so. Open MPI's own takes the one with the lowest
 * index, so that of messages which came at once a later one is seen first; programs that take what
 * others send by MPI_Waitany, and expect a sender's last message to come last, then lose the others
 * (HPCC's RandomAccess). */
static long first_ended(size_t count, ompi_request_t **requests)
{
    long first = NONE_ACTIVE;
    uint64_t earliest = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        const ompi_request_t *const request = requests[i];
        if (request->req_state == OMPI_REQUEST_INACTIVE)
            continue;
        if (!REQUEST_COMPLETE(request)) {
            first = first == NONE_ACTIVE ? NONE_ENDED : first;
            continue;
        }
        const bool is_ours = request->req_type == OMPI_REQUEST_PML && request != &pml_fci.sent;
        const uint64_t ended = is_ours ? ((const pml_fci_request *)request)->ended : 0;
        if (first < 0 || ended < earliest) {
            earliest = ended;
            first = (long)i;
        }
    }
    return first;
}

/* Until one has, if any is active. */
static long await_first(size_t count, ompi_request_t **requests)
{
    long first;
    while ((first = first_ended(count, requests)) == NONE_ENDED)
        opal_progress();
    return first;
}

static int wait_any(size_t count, ompi_request_t **requests, int *index,
                    ompi_status_public_t *status)
{
    const long first = await_first(count, requests);
    if (first == NONE_ACTIVE)
        return others.req_wait_any(count, requests, index, status);
    const int answer = others.req_wait_any(1, requests + first, index, status);
    *index = (int)first;
    return answer;
}

static int test_any(size_t count, ompi_request_t **requests, int *index, int *completed,
                    ompi_status_public_t *status)
{
    begin_look();
    long first = first_ended(count, requests);
    if (first == NONE_ENDED) {
        opal_progress();
        first = first_ended(count, requests);
    }
    if (first == NONE_ENDED) {
        *index = MPI_UNDEFINED;
        *completed = 0;
        return end_look(OMPI_SUCCESS);
    }
    if (first == NONE_ACTIVE)
        return end_look(others.req_test_any(count, requests, index, completed, status));
    const int answer = others.req_test_any(1, requests + first, index, completed, status);
    *index = (int)first;
    return end_look(answer);
}

static int test_all(size_t count, ompi_request_t **requests, int *completed,
                    ompi_status_public_t *statuses)
{
    begin_look();
    return end_look(others.req_test_all(count, requests, completed, statuses));
}

static int test_some(size_t count, ompi_request_t **requests, int *completed, int *indices,
                     ompi_status_public_t *statuses)
{
    begin_look();
    return end_look(others.req_test_some(count, requests, completed, indices, statuses));
}

/* Not where several threads look at a time: their steps are not told apart. */
void pml_fci_watch_looks(void)
{
    others = ompi_request_functions;
    if (opal_using_threads())
        return;
    ompi_request_functions.req_test = test;
    ompi_request_functions.req_test_any = test_any;
    ompi_request_functions.req_wait_any = wait_any;
    ompi_request_functions.req_test_all = test_all;
    ompi_request_functions.req_test_some = test_some;
}

/* Also where it was never asked to watch: a start that failed before leaves all as it was. */
void pml_fci_unwatch_looks(void)
{
    if (others.req_test != NULL)
        ompi_request_functions = others;
}
