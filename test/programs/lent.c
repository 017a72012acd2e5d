/* SPDX-License-Identifier: BSD-3-Clause */
/* lent.c: buffers of long messages that the program wants back, and unmaps as soon as it has them.
 *
 *   lent cancels ROUNDS SEED  receives are cancelled at random moments, and their messages received
 *                             elsewhere
 *   lent deaths TIMES SEED    a peer that sends or receives is killed at random moments
 *
 * A second process is the peer; it is this program, too. All bytes that come are compared. A
 * late read or write of a buffer that went back ends the process: its pages are gone. Exit codes: 0
 * all right, and a line that counts; 1 something was wrong; 2 wrong use or no context. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fci_core/api/icl.h"

extern char **environ;

enum { SHORTEST = 40000, LONGEST = 3 << 20, AT_ONCE = 3, FOR_A_CONTEXT = 20 };
/* Words that are matched: the long messages, and the word to send the next one. */
static const uint64_t kLong = 1, kGo = 2;

static fci_icl_context *context;
static uint64_t seed;

static _Noreturn void wrong(const char *what, long number) {
    fprintf(stderr, "lent: %s: %ld\n", what, number);
    exit(1);
}

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t chance(uint64_t below) {
    static uint64_t drawn;
    return mix(seed * 1000003 + ++drawn) % below;
}

/* Both sides know it. */
static size_t length_of(uint64_t round) {
    return SHORTEST + mix(round + 77) % (LONGEST - SHORTEST);
}

/* --- buffers --- */

struct buffer {
    unsigned char *bytes; /* NULL: it is no more */
    size_t length;
    uint64_t round;
    fci_icl_order order;
    int is_out, error; /* an order uses it; how that ended */
};

static unsigned char byte_of(uint64_t round, size_t at) {
    return (unsigned char)(at * 31 + (at >> 12) + round * 7);
}

static void make(struct buffer *buffer, uint64_t round) {
    memset(buffer, 0, sizeof *buffer);
    buffer->length = length_of(round);
    buffer->round = round;
    buffer->bytes = mmap(NULL, buffer->length, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer->bytes == MAP_FAILED) wrong("no memory", (long)buffer->length);
}

static void fill(struct buffer *buffer) {
    for (size_t i = 0; i < buffer->length; i++) buffer->bytes[i] = byte_of(buffer->round, i);
}

static void compare(const struct buffer *buffer) {
    for (size_t i = 0; i < buffer->length; i++)
        if (buffer->bytes[i] != byte_of(buffer->round, i)) wrong("a wrong byte", (long)i);
}

/* No byte of it came. */
static void compare_untouched(const struct buffer *buffer) {
    for (size_t i = 0; i < buffer->length; i++)
        if (buffer->bytes[i] != 0) wrong("a byte that was cancelled", (long)i);
}

static void unmap(struct buffer *buffer) {
    munmap(buffer->bytes, buffer->length);
    buffer->bytes = NULL;
}

static void on_end(void *user, void *owner, const struct fci_icl_status *status) {
    struct buffer *const buffer = user;
    (void)owner;
    buffer->is_out = 0;
    buffer->error = status->error;
    if (status->error == FCI_ICL_OK && status->length != buffer->length)
        wrong("a message of another length", (long)status->length);
}

static int is_retried(struct buffer *buffer, int code, const struct fci_icl_status *status) {
    if (code == FCI_ICL_EAGAIN) {
        if (fci_icl_progress(context) < 0) wrong("progress", code);
        return 1;
    }
    buffer->is_out = code == FCI_ICL_OK;
    buffer->error = code == FCI_ICL_DONE && status != NULL ? status->error : code;
    if (code == FCI_ICL_DONE && status == NULL) buffer->error = FCI_ICL_OK;
    return 0;
}

static void receive(struct buffer *buffer, fci_icl_peer from) {
    const struct fci_icl_completion completion = {on_end, buffer, NULL};
    struct fci_icl_status status = {0};
    while (is_retried(buffer,
                      fci_icl_receive_bytes(context, from, 0, kLong, 0, buffer->bytes,
                                            buffer->length, &completion, &buffer->order, &status),
                      &status)) {}
}

static void send(struct buffer *buffer, fci_icl_peer to) {
    const struct fci_icl_completion completion = {on_end, buffer, NULL};
    while (is_retried(buffer,
                      fci_icl_send_bytes(context, to, 0, 0, kLong, 0, buffer->bytes,
                                         buffer->length, &completion, &buffer->order),
                      NULL)) {}
}

static void turn_for(uint64_t turns) {
    for (uint64_t i = 0; i < turns; i++)
        if (fci_icl_progress(context) < 0) wrong("progress", (long)i);
}

static void await(const struct buffer *buffer) {
    while (buffer->is_out)
        if (fci_icl_wait(context, INT64_C(20000000)) < 0) wrong("wait", 0);
}

/* --- the two processes --- */

static void open_context(void) {
    const struct fci_icl_config config = {.version = FCI_ICL_VERSION,
                                          .job = (uint64_t)getpgrp(), /* both have it */
                                          .local_ranks = 2,
                                          .job_ranks = 2,
                                          .user_agent = "lent"};
    char *error = NULL;
    const int code = fci_icl_open(&config, &context, &error);
    if (code == FCI_ICL_OK) return;
    fprintf(stderr, "%s\n", error ? error : fci_icl_strerror(code));
    exit(2);
}

static fci_icl_peer exchange_cards(FILE *from, FILE *to) {
    unsigned char card[FCI_ICL_CARD_BYTES];
    fci_icl_peer peer;
    fci_icl_card(context, card);
    fwrite(card, sizeof card, 1, to);
    fflush(to);
    if (fread(card, sizeof card, 1, from) != 1) exit(2);
    const int code = fci_icl_add_peer(context, card, &peer);
    if (code != FCI_ICL_OK) wrong("add_peer", code);
    return peer;
}

struct process {
    pid_t pid;
    FILE *in, *out; /* of it */
    fci_icl_peer peer;
};

static struct process start(const char *role) {
    struct process made = {0};
    char *const words[] = {"lent", "peer", (char *)role, NULL};
    int there[2], back[2];
    posix_spawn_file_actions_t files;
    if (pipe2(there, 02000000) != 0 || pipe2(back, 02000000) != 0) wrong("pipe", 0);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, there[0], 0);
    posix_spawn_file_actions_adddup2(&files, back[1], 1);
    if (posix_spawn(&made.pid, "/proc/self/exe", &files, NULL, words, environ) != 0)
        wrong("posix_spawn", 0);
    posix_spawn_file_actions_destroy(&files);
    close(there[0]);
    close(back[1]);
    made.in = fdopen(there[1], "w");
    made.out = fdopen(back[0], "r");
    made.peer = exchange_cards(made.out, made.in);
    return made;
}

static int end(struct process *process) {
    int status = 0;
    fclose(process->in);
    fclose(process->out);
    if (waitpid(process->pid, &status, 0) != process->pid) wrong("waitpid", 0);
    return status;
}

/* One after the other, each when it is told; a word of another length ends it. */
static void send_when_told(fci_icl_peer to) {
    for (uint64_t round = 0;; round++) {
        struct buffer go = {0}, message;
        uint64_t word[2];
        const struct fci_icl_completion completion = {on_end, &go, NULL};
        struct fci_icl_status status = {0};
        go.length = sizeof word[0];
        const int code = fci_icl_receive_bytes(context, to, 0, kGo, 0, word, sizeof word,
                                               &completion, &go.order, &status);
        go.is_out = code == FCI_ICL_OK;
        await(&go);
        if (go.error != FCI_ICL_OK || (code != FCI_ICL_OK && code != FCI_ICL_DONE)) exit(1);
        if (word[0] != round) break;
        make(&message, round);
        fill(&message);
        send(&message, to);
        await(&message);
        if (message.error != FCI_ICL_OK) wrong("send", message.error);
        unmap(&message);
    }
}

/* Without end: some are always under way. */
static void exchange_all(fci_icl_peer peer, int sends) {
    struct buffer buffers[AT_ONCE] = {{0}};
    for (uint64_t round = 0;; round++) {
        struct buffer *const buffer = &buffers[round % AT_ONCE];
        await(buffer);
        if (buffer->bytes != NULL) {
            if (buffer->error != FCI_ICL_OK) exit(1); /* the other one has ended */
            if (!sends) compare(buffer);
            unmap(buffer);
        }
        make(buffer, round);
        if (sends) fill(buffer);
        (sends ? send : receive)(buffer, peer);
    }
}

/* --- cancels --- */

static void tell(fci_icl_peer peer, uint64_t round) {
    int code;
    while ((code = fci_icl_send_bytes(context, peer, 0, FCI_ICL_BUFFERED, kGo, 0, &round,
                                      sizeof round, NULL, NULL)) == FCI_ICL_EAGAIN)
        turn_for(1);
    if (code != FCI_ICL_DONE) wrong("go", code);
}

static void cancel_all(uint64_t rounds) {
    uint64_t cancelled = 0, late = 0;
    open_context();
    struct process other = start("cancels");
    for (uint64_t round = 0; round < rounds; round++) {
        struct buffer buffer;
        int is_told = chance(2) == 0;
        if (is_told) {
            tell(other.peer, round);
            turn_for(chance(2) * chance(2000));
        }
        for (int tries = 0;; tries++) {
            make(&buffer, round);
            receive(&buffer, other.peer);
            if (!is_told) tell(other.peer, round);
            is_told = 1;
            turn_for(chance(1 << chance(12)));
            if (buffer.is_out && tries < 3) {
                const int code = fci_icl_cancel(context, buffer.order);
                if (code != FCI_ICL_OK && code != FCI_ICL_ENOENT) wrong("cancel", code);
                late++;
            }
            await(&buffer);
            if (buffer.error != FCI_ICL_ECANCELED) break;
            cancelled++;
            late--;
            compare_untouched(&buffer);
            unmap(&buffer);
        }
        if (buffer.error != FCI_ICL_OK) wrong("receive", buffer.error);
        compare(&buffer);
        unmap(&buffer);
    }
    tell(other.peer, UINT64_MAX);
    const int status = end(&other);
    if (status != 0) wrong("the sender's end", status);
    fci_icl_close(context, FCI_ICL_LINGER);
    printf("lent: %" PRIu64 " cancelled, %" PRIu64 " too late, %" PRIu64 " received\n", cancelled,
           late, rounds);
}

/* --- deaths --- */

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Returns how many messages were whole before. */
static uint64_t lose_one(uint64_t *lent) {
    const int sends = (int)chance(2); /* this process */
    struct process other = start(sends ? "receives" : "sends");
    struct buffer buffers[AT_ONCE] = {{0}};
    const double delay = (double)chance(1 << chance(16)) * 1e-6;
    double death = chance(8) == 0 ? now() + delay : HUGE_VAL; /* else once a message was whole */
    uint64_t whole = 0, round = 0;
    int is_killed = 0, is_lost = 0;
    for (int left = 1; !is_lost || left;) {
        left = 0;
        for (int i = 0; i < AT_ONCE; i++) {
            struct buffer *const buffer = &buffers[i];
            if (buffer->bytes != NULL && !buffer->is_out) {
                /* One that was never met is unreachable. */
                is_lost |= buffer->error == FCI_ICL_EPEER || buffer->error == FCI_ICL_EUNREACHABLE;
                if (!is_lost && buffer->error != FCI_ICL_OK) wrong("ended by", buffer->error);
                if (buffer->error == FCI_ICL_OK) {
                    if (!sends) compare(buffer);
                    if (death == HUGE_VAL) death = now() + delay;
                    whole++;
                }
                unmap(buffer);
            }
            /* In the order in which the other one sends them, or receives them. */
            if (buffer->bytes == NULL && !is_lost && (uint64_t)i == round % AT_ONCE) {
                make(buffer, round++);
                if (sends) fill(buffer);
                (sends ? send : receive)(buffer, other.peer);
            }
            left |= buffer->bytes != NULL;
        }
        if (!is_killed && now() >= death) {
            for (int i = 0; i < AT_ONCE; i++) *lent += (uint64_t)buffers[i].is_out;
            kill(other.pid, SIGKILL);
            is_killed = 1;
        }
        if (left && fci_icl_wait(context, INT64_C(100000)) < 0) wrong("wait", 0);
    }
    turn_for(200);
    if (end(&other) != SIGKILL) wrong("the other one ended by itself", 0);
    return whole;
}

static void lose_all(uint64_t times) {
    uint64_t whole = 0, lent = 0;
    for (uint64_t i = 0; i < times; i++) {
        if (i % FOR_A_CONTEXT == 0) open_context();
        whole += lose_one(&lent);
        if (i % FOR_A_CONTEXT == FOR_A_CONTEXT - 1 || i + 1 == times)
            fci_icl_close(context, FCI_ICL_LINGER);
    }
    printf("lent: %" PRIu64 " deaths, %" PRIu64 " buffers out, %" PRIu64 " messages before\n",
           times, lent, whole);
}

static void be_peer(const char *role) {
    open_context();
    const fci_icl_peer peer = exchange_cards(stdin, stdout);
    if (strcmp(role, "cancels") == 0)
        send_when_told(peer);
    else
        exchange_all(peer, strcmp(role, "sends") == 0);
    fci_icl_close(context, FCI_ICL_LINGER);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "peer") == 0) {
        be_peer(argv[2]);
        return 0;
    }
    if (argc != 4) return 2;
    const uint64_t times = strtoull(argv[2], NULL, 10);
    seed = strtoull(argv[3], NULL, 10);
    signal(SIGPIPE, SIG_IGN);
    if (strcmp(argv[1], "cancels") == 0)
        cancel_all(times);
    else if (strcmp(argv[1], "deaths") == 0)
        lose_all(times);
    else
        return 2;
    return 0;
}
