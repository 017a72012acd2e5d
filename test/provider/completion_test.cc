// SPDX-License-Identifier: BSD-3-Clause
// Completion queues, counters, waiting.
#include <poll.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "test/provider/support.h"
#include "test/unit/limit.h"

namespace fci::test {
namespace {

using Completion = Pair;

// Trap: the size is a hint; nothing is dropped and nothing waits for room.
TEST_F(Completion, overflow__never_drops) {
    OpenOptions wishes;
    wishes.cq_size = 100;
    start(wishes);
    acquaint();
    constexpr std::uintptr_t kCount = 20000;
    for (std::uintptr_t i = 1; i <= kCount; ++i) {
        ASSERT_EQ(fi_trecv(b->ep, nullptr, 0, nullptr, to_a, i, 0, reinterpret_cast<void*>(i)), 0);
    }
    for (std::uintptr_t i = 1; i <= kCount; ++i) {
        insist([&] { return fi_tsend(a->ep, nullptr, 0, nullptr, to_b, i,
                                     reinterpret_cast<void*>(i)); });
    }
    for (Side* side : {a.get(), b.get()}) {
        for (std::uintptr_t i = 1; i <= kCount; ++i) {
            const Entry entry = next(*side);
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(entry.is.op_context), i);
        }
    }
}

TEST_F(Completion, reading__empty_and_zero_and_many) {
    start();
    acquaint();
    fi_cq_tagged_entry entries[8];
    EXPECT_EQ(fi_cq_read(a->cq, entries, 8), -FI_EAGAIN);
    EXPECT_EQ(fi_cq_read(a->cq, nullptr, 0), -FI_EAGAIN);
    fi_cq_err_entry error{};
    EXPECT_EQ(fi_cq_readerr(a->cq, &error, 0), -FI_EAGAIN);
    for (std::uintptr_t i = 0; i < 5; ++i) {
        ASSERT_EQ(fi_trecv(b->ep, nullptr, 0, nullptr, to_a, i, 0, nullptr), 0);
        insist([&] { return fi_tsend(a->ep, nullptr, 0, nullptr, to_b, i,
                                     reinterpret_cast<void*>(i)); });
    }
    // When all are received there, one turn here finds that they were sent.
    for (int i = 0; i < 5; ++i) b->next();
    fi_cq_read(a->cq, nullptr, 0);
    EXPECT_EQ(fi_cq_read(a->cq, nullptr, 0), 0);
    EXPECT_EQ(fi_cq_read(a->cq, entries, 3), 3);
    EXPECT_EQ(fi_cq_read(a->cq, entries + 3, 5), 2);
    for (std::uintptr_t i = 0; i < 5; ++i) {
        EXPECT_EQ(entries[i].op_context, reinterpret_cast<void*>(i));
    }
}

// Trap: who finds the completion of a send in every read must hear of others all the same.
TEST_F(Completion, reading__who_only_sends_looks_now_and_then) {
    if (two_sided()) GTEST_SKIP() << "sends wait for their receives";
    start();
    acquaint();
    int received = 0, sent = 0;
    ASSERT_EQ(fi_trecv(a->ep, nullptr, 0, nullptr, to_b, 1, 0, &received), 0);
    insist([&] { return fi_tinject(b->ep, nullptr, 0, to_a, 1); });
    constexpr int kSendsMost = 64;
    bool heard = false;
    for (int i = 0; i < kSendsMost && !heard; ++i) {
        ASSERT_EQ(fi_tsend(a->ep, nullptr, 0, nullptr, to_b, 2, &sent), 0);
        fi_cq_tagged_entry entries[8];
        for (ssize_t got; (got = fi_cq_read(a->cq, entries, 8)) > 0;) {
            for (ssize_t k = 0; k < got; ++k) heard |= entries[k].op_context == &received;
        }
    }
    EXPECT_TRUE(heard);
}

// Trap: an error is told only when it is at the head, and entries keep their order around it.
TEST_F(Completion, error__in_its_place) {
    start();
    int before = 0, wrong = 0, after = 0;
    ASSERT_EQ(fi_trecv(b->ep, nullptr, 0, nullptr, to_a, 1, 0, &before), 0);
    ASSERT_EQ(fi_trecv(b->ep, nullptr, 0, nullptr, to_a, 2, 0, &wrong), 0);
    ASSERT_EQ(fi_trecv(b->ep, nullptr, 0, nullptr, to_a, 3, 0, &after), 0);
    insist([&] { return fi_tinject(a->ep, nullptr, 0, to_b, 1); });
    insist([&] { return fi_tinject(a->ep, "long", 4, to_b, 2); });
    insist([&] { return fi_tinject(a->ep, nullptr, 0, to_b, 3); });
    // All three lie in the queue before the first is read.
    fi_cq_tagged_entry entries[3];
    Entry first = next(*b);
    EXPECT_EQ(first.is.op_context, &before);
    ssize_t got = 0;
    ASSERT_TRUE(eventually([&] {
        both();
        got = fi_cq_read(b->cq, entries, 3);
        return got != -FI_EAGAIN;
    }));
    EXPECT_EQ(got, -FI_EAVAIL);
    EXPECT_EQ(fi_cq_read(b->cq, entries, 3), -FI_EAVAIL) << "until it is read";
    fi_cq_err_entry error{};
    ASSERT_EQ(fi_cq_readerr(b->cq, &error, 0), 1);
    EXPECT_EQ(error.op_context, &wrong);
    EXPECT_EQ(error.err, FI_ETRUNC);
    const char* text = fi_cq_strerror(b->cq, error.prov_errno, error.err_data, nullptr, 0);
    ASSERT_NE(text, nullptr);
    EXPECT_NE(std::string(text).find("longer"), std::string::npos) << text;
    EXPECT_EQ(next(*b).is.op_context, &after);
}

TEST_F(Completion, formats__each_its_entry) {
    for (const fi_cq_format format : {FI_CQ_FORMAT_CONTEXT, FI_CQ_FORMAT_MSG, FI_CQ_FORMAT_DATA,
                                      FI_CQ_FORMAT_TAGGED}) {
        SCOPED_TRACE(format);
        OpenOptions wishes;
        wishes.format = format;
        start(wishes);
        int context = 0;
        ASSERT_EQ(fi_trecv(b->ep, nullptr, 0, nullptr, to_a, 7, 0, &context), 0);
        insist([&] { return fi_tinjectdata(a->ep, nullptr, 0, 55, to_b, 7); });
        fi_cq_tagged_entry entries[2];
        std::memset(entries, 0x5a, sizeof entries);
        ASSERT_TRUE(eventually([&] {
            both();
            return fi_cq_read(b->cq, entries, 1) == 1;
        }));
        EXPECT_EQ(entries[0].op_context, &context);
        const auto untouched = 0x5a5a5a5a5a5a5a5a;
        EXPECT_EQ(entries[0].flags, format >= FI_CQ_FORMAT_MSG
                                        ? FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA
                                        : untouched);
        EXPECT_EQ(entries[0].data, format >= FI_CQ_FORMAT_DATA ? 55u : untouched);
        EXPECT_EQ(entries[0].tag, format >= FI_CQ_FORMAT_TAGGED ? 7u : untouched);
        a.reset();
        b.reset();
    }
}

// Trap: success is suppressed where FI_COMPLETION is missing, an error never.
TEST_F(Completion, selective__successes_only_when_asked) {
    OpenOptions wishes;
    wishes.selective = true;
    wishes.counters = true;
    start(wishes);
    char in[4];
    ASSERT_EQ(fi_trecv(b->ep, in, 4, nullptr, to_a, 1, 0, in), 0);
    insist([&] { return fi_tsend(a->ep, "abc", 4, nullptr, to_b, 1, in); });
    ASSERT_TRUE(eventually([&] {
        both();
        return fi_cntr_read(b->received) == 1 && fi_cntr_read(a->sent) == 1;
    })) << "counters count what is suppressed";
    EXPECT_FALSE(a->poll());
    EXPECT_FALSE(b->poll());
    ASSERT_EQ(fi_trecv(b->ep, in, 2, nullptr, to_a, 2, 0, in), 0);
    iovec from{in, 4};
    fi_msg_tagged send{&from, nullptr, 1, to_b, 2, 0, nullptr, 0};
    insist([&] { return fi_tsendmsg(a->ep, &send, FI_COMPLETION); });
    const Entry sent = next(*a);
    EXPECT_EQ(sent.is.op_context, nullptr) << "a context may be NULL";
    EXPECT_TRUE(next(*b).error);
    EXPECT_EQ(fi_cntr_readerr(b->received), 1u);
}

TEST_F(Completion, selective__defaults_from_op_flags) {
    OpenOptions wishes;
    wishes.selective = true;
    wishes.tx_flags = FI_COMPLETION | FI_DELIVERY_COMPLETE;
    wishes.rx_flags = FI_COMPLETION;
    start(wishes);
    ASSERT_EQ(fi_trecv(b->ep, nullptr, 0, nullptr, to_a, 1, 0, nullptr), 0);
    insist([&] { return fi_tsend(a->ep, nullptr, 0, nullptr, to_b, 1, nullptr); });
    next(*a);
    next(*b);
    std::uint64_t flags = FI_TRANSMIT;
    ASSERT_EQ(fi_control(&a->ep->fid, FI_GETOPSFLAG, &flags), 0);
    EXPECT_EQ(flags, wishes.tx_flags);
    flags = FI_TRANSMIT;
    ASSERT_EQ(fi_control(&a->ep->fid, FI_SETOPSFLAG, &flags), 0);
    insist([&] { return fi_tsend(a->ep, nullptr, 0, nullptr, to_b, 1, nullptr); });
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(a->poll());
}

TEST_F(Completion, counter__waits_for_threshold) {
    OpenOptions wishes;
    wishes.counters = true;
    start(wishes);
    acquaint();
    const std::uint64_t before = fi_cntr_read(b->received);
    EXPECT_EQ(fi_cntr_wait(b->received, before + 1, 20), -FI_ETIMEDOUT);
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(fi_trecv(b->ep, nullptr, 0, nullptr, to_a, 1, 0, nullptr), 0);
        insist([&] { return fi_tinject(a->ep, nullptr, 0, to_b, 1); });
    }
    EXPECT_EQ(fi_cntr_wait(b->received, before + 3, 2000), 0);
    EXPECT_EQ(fi_cntr_add(b->received, 5), 0);
    EXPECT_EQ(fi_cntr_read(b->received), before + 8);
    EXPECT_EQ(fi_cntr_set(b->received, 2), 0);
    EXPECT_EQ(fi_cntr_read(b->received), 2u);
    EXPECT_EQ(fi_cntr_adderr(b->received, 1), 0);
    EXPECT_EQ(fi_cntr_readerr(b->received), 1u);
}

TEST_F(Completion, sread__times_out) {
    OpenOptions wishes;
    wishes.wait = FI_WAIT_UNSPEC;
    start(wishes);
    fi_cq_tagged_entry entry;
    const auto before = std::chrono::steady_clock::now();
    EXPECT_EQ(fi_cq_sread(a->cq, &entry, 1, nullptr, 50), -FI_EAGAIN);
    EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(49));
    EXPECT_EQ(fi_cq_sread(a->cq, &entry, 1, nullptr, 0), -FI_EAGAIN);
}

TEST_F(Completion, sread__woken_by_a_message) {
    for (const fi_threading threading : {FI_THREAD_DOMAIN, FI_THREAD_SAFE}) {
        SCOPED_TRACE(threading);
        OpenOptions wishes;
        wishes.wait = FI_WAIT_FD;
        wishes.threading = threading;
        start(wishes);
        acquaint();
        ASSERT_EQ(fi_trecv(b->ep, nullptr, 0, nullptr, to_a, 1, 0, &wishes), 0);
        std::thread sender([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            Limit limit("room");
            while (fi_tinject(a->ep, nullptr, 0, to_b, 1) == -FI_EAGAIN && limit.holds()) {}
        });
        fi_cq_tagged_entry entry;
        fi_addr_t source = 0;
        EXPECT_EQ(fi_cq_sreadfrom(b->cq, &entry, 1, &source, nullptr, 5000), 1);
        EXPECT_EQ(entry.op_context, &wishes);
        EXPECT_EQ(source, to_a);
        sender.join();
        a.reset();
        b.reset();
    }
}

TEST_F(Completion, sread__ended_by_signal) {
    OpenOptions wishes;
    wishes.wait = FI_WAIT_FD;
    wishes.threading = FI_THREAD_SAFE;
    start(wishes);
    std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        EXPECT_EQ(fi_cq_signal(b->cq), 0);
    });
    fi_cq_tagged_entry entry;
    const auto before = std::chrono::steady_clock::now();
    constexpr int kForEverMs = kForEver / 1'000'000;
    EXPECT_EQ(fi_cq_sread(b->cq, &entry, 1, nullptr, kForEverMs), -FI_EAGAIN);
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::nanoseconds(kForEver));
    other.join();
}

TEST_F(Completion, wait_descriptor__readable_when_something_comes) {
    OpenOptions wishes;
    wishes.wait = FI_WAIT_FD;
    start(wishes);
    acquaint();
    int descriptor = -1;
    ASSERT_EQ(fi_control(&b->cq->fid, FI_GETWAIT, &descriptor), 0);
    ASSERT_GE(descriptor, 0);
    ASSERT_EQ(fi_trecv(b->ep, nullptr, 0, nullptr, to_a, 1, 0, nullptr), 0);
    struct fid* objects[] = {&b->cq->fid};
    ASSERT_TRUE(eventually([&] {
        b->progress();
        return fi_trywait(b->fabric, objects, 1) == 0;
    }));
    pollfd wait{descriptor, POLLIN, 0};
    EXPECT_EQ(poll(&wait, 1, 20), 0) << "nothing came yet";
    insist([&] {
        const ssize_t result = fi_tinject(a->ep, nullptr, 0, to_b, 1);
        a->progress();
        return result;
    });
    EXPECT_EQ(poll(&wait, 1, 2000), 1);
    ASSERT_TRUE(eventually([&] { return b->poll().has_value(); }));
    ASSERT_EQ(fi_trecv(a->ep, nullptr, 0, nullptr, to_b, 1, 0, nullptr), 0);
    insist([&] { return fi_tsend(b->ep, nullptr, 0, nullptr, to_a, 1, nullptr); });
    next(*a);
    b->progress();
    EXPECT_EQ(fi_trywait(b->fabric, objects, 1), -FI_EAGAIN) << "an entry is there";
}

TEST_F(Completion, wait_objects__those_not_offered) {
    start();
    for (const fi_wait_obj object : {FI_WAIT_SET, FI_WAIT_MUTEX_COND, FI_WAIT_POLLFD}) {
        fi_cq_attr attributes{};
        attributes.wait_obj = object;
        fid_cq* queue = nullptr;
        EXPECT_EQ(fi_cq_open(a->domain, &attributes, &queue, nullptr), -FI_ENOSYS);
    }
    int descriptor;
    EXPECT_NE(fi_control(&a->cq->fid, FI_GETWAIT, &descriptor), 0) << "opened without";
}

// Trap: several threads under FI_THREAD_SAFE.
/// Sends `each` messages by each of two threads, and receives them by two others. Nothing moves
/// without calls, so all go on until all has come.
void share_endpoints(Side& a, Side& b, fi_addr_t to_a, fi_addr_t to_b, int each) {
    constexpr int kThreads = 2;
    std::atomic<int> got{0};
    Limit limit("all messages");
    const auto reader = [&] {
        for (int posted = 0; got != each * kThreads && limit.holds();) {
            if (posted < each && fi_trecv(b.ep, nullptr, 0, nullptr, to_a, 1, 0, nullptr) == 0) {
                ++posted;
            }
            fi_cq_tagged_entry entry;
            if (fi_cq_read(b.cq, &entry, 1) == 1) ++got;
        }
    };
    const auto writer = [&] {
        for (int sent = 0; sent < each && limit.holds();) {
            if (fi_tinject(a.ep, nullptr, 0, to_b, 1) == 0) ++sent;
        }
        while (got != each * kThreads && limit.holds()) a.progress();
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back(reader);
        threads.emplace_back(writer);
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(got, each * kThreads);
    EXPECT_FALSE(b.poll());
}

/// What it has to tell its peer finds room there when the peer makes calls; one that makes none
/// keeps it for FCI_LINGER_MS.
void close_beside(std::unique_ptr<Side>& one, Side& other) {
    std::atomic<bool> closed{false};
    std::thread calls([&] {
        while (!closed) other.progress();
    });
    one.reset();
    closed = true;
    calls.join();
}

/// Of all that is opened and closed in `what`, by the counters that each tells at its end, nothing
/// waited for FCI_LINGER_MS in vain.
void expect_nothing_closes_late(const std::function<void()>& what) {
    setenv("FCI_STATS", "on", 1);
    testing::internal::CaptureStderr();
    what();
    unsetenv("FCI_STATS");
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("fci: counters of"), std::string::npos);
    EXPECT_EQ(said.find("closes_late"), std::string::npos) << said;
}

TEST_F(Completion, threads__share_an_endpoint) {
    OpenOptions wishes;
    wishes.threading = FI_THREAD_SAFE;
    expect_nothing_closes_late([&] {
        start(wishes);
        acquaint();
        share_endpoints(*a, *b, to_a, to_b, 2000);
        close_beside(b, *a);
        a.reset();
    });
}

TEST_F(Completion, close__lingers_for_nobody_who_makes_calls) {
    OpenOptions wishes;
    wishes.threading = FI_THREAD_SAFE;
    expect_nothing_closes_late([&] {
        for (int round = 0; round < 10; ++round) {
            start(wishes);
            acquaint();
            share_endpoints(*a, *b, to_a, to_b, 1000);
            close_beside(b, *a);
            a.reset();
        }
    });
}

}  // namespace
}  // namespace fci::test
