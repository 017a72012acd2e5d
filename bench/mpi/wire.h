/* SPDX-License-Identifier: BSD-3-Clause */
/* wire.h: the floor between two hosts. Ranks 0 and 1 do over a bare TCP socket, which both wait for
 * without sleeping, what other cases do by MPI. Needs _GNU_SOURCE.
 */
#ifndef FCI_BENCH_MPI_WIRE_H
#define FCI_BENCH_MPI_WIRE_H

#include <errno.h>
#include <mpi.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/mpi/contents.h"

static int wire = -1;
static int window_of(size_t bytes); /* messages in one */

static void wire_fail(const char *what) {
    fprintf(stderr, "probe: rank %d: %s: %s\n", rank, what, strerror(errno));
    MPI_Abort(MPI_COMM_WORLD, 2);
}

/* Rank 1 listens, under the name of its host, and rank 0 goes there. */
static void wire_open(void) {
    enum { NAME = 64 };
    struct { char name[NAME]; char port[8]; } at;
    struct sockaddr_in any = {.sin_family = AF_INET};
    socklen_t length = sizeof any;
    int on = 1;
    if (wire >= 0 || rank > 1) return;
    if (rank == 1) {
        int door = socket(AF_INET, SOCK_STREAM, 0);
        if (door < 0 || bind(door, (struct sockaddr *)&any, sizeof any) != 0 ||
            listen(door, 1) != 0 || getsockname(door, (struct sockaddr *)&any, &length) != 0 ||
            gethostname(at.name, NAME) != 0)
            wire_fail("cannot listen");
        snprintf(at.port, sizeof at.port, "%d", ntohs(any.sin_port));
        MPI_Send(&at, sizeof at, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        wire = accept(door, NULL, NULL);
        close(door);
    } else {
        struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
        MPI_Recv(&at, sizeof at, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (getaddrinfo(at.name, at.port, &hints, &found) != 0) wire_fail(at.name);
        wire = socket(AF_INET, SOCK_STREAM, 0);
        if (wire < 0 || connect(wire, found->ai_addr, found->ai_addrlen) != 0) wire_fail(at.name);
        freeaddrinfo(found);
    }
    if (wire < 0 || setsockopt(wire, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
        wire_fail("no connection");
}

/* `more`: MSG_MORE where another message follows, or 0. */
static void wire_send(const unsigned char *data, size_t bytes, int more) {
    while (bytes != 0) {
        ssize_t done = send(wire, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL | more);
        if (done < 0 && errno != EAGAIN) wire_fail("cannot send");
        if (done > 0) data += done, bytes -= (size_t)done;
    }
}

static void wire_receive(unsigned char *data, size_t bytes) {
    while (bytes != 0) {
        ssize_t done = recv(wire, data, bytes, MSG_DONTWAIT);
        if (done == 0 || (done < 0 && errno != EAGAIN)) wire_fail("cannot receive");
        if (done > 0) data += done, bytes -= (size_t)done;
    }
}

static double wire_latency(size_t bytes, long rounds) {
    double begin = MPI_Wtime();
    for (long i = 0; i < rounds; ++i) {
        if (rank == 0) wire_send(out, bytes, 0);
        wire_receive(in, bytes);
        if (rank == 1) wire_send(out, bytes, 0);
    }
    return MPI_Wtime() - begin;
}

/* `count` messages, a call for each, then an answer of one byte. `more`: as above. */
static double wire_window(size_t bytes, long rounds, int count, int more) {
    unsigned char answer = 0;
    double begin = MPI_Wtime();
    for (long i = 0; i < rounds; ++i) {
        for (int k = 0; k < count; ++k) {
            if (rank == 0)
                wire_send(out, bytes, k + 1 < count ? more : 0);
            else
                wire_receive(in, bytes);
        }
        if (rank == 0)
            wire_receive(&answer, 1);
        else
            wire_send(&answer, 1, 0);
    }
    return MPI_Wtime() - begin;
}

static double wire_rate(size_t bytes, long rounds) {
    return wire_window(bytes, rounds, window_of(bytes), 0);
}

static double wire_more(size_t bytes, long rounds) {
    return wire_window(bytes, rounds, window_of(bytes), MSG_MORE);
}

static void wire_verify(size_t bytes) {
    wire_open();
    for (unsigned round = 0; round < 4; ++round) {
        fill(out, bytes, round * 2 + (unsigned)rank);
        memset(in, 0xEE, bytes);
        wire_latency(bytes, 1);
        check(in, bytes, round * 2 + 1 - (unsigned)rank);
    }
}

#endif
