// What the two halves of the mock share: its state, and the buffer that records are appended to.
#ifndef KERNTRACE_TESTS_MOCK_STATE_H
#define KERNTRACE_TESTS_MOCK_STATE_H

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "clock.h"
#include "cupti_abi.h"

namespace mock {

namespace cupti = kerntrace::cupti;

constexpr std::size_t kLargestRecord = 256;

struct State {
  std::recursive_mutex mutex;
  cupti::RequestBuffer request = nullptr;
  cupti::CompleteBuffer complete = nullptr;
  cupti::Callback callback = nullptr;
  std::set<std::uint32_t> kinds;
  std::set<std::pair<std::uint32_t, std::uint32_t>> callbacks;  // heard: domain, cbid
  std::uint8_t *buffer = nullptr;
  std::size_t size = 0;
  std::size_t used = 0;
  std::uint32_t correlation = 0;
  std::uint64_t dirty = 0;
  std::size_t dropped = 0;
  bool zeroed = false;
  bool system_threads = false;
};

State &state();

using Lock = std::lock_guard<std::recursive_mutex>;

inline long setting(const char *name, long otherwise) {
  const char *value = std::getenv(name);
  return value != nullptr ? std::strtol(value, nullptr, 10) : otherwise;
}

inline std::uint64_t now() { return kerntrace::realtime_ns() + static_cast<std::uint64_t>(setting("MOCK_CUPTI_CLOCK", 0)); }

// Length of a record of the pretended version; 0 for a kind that the mock does not know.
std::size_t bytes_of(std::uint32_t kind);

void finish_buffer();
bool have_room();

// Append a record, filled up to its version's length with bytes that a reader of the common prefix must not look at.
template <class Prefix>
void put(const Prefix &prefix) {
  State &s = state();
  if (!have_room()) return;
  const std::size_t bytes = bytes_of(prefix.kind);
  std::memset(s.buffer + s.used, 0xee, bytes);
  std::memcpy(s.buffer + s.used, &prefix, sizeof prefix);
  s.used += bytes;
}

void put_device();

}  // namespace mock

#endif
