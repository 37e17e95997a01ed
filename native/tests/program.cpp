// The program that the tests record. Its arguments are what it does, one after the other:
//   init               what the CUDA driver does at cuInit: load CUDA_INJECTION64_PATH and call it
//   nvtx               what an NVTX client does at its first use: load NVTX_INJECTION64_PATH and let it attach
//   launch:N late:N renamed:NAME graph:NxM memcpy:N memset:N sync:N overhead:N untimed:N malloc:N bulk:N garbage fatal   CUDA work, by the mock
//   start stop         cudaProfilerStart, cudaProfilerStop
//   push:NAME wpush:NAME rpush:DOMAIN/NAME pop rpop:DOMAIN from:NAME to payload:N nvtxload:N    ranges
//   call:SETTINGS      kt_start; settings separated by ';'
//   open close flush:MS end:MS   kt_open_window, kt_close_window, kt_flush, kt_stop
//   threads:TxN        T threads of N launches each
//   fork ... join      a child does what is between, and exits; _fork: it leaves by _exit
//   exec               become this program again, with the rest of the arguments
//   sleep:MS print:TEXT kill exit:CODE dirty filesize:BYTES
// A kt_ function that fails prints its code and reason on standard output.
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "kerntrace/capi.h"
#include "mock_cupti.h"
#include "nvtx_abi.h"

namespace nvtx = kerntrace::nvtx;

namespace {

template <class Function>
Function find(void *library, const char *name) {
  void *address = library != nullptr ? dlsym(library, name) : nullptr;
  if (address == nullptr) {
    std::fprintf(stderr, "program: no %s: %s\n", name, library != nullptr ? "missing" : dlerror());
    std::exit(99);
  }
  Function function = nullptr;
  std::memcpy(&function, &address, sizeof function);
  return function;
}

// The mock is found by name among the mapped libraries, as a program's own CUDA libraries would be.
template <class Function>
Function mock(const char *name) {
  static void *const library = dlopen(std::getenv("MOCK_CUPTI"), RTLD_NOW);
  return find<Function>(library, name);
}

template <class Function>
Function ours(const char *name) {
  static void *const library = dlopen(std::getenv("KERNTRACE_LIBRARY"), RTLD_NOW);
  return find<Function>(library, name);
}

void report(int code) {
  if (code == KT_OK) return;
  std::printf("%s: %s\n", ours<const char *(*)(int)>("kt_code_name")(code), ours<const char *(*)()>("kt_error")());
  std::fflush(stdout);
}

// An NVTX client: places for the functions of both modules, which the tool fills in.
nvtx::Function g_functions[2][16];
nvtx::Function *g_places[2][16];

int function_table(std::uint32_t module, nvtx::FunctionTable *table, unsigned *count) {
  if (module != nvtx::kModuleCore && module != nvtx::kModuleCore2) return 0;
  const int index = module == nvtx::kModuleCore ? 0 : 1;
  for (int i = 1; i < 16; ++i) g_places[index][i] = &g_functions[index][i];
  *table = g_places[index];
  *count = 16;
  return 1;
}

const void *export_table(std::uint32_t id) {
  static const nvtx::ExportTable table{sizeof(nvtx::ExportTable), function_table};
  return id == nvtx::kExportCallbacks ? &table : nullptr;
}

template <class Function>
Function core(unsigned id) {
  return reinterpret_cast<Function>(g_functions[0][id]);
}

template <class Function>
Function core2(unsigned id) {
  return reinterpret_cast<Function>(g_functions[1][id]);
}

void load_nvtx() {
  void *tool = dlopen(std::getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY);
  if (find<int (*)(nvtx::GetExportTable)>(tool, "InitializeInjectionNvtx2")(export_table) != 1) std::exit(98);
}

void load_cuda() {
  if (const char *path = std::getenv("CUDA_INJECTION64_PATH")) find<int (*)()>(dlopen(path, RTLD_LAZY), "InitializeInjection")();
}

void *domain(const std::string &name) {
  static std::vector<std::pair<std::string, void *>> known;
  for (auto &one : known) {
    if (one.first == name) return one.second;
  }
  known.emplace_back(name, core2<void *(*)(const char *)>(nvtx::kDomainCreateA)(name.c_str()));
  return known.back().second;
}

void push_registered(const std::string &value) {
  const std::size_t slash = value.find('/');
  void *where = domain(value.substr(0, slash));
  const std::string name = value.substr(slash + 1);
  nvtx::Attributes attributes{};
  attributes.version = 3;
  attributes.size = sizeof attributes;
  attributes.message_type = nvtx::kMessageRegistered;
  attributes.message = core2<void *(*)(void *, const char *)>(nvtx::kDomainRegisterStringA)(where, name.c_str());
  core2<int (*)(void *, const nvtx::Attributes *)>(nvtx::kDomainRangePushEx)(where, &attributes);
}

void push_payload(std::int64_t payload) {
  nvtx::Attributes attributes{};
  attributes.version = 3;
  attributes.size = sizeof attributes;
  attributes.message_type = nvtx::kMessageAscii;
  attributes.message = "with payload";
  attributes.payload_type = nvtx::kPayloadSigned64;
  attributes.payload = static_cast<std::uint64_t>(payload);
  core<int (*)(const nvtx::Attributes *)>(nvtx::kRangePushEx)(&attributes);
}

bool do_range(const std::string &what, const std::string &value) {
  static std::uint64_t started = 0;
  if (what == "push") {
    core<int (*)(const char *)>(nvtx::kRangePushA)(value.c_str());
  } else if (what == "wpush") {
    core<int (*)(const wchar_t *)>(nvtx::kRangePushW)(std::wstring(value.begin(), value.end()).append(L"\u00e9\U0001f600").c_str());
  } else if (what == "rpush") {
    push_registered(value);
  } else if (what == "payload") {
    push_payload(std::atoll(value.c_str()));
  } else if (what == "pop") {
    core<int (*)()>(nvtx::kRangePop)();
  } else if (what == "rpop") {
    core2<int (*)(void *)>(nvtx::kDomainRangePop)(domain(value));
  } else if (what == "from") {
    started = core<std::uint64_t (*)(const char *)>(nvtx::kRangeStartA)(value.c_str());
  } else if (what == "to") {
    core<void (*)(std::uint64_t)>(nvtx::kRangeEnd)(started);
  } else if (what == "nvtxload") {
    for (int i = 0; i < std::atoi(value.c_str()); ++i) {
      core<int (*)(const char *)>(nvtx::kRangePushA)(("load " + std::to_string(i)).c_str());
      core<int (*)()>(nvtx::kRangePop)();
    }
  } else {
    return false;
  }
  return true;
}

void launch(const char *name, std::uint32_t nodes, int times) {
  for (int i = 0; i < times; ++i) mock<decltype(&mock_launch)>("mock_launch")(name, nodes, 7);
}

void launch_in_threads(int threads, int times) {
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) running.emplace_back(launch, "threaded", 0, times);
  for (auto &thread : running) thread.join();
}

bool do_work(const std::string &what, const std::string &value) {
  const int times = std::atoi(value.c_str());
  const std::size_t by = value.find('x');
  const int second = by == std::string::npos ? 0 : std::atoi(value.c_str() + by + 1);
  if (what == "launch") {
    launch("_Z6vecAddPKfS0_Pfi", 0, times);
  } else if (what == "graph") {
    launch("graph_kernel", static_cast<std::uint32_t>(second), times);
  } else if (what == "late") {
    for (int i = 0; i < times; ++i) mock<decltype(&mock_late_launch)>("mock_late_launch")();
  } else if (what == "renamed") {
    static char name[64];  // one address, another name each time, as after a module was reloaded
    std::snprintf(name, sizeof name, "%s", value.c_str());
    launch(name, 0, 1);
  } else if (what == "threads") {
    launch_in_threads(times, second);
  } else if (what == "bulk") {
    mock<decltype(&mock_bulk)>("mock_bulk")(static_cast<std::uint64_t>(times));
  } else if (what == "memcpy" || what == "memset") {
    for (int i = 0; i < times; ++i) mock<decltype(&mock_memcpy)>(("mock_" + what).c_str())(4096);
  } else if (what == "sync" || what == "overhead" || what == "malloc") {
    for (int i = 0; i < times; ++i) mock<decltype(&mock_sync)>(("mock_" + what).c_str())();
  } else if (what == "untimed") {
    for (int i = 0; i < times; ++i) mock<decltype(&mock_untimed_kernel)>("mock_untimed_kernel")();
  } else if (what == "garbage" || what == "fatal") {
    mock<decltype(&mock_garbage)>(("mock_" + what).c_str())();
  } else if (what == "start" || what == "stop") {
    mock<decltype(&mock_profiler)>("mock_profiler")(what == "start" ? 1 : 0);
  } else if (what == "dirty") {
    std::printf("dirty buffers: %d\n", static_cast<int>(mock<decltype(&mock_dirty_buffers)>("mock_dirty_buffers")()));
  } else {
    return false;
  }
  return true;
}

bool do_call(const std::string &what, std::string value) {
  if (what == "call") {
    for (char &c : value) c = c == ';' ? '\n' : c;
    report(ours<int (*)(const char *)>("kt_start")(value.c_str()));
  } else if (what == "open" || what == "close") {
    report(ours<int (*)()>(("kt_" + what + "_window").c_str())());
  } else if (what == "flush" || what == "end") {
    const auto patience = static_cast<std::uint32_t>(value.empty() ? 10000 : std::atoi(value.c_str()));
    report(ours<int (*)(std::uint32_t)>(what == "flush" ? "kt_flush" : "kt_stop")(patience));
  } else {
    return false;
  }
  return true;
}

void limit_file_size(const std::string &value) {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = std::strtoull(value.c_str(), nullptr, 10);
  setrlimit(RLIMIT_FSIZE, &limit);
}

bool do_process(const std::string &what, const std::string &value, char **rest) {
  if (what == "init") {
    load_cuda();
  } else if (what == "nvtx") {
    load_nvtx();
  } else if (what == "sleep") {
    usleep(static_cast<useconds_t>(std::atoi(value.c_str())) * 1000);
  } else if (what == "print") {
    std::printf("%s\n", value.c_str());
    std::fflush(stdout);
  } else if (what == "kill") {
    raise(SIGKILL);
  } else if (what == "exit") {
    std::exit(std::atoi(value.c_str()));
  } else if (what == "filesize") {
    limit_file_size(value);
  } else if (what == "exec") {
    std::vector<char *> arguments{const_cast<char *>("program")};
    for (; *rest != nullptr; ++rest) arguments.push_back(*rest);
    arguments.push_back(nullptr);
    std::fflush(stdout);
    execv("/proc/self/exe", arguments.data());
  } else {
    return false;
  }
  return true;
}

int run(char **arguments);

// Fork; the child does what comes before `join`. Returns where the parent goes on.
char **fork_until_join(char **arguments, bool leave_quietly) {
  char **join = arguments;
  while (*join != nullptr && std::strcmp(*join, "join") != 0) ++join;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    *join = nullptr;
    const int code = run(arguments);
    if (leave_quietly) _exit(code);
    std::exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) std::printf("child ended with status %d\n", status);
  return join + 1;
}

int run(char **arguments) {
  while (*arguments != nullptr) {
    const std::string argument = *arguments++;
    const std::size_t colon = argument.find(':');
    const std::string what = argument.substr(0, colon);
    const std::string value = colon == std::string::npos ? "" : argument.substr(colon + 1);
    if (what == "fork" || what == "_fork") {
      arguments = fork_until_join(arguments, what == "_fork");
    } else if (!do_work(what, value) && !do_range(what, value) && !do_call(what, value) && !do_process(what, value, arguments)) {
      std::fprintf(stderr, "program: cannot do %s\n", argument.c_str());
      return 97;
    }
  }
  return 0;
}

}  // namespace

int main(int, char **argv) { return run(argv + 1); }
