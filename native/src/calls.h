// Launch calls, heard one by one through CUPTI's callbacks and stamped by us.
//
// CUPTI's own records of API calls cost more: asked for as a kind, they put a hook on every call of the API, and each record
// asks the operating system for its thread. Enabled call by call they record nothing where CUDA was used before (CUPTI 13.0).
#ifndef KERNTRACE_CALLS_H
#define KERNTRACE_CALLS_H

#include <cstdint>

#include "cupti_api.h"
#include "event_log.h"

namespace kerntrace {

// Hear the calls that put work on a device or wait for it, or no more of them.
void hear_calls(const CuptiApi &api, cupti::Subscriber subscriber, bool listen);

// A call begins or returns on this thread. Of a runtime call and the driver call that it makes, the runtime's is kept: it is
// the outermost. True if the worker is worth waking.
bool note_call(CallLog &log, std::uint32_t domain, std::uint32_t cbid, const cupti::CallbackData &data) noexcept;

}  // namespace kerntrace

#endif
