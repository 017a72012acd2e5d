/* SPDX-License-Identifier: BSD-3-Clause */
/* survivor.c: N processes without a launcher, all talking to all, in mixed sizes, data checked.
 *
 *   survivor RANK SIZE ROUNDS [fork|exec]
 *
 * Prints its card as a line of hexadecimal digits, reads one such line per rank, and runs. ROUNDS
 * messages go to and come from every other rank; 0: without end. `fork` makes processes meanwhile,
 * in all the ways programs do; with `exec` SIGUSR1 makes it another program, which sleeps. Exit
 * codes: 0 all rounds done and right, 1 something was wrong, 2 wrong use or no context, 3 a peer
 * was lost: then it prints
 *
 *   rank R: lost rank D at T, ran N: <reason>
 *
 * in nanoseconds: the monotonic clock, and how long it has run so far; and it ends when its input
 * does, so that the others hear of the same loss and not of its own. None of its sleeps ends by
 * time once it has the cards: it is woken by what happens, or never.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fci_core/api/icl.h"
#include "test/programs/sleeps.c"

enum { kMost = 64, kLongest = 1 << 20 };
static const size_t kSizes[] = {0, 8, 40, 200, 4096, 20000, 65536, 1 << 20};
#define SIZES (sizeof kSizes / sizeof kSizes[0])

struct channel { /* to and from one other rank */
    int rank;
    fci_icl_peer peer;
    uint64_t sent, received; /* rounds that are over */
    int sending, receiving;
    unsigned char *out, *in;
};

static fci_icl_context *context;
static struct channel channels[kMost];
static int self, ranks;
static uint64_t rounds;
static int moved; /* something was over at once: look again before waiting */

static _Noreturn void wrong(const char *what, int code) {
    fprintf(stderr, "rank %d: %s: %s\n", self, what, fci_icl_strerror(code));
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static size_t size_of(int from, int to, uint64_t round) {
    return kSizes[(round * 7 + (uint64_t)from * 3 + (uint64_t)to) % SIZES];
}

static unsigned char byte_of(int from, uint64_t round, size_t at) {
    return (unsigned char)(at * 31 + round * 7 + (uint64_t)from);
}

static int has_cards;

static int never_ends(int by_time) { return has_cards && by_time; }

/* What the kernel counts of this process; 0 where it does not. */
static uint64_t has_run(void) {
    uint64_t ran = 0;
    FILE *file = fopen("/proc/self/schedstat", "r");
    if (file == NULL) return 0;
    if (fscanf(file, "%" SCNu64, &ran) != 1) ran = 0;
    fclose(file);
    return ran;
}

static _Noreturn void lost(const struct channel *channel) {
    const int64_t now = now_ns();
    printf("rank %d: lost rank %d at %" PRId64 ", ran %" PRIu64 ": %s\n", self, channel->rank, now,
           has_run(), fci_icl_peer_reason(context, channel->peer));
    fflush(stdout);
    while (getchar() != EOF) {
    }
    _exit(3);
}

static void judge(const struct channel *channel, int error, const char *what) {
    if (error == FCI_ICL_EPEER || error == FCI_ICL_EMISMATCH || error == FCI_ICL_EUNREACHABLE) {
        lost(channel);
    }
    if (error != FCI_ICL_OK) wrong(what, error);
}

static void on_sent(void *user, void *owner, const struct fci_icl_status *status) {
    struct channel *channel = user;
    (void)owner;
    judge(channel, status->error, "send");
    channel->sending = 0;
    channel->sent++;
}

static void on_received(void *user, void *owner, const struct fci_icl_status *status) {
    struct channel *channel = user;
    (void)owner;
    judge(channel, status->error, "receive");
    const uint64_t round = channel->received;
    const size_t bytes = size_of(channel->rank, self, round);
    if (status->length != bytes || status->match != round) {
        fprintf(stderr, "rank %d: %" PRIu64 " bytes, word %" PRIu64 " from rank %d, not %zu, %"
                PRIu64 "\n", self, status->length, status->match, channel->rank, bytes, round);
        exit(1);
    }
    for (size_t i = 0; i < bytes; i++) {
        if (channel->in[i] != byte_of(channel->rank, round, i)) {
            fprintf(stderr, "rank %d: byte %zu of %zu from rank %d is wrong\n", self, i, bytes,
                    channel->rank);
            exit(1);
        }
    }
    channel->receiving = 0;
    channel->received++;
}

static void post_send(struct channel *channel) {
    const size_t bytes = size_of(self, channel->rank, channel->sent);
    for (size_t i = 0; i < bytes; i++) channel->out[i] = byte_of(self, channel->sent, i);
    const struct fci_icl_completion completion = {on_sent, channel, NULL};
    fci_icl_order order;
    channel->sending = 1;
    const int code = fci_icl_send_bytes(context, channel->peer, 0, 0, channel->sent, 0,
                                        channel->out, bytes, &completion, &order);
    if (code == FCI_ICL_EAGAIN) {
        channel->sending = 0;
    } else if (code == FCI_ICL_DONE) {
        channel->sending = 0;
        channel->sent++;
        moved = 1;
    } else {
        judge(channel, code, "send");
    }
}

static void post_receive(struct channel *channel) {
    const struct iovec buffer = {channel->in, kLongest};
    const struct fci_icl_receive receive = {.source = channel->peer,
                                            .match = channel->received,
                                            .iov = &buffer,
                                            .iov_count = 1,
                                            .completion = {on_received, channel, NULL}};
    struct fci_icl_status status;
    fci_icl_order order;
    channel->receiving = 1;
    const int code = fci_icl_receive(context, &receive, &order, &status);
    if (code == FCI_ICL_DONE) {
        on_received(channel, NULL, &status);
        moved = 1;
    } else if (code == FCI_ICL_EAGAIN) {
        channel->receiving = 0;
    } else {
        judge(channel, code, "receive");
    }
}

static int over(uint64_t count) { return rounds != 0 && count >= rounds; }

/* Posts what can be posted. Returns whether anything is left to do. */
static int work(void) {
    int left = 0;
    for (int i = 0; i < ranks; i++) {
        struct channel *channel = &channels[i];
        if (i == self) continue;
        if (!channel->receiving && !over(channel->received)) post_receive(channel);
        if (!channel->sending && !over(channel->sent)) post_send(channel);
        left |= !over(channel->received) || !over(channel->sent);
    }
    return left;
}

/* A shell, a child that ends through exit() with all its cleaning up, one that ends at once, and
 * one that stays and holds every descriptor that is not closed by exec. */
static void make_processes(unsigned turn) {
    if (turn % 4 == 0) {
        if (system("true") != 0) wrong("system", 0);
        return;
    }
    const pid_t child = fork();
    if (child == 0) {
        if (turn % 4 == 1) exit(0);
        if (turn % 4 == 3) usleep(50000);
        _exit(0);
    }
    int status = 0;
    if (child < 0 || (turn % 4 != 3 && waitpid(child, &status, 0) != child) || status != 0) {
        wrong("child", status);
    }
}

static void become_another(int number) {
    (void)number;
    execlp("sleep", "sleep", "5", (char *)NULL);
    _exit(1);
}

static void exchange_cards(void) {
    unsigned char card[FCI_ICL_CARD_BYTES];
    fci_icl_card(context, card);
    for (size_t i = 0; i < sizeof card; i++) printf("%02x", card[i]);
    printf("\n");
    fflush(stdout);
    for (int rank = 0; rank < ranks; rank++) {
        char line[2 * FCI_ICL_CARD_BYTES + 3];
        if (fgets(line, sizeof line, stdin) == NULL) exit(2);
        for (size_t i = 0; i < sizeof card; i++) {
            unsigned value;
            if (sscanf(line + 2 * i, "%2x", &value) != 1) exit(2);
            card[i] = (unsigned char)value;
        }
        struct channel *channel = &channels[rank];
        channel->rank = rank;
        if (rank == self) continue;
        const int code = fci_icl_add_peer(context, card, &channel->peer);
        if (code != FCI_ICL_OK) wrong("add_peer", code);
        channel->out = malloc(kLongest);
        channel->in = malloc(kLongest);
    }
    has_cards = 1;
}

/* No library may touch a program's signal handlers. */
static void compare_handlers(struct sigaction *before, int compare) {
    for (int number = 1; number < NSIG; number++) {
        struct sigaction present;
        memset(&present, 0, sizeof present);
        if (sigaction(number, NULL, &present) != 0) continue;
        if (!compare) {
            before[number] = present;
        } else if (before[number].sa_handler != present.sa_handler) {
            fprintf(stderr, "rank %d: the handler of signal %d was changed\n", self, number);
            exit(1);
        }
    }
}

int main(int argc, char **argv) {
    if (argc < 4 || (ranks = atoi(argv[2])) < 1 || ranks > kMost) return 2;
    self = atoi(argv[1]);
    rounds = strtoull(argv[3], NULL, 10);
    const int forks = argc > 4 && strcmp(argv[4], "fork") == 0;
    if (argc > 4 && strcmp(argv[4], "exec") == 0) signal(SIGUSR1, become_another);
    static struct sigaction handlers[NSIG];
    compare_handlers(handlers, 0);

    const struct fci_icl_config config = {.version = FCI_ICL_VERSION,
                                          .local_ranks = (uint32_t)ranks,
                                          .user_agent = "survivor"};
    char *error = NULL;
    const int code = fci_icl_open(&config, &context, &error);
    if (code != FCI_ICL_OK) {
        fprintf(stderr, "rank %d: %s\n", self, error ? error : fci_icl_strerror(code));
        return 2;
    }
    compare_handlers(handlers, 1);
    exchange_cards();
    int64_t next = now_ns();
    for (unsigned turn = 0; work();) {
        fci_icl_wait(context, moved ? 0 : 20000000);
        moved = 0;
        if (forks && now_ns() >= next) {
            make_processes(turn++);
            next = now_ns() + 2000000;
        }
    }
    fci_icl_close(context, INT64_C(5000000000));
    compare_handlers(handlers, 1);
    return 0;
}
