// A CUDA program that launches an exactly known number of kernels and says so, to hold a recorder's counts against.
//   known_count MODE [SCALE]
//     eager      kernels launched one by one, some copies and fills among them
//     graph      one captured graph, replayed        graphs     three graphs of different sizes, replayed in turn
//     streams    two streams of one thread           threads    two threads with a stream each
//     processes  two processes like `eager`          windows    work before, between and after two profiler ranges
//     long       SCALE replays of 400 kernels (25000 are 10 million records), with memory before and after
//     kill       eager, a pause, and SIGKILL
// Prints one line of JSON: what a recorder should have seen. For `windows` only what is inside the ranges counts.
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#define CHECK(call)                                                                          \
  do {                                                                                       \
    const cudaError_t error_ = (call);                                                       \
    if (error_ != cudaSuccess) {                                                             \
      fprintf(stderr, "known_count: %s: %s\n", #call, cudaGetErrorString(error_));           \
      exit(1);                                                                               \
    }                                                                                        \
  } while (0)

struct Count {
  long kernels = 0, launches = 0, graph_launches = 0, memops = 0;
};

__global__ void add(float *data, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) data[i] += 1.0f;
}

template <int Times>
__global__ void scale(float *data, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < Times; ++k) {
    if (i < size) data[i] *= 1.0001f;
  }
}

constexpr int kSize = 1 << 16;

static float *buffer() {
  float *data = nullptr;
  CHECK(cudaMalloc(&data, kSize * sizeof(float)));
  return data;
}

static void kernels(float *data, int times, cudaStream_t stream) {
  for (int i = 0; i < times; ++i) {
    if (i % 2 == 0) {
      add<<<kSize / 256, 256, 0, stream>>>(data, kSize);
    } else {
      scale<4><<<kSize / 128, 128, 0, stream>>>(data, kSize);
    }
  }
  CHECK(cudaGetLastError());
}

static cudaGraphExec_t captured(float *data, int nodes, cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  kernels(data, nodes, stream);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  return exec;
}

static cudaStream_t stream_of_its_own() {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

static Count eager(int times) {
  float *data = buffer();
  std::vector<float> host(kSize);
  CHECK(cudaMemset(data, 0, kSize * sizeof(float)));
  kernels(data, times, 0);
  CHECK(cudaMemcpy(host.data(), data, kSize * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaDeviceSynchronize());
  return {times, times, 0, 2};
}

static Count graphs(const std::vector<int> &sizes, int replays) {
  cudaStream_t stream = stream_of_its_own();
  float *data = buffer();
  std::vector<cudaGraphExec_t> execs;
  for (const int nodes : sizes) execs.push_back(captured(data, nodes, stream));
  Count count;
  for (int i = 0; i < replays; ++i) {
    const size_t which = static_cast<size_t>(i) % sizes.size();
    CHECK(cudaGraphLaunch(execs[which], stream));
    count.kernels += sizes[which];
    ++count.launches;
    ++count.graph_launches;
    if (i % 16 == 15) CHECK(cudaStreamSynchronize(stream));
  }
  CHECK(cudaStreamSynchronize(stream));
  return count;
}

static Count streams(int times) {
  cudaStream_t first = stream_of_its_own();
  cudaStream_t second = stream_of_its_own();
  float *a = buffer();
  float *b = buffer();
  for (int i = 0; i < times; ++i) {
    kernels(a, 1, first);
    kernels(b, 1, second);
  }
  CHECK(cudaDeviceSynchronize());
  return {2L * times, 2L * times, 0, 0};
}

static Count threads(int times) {
  const auto work = [times] {
    cudaStream_t stream = stream_of_its_own();
    kernels(buffer(), times, stream);
    CHECK(cudaStreamSynchronize(stream));
  };
  std::thread first(work);
  std::thread second(work);
  first.join();
  second.join();
  return {2L * times, 2L * times, 0, 0};
}

extern char **environ;

static Count processes(const char *self, int times) {
  char scale_text[16];
  snprintf(scale_text, sizeof scale_text, "%d", times);
  pid_t children[2];
  for (pid_t &child : children) {
    char *const arguments[] = {const_cast<char *>(self), const_cast<char *>("quiet"), scale_text, nullptr};
    if (posix_spawn(&child, self, nullptr, nullptr, arguments, environ) != 0) exit(1);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) exit(1);
  }
  return {2L * times, 2L * times, 0, 4};
}

static Count windows(int times) {
  cudaStream_t stream = stream_of_its_own();
  float *data = buffer();
  cudaGraphExec_t exec = captured(data, 40, stream);
  Count count;
  for (int window = 0; window < 2; ++window) {
    kernels(data, 30, stream);  // outside
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaProfilerStart());
    kernels(data, times, stream);
    for (int i = 0; i < 5; ++i) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaProfilerStop());  // before the device is done: what was launched inside counts
    CHECK(cudaStreamSynchronize(stream));
    count.kernels += times + 200;
    count.launches += times + 5;
    count.graph_launches += 5;
  }
  kernels(data, 30, stream);
  CHECK(cudaStreamSynchronize(stream));
  return count;
}

static void print_memory(const char *when) {
  size_t free_bytes = 0, total = 0;
  CHECK(cudaMemGetInfo(&free_bytes, &total));
  long pages = 0, resident = 0;
  if (FILE *file = fopen("/proc/self/statm", "r")) {
    if (fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    fclose(file);
  }
  fprintf(stderr, "%s: device %.1f MB used, host %.1f MB resident\n", when, (total - free_bytes) / 1e6,
          static_cast<double>(resident) * sysconf(_SC_PAGESIZE) / 1e6);
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "eager";
  const int scale_of = argc > 2 ? atoi(argv[2]) : 1000;
  Count count;
  if (strcmp(mode, "eager") == 0 || strcmp(mode, "quiet") == 0 || strcmp(mode, "kill") == 0) {
    count = eager(scale_of);
  } else if (strcmp(mode, "graph") == 0) {
    count = graphs({400}, scale_of);
  } else if (strcmp(mode, "graphs") == 0) {
    count = graphs({40, 7, 121}, scale_of);
  } else if (strcmp(mode, "streams") == 0) {
    count = streams(scale_of);
  } else if (strcmp(mode, "threads") == 0) {
    count = threads(scale_of);
  } else if (strcmp(mode, "processes") == 0) {
    count = processes(argv[0], scale_of);
  } else if (strcmp(mode, "windows") == 0) {
    count = windows(scale_of);
  } else if (strcmp(mode, "long") == 0) {
    graphs({400}, 10);
    print_memory("before");
    count = graphs({400}, scale_of);
    count.kernels += 4000;
    count.launches += 10;
    count.graph_launches += 10;
    print_memory("after");
  } else {
    fprintf(stderr, "known_count: no mode %s\n", mode);
    return 2;
  }
  if (strcmp(mode, "quiet") == 0) return 0;
  printf("{\"mode\": \"%s\", \"kernels\": %ld, \"launches\": %ld, \"graph_launches\": %ld, \"memops\": %ld}\n", mode, count.kernels,
         count.launches, count.graph_launches, count.memops);
  fflush(stdout);
  if (strcmp(mode, "kill") == 0) {
    sleep(3);
    raise(SIGKILL);
  }
  return 0;
}
