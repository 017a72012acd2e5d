/* SPDX-License-Identifier: BSD-3-Clause */
/* yielding.c: preloaded under a stock MPICH, it gives the core away when there was nothing to do.
 *
 * Stock MPICH polls without pause: with more ranks than cores every message waits for the end of a
 * time slice, and its own test suite takes hours. This changes when ranks run and nothing else, so
 * that verdicts can be had; times taken with it say nothing about stock.
 *
 * ch4:ucx polls with ucp_worker_progress; libfabric's tcp provider, under ch4:ofi, with epoll or
 * poll. Lookups may be repeated by several threads, with the same result. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>

unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*next)(void *);
    if (!next)
        *(void **) &next = dlsym(RTLD_NEXT, "ucp_worker_progress");
    unsigned done = next(worker);
    if (done == 0)
        sched_yield();
    return done;
}

int epoll_wait(int file, struct epoll_event *events, int most, int timeout)
{
    static int (*next)(int, struct epoll_event *, int, int);
    if (!next)
        *(void **) &next = dlsym(RTLD_NEXT, "epoll_wait");
    int ready = next(file, events, most, timeout);
    if (ready == 0 && timeout == 0)
        sched_yield();
    return ready;
}

int poll(struct pollfd *files, nfds_t count, int timeout)
{
    static int (*next)(struct pollfd *, nfds_t, int);
    if (!next)
        *(void **) &next = dlsym(RTLD_NEXT, "poll");
    int ready = next(files, count, timeout);
    if (ready == 0 && timeout == 0)
        sched_yield();
    return ready;
}
