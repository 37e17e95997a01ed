// The part of CUPTI's binary interface that the recorder uses, written down here instead of taken from CUPTI's headers:
// the library must build where there is no CUDA toolkit, and one build must serve every CUPTI from CUDA 12 on. CUPTI only
// ever appends fields to a record, so each struct below is the prefix that all those versions share, up to the last field
// that we read; cuptiActivityGetNextRecord knows how long the loaded library's records really are.
// tests/abi_check.cpp compares every offset and value with the real headers where a toolkit is installed.
#ifndef KERNTRACE_CUPTI_ABI_H
#define KERNTRACE_CUPTI_ABI_H

#include <cstddef>
#include <cstdint>

namespace kerntrace::cupti {

using Result = int;
constexpr Result kSuccess = 0;
constexpr Result kMaxLimitReached = 12;
constexpr Result kInsufficientPrivileges = 35;
constexpr Result kMultipleSubscribers = 39;
constexpr Result kVirtualizedInsufficientPrivileges = 40;

// cuptiGetVersion counted 1, 2, ... until CUDA 12 (18 is 12.0), and is major * 10000 + minor * 100 + update from 12.6 on.
constexpr std::uint32_t kOldestVersion = 18;
constexpr std::uint32_t kFirstOverheadDataVersion = 130000;

enum ActivityKind : std::uint32_t {
  kMemcpy = 1,
  kMemset = 2,
  kDriver = 4,
  kRuntime = 5,
  kDevice = 8,
  kConcurrentKernel = 10,
  kOverhead = 17,
  kSynchronization = 38,
  kGraphTrace = 51
};

enum Attribute : std::uint32_t { kZeroedOutBuffer = 5 };
constexpr std::uint32_t kThreadIdSystem = 1;
constexpr std::uint32_t kFlushForced = 1;
constexpr std::uint32_t kObjectThread = 2;

enum CallbackDomain : std::uint32_t { kDomainDriver = 1, kDomainRuntime = 2, kDomainState = 6 };
constexpr std::uint32_t kStateFatalError = 1;
enum CallbackSite : std::uint32_t { kEnter = 0, kExit = 1 };

constexpr std::uint32_t kRuntimeProfilerStart = 171;
constexpr std::uint32_t kRuntimeProfilerStop = 172;
constexpr std::uint32_t kDriverProfilerStart = 308;
constexpr std::uint32_t kDriverProfilerStop = 309;

// CUPTI aligns records to 8 bytes but packs some fields; all of these fall on their natural offsets.
struct Record {
  std::uint32_t kind;
};

struct Kernel {
  std::uint32_t kind;
  std::uint8_t cache_config;
  std::uint8_t shared_memory_config;
  std::uint16_t registers_per_thread;
  std::uint32_t partitioned_cache_requested;
  std::uint32_t partitioned_cache_executed;
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t completed;
  std::uint32_t device_id;
  std::uint32_t context_id;
  std::uint32_t stream_id;
  std::int32_t grid_x, grid_y, grid_z;
  std::int32_t block_x, block_y, block_z;
  std::int32_t static_shared;
  std::int32_t dynamic_shared;
  std::uint32_t local_per_thread;
  std::uint32_t local_total;
  std::uint32_t correlation_id;
  std::int64_t grid_id;
  const char *name;
  void *reserved;
  std::uint64_t queued;
  std::uint64_t submitted;
  std::uint8_t launch_type, carveout_requested_set, carveout_requested, padding;
  std::uint32_t shared_executed;
  std::uint64_t graph_node_id;
  std::uint32_t shmem_limit_config;
  std::uint32_t graph_id;
};

struct Memcpy {
  std::uint32_t kind;
  std::uint8_t copy_kind, source_kind, target_kind, flags;
  std::uint64_t bytes;
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t device_id;
  std::uint32_t context_id;
  std::uint32_t stream_id;
  std::uint32_t correlation_id;
  std::uint32_t runtime_correlation_id;
  std::uint32_t padding;
  void *reserved;
  std::uint64_t graph_node_id;
  std::uint32_t graph_id;
};

struct Memset {
  std::uint32_t kind;
  std::uint32_t value;
  std::uint64_t bytes;
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t device_id;
  std::uint32_t context_id;
  std::uint32_t stream_id;
  std::uint32_t correlation_id;
  std::uint16_t flags;
  std::uint16_t memory_kind;
  std::uint32_t padding;
  void *reserved;
  std::uint64_t graph_node_id;
  std::uint32_t graph_id;
};

struct Api {
  std::uint32_t kind;
  std::uint32_t cbid;
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t process_id;
  std::uint32_t thread_id;
  std::uint32_t correlation_id;
  std::uint32_t return_value;
};

struct Synchronization {
  std::uint32_t kind;
  std::uint32_t type;
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t correlation_id;
  std::uint32_t context_id;
  std::uint32_t stream_id;
  std::uint32_t event_id;
};

struct Overhead {
  std::uint32_t kind;
  std::uint32_t overhead_kind;
  std::uint32_t object_kind;
  std::uint32_t process_id;
  std::uint32_t thread_id;
  std::uint32_t object_padding;
  std::uint64_t start;
  std::uint64_t end;
};

// From CUDA 13.0 on the record ends in a pointer that its reader has to free().
struct OverheadWithData {
  Overhead common;
  std::uint32_t correlation_id;
  std::uint32_t reserved;
  void *data;
};

struct GraphTrace {
  std::uint32_t kind;
  std::uint32_t correlation_id;
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t device_id;
  std::uint32_t graph_id;
  std::uint32_t context_id;
  std::uint32_t stream_id;
};

struct Device {
  std::uint32_t kind;
  std::uint32_t flags;
  std::uint64_t memory_bandwidth;  // kB/s
  std::uint64_t memory_size;
  std::uint32_t constant_memory_size;
  std::uint32_t l2_size;
  std::uint32_t warp_size;
  std::uint32_t core_clock;
  std::uint32_t copy_engines;
  std::uint32_t sm_count;
  std::uint32_t limits[14];  // per-SM, per-block and per-grid limits
  std::uint32_t compute_major;
  std::uint32_t compute_minor;
  std::uint32_t id;
  std::uint32_t ecc;
  std::uint8_t uuid[16];
  const char *name;
};

struct CallbackData {
  std::uint32_t site;
  const char *function;
  const void *parameters;
  const std::uint32_t *return_value;  // once the call returns
  const char *symbol;
  void *context;
  std::uint32_t context_uid;
  std::uint64_t *correlation_data;
  std::uint32_t correlation_id;
};

struct SubscriberParams {
  std::size_t size;
  const char *name;
  char *old_name;
  std::size_t old_size;
};

using Subscriber = void *;
using RequestBuffer = void (*)(std::uint8_t **buffer, std::size_t *size, std::size_t *max_records);
using CompleteBuffer = void (*)(void *context, std::uint32_t stream, std::uint8_t *buffer, std::size_t size, std::size_t valid);
using Callback = void (*)(void *user, std::uint32_t domain, std::uint32_t cbid, const void *data);

}  // namespace kerntrace::cupti

#endif
