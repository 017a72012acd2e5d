/* SPDX-License-Identifier: BSD-3-Clause */
/* rows.h: the benchmarks of ways.h between two members, and comms3 and synch1 among 2, 4, 8 ... of
 * them, row by row. Each row is verified as a whole before its samples and after them. */
#ifndef FCI_PERF_ROWS_H
#define FCI_PERF_ROWS_H

#include "crowd.h"
#include "together.h"
#include "ways.h"

enum { VERIFY = -1, WARM = 8, LENGTHS_MOST = 64 };
static const double kRowBudget = 0.030;

struct lengths {
    size_t bytes[LENGTHS_MOST];
    int count;
};

struct row {
    char name[16];
    long bytes;
    int ranks, order; /* order: operations a word, of poly3; 0: none */
    struct samples times;
    struct wrong at_a, at_b;
};

static long write_row(const struct row *row) {
    char times[SAMPLES_ROOM * 16] = "", order[32] = "";
    size_t used = 0;
    for (int i = 0; i < row->times.count; ++i)
        used += (size_t)snprintf(times + used, sizeof times - used, "%s%.6g", i > 0 ? ", " : "",
                                 row->times.sorted[i]);
    if (row->order > 0) snprintf(order, sizeof order, ", \"order\": %d", row->order);
    write_line("row", ", \"case\": \"%s\", \"bytes\": %ld, \"ranks\": %d%s, \"seconds\": [%s]",
               row->name, row->bytes, row->ranks, order, times);
    write_wrong(&row->at_a);
    write_wrong(&row->at_b);
    return row->at_a.count + row->at_b.count;
}

/* --- between two --- */

static void lead_row(const struct way *way, int other, size_t bytes, struct row *found) {
    long rounds = 2;
    memset(found, 0, sizeof *found);
    memset(&wrong, 0, sizeof wrong);
    tell(other, VERIFY);
    verify(way, other, 1, bytes, 0);
    for (;; rounds *= 4) {
        tell(other, rounds);
        const double seconds = way->run(other, 1, bytes, rounds);
        if (seconds < shortest_sample() / 4 && rounds < 1 << 20) continue;
        rounds = rounds_for(shortest_sample() * 1.5, rounds, seconds, 1 << 24);
        break;
    }
    tell(other, WARM * rounds); /* not counted: a network may choose its way by measuring */
    way->run(other, 1, bytes, WARM * rounds);
    while (!is_enough(&found->times, kRowBudget, SAMPLES_MOST)) {
        tell(other, rounds);
        add_sample(&found->times, way->run(other, 1, bytes, rounds));
    }
    tell(other, VERIFY);
    verify(way, other, 1, bytes, 1);
    tell(other, 0);
    snprintf(found->name, sizeof found->name, "%s", way->name);
    found->bytes = (long)bytes, found->ranks = 2;
    found->order = way->has_orders ? poly_order : 0;
    for (int i = 0; i < found->times.count; ++i)
        found->times.sorted[i] /= (double)rounds * way->per_round;
    found->at_a = wrong;
    MPI_Recv(&found->at_b, sizeof wrong, MPI_BYTE, rank_of(other), TAG_RESULT, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static void follow_row(const struct way *way, int other, size_t bytes) {
    long message = 0;
    memset(&wrong, 0, sizeof wrong);
    for (long rounds; (rounds = hear(other)) != 0;) {
        if (rounds == VERIFY)
            verify(way, other, 0, bytes, message++);
        else
            way->run(other, 0, bytes, rounds);
    }
    MPI_Send(&wrong, sizeof wrong, MPI_BYTE, rank_of(other), TAG_RESULT, MPI_COMM_WORLD);
}

/* All of a benchmark between members 0 and 1, of which rank 0 is the first. */
static long run_way(const struct way *way, const struct lengths *lengths) {
    const int count = way->has_orders ? ORDERS : lengths->count;
    long bad = 0;
    for (int i = 0; self < 2 && i < count; ++i) {
        const size_t bytes = way->has_orders ? POLY_BYTES : lengths->bytes[i];
        struct row found;
        poly_order = ORDER_STEP * (i + 1);
        row_out = memory(bytes + sizeof(double));
        row_in = memory(bytes + sizeof(double));
        if (self == 0) {
            lead_row(way, 1, bytes, &found);
            bad += write_row(&found);
        } else {
            follow_row(way, 0, bytes);
        }
        free(row_out);
        free(row_in);
    }
    return bad;
}

/* --- among more --- */

static long run_crowd_row(const char *name, MPI_Comm comm, size_t bytes,
                          void (*round)(const struct crowd *crowd)) {
    struct crowd crowd = make_crowd(comm, bytes, round);
    struct row found;
    memset(&found, 0, sizeof found);
    memset(&wrong, 0, sizeof wrong);
    if (bytes > 0) verify_crowd(name, &crowd, 0, 0);
    found.times = crowd_samples(&crowd, kRowBudget);
    if (bytes > 0) verify_crowd(name, &crowd, 0, 1);
    snprintf(found.name, sizeof found.name, "%s", name);
    found.bytes = (long)bytes, found.ranks = crowd.count;
    if (rank == 0) write_row(&found);
    free_crowd(&crowd);
    return gather_wrong(comm, crowd.count);
}

static int next_count(int count) {
    const int next = 2 * count;
    return count < member_count && next > member_count ? member_count : next;
}

/* Among the first 2, 4, 8 ... members, and all of them. Those that are not among them rest. */
static long run_crowds(const char *name, const struct lengths *lengths) {
    const int is_comms3 = strcmp(name, "comms3") == 0;
    long bad = 0;
    for (int count = 2; count <= member_count; count = next_count(count)) {
        MPI_Comm comm;
        MPI_Comm_split(among_members, self < count ? 0 : MPI_UNDEFINED, self, &comm);
        if (comm != MPI_COMM_NULL) {
            if (!is_comms3) bad += run_crowd_row(name, comm, 0, round_of_barrier);
            for (int i = 0; is_comms3 && i < lengths->count; ++i)
                bad += run_crowd_row(name, comm, lengths->bytes[i], round_of_comms3);
            MPI_Comm_free(&comm);
        }
        if (rank == 0) {
            end_rest(count);
        } else if (self >= count) {
            rest_until_end();
        }
    }
    return bad;
}

static const struct way *way_named(const char *name) {
    for (int i = 0; i < WAYS; ++i)
        if (strcmp(kWays[i].name, name) == 0) return &kWays[i];
    return NULL;
}

static int is_crowd_name(const char *name) {
    return strcmp(name, "comms3") == 0 || strcmp(name, "synch1") == 0;
}

/* Messages with wrong bytes, at rank 0. `names`: by commas. */
static long run_rows(const char *names, const struct lengths *lengths) {
    long bad = 0;
    char *copy = memory(strlen(names) + 1), *rest = copy;
    memcpy(copy, names, strlen(names) + 1);
    for (char *name; self >= 0 && (name = strtok_r(rest, ",", &rest)) != NULL;) {
        const struct way *way = way_named(name);
        if (way == NULL) {
            bad += run_crowds(name, lengths);
            continue;
        }
        bad += run_way(way, lengths);
        if (rank == 0)
            end_rest(2);
        else if (self >= 2)
            rest_until_end();
    }
    free(copy);
    return bad;
}

#endif
