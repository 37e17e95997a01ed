#include "crc32.h"

#include <array>
#include <cstring>

namespace kerntrace {
namespace {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// Table k holds the effect of a byte that k further bytes follow: eight lookups advance the checksum by eight bytes.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t crc = tables[k - 1][byte];
      tables[k][byte] = (crc >> 8) ^ tables[0][crc & 0xffU];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

std::uint32_t crc32(const void *data, std::size_t size, std::uint32_t before) noexcept {
  const auto *at = static_cast<const unsigned char *>(data);
  std::uint32_t crc = ~before;
  for (; size >= 8; size -= 8, at += 8) {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    std::memcpy(&low, at, 4);
    std::memcpy(&high, at + 4, 4);
    low ^= crc;
    crc = kTables[7][low & 0xffU] ^ kTables[6][(low >> 8) & 0xffU] ^ kTables[5][(low >> 16) & 0xffU] ^ kTables[4][low >> 24] ^
          kTables[3][high & 0xffU] ^ kTables[2][(high >> 8) & 0xffU] ^ kTables[1][(high >> 16) & 0xffU] ^ kTables[0][high >> 24];
  }
  for (; size > 0; --size, ++at) crc = (crc >> 8) ^ kTables[0][(crc ^ *at) & 0xffU];
  return ~crc;
}

}  // namespace kerntrace
