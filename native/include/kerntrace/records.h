// The shard format: what libkerntrace.so writes and src/kerntrace/trace/shards.py reads. The one definition.
//
// A shard is one process's recording: a sequence of chunks, each a ChunkHeader and its payload, padded with zeros to a
// multiple of 8 bytes. Chunks are appended whole, one write each, so a killed process leaves at most a cut last chunk.
// Two chunks have a fixed place: the Session at offset 0 and, right after it, the last word: a Status chunk that is
// written again in place if the disk fills up, when nothing can be appended any more.
//
// Numbers are little-endian. Times are nanoseconds on CUPTI's clock, which is CLOCK_REALTIME. Texts are ids of names;
// the Names chunk that defines an id comes before the first chunk that uses it, and id 0 is no text.
// Newer versions append fields to records (ChunkHeader::record_bytes says how long a record is) or add chunk types;
// a reader skips what it does not know. A change that an older reader would get wrong raises kVersion.
#ifndef KERNTRACE_RECORDS_H
#define KERNTRACE_RECORDS_H

#include <cstdint>

namespace kerntrace {

constexpr std::uint32_t kMagic = 0x4b43544bU;  // "KTCK" on disk
constexpr std::uint16_t kVersion = 1;
constexpr char kShardSuffix[] = ".ktshard";

enum class ChunkType : std::uint16_t {
  kSession = 1,      // SessionRecord, once
  kStatus = 2,       // StatusRecord, at each flush; the last one counts
  kNames = 3,        // NameEntry[count], then the texts end to end, UTF-8, without terminators
  kClocks = 4,       // ClockRecord
  kDevices = 5,      // DeviceRecord
  kWindows = 6,      // WindowRecord
  kKernels = 16,     // KernelRecord
  kMemops = 17,      // MemopRecord
  kApiCalls = 18,    // ApiRecord
  kSyncs = 19,       // SyncRecord
  kOverheads = 20,   // OverheadRecord
  kGraphSpans = 21,  // GraphSpanRecord
  kRangeEvents = 22  // RangeEventRecord
};

struct ChunkHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t type;
  std::uint32_t count;         // records, or names
  std::uint32_t record_bytes;  // of one record
  std::uint64_t length;        // payload bytes, without the padding
  std::uint32_t payload_crc;   // CRC-32 (zlib's polynomial) of the payload
  std::uint32_t header_crc;    // CRC-32 of the 28 bytes before this field
};

struct NameEntry {
  std::uint32_t id;
  std::uint32_t length;
};

// Bits of SessionRecord::kinds.
enum Kind : std::uint32_t {
  kKindKernels = 1U << 0,    // CONCURRENT_KERNEL: a record a kernel, graph nodes too
  kKindMemops = 1U << 1,     // MEMCPY and MEMSET
  kKindLaunches = 1U << 2,   // API calls that launch, copy, set or wait, one callback each
  kKindApi = 1U << 3,        // every runtime and driver call
  kKindSyncs = 1U << 4,      // SYNCHRONIZATION
  kKindOverheads = 1U << 5,  // OVERHEAD
  kKindRanges = 1U << 6,     // NVTX
  kKindGraphs = 1U << 7      // GRAPH_TRACE: a record a replay, and no record of its kernels
};

struct SessionRecord {
  std::uint32_t pid;
  std::uint32_t parent_pid;
  std::uint64_t start_realtime_ns;
  std::uint64_t start_monotonic_ns;
  std::uint64_t buffer_bytes;
  std::uint32_t max_buffers;
  std::uint32_t kinds;        // Kind bits asked for
  std::uint32_t range;        // RangeMode
  std::uint32_t forked;       // 1: a forked child of a process that was being recorded
  char process[32];           // the kernel's short name of the program, zero-terminated
  char producer[32];          // name and version of the recorder
};

enum class RangeMode : std::uint32_t { kAll = 0, kCuda = 1, kNvtx = 2, kManual = 3 };

// How a recording stands or ended.
enum class Phase : std::uint32_t {
  kReserved = 0,  // the last word, not spoken
  kRunning = 1,
  kFinished = 2,  // stopped and everything written
  kFailed = 3     // recording ended early; code and message say why
};

struct StatusRecord {
  std::uint64_t time_ns;
  std::uint32_t phase;
  std::int32_t code;            // kt_code
  std::int32_t cupti_result;    // CUptiResult behind it, or 0
  std::uint32_t cupti_version;  // CUPTI_API_VERSION of the loaded library; 0: no CUPTI
  std::uint64_t kernels;
  std::uint64_t memops;
  std::uint64_t api_calls;
  std::uint64_t syncs;
  std::uint64_t overheads;
  std::uint64_t graph_spans;
  std::uint64_t range_events;
  std::uint64_t dropped;          // records that CUPTI says it dropped
  std::uint64_t zero_timestamps;  // device records without a start or an end
  std::uint64_t outside_window;   // records made while no capture window was open, not written
  std::uint64_t unknown_records;  // kinds that were not asked for, skipped
  std::uint64_t bad_buffers;      // buffers that could not be walked to their end
  std::uint64_t refused_buffers;  // requests that the full pool turned away
  std::uint64_t lost_names;       // texts beyond the limit of distinct ones
  std::uint64_t buffers;          // completed
  std::uint64_t peak_buffers;     // allocated
  std::uint64_t bytes_written;
  std::uint64_t decode_ns;        // worker's time in decoding
  std::uint64_t write_ns;         // worker's time in writing
  char message[200];              // zero-terminated
};

struct ClockRecord {
  std::uint64_t realtime_before_ns;
  std::uint64_t cupti_ns;  // cuptiGetTimestamp between the two; 0 without CUPTI
  std::uint64_t realtime_after_ns;
  std::uint64_t monotonic_ns;
};

struct DeviceRecord {
  std::uint64_t memory_bytes;
  std::uint64_t memory_kb_per_s;
  std::uint32_t device;
  std::uint32_t sm_count;
  std::uint32_t l2_bytes;
  std::uint32_t compute_major;
  std::uint32_t compute_minor;
  std::uint32_t name;
};

struct WindowRecord {
  std::uint64_t time_ns;
  std::uint32_t opened;  // 1 opened, 0 closed
  std::uint32_t reserved;
};

struct KernelRecord {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint64_t graph_node_id;
  std::uint32_t graph_id;
  std::uint32_t correlation_id;
  std::uint32_t device_id;
  std::uint32_t context_id;
  std::uint32_t stream_id;
  std::uint32_t name;
  std::int32_t grid_x;
  std::int32_t grid_y;
  std::int32_t grid_z;
  std::int32_t block_x;
  std::int32_t block_y;
  std::int32_t block_z;
  std::int32_t static_shared_bytes;
  std::int32_t dynamic_shared_bytes;
  std::uint32_t registers_per_thread;
  std::uint32_t reserved;
};

struct MemopRecord {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint64_t bytes;
  std::uint64_t graph_node_id;
  std::uint32_t graph_id;
  std::uint32_t correlation_id;
  std::uint32_t device_id;
  std::uint32_t stream_id;
  std::uint32_t copy_kind;  // CUPTI's memcpy kind; kMemset for a memset
  std::uint32_t reserved;
};

constexpr std::uint32_t kMemset = 0x100;

struct ApiRecord {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint32_t correlation_id;
  std::uint32_t tid;
  std::uint32_t name;
  std::uint32_t driver;  // 1 driver, 0 runtime
  std::uint32_t return_value;
  std::uint32_t cbid;
};

struct SyncRecord {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint32_t type;  // CUPTI's: 1 event, 2 stream waits for event, 3 stream, 4 context
  std::uint32_t correlation_id;
  std::uint32_t stream_id;
  std::uint32_t event_id;
};

struct OverheadRecord {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint32_t kind;  // CUPTI's overhead kind
  std::uint32_t tid;   // 0 where the record names no thread
};

struct GraphSpanRecord {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint32_t graph_id;
  std::uint32_t correlation_id;
  std::uint32_t device_id;
  std::uint32_t stream_id;
};

enum class RangeEvent : std::uint16_t { kPush = 1, kPop = 2, kStart = 3, kEnd = 4 };

enum class Payload : std::uint16_t { kNone = 0, kInteger = 1, kDouble = 2, kUnsigned = 3 };

struct RangeEventRecord {
  std::uint64_t time_ns;
  std::uint64_t range_id;  // joins start and end
  std::int64_t payload;    // an integer, or the bits of a double
  std::uint32_t tid;
  std::uint32_t name;
  std::uint32_t domain;  // name of the domain; 0 for the default one
  std::uint16_t event;
  std::uint16_t payload_type;
};

static_assert(sizeof(ChunkHeader) == 32 && sizeof(NameEntry) == 8 && sizeof(SessionRecord) == 112);
static_assert(sizeof(StatusRecord) == 376 && sizeof(ClockRecord) == 32 && sizeof(DeviceRecord) == 40);
static_assert(sizeof(WindowRecord) == 16 && sizeof(KernelRecord) == 88 && sizeof(MemopRecord) == 56);
static_assert(sizeof(ApiRecord) == 40 && sizeof(SyncRecord) == 32 && sizeof(OverheadRecord) == 24);
static_assert(sizeof(GraphSpanRecord) == 32 && sizeof(RangeEventRecord) == 40);

}  // namespace kerntrace

#endif
