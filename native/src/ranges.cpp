#include "ranges.h"

#include "clock.h"
#include "process.h"
#include "thread_id.h"

namespace kerntrace {
namespace {

constexpr int kNoLevels = -2;           // NVTX's word for "levels are not tracked"
constexpr std::uint64_t kWatched = 1ULL << 63;  // in the number of a started range: it opened a capture window

std::atomic<std::uint64_t> g_next_range{1};

// A thread's depth in the domains it uses. Plain data, so that threads may come and go at any time.
struct Depth {
  const Text *domain;
  std::int32_t level;
  std::int32_t watched;  // level of the range that opened the capture window, plus one; 0 for none
};
constexpr int kDepths = 16;
thread_local Depth t_depths[kDepths];
thread_local int t_used = 0;

Depth *depth_in(const Text *domain) noexcept {
  for (int i = 0; i < t_used; ++i) {
    if (t_depths[i].domain == domain) return &t_depths[i];
  }
  if (t_used == kDepths) return nullptr;
  t_depths[t_used] = {domain, 0, 0};
  return &t_depths[t_used++];
}

bool opens_window(const Recorder &recorder, const Label &label) {
  if (recorder.config().range != RangeMode::kNvtx) return false;
  const std::string_view text = label.registered != nullptr ? std::string_view(label.registered->text()) : label.text;
  return text == recorder.config().range_name;
}

void add(Recorder &recorder, RangeEvent kind, Text *domain, const Label &label, std::uint64_t range) {
  RangeEventRecord event{};
  event.range_id = range;
  event.payload = label.payload;
  event.tid = thread_id();
  event.name = label.registered != nullptr ? label.registered->id(recorder) : recorder.names().id(label.text);
  event.domain = domain != nullptr ? domain->id(recorder) : 0;
  event.event = static_cast<std::uint16_t>(kind);
  event.payload_type = static_cast<std::uint16_t>(label.payload_type);
  event.time_ns = realtime_ns();  // last, so that our own work on a push is not inside the range
  recorder.add_range(event);
}

void add_end(Recorder &recorder, RangeEvent kind, Text *domain, std::uint64_t range) {
  RangeEventRecord event{};
  event.time_ns = realtime_ns();  // first, for the same reason
  event.range_id = range;
  event.tid = thread_id();
  event.domain = domain != nullptr ? domain->id(recorder) : 0;
  event.event = static_cast<std::uint16_t>(kind);
  recorder.add_range(event);
}

}  // namespace

std::atomic<Text *> Text::g_latest{nullptr};

std::uint32_t Text::id(Recorder &recorder) {
  const std::uint64_t cached = cached_.load(std::memory_order_relaxed);
  if (static_cast<std::uint32_t>(cached >> 32) == recorder.generation()) return static_cast<std::uint32_t>(cached);
  const std::uint32_t number = recorder.names().id(text_);
  cached_.store((static_cast<std::uint64_t>(recorder.generation()) << 32) | number, std::memory_order_relaxed);
  return number;
}

int push_range(Text *domain, const Label &label) noexcept {
  try {
    Recorder *recorder = range_recorder();
    if (recorder == nullptr) return kNoLevels;
    Depth *depth = depth_in(domain);
    if (depth != nullptr && depth->watched == 0 && opens_window(*recorder, label)) {
      depth->watched = depth->level + 1;
      recorder->open_window();
    }
    add(*recorder, RangeEvent::kPush, domain, label, 0);
    return depth != nullptr ? depth->level++ : kNoLevels;
  } catch (...) {  // out of memory: the event is lost, the program goes on
    return kNoLevels;
  }
}

int pop_range(Text *domain) noexcept {
  try {
    Recorder *recorder = range_recorder();
    if (recorder == nullptr) return kNoLevels;
    add_end(*recorder, RangeEvent::kPop, domain, 0);
    Depth *depth = depth_in(domain);
    if (depth == nullptr) return kNoLevels;
    if (depth->level > 0) --depth->level;  // a range that was open when recording began is not counted
    if (depth->watched == depth->level + 1) {
      depth->watched = 0;
      recorder->close_window();
    }
    return depth->level;
  } catch (...) {
    return kNoLevels;
  }
}

std::uint64_t start_range(Text *domain, const Label &label) noexcept {
  try {
    Recorder *recorder = range_recorder();
    if (recorder == nullptr) return 0;
    std::uint64_t range = g_next_range.fetch_add(1, std::memory_order_relaxed);
    if (opens_window(*recorder, label)) {
      range |= kWatched;
      recorder->open_window();
    }
    add(*recorder, RangeEvent::kStart, domain, label, range);
    return range;
  } catch (...) {
    return 0;
  }
}

void end_range(Text *domain, std::uint64_t range) noexcept {
  try {
    Recorder *recorder = range_recorder();
    if (recorder == nullptr || range == 0) return;
    add_end(*recorder, RangeEvent::kEnd, domain, range);
    if ((range & kWatched) != 0) recorder->close_window();
  } catch (...) {
  }
}

}  // namespace kerntrace
