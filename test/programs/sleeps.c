/* SPDX-License-Identifier: BSD-3-Clause */
/* sleeps.c, which other programs include: FCI's sleeps end by what happens, and not by time, from
 * when never_ends() says so. Who is not woken sleeps for ever then, however fast the machine is.
 * Linked with -rdynamic, so that these functions come before the C library's. */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Of a sleep that begins now, in this thread, and would end `by_time`: 1 where it is not to. */
static int never_ends(int by_time);

static int takes_time(const struct timespec *timeout) {
    return timeout != NULL && (timeout->tv_sec > 0 || timeout->tv_nsec > 0);
}

int epoll_pwait2(int epoll, struct epoll_event *events, int most, const struct timespec *timeout,
                 const sigset_t *signals) {
    if (never_ends(takes_time(timeout))) timeout = NULL;
    return (int)syscall(SYS_epoll_pwait2, epoll, events, most, timeout, signals, 8);
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout_ms) {
    if (never_ends(timeout_ms > 0)) timeout_ms = -1;
    return (int)syscall(SYS_epoll_pwait, epoll, events, most, timeout_ms, NULL, 8);
}

int ppoll(struct pollfd *of, nfds_t count, const struct timespec *timeout,
          const sigset_t *signals) {
    struct timespec left = {0, 0};
    if (timeout != NULL) left = *timeout;
    const int is_limited = timeout != NULL && !never_ends(takes_time(timeout));
    return (int)syscall(SYS_ppoll, of, count, is_limited ? &left : NULL, signals, 8);
}
