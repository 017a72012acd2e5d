// SPDX-License-Identifier: BSD-3-Clause
// FaultInterface: a network interface around another one, which makes its transfers late. It does
// what a correct network may do, and nothing else: transfers of one pair stay in order, those of
// different pairs overtake each other, a peer gets nothing for a while, there is no room now and
// then. Time comes with poll(), chance from the seed.
//
// Stores into a peer's block are made late as well: they are made into a copy of it (StoreWatch)
// that asks for an event with each of them. Of these none can be refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "drivers/tap/fault/store_watch.h"
#include "fci_core/base/prng.h"
#include "fci_core/ddi/device.h"
#include "fci_core/nhi/forwarding.h"

namespace fci::tap {

struct FaultOptions {
    std::uint64_t seed = 1;
    unsigned delay_percent = 0;   // transfers that are held back
    Nanoseconds delay_max = 0;    // for so long at most, each
    unsigned stall_per_mille = 0; // transfers with which the peer begins to get nothing
    Nanoseconds stall_max = 0;    // for so long at most
    unsigned again_percent = 0;   // transfers that are answered with Status::again
    unsigned refuse_percent = 0;  // pairs of processes that never attach
    std::uint16_t first_port = 0;  // as in a card: chance goes by what a port is beyond it

    /// Some transfers are to come late or not at once.
    [[nodiscard]] bool injects() const noexcept {
        return delay_percent + stall_per_mille + again_percent != 0;
    }
};

class FaultInterface;

/// Data are never held back, as they are borrowed; they wait at their sender for what is.
class FaultData final : public nhi::DataWay {
public:
    FaultData(FaultInterface& whole, nhi::DataWay* inner) noexcept
        : whole_(whole), inner_(inner) {}
    [[nodiscard]] bool is_there() const noexcept { return inner_ != nullptr; }
    Status send(nhi::PeerId id, const nhi::Data& data, const std::byte* from,
                std::uint32_t events) noexcept override;
    [[nodiscard]] bool has_taken(nhi::PeerId id) const noexcept override {
        return inner_->has_taken(id);
    }
    void give_back(nhi::PeerId id) noexcept override { inner_->give_back(id); }
    [[nodiscard]] bool waits() const noexcept override { return inner_->waits(); }
    void set_target(nhi::DataTarget* target) noexcept override { inner_->set_target(target); }

private:
    FaultInterface& whole_;
    nhi::DataWay* const inner_;
};

class FaultInterface final : public nhi::Forwarding {
public:
    /// `told` hears of the connections that fail here, from poll().
    FaultInterface(ddi::Device& device, ddi::PeerListener& told, const FaultOptions& options);

    Status initiate_transfer(const nhi::Transfer& transfer) noexcept override;
    [[nodiscard]] nhi::Link link(nhi::PeerId id) noexcept override;
    [[nodiscard]] bool is_idle() const noexcept override {
        return held_count_ == 0 && inner().is_idle();
    }
    /// Transfers that are held back, and stores, go out in poll().
    [[nodiscard]] unsigned idle_poll_every() const noexcept override { return 1; }
    unsigned poll(Nanoseconds now) noexcept override;
    [[nodiscard]] nhi::DataWay* data() noexcept override {
        return data_.is_there() ? &data_ : nullptr;
    }
    /// Nothing that it must not overtake is held back for that peer, and there is room.
    [[nodiscard]] bool lets_data_pass(nhi::PeerId id) noexcept {
        const bool late = id < held_.size() && !held_[id].empty();
        return !late && !prng_.chance(options_.again_percent);
    }

    /// When the first of the transfers that are held back is due; kNever: there is none.
    static constexpr Nanoseconds kNever = INT64_MAX;
    [[nodiscard]] Nanoseconds due() const noexcept;
    /// All of them, late or not; before the device closes.
    void flush() noexcept;
    /// The process is gone, and what was on its way to it.
    void forget(nhi::PeerId id);
    /// Sends all stores on their way before the process sleeps.
    void take_all_stores() noexcept;
    /// It will be told to be unreachable, once.
    void refuse(nhi::PeerId id);

private:
    struct Held {
        Nanoseconds due;
        std::uint32_t events;
        unsigned parts;
        struct {
            nhi::LcsAddress to;
            std::size_t at, bytes;  // in the payload
        } part[nhi::Transfer::kPartsMax];
        std::vector<std::byte> payload;
        StoreWatch::Stores stores;  // before the parts
    };

    [[nodiscard]] StoreWatch* watch_of(nhi::PeerId destination) const noexcept {
        return destination < watches_.size() ? watches_[destination].get() : nullptr;
    }
    void take_stores(nhi::PeerId id) noexcept;
    [[nodiscard]] bool may_hold(const nhi::Transfer& transfer) const noexcept;
    [[nodiscard]] Nanoseconds draw_due(nhi::PeerId id) noexcept;
    void hold(const nhi::Transfer& transfer, Nanoseconds due);
    unsigned release(nhi::PeerId id, Nanoseconds now) noexcept;

    ddi::Device& device_;
    ddi::PeerListener& told_;
    FaultOptions options_;
    Prng prng_;
    Nanoseconds now_ = 0;
    Nanoseconds look_at_ = 0;  // when to look next for what was stored
    unsigned polls_ = 0;       // since the last look
    std::size_t held_count_ = 0;
    std::vector<std::deque<Held>> held_;                // by id, in the order of issue
    std::vector<std::unique_ptr<StoreWatch>> watches_;  // by id; nullptr: no stores there
    std::vector<bool> gone_;                            // by id
    std::vector<nhi::PeerId> refused_;                  // to be told
    FaultData data_;
};

}  // namespace fci::tap
