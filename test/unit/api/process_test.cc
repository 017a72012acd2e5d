// SPDX-License-Identifier: BSD-3-Clause
// The turn of a process, through the C face.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fci_core/api/icl.h"
#include "fci_core/base/clock.h"
#include "fci_core/progress/host.h"
#include "fci_core/progress/slice.h"
#include "test/unit/api/context.h"
#include "test/unit/limit.h"
#include "test/unit/progress/scheduler.h"

namespace fci {
namespace {

constexpr std::uint64_t kJob = 0x4712;

fci_icl_peer add(fci_icl_context* context, fci_icl_context* other) {
    unsigned char card[FCI_ICL_CARD_BYTES];
    fci_icl_card(other, card);
    fci_icl_peer peer = 0;
    EXPECT_EQ(fci_icl_add_peer(context, card, &peer), FCI_ICL_OK);
    return peer;
}

int send(fci_icl_context* from, fci_icl_peer to, std::uint64_t match) {
    return fci_icl_send_bytes(from, to, 0, 0, match, 0, "x", 1, nullptr, nullptr);
}

std::uint64_t counter(const fci_icl_context* context, std::string_view name) {
    for (unsigned i = 0;; ++i) {
        const char* const known = fci_icl_counter_name(i, nullptr);
        if (known == nullptr) ADD_FAILURE() << "no counter " << name;
        if (known == nullptr || name == known) return fci_icl_counter(context, i);
    }
}

bool arrived(fci_icl_context* context, std::uint64_t match) {
    fci_icl_status status{};
    return fci_icl_probe(context, FCI_ICL_ANY_SOURCE, 0, match, 0, &status, nullptr) == FCI_ICL_OK;
}

/// Takes what `arrived` has found.
void take(fci_icl_context* context, std::uint64_t match) {
    char byte = 0;
    const iovec range{&byte, 1};
    struct fci_icl_receive receive{};
    receive.source = FCI_ICL_ANY_SOURCE;
    receive.match = match;
    receive.iov = &range;
    receive.iov_count = 1;
    fci_icl_order order = 0;
    fci_icl_status status{};
    ASSERT_EQ(fci_icl_receive(context, &receive, &order, &status), FCI_ICL_DONE);
}

/// Calls progress of all `contexts` in turns until each that `awaited` names has got its message.
void get_all(std::initializer_list<std::pair<fci_icl_context*, std::uint64_t>> awaited,
             std::initializer_list<fci_icl_context*> contexts) {
    Limit limit("a message");
    const auto missing = [](const auto& one) { return !arrived(one.first, one.second); };
    while (std::any_of(awaited.begin(), awaited.end(), missing) && limit.holds()) {
        for (fci_icl_context* const each : contexts) fci_icl_progress(each);
    }
}

/// `to` as `from` knows it, and a message went there.
fci_icl_peer connect(fci_icl_context* from, fci_icl_context* to, std::uint64_t match) {
    const fci_icl_peer peer = add(from, to);
    EXPECT_GE(send(from, peer, match), 0);
    get_all({{to, match}}, {from, to});
    take(to, match);
    return peer;
}

// Whoever gets one message after the other, and never has a turn without one, still opens the door.
TEST(Process, progress__of_one_who_is_never_idle_meets_others) {
    for (const bool waits : {false, true}) {
        const Context self = open_context(kJob), busy = open_context(kJob);
        const Context visitor = open_context(kJob);
        const fci_icl_peer from_busy = connect(busy.get(), self.get(), 1);
        ASSERT_GE(send(visitor.get(), add(visitor.get(), self.get()), 2), 0);
        int turns = 0;
        for (; !arrived(self.get(), 2); ++turns) {
            ASSERT_LT(turns, 100'000) << "nobody opened, waiting: " << waits;
            ASSERT_EQ(send(busy.get(), from_busy, 1), FCI_ICL_DONE);
            ASSERT_GT(waits ? fci_icl_wait(self.get(), 0) : fci_icl_progress(self.get()), 0);
            take(self.get(), 1);
            fci_icl_progress(visitor.get());
        }
    }
}

// However many there are, and however long nothing came: the next turn sees who has sent.
TEST(Process, progress__sees_at_once_what_any_of_many_peers_sends) {
    for (const unsigned count : {2u, 3u, 9u, 10u, 18u}) {
        const Context self = open_context(kJob, 2);
        std::vector<Context> others;
        std::vector<fci_icl_peer> there;
        std::uint64_t match = 0;
        for (unsigned i = 0; i < count; ++i) {
            others.push_back(open_context(kJob, 2));
            there.push_back(connect(others[i].get(), self.get(), ++match));
        }
        for (unsigned i = 0; i < 5 * count; ++i) {
            for (unsigned turn = 0; turn < i % 7; ++turn) {
                ASSERT_EQ(fci_icl_progress(self.get()), 0);
            }
            const unsigned from = i * 7 % count;
            ASSERT_EQ(send(others[from].get(), there[from], ++match), FCI_ICL_DONE);
            ASSERT_EQ(fci_icl_progress(self.get()), 1) << i << ", of " << count;
            ASSERT_TRUE(arrived(self.get(), match));
            take(self.get(), match);
        }
    }
}

/// In a child of fork(): how many calls do not answer as they must. None may crash or hang.
int misuse(fci_icl_context* context, fci_icl_peer known, fci_icl_context* other) {
    int wrong = 0;
    alarm(300);
    wrong += send(context, known, 1) != FCI_ICL_EUNREACHABLE;
    wrong += send(context, 0, 1) != FCI_ICL_EUNREACHABLE;  // itself
    const std::string reason = fci_icl_peer_reason(context, known);
    wrong += reason.find("fork()") == std::string::npos;
    wrong += fci_icl_am_send(context, known, 3, 0, "x", 1, nullptr, 0, nullptr, nullptr) !=
             FCI_ICL_EUNREACHABLE;
    char text[100'000];
    for (const std::size_t bytes : {std::size_t{8}, sizeof text}) {
        const iovec range{text, bytes};
        struct fci_icl_receive receive{};
        receive.iov = &range;
        receive.iov_count = 1;
        fci_icl_order order = 0;
        for (const fci_icl_peer from : {known, fci_icl_peer{0}}) {
            receive.source = from;
            wrong += fci_icl_receive(context, &receive, &order, nullptr) != FCI_ICL_EUNREACHABLE;
        }
        int error = 0;
        receive.source = FCI_ICL_ANY_SOURCE;
        receive.completion = {[](void* user, void*, const fci_icl_status* status) {
                                  *static_cast<int*>(user) = status->error;
                              },
                              &error, nullptr};
        wrong += fci_icl_receive(context, &receive, &order, nullptr) != FCI_ICL_OK;
        for (int i = 0; i < 1000 && error == 0; ++i) fci_icl_progress(context);
        wrong += error >= 0;
    }
    int answer = 0;
    for (int i = 0; i < 1000 && answer >= 0; ++i) answer = fci_icl_progress(context);
    wrong += answer != FCI_ICL_EUNREACHABLE;
    wrong += fci_icl_wait(context, -1) != FCI_ICL_EUNREACHABLE;
    wrong += fci_icl_arm(context) != FCI_ICL_EAGAIN;
    wrong += send(context, add(context, other), 1) != FCI_ICL_EUNREACHABLE;  // not known before
    wrong += fci_icl_close(context, INT64_C(60'000'000'000)) != FCI_ICL_EAGAIN;
    return wrong;
}

// Whoever uses icl.h without a plug between (MPICH's netmod) has to be told, too.
TEST(Process, fork__child_that_calls_gets_errors_and_one_sentence) {
    for (const bool armed : {false, true}) {
        Context self = open_context(kJob);
        const Context other = open_context(kJob), unknown = open_context(kJob);
        const fci_icl_peer there = add(self.get(), other.get()),
                           back = add(other.get(), self.get());
        ASSERT_GE(send(self.get(), there, 1), 0);
        ASSERT_GE(send(other.get(), back, 2), 0);
        get_all({{other.get(), 1}, {self.get(), 2}}, {self.get(), other.get()});
        std::vector<char> data(1'000'000);
        ASSERT_EQ(fci_icl_send_bytes(self.get(), there, 0, 0, 3, 0, data.data(), data.size(),
                                     nullptr, nullptr),
                  FCI_ICL_OK);  // and is not taken
        for (int i = 0; i < 100; ++i) fci_icl_progress(self.get());
        if (armed) fci_icl_arm(self.get());
        int said[2];
        ASSERT_EQ(pipe(said), 0);
        const pid_t child = fork();
        if (child == 0) {
            dup2(said[1], STDERR_FILENO);
            const int wrong = misuse(self.get(), there, unknown.get());
            _exit(wrong);
        }
        close(said[1]);
        std::string text;
        char piece[500];
        for (ssize_t got; (got = read(said[0], piece, sizeof piece)) > 0;) {
            text.append(piece, static_cast<std::size_t>(got));
        }
        close(said[0]);
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
        EXPECT_EQ(text.find("fci: a child of fork()"), 0u) << text;
        EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
        // The parent goes on.
        take(self.get(), 2);
        ASSERT_EQ(send(other.get(), back, 4), FCI_ICL_DONE);
        get_all({{self.get(), 4}}, {self.get()});
        self.reset();
    }
}

// To have others wake this process makes every core pass a barrier: once for a wait, however often
// it sleeps meanwhile. Whoever has got something need not be woken.
TEST(Process, progress__is_woken_from_its_first_sleep_until_something_comes) {
    const Context self = open_context(kJob, 4096), sender = open_context(kJob);
    const fci_icl_peer to_self = connect(sender.get(), self.get(), 1);
    pollfd bell{fci_icl_wait_fd(self.get()), POLLIN, 0};
    const auto rings = [&] { return poll(&bell, 1, 0) == 1; };
    const auto sleeps = [&] { return counter(self.get(), "sleeps"); };
    const bool has_slept = sleeps() != 0;  // where other programs have the cores, while it was met
    ASSERT_EQ(send(sender.get(), to_self, 2), FCI_ICL_DONE);
    if (!has_slept) {
        EXPECT_FALSE(rings()) << "awake";
    }
    get_all({{self.get(), 2}}, {self.get()});
    take(self.get(), 2);

    const std::uint64_t met = sleeps();
    for (int turn = 0; turn < 100'000; ++turn) fci_icl_progress(self.get());
    const std::uint64_t before = sleeps();
    EXPECT_LE(before - met, 1u) << "after the last probe nothing is awaited that could wake it";
    std::uint64_t never = 0;
    fci_icl_order order = 0;
    ASSERT_EQ(fci_icl_receive_bytes(self.get(), FCI_ICL_ANY_SOURCE, 0, 99, 0, &never, sizeof never,
                                    nullptr, &order, nullptr), FCI_ICL_OK);
    for (Limit limit("three sleeps"); sleeps() < before + 3 && limit.holds();) {
        fci_icl_progress(self.get());
    }
    EXPECT_FALSE(rings());
    ASSERT_EQ(send(sender.get(), to_self, 3), FCI_ICL_DONE);
    EXPECT_TRUE(rings()) << "between two sleeps";
    get_all({{self.get(), 3}}, {self.get()});
    take(self.get(), 3);
    for (int turn = 0; turn < 100 && rings(); ++turn) fci_icl_progress(self.get());
    ASSERT_EQ(send(sender.get(), to_self, 4), FCI_ICL_DONE);
    EXPECT_FALSE(rings()) << "awake again";
}

// A caller that makes several turns from one probe to the next, as MPIs over libfabric do, waits
// for a message all the same, whichever of these turns the sleep falls on.
TEST(Process, progress__sleeps_between_probes) {
    const Context self = open_context(kJob, 4096);
    const auto sleeps = [&] { return counter(self.get(), "sleeps"); };
    const auto look = [&](int turns) {
        fci_icl_status status;
        ASSERT_EQ(fci_icl_probe(self.get(), FCI_ICL_ANY_SOURCE, 0, 99, 0, &status, nullptr),
                  FCI_ICL_ENOMSG);
        for (int turn = 0; turn < turns; ++turn) fci_icl_progress(self.get());
    };
    for (const int turns : {1, 2, 3, 4, 5, 6}) {
        // The best of all cycles counts: a caller whose look takes 5 us counts as one that
        // computes, and a switch, cold caches or a sanitizer make some looks as long.
        double best = 1;
        Limit limit("20 sleeps");
        for (int cycle = 0; cycle < 20; ++cycle) {
            const std::uint64_t slept = sleeps();
            const Nanoseconds begin = monotonic_now(), used = progress::used_time();
            while (sleeps() == slept && limit.holds()) look(turns);
            best = std::min(best, static_cast<double>(progress::used_time() - used) /
                                      static_cast<double>(monotonic_now() - begin));
        }
        EXPECT_LT(best, 0.25) << turns << " turns from one probe to the next";
    }
}

// Where there are more ranks than cores, whoever waits beside a process that computes must not wait
// for its whole slice each time.
TEST(Process, progress__asks_for_short_slices_where_cores_are_short) {
    const Nanoseconds before = progress::slice_of_thread();
    if (before < 0) GTEST_SKIP() << "the kernel does not tell slices";
    {
        const Context alone = open_context(kJob, 1);
        for (int turn = 0; turn < 10; ++turn) fci_icl_progress(alone.get());
        EXPECT_EQ(progress::slice_of_thread(), before);
        const Context crowded = open_context(kJob, 4096);
        for (int turn = 0; turn < 1'000; ++turn) fci_icl_progress(crowded.get());
        EXPECT_EQ(progress::slice_of_thread(), before) << "nobody is waited for";
        std::uint64_t never = 0;
        ASSERT_EQ(fci_icl_receive_bytes(crowded.get(), FCI_ICL_ANY_SOURCE, 0, 99, 0, &never,
                                        sizeof never, nullptr, nullptr, nullptr), FCI_ICL_OK);
        for (int turn = 0; turn < 1'000; ++turn) fci_icl_progress(crowded.get());
        if (progress::slice_of_thread() == before) GTEST_SKIP() << "the kernel has none of threads";
        EXPECT_EQ(progress::slice_of_thread(), progress::kShortSlice);
    }
    EXPECT_EQ(progress::slice_of_thread(), before);
}

}  // namespace
}  // namespace fci
