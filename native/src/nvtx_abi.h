// The part of NVTX 3's tool interface that the recorder hooks, written down here so that the library builds without NVTX's
// headers. tests/abi_check.cpp compares it with the real ones.
#ifndef KERNTRACE_NVTX_ABI_H
#define KERNTRACE_NVTX_ABI_H

#include <cstddef>
#include <cstdint>

namespace kerntrace::nvtx {

using Function = void (*)();
using FunctionTable = Function **;  // an array of places where a function pointer is kept
using GetExportTable = const void *(*)(std::uint32_t id);

constexpr std::uint32_t kExportCallbacks = 1;

struct ExportTable {
  std::size_t size;
  int (*function_table)(std::uint32_t module, FunctionTable *table, unsigned int *count);
};

constexpr std::uint32_t kModuleCore = 1;
constexpr std::uint32_t kModuleCore2 = 5;

enum CoreId : unsigned {
  kRangeStartEx = 4,
  kRangeStartA = 5,
  kRangeStartW = 6,
  kRangeEnd = 7,
  kRangePushEx = 8,
  kRangePushA = 9,
  kRangePushW = 10,
  kRangePop = 11
};

enum Core2Id : unsigned {
  kDomainRangeStartEx = 2,
  kDomainRangeEnd = 3,
  kDomainRangePushEx = 4,
  kDomainRangePop = 5,
  kDomainRegisterStringA = 10,
  kDomainRegisterStringW = 11,
  kDomainCreateA = 12,
  kDomainCreateW = 13
};

enum MessageType : std::int32_t { kMessageAscii = 1, kMessageUnicode = 2, kMessageRegistered = 3 };

enum PayloadType : std::int32_t {
  kPayloadUnsigned64 = 1,
  kPayloadSigned64 = 2,
  kPayloadDouble = 3,
  kPayloadUnsigned32 = 4,
  kPayloadSigned32 = 5,
  kPayloadFloat = 6
};

struct Attributes {
  std::uint16_t version;
  std::uint16_t size;
  std::uint32_t category;
  std::int32_t color_type;
  std::uint32_t color;
  std::int32_t payload_type;
  std::int32_t reserved;
  std::uint64_t payload;
  std::int32_t message_type;
  const void *message;
};

}  // namespace kerntrace::nvtx

#endif
