// SPDX-License-Identifier: BSD-3-Clause
// Steps: to which hosts one host sends in a collective, and from which it receives, in order: the
// algorithms (§2.6.12). Hosts are numbered from 0, and all of them come to the same steps.
#pragma once

#include <algorithm>
#include <array>
#include <bit>

#include "fci_core/base/assert.h"

namespace fci::group {

inline constexpr unsigned kHostsMost = 4096;

struct Step {
    unsigned host;  // the other one
    bool sends, receives;
    bool takes;  // the share that comes replaces the own one; else both are combined
};

class Steps {
public:
    /// From `root` to all, down a binomial tree: each sends to the one with most below it first.
    [[nodiscard]] static Steps down(unsigned hosts, unsigned self, unsigned root) noexcept {
        FCI_ASSERT(self < hosts && root < hosts && hosts <= kHostsMost);
        Steps steps;
        const unsigned own = (self + hosts - root) % hosts;
        const auto host = [&](unsigned relative) { return (relative + root) % hosts; };
        if (own != 0) steps.add({host(own & (own - 1)), false, true, true});
        for (unsigned bit = below(own, hosts); (bit >>= 1) != 0;) {
            if (own + bit < hosts) steps.add({host(own + bit), true, false, false});
        }
        return steps;
    }
    /// The neighbours of a host in a ring of all. Where it can be so each of them is one that all()
    /// sends to as well, so that what lingers on its way to a neighbour has company (a Gray code).
    [[nodiscard]] static unsigned next(unsigned hosts, unsigned self) noexcept {
        return at_place(hosts, (place_of(hosts, self) + 1) % hosts);
    }
    [[nodiscard]] static unsigned before(unsigned hosts, unsigned self) noexcept {
        return at_place(hosts, (place_of(hosts, self) + hosts - 1) % hosts);
    }
    /// From `root` to all, from each to the next one: nobody sends more than once.
    [[nodiscard]] static Steps chain(unsigned hosts, unsigned self, unsigned root) noexcept {
        FCI_ASSERT(self < hosts && root < hosts && hosts <= kHostsMost);
        Steps steps;
        const unsigned before = Steps::before(hosts, self), next = Steps::next(hosts, self);
        if (self != root) steps.add({before, false, true, true});
        if (next != root) steps.add({next, true, false, false});
        return steps;
    }
    /// Both of these, of a host that has nothing to send and waits for nobody.
    [[nodiscard]] static Steps tree_and_chain(unsigned hosts, unsigned self,
                                              unsigned root) noexcept {
        Steps steps = down(hosts, self, root);
        const Steps others = chain(hosts, self, root);
        for (unsigned i = 0; i < others.count(); ++i) {
            const auto same = [&](const Step& step) {
                return step.host == others[i].host && step.sends == others[i].sends;
            };
            const auto* const first = steps.steps_.data();
            if (std::none_of(first, first + steps.count_, same)) steps.add(others[i]);
        }
        return steps;
    }
    /// From all to `root`, up the same tree.
    [[nodiscard]] static Steps up(unsigned hosts, unsigned self, unsigned root) noexcept {
        FCI_ASSERT(self < hosts && root < hosts && hosts <= kHostsMost);
        Steps steps;
        const unsigned own = (self + hosts - root) % hosts;
        const auto host = [&](unsigned relative) { return (relative + root) % hosts; };
        for (unsigned bit = 1; bit < below(own, hosts); bit <<= 1) {
            if (own + bit < hosts) steps.add({host(own + bit), false, true, false});
        }
        if (own != 0) steps.add({host(own & (own - 1)), true, false, false});
        return steps;
    }
    /// From all to all, by recursive doubling: two that have combined the same number of hosts tell
    /// each other. Hosts beyond a power of two send to a neighbour first, and receive the result
    /// from it.
    [[nodiscard]] static Steps all(unsigned hosts, unsigned self) noexcept {
        FCI_ASSERT(self < hosts && hosts <= kHostsMost);
        Steps steps;
        const unsigned most = std::bit_floor(hosts), pairs = hosts - most;
        if (self < 2 * pairs && self % 2 != 0) {
            steps.add({self - 1, true, false, false});
            steps.add({self - 1, false, true, true});
            return steps;
        }
        if (self < 2 * pairs) steps.add({self + 1, false, true, false});
        const unsigned own = self < 2 * pairs ? self / 2 : self - pairs;
        for (unsigned bit = 1; bit < most; bit <<= 1) {
            const unsigned other = own ^ bit;
            steps.add({other < pairs ? 2 * other : other + pairs, true, true, false});
        }
        if (self < 2 * pairs) steps.add({self + 1, true, false, false});
        return steps;
    }

    [[nodiscard]] unsigned count() const noexcept { return count_; }
    [[nodiscard]] const Step& operator[](unsigned at) const noexcept {
        FCI_ASSERT(at < count_);
        return steps_[at];
    }

private:
    static constexpr unsigned kMost = std::bit_width(kHostsMost) + 3;

    /// In the ring.
    [[nodiscard]] static unsigned at_place(unsigned hosts, unsigned place) noexcept {
        return std::has_single_bit(hosts) ? place ^ place >> 1 : place;
    }
    [[nodiscard]] static unsigned place_of(unsigned hosts, unsigned host) noexcept {
        if (!std::has_single_bit(hosts)) return host;
        unsigned place = host;
        while ((host >>= 1) != 0) place ^= host;
        return place;
    }
    /// A power of two: as many of the tree are below it as there are, or it and the next ones.
    [[nodiscard]] static unsigned below(unsigned own, unsigned hosts) noexcept {
        return own != 0 ? own & (0u - own) : std::bit_ceil(hosts);
    }
    void add(const Step& step) noexcept {
        FCI_ASSERT(count_ < kMost);
        steps_[count_++] = step;
    }

    std::array<Step, kMost> steps_{};
    unsigned count_ = 0;
};

}  // namespace fci::group
