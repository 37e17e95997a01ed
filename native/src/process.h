// What happens to a recording when its process is injected, forks or exits.
#ifndef KERNTRACE_PROCESS_H
#define KERNTRACE_PROCESS_H

#include <atomic>

#include "config.h"
#include "recorder.h"

namespace kerntrace {

// Begin recording because this library was injected and KERNTRACE_DIRECTORY is set; with_cupti where CUDA did it.
// Failures end in the shard's status, for nobody is there to be told.
void start_injected(bool with_cupti);

// Begin recording because the program asked for it.
Failure start_called(const Config &config);

// Set in a forked child of an injected process: it begins its own recording at its first NVTX event.
extern std::atomic<bool> g_child_may_begin;
Recorder *begin_in_child();

// The recorder that NVTX events of this process go to, or null.
inline Recorder *range_recorder() {
  Recorder *recorder = Recorder::current();
  if (recorder == nullptr) {
    if (!g_child_may_begin.load(std::memory_order_relaxed)) return nullptr;
    recorder = begin_in_child();
  }
  return recorder != nullptr && recorder->takes_ranges() ? recorder : nullptr;
}

}  // namespace kerntrace

#endif
