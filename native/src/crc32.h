// CRC-32 with zlib's polynomial, so that Python checks it with zlib.crc32.
#ifndef KERNTRACE_CRC32_H
#define KERNTRACE_CRC32_H

#include <cstddef>
#include <cstdint>

namespace kerntrace {

// The checksum of `size` bytes that follow data whose checksum is `before` (0 for none).
std::uint32_t crc32(const void *data, std::size_t size, std::uint32_t before = 0) noexcept;

}  // namespace kerntrace

#endif
