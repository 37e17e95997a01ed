// The layout of the shard's records as text, from the structs themselves, so that a test can hold the reader against it.
#include <cstddef>
#include <string>

#include "kerntrace/capi.h"
#include "kerntrace/records.h"

namespace kerntrace {
namespace {

class Layout {
 public:
  void record(const char *name, std::size_t bytes) { text_ += (text_.empty() ? "" : "\n") + std::string(name) + ":" + std::to_string(bytes); }
  void field(const char *name, std::size_t offset) { text_ += " " + std::string(name) + "=" + std::to_string(offset); }
  const std::string &text() const { return text_; }

 private:
  std::string text_;
};

#define KT_FIELD(field_name) layout.field(#field_name, offsetof(R, field_name));

void headers(Layout &layout) {
  {
    using R = ChunkHeader;
    layout.record("header", sizeof(R));
    KT_FIELD(magic) KT_FIELD(version) KT_FIELD(type) KT_FIELD(count) KT_FIELD(record_bytes) KT_FIELD(length) KT_FIELD(payload_crc)
    KT_FIELD(header_crc)
  }
  {
    using R = SessionRecord;
    layout.record("session", sizeof(R));
    KT_FIELD(pid) KT_FIELD(parent_pid) KT_FIELD(start_realtime_ns) KT_FIELD(start_monotonic_ns) KT_FIELD(buffer_bytes)
    KT_FIELD(max_buffers) KT_FIELD(kinds) KT_FIELD(range) KT_FIELD(forked) KT_FIELD(process) KT_FIELD(producer)
  }
  {
    using R = StatusRecord;
    layout.record("status", sizeof(R));
    KT_FIELD(time_ns) KT_FIELD(phase) KT_FIELD(code) KT_FIELD(cupti_result) KT_FIELD(cupti_version) KT_FIELD(kernels)
    KT_FIELD(memops) KT_FIELD(api_calls) KT_FIELD(syncs) KT_FIELD(overheads) KT_FIELD(graph_spans) KT_FIELD(range_events)
    KT_FIELD(dropped) KT_FIELD(zero_timestamps) KT_FIELD(outside_window) KT_FIELD(unknown_records) KT_FIELD(bad_buffers)
    KT_FIELD(refused_buffers) KT_FIELD(lost_names) KT_FIELD(buffers) KT_FIELD(peak_buffers) KT_FIELD(bytes_written)
    KT_FIELD(decode_ns) KT_FIELD(write_ns) KT_FIELD(message)
  }
  {
    using R = ClockRecord;
    layout.record("clock", sizeof(R));
    KT_FIELD(realtime_before_ns) KT_FIELD(cupti_ns) KT_FIELD(realtime_after_ns) KT_FIELD(monotonic_ns)
  }
  {
    using R = DeviceRecord;
    layout.record("device", sizeof(R));
    KT_FIELD(memory_bytes) KT_FIELD(memory_kb_per_s) KT_FIELD(device) KT_FIELD(sm_count) KT_FIELD(l2_bytes)
    KT_FIELD(compute_major) KT_FIELD(compute_minor) KT_FIELD(name)
  }
  {
    using R = WindowRecord;
    layout.record("window", sizeof(R));
    KT_FIELD(time_ns) KT_FIELD(opened)
  }
}

void rows(Layout &layout) {
  {
    using R = KernelRecord;
    layout.record("kernel", sizeof(R));
    KT_FIELD(start_ns) KT_FIELD(end_ns) KT_FIELD(graph_node_id) KT_FIELD(graph_id) KT_FIELD(correlation_id) KT_FIELD(device_id)
    KT_FIELD(context_id) KT_FIELD(stream_id) KT_FIELD(name) KT_FIELD(grid_x) KT_FIELD(grid_y) KT_FIELD(grid_z) KT_FIELD(block_x)
    KT_FIELD(block_y) KT_FIELD(block_z) KT_FIELD(static_shared_bytes) KT_FIELD(dynamic_shared_bytes)
    KT_FIELD(registers_per_thread)
  }
  {
    using R = MemopRecord;
    layout.record("memop", sizeof(R));
    KT_FIELD(start_ns) KT_FIELD(end_ns) KT_FIELD(bytes) KT_FIELD(graph_node_id) KT_FIELD(graph_id) KT_FIELD(correlation_id)
    KT_FIELD(device_id) KT_FIELD(stream_id) KT_FIELD(copy_kind)
  }
  {
    using R = ApiRecord;
    layout.record("api", sizeof(R));
    KT_FIELD(start_ns) KT_FIELD(end_ns) KT_FIELD(correlation_id) KT_FIELD(tid) KT_FIELD(name) KT_FIELD(driver)
    KT_FIELD(return_value) KT_FIELD(cbid)
  }
  {
    using R = SyncRecord;
    layout.record("sync", sizeof(R));
    KT_FIELD(start_ns) KT_FIELD(end_ns) KT_FIELD(type) KT_FIELD(correlation_id) KT_FIELD(stream_id) KT_FIELD(event_id)
  }
  {
    using R = OverheadRecord;
    layout.record("overhead", sizeof(R));
    KT_FIELD(start_ns) KT_FIELD(end_ns) KT_FIELD(kind) KT_FIELD(tid)
  }
  {
    using R = GraphSpanRecord;
    layout.record("graph_span", sizeof(R));
    KT_FIELD(start_ns) KT_FIELD(end_ns) KT_FIELD(graph_id) KT_FIELD(correlation_id) KT_FIELD(device_id) KT_FIELD(stream_id)
  }
  {
    using R = RangeEventRecord;
    layout.record("range_event", sizeof(R));
    KT_FIELD(time_ns) KT_FIELD(range_id) KT_FIELD(payload) KT_FIELD(tid) KT_FIELD(name) KT_FIELD(domain) KT_FIELD(event)
    KT_FIELD(payload_type)
  }
}

#undef KT_FIELD

}  // namespace
}  // namespace kerntrace

const char *kt_layout(void) {
  static const std::string &text = *[] {
    kerntrace::Layout layout;
    kerntrace::headers(layout);
    kerntrace::rows(layout);
    return new std::string(layout.text());
  }();
  return text.c_str();
}
