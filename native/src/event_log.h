// NVTX events and API calls on their way from the program's threads to the worker.
#ifndef KERNTRACE_EVENT_LOG_H
#define KERNTRACE_EVENT_LOG_H

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "cupti_abi.h"
#include "kerntrace/records.h"

namespace kerntrace {

template <class Event>
class EventLog {
 public:
  EventLog() { events_.reserve(2 * kBatch); }  // so that at first no thread of the program waits for memory

  static constexpr std::size_t kBatch = 8192;      // events after which the worker is worth waking
  static constexpr std::size_t kLimit = 4U << 20;  // events held; beyond it they are dropped and counted

  // True each time a batch is full.
  bool add(const Event &event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (events_.size() >= kLimit) {
      ++dropped_;
      return false;
    }
    events_.push_back(event);
    return events_.size() % kBatch == 0;
  }

  // Move the events out, in the order they were added.
  void take(std::vector<Event> &events) {
    events.clear();
    const std::lock_guard<std::mutex> lock(mutex_);
    events_.swap(events);
  }

  // Events dropped since the last call.
  std::uint64_t take_dropped() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(dropped_, 0);
  }

  std::uint64_t dropped() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return dropped_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Event> events_;
  std::uint64_t dropped_ = 0;
};

using RangeLog = EventLog<RangeEventRecord>;
using CallLog = EventLog<cupti::Api>;

}  // namespace kerntrace

#endif
