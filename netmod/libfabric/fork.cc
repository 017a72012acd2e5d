#include "netmod/libfabric/fork.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <system_error>

#include "netmod/libfabric/endpoint.h"

namespace fci::libfabric {

namespace {

// The handlers of pthread_atfork take no argument, so this list cannot belong to anybody.
constinit std::mutex list_lock;
constinit Endpoint* first = nullptr;
constinit bool watching = false;

void before() { list_lock.lock(); }
void in_parent() { list_lock.unlock(); }
void in_the_child() {
    for (Endpoint* endpoint = first; endpoint != nullptr; endpoint = endpoint->fork_links.next) {
        endpoint->enter_fork_child();
    }
    list_lock.unlock();
}

}  // namespace

void watch_for_forks(Endpoint& endpoint) {
    const std::scoped_lock guard(list_lock);
    if (!watching) {
        const int failed = pthread_atfork(before, in_parent, in_the_child);
        if (failed != 0) throw std::system_error(failed, std::generic_category());
        watching = true;
    }
    ForkLinks& links = endpoint.fork_links;
    links.next = first;
    links.here = &first;
    if (first != nullptr) first->fork_links.here = &links.next;
    first = &endpoint;
}

void forget_forks(Endpoint& endpoint) noexcept {
    ForkLinks& links = endpoint.fork_links;
    if (links.here == nullptr) return;
    const std::scoped_lock guard(list_lock);
    *links.here = links.next;
    if (links.next != nullptr) links.next->fork_links.here = links.here;
    links = {};
}

void say_that_it_is_a_child() noexcept {
    static constinit std::atomic<pid_t> said{0};
    const pid_t self = getpid();
    if (said.exchange(self, std::memory_order_relaxed) == self) return;
    std::fprintf(stderr,
                 "fci: process %d came from fork() and uses an endpoint of its parent, whose "
                 "shared memory it does not have: it can neither send nor receive. Let it call "
                 "exec() or _exit(), or fork before the endpoint (MPI) is opened.\n",
                 static_cast<int>(self));
}

}  // namespace fci::libfabric
