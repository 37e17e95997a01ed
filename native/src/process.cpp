#include "process.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <new>

#include "thread_id.h"

namespace kerntrace {

std::atomic<bool> g_child_may_begin{false};

namespace {

// Never destroyed: the program's threads may come here while it exits.
std::mutex &g_start = *new std::mutex;
bool g_handlers = false;
bool g_injected = false;
bool g_forked = false;
bool g_cupti_forbidden = false;

void at_exit() {
  Recorder *recorder = Recorder::current();
  if (recorder != nullptr) recorder->stop(recorder->config().exit_ms, Stop::kExit);
}

// Only this thread exists in the child. The parent's recorder, its worker, its locks and CUPTI itself are copies that
// nobody serves: they are left alone.
void in_child() {
  forget_thread_id();
  new (&g_start) std::mutex;
  g_cupti_forbidden = g_cupti_forbidden || CuptiSession::used();
  if (!Recorder::forget()) return;
  g_forked = true;
  g_child_may_begin.store(g_injected);
}

void install_handlers() {
  if (g_handlers) return;
  g_handlers = true;
  pthread_atfork(nullptr, nullptr, in_child);
  std::atexit(at_exit);
  at_quick_exit(at_exit);
}

}  // namespace

void start_injected(bool with_cupti) {
  const std::lock_guard<std::mutex> lock(g_start);
  g_child_may_begin.store(false);
  Config config;
  const Failure wrong = read_environment(config);
  if (config.directory.empty()) return;
  g_injected = true;
  install_handlers();
  if (Recorder::current() == nullptr) {
    if (Recorder::ended() || Recorder::begin(config, g_forked)) return;
  }
  Recorder *recorder = Recorder::current();
  if (wrong) {
    recorder->note(wrong);
  } else if (with_cupti && g_cupti_forbidden) {
    recorder->note({KT_FORKED, 0, "CUPTI was in use when this process was forked, so its CUDA work is not recorded"});
  } else if (with_cupti && !recorder->session().started()) {
    recorder->start_cupti(Attach::kInInit);
    // Handlers run in reverse: one registered now, however early the recording began, runs before the driver's and CUPTI's.
    std::atexit(at_exit);
  }
}

Failure start_called(const Config &config) {
  const std::lock_guard<std::mutex> lock(g_start);
  if (Recorder::current() != nullptr) return {KT_STATE, 0, "this process is being recorded already"};
  if (g_cupti_forbidden) return {KT_FORKED, 0, "CUPTI was in use when this process was forked"};
  if (CuptiSession::used()) return {KT_STATE, 0, "this process has had its CUPTI session; record another process"};
  if (config.directory.empty()) return {KT_BAD_SETTING, 0, "directory: not set"};
  install_handlers();
  if (Failure failure = Recorder::begin(config, g_forked)) return failure;
  Recorder *recorder = Recorder::current();
  Failure failure = recorder->start_cupti(Attach::kLater);
  std::atexit(at_exit);  // as above
  if (failure) {
    const std::string shard = recorder->shard_path();
    recorder->stop(config.exit_ms, Stop::kCall);
    unlink(shard.c_str());  // it holds nothing but this error, which the caller has
  }
  return failure;
}

Recorder *begin_in_child() {
  start_injected(false);
  return Recorder::current();
}

}  // namespace kerntrace
