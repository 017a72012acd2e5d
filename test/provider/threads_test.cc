// SPDX-License-Identifier: BSD-3-Clause
// Several threads under FI_THREAD_SAFE: one sleeps, and whatever the others call, it is woken.
#include <poll.h>
#include <time.h>

#include <atomic>
#include <functional>
#include <thread>

#include "test/provider/support.h"

namespace fci::test {
namespace {

constexpr unsigned kRounds = 10;
constexpr int kLongMs = kForEver / 1'000'000;  // of a sleep that nobody ends

void rest(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// A thread that does `what`, and whether it is through.
class Sleeper {
public:
    explicit Sleeper(std::function<void()> what)
        : thread_([this, what = std::move(what)] {
              what();
              through_ = true;
          }) {}
    ~Sleeper() { thread_.join(); }
    [[nodiscard]] bool is_through() const { return through_.load(); }

private:
    std::atomic<bool> through_{false};
    std::thread thread_;
};

class Threads : public Pair {
protected:
    void start_threads(fi_wait_obj wait = FI_WAIT_UNSPEC) {
        OpenOptions wishes;
        wishes.threading = FI_THREAD_SAFE;
        wishes.wait = wait;
        wishes.counters = true;
        start(wishes);
        acquaint();
    }
    /// `b` expects a message, and `a` has not sent it yet.
    void expect_one() {
        insist([&] { return fi_trecv(b->ep, &got_, 1, nullptr, to_a, 1, 0, &got_); });
    }
    void send_one() {
        insist_alone([&] { return fi_tinject(a->ep, "x", 1, to_b, 1); });
    }
    /// Its sleep has ended; one that ends by itself, after kLongMs, says so. `a` goes on meanwhile:
    /// under the two-sided protocol it has still to be asked for what it sent.
    [[nodiscard]] bool is_through_soon(const Sleeper& sleeper) {
        return eventually([&] {
            a->progress();
            rest(1);
            return sleeper.is_through();
        });
    }
    /// Without help of the other side, which is asleep.
    template <class Call>
    void insist_alone(Call call) {
        EXPECT_TRUE(eventually([&] {
            const ssize_t result = call();
            if (result == -FI_EAGAIN) a->progress();
            return result == 0;
        }));
    }
    void read_once(bool same_queue) {
        if (!same_queue) {
            fi_cntr_read(b->sent);
            return;
        }
        fi_cq_tagged_entry entry;
        EXPECT_EQ(fi_cq_read(b->cq, &entry, 1), -FI_EAGAIN);
    }
    void expect_completion() {
        fi_cq_tagged_entry entry{};
        EXPECT_EQ(fi_cq_sread(b->cq, &entry, 1, nullptr, kLongMs), 1);
        EXPECT_EQ(entry.op_context, &got_);
    }

    char got_ = 0;
};

struct Reading : Threads, testing::WithParamInterface<bool> {};

TEST_P(Reading, sread__woken_though_another_thread_has_read) {
    start_threads();
    for (unsigned round = 0; round < kRounds; ++round) {
        expect_one();
        Sleeper sleeper([&] { expect_completion(); });
        rest(20);
        read_once(GetParam());
        send_one();
        ASSERT_TRUE(is_through_soon(sleeper)) << round;
    }
}

TEST_P(Reading, counter__woken_though_another_thread_has_read) {
    start_threads();
    std::uint64_t before = fi_cntr_read(b->received);
    for (unsigned round = 0; round < kRounds; ++round, ++before) {
        expect_one();
        {
            Sleeper sleeper(
                [&] { EXPECT_EQ(fi_cntr_wait(b->received, before + 1, kLongMs), 0); });
            rest(20);
            read_once(GetParam());
            send_one();
            ASSERT_TRUE(is_through_soon(sleeper)) << round;
        }
        expect_completion();
    }
}

TEST_P(Reading, descriptor__readable_though_another_thread_has_read) {
    start_threads(FI_WAIT_FD);
    int descriptor = -1;
    ASSERT_EQ(fi_control(&b->cq->fid, FI_GETWAIT, &descriptor), 0);
    for (unsigned round = 0; round < kRounds; ++round) {
        expect_one();
        Sleeper sleeper([&] {
            fid* waited = &b->cq->fid;
            fi_cq_tagged_entry entry{};
            ssize_t result = -FI_EAGAIN;
            for (unsigned i = 0; i < 1000 && result == -FI_EAGAIN; ++i) {
                if (fi_trywait(b->fabric, &waited, 1) == 0) {
                    pollfd one{descriptor, POLLIN, 0};
                    EXPECT_EQ(poll(&one, 1, kLongMs), 1);
                }
                result = fi_cq_read(b->cq, &entry, 1);
            }
            EXPECT_EQ(result, 1);
        });
        rest(20);
        read_once(GetParam());
        send_one();
        ASSERT_TRUE(is_through_soon(sleeper)) << round;
    }
}

INSTANTIATE_TEST_SUITE_P(Queues, Reading, testing::Bool(), [](const auto& one) {
    return std::string(one.param ? "the_same_queue" : "another_queue");
});

// Both are told, whoever makes the progress.
TEST_F(Threads, sleepers__on_a_queue_and_a_counter) {
    start_threads();
    std::uint64_t before = fi_cntr_read(b->received);
    for (unsigned round = 0; round < 10 * kRounds; ++round, ++before) {
        expect_one();
        Sleeper counts([&] { EXPECT_EQ(fi_cntr_wait(b->received, before + 1, kLongMs), 0); });
        Sleeper reads([&] { expect_completion(); });
        if (round % 2 == 0) rest(5);
        send_one();
        ASSERT_TRUE(is_through_soon(counts)) << round;
        ASSERT_TRUE(is_through_soon(reads)) << round;
    }
}

// One completion each.
TEST_F(Threads, sleepers__on_one_queue) {
    start_threads();
    for (unsigned round = 0; round < 10 * kRounds; ++round) {
        expect_one();
        expect_one();
        Sleeper one([&] { expect_completion(); });
        Sleeper other([&] { expect_completion(); });
        if (round % 2 == 0) rest(5);
        send_one();
        send_one();
        ASSERT_TRUE(is_through_soon(one)) << round;
        ASSERT_TRUE(is_through_soon(other)) << round;
    }
}

// A thread that sleeps helps what the others begin.
TEST_F(Threads, sleeper__goes_on_with_what_another_thread_sends) {
    start_threads();
    const std::vector<char> data = pattern(4 << 20, 1);
    for (unsigned round = 0; round < kRounds; ++round) {
        std::vector<char> there(data.size());
        insist([&] {
            return fi_trecv(a->ep, there.data(), there.size(), nullptr, to_b, 2, 0, &there);
        });
        both();
        {
            Sleeper sleeper([&] {
                fi_cq_tagged_entry entry{};
                EXPECT_EQ(fi_cq_sread(b->cq, &entry, 1, nullptr, kLongMs), 1);
            });
            rest(20);
            insist_alone([&] {
                return fi_tsend(b->ep, data.data(), data.size(), nullptr, to_a, 2, nullptr);
            });
            const Entry entry = a->next();
            EXPECT_EQ(entry.is.op_context, &there);
            ASSERT_TRUE(is_through_soon(sleeper)) << round;
        }
        EXPECT_EQ(there, data);
    }
}

// They do not keep each other awake.
TEST_F(Threads, sleepers__use_no_time) {
    start_threads();
    const std::uint64_t before = fi_cntr_read(b->received);
    const auto seconds_used = [](const std::function<void()>& what) {
        timespec begin{}, end{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        what();
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
        return static_cast<double>(end.tv_sec - begin.tv_sec) +
               static_cast<double>(end.tv_nsec - begin.tv_nsec) * 1e-9;
    };
    const auto read = [&] {
        EXPECT_LT(seconds_used([&] {
            fi_cq_tagged_entry entry{};
            EXPECT_EQ(fi_cq_sread(b->cq, &entry, 1, nullptr, 1000), -FI_EAGAIN);
        }), 0.2);
    };
    Sleeper one(read), other(read);
    Sleeper counts([&] {
        EXPECT_LT(seconds_used([&] {
            EXPECT_EQ(fi_cntr_wait(b->received, before + 1, 1000), -FI_ETIMEDOUT);
        }), 0.2);
    });
    rest(300);
    read_once(false);
    fi_cq_signal(b->cq);  // ends one of them at once, and the other must not spin
    fi_cq_signal(b->cq);
}

}  // namespace
}  // namespace fci::test
