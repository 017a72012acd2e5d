// SPDX-License-Identifier: BSD-3-Clause
// NetworkPattern: the value of FCI_NET: an interface's name, a pattern of names, or a subnet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "drivers/host/interface.h"

namespace fci::host {

class NetworkPattern {
public:
    /// Nothing, with *complaint as the rest of a sentence: the text can mean no network.
    static std::optional<NetworkPattern> parse(const std::string& text, std::string* complaint);

    /// Why this address is not meant; empty: it is.
    [[nodiscard]] std::string mismatch(const Interface& interface,
                                       const Interface::Address& address) const;
    /// True: the pattern means also such addresses, which lead to no other host: it names their
    /// interface, or its subnet lies within theirs.
    [[nodiscard]] bool admits_loopback() const noexcept;
    [[nodiscard]] bool admits_link_local() const noexcept;
    /// A subnet means addresses, on any interface; a name means the interface.
    [[nodiscard]] bool is_subnet() const noexcept { return kind_ == Kind::subnet; }

private:
    enum class Kind : std::uint8_t { name, glob, subnet };

    NetworkPattern(Kind kind, std::string text) : kind_(kind), text_(std::move(text)) {}
    static std::optional<NetworkPattern> parse_subnet(const std::string& text,
                                                      std::string* complaint);

    Kind kind_;
    std::string text_;
    std::uint32_t network_ = 0;  // of a subnet, in network byte order
    unsigned prefix_bits_ = 0;
};

/// `*` stands for any characters, `?` for one. Takes pattern x text steps at most.
bool fits_glob(const std::string& pattern, const std::string& text) noexcept;

/// The first `bits` are ones, in network byte order.
std::uint32_t network_mask(unsigned bits) noexcept;

}  // namespace fci::host
