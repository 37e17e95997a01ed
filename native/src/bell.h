// Wakes the worker. Ringing is cheap and may happen from any thread; rings before a wait are not lost.
#ifndef KERNTRACE_BELL_H
#define KERNTRACE_BELL_H

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace kerntrace {

class Bell {
 public:
  void ring() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      rung_ = true;
    }
    condition_.notify_one();
  }

  // Wait for a ring, but not past `until`.
  void wait(std::chrono::steady_clock::time_point until) {
    std::unique_lock<std::mutex> lock(mutex_);
    condition_.wait_until(lock, until, [this] { return rung_; });
    rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool rung_ = false;
};

}  // namespace kerntrace

#endif
