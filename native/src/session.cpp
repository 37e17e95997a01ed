#include "session.h"

#include "calls.h"
#include "clock.h"

namespace kerntrace {
namespace {

std::atomic<CuptiSession *> g_session{nullptr};  // CUPTI's buffer callbacks carry no pointer of ours
std::atomic<bool> g_used{false};

constexpr std::uint64_t kClockToleranceNs = 1000000;

struct KindOfRecord {
  std::uint32_t kind;
  std::uint32_t activity;
};

constexpr KindOfRecord kActivities[] = {{kKindKernels, cupti::kConcurrentKernel}, {kKindMemops, cupti::kMemcpy},
                                        {kKindMemops, cupti::kMemset},            {kKindApi, cupti::kRuntime},
                                        {kKindApi, cupti::kDriver},               {kKindSyncs, cupti::kSynchronization},
                                        {kKindOverheads, cupti::kOverhead},       {kKindGraphs, cupti::kGraphTrace}};

bool is_profiler_call(std::uint32_t domain, std::uint32_t cbid) {
  if (domain == cupti::kDomainDriver) return cbid == cupti::kDriverProfilerStart || cbid == cupti::kDriverProfilerStop;
  return cbid == cupti::kRuntimeProfilerStart || cbid == cupti::kRuntimeProfilerStop;
}

constexpr std::uint32_t kDeviceKinds = kKindKernels | kKindMemops | kKindGraphs;

}  // namespace

Failure CuptiSession::start(const Config &config, Attach attach) {
  if (Failure failure = load_cupti(config.cupti, api_)) return failure;
  if (Failure failure = kerntrace::subscribe(api_, on_callback, &subscriber_)) return failure;
  g_used.store(true, std::memory_order_release);
  if (Failure failure = check_clock()) {
    unsubscribe();
    return failure;
  }
  // Buffers come zeroed from the pool; else CUPTI zeroes each one on the program's thread.
  std::uint8_t yes = 1;
  std::size_t size = sizeof yes;
  api_.activity_set_attribute(cupti::kZeroedOutBuffer, &size, &yes);
  // Records that carry a thread then ask the operating system for it, one by one: only where they say what calls it made.
  if ((config.kinds & kKindApi) != 0) api_.set_thread_id_type(cupti::kThreadIdSystem);
  g_session.store(this, std::memory_order_release);
  const cupti::Result result = api_.activity_register(on_request, on_complete);
  if (result != cupti::kSuccess) {
    unsubscribe();
    return cupti_failure(api_, "cuptiActivityRegisterCallbacks", result);
  }
  api_.enable_callback(1, subscriber_, cupti::kDomainState, cupti::kStateFatalError);
  if (config.range == RangeMode::kCuda) {
    api_.enable_callback(1, subscriber_, cupti::kDomainRuntime, cupti::kRuntimeProfilerStart);
    api_.enable_callback(1, subscriber_, cupti::kDomainRuntime, cupti::kRuntimeProfilerStop);
    api_.enable_callback(1, subscriber_, cupti::kDomainDriver, cupti::kDriverProfilerStart);
    api_.enable_callback(1, subscriber_, cupti::kDomainDriver, cupti::kDriverProfilerStop);
  }
  name_devices(config.kinds, attach);
  started_.store(true, std::memory_order_release);
  return {};
}

// Ask for the records that name the GPUs; not to get them is no failure. A dump of those that are known already asks the
// driver, which must not be done while it initialises itself; they come by themselves then.
void CuptiSession::name_devices(std::uint32_t kinds, Attach attach) {
  if ((kinds & kDeviceKinds) == 0) return;
  if (attach == Attach::kLater && api_.activity_enable_and_dump != nullptr) {
    api_.activity_enable_and_dump(cupti::kDevice);
  } else {
    api_.activity_enable(cupti::kDevice);
  }
}

// A tool that replaced CUPTI's clock earlier in this process leaves it replaced: times would be in its units, not ours.
Failure CuptiSession::check_clock() const {
  ClockRecord clocks{};
  for (int attempt = 0; attempt < 5; ++attempt) {  // an interrupted reading proves nothing
    clocks.realtime_before_ns = realtime_ns();
    if (api_.timestamp(&clocks.cupti_ns) != cupti::kSuccess) return {};
    clocks.realtime_after_ns = realtime_ns();
    if (clocks.cupti_ns + kClockToleranceNs >= clocks.realtime_before_ns &&
        clocks.cupti_ns <= clocks.realtime_after_ns + kClockToleranceNs) {
      return {};
    }
  }
  return {KT_FOREIGN_CLOCK, 0, "CUPTI's clock is not CLOCK_REALTIME: another tool in this process has replaced it"};
}

Failure CuptiSession::enable(std::uint32_t kinds) {
  kinds_ = kinds;
  enabled_.store(true, std::memory_order_release);
  for (const KindOfRecord &known : kActivities) {
    if ((kinds & known.kind) == 0) continue;
    const cupti::Result result = api_.activity_enable(known.activity);
    if (result != cupti::kSuccess) {
      Failure failure = cupti_failure(api_, "cuptiActivityEnable", result);
      failure.message += " for activity kind " + std::to_string(known.activity);
      disable();
      return failure;
    }
  }
  if (only_launches()) hear_calls(api_, subscriber_, true);
  return {};
}

void CuptiSession::disable() {
  if (!enabled_.exchange(false)) return;
  for (const KindOfRecord &known : kActivities) {
    if ((kinds_ & known.kind) != 0) api_.activity_disable(known.activity);
  }
  if (only_launches()) hear_calls(api_, subscriber_, false);
}

void CuptiSession::unsubscribe() {
  if (started_.exchange(false)) api_.activity_disable(cupti::kDevice);
  if (subscriber_ != nullptr) api_.unsubscribe(subscriber_);
  subscriber_ = nullptr;
}

void CuptiSession::flush(bool forced) { api_.activity_flush(forced ? cupti::kFlushForced : 0); }

std::uint64_t CuptiSession::take_dropped() {
  std::size_t dropped = 0;
  if (api_.activity_dropped(nullptr, 0, &dropped) != cupti::kSuccess) return 0;
  return dropped;
}

ClockRecord CuptiSession::read_clocks() const {
  ClockRecord clocks{};
  clocks.realtime_before_ns = realtime_ns();
  if (started() && api_.timestamp(&clocks.cupti_ns) != cupti::kSuccess) clocks.cupti_ns = 0;
  clocks.realtime_after_ns = realtime_ns();
  clocks.monotonic_ns = monotonic_ns();
  return clocks;
}

bool CuptiSession::used() { return g_used.load(std::memory_order_acquire); }

void CuptiSession::forget() { g_session.store(nullptr, std::memory_order_release); }

void CuptiSession::on_request(std::uint8_t **buffer, std::size_t *size, std::size_t *max_records) noexcept {
  *max_records = 0;
  CuptiSession *session = g_session.load(std::memory_order_acquire);
  *buffer = session != nullptr ? session->pool_.request() : nullptr;
  *size = *buffer != nullptr ? session->pool_.buffer_bytes() : 0;
}

void CuptiSession::on_complete(void *, std::uint32_t, std::uint8_t *buffer, std::size_t, std::size_t valid) noexcept {
  CuptiSession *session = g_session.load(std::memory_order_acquire);
  if (session != nullptr && session->pool_.complete(buffer, valid)) session->bell_.ring();
}

void CuptiSession::on_callback(void *, std::uint32_t domain, std::uint32_t cbid, const void *data) noexcept {
  CuptiSession *session = g_session.load(std::memory_order_acquire);
  if (session == nullptr) return;
  if (domain == cupti::kDomainState) {
    if (cbid != cupti::kStateFatalError) return;
    session->started_.store(false, std::memory_order_release);  // it is gone: nothing may be asked of it any more
    session->enabled_.store(false, std::memory_order_release);
    session->listener_.cupti_broke();
    return;
  }
  const auto &call = *static_cast<const cupti::CallbackData *>(data);
  if (!is_profiler_call(domain, cbid)) {
    if (note_call(session->calls_, domain, cbid, call)) session->bell_.ring();
    return;
  }
  const std::uint32_t site = call.site;
  const bool starts = cbid == (domain == cupti::kDomainDriver ? cupti::kDriverProfilerStart : cupti::kRuntimeProfilerStart);
  const bool stops = cbid == (domain == cupti::kDomainDriver ? cupti::kDriverProfilerStop : cupti::kRuntimeProfilerStop);
  if (starts && site == cupti::kExit) session->listener_.profiler_started();
  if (stops && site == cupti::kEnter) session->listener_.profiler_stopping();
}

}  // namespace kerntrace
