/* SPDX-License-Identifier: BSD-3-Clause */
/* hostile.c: a user without rights who hears what a job sends by multicast, and sends to it.
 *
 *   hostile GROUP PORT OWN COUNT SECONDS RECORD [EARLIER]
 *
 * GROUP and PORT are the job's, OWN is this host's address. COUNT datagrams are sent: those heard,
 * at once and later, those recorded of an EARLIER job, and those heard with other headings, lengths
 * or contents. It ends then, or after SECONDS. Of the datagrams heard many are in the file RECORD.
 *
 * Prints "heard H, open O, chi C, name N, cookie K, sent S": O datagrams hold words of marked.c; C
 * is the chi-square of the bytes behind all headings, 255 where they are random; N and K are the
 * last ones' of the headings. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/hostile.h"

enum { KEPT = 4096, HEARD_LEAST = 64, AT_ONCE = 32, FOR_EACH = 16, MOUTHS = 2, QUIET_MS = 5 };

struct datagram {
    unsigned lane, length;
    unsigned char bytes[DATAGRAM_MOST];
};

static struct datagram heard[KEPT], earlier[KEPT], batch[AT_ONCE];
static unsigned long long heard_in_all, open_in_all, sent_in_all, seen[256], seen_in_all;
static unsigned earlier_count, batch_count;
static int ears[LANES], mouths[MOUTHS];
static uint16_t mouth_ports[MOUTHS];
static struct sockaddr_in group, own;

static void need(int is_so, const char* what) {
    if (is_so) return;
    fprintf(stderr, "hostile: %s: %s\n", what, strerror(errno));
    exit(2);
}

static uint64_t state = 0x9e3779b97f4a7c15;
static unsigned drawn(unsigned below) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (unsigned)(state >> 32) % below;
}

static void open_all(void) {
    const int on = 1;
    for (unsigned lane = 0; lane < LANES; ++lane) {
        struct sockaddr_in at = group;
        at.sin_port = htons((uint16_t)(ntohs(group.sin_port) + lane));
        const struct ip_mreq membership = {group.sin_addr, own.sin_addr};
        ears[lane] = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
        need(setsockopt(ears[lane], SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0, "reuse");
        need(bind(ears[lane], (struct sockaddr*)&at, sizeof at) == 0, "bind");
        need(setsockopt(ears[lane], IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership,
                        sizeof membership) == 0,
             "join");
    }
    for (unsigned i = 0; i < MOUTHS; ++i) {
        struct sockaddr_in from = own;
        socklen_t size = sizeof from;
        mouths[i] = socket(AF_INET, SOCK_DGRAM, 0);
        need(bind(mouths[i], (struct sockaddr*)&from, size) == 0, "bind to send");
        need(getsockname(mouths[i], (struct sockaddr*)&from, &size) == 0, "own port");
        mouth_ports[i] = from.sin_port;
        need(setsockopt(mouths[i], IPPROTO_IP, IP_MULTICAST_IF, &own.sin_addr,
                        sizeof own.sin_addr) == 0,
             "interface");
    }
}

static int is_own(const struct sockaddr_in* from) {
    for (unsigned i = 0; i < MOUTHS; ++i) {
        if (from->sin_addr.s_addr == own.sin_addr.s_addr && from->sin_port == mouth_ports[i]) {
            return 1;
        }
    }
    return 0;
}

static void look_into(const struct datagram* it) {
    open_in_all += memmem(it->bytes, it->length, "opened", 6) != NULL;
    for (unsigned i = sizeof(struct heading); i < it->length; ++i) ++seen[it->bytes[i]];
    if (it->length > sizeof(struct heading)) seen_in_all += it->length - sizeof(struct heading);
}

/* The next one that somebody else sent, or nullptr. */
static const struct datagram* hear(void) {
    for (unsigned lane = 0; lane < LANES; ++lane) {
        struct datagram* const it = &heard[heard_in_all % KEPT];
        struct sockaddr_in from;
        for (;;) {
            socklen_t size = sizeof from;
            const ssize_t length = recvfrom(ears[lane], it->bytes, sizeof it->bytes, 0,
                                            (struct sockaddr*)&from, &size);
            if (length < 0) break;
            if (length < (ssize_t)sizeof(struct heading) || is_own(&from)) continue;
            it->lane = lane;
            it->length = (unsigned)length;
            look_into(it);
            ++heard_in_all;
            return it;
        }
    }
    return NULL;
}

static void send_batch(void) {
    struct mmsghdr messages[AT_ONCE] = {0};
    struct iovec bytes[AT_ONCE];
    struct sockaddr_in to[AT_ONCE];
    for (unsigned i = 0; i < batch_count; ++i) {
        to[i] = group;
        to[i].sin_port = htons((uint16_t)(ntohs(group.sin_port) + batch[i].lane));
        bytes[i] = (struct iovec){batch[i].bytes, batch[i].length};
        messages[i].msg_hdr = (struct msghdr){
            .msg_name = &to[i], .msg_namelen = sizeof to[i], .msg_iov = &bytes[i], .msg_iovlen = 1};
    }
    const int sent = sendmmsg(mouths[drawn(MOUTHS)], messages, batch_count, 0);
    need(sent > 0, "send");
    sent_in_all += (unsigned)sent;
    batch_count = 0;
}

static void own_contents(struct datagram* it) {
    static const char word[] = "INJECTED";
    for (unsigned i = sizeof(struct heading); i < it->length; ++i) {
        it->bytes[i] = (unsigned char)word[i % (sizeof word - 1)];
    }
}

/* Something that the job might take, made of what was heard. */
static void forge(const struct datagram* model) {
    struct datagram* const it = &batch[batch_count++];
    *it = *model;
    struct heading heading;
    memcpy(&heading, it->bytes, sizeof heading);
    const unsigned kind = drawn(13);
    switch (kind) {
        case 0:
            break;
        case 1:
            *it = heard[drawn(heard_in_all < KEPT ? (unsigned)heard_in_all : KEPT)];
            break;
        case 2:
            if (earlier_count == 0) break;
            *it = earlier[drawn(earlier_count)];
            memcpy(it->bytes, &heading.cookie, sizeof heading.cookie);
            break;
        case 3: {
            const unsigned bit = drawn(8 * it->length);
            it->bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
            break;
        }
        case 4:
        case 5:
            heading.number += 1 + drawn(16);
            break;
        case 6:
            heading.offset += drawn(2) ? it->length - sizeof(struct heading) : drawn(1 << 20);
            break;
        case 7:
            heading.total = drawn(2) ? drawn(1 << 21) : heading.total + 8;
            break;
        case 8:
            heading.rank = (uint16_t)drawn(5);
            break;
        case 9:
            it->length = 1 + drawn(DATAGRAM_MOST);
            break;
        case 10:
            heading.name += 1 + drawn(4);
            break;
        case 11:
            heading.serial += 1 + drawn(1000);
            break;
        default:
            break; /* the contents alone */
    }
    if (kind >= 4 && it->length >= sizeof heading) {
        memcpy(it->bytes, &heading, sizeof heading);
        own_contents(it);
    }
    if (batch_count == AT_ONCE) send_batch();
}

static double chi_square(void) {
    if (seen_in_all == 0) return 0;
    const double each = (double)seen_in_all / 256;
    double sum = 0;
    for (unsigned i = 0; i < 256; ++i) sum += ((double)seen[i] - each) * ((double)seen[i] - each);
    return sum / each;
}

static void read_earlier(const char* path) {
    FILE* const file = fopen(path, "rb");
    need(file != NULL, path);
    while (earlier_count < KEPT && fread(&earlier[earlier_count], sizeof *earlier, 1, file) == 1) {
        ++earlier_count;
    }
    fclose(file);
}

static void write_heard(const char* path) {
    FILE* const file = fopen(path, "wb");
    need(file != NULL, path);
    const unsigned count = heard_in_all < KEPT ? (unsigned)heard_in_all : KEPT;
    need(fwrite(heard, sizeof *heard, count, file) == count, path);
    fclose(file);
}

int main(int argc, char** argv) {
    need(argc == 7 || argc == 8, "GROUP PORT OWN COUNT SECONDS RECORD [EARLIER]");
    group.sin_family = own.sin_family = AF_INET;
    need(inet_pton(AF_INET, argv[1], &group.sin_addr) == 1, "GROUP");
    group.sin_port = htons((uint16_t)atoi(argv[2]));
    need(inet_pton(AF_INET, argv[3], &own.sin_addr) == 1, "OWN");
    const unsigned long long count = strtoull(argv[4], NULL, 10);
    if (argc == 8) read_earlier(argv[7]);
    open_all();
    const time_t end = time(NULL) + atoi(argv[5]);
    const struct datagram* last = NULL;
    while ((sent_in_all < count || heard_in_all < HEARD_LEAST) && time(NULL) < end) {
        const struct datagram* const it = hear();
        if (it != NULL) last = it;
        if (it == NULL) {
            struct pollfd waiting[LANES];
            for (unsigned i = 0; i < LANES; ++i) waiting[i] = (struct pollfd){ears[i], POLLIN, 0};
            if (poll(waiting, LANES, QUIET_MS) > 0) continue;
        }
        for (unsigned i = 0; last != NULL && i < FOR_EACH && sent_in_all < count; ++i) forge(last);
    }
    struct heading heading = {0};
    if (last != NULL) memcpy(&heading, last->bytes, sizeof heading);
    write_heard(argv[6]);
    printf("heard %llu, open %llu, chi %.0f, name %llx, cookie %x, sent %llu\n", heard_in_all,
           open_in_all, chi_square(), (unsigned long long)heading.name, heading.cookie,
           sent_in_all);
    return 0;
}
