// Attaches to NVTX.
#ifndef KERNTRACE_NVTX_H
#define KERNTRACE_NVTX_H

#include "nvtx_abi.h"

namespace kerntrace {

// Hook the functions of one NVTX client; each library that uses NVTX is one. False if it offers none that we know.
bool attach_nvtx(nvtx::GetExportTable get_table);

}  // namespace kerntrace

#endif
