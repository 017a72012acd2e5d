/* SPDX-License-Identifier: BSD-3-Clause */
/* perf.c: the program that fci_perf starts. It measures, and judges nothing.
 *
 *   mpicc -O2 perf.c -o perf -lpthread
 *   mpirun -np 8 ./perf links --lines links.txt
 *
 * Exit code 0: all bytes were as sent; 1: some were not; 2: the arguments are wrong. */
#define _GNU_SOURCE
#include "job.h"

#include "interface.h"
#include "links.h"
#include "rows.h"
#include "still.h"
#include "together.h"

static const char kUsage[] =
    "usage: perf check|links [--rounds N] [--pairs A:B,...] [OPTION...]\n"
    "       perf run [--cases NAME,...] [--bytes N,...] [OPTION...]\n"
    "of all: --per-rank, --lines FILE, --seed N";

struct options {
    const char *command, *lines, *pairs, *cases;
    int rounds, per_rank;
    struct lengths lengths;
};

static long number_of(const char *text) {
    char *end;
    const long number = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || number < 0) give_up(kUsage);
    return number;
}

/* "8,1024": each as long as a count of MPI can say. */
static struct lengths lengths_of(const char *text) {
    struct lengths found = {{0}, 0};
    for (const char *at = text; *at != '\0' && found.count < LENGTHS_MOST;) {
        char *end;
        const long bytes = strtol(at, &end, 10);
        if (end == at || (*end != ',' && *end != '\0') || bytes < 0 || bytes > INT_MAX)
            give_up(kUsage);
        found.bytes[found.count++] = (size_t)bytes;
        at = *end == ',' ? end + 1 : end;
    }
    return found;
}

static void check_cases(const char *names) {
    char *copy = memory(strlen(names) + 1), *rest = copy;
    memcpy(copy, names, strlen(names) + 1);
    for (char *name; (name = strtok_r(rest, ",", &rest)) != NULL;)
        if (way_named(name) == NULL && !is_crowd_name(name)) give_up(kUsage);
    free(copy);
}

static struct options read_options(int argc, char **argv) {
    struct options found = {NULL, NULL, NULL, "comms1", ROUNDS_ALL, 0, {{0}, 0}};
    found.lengths = lengths_of("8,32,128,512,2048,8192,32768,131072,524288,2097152");
    if (argc < 2) give_up(kUsage);
    found.command = argv[1];
    const int is_known = strcmp(argv[1], "links") == 0 || strcmp(argv[1], "check") == 0 ||
                         strcmp(argv[1], "run") == 0;
    if (!is_known) give_up(kUsage);
    for (int i = 2; i < argc; ++i) {
        if (strcmp(argv[i], "--per-rank") == 0) {
            found.per_rank = 1;
            continue;
        }
        if (i + 1 == argc) give_up(kUsage);
        const char *name = argv[i], *value = argv[++i];
        if (strcmp(name, "--lines") == 0)
            found.lines = value;
        else if (strcmp(name, "--pairs") == 0)
            found.pairs = value;
        else if (strcmp(name, "--cases") == 0)
            check_cases(found.cases = value);
        else if (strcmp(name, "--bytes") == 0)
            found.lengths = lengths_of(value);
        else if (strcmp(name, "--rounds") == 0)
            found.rounds = (int)number_of(value);
        else if (strcmp(name, "--seed") == 0)
            seed = (uint64_t)number_of(value);
        else
            give_up(kUsage);
    }
    return found;
}

/* The first line that the MPI says of itself, up to its first comma. */
static void name_library(char *to, size_t size) {
#if MPI_VERSION >= 3
    char version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int length = 0;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n,")] = '\0';
    char *end = version; /* MPICH has columns */
    for (const char *at = version; *at != '\0'; ++at) {
        const int is_blank = *at == ' ' || *at == '\t';
        if (!is_blank || (end > version && end[-1] != ' ')) *end++ = is_blank ? ' ' : *at;
    }
    *end = '\0';
    quote(to, size, version);
#else
    quote(to, size, "an MPI older than version 3");
#endif
}

static void write_begin(const struct options *options) {
    char version[200];
    long pairs = 1;
    name_library(version, sizeof version);
    const int rounds = options->rounds == ROUNDS_ALL ? default_rounds() : options->rounds;
    if (strcmp(options->command, "run") == 0)
        pairs = 0;
    else if (options->pairs == NULL)
        pairs = (long)rounds * (member_count / 2);
    else
        pairs = count_of(options->pairs);
    write_line("begin", ", \"schema\": 1, \"command\": \"%s\", \"mpi\": \"%s\", \"ranks\": %d, "
               "\"hosts\": %d, \"pairs\": %ld, \"tick\": %.3g, \"seed\": %llu", options->command,
               version, ranks, member_count, pairs, MPI_Wtick(), (unsigned long long)seed);
    write_members();
}

/* Each host's interface and its bytes, and how long it stood still and waited for a core. */
static void write_networks(void) {
    struct {
        struct interface interface;
        double still, waited;
    } own, *all;
    if (self < 0) return;
    memset(&own, 0, sizeof own);
    own.interface = busiest();
    own.still = end_watch();
    own.waited = waited_share();
    all = memory((rank == 0 ? (size_t)member_count : 1) * sizeof *all);
    MPI_Gather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, 0, among_members);
    for (int i = 0; rank == 0 && i < member_count; ++i)
        write_line("network", ", \"host\": %d, \"interface\": \"%s\", \"speed\": %.6g, "
                   "\"bytes\": %.0f, \"still\": %.3f, \"waited\": %.4f", i,
                   all[i].interface.name, all[i].interface.speed, all[i].interface.bytes,
                   all[i].still, all[i].waited);
    free(all);
}

int main(int argc, char **argv) {
    long bad = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const struct options options = read_options(argc, argv);
    lines = stdout;
    if (rank == 0 && options.lines != NULL && (lines = fopen(options.lines, "w")) == NULL)
        give_up("the file for --lines cannot be written");
    find_members(options.per_rank);
    if (rank == 0) write_begin(&options);
    if (self >= 0) begin_watch();
    begin_count();
    if (strcmp(options.command, "run") != 0) {
        bad += run_links(options.rounds, options.pairs);
        if (options.pairs == NULL) bad += run_together();
    }
    if (strcmp(options.command, "links") != 0 && options.pairs == NULL && member_count > 1)
        bad += run_rows(options.cases, &options.lengths);
    write_networks();
    if (rank == 0) {
        write_line("end", ", \"wrong\": %ld", bad);
        end_rest_of_others();
    } else if (self < 0) {
        rest_until_end();
    }
    MPI_Bcast(&bad, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return bad > 0;
}
