// SPDX-License-Identifier: BSD-3-Clause
// Exchange: what a process says to processes of other hosts in one collective, and what it hears of
// them (§2.6.12): short messages that are matched by the group and the number of the collective.
// All goes on in progress; nothing waits here.
//
// Each goes through all its steps, whatever happens. Who lacks something, because a peer has gone,
// or because lengths differ, says that instead of data, so that all hear of it and none waits for
// it in vain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fci_core/group/hints/early_wait.h"
#include "fci_core/group/table/flag_table.h"
#include "fci_core/group/hosts/match.h"
#include "fci_core/group/table/reduction.h"
#include "fci_core/group/hosts/steps.h"
#include "fci_core/mp/message_passing.h"
#include "fci_core/progress/wait.h"

namespace fci::group {

class Exchange final : public progress::Wait {
public:
    /// `key`: of the group, less than 2 to the power of 64 - kNumberBits.
    Exchange(mp::MessagePassing& messages, std::uint64_t key) noexcept
        : messages_(messages), key_(key) {}

    /// Collective `number`, of host `self`. This process brings `bytes` at data(), or, if `code` is
    /// an error, nothing because of that, and `bytes` is as in fail(). `deaf`: nor does it wait for
    /// what others say.
    void begin(const Steps& steps, unsigned self, std::uint64_t number, std::size_t bytes, int code,
               bool deaf) noexcept;
    /// It is a broadcast of a group that has hints, behind whose data there is a trailer; what is
    /// heard may come early. The message that comes all the same is thrown away then.
    void listen(const EarlyWait& early) noexcept { early_ = early; }
    [[nodiscard]] EarlyWait& early() noexcept { return early_; }
    [[nodiscard]] Trailer trailer() noexcept;
    void set_trailer(const Trailer& trailer) noexcept;
    /// FCI_ICL_EAGAIN: not through all steps yet; a turn may bring the next. `speakers`: ranks, by
    /// host; `peers`: by rank. May throw bad_alloc, and goes on from there when it is called again.
    [[nodiscard]] int advance(const unsigned* speakers, const nhi::PeerId* peers,
                              const Reduction& reduction);

    /// There are no data any more; `why`: of FCI_ICL_EPEER the rank of who has gone, else the
    /// length of another one's. What was lacking before says so, but that nobody can have the group
    /// comes first.
    void fail(int code, std::size_t why) noexcept;

    /// FCI_ICL_DONE, or why there are no data.
    [[nodiscard]] int code() const noexcept { return code_; }
    /// What came about, or what is brought; aligned for any type.
    [[nodiscard]] std::byte* data() noexcept { return own(); }
    /// Of the data. After FCI_ICL_ETRUNC: of another one's, if that is known.
    [[nodiscard]] std::size_t length() const noexcept {
        return code_ == FCI_ICL_EPEER ? 0 : length_;
    }
    /// After FCI_ICL_EPEER: the rank of who has gone.
    [[nodiscard]] unsigned lost() const noexcept {
        return code_ == FCI_ICL_EPEER ? static_cast<unsigned>(length_) : FCI_ICL_NO_RANK;
    }

    /// Nobody has heard of this process in this collective: no other one can wait for what it does
    /// with what it waits for, but those below it in a tree.
    [[nodiscard]] bool is_only_told() const noexcept { return at_ == 0 && !steps_[0].sends; }
    /// A message is under way in memory of this object.
    [[nodiscard]] bool is_busy() const noexcept { return hearing_ || saying_; }
    /// A message of this collective from `peer` is taken whenever it comes: until then its sender
    /// may need its buffer. May throw bad_alloc.
    void discard(nhi::PeerId peer);
    /// What is under way is asked back, and what has come is thrown away.
    void give_up() noexcept;

private:
    [[nodiscard]] bool is_over() noexcept override;
    /// What runs on other hosts may share this core all the same, if it is one of those that must
    /// be given away.
    [[nodiscard]] bool needs(unsigned) noexcept override { return true; }
    void want_wake(bool) noexcept override {}  // a message wakes by itself
    [[nodiscard]] bool may_be_woken() const noexcept override { return true; }
    [[nodiscard]] bool is_for_network() const noexcept override { return true; }

    struct alignas(64) Buffer {
        std::byte bytes[Early::kMost];
    };

    [[nodiscard]] std::byte* own() noexcept { return buffers_[own_].bytes; }
    [[nodiscard]] std::byte* heard() noexcept { return buffers_[1 - own_].bytes; }
    [[nodiscard]] mp::Pattern pattern_of(nhi::PeerId peer) const noexcept;
    [[nodiscard]] bool begin_to_hear(nhi::PeerId peer);
    void take_early() noexcept;
    void hear(nhi::PeerId peer);
    void say(nhi::PeerId peer, unsigned rank);
    void miss() noexcept;
    void take_in(const Step& step, unsigned rank, const Reduction& reduction) noexcept;

    mp::MessagePassing& messages_;
    const std::uint64_t key_;
    Steps steps_;
    unsigned self_ = 0, at_ = 0;
    std::uint64_t number_ = 0;
    std::size_t length_ = 0;  // or the rank of who has gone
    int code_ = FCI_ICL_DONE;
    bool deaf_ = false;
    EarlyWait early_;  // of a broadcast, in a group that has hints
    bool has_heard_ = false, has_said_ = false;  // in this step; begun at least
    bool hearing_ = false, saying_ = false;      // and not through
    unsigned told_ = 0;                          // the rank of who is told
    std::uint32_t receive_ = 0, send_ = 0;       // their orders
    mp::Outcome heard_of_{};
    Buffer buffers_[2];
    unsigned own_ = 0;  // that of them which has what is brought; the other one is for what comes
};

}  // namespace fci::group
