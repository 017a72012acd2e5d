// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hosts/messenger.h"

#include <new>

#include "fci_core/base/assert.h"
#include "fci_core/mp/fast_path.h"

namespace fci::group {

namespace {

// A message has data, or an immediate word: what its sender lacks, as a positive number, above why.
constexpr unsigned kWhyBits = 32;

std::uint64_t word_of(const Share& share) noexcept {
    return static_cast<std::uint64_t>(-share.code()) << kWhyBits | share.why();
}

/// Why there are no data; of a word that nobody should send: that its sender is lost.
int code_of(std::uint64_t word) noexcept {
    switch (word >> kWhyBits) {
        case -FCI_ICL_ETRUNC: return FCI_ICL_ETRUNC;
        case -FCI_ICL_EUNREACHABLE: return FCI_ICL_EUNREACHABLE;
        default: return FCI_ICL_EPEER;
    }
}

std::size_t why_of(std::uint64_t word) noexcept { return word & 0xffffffff; }

}  // namespace

void Messenger::begin(std::uint64_t number) noexcept {
    FCI_ASSERT(!is_busy());
    number_ = number;
    missed_ = false;
}

void Messenger::receive(nhi::PeerId peer) {
    const iovec to{share_.incoming(), Share::kMost};
    const mp::Completion completion{[](void* user, void*, const fci_icl_status* status) {
                                        auto& own = *static_cast<Messenger*>(user);
                                        own.received_ = *status;
                                        own.receiving_ = false;
                                    },
                                    this, nullptr};
    const int answer =
        messages_.receive(pattern(peer), {&to, 1}, completion, &receive_, &received_);
    receiving_ = answer == FCI_ICL_OK;  // its completion comes from a later turn
    if (answer < 0) received_.error = answer;
}

void Messenger::discard(nhi::PeerId peer) {
    mp::Outcome outcome{};
    (void)messages_.receive(pattern(peer), {}, {}, nullptr, &outcome);
}

/// A lack is sent to any peer that may wait for this process, which does not wait until the message
/// is taken: the peer may have given the group up, and hold all the messages that it will.
void Messenger::send(nhi::PeerId peer, bool lingers) {
    const std::uint64_t match = pattern(peer).match;
    missed_ = false;
    if (!share_.is_good()) {
        (void)messages_.send(
            {peer, mp::kGroupSpace, mp::kSendImmediate, match, word_of(share_), {}}, {}, nullptr);
        return;
    }
    if (mp::fast::send_far(engine(), peer, mp::kGroupSpace, lingers ? mp::kSendLingering : 0, match,
                           0, share_.data(), share_.length())) {
        return;
    }
    const iovec from{share_.data(), share_.length()};
    const mp::Completion completion{[](void* user, void*, const fci_icl_status* status) {
                                        auto& own = *static_cast<Messenger*>(user);
                                        own.sending_ = false;
                                        own.missed_ = status->error != FCI_ICL_OK;
                                    },
                                    this, nullptr};
    const int answer =
        messages_.send({peer, mp::kGroupSpace, 0, match, 0, {&from, from.iov_len != 0 ? 1u : 0u}},
                       completion, &send_);
    sending_ = answer == FCI_ICL_OK;
    missed_ = missed_ || answer < 0;
}

bool Messenger::is_here(nhi::PeerId peer) {
    return messages_.probe(pattern(peer), nullptr, nullptr) == mp::kSuccess;
}

bool Messenger::is_alive(nhi::PeerId peer) {
    return messages_.meetings().connected(peer) != nullptr && !engine().peers.is_lost(peer);
}

bool Messenger::has_news(nhi::PeerId peer) const noexcept {
    return engine().peers.is_lost(peer) || engine().arrived.find(pattern(peer)) != nullptr;
}

bool Messenger::accept(unsigned rank, std::size_t* bytes) noexcept {
    FCI_ASSERT(!receiving_);
    *bytes = received_.received;
    if (received_.error != FCI_ICL_OK) {
        share_.fail(FCI_ICL_EPEER, rank);
    } else if ((received_.flags & mp::kSendImmediate) != 0) {
        share_.fail(code_of(received_.immediate), why_of(received_.immediate));
    }
    return share_.is_good();
}

void Messenger::give_up() noexcept try {
    if (receiving_) (void)messages_.cancel(receive_);
    if (sending_) (void)messages_.cancel(send_);
    (void)messages_.receives().discard_matching(
        {mp::kAnySource, mp::kGroupSpace, key_ << kNumberBits, (1u << kNumberBits) - 1});
} catch (const std::bad_alloc&) {  // messages that are under way end with their peers
}

}  // namespace fci::group
