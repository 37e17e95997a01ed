// The operating system's number of this thread, as CUPTI's records carry it.
#ifndef KERNTRACE_THREAD_ID_H
#define KERNTRACE_THREAD_ID_H

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace kerntrace {

inline thread_local std::uint32_t t_thread_id = 0;

inline std::uint32_t thread_id() noexcept {
  if (t_thread_id == 0) t_thread_id = static_cast<std::uint32_t>(syscall(SYS_gettid));
  return t_thread_id;
}

// In a forked child the thread goes on under another number.
inline void forget_thread_id() noexcept { t_thread_id = 0; }

}  // namespace kerntrace

#endif
