// The half of the mock that plays the program's CUDA work: launches, copies and calls become records.
#include <sys/syscall.h>
#include <unistd.h>

#include "mock_cupti.h"
#include "mock_state.h"

namespace mock {

void put_device() {
  cupti::Device device{};
  device.kind = cupti::kDevice;
  device.memory_bandwidth = 4814304000;
  device.memory_size = 150754820096;
  device.l2_size = 62914560;
  device.sm_count = 132;
  device.compute_major = 9;
  device.name = "Mock H200";
  put(device);
}

}  // namespace mock

using namespace mock;

namespace {

bool enabled(std::uint32_t kind) { return state().kinds.count(kind) != 0; }

void put_call(std::uint32_t domain, std::uint32_t cbid, std::uint64_t start, std::uint64_t end) {
  const bool driver = domain == cupti::kDomainDriver;
  const bool kind = enabled(driver ? cupti::kDriver : cupti::kRuntime) && state().muted.count({domain, cbid}) == 0;
  if (!kind && state().calls.count({domain, cbid}) == 0) return;
  cupti::Api call{};
  call.kind = driver ? cupti::kDriver : cupti::kRuntime;
  call.cbid = cbid;
  call.start = start;
  call.end = end;
  call.process_id = static_cast<std::uint32_t>(getpid());
  call.thread_id = static_cast<std::uint32_t>(syscall(SYS_gettid));
  call.correlation_id = state().correlation;
  put(call);
}

void put_kernel(const char *name, std::uint32_t node, bool graph, std::uint32_t stream, std::uint64_t start, std::uint64_t end) {
  cupti::Kernel kernel{};
  kernel.kind = cupti::kConcurrentKernel;
  kernel.registers_per_thread = 40;
  kernel.start = start;
  kernel.end = end;
  kernel.context_id = 1;
  kernel.stream_id = stream;
  kernel.grid_x = static_cast<std::int32_t>(node + 1);
  kernel.grid_y = 2;
  kernel.grid_z = 3;
  kernel.block_x = 128;
  kernel.block_y = kernel.block_z = 1;
  kernel.static_shared = 48;
  kernel.dynamic_shared = 1024;
  kernel.correlation_id = state().correlation;
  kernel.name = name;
  kernel.graph_id = graph ? 7 : 0;
  kernel.graph_node_id = graph ? (7ULL << 32) + node : 0;
  put(kernel);
}

void hear(std::uint32_t domain, std::uint32_t cbid, std::uint32_t site) {
  State &s = state();
  if (s.callback == nullptr || s.callbacks.count({domain, cbid}) == 0) return;
  const cupti::CallbackData data{site, "cudaProfiler"};
  s.callback(nullptr, domain, cbid, &data);
}

}  // namespace

void mock_launch(const char *name, std::uint32_t nodes, std::uint32_t stream) {
  const Lock lock(state().mutex);
  ++state().correlation;
  const std::uint64_t start = now();
  put_call(cupti::kDomainRuntime, nodes > 0 ? 311 : 211, start, start + 900);
  put_call(cupti::kDomainDriver, nodes > 0 ? 514 : 307, start + 100, start + 800);
  if (enabled(cupti::kConcurrentKernel)) {
    for (std::uint32_t node = 0; node < (nodes > 0 ? nodes : 1); ++node) {
      put_kernel(name, node, nodes > 0, stream, start + 1000 + 10 * node, start + 1008 + 10 * node);
    }
  }
  if (nodes > 0 && enabled(cupti::kGraphTrace)) {
    cupti::GraphTrace span{};
    span.kind = cupti::kGraphTrace;
    span.correlation_id = state().correlation;
    span.start = start + 1000;
    span.end = start + 1000 + 10 * nodes;
    span.graph_id = 7;
    span.stream_id = stream;
    put(span);
  }
}

void mock_late_launch() {
  const Lock lock(state().mutex);
  ++state().correlation;
  const std::uint64_t start = now();
  put_call(cupti::kDomainRuntime, 211, start, start + 900);
  if (enabled(cupti::kConcurrentKernel)) put_kernel("late", 0, false, 7, start + 50000000, start + 50000010);
}

void mock_memcpy(std::uint64_t bytes) {
  const Lock lock(state().mutex);
  ++state().correlation;
  const std::uint64_t start = now();
  put_call(cupti::kDomainRuntime, 41, start, start + 500);
  if (!enabled(cupti::kMemcpy)) return;
  cupti::Memcpy copy{};
  copy.kind = cupti::kMemcpy;
  copy.copy_kind = 2;
  copy.bytes = bytes;
  copy.start = start + 600;
  copy.end = start + 700;
  copy.stream_id = 13;
  copy.correlation_id = state().correlation;
  put(copy);
}

void mock_memset(std::uint64_t bytes) {
  const Lock lock(state().mutex);
  ++state().correlation;
  const std::uint64_t start = now();
  put_call(cupti::kDomainRuntime, 51, start, start + 500);
  if (!enabled(cupti::kMemset)) return;
  cupti::Memset set{};
  set.kind = cupti::kMemset;
  set.bytes = bytes;
  set.start = start + 600;
  set.end = start + 700;
  set.stream_id = 13;
  set.correlation_id = state().correlation;
  put(set);
}

void mock_sync() {
  const Lock lock(state().mutex);
  ++state().correlation;
  const std::uint64_t start = now();
  put_call(cupti::kDomainRuntime, 131, start, start + 2000);
  if (!enabled(cupti::kSynchronization)) return;
  cupti::Synchronization sync{};
  sync.kind = cupti::kSynchronization;
  sync.type = 3;
  sync.start = start + 10;
  sync.end = start + 1990;
  sync.correlation_id = state().correlation;
  sync.stream_id = 13;
  put(sync);
}

void mock_overhead() {
  const Lock lock(state().mutex);
  if (!enabled(cupti::kOverhead)) return;
  cupti::OverheadWithData overhead{};
  overhead.common.kind = cupti::kOverhead;
  overhead.common.overhead_kind = 1U << 16;
  overhead.common.object_kind = cupti::kObjectThread;
  overhead.common.thread_id = static_cast<std::uint32_t>(syscall(SYS_gettid));
  overhead.common.start = now();
  overhead.common.end = overhead.common.start + 50;
  overhead.data = std::malloc(24);  // the recorder's to free
  State &s = state();
  if (!have_room()) return std::free(overhead.data);
  std::memcpy(s.buffer + s.used, &overhead, sizeof overhead);
  s.used += sizeof overhead;
}

void mock_untimed_kernel() {
  const Lock lock(state().mutex);
  ++state().correlation;
  if (enabled(cupti::kConcurrentKernel)) put_kernel("untimed", 0, false, 13, 0, 0);
}

void mock_malloc() {
  const Lock lock(state().mutex);
  ++state().correlation;
  const std::uint64_t start = now();
  put_call(cupti::kDomainRuntime, 20, start, start + 100);
}

void mock_garbage() {
  const Lock lock(state().mutex);
  if (!have_room()) return;
  const cupti::Record unknown{0xdead};
  std::memcpy(state().buffer + state().used, &unknown, sizeof unknown);
  state().used += 8;
  finish_buffer();
}

void mock_profiler(int start) {
  const std::uint32_t runtime = start != 0 ? cupti::kRuntimeProfilerStart : cupti::kRuntimeProfilerStop;
  const std::uint32_t driver = start != 0 ? cupti::kDriverProfilerStart : cupti::kDriverProfilerStop;
  hear(cupti::kDomainRuntime, runtime, cupti::kEnter);
  hear(cupti::kDomainDriver, driver, cupti::kEnter);
  hear(cupti::kDomainDriver, driver, cupti::kExit);
  hear(cupti::kDomainRuntime, runtime, cupti::kExit);
}

void mock_fatal() { hear(cupti::kDomainState, cupti::kStateFatalError, cupti::kEnter); }

void mock_bulk(std::uint64_t kernels) {
  const Lock lock(state().mutex);
  static const char *const kNames[] = {"_Z3addPfS_i", "_ZN4gemm6kernelIfLi128EEEvPT_", "plain_kernel"};
  const std::uint64_t start = now();
  for (std::uint64_t i = 0; i < kernels; ++i) {
    ++state().correlation;
    put_kernel(kNames[i % 3], static_cast<std::uint32_t>(i % 400), true, 7, start + i, start + i + 1);
  }
}

std::uint64_t mock_dirty_buffers() { return state().dirty; }
