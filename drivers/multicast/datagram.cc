#include "drivers/multicast/datagram.h"

#include <cstring>

#include "fci_core/base/assert.h"
#include "fci_core/base/crc32c.h"

namespace fci::multicast {

namespace {

std::uint32_t sum_of(const Heading& heading, std::span<const std::byte> data) noexcept {
    const auto words = std::as_bytes(std::span(&heading, 1)).first(offsetof(Heading, sum));
    const std::uint32_t sum = crc32c(words);
    return (heading.flags & Heading::kCoversData) != 0 ? crc32c(data, sum) : sum;
}

}  // namespace

Heading heading_of(std::uint32_t cookie, const nhi::Hint& hint, std::uint32_t offset,
                   std::span<const std::byte> data) noexcept {
    FCI_ASSERT(data.size() <= nhi::Hints::kPieceMost && data.size() <= hint.total - offset);
    Heading heading{};
    heading.cookie = cookie;
    heading.version = Heading::kVersion;
    heading.flags = hint.total <= nhi::Hints::kPieceMost ? Heading::kCoversData : 0;
    heading.rank = hint.rank;
    heading.name = hint.name;
    heading.number = static_cast<std::uint32_t>(hint.number);
    heading.offset = offset;
    heading.total = hint.total;
    heading.sum = sum_of(heading, data);
    return heading;
}

std::optional<Datagram> read_datagram(std::uint32_t cookie,
                                      std::span<const std::byte> bytes) noexcept {
    Heading heading;
    if (bytes.size() < sizeof heading || bytes.size() > kDatagramMost) return {};
    std::memcpy(&heading, bytes.data(), sizeof heading);
    const std::span<const std::byte> data = bytes.subspan(sizeof heading);
    const bool is_known = heading.cookie == cookie && heading.version == Heading::kVersion &&
                          (heading.flags & ~Heading::kCoversData) == 0;
    const bool fits =
        heading.offset <= heading.total && data.size() <= heading.total - heading.offset;
    if (!is_known || !fits || heading.sum != sum_of(heading, data)) return {};
    return Datagram{{heading.name, heading.number, heading.offset, heading.total, heading.rank},
                    data};
}

}  // namespace fci::multicast
