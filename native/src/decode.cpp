#include "decode.h"

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>

#include "thread_id.h"

namespace kerntrace {
namespace {

constexpr std::size_t kMaxKernelNames = 1U << 16;  // pointers remembered; programs that load modules for ever start over

// Records lie at multiples of 8 and are read in place, through the prefix that all CUPTI versions share.
template <class Prefix>
const Prefix &as(const cupti::Record *record) {
  return *reinterpret_cast<const Prefix *>(record);
}

std::string demangled(const char *raw) {
  int status = 0;
  char *text = abi::__cxa_demangle(raw, nullptr, nullptr, &status);
  std::string name = status == 0 && text != nullptr ? text : raw;
  std::free(text);
  return name;
}

}  // namespace

void Rows::clear() {
  kernels.clear();
  memops.clear();
  api_calls.clear();
  syncs.clear();
  overheads.clear();
  graph_spans.clear();
  devices.clear();
}

void Decoder::decode(const FullBuffer &buffer, const std::vector<Window> &windows) {
  cupti::Record *record = nullptr;
  for (;;) {
    const cupti::Result result = api_->activity_next(buffer.data, buffer.valid, &record);
    if (result == cupti::kMaxLimitReached) return;
    if (result != cupti::kSuccess || record == nullptr) {
      ++counts.bad_buffers;  // what comes after the record that cannot be read is lost
      return;
    }
    take(record, windows);
  }
}

void Decoder::take(cupti::Record *record, const std::vector<Window> &windows) {
  switch (record->kind) {
    case cupti::kConcurrentKernel:
      if (keep_device(as<cupti::Kernel>(record), windows)) take_kernel(as<cupti::Kernel>(record));
      return;
    case cupti::kMemcpy:
      if (keep_device(as<cupti::Memcpy>(record), windows)) take_memcpy(as<cupti::Memcpy>(record));
      return;
    case cupti::kMemset:
      if (keep_device(as<cupti::Memset>(record), windows)) take_memset(as<cupti::Memset>(record));
      return;
    case cupti::kRuntime:
    case cupti::kDriver:
      if (inside(windows, as<cupti::Api>(record).start, 0)) {
        take_api(as<cupti::Api>(record));
      } else {
        ++counts.outside_window;
      }
      return;
    case cupti::kSynchronization: {
      const auto &sync = as<cupti::Synchronization>(record);
      if (inside(windows, sync.start, 0)) {
        rows.syncs.push_back({sync.start, sync.end, sync.type, sync.correlation_id, sync.stream_id, sync.event_id});
      } else {
        ++counts.outside_window;
      }
      return;
    }
    case cupti::kOverhead:
      take_overhead(record, windows);
      return;
    case cupti::kGraphTrace: {
      const auto &span = as<cupti::GraphTrace>(record);
      if (keep_device(span, windows)) {
        rows.graph_spans.push_back(
            {span.start, span.end, span.graph_id, span.correlation_id, span.device_id, span.stream_id});
      }
      return;
    }
    case cupti::kDevice: {
      const auto &device = as<cupti::Device>(record);
      rows.devices.push_back({device.memory_size, device.memory_bandwidth, device.id, device.sm_count, device.l2_size,
                              device.compute_major, device.compute_minor,
                              device.name != nullptr ? names_.id(device.name) : 0});
      return;
    }
    default:
      ++counts.unknown_records;
  }
}

template <class Device>
bool Decoder::keep_device(const Device &record, const std::vector<Window> &windows) {
  if (record.start == 0 || record.end == 0) {  // no timestamp: when it ran is unknown, that it ran is not
    ++counts.zero_timestamps;
    return true;
  }
  if (inside(windows, record.start, kDeviceGraceNs)) return true;
  ++counts.outside_window;
  return false;
}

void Decoder::take_kernel(const cupti::Kernel &kernel) {
  KernelRecord row{};
  row.start_ns = kernel.start;
  row.end_ns = kernel.end;
  row.graph_node_id = kernel.graph_node_id;
  row.graph_id = kernel.graph_id;
  row.correlation_id = kernel.correlation_id;
  row.device_id = kernel.device_id;
  row.context_id = kernel.context_id;
  row.stream_id = kernel.stream_id;
  row.name = kernel_name(kernel.name);
  row.grid_x = kernel.grid_x;
  row.grid_y = kernel.grid_y;
  row.grid_z = kernel.grid_z;
  row.block_x = kernel.block_x;
  row.block_y = kernel.block_y;
  row.block_z = kernel.block_z;
  row.static_shared_bytes = kernel.static_shared;
  row.dynamic_shared_bytes = kernel.dynamic_shared;
  row.registers_per_thread = kernel.registers_per_thread;
  rows.kernels.push_back(row);
}

void Decoder::take_memcpy(const cupti::Memcpy &copy) {
  rows.memops.push_back({copy.start, copy.end, copy.bytes, copy.graph_node_id, copy.graph_id, copy.correlation_id, copy.device_id,
                         copy.stream_id, copy.copy_kind, 0});
}

void Decoder::take_memset(const cupti::Memset &set) {
  rows.memops.push_back({set.start, set.end, set.bytes, set.graph_node_id, set.graph_id, set.correlation_id, set.device_id,
                         set.stream_id, kMemset, 0});
}

void Decoder::take_calls(const std::vector<cupti::Api> &calls, const std::vector<Window> &windows) {
  for (const cupti::Api &call : calls) {
    if (inside(windows, call.start, 0)) {
      take_api(call);
    } else {
      ++counts.outside_window;
    }
  }
}

void Decoder::take_api(const cupti::Api &call) {
  const bool driver = call.kind == cupti::kDriver;
  const std::uint32_t domain = driver ? cupti::kDomainDriver : cupti::kDomainRuntime;
  rows.api_calls.push_back({call.start, call.end, call.correlation_id, call.thread_id, api_name(domain, call.cbid),
                            driver ? 1U : 0U, call.return_value, call.cbid});
}

void Decoder::take_overhead(const cupti::Record *record, const std::vector<Window> &windows) {
  const auto &overhead = as<cupti::Overhead>(record);
  if (api_->version_number >= cupti::kFirstOverheadDataVersion) std::free(as<cupti::OverheadWithData>(record).data);
  if (!inside(windows, overhead.start, 0)) {
    ++counts.outside_window;
    return;
  }
  const std::uint32_t tid = overhead.object_kind == cupti::kObjectThread ? thread_of(overhead) : 0;
  rows.overheads.push_back({overhead.start, overhead.end, overhead.overhead_kind, tid});
}

std::uint32_t Decoder::thread_of(const cupti::Overhead &overhead) const {
  return system_threads_ ? overhead.thread_id : thread_id_of(overhead.thread_id);
}

std::uint32_t Decoder::kernel_name(const char *raw) {
  if (raw == nullptr) return 0;
  const auto seen = kernel_names_.find(raw);
  // By content, not by address alone: after a module is reloaded CUPTI may have put another name where an old one was.
  if (seen != kernel_names_.end() && seen->second.raw == raw) return seen->second.id;
  if (kernel_names_.size() >= kMaxKernelNames) kernel_names_.clear();
  const std::uint32_t id = names_.id(demangled(raw));
  kernel_names_[raw] = {raw, id};
  return id;
}

std::uint32_t Decoder::api_name(std::uint32_t domain, std::uint32_t cbid) {
  const std::uint64_t key = (static_cast<std::uint64_t>(domain) << 32) | cbid;
  const auto seen = api_names_.find(key);
  if (seen != api_names_.end()) return seen->second;
  const char *name = nullptr;
  std::string text;
  if (api_->callback_name(domain, cbid, &name) == cupti::kSuccess && name != nullptr) text = name;
  if (text.empty()) text = (domain == cupti::kDomainDriver ? "cu(" : "cuda(") + std::to_string(cbid) + ")";
  const std::uint32_t id = names_.id(text);
  api_names_.emplace(key, id);
  return id;
}

}  // namespace kerntrace
