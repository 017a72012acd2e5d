/* SPDX-License-Identifier: BSD-3-Clause */
/* job.h: the processes of a job, the hosts that take part, and the lines that rank 0 writes. It is
 * plain C and MPI-2, so that every MPI compiles it.
 *
 * A host takes part by its first process, all processes do with --per-rank. Members are numbered in
 * the order of their ranks; what one member has to say to rank 0 is a message, and rank 0 writes it
 * at once, so its memory grows with the number of members only.
 *
 * Each line is a JSON object that begins with {"perf": 1, "is": and what it is. */
#ifndef FCI_PERF_JOB_H
#define FCI_PERF_JOB_H

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TAG_GO = 1, TAG_RESULT, TAG_CONTROL, TAG_DATA, TAG_ANSWER };
enum { NAME_MOST = 80, COMPUTER_MOST = 40 };

struct member {
    char name[NAME_MOST];         /* the host's */
    char computer[COMPUTER_MOST]; /* boot id: hosts that share a computer have the same */
    int rank, cores;
};

static int rank, ranks;
static struct member *members; /* at rank 0 and at members: all of them */
static int member_count, self = -1; /* self: this process's number, -1: it takes no part */
static MPI_Comm among_members;      /* MPI_COMM_NULL where it takes no part */
static FILE *lines;                 /* of rank 0 */
static uint64_t seed = 1;

static void write_line(const char *is, const char *format, ...) {
    va_list more;
    va_start(more, format);
    fprintf(lines, "{\"perf\": 1, \"is\": \"%s\"", is);
    vfprintf(lines, format, more);
    fputs("}\n", lines);
    fflush(lines);
    va_end(more);
}

/* As JSON has it; others than printing characters become blanks. */
static void quote(char *to, size_t size, const char *text) {
    size_t at = 0;
    for (; *text != '\0' && at + 3 < size; ++text) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') to[at++] = '\\';
        to[at++] = c < ' ' || c > '~' ? ' ' : (char)c;
    }
    to[at] = '\0';
}

/* The job ends: the arguments are wrong, as all processes see. */
static void give_up(const char *reason) {
    if (rank == 0) {
        fprintf(stderr, "fci_perf: %s\n", reason);
        fflush(stderr);
    }
    MPI_Abort(MPI_COMM_WORLD, 2);
    abort();
}

/* Waits for a message without taking the core from those that measure, as MPI_Recv of many MPIs
 * would, which spins. */
static void rest_for_message(int source, int tag, MPI_Status *status) {
    const struct timespec nap = {0, 1000000};
    int is_here = 0;
    for (;;) {
        MPI_Iprobe(source, tag, MPI_COMM_WORLD, &is_here, status);
        if (is_here) return;
        nanosleep(&nap, NULL);
    }
}

/* Rank 0 ends the rest of those from that member on. */
static void end_rest(int first) {
    int none = -1;
    for (int i = first; i < member_count; ++i)
        if (i != self)
            MPI_Send(&none, 1, MPI_INT, members[i].rank, TAG_GO, MPI_COMM_WORLD);
}

/* And that of the processes which take no part: all the time until rank 0 is through. */
static void end_rest_of_others(void) {
    int none = -1, next = 0; /* members are in the order of their ranks */
    for (int other = 0; other < ranks; ++other) {
        if (next < member_count && members[next].rank == other)
            ++next;
        else
            MPI_Send(&none, 1, MPI_INT, other, TAG_GO, MPI_COMM_WORLD);
    }
}

static void rest_until_end(void) {
    MPI_Status status;
    int none;
    rest_for_message(0, TAG_GO, &status);
    MPI_Recv(&none, 1, MPI_INT, 0, TAG_GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void read_word(const char *path, char *to, size_t size) {
    FILE *file = fopen(path, "r");
    to[0] = '\0';
    if (file == NULL) return;
    if (fgets(to, (int)size, file) == NULL) to[0] = '\0';
    to[strcspn(to, "\n")] = '\0';
    fclose(file);
}

/* Bytes that a host can give without swapping; 0: it does not tell. */
static double available_memory(void) {
    char line[128];
    double kilobytes = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %lf", &kilobytes) == 1) break;
    if (file != NULL) fclose(file);
    return kilobytes * 1024;
}

/* A large piece is asked for before it is taken: a kernel that has promised too much kills. */
static void *memory(size_t bytes) {
    const size_t large = (size_t)64 << 20;
    const double available = bytes < large ? 0 : available_memory();
    void *got = available > 0 && (double)bytes > 0.9 * available ? NULL : malloc(bytes + 1);
    if (got == NULL) {
        char name[MPI_MAX_PROCESSOR_NAME + 1] = "";
        int length;
        MPI_Get_processor_name(name, &length);
        fprintf(stderr, "fci_perf: %s has no %.0f MB of memory left for a process\n", name,
                (double)bytes / 1e6);
        fflush(stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
        abort();
    }
    return got;
}

static struct member describe_self(void) {
    struct member found;
    char name[MPI_MAX_PROCESSOR_NAME + 1];
    int length = 0;
    memset(&found, 0, sizeof found);
    MPI_Get_processor_name(name, &length);
    name[length] = '\0';
    quote(found.name, NAME_MOST - 12, name); /* there is place for a rank */
    read_word("/proc/sys/kernel/random/boot_id", found.computer, sizeof found.computer);
    found.rank = rank;
    found.cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return found;
}

/* The first process of each host, or all. */
static void find_members(int per_rank) {
    struct member own = describe_self();
    struct member *all = memory((rank == 0 ? (size_t)ranks : 1) * sizeof *all);
    MPI_Gather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        for (int i = 0; i < ranks; ++i) {
            int is_first = 1;
            for (int k = 0; !per_rank && k < member_count; ++k)
                if (strcmp(all[k].name, all[i].name) == 0 &&
                    strcmp(all[k].computer, all[i].computer) == 0)
                    is_first = 0;
            if (!is_first) continue;
            all[member_count] = all[i];
            if (per_rank) {
                const size_t length = strlen(all[i].name);
                snprintf(all[member_count].name + length, NAME_MOST - length, "/%d", i);
            }
            ++member_count;
        }
    }
    MPI_Bcast(&member_count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    members = rank == 0 ? all : memory((size_t)member_count * sizeof *members);
    if (rank != 0) free(all);
    MPI_Bcast(members, (int)(member_count * sizeof *members), MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < member_count; ++i)
        if (members[i].rank == rank) self = i;
    MPI_Comm_split(MPI_COMM_WORLD, self < 0 ? MPI_UNDEFINED : 0, rank, &among_members);
}

/* Of a name, or of a number; -1: there is none. */
static int member_named(const char *name) {
    char *end;
    long number = strtol(name, &end, 10);
    for (int i = 0; i < member_count; ++i)
        if (strcmp(members[i].name, name) == 0) return i;
    return *name != '\0' && *end == '\0' && number >= 0 && number < member_count ? (int)number : -1;
}

static void write_members(void) {
    for (int i = 0; i < member_count; ++i)
        write_line("host", ", \"index\": %d, \"name\": \"%s\", \"computer\": \"%s\", "
                   "\"cores\": %d, \"rank\": %d", i, members[i].name, members[i].computer,
                   members[i].cores, members[i].rank);
}

#endif
