// datagrams: any bytes as a datagram, with the right cookie or not, and with a sum that is right or
// not. Nothing is written but where a hint was expected, and within its length.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "drivers/multicast/datagram.h"
#include "fci_core/base/crc32c.h"
#include "fci_core/nhi/index_table.h"

namespace {

using fci::multicast::Heading;

constexpr std::uint32_t kCookie = 0x4b4f'4f43;
constexpr std::uint64_t kName = 0x454d'414e;

struct Listener final : fci::nhi::HintListener {
    void arrived(const fci::nhi::Hint&, std::size_t) noexcept override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::uint8_t choice = data[0];
    const std::size_t bytes = size - 1;
    const auto wire = std::make_unique<std::byte[]>(bytes);  // as long as it is
    if (bytes != 0) std::memcpy(wire.get(), data + 1, bytes);
    // Most would fail at the first check.
    if (bytes >= sizeof(Heading) && (choice & 1) != 0) {
        Heading heading;
        std::memcpy(&heading, wire.get(), sizeof heading);
        heading.cookie = kCookie;
        heading.version = Heading::kVersion;
        if ((choice & 2) != 0) heading.name = kName;
        if ((choice & 4) != 0) heading.number = choice;
        heading.flags &= Heading::kCoversData;
        const auto words = std::as_bytes(std::span(&heading, 1)).first(offsetof(Heading, sum));
        heading.sum = fci::crc32c(words);
        if (heading.flags != 0) {
            heading.sum = fci::crc32c({wire.get() + sizeof heading, bytes - sizeof heading},
                                      heading.sum);
        }
        std::memcpy(wire.get(), &heading, sizeof heading);
    }
    const auto read = fci::multicast::read_datagram(kCookie, {wire.get(), bytes});
    if (!read) return 0;
    if (read->data.size() > bytes - sizeof(Heading)) std::abort();
    Listener listener;
    fci::nhi::IndexTable table;
    (void)table.join(kName, listener);
    const std::size_t room = static_cast<std::size_t>(choice >> 3) * 64;
    const auto memory = std::make_unique<std::byte[]>(room);
    (void)table.expect(kName, choice, {memory.get(), room});
    const auto place = table.find(read->hint, read->data.size());
    if (place.listener == nullptr || read->data.empty()) return 0;
    std::memcpy(place.at, read->data.data(), read->data.size());
    return 0;
}
