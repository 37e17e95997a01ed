// Walks activity buffers and turns CUPTI's records into the shard's.
#ifndef KERNTRACE_DECODE_H
#define KERNTRACE_DECODE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "buffers.h"
#include "cupti_api.h"
#include "kerntrace/records.h"
#include "names.h"
#include "windows.h"

namespace kerntrace {

struct Rows {
  std::vector<KernelRecord> kernels;
  std::vector<MemopRecord> memops;
  std::vector<ApiRecord> api_calls;
  std::vector<SyncRecord> syncs;
  std::vector<OverheadRecord> overheads;
  std::vector<GraphSpanRecord> graph_spans;
  std::vector<DeviceRecord> devices;

  std::size_t size() const {
    return kernels.size() + memops.size() + api_calls.size() + syncs.size() + overheads.size() + graph_spans.size() +
           devices.size();
  }
  void clear();
};

struct DecodeCounts {
  std::uint64_t zero_timestamps = 0;
  std::uint64_t outside_window = 0;
  std::uint64_t unknown_records = 0;
  std::uint64_t bad_buffers = 0;
};

class Decoder {
 public:
  explicit Decoder(NameTable &names) : names_(names) {}

  // Which library's records are walked, and whether they name threads as the system does. Must be called before decode().
  void use(const CuptiApi &api, bool system_threads) {
    api_ = &api;
    system_threads_ = system_threads;
  }

  // Append the buffer's records to `rows`, those made while a window was open.
  void decode(const FullBuffer &buffer, const std::vector<Window> &windows);

  // The same for calls that were heard.
  void take_calls(const std::vector<cupti::Api> &calls, const std::vector<Window> &windows);

  Rows rows;
  DecodeCounts counts;

 private:
  struct Seen {
    std::string raw;
    std::uint32_t id;
  };

  void take(cupti::Record *record, const std::vector<Window> &windows);
  template <class Device>
  bool keep_device(const Device &record, const std::vector<Window> &windows);
  void take_kernel(const cupti::Kernel &kernel);
  void take_memcpy(const cupti::Memcpy &copy);
  void take_memset(const cupti::Memset &set);
  void take_api(const cupti::Api &call);
  void take_overhead(const cupti::Record *record, const std::vector<Window> &windows);
  std::uint32_t thread_of(const cupti::Overhead &overhead) const;
  std::uint32_t kernel_name(const char *raw);
  std::uint32_t api_name(std::uint32_t domain, std::uint32_t cbid);

  NameTable &names_;
  const CuptiApi *api_ = nullptr;
  bool system_threads_ = false;
  std::unordered_map<const void *, Seen> kernel_names_;
  std::unordered_map<std::uint64_t, std::uint32_t> api_names_;
};

}  // namespace kerntrace

#endif
