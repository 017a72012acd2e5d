// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hosts/exchange.h"

#include <cstring>
#include <new>

#include "fci_core/base/assert.h"
#include "fci_core/base/result.h"
#include "fci_core/mp/fast_path.h"

namespace fci::group {

namespace {

// A message has data, or an immediate word: what its sender lacks, as a positive number, above why.
constexpr unsigned kWhyBits = 32;

std::uint64_t word_of(int code, std::size_t why) noexcept {
    return static_cast<std::uint64_t>(-code) << kWhyBits | why;
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

void Exchange::begin(const Steps& steps, unsigned self, std::uint64_t number, std::size_t bytes,
                     int code, bool deaf) noexcept {
    FCI_ASSERT(!is_busy() && (bytes <= Entry::kLong || code != FCI_ICL_DONE));
    steps_ = steps;
    self_ = self;
    number_ = number;
    length_ = bytes;
    code_ = code;
    deaf_ = deaf;
    at_ = 0;
    has_heard_ = has_said_ = false;
    early_ = {};
    Wait::begin(0);
}

Trailer Exchange::trailer() noexcept {
    FCI_ASSERT(early_ && code_ == FCI_ICL_DONE);
    Trailer trailer;
    std::memcpy(&trailer, own() + length_, sizeof trailer);
    return trailer;
}

void Exchange::set_trailer(const Trailer& trailer) noexcept {
    FCI_ASSERT(early_ && length_ <= Entry::kLong);
    std::memcpy(own() + length_, &trailer, sizeof trailer);
}

void Exchange::fail(int code, std::size_t why) noexcept {
    if (code_ != FCI_ICL_DONE && code != FCI_ICL_EUNREACHABLE) return;
    code_ = code;
    length_ = why;
}

mp::Pattern Exchange::pattern_of(nhi::PeerId peer) const noexcept {
    return {peer, mp::kGroupSpace, match_of(key_, number_, false), 0};
}

void Exchange::discard(nhi::PeerId peer) {
    mp::Outcome outcome{};
    (void)messages_.receive(pattern_of(peer), {}, {}, nullptr, &outcome);
}

/// What a hint has brought, as if it were what the message is.
void Exchange::take_early() noexcept {
    const std::span<const std::byte> hint = early_.hint();
    FCI_ASSERT(hint.size() <= sizeof(Buffer::bytes));
    if (!hint.empty()) std::memcpy(heard(), hint.data(), hint.size());
    heard_of_ = {};
    heard_of_.received = hint.size();
}

/// False: nothing is here of what may come in two ways. No receive stands for it until then, as
/// its buffer could not be taken back at once.
bool Exchange::begin_to_hear(nhi::PeerId peer) {
    if (deaf_) {
        discard(peer);
        has_heard_ = true;
    } else if (!early_) {
        hear(peer);
    } else if (early_.has_hint()) {
        take_early();
        discard(peer);
        has_heard_ = true;
    } else {
        const bool is_here = messages_.probe(pattern_of(peer), nullptr, nullptr) == mp::kSuccess;
        // Only who has met a process hears of its death.
        if (!is_here && messages_.meetings().connected(peer) != nullptr &&
            !messages_.engine().peers.is_lost(peer)) {
            if (since() == 0) Wait::begin(messages_.engine().device.now());
            early_.wait(peer, since());
            return false;
        }
        hear(peer);
    }
    early_.end();
    return true;
}

bool Exchange::is_over() noexcept {
    if (!early_.waits()) return !is_busy();
    const nhi::PeerId from = early_.from();
    return early_.has_hint() || messages_.engine().peers.is_lost(from) ||
           messages_.engine().arrived.find(pattern_of(from)) != nullptr;
}

void Exchange::hear(nhi::PeerId peer) {
    const iovec to{heard(), sizeof(Buffer::bytes)};
    const mp::Completion completion{[](void* user, void*, const fci_icl_status* status) {
                                        auto& own = *static_cast<Exchange*>(user);
                                        own.heard_of_ = *status;
                                        own.hearing_ = false;
                                    },
                                    this, nullptr};
    const int answer =
        messages_.receive(pattern_of(peer), {&to, 1}, completion, &receive_, &heard_of_);
    has_heard_ = true;
    hearing_ = answer == FCI_ICL_OK;  // its completion comes from a later turn
    if (answer < 0) heard_of_.error = answer;
}

/// What is lacking is said to whoever may hear it, and nobody waits for that: the other one may
/// have given the group up, and hold all the messages that it will.
void Exchange::say(nhi::PeerId peer, unsigned rank) {
    const std::uint64_t match = pattern_of(peer).match;
    if (code_ != FCI_ICL_DONE) {
        const std::uint64_t word = word_of(code_, length_);
        (void)messages_.send({peer, mp::kGroupSpace, mp::kSendImmediate, match, word, {}}, {},
                             nullptr);
        has_said_ = true;
        return;
    }
    const std::size_t bytes = length_ + (early_ ? sizeof(Trailer) : 0);
    if (mp::fast::send_far(messages_.engine(), peer, mp::kGroupSpace,
                           early_.lingers() ? mp::kSendLingering : 0, match, 0, own(), bytes)) {
        has_said_ = true;
        return;
    }
    const iovec from{own(), bytes};
    const mp::Completion completion{[](void* user, void*, const fci_icl_status* status) {
                                        auto& own = *static_cast<Exchange*>(user);
                                        own.saying_ = false;
                                        if (status->error != FCI_ICL_OK) own.miss();
                                    },
                                    this, nullptr};
    told_ = rank;
    const int answer = messages_.send(
        {peer, mp::kGroupSpace, 0, match, 0, {&from, bytes != 0 ? 1u : 0u}}, completion, &send_);
    has_said_ = true;
    saying_ = answer == FCI_ICL_OK;
    if (answer < 0) miss();
}

/// Who is told has gone. One that had a hint of it may have closed in order.
void Exchange::miss() noexcept {
    if (!early_) fail(FCI_ICL_EPEER, told_);
}

/// Another process has written it.
void Exchange::take_in(const Step& step, unsigned rank, const Reduction& reduction) noexcept {
    const mp::Outcome& it = heard_of_;
    if (it.error != FCI_ICL_OK) return fail(FCI_ICL_EPEER, rank);
    if ((it.flags & mp::kSendImmediate) != 0) {
        return fail(code_of(it.immediate), why_of(it.immediate));
    }
    if (code_ != FCI_ICL_DONE) return;
    std::size_t length = it.received;
    if (early_) {
        if (length < sizeof(Trailer)) return fail(FCI_ICL_ETRUNC, length);
        length -= sizeof(Trailer);
        early_.note_in(heard() + length, messages_.engine().device.now());
    }
    if (step.takes) {
        own_ = 1 - own_;
        length_ = length;
        return;
    }
    if (length != length_) return fail(FCI_ICL_ETRUNC, length);
    if (length == 0) return;
    if (step.host < self_) {
        reduction.apply(reduction.user, heard(), own());
    } else {
        reduction.apply(reduction.user, own(), heard());
        own_ = 1 - own_;
    }
}

int Exchange::advance(const unsigned* speakers, const nhi::PeerId* peers,
                      const Reduction& reduction) {
    for (; at_ < steps_.count(); ++at_, has_heard_ = has_said_ = false, Wait::begin(0)) {
        const Step& step = steps_[at_];
        // First, so that what comes finds it.
        FCI_ASSERT(step.host != self_);
        const unsigned rank = speakers[step.host];
        const nhi::PeerId other = peers[rank];
        if (step.hears && !has_heard_ && !begin_to_hear(other)) return FCI_ICL_EAGAIN;
        if (step.sends && !has_said_) say(other, rank);
        if (is_busy()) {
            if (since() == 0) Wait::begin(messages_.engine().device.now());
            return FCI_ICL_EAGAIN;
        }
        if (step.hears && !deaf_) take_in(step, rank, reduction);
    }
    return FCI_ICL_DONE;
}

void Exchange::give_up() noexcept try {
    if (hearing_) (void)messages_.cancel(receive_);
    if (saying_) (void)messages_.cancel(send_);
    (void)messages_.receives().discard_matching(
        {mp::kAnySource, mp::kGroupSpace, key_ << kNumberBits, (1u << kNumberBits) - 1});
} catch (const std::bad_alloc&) {  // what is under way ends with its peer
}

}  // namespace fci::group
