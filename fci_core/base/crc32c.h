// CRC32C (Castagnoli), as iSCSI and SCTP have it (RFC 3720, appendix B.4): by the processor's own
// instruction where it has one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fci {

/// `before`: the sum of the bytes that stand in front of these; of none, 0.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0) noexcept;
/// The same without that instruction.
std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t before = 0) noexcept;

}  // namespace fci
