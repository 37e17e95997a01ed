// The two entry points by which a program loads this library without knowing it.
#include "kerntrace/capi.h"
#include "nvtx.h"
#include "process.h"

// Called by the CUDA driver inside cuInit when CUDA_INJECTION64_PATH names this library.
extern "C" KT_API int InitializeInjection(void) {
  try {
    kerntrace::start_injected(true);
  } catch (...) {  // out of memory: this process is not recorded
  }
  return 1;
}

// Called by each NVTX client at its first use when NVTX_INJECTION64_PATH names this library. The hooks stay attached when
// nothing is recorded: a recording may begin later, and a client looks for its tool only once.
extern "C" KT_API int InitializeInjectionNvtx2(kerntrace::nvtx::GetExportTable get_table) {
  try {
    if (!kerntrace::attach_nvtx(get_table)) return 0;
    kerntrace::start_injected(false);
  } catch (...) {
  }
  return 1;
}
