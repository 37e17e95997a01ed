// What the test program asks of the mock libcupti, besides CUPTI's own functions. Reached by dlsym.
#ifndef KERNTRACE_TESTS_MOCK_CUPTI_H
#define KERNTRACE_TESTS_MOCK_CUPTI_H

#include <cstdint>

extern "C" {
// A launch call on this thread and its kernels: one, or `nodes` of one replay of graph 7.
__attribute__((visibility("default"))) void mock_launch(const char *name, std::uint32_t nodes, std::uint32_t stream);
// A launch whose kernel the device runs only 50 ms later.
__attribute__((visibility("default"))) void mock_late_launch();
__attribute__((visibility("default"))) void mock_memcpy(std::uint64_t bytes);
__attribute__((visibility("default"))) void mock_memset(std::uint64_t bytes);
__attribute__((visibility("default"))) void mock_sync();
__attribute__((visibility("default"))) void mock_overhead();
// A kernel that CUPTI has no timestamps for.
__attribute__((visibility("default"))) void mock_untimed_kernel();
// A call that launches nothing: recorded only when every call is.
__attribute__((visibility("default"))) void mock_malloc();
// Complete the current buffer with a record in it that nobody can walk over.
__attribute__((visibility("default"))) void mock_garbage();
// CUPTI meets a fatal error and detaches itself.
__attribute__((visibility("default"))) void mock_fatal();
// cudaProfilerStart or cudaProfilerStop, with the driver's call inside the runtime's.
__attribute__((visibility("default"))) void mock_profiler(int start);
// Many kernels as fast as buffers can be had.
__attribute__((visibility("default"))) void mock_bulk(std::uint64_t kernels);
// Buffers that the recorder handed out without zeroing them.
__attribute__((visibility("default"))) std::uint64_t mock_dirty_buffers();
}

#endif
