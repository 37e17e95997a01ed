#include "kerntrace/capi.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "clock.h"
#include "process.h"
#include "ranges.h"

#ifndef KERNTRACE_VERSION
#define KERNTRACE_VERSION "unknown"
#endif

namespace kerntrace {
namespace {

thread_local std::string t_error;

constexpr const char *kCodeNames[] = {"ok",           "bad-setting",   "no-cupti",     "old-cupti",     "no-driver",
                                      "cupti-taken",  "no-permission", "cupti-failed", "foreign-clock", "disk",
                                      "state",        "timeout",       "forked",       "no-memory"};

int answer(const Failure &failure) {
  if (failure) t_error = failure.message;
  return failure.code;
}

Failure not_recording() { return {KT_STATE, 0, "this process is not being recorded"}; }

// No exception may cross into C; the only ones there are say that memory is out.
template <class Action>
int guarded(Action action) noexcept {
  try {
    return answer(action());
  } catch (...) {
    return KT_NO_MEMORY;
  }
}

Text &own_domain() {
  static Text &domain = *new Text("kerntrace");
  return domain;
}

void ignore_callback(void *, std::uint32_t, std::uint32_t, const void *) {}

Failure probe(const char *paths, std::string &text) {
  CuptiApi api{};
  Failure failure = load_cupti(paths != nullptr ? paths : "", api);
  if (!failure && !CuptiSession::used()) {
    cupti::Subscriber subscriber = nullptr;
    failure = subscribe(api, ignore_callback, &subscriber);
    if (!failure) api.unsubscribe(subscriber);
  }
  text = "path=" + api.path + "\nversion=" + std::to_string(api.version_number) + "\ncode=" + kt_code_name(failure.code) +
         "\nmessage=" + failure.message + "\n";
  return failure;
}

}  // namespace
}  // namespace kerntrace

using kerntrace::Failure;
using kerntrace::guarded;
using kerntrace::Recorder;

int kt_start(const char *settings) {
  return guarded([&]() -> Failure {
    kerntrace::Config config;
    if (Failure failure = kerntrace::read_settings(settings, config)) return failure;
    return kerntrace::start_called(config);
  });
}

int kt_open_window(void) {
  return guarded([]() -> Failure {
    Recorder *recorder = Recorder::current();
    if (recorder == nullptr) return kerntrace::not_recording();
    return recorder->open_window();
  });
}

int kt_close_window(void) {
  return guarded([]() -> Failure {
    Recorder *recorder = Recorder::current();
    if (recorder == nullptr) return kerntrace::not_recording();
    recorder->close_window();
    return {};
  });
}

int kt_flush(uint32_t timeout_ms) {
  return guarded([&]() -> Failure {
    Recorder *recorder = Recorder::current();
    return recorder != nullptr ? recorder->flush(timeout_ms) : kerntrace::not_recording();
  });
}

int kt_stop(uint32_t timeout_ms) {
  return guarded([&]() -> Failure {
    Recorder *recorder = Recorder::current();
    return recorder != nullptr ? recorder->stop(timeout_ms, kerntrace::Stop::kCall) : kerntrace::not_recording();
  });
}

int kt_recording(void) { return Recorder::current() != nullptr ? 1 : 0; }

int kt_status(void *record, size_t size) {
  return guarded([&]() -> Failure {
    Recorder *recorder = Recorder::current();
    if (recorder == nullptr) return kerntrace::not_recording();
    const kerntrace::StatusRecord status = recorder->status();
    std::memcpy(record, &status, std::min(size, sizeof status));
    return {};
  });
}

const char *kt_shard(void) {
  thread_local std::string path;
  const Recorder *recorder = Recorder::current();
  path = recorder != nullptr ? recorder->shard_path() : "";
  return path.c_str();
}

void kt_push(const char *name, int64_t payload) {
  kerntrace::Label label;
  if (name != nullptr) label.text = name;
  label.payload = payload;
  label.payload_type = kerntrace::Payload::kInteger;
  kerntrace::push_range(&kerntrace::own_domain(), label);
}

void kt_pop(void) { kerntrace::pop_range(&kerntrace::own_domain()); }

uint64_t kt_timestamp(void) {
  const Recorder *recorder = Recorder::current();
  std::uint64_t now = 0;
  if (recorder != nullptr && recorder->session().started() && recorder->session().api().timestamp(&now) == 0) return now;
  return kerntrace::realtime_ns();
}

int kt_probe(const char *cupti_paths, char *text, size_t size) {
  return guarded([&]() -> Failure {
    std::string found;
    Failure failure = kerntrace::probe(cupti_paths, found);
    if (size > 0) {
      const std::size_t length = std::min(found.size(), size - 1);
      std::memcpy(text, found.data(), length);
      text[length] = '\0';
    }
    return failure;
  });
}

const char *kt_error(void) { return kerntrace::t_error.c_str(); }

const char *kt_code_name(int code) {
  constexpr int kCount = sizeof kerntrace::kCodeNames / sizeof *kerntrace::kCodeNames;
  return code >= 0 && code < kCount ? kerntrace::kCodeNames[code] : "unknown";
}

const char *kt_version(void) { return KERNTRACE_VERSION; }
