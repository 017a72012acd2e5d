// SPDX-License-Identifier: BSD-3-Clause
// Station: one process of a simulated world, with all memory that others may write to.
#pragma once

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drivers/sim/ideal/station_data.h"
#include "drivers/sim/ideal/station_hints.h"
#include "drivers/sim/ideal/world.h"
#include "fci_core/ddi/notices.h"
#include "fci_core/nhi/bookkeeping.h"

namespace fci::sim {

/// Zeroed bytes on a page boundary.
class Pages {
public:
    Pages() = default;
    explicit Pages(std::size_t bytes);
    [[nodiscard]] std::span<std::byte> span() const noexcept { return {memory_.get(), bytes_}; }

private:
    struct Free {
        void operator()(std::byte* memory) const noexcept { std::free(memory); }
    };
    std::unique_ptr<std::byte, Free> memory_;
    std::size_t bytes_ = 0;
};

class Station final : public nhi::Bookkeeping {
public:
    static constexpr unsigned kNobody = 0xffffffffu;
    static constexpr unsigned kUnlimited = 0xffffffffu;

    Station(World& world, unsigned number, const ddi::Card& card, const ddi::Settings& settings);

    // --- NetworkInterface ---
    Status initiate_transfer(const nhi::Transfer& transfer) noexcept override;
    Status mask_event_interrupt(nhi::EventId event, bool masked) noexcept override;
    [[nodiscard]] nhi::Link link(nhi::PeerId id) noexcept override;
    [[nodiscard]] bool is_idle() const noexcept override;
    unsigned poll(Nanoseconds now) noexcept override;
    std::byte* map(nhi::PeerId id, nhi::LcsAddress address, std::size_t bytes) noexcept override;
    Status copy(nhi::PeerId id, Direction direction, std::uint64_t remote, void* local,
                std::size_t bytes) noexcept override;
    [[nodiscard]] nhi::DataWay* data() noexcept override { return &its_data; }
    [[nodiscard]] nhi::Hints* hints() noexcept override {
        return world.options_.hints.work ? &its_hints : nullptr;
    }

    // --- what its Device and the world ask for ---
    struct Peer {
        enum class State : std::uint8_t { known, connecting, attached, lost };
        ddi::Card card;
        unsigned process = kNobody;
        State state = State::known;
        bool joined = false;  // the world made both blocks
        Pages block;
    };

    [[nodiscard]] nhi::PeerId id_of(const ddi::Card& card) const noexcept;
    [[nodiscard]] Status check(const nhi::Transfer& transfer) const noexcept;
    nhi::PeerId add(const ddi::Card& card);
    Status connect(nhi::PeerId id);
    /// The peer with that id, once both have blocks; or nullptr.
    [[nodiscard]] Station* at(nhi::PeerId id) const noexcept;
    using nhi::Bookkeeping::windows;
    /// Where a write of process `from` to the address goes; empty: nowhere.
    [[nodiscard]] std::byte* locate(unsigned from, std::uint64_t address,
                                    std::uint64_t bytes) noexcept;
    /// Sends the transfers that linger on their way to that process.
    void push(unsigned to) noexcept;
    void raise(std::uint32_t events) noexcept;
    /// A hint is here. It ends a sleep that an event would end.
    void hear(const World::Action& action);
    void sleep(Nanoseconds timeout) noexcept;
    [[nodiscard]] bool is_woken() const noexcept { return woken_ || !notices.empty(); }
    [[nodiscard]] Nanoseconds now() const noexcept;
    [[nodiscard]] std::string describe() const;

    World& world;
    const unsigned number;
    const ddi::Card card;
    const ddi::Settings settings;
    bool alive = true;
    ddi::PeerListener* listener = nullptr;
    StationData its_data{*this};
    StationHints its_hints{*this};
    std::vector<std::unique_ptr<Peer>> peers;  // by id
    std::vector<nhi::PeerId> id_of_process;  // by process number, kNoPeer: not known
    std::vector<Nanoseconds> last_to;          // by process number: the pair's newest action
    ddi::Notices notices;
    unsigned arrivals = 0;  // since the last poll
    std::array<unsigned, 2> copies_left{kUnlimited, kUnlimited};  // by direction
    Pages own_memory;
    std::span<std::byte> communication;

private:
    Station(World& world, unsigned number, const ddi::Card& card, const ddi::Settings& settings,
            Pages memory);
    struct Lingering {
        unsigned to;  // process number
        nhi::Transfer transfer;
        std::shared_ptr<std::vector<std::byte>> payload;
    };
    void send(unsigned to, const nhi::Transfer& transfer,
              const std::shared_ptr<std::vector<std::byte>>& payload) noexcept;

    bool woken_ = false;
    std::vector<Lingering> lingering_;
};

}  // namespace fci::sim
