/* SPDX-License-Identifier: BSD-3-Clause */
/* links.h: all pairs of members, in steps of pairs that have nothing in common: the circle method
 * gives P - 1 rounds of P / 2 pairs (P odd: P rounds, in which one rests). Pairs of one round are
 * apart only if they are on different computers; hosts of a laboratory or containers share one, and
 * are measured one pair after the other. Above 128 members so many rounds as are wanted are drawn
 * by the seed; each member is in all of them.
 *
 * Rank 0 leads: it tells the two of a pair to begin, measures itself where it is one of them, and
 * waits for the results. All others rest until they are told. */
#ifndef FCI_PERF_LINKS_H
#define FCI_PERF_LINKS_H

#include "pair.h"

enum { ROUNDS_ALL = 0, MEMBERS_FEW = 128, ROUNDS_DRAWN = 64 };

struct pair {
    int a, b;
};

/* Of the circle method, the pairs of a round: count, at most member_count / 2. */
static int pairs_of_round(int round, struct pair *found) {
    const int even = member_count + member_count % 2;
    int count = 0;
    for (int i = 0; i < even / 2; ++i) {
        const int left = i == 0 ? even - 1 : (round + i) % (even - 1);
        const int right = i == 0 ? round : (round - i + even - 1) % (even - 1);
        if (left >= member_count || right >= member_count) continue;
        found[count].a = left < right ? left : right;
        found[count++].b = left < right ? right : left;
    }
    return count;
}

static int shares_computer(int one, int other) {
    return strcmp(members[one].computer, members[other].computer) == 0;
}

/* Of those pairs the first and as many others as have no computer in common: to the front. */
static int take_step(struct pair *pairs, int count) {
    int taken = 0;
    for (int i = 0; i < count; ++i) {
        int is_free = 1;
        for (int k = 0; k < taken && is_free; ++k)
            is_free = !shares_computer(pairs[i].a, pairs[k].a) &&
                      !shares_computer(pairs[i].a, pairs[k].b) &&
                      !shares_computer(pairs[i].b, pairs[k].a) &&
                      !shares_computer(pairs[i].b, pairs[k].b);
        if (!is_free) continue;
        const struct pair one = pairs[i];
        pairs[i] = pairs[taken];
        pairs[taken++] = one;
    }
    return taken;
}

static void write_pair(const struct pair_result *one) {
    write_line("pair", ", \"at\": [%d, %d], \"latency\": [%.6g, %.6g, %.6g], "
               "\"there\": [%.6g, %.6g, %.6g], \"back\": [%.6g, %.6g, %.6g]", one->a, one->b,
               one->latency.median, one->latency.low, one->latency.high, one->there.median,
               one->there.low, one->there.high, one->back.median, one->back.low, one->back.high);
    write_wrong(&one->at_a);
    write_wrong(&one->at_b);
}

/* Of those that are measured now: where nothing comes after it, one of them hangs. */
static void write_step(const struct pair *pairs, int count) {
    fputs("{\"perf\": 1, \"is\": \"step\", \"pairs\": [", lines);
    for (int i = 0; i < count; ++i)
        fprintf(lines, "%s[%d, %d]", i > 0 ? ", " : "", pairs[i].a, pairs[i].b);
    fputs("]}\n", lines);
    fflush(lines);
}

static void begin_pair(int member, int other) {
    MPI_Send(&other, 1, MPI_INT, rank_of(member), TAG_GO, MPI_COMM_WORLD);
}

/* Rank 0: the messages of wrong bytes that were found are returned. */
static long lead_step(const struct pair *pairs, int count) {
    struct pair_result found;
    long bad = 0;
    int own = -1;
    write_step(pairs, count);
    for (int i = 0; i < count; ++i) {
        if (pairs[i].a == self || pairs[i].b == self) own = i;
        if (pairs[i].a != self) begin_pair(pairs[i].a, pairs[i].b);
        if (pairs[i].b != self) begin_pair(pairs[i].b, pairs[i].a);
    }
    for (int i = 0; i < count; ++i) {
        MPI_Status status;
        if (i == 0 && own >= 0) { /* member 0 is the smaller number of its pair, always */
            measure_pair(pairs[own].a == self ? pairs[own].b : pairs[own].a, &found);
        } else {
            rest_for_message(MPI_ANY_SOURCE, TAG_RESULT, &status);
            MPI_Recv(&found, sizeof found, MPI_BYTE, status.MPI_SOURCE, TAG_RESULT, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        }
        write_pair(&found);
        bad += found.at_a.count + found.at_b.count;
    }
    return bad;
}

/* Until rank 0 says that there is no more to do. */
static void follow_steps(void) {
    for (;;) {
        struct pair_result found;
        MPI_Status status;
        int other;
        rest_for_message(0, TAG_GO, &status);
        MPI_Recv(&other, 1, MPI_INT, 0, TAG_GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (other < 0) return;
        measure_pair(other, &found);
        if (self < other)
            MPI_Send(&found, sizeof found, MPI_BYTE, 0, TAG_RESULT, MPI_COMM_WORLD);
    }
}

static long lead_rounds(int wanted) {
    const int rounds = member_count - 1 + member_count % 2;
    int *order = memory((size_t)rounds * sizeof *order);
    struct pair *pairs = memory(((size_t)member_count / 2 + 1) * sizeof *pairs);
    long bad = 0;
    for (int i = 0; i < rounds; ++i) {
        const int at = (int)(mix(seed + (uint64_t)i) % (uint64_t)(i + 1));
        order[i] = order[at];
        order[at] = i;
    }
    for (int i = 0; i < wanted && i < rounds; ++i) {
        int count = pairs_of_round(order[i], pairs), from = 0;
        while (from < count) {
            const int taken = take_step(pairs + from, count - from);
            bad += lead_step(pairs + from, taken);
            from += taken;
        }
    }
    free(order);
    free(pairs);
    return bad;
}

/* `text`: "n1:n3,2:5", by name or by number; each alone. */
static long lead_list(const char *text) {
    long bad = 0;
    char *copy = memory(strlen(text) + 1), *rest = copy;
    memcpy(copy, text, strlen(text) + 1);
    for (char *word; (word = strtok_r(rest, ",", &rest)) != NULL;) {
        char *colon = strchr(word, ':');
        struct pair one = {-1, -1};
        if (colon != NULL) {
            *colon = '\0';
            one.a = member_named(word);
            one.b = member_named(colon + 1);
        }
        if (one.a < 0 || one.b < 0 || one.a == one.b) give_up("--pairs wants HOST:HOST,...");
        if (one.a > one.b) {
            const int a = one.a;
            one.a = one.b;
            one.b = a;
        }
        bad += lead_step(&one, 1);
    }
    free(copy);
    return bad;
}

/* Few pairs, one after the other, may take some 8 s in all, so that noise counts for less. */
static void be_patient(double steps) {
    enum { MOST = 8 };
    const double each = kLatencyBudget + 2 * kRateBudget, factor = 8 / (each * steps);
    patience = factor < 1 ? 1 : factor > MOST ? MOST : factor;
}

static int default_rounds(void) {
    const int all = member_count - 1 + member_count % 2;
    return member_count > MEMBERS_FEW && all > ROUNDS_DRAWN ? ROUNDS_DRAWN : all;
}

static int count_of(const char *pairs) {
    int count = 1;
    for (; *pairs != '\0'; ++pairs) count += *pairs == ',';
    return count;
}

/* Of so many rounds, at most: pairs of one round that share a computer follow each other. */
static int steps_of(int rounds) {
    int sharing = 0, most = 0;
    for (int i = 0; i < member_count; ++i) {
        sharing = 0;
        for (int k = 0; k < member_count; ++k) sharing += shares_computer(i, k);
        most = sharing > most ? sharing : most;
    }
    return rounds * (most > 2 ? (most + 1) / 2 : 1);
}

/* pairs: NULL, or those that are wanted. Returns, at rank 0, how many messages had wrong bytes. */
static long run_links(int rounds, const char *pairs) {
    long bad = 0;
    if (self < 0) return 0;
    make_windows();
    if (pairs != NULL)
        be_patient(count_of(pairs));
    else
        be_patient(steps_of(rounds == ROUNDS_ALL ? default_rounds() : rounds));
    if (rank != 0) {
        follow_steps();
    } else {
        bad = pairs != NULL ? lead_list(pairs)
                            : lead_rounds(rounds == ROUNDS_ALL ? default_rounds() : rounds);
        end_rest(0);
    }
    free(window_out);
    free(window_in);
    return bad;
}

#endif
