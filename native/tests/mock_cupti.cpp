// A stand-in for libcupti that needs no driver. It keeps CUPTI's promises that the recorder relies on: buffers are asked for
// and completed through the callbacks, records of the pretended version follow each other in them, names stay in memory,
// kinds and calls are recorded only while enabled. MOCK_CUPTI_... variables make it misbehave:
//   KERNEL=9..13   version of its kernel records (10)      TAKEN=NAME    another tool holds CUPTI
//   FAIL=RESULT    subscribing fails with this result      HANG=flush|disable  that call never returns
//   CLOCK=NS       its clock is off by so much             DROPPED=N     so many records were dropped
#include <unistd.h>

#include "mock_state.h"

#define MOCK_API extern "C" __attribute__((visibility("default")))

namespace mock {

State &state() {
  static State &the = *new State;
  return the;
}

static std::size_t kernel_bytes() {
  static const std::size_t bytes = [] {
    constexpr std::size_t kBytes[] = {208, 216, 224, 232, 248};  // records 9 to 13
    return kBytes[setting("MOCK_CUPTI_KERNEL", 10) - 9];
  }();
  return bytes;
}

std::size_t bytes_of(std::uint32_t kind) {
  switch (kind) {
    case cupti::kConcurrentKernel: return kernel_bytes();
    case cupti::kMemcpy: return 96;
    case cupti::kMemset: return 88;
    case cupti::kRuntime:
    case cupti::kDriver: return sizeof(cupti::Api);
    case cupti::kSynchronization: return 56;
    case cupti::kOverhead: return sizeof(cupti::OverheadWithData);
    case cupti::kGraphTrace: return 56;
    case cupti::kDevice: return 184;
    default: return 0;
  }
}

void finish_buffer() {
  State &s = state();
  if (s.buffer == nullptr) return;
  std::uint8_t *buffer = std::exchange(s.buffer, nullptr);
  s.complete(nullptr, 0, buffer, s.size, std::exchange(s.used, 0));
}

bool have_room() {
  State &s = state();
  if (s.buffer != nullptr && s.used + kLargestRecord > s.size) finish_buffer();
  if (s.buffer != nullptr) return true;
  std::size_t most = 0;
  if (s.request != nullptr) s.request(&s.buffer, &s.size, &most);
  if (s.buffer == nullptr) {
    ++s.dropped;
    return false;
  }
  for (std::size_t i = 0; s.zeroed && i < s.size; i += 512) {
    if (s.buffer[i] != 0) {
      ++s.dirty;
      break;
    }
  }
  return true;
}

}  // namespace mock

using namespace mock;

MOCK_API cupti::Result cuptiActivityEnable(std::uint32_t kind) {
  const Lock lock(state().mutex);
  state().kinds.insert(kind);
  if (kind == cupti::kConcurrentKernel && state().kinds.count(cupti::kDevice) != 0) put_device();
  return cupti::kSuccess;
}

MOCK_API cupti::Result cuptiActivityEnableAndDump(std::uint32_t kind) {
  const Lock lock(state().mutex);
  state().kinds.insert(kind);
  if (kind == cupti::kDevice) put_device();
  return cupti::kSuccess;
}

static bool hangs_in(const char *call) {
  const char *value = std::getenv("MOCK_CUPTI_HANG");
  return value != nullptr && std::strcmp(value, call) == 0;
}

MOCK_API cupti::Result cuptiActivityDisable(std::uint32_t kind) {
  while (hangs_in("disable")) sleep(1);
  const Lock lock(state().mutex);
  state().kinds.erase(kind);
  return cupti::kSuccess;
}

MOCK_API cupti::Result cuptiActivityRegisterCallbacks(cupti::RequestBuffer request, cupti::CompleteBuffer complete) {
  const Lock lock(state().mutex);
  state().request = request;
  state().complete = complete;
  return cupti::kSuccess;
}

MOCK_API cupti::Result cuptiActivityFlushAll(std::uint32_t forced) {
  while (hangs_in("flush") && forced != 0) sleep(1);
  const Lock lock(state().mutex);
  finish_buffer();
  return cupti::kSuccess;
}

MOCK_API cupti::Result cuptiActivityGetNextRecord(std::uint8_t *buffer, std::size_t valid, cupti::Record **record) {
  std::uint8_t *next = buffer;
  if (*record != nullptr) next = reinterpret_cast<std::uint8_t *>(*record) + bytes_of((*record)->kind);
  if (next >= buffer + valid) return cupti::kMaxLimitReached;
  auto *found = reinterpret_cast<cupti::Record *>(next);
  if (bytes_of(found->kind) == 0 || next + bytes_of(found->kind) > buffer + valid) return 21;
  *record = found;
  return cupti::kSuccess;
}

MOCK_API cupti::Result cuptiActivityGetNumDroppedRecords(void *, std::uint32_t, std::size_t *dropped) {
  const Lock lock(state().mutex);
  static std::size_t pretended = static_cast<std::size_t>(setting("MOCK_CUPTI_DROPPED", 0));
  *dropped = std::exchange(state().dropped, 0) + std::exchange(pretended, 0);
  return cupti::kSuccess;
}

MOCK_API cupti::Result cuptiActivitySetAttribute(std::uint32_t attribute, std::size_t *, void *value) {
  if (attribute == cupti::kZeroedOutBuffer) state().zeroed = *static_cast<std::uint8_t *>(value) != 0;
  return cupti::kSuccess;
}

MOCK_API cupti::Result cuptiSetThreadIdType(std::uint32_t type) {
  state().system_threads = type == cupti::kThreadIdSystem;
  return cupti::kSuccess;
}

MOCK_API cupti::Result cuptiGetTimestamp(std::uint64_t *ns) {
  *ns = now();
  return cupti::kSuccess;
}

MOCK_API cupti::Result cuptiGetVersion(std::uint32_t *version) {
  constexpr std::uint32_t kVersions[] = {130000, 130001, 130100, 130300, 130500};
  const long kernel = setting("MOCK_CUPTI_KERNEL", 10);
  *version = static_cast<std::uint32_t>(setting("MOCK_CUPTI_VERSION", static_cast<long>(kVersions[kernel - 9])));
  return cupti::kSuccess;
}

MOCK_API cupti::Result cuptiGetResultString(cupti::Result, const char **text) {
  *text = "MOCK_RESULT";
  return cupti::kSuccess;
}

MOCK_API cupti::Result cuptiGetCallbackName(std::uint32_t domain, std::uint32_t cbid, const char **name) {
  if (domain == cupti::kDomainDriver) {
    *name = cbid == 307 ? "cuLaunchKernel" : "cuGraphLaunch";
    return cupti::kSuccess;
  }
  switch (cbid) {
    case 20: *name = "cudaMalloc_v3020"; break;
    case 41: *name = "cudaMemcpyAsync_v3020"; break;
    case 51: *name = "cudaMemsetAsync_v3020"; break;
    case 131: *name = "cudaStreamSynchronize_v3020"; break;
    case 211: *name = "cudaLaunchKernel_v7000"; break;
    case 311: *name = "cudaGraphLaunch_v10000"; break;
    default: return 1;
  }
  return cupti::kSuccess;
}

MOCK_API cupti::Result cuptiSubscribe(cupti::Subscriber *subscriber, cupti::Callback callback, void *) {
  const long failure = setting("MOCK_CUPTI_FAIL", 0);
  if (failure != 0) return static_cast<cupti::Result>(failure);
  if (std::getenv("MOCK_CUPTI_TAKEN") != nullptr || state().callback != nullptr) return cupti::kMultipleSubscribers;
  state().callback = callback;
  *subscriber = &state();
  return cupti::kSuccess;
}

MOCK_API cupti::Result cuptiSubscribe_v2(cupti::Subscriber *subscriber, cupti::Callback callback, void *user,
                                         cupti::SubscriberParams *params) {
  const char *holder = std::getenv("MOCK_CUPTI_TAKEN");
  if (holder != nullptr) std::strncpy(params->old_name, holder, params->old_size - 1);
  return cuptiSubscribe(subscriber, callback, user);
}

MOCK_API cupti::Result cuptiUnsubscribe(cupti::Subscriber) {
  state().callback = nullptr;
  return cupti::kSuccess;
}

MOCK_API cupti::Result cuptiEnableCallback(std::uint32_t enable, cupti::Subscriber, std::uint32_t domain, std::uint32_t cbid) {
  const Lock lock(state().mutex);
  if (domain != cupti::kDomainState && cbid > 505) return 1;  // a number that this CUPTI does not know
  if (enable != 0) {
    state().callbacks.insert({domain, cbid});
  } else {
    state().callbacks.erase({domain, cbid});
  }
  return cupti::kSuccess;
}
