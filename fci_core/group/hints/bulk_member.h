// SPDX-License-Identifier: BSD-3-Clause
// BulkMember: a long broadcast at a host to which it comes (bulk_root.h): by hints, into the memory
// of the caller, and what is lacking by messages that are asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fci_core/base/result.h"
#include "fci_core/group/hints/pieces.h"
#include "fci_core/group/hosts/network_wait.h"
#include "fci_core/mp/message_passing.h"
#include "fci_core/nhi/hints.h"

namespace fci::group {

class BulkMember final : public nhi::HintListener, public NetworkWait {
public:
    BulkMember(mp::MessagePassing& messages, nhi::Hints& hints, const nhi::HintMember& member,
               std::uint64_t key)
        : messages_(messages), hints_(hints), name_(member.group.name), key_(key) {
        (void)hints_.join(member, *this);  // where none can be heard messages bring all
    }
    BulkMember(const BulkMember&) = delete;
    BulkMember& operator=(const BulkMember&) = delete;
    ~BulkMember() override { hints_.leave(name_); }

    /// Broadcast `number` of them; `match`: of its messages. `data` is written until the end.
    void begin(nhi::PeerId root, std::uint64_t number, std::uint64_t match,
               std::span<std::byte> data);
    [[nodiscard]] bool is_for(std::uint64_t number,
                              std::span<const std::byte> data) const noexcept {
        return number_ == number && data_.data() == data.data() && data_.size() == data.size();
    }
    /// The root begins now: from here on it is late that does not come. After `window` bytes it
    /// waits until it has heard of all.
    void be_patient(std::size_t window) noexcept;
    /// Nothing is written any more; no message is under way.
    void end() noexcept;
    /// False: not yet. May throw bad_alloc, and goes on from there when it is called again.
    [[nodiscard]] bool advance();
    /// After the end: the root has gone, or sends nothing, before all was here.
    [[nodiscard]] bool has_lost() const noexcept { return pieces_.left() != 0; }
    /// A message is under way into `data`.
    [[nodiscard]] bool is_busy() const noexcept { return asked_ != 0; }
    /// Takes back messages that are under way.
    void give_up() noexcept;

    void arrived(const nhi::Hint& hint, std::size_t bytes) noexcept override;

    [[nodiscard]] bool is_over() noexcept override { return has_news_; }

private:
    static constexpr unsigned kAsksMost = 8;
    static constexpr std::uint64_t kDeafFor = 64;  // broadcasts, as its root takes it
    static constexpr std::size_t kPullMost = 256;  // pieces of the rest, at a time
    static constexpr Nanoseconds kPatienceFirst = 2'000'000, kPatienceLast = 64'000'000;

    /// A part that was asked for, and the message that brings it.
    struct Ask {
        BulkMember* of = nullptr;
        Pieces::Range what{};
        std::uint32_t receive = 0;
        mp::Outcome outcome{};
        bool is_open = false, is_told = false;  // the root knows
    };

    void ask(const Pieces::Range& what);
    void tell_of(Ask& ask);
    void end(Ask& ask) noexcept;
    void ask_for_gaps();
    void ask_for_rest();
    void report(std::size_t at, std::size_t wanted);
    [[nodiscard]] Nanoseconds now() const noexcept { return messages_.engine().device.now(); }

    mp::MessagePassing& messages_;
    nhi::Hints& hints_;
    const std::uint64_t name_, key_;
    nhi::PeerId root_ = nhi::kNoPeer;
    std::uint64_t number_ = 0, match_ = 0;
    struct {
        std::uint64_t unheard = 0;  // the last broadcasts, so many in a row
        std::uint64_t until = 0;    // up to that broadcast no hint is waited for
    } deaf_;
    std::span<std::byte> data_{};
    Pieces pieces_{};
    std::size_t window_ = 0;
    std::size_t told_ = 0;  // that all before is here
    std::array<Ask, kAsksMost> asks_{};
    unsigned asked_ = 0;    // of them that are open
    bool has_news_ = false, was_lost_ = false;
    bool pulls_ = false;    // nothing comes by hints, and the next part is asked for at once
    bool was_late_ = false;
    Nanoseconds news_at_ = 0, patience_ = kPatienceFirst;
};

}  // namespace fci::group
