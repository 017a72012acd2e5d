// SPDX-License-Identifier: BSD-3-Clause
// Several processes: exit with messages under way, death, return from the same address, fork.
#include <netinet/in.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include <rdma/fi_rma.h>

#include "test/provider/processes.h"

namespace fci::test {
namespace {

TEST_F(Processes, ping_pong__all_sizes_verified) {
    const std::size_t sizes[] = {0, 1, 8, 40, 48, 49, 1024, 8192, 8193, 65536, 1u << 20, 9u << 20};
    spawn([&](Side& side, fi_addr_t parent) {
        for (const std::size_t bytes : sizes) {
            std::vector<char> data(bytes);
            ASSERT_EQ(fi_trecv(side.ep, data.data(), bytes, nullptr, parent, bytes, 0, nullptr), 0);
            ASSERT_FALSE(side.next().error);
            insist(side, [&] {
                return fi_tsend(side.ep, data.data(), bytes, nullptr, parent, bytes, nullptr);
            });
            ASSERT_FALSE(side.next().error);
        }
    });
    for (const std::size_t bytes : sizes) {
        SCOPED_TRACE(bytes);
        const auto data = pattern(bytes, static_cast<unsigned>(bytes));
        std::vector<char> in(bytes);
        ASSERT_EQ(fi_trecv(side_->ep, in.data(), bytes, nullptr, number_, bytes, 0, &in), 0);
        insist(*side_, [&] {
            return fi_tsend(side_->ep, data.data(), bytes, nullptr, number_, bytes, nullptr);
        });
        for (int i = 0; i < 2; ++i) ASSERT_FALSE(side_->next().error);
        EXPECT_EQ(in, data);
    }
    EXPECT_EQ(join(), 0);
}

// Trap: what was injected before the sender closed arrives, though nobody received in time.
TEST_F(Processes, exit__nothing_is_lost) {
    constexpr unsigned kCount = 100;
    setenv("FCI_LINGER_MS", "200000", 1);  // on a busy machine a second of this process is long
    spawn([](Side& side, fi_addr_t parent) {
        for (unsigned i = 0; i < kCount; ++i) {
            char data[512];
            std::memset(data, static_cast<int>(i), sizeof data);
            insist(side, [&] { return fi_tinject(side.ep, data, sizeof data, parent, i); });
        }
    });
    unsetenv("FCI_LINGER_MS");
    // While the child closes, its connection may still want our progress. Where it keeps its
    // messages until they are asked for, it waits for that, though not for ever.
    int status = -1;
    const auto ended = [&] {
        side_->progress();
        return waitpid(child_, &status, WNOHANG) == child_;
    };
    if (two_sided()) {
        EXPECT_FALSE(eventually(ended, 1'000'000'000)) << "it did not wait";
    } else {
        ASSERT_TRUE(eventually(ended));
    }
    for (unsigned i = 0; i < kCount; ++i) {
        char in[512];
        ASSERT_EQ(fi_trecv(side_->ep, in, sizeof in, nullptr, FI_ADDR_UNSPEC, i, 0, nullptr), 0);
        const Entry got = side_->next();
        ASSERT_FALSE(got.error) << fi_strerror(got.error->err);
        ASSERT_EQ(got.is.len, sizeof in);
        EXPECT_EQ(in[511], static_cast<char>(i));
    }
    if (two_sided()) {
        EXPECT_TRUE(eventually(ended));
    }
    child_ = 0;
    EXPECT_EQ(status, 0);
}

// Trap: who leaves in order breaks nothing for those who wait for anybody.
TEST_F(Processes, exit__in_order_disturbs_nobody) {
    spawn([](Side& side, fi_addr_t parent) {
        insist(side, [&] { return fi_tinject(side.ep, nullptr, 0, parent, 1); });
    });
    int any = 0;
    ASSERT_EQ(fi_trecv(side_->ep, nullptr, 0, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr), 0);
    ASSERT_EQ(fi_trecv(side_->ep, nullptr, 0, nullptr, FI_ADDR_UNSPEC, 2, 0, &any), 0);
    side_->next();
    int status = -1;
    ASSERT_TRUE(eventually([&] {
        EXPECT_FALSE(side_->poll());
        return waitpid(child_, &status, WNOHANG) == child_;
    }));
    child_ = 0;
    for (int i = 0; i < 1000; ++i) ASSERT_FALSE(side_->poll());
    const fi_addr_t self = side_->insert(*side_);
    insist(*side_, [&] { return fi_tinject(side_->ep, nullptr, 0, self, 2); });
    EXPECT_EQ(side_->next().is.op_context, &any);
}

// Trap: pending operations with a process that died end, with a reason.
TEST_F(Processes, death__ends_what_is_pending) {
    spawn([](Side& side, fi_addr_t parent) {
        insist(side, [&] { return fi_tinject(side.ep, nullptr, 0, parent, 1); });
        for (;; usleep(1000)) side.progress();
    });
    int named = 0, large = 0;
    ASSERT_EQ(fi_trecv(side_->ep, nullptr, 0, nullptr, number_, 1, 0, nullptr), 0);
    ASSERT_FALSE(side_->next().error);
    ASSERT_EQ(fi_trecv(side_->ep, nullptr, 0, nullptr, number_, 2, 0, &named), 0);
    const auto data = pattern(1u << 20, 1);
    insist(*side_, [&] {
        return fi_tsend(side_->ep, data.data(), data.size(), nullptr, number_, 3, &large);
    });
    const std::string pid = std::to_string(child_);
    testing::internal::CaptureStderr();
    kill_child();
    unsigned looks = 0;
    for (int i = 0; i < 2; ++i) {
        const Entry entry = side_->next([&] { ++looks; });
        ASSERT_TRUE(entry.error);
        EXPECT_EQ(entry.error->err, FI_ECONNRESET);
        EXPECT_TRUE(entry.is.op_context == &named || entry.is.op_context == &large);
        const std::string text =
            fi_cq_strerror(side_->cq, entry.error->prov_errno, entry.error->err_data, nullptr, 0);
        EXPECT_NE(text.find(pid), std::string::npos) << text;
    }
    EXPECT_LT(looks, 10'000u);
    EXPECT_EQ(fi_tinject(side_->ep, nullptr, 0, number_, 1), -FI_ECONNRESET);
    // Not every MPI shows the reason; the user hears of it once.
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_TRUE(said.starts_with("fci: ") && said.find(pid) != std::string::npos) << said;
}

TEST_F(Processes, exit__in_order_ends_what_is_pending_and_is_not_said) {
    spawn([](Side& side, fi_addr_t parent) {
        insist(side, [&] { return fi_tinject(side.ep, nullptr, 0, parent, 1); });
    });
    ASSERT_EQ(fi_trecv(side_->ep, nullptr, 0, nullptr, number_, 1, 0, nullptr), 0);
    ASSERT_EQ(fi_trecv(side_->ep, nullptr, 0, nullptr, number_, 2, 0, nullptr), 0);
    ASSERT_FALSE(side_->next().error);
    testing::internal::CaptureStderr();
    EXPECT_TRUE(side_->next().error);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(join(), 0);
}

TEST_F(Processes, death__ends_accesses_to_its_memory) {
    const auto change = [](OpenOptions& wishes) { wishes.caps |= FI_RMA; };
    spawn([](Side& side, fi_addr_t parent) {
        insist(side, [&] { return fi_tinject(side.ep, nullptr, 0, parent, 1); });
        char none;
        ASSERT_EQ(fi_trecv(side.ep, &none, 1, nullptr, parent, 2, 0, nullptr), 0);
        side.next();  // it has come that far in what it was sent
        raise(SIGKILL);
    }, change);
    ASSERT_EQ(fi_trecv(side_->ep, nullptr, 0, nullptr, number_, 1, 0, nullptr), 0);
    ASSERT_FALSE(side_->next().error);
    std::vector<char> data(3u << 20);
    int contexts[40];
    for (int i = 0; i < 40; ++i) {
        insist(*side_, [&] {
            return i == 20 ? fi_tsend(side_->ep, nullptr, 0, nullptr, number_, 2, &contexts[i])
                   : i % 2 == 0
                       ? fi_write(side_->ep, data.data(), i % 4 == 0 ? 8 : data.size(), nullptr,
                                  number_, 0, 1, &contexts[i])
                       : fi_read(side_->ep, data.data(), data.size(), nullptr, number_, 0, 1,
                                 &contexts[i]);
        });
    }
    EXPECT_EQ(join(), -SIGKILL);
    for (int i = 0; i < 40; ++i) {
        const Entry entry = side_->next();
        if (entry.is.op_context == &contexts[20]) continue;
        ASSERT_TRUE(entry.error);
        EXPECT_TRUE(entry.error->err == FI_ECONNRESET || entry.error->err == FI_EKEYREJECTED);
    }
    EXPECT_FALSE(side_->poll());
    // Where all was answered before it died, the death is still to be noticed.
    ssize_t answer = 0;
    for (int i = 0; i < 1000 && answer == 0; ++i) {
        answer = fi_write(side_->ep, data.data(), 8, nullptr, number_, 0, 1, nullptr);
        if (answer == 0) side_->next();
    }
    EXPECT_EQ(answer, -FI_ECONNRESET);
}

// Trap: an address where nobody is ends in an error, not in a hang.
TEST_F(Processes, nobody_there__an_error) {
    side_ = std::make_unique<Side>();
    sockaddr_in nobody{};
    std::memcpy(&nobody, side_->name, sizeof nobody);
    nobody.sin_port = htons(1023);  // which no process is given, and no other test takes
    // A card that a process gave; for an address that was typed the wait is longer.
    // What is left as it is says that its host is this one (host/mark.h).
    std::memset(nobody.sin_zero, 1, 6);
    ASSERT_EQ(fi_av_insert(side_->av, &nobody, 1, &number_, 0, nullptr), 1);
    const ssize_t result = fi_tsend(side_->ep, nullptr, 0, nullptr, number_, 1, &nobody);
    ASSERT_EQ(result, 0);
    const Entry entry = side_->next();
    ASSERT_TRUE(entry.error);
    EXPECT_EQ(entry.error->err, FI_EHOSTUNREACH);
    EXPECT_EQ(entry.error->op_context, &nobody);
    const std::string text(static_cast<const char*>(entry.error->err_data));
    EXPECT_NE(text.find("127.0.0.1:1023 "), std::string::npos) << text;
}

// Trap: clients one after the other from the same address: each is a new one.
TEST_F(Processes, return__from_the_same_address) {
    for (unsigned round = 0; round < 5; ++round) {
        SCOPED_TRACE(round);
        spawn([&](Side& side, fi_addr_t parent) {
            for (unsigned i = 0; i < 5; ++i) {
                const unsigned value = round * 100 + i;
                insist(side, [&] { return fi_tinject(side.ep, &value, 4, parent, 1); });
                unsigned in;
                ASSERT_EQ(fi_trecv(side.ep, &in, 4, nullptr, parent, 2, 0, nullptr), 0);
                side.next();
                ASSERT_EQ(in, value + 1);
            }
        });
        for (unsigned i = 0; i < 5; ++i) {
            unsigned in;
            ASSERT_EQ(fi_trecv(side_->ep, &in, 4, nullptr, number_, 1, 0, nullptr), 0);
            const Entry got = side_->next();
            ASSERT_FALSE(got.error);
            EXPECT_EQ(got.source, number_);
            EXPECT_EQ(in, round * 100 + i);
            ++in;
            insist(*side_, [&] { return fi_tinject(side_->ep, &in, 4, number_, 2); });
        }
        int status = -1;
        ASSERT_TRUE(eventually([&] {
            side_->progress();
            return waitpid(child_, &status, WNOHANG) == child_;
        }));
        child_ = 0;
        EXPECT_EQ(status, 0);
    }
}

// Trap: a program that forks, or calls system(), keeps its endpoint.
TEST_F(Processes, fork__the_parent_keeps_its_endpoint) {
    spawn([](Side& side, fi_addr_t parent) {
        for (int i = 0; i < 3; ++i) {
            insist(side, [&] { return fi_tinject(side.ep, nullptr, 0, parent, 1); });
            ASSERT_EQ(fi_trecv(side.ep, nullptr, 0, nullptr, parent, 2, 0, nullptr), 0);
            ASSERT_FALSE(side.next().error);
        }
    });
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(fi_trecv(side_->ep, nullptr, 0, nullptr, number_, 1, 0, nullptr), 0);
        ASSERT_FALSE(side_->next().error);
        if (i == 0) {
            const pid_t idle = fork();
            if (idle == 0) exit(0);  // with all its exit handlers
            int status = -1;
            ASSERT_EQ(waitpid(idle, &status, 0), idle);
            EXPECT_EQ(status, 0);
        }
        if (i == 1) {
            EXPECT_EQ(system("true"), 0);
        }
        insist(*side_, [&] { return fi_tinject(side_->ep, nullptr, 0, number_, 2); });
    }
    EXPECT_EQ(join(), 0);
}

// Trap: a child that goes on with its parent's endpoint is told so, may close it, and does not
// touch the parent's messages.
TEST_F(Processes, fork__a_child_cannot_send_for_its_parent) {
    spawn(
        [](Side& side, fi_addr_t parent) {
            for (unsigned i = 0; i < 2; ++i) {
                unsigned in = 99;
                ASSERT_EQ(fi_trecv(side.ep, &in, sizeof in, nullptr, parent, 1, 0, nullptr), 0);
                ASSERT_FALSE(side.next().error);
                EXPECT_EQ(in, i);
                insist(side, [&] { return fi_tinject(side.ep, nullptr, 0, parent, 2); });
            }
        },
        [](OpenOptions& wishes) {
            wishes.counters = true;
            wishes.wait = FI_WAIT_UNSPEC;
        });
    unsigned i = 0;
    const auto exchange = [&] {
        ASSERT_EQ(fi_trecv(side_->ep, nullptr, 0, nullptr, number_, 2, 0, nullptr), 0);
        insist(*side_, [&] { return fi_tinject(side_->ep, &i, sizeof i, number_, 1); });
        EXPECT_FALSE(side_->next().error);
    };
    exchange();
    int said[2];
    ASSERT_EQ(pipe(said), 0);
    const pid_t other = fork();
    if (other == 0) {
        dup2(said[1], STDERR_FILENO);
        unsigned wrong = 0;
        fi_cq_tagged_entry entry;
        i = 77;
        wrong += fi_tinject(side_->ep, &i, sizeof i, number_, 1) != -FI_EAGAIN;
        wrong += fi_recv(side_->ep, &i, sizeof i, nullptr, number_, nullptr) != -FI_EAGAIN;
        wrong += fi_cq_read(side_->cq, &entry, 1) != -FI_EOPBADSTATE;
        wrong += fi_cq_sread(side_->cq, &entry, 1, nullptr, -1) != -FI_EOPBADSTATE;
        wrong += fi_cntr_wait(side_->sent, 1000, -1) != -FI_EOPBADSTATE;
        side_->close();
        _exit(static_cast<int>(wrong) + HasFailure());
    }
    ::close(said[1]);
    char text[1000] = "";
    ssize_t bytes = 0;
    while (const ssize_t got = ::read(said[0], text + bytes, sizeof text - 1 - bytes)) {
        if (got < 0) break;
        bytes += got;
    }
    ::close(said[0]);
    const std::string_view sentence(text);
    EXPECT_NE(sentence.find("came from fork()"), sentence.npos) << sentence;
    EXPECT_EQ(sentence.find("fci:"), sentence.rfind("fci:")) << "said more than once";
    int status = 0;
    ASSERT_EQ(waitpid(other, &status, 0), other);
    EXPECT_EQ(status, 0);
    i = 1;
    exchange();
    EXPECT_EQ(join(), 0);
}

}  // namespace
}  // namespace fci::test
