/* SPDX-License-Identifier: BSD-3-Clause */
/* caller.c: a stranger who calls the processes of a job over TCP, and guesses how they are called.
 *
 *   caller COUNT SECONDS NAME MARK HELLOS FIRST-PORT LAST-PORT HOST...
 *
 * Looks at each HOST for the port at which somebody listens, and then says COUNT hellos to these:
 * those in the file HELLOS, of an earlier job, as they are and for other incarnations: of MARK, 16
 * bits that all on a host can know, and of each part of NAME, of a group of hints; and any. It ends
 * then, or after SECONDS.
 *
 * Prints "listening L, called C, heard out H, answered A, told T": so many calls came to their end
 * there, so many had an answer, and so many of these held more than a refusal. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Of every version of a hello (drivers/tcp/hello.h). */
enum { JOB = 8, DIGEST = 16, TO = 56, INCARNATION = 8 };
enum { HELLO_MOST = 256, HELLOS_MOST = 64, HOSTS_MOST = 16, AT_ONCE = 64, PATIENCE_S = 2 };

struct call {
    int socket, has_said;
    unsigned host;
    time_t began;
    unsigned got;
    unsigned char answer[HELLO_MOST];
};

static unsigned char hellos[HELLOS_MOST][HELLO_MOST];
static unsigned lengths[HELLOS_MOST], hello_count, hosts;
static struct sockaddr_in places[HOSTS_MOST];
static struct call calls[AT_ONCE];
static uint64_t name, mark, guess, called, heard_out, answered, told;

static void need(int is_so, const char* what) {
    if (is_so) return;
    fprintf(stderr, "caller: %s: %s\n", what, strerror(errno));
    exit(2);
}

static uint64_t drawn(void) {
    static uint64_t state = 0x2545f4914f6cdd1d;
    return state ^= state << 13, state ^= state >> 7, state ^= state << 17;
}

static int is_listening(const struct sockaddr_in* at) {
    const int socket_ = socket(AF_INET, SOCK_STREAM, 0);
    need(socket_ >= 0, "socket");
    const struct timeval most = {1, 0};
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    const int answer = connect(socket_, (const struct sockaddr*)at, sizeof *at);
    close(socket_);
    return answer == 0;
}

static unsigned find(unsigned host, unsigned first, unsigned last, time_t end) {
    while (time(NULL) < end) {
        for (unsigned port = first; port <= last; ++port) {
            places[host].sin_port = htons((uint16_t)port);
            if (is_listening(&places[host])) return 1;
        }
        usleep(50000);
    }
    return 0;
}

static uint64_t guessed(void) {
    const uint64_t low = name >> 32, counted = name & 0xffffffff, some = guess++ & 0xffff;
    switch (drawn() % 8) {
        case 0:
            return drawn() >> 16 | mark << 48;
        case 1:
            return name;
        case 2:
            return mark << 48 | some << 32 | counted;
        case 3:
            return drawn();
        default:
            return mark << 48 | some << 32 | low;
    }
}

static unsigned make(unsigned char* hello, const struct sockaddr_in* to) {
    const unsigned which = (unsigned)(drawn() % hello_count), length = lengths[which];
    memcpy(hello, hellos[which], length);
    memcpy(hello + TO + 2, &to->sin_port, 2);
    memcpy(hello + TO + 4, &to->sin_addr, 4);
    if (drawn() % 8 == 0) return length;
    const uint64_t incarnation = guessed();
    memcpy(hello + TO + INCARNATION, &incarnation, sizeof incarnation);
    return length;
}

static void begin(struct call* it) {
    it->host = (unsigned)(drawn() % hosts);
    it->socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    need(it->socket >= 0, "socket");
    it->has_said = 0, it->got = 0, it->began = time(NULL);
    const struct sockaddr_in* const at = &places[it->host];
    if (connect(it->socket, (const struct sockaddr*)at, sizeof *at) != 0 && errno != EINPROGRESS) {
        close(it->socket);
        it->socket = -1;
    }
    ++called;
}

static void end_of(struct call* it, int is_heard) {
    uint64_t secret[2];
    memcpy(secret, it->answer + JOB, sizeof secret);
    heard_out += (unsigned)is_heard;
    answered += it->got != 0;
    told += it->got >= DIGEST + 8 && (secret[0] | secret[1]) != 0;
    close(it->socket);
    it->socket = -1;
    memset(it->answer, 0, sizeof it->answer);
}

static void go_on(struct call* it, short events) {
    if (events != 0 && !it->has_said) {
        unsigned char hello[HELLO_MOST];
        const unsigned length = make(hello, &places[it->host]);
        if (send(it->socket, hello, length, MSG_NOSIGNAL) != (ssize_t)length) return end_of(it, 0);
        it->has_said = 1;
    } else if (events != 0) {
        const ssize_t came = recv(it->socket, it->answer + it->got, sizeof it->answer - it->got, 0);
        if (came <= 0) return end_of(it, 1);
        it->got += (unsigned)came;
    }
    if (time(NULL) > it->began + PATIENCE_S) end_of(it, it->got != 0);
}

int main(int argc, char** argv) {
    need(argc > 8 && argc <= 8 + HOSTS_MOST, "see its first lines for the arguments");
    const uint64_t count = strtoull(argv[1], NULL, 10);
    const time_t end = time(NULL) + atoi(argv[2]);
    name = strtoull(argv[3], NULL, 16), mark = strtoull(argv[4], NULL, 16), guess = drawn();
    FILE* const file = fopen(argv[5], "rb");
    need(file != NULL, argv[5]);
    for (uint32_t length; fread(&length, sizeof length, 1, file) == 1; ++hello_count) {
        need(hello_count < HELLOS_MOST && length >= TO + 16 && length <= HELLO_MOST, "HELLOS");
        lengths[hello_count] = length;
        need(fread(hellos[hello_count], length, 1, file) == 1, "HELLOS");
    }
    need(hello_count != 0, "HELLOS");
    for (int i = 8; i < argc; ++i) {
        places[hosts].sin_family = AF_INET;
        need(inet_pton(AF_INET, argv[i], &places[hosts].sin_addr) == 1, "HOST");
        hosts += find(hosts, (unsigned)atoi(argv[6]), (unsigned)atoi(argv[7]), end);
    }
    for (unsigned i = 0; i < AT_ONCE; ++i) calls[i].socket = -1;
    while (hosts != 0 && time(NULL) < end) {
        struct pollfd waiting[AT_ONCE];
        unsigned open = 0;
        for (unsigned i = 0; i < AT_ONCE; ++i) {
            if (calls[i].socket < 0 && called < count) begin(&calls[i]);
            const short events = calls[i].has_said ? POLLIN : POLLOUT;
            waiting[i] = (struct pollfd){calls[i].socket, events, 0};
            open += calls[i].socket >= 0;
        }
        if (open == 0 && called >= count) break;
        poll(waiting, AT_ONCE, 100);
        for (unsigned i = 0; i < AT_ONCE; ++i) {
            if (calls[i].socket >= 0) go_on(&calls[i], waiting[i].revents);
        }
    }
    printf("listening %u, called %llu, heard out %llu, answered %llu, told %llu\n", hosts,
           (unsigned long long)called, (unsigned long long)heard_out, (unsigned long long)answered,
           (unsigned long long)told);
    return 0;
}
