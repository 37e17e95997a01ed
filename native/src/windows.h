// Capture windows: the stretches of time whose records are kept. They are applied to CUPTI's records by the worker, in
// software, because switching CUPTI off and on again starts a second session, in which CUPTI 13.0 gives graph launches and
// their kernels wrong correlation ids.
#ifndef KERNTRACE_WINDOWS_H
#define KERNTRACE_WINDOWS_H

#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>
#include <vector>

#include "kerntrace/records.h"

namespace kerntrace {

struct Window {
  std::uint64_t start;
  std::uint64_t end;  // of an open one: the end of time
};

constexpr std::uint64_t kOpenEnd = std::numeric_limits<std::uint64_t>::max();

// Work launched in a window may run on the device after it: device records are kept for this long after a window, and the
// reader, who can join them to their launch calls, drops the ones that were launched outside.
constexpr std::uint64_t kDeviceGraceNs = 2000000000;

// Whether `time` is inside a window, or at most `grace` after one. Windows are in order and do not overlap.
inline bool inside(const std::vector<Window> &windows, std::uint64_t time, std::uint64_t grace) {
  const auto next = std::upper_bound(windows.begin(), windows.end(), time,
                                     [](std::uint64_t t, const Window &window) { return t < window.start; });
  if (next == windows.begin()) return false;
  const Window &window = *(next - 1);
  return window.end == kOpenEnd || time <= window.end + grace;
}

class Windows {
 public:
  // Open or close at `time`; nested openings count. True if that began or ended a window.
  bool open(std::uint64_t time) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (depth_++ > 0) return false;
    windows_.push_back({time, kOpenEnd});
    events_.push_back({time, 1, 0});
    return true;
  }

  bool close(std::uint64_t time) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (depth_ == 0 || --depth_ > 0) return false;
    windows_.back().end = std::max(time, windows_.back().start);
    events_.push_back({windows_.back().end, 0, 0});
    return true;
  }

  bool is_open() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return depth_ > 0;
  }

  std::vector<Window> all() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return windows_;
  }

  // What happened since the last call, to be written.
  std::vector<WindowRecord> take_events() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::move(events_);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Window> windows_;
  std::vector<WindowRecord> events_;
  std::uint32_t depth_ = 0;
};

}  // namespace kerntrace

#endif
