// The operating system's number of this thread, as NVTX events and calls carry it.
#ifndef KERNTRACE_THREAD_ID_H
#define KERNTRACE_THREAD_ID_H

#include <cstdint>

namespace kerntrace {

// Asks the operating system once a thread.
std::uint32_t thread_id() noexcept;

// The number of the thread that CUPTI calls so: its own name for a thread is the lower half of what pthread_self() says.
// 0 for a thread that never asked for its number.
std::uint32_t thread_id_of(std::uint32_t cupti_id) noexcept;

// In a forked child the thread goes on under another number.
void forget_thread_id() noexcept;

}  // namespace kerntrace

#endif
