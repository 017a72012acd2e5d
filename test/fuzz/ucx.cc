// SPDX-License-Identifier: BSD-3-Clause
// ucx: any bytes as hellos and frames to a process of the ucx driver, over a UCX in memory: from
// its peer and from strangers, while the two meet and after one of them has gone. Nothing is
// written but the peer's block and the open window, strangers change nothing, and UCX has all of
// it back at the end.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drivers/ucx/frame.h"
#include "drivers/ucx/turn.h"
#include "drivers/ucx/ucx_network.h"
#include "test/unit/drivers/ucx_hand_tcp.h"
#include "test/unit/drivers/ucx_in_memory.h"

namespace {

using namespace fci::ucx;
using fci::Nanoseconds;
using fci::Status;
using fci::nhi::LcsAddress;
using fci::ucx::test::HandTcp;
using fci::ucx::test::UcxInMemory;

constexpr fci::nhi::PeerId kPeer = 1;
constexpr std::size_t kBlock = 4096, kMemory = 2048, kWindowAt = 512, kWindow = 1024;
constexpr Nanoseconds kMs = 1'000'000;

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "ucx: %s\n", what.c_str());
    std::abort();
}

struct Deaf final : Road::Listener {
    void frame_came(std::span<const std::byte>) noexcept override {}
};

class Process {
public:
    explicit Process(UcxInMemory& ucx) : ucx_(ucx) {
        std::string error;
        fci::ddi::Settings settings;
        settings.block_bytes = kBlock;
        if (turn_.open(ucx_.library(), network_.arrivals(), settings, &error) != Status::ok) {
            fail(error);
        }
        worker_ = &ucx_.last_worker();
        Status status;
        far_ = Road::open(ucx_.library(), deaf_, &status, &error);
        if (far_ == nullptr) fail(error);
        Peer& self = peers_.make(fci::nhi::kSelf);
        self.state = PeerState::attached;
        self.block = fci::tcp::Pages(kBlock);
        tcp_.tick = kMs;
        (void)network_.open_window(0, LcsAddress{fci::nhi::kPairLimit},
                                   std::span(memory_).subspan(kWindowAt, kWindow));
        (void)network_.configure_event(3, {.flag = true, .interrupt = true});
    }
    ~Process() { turn_.close(); }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    void act(unsigned kind, std::vector<std::byte> bytes) {
        switch (kind) {
            case 0: hear_stranger(bytes); break;
            case 1: hear_peer(std::move(bytes)); break;
            case 2: hear_hello(bytes); break;
            case 3: hear_good_hello(std::move(bytes)); break;
            case 4: meet(); break;
            case 5: lose(bytes.size() % 2 == 0 ? Status::lost : Status::not_found); break;
            case 6: tcp_.time += static_cast<Nanoseconds>(bytes.size()) * 100 * kMs; break;
            default: send(bytes); break;
        }
        (void)turn_.poll(tcp_.time += kMs);
        look();
    }
    /// All but the peer's block and the window is as it was.
    void look() {
        const auto is_clean = [](std::span<const std::byte> bytes) {
            return std::ranges::all_of(bytes, [](std::byte each) { return each == std::byte{}; });
        };
        const std::span memory(memory_);
        if (!is_clean(memory.first(kWindowAt)) || !is_clean(memory.subspan(kWindowAt + kWindow))) {
            fail("memory beside the window was written");
        }
        if (!is_clean(peers_.find(fci::nhi::kSelf)->block.span())) {
            fail("the process's own block was written");
        }
    }

private:
    [[nodiscard]] std::uint32_t heard() const {
        const Peer* const peer = peers_.find(kPeer);
        return peer != nullptr ? peer->heard : 0;
    }
    /// It cannot know the key.
    void hear_stranger(const std::vector<std::byte>& bytes) {
        const std::uint32_t before = heard(), events = network_.event_count(3);
        ucx_.bring(*worker_, bytes);
        (void)turn_.road().progress();
        if (heard() != before || network_.event_count(3) != events) fail("a stranger was heard");
    }
    /// The head as the peer would write it, but for the parts.
    void hear_peer(std::vector<std::byte> bytes) {
        const Peer* const peer = peers_.find(kPeer);
        if (peer == nullptr || bytes.size() < sizeof(FrameHead)) return;
        FrameHead head;
        std::memcpy(&head, bytes.data(), sizeof head);
        head.key = peer->key;
        head.number = kPeer;
        if (head.sequence < 0x8000'0000) head.sequence = peer->heard + 1;
        std::memcpy(bytes.data(), &head, sizeof head);
        ucx_.bring(*worker_, bytes);
    }
    void hear_hello(const std::vector<std::byte>& bytes) {
        std::copy_n(bytes.begin(), std::min<std::size_t>(bytes.size(), kTail),
                    tcp_.at(kPeer).here->begin());
    }
    void hear_good_hello(std::vector<std::byte> bytes) {
        const std::span<const std::byte> address = far_->address();
        bytes.resize(sizeof(Hello));
        const std::uint64_t length = address.size();
        std::memcpy(bytes.data() + offsetof(Hello, address_bytes), &length, sizeof length);
        const fci::ucx::Verdict verdict = fci::ucx::Verdict::works;
        std::memcpy(bytes.data() + offsetof(Hello, verdict), &verdict, sizeof verdict);
        bytes.insert(bytes.end(), address.begin(), address.end());
        hear_hello(bytes);
    }
    /// As TCP does: once, and a peer that was met is lost once.
    void meet() {
        if (!is_lost_ && !tcp_.at(kPeer).is_met) (void)tcp_.meet(kPeer);
    }
    void lose(Status why) {
        if (!std::exchange(is_lost_, true)) tcp_.lose(kPeer, why, "it has gone");
    }
    void send(const std::vector<std::byte>& bytes) {
        std::uint64_t address = 0;
        if (bytes.size() < sizeof address) return;
        std::memcpy(&address, bytes.data(), sizeof address);
        (void)network_.initiate_transfer(fci::nhi::Transfer(kPeer).put(
            LcsAddress{address}, bytes.data() + sizeof address, bytes.size() - sizeof address));
    }

    UcxInMemory& ucx_;
    HandTcp tcp_;
    Peers peers_;
    Turn turn_{peers_, tcp_};
    std::vector<std::byte> memory_ = std::vector<std::byte>(kMemory);
    UcxNetwork network_{peers_, turn_, memory_};
    Deaf deaf_;
    std::unique_ptr<Road> far_;
    UcxInMemory::Worker* worker_ = nullptr;
    bool is_lost_ = false;
};

/// Pieces: a byte that says what it is, two of how long it is, and its bytes.
void hear(Process& process, const std::uint8_t* data, std::size_t size) {
    for (unsigned pieces = 0; size >= 3 && pieces < 32; ++pieces) {
        const unsigned kind = data[0] % 8;
        const std::size_t bytes = std::min<std::size_t>(data[1] + 256u * data[2], size - 3);
        const auto* const from = reinterpret_cast<const std::byte*>(data + 3);
        process.act(kind, std::vector<std::byte>(from, from + bytes));
        data += 3 + bytes;
        size -= 3 + bytes;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    UcxInMemory ucx;
    {
        Process process(ucx);
        hear(process, data, size);
    }
    for (const std::string& mistake : ucx.mistakes()) fail(mistake);
    return 0;
}
