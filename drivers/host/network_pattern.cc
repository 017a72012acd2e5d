// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/host/network_pattern.h"

#include <arpa/inet.h>
#include <net/if.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "fci_core/base/assert.h"

namespace fci::host {

namespace {

constexpr std::size_t kGlobBytesMost = 64;
static_assert(kGlobBytesMost > IF_NAMESIZE, "a pattern may have more characters than a name");

bool has_any(const std::string& text, const char* of) {
    return text.find_first_of(of) != std::string::npos;
}

}  // namespace

std::uint32_t network_mask(unsigned bits) noexcept {
    FCI_ASSERT(bits <= 32);
    return bits == 0 ? 0 : htonl(~std::uint32_t{0} << (32 - bits));
}

bool fits_glob(const std::string& pattern, const std::string& text) noexcept {
    std::size_t at = 0, star = std::string::npos, taken = 0;  // by the last star: up to `taken`
    for (std::size_t i = 0; i < text.size();) {
        if (at < pattern.size() && pattern[at] == '*') {
            star = at++;
            taken = i;
        } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[i])) {
            ++at, ++i;
        } else if (star != std::string::npos) {
            at = star + 1;
            i = ++taken;
        } else {
            return false;
        }
    }
    FCI_ASSERT(at <= pattern.size());
    return pattern.find_first_not_of('*', at) == std::string::npos;
}

std::optional<NetworkPattern> NetworkPattern::parse_subnet(const std::string& text,
                                                           std::string* complaint) {
    const std::size_t slash = text.find('/');
    NetworkPattern subnet(Kind::subnet, text);
    if (inet_pton(AF_INET, text.substr(0, slash).c_str(), &subnet.network_) != 1) {
        *complaint = "is no IPv4 subnet: it begins with no address of four numbers";
        return std::nullopt;
    }
    subnet.prefix_bits_ = 32;
    if (slash != std::string::npos) {
        const char *const begin = text.data() + slash + 1, *const end = text.data() + text.size();
        const auto [last, error] = std::from_chars(begin, end, subnet.prefix_bits_);
        if (error != std::errc() || last != end || subnet.prefix_bits_ > 32) {
            *complaint = "is no IPv4 subnet: behind the / stands a number of bits, 0 to 32";
            return std::nullopt;
        }
    }
    subnet.network_ &= network_mask(subnet.prefix_bits_);
    FCI_ASSERT(subnet.prefix_bits_ != 0 || subnet.network_ == 0);
    return subnet;
}

std::optional<NetworkPattern> NetworkPattern::parse(const std::string& text,
                                                    std::string* complaint) {
    FCI_ASSERT(!text.empty());
    if (has_any(text, ", \t\n")) {
        *complaint = "is a list, where one network is named";
        return std::nullopt;
    }
    if (std::count(text.begin(), text.end(), ':') > 1) {
        *complaint = "is an IPv6 address, and FCI uses IPv4 only";
        return std::nullopt;
    }
    const bool digits = text.find_first_not_of("0123456789.") == std::string::npos;
    if (has_any(text, "/") || (digits && has_any(text, "."))) return parse_subnet(text, complaint);
    const Kind kind = has_any(text, "*?") ? Kind::glob : Kind::name;
    if (text.size() >= (kind == Kind::glob ? kGlobBytesMost : std::size_t{IF_NAMESIZE})) {
        *complaint = "is longer than the name of an interface can be";
        return std::nullopt;
    }
    return NetworkPattern(kind, text);
}

std::string NetworkPattern::mismatch(const Interface& interface,
                                     const Interface::Address& address) const {
    if (kind_ == Kind::subnet) {
        const bool within = ((address.host ^ network_) & network_mask(prefix_bits_)) == 0;
        if (within) return "";
        return (prefix_bits_ == 32 ? "another address than " : "outside of ") + text_;
    }
    const bool named = interface.name == text_ ||  // which may itself contain a star
                       (kind_ == Kind::glob && fits_glob(text_, interface.name));
    if (named) return "";
    return kind_ == Kind::glob ? "does not fit " + text_ : "another name";
}

bool NetworkPattern::admits_loopback() const noexcept {
    return kind_ == Kind::name ||
           (kind_ == Kind::subnet && prefix_bits_ >= 8 && is_loopback_address(network_));
}

bool NetworkPattern::admits_link_local() const noexcept {
    return kind_ == Kind::name ||
           (kind_ == Kind::subnet && prefix_bits_ >= 16 && is_link_local(network_));
}

}  // namespace fci::host
