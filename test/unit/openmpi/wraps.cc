// SPDX-License-Identifier: BSD-3-Clause
// The linker puts these between the component and what it calls (test/Makefile.mk): turns of the
// far ends, a clock, answers of the test.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "test/unit/openmpi/ends.h"

namespace fci::openmpi {
namespace {

constexpr unsigned kTurnsMost = 5'000'000;  // of one test: then it hangs

int instead(std::deque<int>& answers) {
    const int answer = answers.front();
    answers.pop_front();
    return answer;
}

/// Several threads of a program come to the core one at a time.
void expect_lock(const fci_icl_context* context) {
    if (context != near_context() || !surroundings().has_threads) return;
    ++surroundings().locked_calls;
    EXPECT_GE(near_locked(), 1u);
}

/// There are no turns inside of turns.
class Turn {
public:
    explicit Turn(const fci_icl_context* context) : is_near_(context == near_context()) {
        expect_lock(context);
        if (!is_near_) return;
        EXPECT_FALSE(std::exchange(in_turn_, true));
        if (++surroundings().turns > kTurnsMost) {
            std::fprintf(stderr, "%u turns without an end\n", kTurnsMost);
            std::abort();
        }
        if (surroundings().before_turn) surroundings().before_turn();
    }
    ~Turn() {
        if (is_near_) in_turn_ = false;
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

private:
    static inline bool in_turn_ = false;
    bool is_near_;
};

}  // namespace
}  // namespace fci::openmpi

using namespace fci::openmpi;

#pragma GCC visibility push(default)
extern "C" {

/// Of what Open MPI keeps until the process ends nobody knows any more who had it: its modules are
/// unloaded before that is looked for.
const char* __asan_default_options();
const char* __asan_default_options() {
    return "detect_leaks=0";
}

decltype(fci_icl_progress) __real_fci_icl_progress, __wrap_fci_icl_progress;
int __wrap_fci_icl_progress(fci_icl_context* context) {
    const Turn turn(context);
    return __real_fci_icl_progress(context);
}

decltype(fci_icl_group_form) __real_fci_icl_group_form, __wrap_fci_icl_group_form;
int __wrap_fci_icl_group_form(fci_icl_context* context, const fci_icl_peer* members, uint32_t count,
                              uint32_t self, uint64_t key, size_t most, fci_icl_group** group) {
    const Turn turn(context);
    return __real_fci_icl_group_form(context, members, count, self, key, most, group);
}

decltype(fci_icl_group_call) __real_fci_icl_group_call, __wrap_fci_icl_group_call;
int __wrap_fci_icl_group_call(fci_icl_context* context, fci_icl_group* group,
                              struct fci_icl_collective* collective) {
    const Turn turn(context);
    if (context == near_context() && !surroundings().calls.empty()) {
        return instead(surroundings().calls);
    }
    return __real_fci_icl_group_call(context, group, collective);
}

decltype(fci_icl_group_start) __real_fci_icl_group_start, __wrap_fci_icl_group_start;
int __wrap_fci_icl_group_start(fci_icl_context* context, fci_icl_group* group,
                               struct fci_icl_collective* collective) {
    expect_lock(context);
    if (context == near_context() && !surroundings().starts.empty()) {
        return instead(surroundings().starts);
    }
    return __real_fci_icl_group_start(context, group, collective);
}

decltype(fci_icl_send) __real_fci_icl_send, __wrap_fci_icl_send;
int __wrap_fci_icl_send(fci_icl_context* context, const struct fci_icl_send* send,
                        fci_icl_order* order) {
    expect_lock(context);
    if (!surroundings().sends.empty()) return instead(surroundings().sends);
    return __real_fci_icl_send(context, send, order);
}

decltype(fci_icl_send_short) __real_fci_icl_send_short, __wrap_fci_icl_send_short;
int __wrap_fci_icl_send_short(fci_icl_context* context, fci_icl_peer peer, uint64_t match,
                              const void* buffer, size_t bytes) {
    expect_lock(context);
    if (!surroundings().short_sends.empty()) return instead(surroundings().short_sends);
    return __real_fci_icl_send_short(context, peer, match, buffer, bytes);
}

// Of these nothing is asked but that they come one at a time.
decltype(fci_icl_send_bytes) __real_fci_icl_send_bytes, __wrap_fci_icl_send_bytes;
int __wrap_fci_icl_send_bytes(fci_icl_context* context, fci_icl_peer peer, uint32_t space,
                              uint32_t flags, uint64_t match, uint64_t immediate,
                              const void* buffer, size_t bytes,
                              const struct fci_icl_completion* completion, fci_icl_order* order) {
    expect_lock(context);
    return __real_fci_icl_send_bytes(context, peer, space, flags, match, immediate, buffer, bytes,
                                     completion, order);
}

decltype(fci_icl_receive) __real_fci_icl_receive, __wrap_fci_icl_receive;
int __wrap_fci_icl_receive(fci_icl_context* context, const struct fci_icl_receive* receive,
                           fci_icl_order* order, struct fci_icl_status* status) {
    expect_lock(context);
    return __real_fci_icl_receive(context, receive, order, status);
}

decltype(fci_icl_post) __real_fci_icl_post, __wrap_fci_icl_post;
fci_icl_order __wrap_fci_icl_post(fci_icl_context* context, fci_icl_peer source, uint64_t match,
                                  uint64_t ignore, void* buffer, size_t bytes, fci_icl_done_fn done,
                                  void* user, void* owner) {
    expect_lock(context);
    return __real_fci_icl_post(context, source, match, ignore, buffer, bytes, done, user, owner);
}

decltype(fci_icl_cancel) __real_fci_icl_cancel, __wrap_fci_icl_cancel;
int __wrap_fci_icl_cancel(fci_icl_context* context, fci_icl_order order) {
    expect_lock(context);
    return __real_fci_icl_cancel(context, order);
}

decltype(fci_icl_meet) __real_fci_icl_meet, __wrap_fci_icl_meet;
int __wrap_fci_icl_meet(fci_icl_context* context, fci_icl_peer peer) {
    expect_lock(context);
    return __real_fci_icl_meet(context, peer);
}

decltype(fci_icl_probe) __real_fci_icl_probe, __wrap_fci_icl_probe;
int __wrap_fci_icl_probe(fci_icl_context* context, fci_icl_peer source, uint32_t space,
                         uint64_t match, uint64_t ignore, struct fci_icl_status* status,
                         fci_icl_message** claimed) {
    expect_lock(context);
    return __real_fci_icl_probe(context, source, space, match, ignore, status, claimed);
}

decltype(fci_icl_receive_claimed) __real_fci_icl_receive_claimed, __wrap_fci_icl_receive_claimed;
int __wrap_fci_icl_receive_claimed(fci_icl_context* context, fci_icl_message* message,
                                   const struct iovec* iov, size_t iov_count,
                                   const struct fci_icl_completion* completion,
                                   fci_icl_order* order, struct fci_icl_status* status) {
    expect_lock(context);
    return __real_fci_icl_receive_claimed(context, message, iov, iov_count, completion, order,
                                          status);
}

decltype(fci_icl_discard) __real_fci_icl_discard, __wrap_fci_icl_discard;
int __wrap_fci_icl_discard(fci_icl_context* context, uint32_t space, uint64_t match,
                           uint64_t ignore) {
    expect_lock(context);
    return __real_fci_icl_discard(context, space, match, ignore);
}

decltype(fci_icl_add_peer) __real_fci_icl_add_peer, __wrap_fci_icl_add_peer;
int __wrap_fci_icl_add_peer(fci_icl_context* context, const unsigned char card[FCI_ICL_CARD_BYTES],
                            fci_icl_peer* peer) {
    expect_lock(context);
    return __real_fci_icl_add_peer(context, card, peer);
}

decltype(fci_icl_group_leave) __real_fci_icl_group_leave, __wrap_fci_icl_group_leave;
void __wrap_fci_icl_group_leave(fci_icl_context* context, fci_icl_group* group) {
    expect_lock(context);
    __real_fci_icl_group_leave(context, group);
}

decltype(fci_icl_set_idle) __real_fci_icl_set_idle, __wrap_fci_icl_set_idle;
void __wrap_fci_icl_set_idle(fci_icl_context* context, int idle) {
    if (context == near_context()) surroundings().idle.push_back(idle);
    __real_fci_icl_set_idle(context, idle);
}

double __wrap_MPI_Wtime(void);
double __wrap_MPI_Wtime(void) {
    return surroundings().now;
}

int __wrap_usleep(unsigned us);
int __wrap_usleep(unsigned us) {
    surroundings().slept_us += us;
    return 0;
}

unsigned __wrap_sleep(unsigned seconds);
unsigned __wrap_sleep(unsigned seconds) {
    surroundings().slept_us += seconds * 1'000'000;
    return 0;
}

int __wrap_ompi_mpi_abort(void* comm, int code);
int __wrap_ompi_mpi_abort(void*, int code) {
    surroundings().aborted_with = code;
    return 0;
}

void __wrap_opal_output(int stream, const char* format, ...);
void __wrap_opal_output(int, const char* format, ...) {
    char text[1000];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    surroundings().said.emplace_back(text);
}
}
#pragma GCC visibility pop
