// Protocol: the policy of the one engine (§2.6.2-2.6.5). The rows of the dissertation differ in
// what is announced when; everything else is common.
#pragma once

#include <cstdint>
#include <string_view>

namespace fci::mp {

struct Protocol {
    const char* name;
    bool data_with_send_request;  // a short message travels inside its send request (§2.6.5)
    bool offer_named_receives;    // a receive that names its source is made visible there (§2.6.3)
};

/// Fig. 2.20: every message is asked for.
inline constexpr Protocol kTwoSided{"two-sided", false, false};
/// §2.6.5, the default.
inline constexpr Protocol kEnhancedMixed{"enhanced-mixed", true, true};

inline constexpr const Protocol* kProtocols[] = {&kEnhancedMixed, &kTwoSided};

constexpr const Protocol* find_protocol(std::string_view name) noexcept {
    for (const Protocol* protocol : kProtocols) {
        if (name == protocol->name) return protocol;
    }
    return nullptr;
}

}  // namespace fci::mp
