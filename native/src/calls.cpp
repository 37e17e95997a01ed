#include "calls.h"

#include <unistd.h>

#include "cbids.h"
#include "clock.h"
#include "thread_id.h"

namespace kerntrace {
namespace {

// The call that this thread is in.
struct OpenCall {
  std::uint64_t start;  // 0: in none
  std::uint32_t domain;
  std::uint32_t correlation_id;
};
thread_local OpenCall t_open{};

void begin_call(std::uint32_t domain, const cupti::CallbackData &data) noexcept {
  if (t_open.start != 0 && t_open.domain == cupti::kDomainRuntime && domain == cupti::kDomainDriver) return;
  t_open.domain = domain;
  t_open.correlation_id = data.correlation_id;
  t_open.start = realtime_ns();  // last, so that our own work is not inside the call
}

}  // namespace

void hear_calls(const CuptiApi &api, cupti::Subscriber subscriber, bool listen) {
  const std::uint32_t on = listen ? 1 : 0;
  // A number that this CUPTI does not know is refused, and no matter.
  for (const std::uint32_t cbid : kRuntimeCalls) api.enable_callback(on, subscriber, cupti::kDomainRuntime, cbid);
  for (const std::uint32_t cbid : kDriverCalls) api.enable_callback(on, subscriber, cupti::kDomainDriver, cbid);
}

bool note_call(CallLog &log, std::uint32_t domain, std::uint32_t cbid, const cupti::CallbackData &data) noexcept {
  if (data.site == cupti::kEnter) {
    begin_call(domain, data);
    return false;
  }
  const std::uint64_t end = realtime_ns();
  if (t_open.start == 0 || t_open.domain != domain || t_open.correlation_id != data.correlation_id) return false;
  cupti::Api call{};
  call.kind = domain == cupti::kDomainDriver ? cupti::kDriver : cupti::kRuntime;
  call.cbid = cbid;
  call.start = t_open.start;
  call.end = end;
  call.thread_id = thread_id();
  call.correlation_id = data.correlation_id;
  call.return_value = data.return_value != nullptr ? *data.return_value : 0;
  t_open.start = 0;
  try {
    return log.add(call);
  } catch (...) {  // out of memory: the call is lost, the program goes on
    return false;
  }
}

}  // namespace kerntrace
