// CUPTI's numbers for the API functions that put work on a device or wait for it. These numbers never change; newer
// functions get new ones. Enabling only these, one callback each, costs a fraction of recording every API call.
#ifndef KERNTRACE_CBIDS_H
#define KERNTRACE_CBIDS_H

#include <cstdint>

namespace kerntrace {

constexpr std::uint32_t kRuntimeCalls[] = {
    // cudaLaunchKernel, cudaLaunchCooperativeKernel (and for several devices), cudaLaunchKernelExC, __cudaLaunchKernel,
    // cudaGraphLaunch; each with its per-thread-stream twin
    211, 214, 269, 270, 272, 430, 431, 505, 506, 311, 312,
    // cudaMemcpy and its 2D, 3D, array, symbol and peer kinds, each also Async, and their per-thread twins
    31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 144, 145, 160, 161, 162, 163, 215, 216, 217, 218, 219,
    220, 221, 222, 223, 224, 225, 226, 227, 228, 229, 230, 231, 232, 245, 246, 249, 250,
    // cudaMemcpyBatchAsync and cudaMemcpy3DBatchAsync of CUDA 12.8 and 13.0
    482, 483, 484, 485, 509, 510, 511, 512,
    // cudaMemset and its 2D and 3D kinds, each also Async, and their per-thread twins
    49, 50, 51, 52, 142, 143, 233, 234, 235, 236, 243, 244,
    // cudaThreadSynchronize, cudaStreamSynchronize (and twin), cudaEventSynchronize, cudaDeviceSynchronize
    126, 131, 239, 137, 165};

constexpr std::uint32_t kDriverCalls[] = {
    // cuLaunchKernel, cuLaunchCooperativeKernel (and for several devices), cuLaunchKernelEx, cuGraphLaunch, and twins
    307, 442, 477, 478, 480, 652, 653, 514, 515,
    // cuMemcpy and its kinds, second version, Async and twins
    248, 276, 277, 278, 279, 280, 281, 282, 283, 284, 285, 286, 287, 288, 289, 290, 291, 292, 293, 305, 306, 318, 319, 320, 321, 397,
    398, 399, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 418, 419, 420, 421, 422, 423, 424, 425, 426, 427,
    // cuMemcpyBatchAsync and cuMemcpy3DBatchAsync, both versions
    776, 777, 778, 779, 796, 797, 798, 799,
    // cuMemset of 8, 16 and 32 bits, second version, Async and twins
    249, 250, 251, 252, 253, 254, 216, 218, 220, 222, 224, 226, 411, 412, 413, 414, 415, 416, 428, 429, 430, 431, 432, 433,
    // cuCtxSynchronize (both versions), cuEventSynchronize, cuStreamSynchronize (and twin)
    17, 800, 121, 126, 440};

}  // namespace kerntrace

#endif
