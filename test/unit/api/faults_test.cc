// SPDX-License-Identifier: BSD-3-Clause
// Message passing over shared memory behind the fault tap: late, out of step, stalled, without
// room, and some pairs that never attach. The simulation does the same over its own network.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "drivers/shm/shm.h"
#include "drivers/tap/fault/fault_device.h"
#include "fci_core/mp/message_passing.h"
#include "test/unit/seed.h"

namespace fci {
namespace {

constexpr unsigned kEnds = 4, kMessages = 12;
constexpr std::size_t kSizes[] = {0, 8, 48, 300, 5'000, 70'000};
constexpr int kOpen = 1;  // no code of a completion

mp::Limits small_limits() {
    mp::Limits limits;
    limits.layout = {32, 64 * 1024};
    limits.eager_bytes = 4096;
    limits.offer_bytes = 8192;
    limits.unexpected_bytes = 64 * 1024;
    return limits;
}

/// One message and the receive for it.
struct Message {
    std::vector<std::byte> data, to;
    int sent = kOpen, received = kOpen;

    static mp::Completion into(int& end) {
        return {[](void*, void* which, const mp::Outcome* outcome) {
                    EXPECT_EQ(*static_cast<int*>(which), kOpen) << "completed twice";
                    *static_cast<int*>(which) = outcome->error;
                },
                nullptr, &end};
    }
};

struct End {
    std::unique_ptr<ddi::Device> device;
    std::unique_ptr<mp::MessagePassing> messages;
    nhi::PeerId there[kEnds]{};

    explicit End(const tap::FaultOptions& faults) {
        ddi::Settings settings;
        settings.block_bytes = small_limits().layout.block_bytes();
        settings.sizes = small_limits().layout.sizes();
        settings.job = 77;
        Status status;
        std::string error;
        auto shm = shm::open_shm(settings, {}, &status, &error);
        EXPECT_TRUE(shm) << error;
        device = std::make_unique<tap::FaultDevice>(std::move(shm), faults);
        messages =
            std::make_unique<mp::MessagePassing>(*device, mp::kEnhancedMixed, small_limits());
    }
    void turn() {
        device->network().poll(device->now());
        messages->turn();
    }
};

class Meeting {
public:
    explicit Meeting(const tap::FaultOptions& faults) : faults_(faults) {
        for (unsigned i = 0; i < kEnds; ++i) ends_.push_back(std::make_unique<End>(faults));
        for (auto& one : ends_) {
            for (unsigned j = 0; j < kEnds; ++j) {
                EXPECT_EQ(one->device->add_peer(ends_[j]->device->card(), &one->there[j]),
                          Status::ok);
            }
        }
    }
    [[nodiscard]] bool refused(unsigned i, unsigned j) const {
        return tap::FaultDevice::refuses(faults_, ends_[i]->device->card(),
                                         ends_[j]->device->card());
    }
    /// Everybody to everybody, the receives of every second message first.
    void exchange() {
        for (unsigned n = 0; n < kMessages; ++n) {
            for (unsigned from = 0; from < kEnds; ++from) {
                for (unsigned to = 0; to < kEnds; ++to) begin(from, to, n);
            }
        }
        Message* open = nullptr;
        const Nanoseconds end = ends_[0]->device->now() + 20'000'000'000;
        while ((open = first_open()) != nullptr && ends_[0]->device->now() < end) {
            for (auto& one : ends_) one->turn();
        }
        EXPECT_EQ(open, nullptr) << "hangs";
    }
    void check() {
        unsigned refusals = 0;
        for (unsigned from = 0; from < kEnds; ++from) {
            for (unsigned to = 0; to < kEnds; ++to) {
                const bool never = from != to && refused(from, to);
                refusals += never;
                for (const Message& message : all_[from][to]) {
                    EXPECT_EQ(message.sent, never ? mp::kUnreachable : mp::kSuccess);
                    EXPECT_EQ(message.received, never ? mp::kUnreachable : mp::kSuccess);
                    EXPECT_TRUE(never || message.to == message.data);
                }
                const char* const why =
                    ends_[from]->messages->engine().peers.reason(ends_[from]->there[to]);
                EXPECT_EQ(std::string(why).empty(), !never) << why;
            }
            EXPECT_EQ(ends_[from]->messages->engine().orders.used(), 0u) << "something leaks";
        }
        refusals_ += refusals;
    }
    static unsigned refusals() { return refusals_; }

private:
    void begin(unsigned from, unsigned to, unsigned n) {
        Message& message = all_[from][to][n];
        message.data.resize(kSizes[n % std::size(kSizes)]);
        for (std::size_t i = 0; i < message.data.size(); ++i) {
            message.data[i] = static_cast<std::byte>(i * 7 + n + from * 3 + to);
        }
        message.to.resize(message.data.size());
        if (n % 2 == 0) receive(from, to, n, message);
        send(from, to, n, message);
        if (n % 2 == 1) receive(from, to, n, message);
    }
    void send(unsigned from, unsigned to, unsigned n, Message& message) {
        const iovec range{message.data.data(), message.data.size()};
        const int result =
            ends_[from]->messages->send({ends_[from]->there[to], 0, 0, n, 0, {&range, 1}},
                                        Message::into(message.sent), nullptr);
        if (result == mp::kDone) message.sent = mp::kSuccess;
        if (result < 0) message.sent = result;
    }
    void receive(unsigned from, unsigned to, unsigned n, Message& message) {
        const iovec range{message.to.data(), message.to.size()};
        mp::Outcome outcome{};
        const int result = ends_[to]->messages->receive({ends_[to]->there[from], 0, n, 0},
                                                        {&range, 1},
                                                        Message::into(message.received), nullptr,
                                                        &outcome);
        if (result == mp::kDone) message.received = outcome.error;
        if (result < 0) message.received = result;
    }
    Message* first_open() {
        for (auto& row : all_) {
            for (auto& pair : row) {
                for (Message& message : pair) {
                    if (message.sent == kOpen || message.received == kOpen) return &message;
                }
            }
        }
        return nullptr;
    }

    static inline unsigned refusals_ = 0;
    tap::FaultOptions faults_;
    Message all_[kEnds][kEnds][kMessages];
    std::vector<std::unique_ptr<End>> ends_;
};

TEST(Faults, exchange__ends_right_over_shared_memory_whatever_the_network_does) {
    for (const std::uint64_t seed : seeds(12)) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const auto kind = static_cast<unsigned>(seed % 12);
        const tap::FaultOptions faults{.seed = seed,
                                       .delay_percent = kind % 3 * 40,
                                       .delay_max = 50'000,
                                       .stall_per_mille = kind % 2 * 10,
                                       .stall_max = 5'000'000,
                                       .again_percent = kind % 4 * 10,
                                       .refuse_percent = kind % 3 * 25};
        Meeting meeting(faults);
        meeting.exchange();
        meeting.check();
        if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GT(Meeting::refusals(), 0u);
}

}  // namespace
}  // namespace fci
