// SPDX-License-Identifier: BSD-3-Clause
// Who has closed a context may use its buffers for anything: no peer reads or writes them any more,
// and peers whose messages needed them are told so.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "fci_core/api/icl.h"
#include "test/unit/api/context.h"
#include "test/unit/limit.h"
#include "test/unit/steps.h"

namespace fci {
namespace {

constexpr std::uint64_t kJob = 0x4719;
constexpr unsigned char kOld = 1, kNew = 2, kForeign = 3;
constexpr std::size_t kBytes = 1 << 20;
constexpr unsigned kRuns = 30;
constexpr std::uint64_t kHello = 1, kLong = 2;

using Bytes = std::vector<unsigned char>;

bool all_are(const Bytes& bytes, unsigned char content) {
    return std::all_of(bytes.begin(), bytes.end(), [=](unsigned char b) { return b == content; });
}

struct Ended {
    bool yet = false;
    int error = 0;
};
void note(void* user, void*, const fci_icl_status* status) {
    *static_cast<Ended*>(user) = {true, status->error};
}

/// One of two processes, connected to the other and allowed to copy its memory.
class Side {
public:
    /// `in`, `out`: descriptors by which the cards go.
    Side(int in, int out) : context_(open_context(kJob, 2)) {
        std::array<unsigned char, FCI_ICL_CARD_BYTES> card{};
        fci_icl_card(context_.get(), card.data());
        Steps::give(out, card.size(), card.data());
        EXPECT_TRUE(Steps::take(in, card.size(), card.data()));
        EXPECT_EQ(fci_icl_add_peer(context_.get(), card.data(), &other_), FCI_ICL_OK);
        say_hello();
        EXPECT_TRUE(hears_hello());
        EXPECT_TRUE(was_heard());
        offered_ = offers();
    }
    void close() { context_.reset(); }

    bool turn_until(const std::function<bool()>& reached) {
        for (const Nanoseconds end = own_time() + kHang; own_time() < end;) {
            if (reached()) return true;
            fci_icl_progress(context_.get());
        }
        return false;
    }
    void say_hello() {
        heard_ = {};
        const fci_icl_completion told{note, &heard_, nullptr};
        EXPECT_EQ(fci_icl_send_bytes(context_.get(), other_, 0, 0, kHello, 0, said_.data(),
                                     said_.size(), &told, nullptr), FCI_ICL_OK);
    }
    bool was_heard() {
        return turn_until([&] { return heard_.yet; }) && heard_.error == FCI_ICL_OK;
    }
    bool hears_hello() {
        Bytes hello(said_.size());
        Ended ended;
        const fci_icl_completion told{note, &ended, nullptr};
        fci_icl_order order = 0;
        const int result = fci_icl_receive_bytes(context_.get(), other_, 0, kHello, 0,
                                                 hello.data(), hello.size(), &told, &order,
                                                 nullptr);
        return result == FCI_ICL_DONE ||
               (turn_until([&] { return ended.yet; }) && ended.error == FCI_ICL_OK);
    }
    int send(const Bytes& from, Ended* ended) {
        const fci_icl_completion told{note, ended, nullptr};
        return fci_icl_send_bytes(context_.get(), other_, 0, 0, kLong, 0, from.data(), from.size(),
                                  &told, nullptr);
    }
    int receive(Bytes& to, Ended* ended) {
        const fci_icl_completion told{note, ended, nullptr};
        fci_icl_order order = 0;
        return fci_icl_receive_bytes(context_.get(), other_, 0, kLong, 0, to.data(), to.size(),
                                     &told, &order, nullptr);
    }
    bool has_offered() const { return offers() > offered_; }
    bool has_message() const {
        fci_icl_status status{};
        return fci_icl_probe(context_.get(), other_, 0, kLong, 0, &status, nullptr) == FCI_ICL_OK;
    }
    /// What was asked for ended since the other one has closed, and the user hears that.
    bool is_told(Ended* ended) {
        if (!turn_until([=] { return ended->yet; })) return false;
        const std::string reason = fci_icl_peer_reason(context_.get(), other_);
        return ended->error == FCI_ICL_EPEER && reason.find("closed") != std::string::npos;
    }

private:
    std::uint64_t offers() const {
        for (unsigned i = 0; const char* const name = fci_icl_counter_name(i, nullptr); ++i) {
            if (name == std::string_view("receives_offered")) {
                return fci_icl_counter(context_.get(), i);
            }
        }
        ADD_FAILURE() << "no such counter";
        return 0;
    }

    const Bytes said_ = Bytes(64 * 1024, kOld);
    Context context_;
    fci_icl_peer other_ = 0;
    Ended heard_;
    std::uint64_t offered_ = 0;
};

/// The result of the child that does `what` as the other side, with long messages on that path.
int run(const char* path, const std::function<int(Side&, const Steps&)>& what,
        const std::function<void(Side&, const Steps&)>& own) {
    const Steps steps;
    setenv("FCI_COPY", path, 1);
    const pid_t child = fork();
    if (child == 0) {
        alarm(300);
        Side other(steps.child_in(), steps.child_out());
        _exit(what(other, steps));
    }
    {
        Side self(steps.in(), steps.out());
        unsetenv("FCI_COPY");
        own(self, steps);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The sender knows the receive's buffer, as its source is named.
TEST(Close, receiver__of_a_message_that_was_not_sent_yet) {
    for (unsigned i = 0; i < kRuns; ++i) {
        Bytes buffer(kBytes, kOld);
        const int result = run(
            "shared",
            [](Side& sender, const Steps& steps) {
                const Bytes data(kBytes, kForeign);
                if (!sender.hears_hello()) return 1;
                steps.child_goes_on();
                if (!steps.child_waits()) return 2;
                Ended ended;
                const int sent = sender.send(data, &ended);
                if (sent != FCI_ICL_OK) return sent == FCI_ICL_EPEER ? 0 : 3;
                return sender.is_told(&ended) ? 0 : 4;
            },
            [&](Side& receiver, const Steps& steps) {
                Ended received;
                ASSERT_EQ(receiver.receive(buffer, &received), FCI_ICL_OK);
                ASSERT_TRUE(receiver.turn_until([&] { return receiver.has_offered(); }));
                // Behind the offer, so the sender has both.
                receiver.say_hello();
                ASSERT_TRUE(receiver.was_heard());
                ASSERT_TRUE(steps.waits());
                receiver.close();
                std::fill(buffer.begin(), buffer.end(), kNew);
                steps.go_on();
            });
        ASSERT_EQ(result, 0) << "run " << i;
        ASSERT_TRUE(all_are(buffer, kNew)) << "run " << i;
    }
}

// Where data is written for the receiver, not to it (ring), a send may end well before its process
// knows that the receiver has gone; later ones do not. Where it is written to the receiver
// (shared), none does.
class CloseUnnoticed : public testing::TestWithParam<std::tuple<std::string, bool>> {
protected:
    static constexpr unsigned kTimes = 5;

    static int receive_and_go(Side& receiver, const Steps& steps, bool exec) {
        Bytes buffer(kBytes, kOld);
        Ended received;
        if (receiver.receive(buffer, &received) != FCI_ICL_OK) return 1;
        if (!receiver.turn_until([&] { return receiver.has_offered(); })) return 2;
        receiver.say_hello();
        if (!receiver.was_heard()) return 3;
        const std::string fd = "/proc/self/fd/";
        const std::string shell = "printf s >" + fd + std::to_string(steps.child_out()) +
                                  "; head -c 1 >/dev/null <" + fd +
                                  std::to_string(steps.child_in());
        if (exec) execl("/bin/sh", "sh", "-c", shell.c_str(), nullptr);
        receiver.close();
        steps.child_goes_on();
        return steps.child_waits() && all_are(buffer, kOld) ? 0 : 4;
    }
};
INSTANTIATE_TEST_SUITE_P(ways, CloseUnnoticed,
                         testing::Combine(testing::Values("ring", "shared"), testing::Bool()),
                         [](const auto& of) {
                             return std::get<0>(of.param) +
                                    (std::get<1>(of.param) ? "_exec" : "_close");
                         });

TEST_P(CloseUnnoticed, sender__to_one_that_has_gone) {
    const auto& [path, exec] = GetParam();
    unsigned well = 0;
    for (unsigned i = 0; i < kTimes; ++i) {
        const int result = run(
            path.c_str(),
            [&](Side& receiver, const Steps& steps) {
                return receive_and_go(receiver, steps, exec);
            },
            [&](Side& sender, const Steps& steps) {
                const Bytes data(kBytes, kForeign);
                ASSERT_TRUE(sender.hears_hello());
                ASSERT_TRUE(steps.waits());
                Ended first, later;
                const int sent = sender.send(data, &first);
                if (sent == FCI_ICL_OK) {
                    ASSERT_TRUE(sender.turn_until([&] { return first.yet; }));
                } else {
                    first.error = sent;
                }
                EXPECT_TRUE(first.error == FCI_ICL_OK || first.error == FCI_ICL_EPEER);
                well += first.error == FCI_ICL_OK;
                ASSERT_TRUE(sender.turn_until([&] {  // nobody asks for what is sent now
                    return sender.send(data, &later) == FCI_ICL_EPEER;
                }));
                steps.go_on();
            });
        ASSERT_EQ(result, 0) << "run " << i;
    }
    if (path == "shared") {
        EXPECT_EQ(well, 0u);
    }
    RecordProperty("well", static_cast<int>(well));
}

TEST(Close, sender__of_a_message_that_was_not_received_yet) {
    for (unsigned i = 0; i < 2 * kRuns; ++i) {
        Bytes buffer(kBytes, kOld);
        const int result = run(
            i % 2 == 0 ? "shared" : "pull",
            [](Side& receiver, const Steps& steps) {
                Bytes data(kBytes, kForeign);
                if (!receiver.turn_until([&] { return receiver.has_message(); })) return 1;
                steps.child_goes_on();
                if (!steps.child_waits()) return 2;
                Ended ended;
                if (receiver.receive(data, &ended) != FCI_ICL_OK) return 3;
                if (!receiver.is_told(&ended)) return 4;
                return std::find(data.begin(), data.end(), kNew) == data.end() ? 0 : 5;
            },
            [&](Side& sender, const Steps& steps) {
                Ended ended;
                ASSERT_EQ(sender.send(buffer, &ended), FCI_ICL_OK);
                ASSERT_TRUE(sender.turn_until([&] { return steps.is_next(); }));
                ASSERT_TRUE(steps.waits());
                sender.close();
                std::fill(buffer.begin(), buffer.end(), kNew);
                steps.go_on();
            });
        ASSERT_EQ(result, 0) << "run " << i;
    }
}

}  // namespace
}  // namespace fci
