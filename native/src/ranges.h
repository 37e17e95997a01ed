// Turns pushes, pops, starts and ends into events, and watches for the range that opens a capture window.
#ifndef KERNTRACE_RANGES_H
#define KERNTRACE_RANGES_H

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "kerntrace/records.h"
#include "recorder.h"

namespace kerntrace {

// A text that a program refers to by handle: a domain or a registered string. Never freed; the program may use it for ever.
class Text {
 public:
  // All texts are chained, so that a program that forgets a handle does not look like one that leaks.
  explicit Text(std::string text) : text_(std::move(text)), previous_(g_latest.load()) {
    while (!g_latest.compare_exchange_weak(previous_, this)) {
    }
  }
  const std::string &text() const { return text_; }
  std::uint32_t id(Recorder &recorder);

 private:
  const std::string text_;
  Text *previous_;
  static std::atomic<Text *> g_latest;
  std::atomic<std::uint64_t> cached_{0};  // generation of the recorder, and the id in it
};

// What an event says: its name, as text or as handle, and its payload.
struct Label {
  std::string_view text;
  Text *registered = nullptr;
  std::int64_t payload = 0;
  Payload payload_type = Payload::kNone;
};

// Each returns what NVTX does: the level of the pushed or popped range, and the number of the started one.
int push_range(Text *domain, const Label &label) noexcept;
int pop_range(Text *domain) noexcept;
std::uint64_t start_range(Text *domain, const Label &label) noexcept;
void end_range(Text *domain, std::uint64_t range) noexcept;

}  // namespace kerntrace

#endif
