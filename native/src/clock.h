// The two clocks. CUPTI stamps its records with CLOCK_REALTIME, so NVTX events use it too.
#ifndef KERNTRACE_CLOCK_H
#define KERNTRACE_CLOCK_H

#include <time.h>

#include <cstdint>

namespace kerntrace {

inline std::uint64_t clock_ns(clockid_t clock) noexcept {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000U + static_cast<std::uint64_t>(t.tv_nsec);
}

inline std::uint64_t realtime_ns() noexcept { return clock_ns(CLOCK_REALTIME); }
inline std::uint64_t monotonic_ns() noexcept { return clock_ns(CLOCK_MONOTONIC); }

}  // namespace kerntrace

#endif
