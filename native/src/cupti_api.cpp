#include "cupti_api.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <vector>

namespace kerntrace {
namespace {

int find_mapped(dl_phdr_info *info, std::size_t, void *found) {
  const char *file = std::strrchr(info->dlpi_name, '/');
  file = file != nullptr ? file + 1 : info->dlpi_name;
  if (std::strncmp(file, "libcupti.so", 11) != 0) return 0;
  *static_cast<std::string *>(found) = info->dlpi_name;
  return 1;
}

std::vector<std::string> split(const std::string &paths) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < paths.size();) {
    std::size_t end = paths.find(':', at);
    if (end == std::string::npos) end = paths.size();
    if (end > at) parts.push_back(paths.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string path_of(void *address, const std::string &otherwise) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : otherwise;
}

void *open_library(const std::string &paths, std::string &path, std::string &reason) {
  dl_iterate_phdr(find_mapped, &path);
  if (!path.empty()) {
    if (void *mapped = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD)) return mapped;
  }
  std::vector<std::string> candidates = split(paths);
  const bool named = !candidates.empty();
  for (const char *usual : {"libcupti.so.13", "libcupti.so.12", "libcupti.so", "/usr/local/cuda/lib64/libcupti.so",
                            "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"}) {
    candidates.emplace_back(usual);
  }
  for (const std::string &candidate : candidates) {
    if (void *library = dlopen(candidate.c_str(), RTLD_NOW)) {
      path = candidate;
      return library;
    }
    if (reason.empty() && named) reason = dlerror();  // of the paths tried, the first one asked for is the one to explain
  }
  path.clear();
  return nullptr;
}

template <class Function>
bool find(void *library, const char *name, Function &function) {
  void *address = dlsym(library, name);
  std::memcpy(&function, &address, sizeof function);
  return address != nullptr;
}

const char *find_all(void *library, CuptiApi &api) {
  find(library, "cuptiSubscribe_v2", api.subscribe_v2);
  find(library, "cuptiActivityEnableAndDump", api.activity_enable_and_dump);
#define KT_FIND(symbol, member) \
  if (!find(library, symbol, api.member)) return symbol;
  KT_FIND("cuptiActivityEnable", activity_enable)
  KT_FIND("cuptiActivityDisable", activity_disable)
  KT_FIND("cuptiActivityRegisterCallbacks", activity_register)
  KT_FIND("cuptiActivityFlushAll", activity_flush)
  KT_FIND("cuptiActivityGetNextRecord", activity_next)
  KT_FIND("cuptiActivityGetNumDroppedRecords", activity_dropped)
  KT_FIND("cuptiActivitySetAttribute", activity_set_attribute)
  KT_FIND("cuptiSetThreadIdType", set_thread_id_type)
  KT_FIND("cuptiGetTimestamp", timestamp)
  KT_FIND("cuptiGetVersion", version)
  KT_FIND("cuptiGetResultString", result_string)
  KT_FIND("cuptiGetCallbackName", callback_name)
  KT_FIND("cuptiSubscribe", subscribe)
  KT_FIND("cuptiUnsubscribe", unsubscribe)
  KT_FIND("cuptiEnableCallback", enable_callback)
#undef KT_FIND
  return nullptr;
}

bool driver_present() {
  // RTLD_NOLOAD first: where the driver is mapped, nothing is opened twice.
  return dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) != nullptr || dlopen("libcuda.so.1", RTLD_LAZY) != nullptr;
}

}  // namespace

Failure load_cupti(const std::string &paths, CuptiApi &api) {
  std::string reason;
  void *library = open_library(paths, api.path, reason);
  if (library == nullptr) {
    return {KT_NO_CUPTI, 0, "no libcupti was found" + (reason.empty() ? std::string() : ": " + reason)};
  }
  if (const char *missing = find_all(library, api)) {
    return {KT_OLD_CUPTI, 0, api.path + " has no " + missing + ": it is older than CUDA 12"};
  }
  void *address = nullptr;
  std::memcpy(&address, &api.version, sizeof address);
  api.path = path_of(address, api.path);
  if (api.version(&api.version_number) != cupti::kSuccess || api.version_number < cupti::kOldestVersion) {
    return {KT_OLD_CUPTI, 0, api.path + " is older than CUDA 12"};
  }
  return {};
}

Failure cupti_failure(const CuptiApi &api, const char *call, cupti::Result result) {
  const char *word = nullptr;
  if (api.result_string(result, &word) != cupti::kSuccess || word == nullptr) word = "unknown result";
  std::string message = std::string(call) + ": " + word + " (" + std::to_string(result) + ")";
  switch (result) {
    case cupti::kMultipleSubscribers:
      return {KT_CUPTI_TAKEN, result, "another tool holds CUPTI in this process"};
    case cupti::kInsufficientPrivileges:
    case cupti::kVirtualizedInsufficientPrivileges:
      return {KT_NO_PERMISSION, result, message + ": the driver does not let this user profile"};
    default:
      // Without a driver CUPTI says no more than "unknown"; whether there is one is asked only now, once something failed.
      if (!driver_present()) return {KT_NO_DRIVER, result, "the NVIDIA driver (libcuda.so.1) is missing"};
      return {KT_CUPTI_FAILED, result, message};
  }
}

Failure subscribe(const CuptiApi &api, cupti::Callback callback, cupti::Subscriber *subscriber) {
  if (api.subscribe_v2 == nullptr) {
    const cupti::Result result = api.subscribe(subscriber, callback, nullptr);
    return result == cupti::kSuccess ? Failure{} : cupti_failure(api, "cuptiSubscribe", result);
  }
  char holder[128] = {};
  cupti::SubscriberParams params{sizeof params, "kerntrace", holder, sizeof holder};
  const cupti::Result result = api.subscribe_v2(subscriber, callback, nullptr, &params);
  if (result == cupti::kSuccess) return {};
  Failure failure = cupti_failure(api, "cuptiSubscribe_v2", result);
  holder[sizeof holder - 1] = '\0';
  if (failure.code == KT_CUPTI_TAKEN && holder[0] != '\0') failure.message += ": " + std::string(holder);
  return failure;
}

}  // namespace kerntrace
