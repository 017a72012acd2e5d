/* SPDX-License-Identifier: BSD-3-Clause */
/* bare_meeting.h: all ranks of a host meet one another by nothing but system calls: one connection
 * for each pair, by which the lower rank hands over a page of memory that the higher one maps and
 * writes into. It is the least that meeting costs on this machine, beside all else that runs there
 * now, so that a product's meeting can be judged beside it. */
#pragma once
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PAGE = 4096 };

static inline void meeting_must(int holds, const char *step) {
    if (holds) return;
    perror(step);
    exit(1);
}

/* The door of a rank, in the abstract space; key is the same in all ranks of a job. */
static inline socklen_t door_of(int key, int rank, struct sockaddr_un *name) {
    memset(name, 0, sizeof *name);
    name->sun_family = AF_UNIX;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1) +
        (socklen_t)snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "bare/%d/%d", key, rank);
}

static inline void hand_over(int link, int memory) {
    char word = 0, control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec data = {&word, 1};
    struct msghdr message;
    memset(&message, 0, sizeof message);
    message.msg_iov = &data, message.msg_iovlen = 1;
    message.msg_control = control, message.msg_controllen = sizeof control;
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET, rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &memory, sizeof memory);
    meeting_must(sendmsg(link, &message, 0) == 1, "sendmsg");
    meeting_must(recv(link, &word, 1, 0) == 1, "recv");
}

static inline void take_over(int link) {
    char word, control[CMSG_SPACE(sizeof(int))];
    int memory;
    struct iovec data = {&word, 1};
    struct msghdr message;
    memset(&message, 0, sizeof message);
    message.msg_iov = &data, message.msg_iovlen = 1;
    message.msg_control = control, message.msg_controllen = sizeof control;
    meeting_must(recvmsg(link, &message, 0) == 1 && CMSG_FIRSTHDR(&message) != NULL, "recvmsg");
    memcpy(&memory, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof memory);
    char *page = (char *)mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    meeting_must(page != MAP_FAILED, "mmap");
    *page = 1;
    munmap(page, PAGE);
    close(memory);
    meeting_must(send(link, &word, 1, 0) == 1, "send");
}

/* Opened by all ranks before one of them meets another. */
static inline int open_door(int key, int rank, int size) {
    struct sockaddr_un name;
    const int door = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const socklen_t bytes = door_of(key, rank, &name);
    meeting_must(bind(door, (struct sockaddr *)&name, bytes) == 0, "bind");
    meeting_must(listen(door, size) == 0, "listen");
    return door;
}

/* All ranks call it, on one host; closes the door. */
static inline void meet_bare(int door, int key, int rank, int size) {
    struct sockaddr_un name;
    /* Each step pairs all ranks, so that few descriptors are under way at once: their number is
     * limited for all processes of a user together. */
    int steps = 1;
    while (steps < size) steps *= 2;
    for (int step = 1; step < steps; ++step) {
        const int peer = rank ^ step;
        if (peer >= size) continue;
        if (peer < rank) {
            const int link = accept(door, NULL, NULL);
            meeting_must(link >= 0, "accept");
            take_over(link);
            close(link);
        } else {
            const int link = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
            const int memory = memfd_create("page", MFD_CLOEXEC);
            meeting_must(memory >= 0 && ftruncate(memory, PAGE) == 0, "memfd");
            const socklen_t length = door_of(key, peer, &name);
            meeting_must(connect(link, (struct sockaddr *)&name, length) == 0, "connect");
            hand_over(link, memory);
            close(memory);
            close(link);
        }
    }
    close(door);
}
