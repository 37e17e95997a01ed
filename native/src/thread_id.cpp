#include "thread_id.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>
#include <new>
#include <unordered_map>

namespace kerntrace {
namespace {

thread_local std::uint32_t t_thread_id = 0;

struct Known {
  std::mutex mutex;
  std::unordered_map<std::uint32_t, std::uint32_t> threads;
};

// Never destroyed: the program's threads may come here while it exits.
Known *g_known = new Known;

}  // namespace

std::uint32_t thread_id() noexcept {
  if (t_thread_id != 0) return t_thread_id;
  t_thread_id = static_cast<std::uint32_t>(syscall(SYS_gettid));
  try {
    const std::lock_guard<std::mutex> lock(g_known->mutex);
    g_known->threads[static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pthread_self()))] = t_thread_id;
  } catch (...) {  // out of memory: the thread's number is not found later
  }
  return t_thread_id;
}

std::uint32_t thread_id_of(std::uint32_t cupti_id) noexcept {
  const std::lock_guard<std::mutex> lock(g_known->mutex);
  const auto found = g_known->threads.find(cupti_id);
  return found != g_known->threads.end() ? found->second : 0;
}

void forget_thread_id() noexcept {
  t_thread_id = 0;
  new (g_known) Known;  // the parent's may be locked by a thread that this process does not have
}

}  // namespace kerntrace
