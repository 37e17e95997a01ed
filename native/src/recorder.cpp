#include "recorder.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "clock.h"

namespace kerntrace {
namespace {

constexpr std::size_t kChunkRows = 32768;  // rows that are worth a chunk
constexpr std::size_t kPrepared = 4;       // buffers touched in advance
constexpr std::uint32_t kIdleMs = 1000;    // how often NVTX events are written when CUPTI is not asked regularly

std::atomic<std::uint32_t> g_generation{0};

template <std::size_t Size>
void copy_text(char (&target)[Size], const std::string &text) {
  const std::size_t length = std::min(text.size(), Size - 1);
  std::memcpy(target, text.data(), length);
  target[length] = '\0';
}

std::string program_name() {
  char name[32] = {};
  if (FILE *file = std::fopen("/proc/self/comm", "re")) {
    if (std::fgets(name, sizeof name, file) != nullptr) name[std::strcspn(name, "\n")] = '\0';
    std::fclose(file);
  }
  return name;
}

SessionRecord session_of(const Config &config, bool forked) {
  SessionRecord session{};
  session.pid = static_cast<std::uint32_t>(getpid());
  session.parent_pid = static_cast<std::uint32_t>(getppid());
  session.start_realtime_ns = realtime_ns();
  session.start_monotonic_ns = monotonic_ns();
  session.buffer_bytes = config.buffer_bytes;
  session.max_buffers = config.max_buffers;
  session.kinds = config.kinds;
  session.range = static_cast<std::uint32_t>(config.range);
  session.forked = forked ? 1 : 0;
  copy_text(session.process, program_name());
  copy_text(session.producer, std::string("kerntrace ") + kt_version());
  return session;
}

}  // namespace

std::atomic<Recorder *> Recorder::g_current{nullptr};
std::atomic<bool> Recorder::g_ended{false};
Recorder *Recorder::g_latest = nullptr;

Recorder::Recorder(const Config &config, std::uint32_t generation)
    : config_(config),
      generation_(generation),
      owner_(getpid()),
      pool_(config.buffer_bytes, config.max_buffers),
      session_(pool_, calls_, bell_, *this),
      decoder_(names_) {
  takes_ranges_ = (config.kinds & kKindRanges) != 0;
}

Failure Recorder::begin(const Config &config, bool forked) {
  auto *recorder = new Recorder(config, g_generation.fetch_add(1) + 1);
  if (!recorder->writer_.open(config.directory, session_of(config, forked), config.sync)) {
    const std::string reason = std::strerror(recorder->writer_.error());
    delete recorder;
    return {KT_DISK, 0, "no shard can be written in " + config.directory + ": " + reason};
  }
  if (config.range == RangeMode::kAll) recorder->windows_.open(realtime_ns());
  if (!recorder->start_worker()) {
    recorder->writer_.close();
    delete recorder;
    return {KT_NO_MEMORY, 0, "the worker thread cannot be started"};
  }
  recorder->previous_ = g_latest;
  g_latest = recorder;
  g_current.store(recorder, std::memory_order_release);
  return {};
}

bool Recorder::forget() noexcept {
  Recorder *recorder = g_current.exchange(nullptr);
  CuptiSession::forget();
  if (recorder == nullptr) return false;
  recorder->writer_.abandon();
  return true;
}

Failure Recorder::start_cupti(Attach attach) {
  if (CuptiSession::used()) return {KT_STATE, 0, "this process has had its CUPTI session"};
  constexpr std::uint32_t kCuptiKinds = ~static_cast<std::uint32_t>(kKindRanges);
  if ((config_.kinds & kCuptiKinds) == 0) return {};
  pool_.prepare(kPrepared);
  decoder_.use(session_.api(), (config_.kinds & kKindApi) != 0);
  Failure failure = session_.start(config_, attach);
  if (!failure && windows_.is_open()) failure = enable();  // range all, or a window that was opened before CUDA was used
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    status_.cupti_version = session_.api().version_number;
  }
  if (failure) note(failure);
  return failure;
}

Failure Recorder::open_window() {
  windows_.open(realtime_ns());
  Failure failure = enable();
  if (failure) note(failure);
  return failure;
}

Failure Recorder::enable() {
  const std::lock_guard<std::mutex> lock(enable_mutex_);
  if (was_enabled_ || !session_.started()) return {};
  was_enabled_ = true;
  return session_.enable(config_.kinds);
}

void Recorder::close_window() {
  if (windows_.close(realtime_ns())) bell_.ring();
}

void Recorder::profiler_started() {
  if (!windows_.is_open()) open_window();  // the runtime's call contains the driver's: both are heard, one counts
}

void Recorder::profiler_stopping() { close_window(); }

void Recorder::cupti_broke() { note({KT_CUPTI_FAILED, 0, "CUPTI met a fatal error and stopped recording"}); }

void Recorder::note(const Failure &failure) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (status_.code != KT_OK) return;
  status_.code = failure.code;
  status_.cupti_result = failure.result;
  copy_text(status_.message, failure.message);
}

StatusRecord Recorder::status() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return status_;
}

Failure Recorder::flush(std::uint32_t timeout_ms) { return ask(flushes_asked_, timeout_ms); }

Failure Recorder::stop(std::uint32_t timeout_ms, Stop how) {
  if (getpid() != owner_) return {KT_FORKED, 0, "this recording belongs to the parent process"};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_how_ = how;
  }
  Failure failure = ask(stops_asked_, timeout_ms);
  Recorder *self = this;
  if (how == Stop::kCall && failure.code != KT_TIMEOUT) {
    g_ended.store(true, std::memory_order_release);
    g_current.compare_exchange_strong(self, nullptr);
  }
  return failure;
}

Failure Recorder::ask(std::uint64_t &asked, std::uint32_t timeout_ms) {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::uint64_t number = ++asked;
  const std::uint64_t &done = &asked == &stops_asked_ ? stops_done_ : flushes_done_;
  bell_.ring();
  const bool answered = answered_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                                           [&] { return done >= number || stops_done_ > 0; });
  if (!answered) return {KT_TIMEOUT, 0, "the recorder did not finish within " + std::to_string(timeout_ms) + " ms"};
  if (dead_) return {static_cast<kt_code>(status_.code), 0, status_.message};
  return {};
}

bool Recorder::start_worker() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  // The worker must not run the program's signal handlers, nor let SIGXFSZ end the program when a file grows too large.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const bool started = pthread_create(&thread, nullptr, run, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (started) {
    pthread_setname_np(thread, "kerntrace");
    pthread_detach(thread);
  }
  return started;
}

void *Recorder::run(void *recorder) {
  auto *self = static_cast<Recorder *>(recorder);
  try {
    self->work();
  } catch (...) {  // out of memory: what is written stays, the program goes on
    self->note({KT_NO_MEMORY, 0, "recording ended: out of memory"});
    self->disk_failed();
    const std::lock_guard<std::mutex> lock(self->mutex_);
    self->stops_done_ = self->stops_asked_ + 1;  // whoever asks from now on is answered at once
    self->answered_.notify_all();
  }
  return nullptr;
}

void Recorder::work() {
  using Clock = std::chrono::steady_clock;
  const auto period = std::chrono::milliseconds(config_.flush_ms > 0 ? config_.flush_ms : kIdleMs);
  auto next = Clock::now() + period;
  for (;;) {
    bell_.wait(next);
    decode_full();
    const bool due = Clock::now() >= next;
    std::uint64_t flushes = 0;
    std::uint64_t stops = 0;
    Stop how{};
    bool asked = false;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      flushes = flushes_asked_;
      stops = stops_asked_;
      how = stop_how_;
      asked = flushes > flushes_done_;
    }
    if (stops > 0) {
      finish(how);
      const std::lock_guard<std::mutex> lock(mutex_);
      stops_done_ = stops;
      flushes_done_ = flushes;
      answered_.notify_all();
      return;
    }
    if (asked || due) {
      serve(asked || config_.flush_ms > 0);
    } else {
      write_out();
    }
    if (due) next = Clock::now() + period;
    if (asked) {
      const std::lock_guard<std::mutex> lock(mutex_);
      flushes_done_ = flushes;
      answered_.notify_all();
    }
  }
}

void Recorder::serve(bool ask_cupti) {
  // Not before CUPTI has asked for a buffer: until then it holds nothing, and may still be initialising.
  if (ask_cupti && session_.enabled() && pool_.counts().requested > 0) session_.flush(false);
  decode_full();
  write_out();
  if (writer_.bytes_written() != status_written_at_) write_status(Phase::kRunning);
}

void Recorder::finish(Stop how) {
  if (session_.enabled()) {
    session_.flush(false);
    decode_full();
    write_out();  // safe on disk before the steps that have been known to block
    if (how == Stop::kCall) session_.disable();
    session_.flush(true);
    decode_full();
  }
  takes_ranges_ = false;
  write_out();
  write_status(Phase::kFinished);
  writer_.close();
  if (how == Stop::kCall) {
    if (session_.started()) session_.unsubscribe();
    pool_.trim();
  }
}

void Recorder::decode_full() {
  FullBuffer full{};
  while (pool_.take(full)) {
    if (!dead_) {
      const std::uint64_t start = monotonic_ns();
      decoder_.decode(full, windows_.all());
      const std::lock_guard<std::mutex> lock(mutex_);
      status_.decode_ns += monotonic_ns() - start;
    }
    pool_.give_back(full.data);
    if (decoder_.rows.size() >= kChunkRows) write_out();
  }
  calls_.take(heard_);
  if (!dead_ && !heard_.empty()) decoder_.take_calls(heard_, windows_.all());
}

}  // namespace kerntrace
