// SPDX-License-Identifier: BSD-3-Clause
// datagrams: any bytes as a datagram, with the right cookie or not, of a member or not. Nothing is
// taken but what a member sealed, and nothing written but where it was expected, and within its
// length.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "drivers/host/libcrypto.h"
#include "drivers/multicast/datagram.h"
#include "drivers/multicast/seal.h"
#include "fci_core/nhi/index_table.h"

namespace {

using fci::multicast::Heading;
using fci::multicast::Seal;

constexpr std::uint32_t kCookie = 0x4b4f'4f43;
constexpr std::uint64_t kName = 0x454d'414e;
constexpr std::uint32_t kHosts[] = {1, 2};

struct Listener final : fci::nhi::HintListener {
    void arrived(const fci::nhi::Hint&, std::size_t) noexcept override {}
};

Seal& seal_of(std::uint16_t rank) {
    static std::string why;
    static const auto library = fci::host::Libcrypto::open(&why);
    if (!library) std::abort();
    static Seal one(*library, {{kName, {}}, 0, kHosts}), two(*library, {{kName, {}}, 1, kHosts});
    return rank == 0 ? one : two;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::uint8_t choice = data[0];
    const std::size_t bytes = size - 1;
    const auto wire = std::make_unique<std::byte[]>(bytes);  // as long as it is
    if (bytes != 0) std::memcpy(wire.get(), data + 1, bytes);
    // Most would fail at the first check.
    bool is_sealed = false;
    if (bytes >= sizeof(Heading) && (choice & 1) != 0) {
        Heading heading;
        std::memcpy(&heading, wire.get(), sizeof heading);
        heading.cookie = kCookie;
        heading.version = Heading::kVersion;
        heading.magic = Heading::kMagic;
        heading.rank &= 1;
        if ((choice & 2) != 0) heading.name = kName;
        if ((choice & 4) != 0) heading.number = choice;
        std::memcpy(wire.get(), &heading, sizeof heading);
        const std::size_t length = bytes - sizeof heading;
        is_sealed = (choice & 6) == 6 && length <= fci::nhi::Hints::kPieceMost &&
                    heading.offset <= heading.total && length <= heading.total - heading.offset;
        if (is_sealed) {
            const auto plain = std::make_unique<std::byte[]>(length);
            if (length != 0) std::memcpy(plain.get(), wire.get() + sizeof heading, length);
            if (!seal_of(heading.rank)
                     .close(kCookie, heading.hint(), heading.offset, {plain.get(), length},
                            wire.get())) {
                std::abort();
            }
        }
    }
    const auto read = fci::multicast::read_datagram(kCookie, {wire.get(), bytes});
    if (!read) {
        if (is_sealed) std::abort();
        return 0;
    }
    if (read->data.size() > bytes - sizeof(Heading)) std::abort();
    const std::uint32_t source = kHosts[read->heading.rank & 1];
    const bool is_open = seal_of(1).open(*read, source);
    if (is_open != is_sealed) std::abort();
    if (!is_open) return 0;
    Listener listener;
    fci::nhi::IndexTable table;
    (void)table.join(kName, listener);
    const std::size_t room = static_cast<std::size_t>(choice >> 3) * 64;
    const auto memory = std::make_unique<std::byte[]>(room);
    (void)table.expect(kName, choice, {memory.get(), room});
    const auto place = table.find(read->heading.hint(), read->data.size());
    if (place.listener == nullptr || read->data.empty()) return 0;
    std::memcpy(place.at, read->data.data(), read->data.size());
    return 0;
}
