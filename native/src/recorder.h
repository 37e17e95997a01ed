// One process's recording: the shard, the worker thread that fills it, the CUPTI session and the NVTX events.
//
// Life: begin() opens the shard and starts the worker; start_cupti() adds CUPTI; stop() ends it for good. A recorder is
// never deleted, because CUPTI's and the program's threads may still be inside it when the process exits.
#ifndef KERNTRACE_RECORDER_H
#define KERNTRACE_RECORDER_H

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "bell.h"
#include "buffers.h"
#include "config.h"
#include "cupti_api.h"
#include "decode.h"
#include "kerntrace/records.h"
#include "names.h"
#include "event_log.h"
#include "session.h"
#include "shard.h"
#include "windows.h"

namespace kerntrace {

enum class Stop : std::uint8_t {
  kCall,  // asked for: disable the kinds and unsubscribe
  kExit   // the process is ending: only save what there is
};

class Recorder final : private CuptiSession::Listener {
 public:
  // The recorder of this process, or null.
  static Recorder *current() noexcept { return g_current.load(std::memory_order_acquire); }

  // Open a shard and make this the process's recorder.
  static Failure begin(const Config &config, bool forked);

  // Whether a recording of this process was stopped: injection does not begin another.
  static bool ended() noexcept { return g_ended.load(std::memory_order_acquire); }

  // In a forked child: let go of the parent's recorder without touching it. True if there was one.
  static bool forget() noexcept;

  Failure start_cupti(Attach attach);

  Failure open_window();
  void close_window();

  Failure flush(std::uint32_t timeout_ms);
  Failure stop(std::uint32_t timeout_ms, Stop how);

  // Put an error into the shard's status; the first one stays.
  void note(const Failure &failure);

  // Whether NVTX events are wanted.
  bool takes_ranges() const noexcept { return takes_ranges_.load(std::memory_order_relaxed); }
  void add_range(const RangeEventRecord &event) {
    if (ranges_.add(event)) bell_.ring();
  }

  const Config &config() const { return config_; }
  NameTable &names() { return names_; }
  const CuptiSession &session() const { return session_; }
  StatusRecord status() const;
  std::string shard_path() const { return writer_.path(); }

  // Different for each recorder that this process and its ancestors had: ids cached in NVTX handles are of one of them.
  std::uint32_t generation() const { return generation_; }

 private:
  Recorder(const Config &config, std::uint32_t generation);

  void profiler_started() override;
  void profiler_stopping() override;
  void cupti_broke() override;

  Failure enable();
  bool start_worker();
  static void *run(void *recorder);
  void work();
  void serve(bool ask_cupti);
  void finish(Stop how);
  void decode_full();
  bool write_out();
  void write_status(Phase phase);
  void disk_failed();
  Failure ask(std::uint64_t &asked, std::uint32_t timeout_ms);

  static std::atomic<Recorder *> g_current;
  static std::atomic<bool> g_ended;
  static Recorder *g_latest;  // and, through previous_, all that there were: kept, see above

  Recorder *previous_ = nullptr;
  const Config config_;
  const std::uint32_t generation_;
  const pid_t owner_;
  ShardWriter writer_;
  NameTable names_;
  RangeLog ranges_;
  CallLog calls_;
  Windows windows_;
  Bell bell_;
  BufferPool pool_;
  CuptiSession session_;
  Decoder decoder_;
  std::atomic<bool> takes_ranges_{true};
  std::atomic<bool> dead_{false};  // the disk refused: nothing more is written
  std::mutex enable_mutex_;
  bool was_enabled_ = false;

  // Requests to the worker: each asker waits until the worker has done with its number.
  mutable std::mutex mutex_;
  std::condition_variable answered_;
  std::uint64_t flushes_asked_ = 0;
  std::uint64_t stops_asked_ = 0;
  std::uint64_t flushes_done_ = 0;
  std::uint64_t stops_done_ = 0;
  Stop stop_how_ = Stop::kCall;
  StatusRecord status_{};

  // The worker's own.
  std::vector<RangeEventRecord> events_;
  std::vector<cupti::Api> heard_;
  std::vector<char> text_;
  std::uint64_t status_written_at_ = 0;
};

}  // namespace kerntrace

#endif
