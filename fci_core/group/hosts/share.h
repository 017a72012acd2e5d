// SPDX-License-Identifier: BSD-3-Clause
// Share: what a process brings to a collective between hosts, and what has become of it so far
// (§2.6.12). One stage hands it to the next. A process that lacks something goes on to the end and
// sends its code instead of data, so that all members learn of it, and none waits in vain.
#pragma once

#include <cstddef>
#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/base/result.h"
#include "fci_core/group/table/flag_table.h"
#include "fci_core/group/table/reduction.h"

namespace fci::group {

class Share {
public:
    static constexpr std::size_t kBehind = 8;  // bytes that a stage may add behind the data
    static constexpr std::size_t kMost = Entry::kLong + kBehind;

    /// The caller puts `bytes` of data at data().
    void begin(std::size_t bytes) noexcept {
        code_ = FCI_ICL_DONE;
        set_length(bytes);
    }
    void set_length(std::size_t bytes) noexcept {
        FCI_ASSERT(bytes <= kMost && is_good());
        length_ = bytes;
    }
    /// There are no data any more. `why`: with FCI_ICL_EPEER the rank of the lost member, else the
    /// length that another member brought. The first lack counts, but a group that nobody can have
    /// (FCI_ICL_EUNREACHABLE) comes before all others.
    void fail(int code, std::size_t why) noexcept {
        FCI_ASSERT(code != FCI_ICL_DONE);
        if (!is_good() && code != FCI_ICL_EUNREACHABLE) return;
        code_ = code;
        length_ = why;
    }

    [[nodiscard]] bool is_good() const noexcept { return code_ == FCI_ICL_DONE; }
    /// FCI_ICL_DONE, or why there are no data.
    [[nodiscard]] int code() const noexcept { return code_; }
    /// Aligned for any type.
    [[nodiscard]] std::byte* data() noexcept { return buffers_[own_].bytes; }
    /// Of the data. After FCI_ICL_ETRUNC: of another member's, if that is known.
    [[nodiscard]] std::size_t length() const noexcept {
        return code_ == FCI_ICL_EPEER ? 0 : length_;
    }
    /// After FCI_ICL_EPEER: the rank of the lost member.
    [[nodiscard]] unsigned lost() const noexcept {
        return code_ == FCI_ICL_EPEER ? static_cast<unsigned>(length_) : FCI_ICL_NO_RANK;
    }
    /// The `why` of fail().
    [[nodiscard]] std::size_t why() const noexcept { return length_; }

    /// Room for kMost bytes of another member's share.
    [[nodiscard]] std::byte* incoming() noexcept { return buffers_[1 - own_].bytes; }
    /// The bytes at incoming() are the share from now on.
    void take(std::size_t bytes) noexcept {
        FCI_ASSERT(is_good());
        own_ = 1 - own_;
        set_length(bytes);
    }
    /// Both become one. `is_before`: the other one is of lower ranks.
    void combine(std::size_t bytes, bool is_before, const Reduction& reduction) noexcept {
        FCI_ASSERT(is_good() && bytes <= kMost);
        if (bytes != length_) return fail(FCI_ICL_ETRUNC, bytes);
        if (bytes == 0) return;
        std::byte* const other = incoming();
        if (is_before) {
            reduction.apply(reduction.user, other, data());
        } else {
            reduction.apply(reduction.user, data(), other);
            own_ = 1 - own_;
        }
    }

private:
    struct alignas(64) Buffer {
        std::byte bytes[kMost];
    };

    Buffer buffers_[2];
    unsigned own_ = 0;  // the buffer of the share; the other one is for what comes
    std::size_t length_ = 0;
    int code_ = FCI_ICL_DONE;
};

}  // namespace fci::group
