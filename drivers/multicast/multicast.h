// SPDX-License-Identifier: BSD-3-Clause
// Multicast: hints over Ethernet (§2.6.11): one datagram, or a burst of them, reaches all hosts.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "drivers/host/libcrypto.h"
#include "drivers/multicast/datagram.h"
#include "drivers/multicast/place.h"
#include "drivers/multicast/seal.h"
#include "drivers/multicast/sockets.h"
#include "fci_core/base/counters.h"
#include "fci_core/nhi/index_table.h"

namespace fci::multicast {

class Multicast final : public nhi::Hints {
public:
    /// Called for each descriptor to be watched: look() is wanted when it can be read.
    using Watch = std::function<void(int descriptor, unsigned lane, bool on)>;

    /// `own`: the address of the interface that is used.
    Multicast(const Place& place, std::uint32_t own, Watch watch);
    ~Multicast() override { close(); }
    Multicast(const Multicast&) = delete;
    Multicast& operator=(const Multicast&) = delete;

    [[nodiscard]] std::size_t window() noexcept override;
    Status draw(nhi::HintGroup* group) noexcept override;
    Status join(const nhi::HintMember& member, nhi::HintListener& listener) noexcept override;
    void leave(std::uint64_t name) noexcept override;
    Status expect(std::uint64_t name, std::uint64_t number,
                  std::span<std::byte> to) noexcept override {
        stash_is_due_ = stash_is_due_ || (!stash_.empty() && to.size() > kShortMost);
        return table_.expect(name, number, to);
    }
    void withdraw(std::uint64_t name, std::uint64_t number) noexcept override {
        table_.withdraw(name, number);
    }
    [[nodiscard]] std::uint64_t looks() const noexcept override { return looks_; }
    [[nodiscard]] std::uint64_t heard(std::uint64_t name) const noexcept override;
    Status hint(const nhi::Hint& hint, std::span<const std::byte> bytes) noexcept override;

    [[nodiscard]] bool can_hear() const noexcept { return sockets_.can_hear(); }
    /// Reads this lane; returns how many hints were expected.
    unsigned look(unsigned lane) noexcept;
    /// Reads the lanes of long hints, if a long hint is expected.
    unsigned look_for_long() noexcept;
    /// True: a caller sleeps, and hints that are expected must wake it.
    void set_watched(bool watched) noexcept;
    /// The lane of all short hints. A process that reads it in each turn is not told of them: the
    /// kernel would wake all receivers in the sender's time.
    static constexpr unsigned kShortLane = 0;
    void set_quiet(bool quiet) noexcept {
        if (can_hear() && quiet != is_quiet_) change_quiet(quiet);
    }
    void count_in(Counters& counters) noexcept { counters_ = &counters; }
    /// Closes all sockets; also called in a child of fork().
    void close() noexcept;

private:
    using Burst = std::array<std::byte, 64 * 1024>;  // the most that the kernel cuts, or merges

    [[nodiscard]] bool can_seal() noexcept;
    [[nodiscard]] std::span<const std::byte> seal(Seal& seal, const nhi::Hint& hint,
                                                  std::span<const std::byte> bytes) noexcept;
    Status send(unsigned lane, std::span<const std::byte> sealed) noexcept;
    Status send_at_once(unsigned lane, std::span<const std::byte> sealed) noexcept;
    [[nodiscard]] bool take(std::span<std::byte> datagram, std::uint32_t source) noexcept;
    void refuse(std::uint32_t source) noexcept;
    [[nodiscard]] bool place(const nhi::Hint& hint, std::span<const std::byte> bytes) noexcept;
    void stash(const nhi::Hint& hint, std::span<const std::byte> bytes) noexcept;
    unsigned take_stash() noexcept;
    void change_quiet(bool quiet) noexcept;
    void watch_long(bool on) noexcept;

    const Place place_;
    const Watch watch_;
    Sockets sockets_;
    nhi::IndexTable table_;
    std::unique_ptr<host::Libcrypto> library_;
    std::unordered_map<std::uint64_t, Seal> seals_;  // by name, for each group of the table
    std::unique_ptr<Burst> heard_, sealed_;
    /// A piece of a long hint that is not expected yet: its sender is ahead of this process, which
    /// still waits for another long hint.
    struct Stashed {
        nhi::Hint hint;
        std::vector<std::byte> bytes;
    };
    std::deque<Stashed> stash_;
    std::uint64_t looks_ = 0;  // reads of the lanes of long hints
    bool stash_is_due_ = false;
    bool can_segment_ = true, is_quiet_ = false, long_is_watched_ = false;
    bool has_told_of_forgeries_ = false;
    std::string why_not_;  // why hints can be neither sent nor heard; empty: they can, so far
    Counters uncounted_;
    Counters* counters_ = &uncounted_;
};

}  // namespace fci::multicast
