#include "fci_core/base/crc32c.h"

#include <array>
#include <cstring>

namespace fci {

namespace {

constexpr std::uint32_t kPolynomial = 0x82f6'3b78;  // the lowest bit first

constexpr std::array<std::uint32_t, 256> make_table() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        std::uint32_t sum = i;
        for (unsigned bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? kPolynomial : 0);
        table[i] = sum;
    }
    return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();
static_assert(kTable[1] == 0xf26b'8303 && kTable[255] == 0xad7d'5351);

#ifdef __x86_64__
[[gnu::target("sse4.2")]] std::uint32_t by_instruction(std::span<const std::byte> bytes,
                                                       std::uint32_t before) noexcept {
    std::uint64_t sum = ~before;
    std::size_t at = 0;
    for (; bytes.size() - at >= sizeof sum; at += sizeof sum) {
        std::uint64_t word;
        std::memcpy(&word, bytes.data() + at, sizeof word);
        sum = __builtin_ia32_crc32di(sum, word);
    }
    auto rest = static_cast<std::uint32_t>(sum);
    for (; at < bytes.size(); ++at) {
        rest = __builtin_ia32_crc32qi(rest, static_cast<std::uint8_t>(bytes[at]));
    }
    return ~rest;
}
#endif

}  // namespace

std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
    std::uint32_t sum = ~before;
    for (const std::byte byte : bytes) {
        sum = sum >> 8 ^ kTable[(sum ^ static_cast<std::uint8_t>(byte)) & 0xff];
    }
    return ~sum;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
#ifdef __x86_64__
    static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
    if (has_instruction) return by_instruction(bytes, before);
#endif
    return crc32c_by_table(bytes, before);
}

}  // namespace fci
