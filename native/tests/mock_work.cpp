// The half of the mock that plays the program's CUDA work: launches, copies and calls become records.
#include <pthread.h>
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

// As CUPTI names threads: unless told otherwise, by half of what pthread_self() says.
std::uint32_t thread() {
  if (state().system_threads) return static_cast<std::uint32_t>(syscall(SYS_gettid));
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pthread_self()));
}

void hear(std::uint32_t domain, std::uint32_t cbid, std::uint32_t site) {
  State &s = state();
  if (s.callback == nullptr || s.callbacks.count({domain, cbid}) == 0) return;
  const std::uint32_t returned = 0;
  std::uint64_t shared = 0;
  const cupti::CallbackData data{site, "called", nullptr, &returned, nullptr, nullptr, 1, &shared, s.correlation};
  s.callback(nullptr, domain, cbid, &data);
}

void put_call(std::uint32_t domain, std::uint32_t cbid, std::uint64_t start, std::uint64_t end) {
  const bool driver = domain == cupti::kDomainDriver;
  if (!enabled(driver ? cupti::kDriver : cupti::kRuntime)) return;
  cupti::Api call{};
  call.kind = driver ? cupti::kDriver : cupti::kRuntime;
  call.cbid = cbid;
  call.start = start;
  call.end = end;
  call.process_id = static_cast<std::uint32_t>(getpid());
  call.thread_id = thread();
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

// A runtime call, with the driver's call inside it if it makes one. Takes no time, though CUPTI's own record says otherwise.
// Returns when it began by that record.
std::uint64_t call(std::uint32_t cbid, std::uint32_t driver_cbid, std::uint64_t length) {
  hear(cupti::kDomainRuntime, cbid, cupti::kEnter);
  if (driver_cbid != 0) {
    hear(cupti::kDomainDriver, driver_cbid, cupti::kEnter);
    hear(cupti::kDomainDriver, driver_cbid, cupti::kExit);
  }
  hear(cupti::kDomainRuntime, cbid, cupti::kExit);
  const std::uint64_t start = now();  // after what was heard, so that nothing runs before its call
  put_call(cupti::kDomainRuntime, cbid, start, start + length);
  if (driver_cbid != 0) put_call(cupti::kDomainDriver, driver_cbid, start + 100, start + length - 100);
  return start;
}

}  // namespace

void mock_launch(const char *name, std::uint32_t nodes, std::uint32_t stream) {
  const Lock lock(state().mutex);
  ++state().correlation;
  const std::uint64_t start = call(nodes > 0 ? 311 : 211, nodes > 0 ? 514 : 307, 900);
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
  const std::uint64_t start = call(211, 0, 900);
  if (enabled(cupti::kConcurrentKernel)) put_kernel("late", 0, false, 7, start + 50000000, start + 50000010);
}

void mock_memcpy(std::uint64_t bytes) {
  const Lock lock(state().mutex);
  ++state().correlation;
  const std::uint64_t start = call(41, 0, 500);
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
  const std::uint64_t start = call(51, 0, 500);
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
  const std::uint64_t start = call(131, 0, 2000);
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
  overhead.common.thread_id = thread();
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
  call(20, 0, 100);
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
