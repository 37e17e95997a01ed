// Compiles only if src/cupti_abi.h, src/cbids.h and src/nvtx_abi.h agree with the installed CUPTI and NVTX headers.
// Not part of the library; tests/native runs it where a CUDA toolkit is installed.
#include <cuda.h>
#include <cupti.h>
#include <nvtx3/nvToolsExt.h>

#include <cstring>

#include "../src/cbids.h"
#include "../src/cupti_abi.h"
#include "../src/nvtx_abi.h"

namespace ours = kerntrace::cupti;

#define SAME(our_type, our_field, their_type, their_field)                                       \
  static_assert(offsetof(ours::our_type, our_field) == offsetof(their_type, their_field),        \
                #our_type "." #our_field " is elsewhere");                                       \
  static_assert(sizeof(ours::our_type::our_field) == sizeof(static_cast<their_type *>(nullptr)->their_field), \
                #our_type "." #our_field " has another size")
#define FITS(our_type, their_type) static_assert(sizeof(ours::our_type) <= sizeof(their_type), #our_type " is too long")
#define EQUAL(our_value, their_value) static_assert(static_cast<long>(our_value) == static_cast<long>(their_value), #our_value)

using K = CUpti_ActivityKernel10;
FITS(Kernel, K);
SAME(Kernel, registers_per_thread, K, registersPerThread);
SAME(Kernel, start, K, start);
SAME(Kernel, end, K, end);
SAME(Kernel, device_id, K, deviceId);
SAME(Kernel, context_id, K, contextId);
SAME(Kernel, stream_id, K, streamId);
SAME(Kernel, grid_x, K, gridX);
SAME(Kernel, grid_y, K, gridY);
SAME(Kernel, grid_z, K, gridZ);
SAME(Kernel, block_x, K, blockX);
SAME(Kernel, block_y, K, blockY);
SAME(Kernel, block_z, K, blockZ);
SAME(Kernel, static_shared, K, staticSharedMemory);
SAME(Kernel, dynamic_shared, K, dynamicSharedMemory);
SAME(Kernel, correlation_id, K, correlationId);
SAME(Kernel, name, K, name);
SAME(Kernel, graph_node_id, K, graphNodeId);
SAME(Kernel, graph_id, K, graphId);

using C = CUpti_ActivityMemcpy6;
FITS(Memcpy, C);
SAME(Memcpy, copy_kind, C, copyKind);
SAME(Memcpy, bytes, C, bytes);
SAME(Memcpy, start, C, start);
SAME(Memcpy, end, C, end);
SAME(Memcpy, device_id, C, deviceId);
SAME(Memcpy, stream_id, C, streamId);
SAME(Memcpy, correlation_id, C, correlationId);
SAME(Memcpy, graph_node_id, C, graphNodeId);
SAME(Memcpy, graph_id, C, graphId);

using S = CUpti_ActivityMemset4;
FITS(Memset, S);
SAME(Memset, bytes, S, bytes);
SAME(Memset, start, S, start);
SAME(Memset, end, S, end);
SAME(Memset, device_id, S, deviceId);
SAME(Memset, stream_id, S, streamId);
SAME(Memset, correlation_id, S, correlationId);
SAME(Memset, graph_node_id, S, graphNodeId);
SAME(Memset, graph_id, S, graphId);

using A = CUpti_ActivityAPI;
static_assert(sizeof(ours::Api) == sizeof(A));
SAME(Api, cbid, A, cbid);
SAME(Api, start, A, start);
SAME(Api, end, A, end);
SAME(Api, thread_id, A, threadId);
SAME(Api, correlation_id, A, correlationId);
SAME(Api, return_value, A, returnValue);

using Y = CUpti_ActivitySynchronization2;
FITS(Synchronization, Y);
SAME(Synchronization, type, Y, type);
SAME(Synchronization, start, Y, start);
SAME(Synchronization, end, Y, end);
SAME(Synchronization, correlation_id, Y, correlationId);
SAME(Synchronization, stream_id, Y, streamId);
SAME(Synchronization, event_id, Y, cudaEventId);

using O = CUpti_ActivityOverhead3;
static_assert(sizeof(ours::OverheadWithData) == sizeof(O));
SAME(Overhead, overhead_kind, O, overheadKind);
SAME(Overhead, object_kind, O, objectKind);
SAME(Overhead, thread_id, O, objectId.pt.threadId);
SAME(Overhead, start, O, start);
SAME(Overhead, end, O, end);
SAME(OverheadWithData, data, O, overheadData);

using G = CUpti_ActivityGraphTrace2;
FITS(GraphTrace, G);
SAME(GraphTrace, correlation_id, G, correlationId);
SAME(GraphTrace, start, G, start);
SAME(GraphTrace, end, G, end);
SAME(GraphTrace, device_id, G, deviceId);
SAME(GraphTrace, graph_id, G, graphId);
SAME(GraphTrace, stream_id, G, streamId);

using D = CUpti_ActivityDevice5;
FITS(Device, D);
SAME(Device, memory_bandwidth, D, globalMemoryBandwidth);
SAME(Device, memory_size, D, globalMemorySize);
SAME(Device, l2_size, D, l2CacheSize);
SAME(Device, sm_count, D, numMultiprocessors);
SAME(Device, compute_major, D, computeCapabilityMajor);
SAME(Device, compute_minor, D, computeCapabilityMinor);
SAME(Device, id, D, id);
SAME(Device, name, D, name);

SAME(CallbackData, site, CUpti_CallbackData, callbackSite);
SAME(CallbackData, return_value, CUpti_CallbackData, functionReturnValue);
SAME(CallbackData, correlation_id, CUpti_CallbackData, correlationId);
SAME(SubscriberParams, name, CUpti_SubscriberParams, subscriberName);
SAME(SubscriberParams, old_name, CUpti_SubscriberParams, oldSubscriberName);
SAME(SubscriberParams, old_size, CUpti_SubscriberParams, oldSubscriberSize);
static_assert(sizeof(ours::SubscriberParams) == CUpti_SubscriberParams_STRUCT_SIZE);

EQUAL(ours::kMemcpy, CUPTI_ACTIVITY_KIND_MEMCPY);
EQUAL(ours::kMemset, CUPTI_ACTIVITY_KIND_MEMSET);
EQUAL(ours::kDriver, CUPTI_ACTIVITY_KIND_DRIVER);
EQUAL(ours::kRuntime, CUPTI_ACTIVITY_KIND_RUNTIME);
EQUAL(ours::kDevice, CUPTI_ACTIVITY_KIND_DEVICE);
EQUAL(ours::kConcurrentKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
EQUAL(ours::kOverhead, CUPTI_ACTIVITY_KIND_OVERHEAD);
EQUAL(ours::kSynchronization, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
EQUAL(ours::kGraphTrace, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
EQUAL(ours::kZeroedOutBuffer, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
EQUAL(ours::kThreadIdSystem, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
EQUAL(ours::kFlushForced, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
EQUAL(ours::kObjectThread, CUPTI_ACTIVITY_OBJECT_THREAD);
EQUAL(ours::kMaxLimitReached, CUPTI_ERROR_MAX_LIMIT_REACHED);
EQUAL(ours::kInsufficientPrivileges, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
EQUAL(ours::kMultipleSubscribers, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
EQUAL(ours::kVirtualizedInsufficientPrivileges, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
EQUAL(ours::kDomainDriver, CUPTI_CB_DOMAIN_DRIVER_API);
EQUAL(ours::kDomainRuntime, CUPTI_CB_DOMAIN_RUNTIME_API);
EQUAL(ours::kDomainState, CUPTI_CB_DOMAIN_STATE);
EQUAL(ours::kStateFatalError, CUPTI_CBID_STATE_FATAL_ERROR);
EQUAL(ours::kEnter, CUPTI_API_ENTER);
EQUAL(ours::kExit, CUPTI_API_EXIT);
EQUAL(ours::kRuntimeProfilerStart, CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000);
EQUAL(ours::kRuntimeProfilerStop, CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000);
EQUAL(ours::kDriverProfilerStart, CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
EQUAL(ours::kDriverProfilerStop, CUPTI_DRIVER_TRACE_CBID_cuProfilerStop);

template <std::size_t Size>
constexpr bool lists(const std::uint32_t (&calls)[Size], long cbid) {
  for (const std::uint32_t call : calls) {
    if (static_cast<long>(call) == cbid) return true;
  }
  return false;
}
#define RUNTIME(name) static_assert(lists(kerntrace::kRuntimeCalls, CUPTI_RUNTIME_TRACE_CBID_##name), #name)
#define DRIVER(name) static_assert(lists(kerntrace::kDriverCalls, CUPTI_DRIVER_TRACE_CBID_##name), #name)
RUNTIME(cudaLaunchKernel_v7000);
RUNTIME(cudaLaunchKernel_ptsz_v7000);
RUNTIME(cudaLaunchKernelExC_v11060);
RUNTIME(cudaLaunchKernelExC_ptsz_v11060);
RUNTIME(__cudaLaunchKernel_v13000);
RUNTIME(__cudaLaunchKernel_ptsz_v13000);
RUNTIME(cudaLaunchCooperativeKernel_v9000);
RUNTIME(cudaLaunchCooperativeKernel_ptsz_v9000);
RUNTIME(cudaLaunchCooperativeKernelMultiDevice_v9000);
RUNTIME(cudaGraphLaunch_v10000);
RUNTIME(cudaGraphLaunch_ptsz_v10000);
RUNTIME(cudaMemcpy_v3020);
RUNTIME(cudaMemcpyAsync_v3020);
RUNTIME(cudaMemcpyAsync_ptsz_v7000);
RUNTIME(cudaMemcpyBatchAsync_v13000);
RUNTIME(cudaMemset_v3020);
RUNTIME(cudaMemsetAsync_v3020);
RUNTIME(cudaMemsetAsync_ptsz_v7000);
RUNTIME(cudaStreamSynchronize_v3020);
RUNTIME(cudaStreamSynchronize_ptsz_v7000);
RUNTIME(cudaEventSynchronize_v3020);
RUNTIME(cudaDeviceSynchronize_v3020);
DRIVER(cuLaunchKernel);
DRIVER(cuLaunchKernel_ptsz);
DRIVER(cuLaunchKernelEx);
DRIVER(cuLaunchKernelEx_ptsz);
DRIVER(cuLaunchCooperativeKernel);
DRIVER(cuGraphLaunch);
DRIVER(cuGraphLaunch_ptsz);
DRIVER(cuMemcpyAsync);
DRIVER(cuMemcpyHtoDAsync_v2);
DRIVER(cuMemcpyDtoHAsync_v2);
DRIVER(cuMemcpyDtoDAsync_v2);
DRIVER(cuMemsetD8Async);
DRIVER(cuMemsetD32Async);
DRIVER(cuStreamSynchronize);
DRIVER(cuEventSynchronize);
DRIVER(cuCtxSynchronize);
static_assert(!lists(kerntrace::kRuntimeCalls, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020));

namespace nvtx = kerntrace::nvtx;
#define NVTX_SAME(our_field, their_field)                                                               \
  static_assert(offsetof(nvtx::Attributes, our_field) == offsetof(nvtxEventAttributes_t, their_field)); \
  static_assert(sizeof(nvtx::Attributes::our_field) == sizeof(static_cast<nvtxEventAttributes_t *>(nullptr)->their_field))
NVTX_SAME(version, version);
NVTX_SAME(size, size);
NVTX_SAME(payload_type, payloadType);
NVTX_SAME(payload, payload);
NVTX_SAME(message_type, messageType);
NVTX_SAME(message, message);
static_assert(sizeof(nvtx::Attributes) == sizeof(nvtxEventAttributes_t));
static_assert(sizeof(nvtx::ExportTable) == sizeof(NvtxExportTableCallbacks));
EQUAL(nvtx::kExportCallbacks, NVTX_ETID_CALLBACKS);
EQUAL(nvtx::kModuleCore, NVTX_CB_MODULE_CORE);
EQUAL(nvtx::kModuleCore2, NVTX_CB_MODULE_CORE2);
EQUAL(nvtx::kRangeStartEx, NVTX_CBID_CORE_RangeStartEx);
EQUAL(nvtx::kRangeStartA, NVTX_CBID_CORE_RangeStartA);
EQUAL(nvtx::kRangeStartW, NVTX_CBID_CORE_RangeStartW);
EQUAL(nvtx::kRangeEnd, NVTX_CBID_CORE_RangeEnd);
EQUAL(nvtx::kRangePushEx, NVTX_CBID_CORE_RangePushEx);
EQUAL(nvtx::kRangePushA, NVTX_CBID_CORE_RangePushA);
EQUAL(nvtx::kRangePushW, NVTX_CBID_CORE_RangePushW);
EQUAL(nvtx::kRangePop, NVTX_CBID_CORE_RangePop);
EQUAL(nvtx::kDomainRangeStartEx, NVTX_CBID_CORE2_DomainRangeStartEx);
EQUAL(nvtx::kDomainRangeEnd, NVTX_CBID_CORE2_DomainRangeEnd);
EQUAL(nvtx::kDomainRangePushEx, NVTX_CBID_CORE2_DomainRangePushEx);
EQUAL(nvtx::kDomainRangePop, NVTX_CBID_CORE2_DomainRangePop);
EQUAL(nvtx::kDomainRegisterStringA, NVTX_CBID_CORE2_DomainRegisterStringA);
EQUAL(nvtx::kDomainRegisterStringW, NVTX_CBID_CORE2_DomainRegisterStringW);
EQUAL(nvtx::kDomainCreateA, NVTX_CBID_CORE2_DomainCreateA);
EQUAL(nvtx::kDomainCreateW, NVTX_CBID_CORE2_DomainCreateW);
EQUAL(nvtx::kMessageAscii, NVTX_MESSAGE_TYPE_ASCII);
EQUAL(nvtx::kMessageUnicode, NVTX_MESSAGE_TYPE_UNICODE);
EQUAL(nvtx::kMessageRegistered, NVTX_MESSAGE_TYPE_REGISTERED);
EQUAL(nvtx::kPayloadUnsigned64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
EQUAL(nvtx::kPayloadSigned64, NVTX_PAYLOAD_TYPE_INT64);
EQUAL(nvtx::kPayloadDouble, NVTX_PAYLOAD_TYPE_DOUBLE);
EQUAL(nvtx::kPayloadUnsigned32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
EQUAL(nvtx::kPayloadSigned32, NVTX_PAYLOAD_TYPE_INT32);
EQUAL(nvtx::kPayloadFloat, NVTX_PAYLOAD_TYPE_FLOAT);

int main() {
  // Which cbids mean what is also asked of every number in the lists, by name, in tests/native.
  return 0;
}
