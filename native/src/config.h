// The settings of a recording, from "name=value" lines or KERNTRACE_NAME variables. include/kerntrace/capi.h lists them.
#ifndef KERNTRACE_CONFIG_H
#define KERNTRACE_CONFIG_H

#include <cstdint>
#include <string>

#include "cupti_api.h"
#include "kerntrace/records.h"
#include "shard.h"

namespace kerntrace {

struct Config {
  std::string directory;
  std::string cupti;
  std::uint32_t kinds = kKindKernels | kKindMemops | kKindLaunches | kKindOverheads | kKindRanges;
  RangeMode range = RangeMode::kAll;
  std::string range_name;  // of RangeMode::kNvtx
  std::uint64_t buffer_bytes = 4U << 20;
  std::uint32_t max_buffers = 128;
  std::uint32_t flush_ms = 1000;
  std::uint32_t exit_ms = 10000;
  Sync sync = Sync::kNone;
};

// Change what the lines say. Lines are separated by newlines; empty ones are skipped.
Failure read_settings(const char *lines, Config &config);

// Change what this process's KERNTRACE_ variables say.
Failure read_environment(Config &config);

}  // namespace kerntrace

#endif
