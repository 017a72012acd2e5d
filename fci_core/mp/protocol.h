// SPDX-License-Identifier: BSD-3-Clause
// Protocol: the policy of the one engine (§2.6.2-2.6.5). The dissertation's protocols differ in
// the messages that go out unasked; everything else is common.
//
//   protocol        sends are announced          receives are offered           section
//   two-sided       without their data           never                          2.6.2, fig. 2.20
//   optimistic      with it, up to 32 KiB        never                          2.6.2, fig. 2.22
//   one-sided       when asked for (asks.h)      if they name their source      2.6.3, fig. 2.25
//   mixed           without their data           likewise                       2.6.4
//   enhanced-mixed  with it, up to 8 KiB         likewise, from 32 KiB          2.6.5, the default
//
// Where a way takes transfers and no stores, data goes out unasked up to 32 KiB, and where it takes
// data, up to 64 KiB (limits.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace fci::mp {

struct Protocol {
    const char* name;
    std::uint64_t data_most;      // in a send request, if no option says otherwise; 0: none
    std::uint64_t offered_least;  // of receives that name their source, likewise; 0: none is
    bool announces = true;        // sends that no offer fits; false: they wait, and all receives
                                  // that name their source are offered

    [[nodiscard]] constexpr bool sends_data() const noexcept { return data_most != 0; }
    [[nodiscard]] constexpr bool offers_receives() const noexcept { return offered_least != 0; }
};

inline constexpr Protocol kTwoSided{"two-sided", 0, 0};
inline constexpr Protocol kOptimistic{"optimistic", 32 * 1024, 0};
inline constexpr Protocol kOneSided{"one-sided", 0, 1, false};
inline constexpr Protocol kMixed{"mixed", 0, 1};
inline constexpr Protocol kEnhancedMixed{"enhanced-mixed", 8 * 1024, 32 * 1024};

inline constexpr const Protocol* kProtocols[] = {&kEnhancedMixed, &kTwoSided, &kOptimistic,
                                                 &kOneSided, &kMixed};

constexpr const Protocol* find_protocol(std::string_view name) noexcept {
    for (const Protocol* protocol : kProtocols) {
        if (name == protocol->name) return protocol;
    }
    return nullptr;
}

}  // namespace fci::mp
