// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/tcp/frame_decoder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "fci_core/base/assert.h"

namespace fci::tcp {

unsigned FrameDecoder::room(iovec (&ranges)[2]) noexcept {
    FCI_ASSERT(state_ != State::broken);
    if (is_early()) return 0;
    std::memmove(staged_.data(), staged_.data() + begin_, here());
    end_ -= std::exchange(begin_, 0);
    unsigned count = 0;
    direct_ = 0;
    std::byte* at = nullptr;
    if (end_ == 0 && state_ == State::data && (at = data_place()) != nullptr) {
        direct_ = data_.bytes - done_;
    } else if (end_ == 0 && state_ == State::bytes && done_ + kDirectLeast <= last_ &&
               (at = place()) != nullptr) {
        direct_ = last_ - done_;
    }
    if (direct_ != 0) ranges[count++] = {at + done_, direct_};
    const std::size_t staged = staging_room();
    ranges[count++] = {staged_.data() + end_, staged};
    room_ = direct_ + staged;
    return count;
}

/// To the end of the frame, as far as that is known, and the heads of the next one: where data are
/// expected, so far that none of their bytes gets there.
std::size_t FrameDecoder::staging_room() const noexcept {
    const std::uint64_t all = staged_.size();
    std::uint64_t wanted = kDataHeads;
    if (state_ == State::request) {
        wanted = LastRequest::bytes_behind(std::bit_cast<RequestHead>(head_));
    }
    if (state_ == State::parts) wanted = head_.parts * sizeof(PartHead);
    if (state_ == State::data_head) wanted = sizeof data_;
    if (state_ == State::bytes) {
        wanted += std::min(bytes_ - done_ - direct_, all);
        for (unsigned i = part_ + 1; i < head_.parts; ++i) {
            wanted += std::min(parts_[i].bytes, all);
        }
    }
    const nhi::DataTarget* const target = target_.data_target();
    if (target == nullptr || !target->expects(writer_)) {
        wanted = std::max<std::uint64_t>(wanted, reach_);
    }
    FCI_ASSERT(wanted > end_ && all > end_);
    return std::min(all, wanted) - end_;
}

bool FrameDecoder::take(std::size_t bytes) noexcept {
    FCI_ASSERT(bytes <= room_);
    const std::size_t directly = std::min(bytes, direct_);
    done_ += directly;
    if (state_ == State::data) come_.data_bytes.direct += directly;
    direct_ = 0;
    end_ += bytes - directly;
    reach_ = bytes == room_ ? std::min(2 * reach_, staged_.size())
                             : std::max(reach_ / 2, usual_);
    return go_on();
}

bool FrameDecoder::go_on() noexcept {
    while (step()) {
    }
    return state_ != State::broken;
}

/// False: more of the stream is needed, or nothing follows.
bool FrameDecoder::step() noexcept {
    switch (state_) {
        case State::head:
            return read_head();
        case State::parts:
            return read_parts();
        case State::request:
            return read_request();
        case State::bytes:
            return read_bytes();
        case State::data_head:
            return read_data_head();
        case State::data:
            return read_data();
        case State::goodbye:
            if (here() != 0) state_ = State::broken;
            return false;
        case State::broken:
            return false;
    }
    return false;
}

bool FrameDecoder::read_head() noexcept {
    if (here() < sizeof head_) return false;
    std::memcpy(&head_, staged_.data() + begin_, sizeof head_);
    begin_ += sizeof head_;
    if (head_.kind == FrameKind::request) {
        const auto request = std::bit_cast<RequestHead>(head_);
        const bool is_possible =
            (request.moves & ~(RequestHead::kDataMove | RequestHead::kLineMoves)) == 0 &&
            (request.bytes != 0 || (request.moves & RequestHead::kDataMove) == 0);
        state_ = is_possible ? State::request : State::broken;
        return is_possible;
    }
    const bool transfers = head_.kind == FrameKind::transfer;
    const bool tells_loss = head_.kind == FrameKind::loss;
    const bool is_known = transfers || tells_loss || head_.kind == FrameKind::goodbye ||
                          head_.kind == FrameKind::data;
    const bool is_possible = is_known &&
                             head_.parts <= (transfers ? nhi::Transfer::kPartsMax : 0) &&
                             head_.unused == 0 &&
                             (head_.kind != FrameKind::goodbye || head_.events == 0);
    if (is_possible && tells_loss) {
        if (!come_.loss) come_.loss = static_cast<std::int32_t>(head_.events);
        return true;
    }
    state_ = !is_possible                       ? State::broken
             : transfers                        ? State::parts
             : head_.kind == FrameKind::goodbye ? State::goodbye
                                                : State::data_head;
    return is_possible;
}

bool FrameDecoder::read_data_head() noexcept {
    if (here() < sizeof data_) return false;
    std::memcpy(&data_, staged_.data() + begin_, sizeof data_);
    begin_ += sizeof data_;
    done_ = 0;
    reach_ = usual_ = kReachLeast;
    state_ = data_.bytes != 0 ? State::data : State::broken;
    return data_.bytes != 0;
}

bool FrameDecoder::is_early() const noexcept {
    if (state_ != State::data) return false;
    const nhi::DataTarget* const target = target_.data_target();
    return target != nullptr && target->is_early(writer_, data_);
}

std::byte* FrameDecoder::data_place() noexcept {
    nhi::DataTarget* const target = target_.data_target();
    return target != nullptr ? target->locate(writer_, data_) : nullptr;
}

bool FrameDecoder::read_data() noexcept {
    if (is_early()) return false;
    nhi::DataTarget* const target = target_.data_target();
    std::byte* const at = data_place();
    if (target != nullptr && at == nullptr) {
        state_ = State::broken;
        return false;
    }
    const std::uint64_t some = std::min<std::uint64_t>(here(), data_.bytes - done_);
    if (some != 0) {
        if (at != nullptr) std::memcpy(at + done_, staged_.data() + begin_, some);
        begin_ += some;
        done_ += some;
        come_.data_bytes.copied += some;
    }
    if (done_ != data_.bytes) return false;
    const bool belongs = target == nullptr || target->arrived(writer_, data_);
    state_ = belongs ? State::head : State::broken;
    if (belongs && head_.events != 0) target_.raise(head_.events);
    return belongs;
}

bool FrameDecoder::read_parts() noexcept {
    const std::size_t bytes = head_.parts * sizeof(PartHead);
    if (here() < bytes) return false;
    std::memcpy(parts_.data(), staged_.data() + begin_, bytes);
    begin_ += bytes;
    return begin_parts(bytes);
}

/// Its data are a part, and its line is here.
bool FrameDecoder::read_request() noexcept {
    const auto request = std::bit_cast<RequestHead>(head_);
    const std::size_t bytes = LastRequest::bytes_behind(request);
    if (here() < bytes) return false;
    last_request_.hear(request, staged_.data() + begin_);
    begin_ += bytes;
    if (!target_.is_possible(writer_, last_request_.line_at(), kLineBytes)) {
        state_ = State::broken;
        return false;
    }
    head_ = {FrameKind::request, static_cast<std::uint8_t>(request.bytes != 0), 0, request.events};
    parts_[0] = {last_request_.data_at(), request.bytes};
    return begin_parts(bytes);
}

/// `heads`: the bytes between the frame's head and those of its parts.
bool FrameDecoder::begin_parts(std::size_t heads) noexcept {
    part_ = 0;
    state_ = State::bytes;
    begin_part();
    // The next frame is expected to be as long, with data perhaps behind it.
    std::uint64_t whole = kDataHeads + sizeof head_ + heads;
    for (unsigned i = 0; i < head_.parts; ++i) {
        whole += std::min<std::uint64_t>(parts_[i].bytes, staged_.size());
    }
    usual_ = std::clamp<std::uint64_t>(whole, kReachLeast, staged_.size());
    reach_ = std::max(reach_, usual_);
    return state_ != State::broken;
}

void FrameDecoder::begin_part() noexcept {
    if (part_ == head_.parts) return;
    const PartHead& part = parts_[part_];
    address_ = part.address;
    bytes_ = part.bytes;
    // One wrong length would swallow the stream in silence.
    if (!target_.is_possible(writer_, address_, bytes_)) state_ = State::broken;
    done_ = 0;
    last_ = 0;
    if (bytes_ <= kShort) return;
    // From the last aligned word to the end.
    last_ = bytes_ - sizeof(std::uint64_t) - (address_ + bytes_) % sizeof(std::uint64_t);
}

std::byte* FrameDecoder::place() noexcept {
    const std::uint64_t end = address_ + bytes_;
    return end < address_ ? nullptr : target_.locate(writer_, address_, bytes_);
}

bool FrameDecoder::read_bytes() noexcept {
    if (part_ == head_.parts) {
        if (head_.kind == FrameKind::request) {
            std::byte* const at = target_.locate(writer_, last_request_.line_at(), kLineBytes);
            if (at != nullptr) std::memcpy(at, last_request_.line(), kLineBytes);
        }
        state_ = State::head;
        target_.raise(head_.events);
        return true;
    }
    if (done_ < last_) {
        const std::uint64_t some = std::min<std::uint64_t>(here(), last_ - done_);
        if (some == 0) return false;
        store(some);
        return true;
    }
    if (here() < bytes_ - done_) return false;
    store(bytes_ - done_);
    FCI_ASSERT(done_ == bytes_);
    ++part_;
    begin_part();
    return state_ != State::broken;
}

/// Stores the next bytes of the part, which are here. Only this thread may see them half done.
void FrameDecoder::store(std::uint64_t bytes) noexcept {
    FCI_ASSERT(bytes <= here() && bytes <= bytes_ - done_);
    std::byte* const at = bytes == 0 ? nullptr : place();
    if (at != nullptr) std::memcpy(at + done_, staged_.data() + begin_, bytes);
    begin_ += bytes;
    done_ += bytes;
}

}  // namespace fci::tcp
