// The process's one CUPTI session: subscription, kinds, flushing.
#ifndef KERNTRACE_SESSION_H
#define KERNTRACE_SESSION_H

#include <atomic>
#include <cstdint>

#include "bell.h"
#include "buffers.h"
#include "config.h"
#include "cupti_api.h"
#include "event_log.h"
#include "kerntrace/records.h"

namespace kerntrace {

// When the recorder comes to a process: while the driver initialises itself, or at any later time.
enum class Attach : std::uint8_t { kInInit, kLater };

class CuptiSession {
 public:
  // What the session tells its owner. Called on the program's threads, inside CUDA calls.
  struct Listener {
    virtual void profiler_started() = 0;  // cudaProfilerStart has returned
    virtual void profiler_stopping() = 0;
    virtual void cupti_broke() = 0;  // CUPTI met a fatal error and detached itself
    virtual ~Listener() = default;
  };

  CuptiSession(BufferPool &pool, CallLog &calls, Bell &bell, Listener &listener)
      : pool_(pool), calls_(calls), bell_(bell), listener_(listener) {}

  // Load CUPTI, subscribe and register the buffers. Nothing is recorded yet.
  Failure start(const Config &config, Attach attach);

  // Record these kinds from now on. Once a process: a second session has wrong correlation ids.
  Failure enable(std::uint32_t kinds);

  // Stop recording them. Safe to call when nothing is enabled.
  void disable();

  // Let another tool have CUPTI.
  void unsubscribe();

  // Make CUPTI complete its finished buffers, or, forced, all of them.
  void flush(bool forced);

  // Records dropped since the last call, as CUPTI counts them.
  std::uint64_t take_dropped();

  // CUPTI's clock between two readings of CLOCK_REALTIME.
  ClockRecord read_clocks() const;

  bool started() const { return started_.load(std::memory_order_acquire); }
  bool enabled() const { return enabled_.load(std::memory_order_acquire); }
  const CuptiApi &api() const { return api_; }

  // Whether this process ever subscribed to CUPTI. Its forked children must not touch CUPTI.
  static bool used();

  // In a forked child: hand out no buffers and hear no callbacks.
  static void forget();

 private:
  Failure check_clock() const;
  void name_devices(std::uint32_t kinds, Attach attach);
  bool only_launches() const { return (kinds_ & kKindLaunches) != 0 && (kinds_ & kKindApi) == 0; }
  static void on_request(std::uint8_t **buffer, std::size_t *size, std::size_t *max_records) noexcept;
  static void on_complete(void *context, std::uint32_t stream, std::uint8_t *buffer, std::size_t size, std::size_t valid) noexcept;
  static void on_callback(void *user, std::uint32_t domain, std::uint32_t cbid, const void *data) noexcept;

  BufferPool &pool_;
  CallLog &calls_;
  Bell &bell_;
  Listener &listener_;
  CuptiApi api_{};
  cupti::Subscriber subscriber_ = nullptr;
  std::uint32_t kinds_ = 0;
  std::atomic<bool> started_{false};
  std::atomic<bool> enabled_{false};
};

}  // namespace kerntrace

#endif
