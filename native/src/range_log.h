// NVTX events on their way from the program's threads to the worker.
#ifndef KERNTRACE_RANGE_LOG_H
#define KERNTRACE_RANGE_LOG_H

#include <cstddef>
#include <mutex>
#include <vector>

#include "kerntrace/records.h"

namespace kerntrace {

class RangeLog {
 public:
  static constexpr std::size_t kBatch = 8192;      // events after which the worker is worth waking
  static constexpr std::size_t kLimit = 4U << 20;  // events held; beyond it they are dropped and counted

  // True each time a batch is full.
  bool add(const RangeEventRecord &event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (events_.size() >= kLimit) {
      ++dropped_;
      return false;
    }
    events_.push_back(event);
    return events_.size() % kBatch == 0;
  }

  // Move the events out, in the order they were added.
  void take(std::vector<RangeEventRecord> &events) {
    events.clear();
    const std::lock_guard<std::mutex> lock(mutex_);
    events_.swap(events);
  }

  std::uint64_t dropped() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return dropped_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<RangeEventRecord> events_;
  std::uint64_t dropped_ = 0;
};

}  // namespace kerntrace

#endif
