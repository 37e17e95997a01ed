#include "config.h"

#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace kerntrace {
namespace {

struct NamedKind {
  const char *name;
  std::uint32_t kind;
};

constexpr NamedKind kKinds[] = {{"kernels", kKindKernels}, {"memops", kKindMemops},       {"launches", kKindLaunches},
                                {"api", kKindApi},         {"syncs", kKindSyncs},         {"overheads", kKindOverheads},
                                {"ranges", kKindRanges},   {"graphs", kKindGraphs}};

constexpr const char *kSettings[] = {"directory",    "kinds",       "range",    "cupti",   "buffer_bytes",
                                     "max_buffers",  "flush_ms",    "exit_ms",  "sync"};

Failure bad(std::string message) { return {KT_BAD_SETTING, 0, std::move(message)}; }

Failure read_kinds(const std::string &value, Config &config) {
  std::uint32_t kinds = 0;
  for (std::size_t at = 0; at <= value.size();) {
    std::size_t end = value.find(',', at);
    if (end == std::string::npos) end = value.size();
    const std::string word = value.substr(at, end - at);
    std::uint32_t kind = 0;
    for (const NamedKind &known : kKinds) {
      if (word == known.name) kind = known.kind;
    }
    if (kind == 0) return bad("kinds: '" + word + "' is no kind of record");
    kinds |= kind;
    at = end + 1;
  }
  // With whole-graph records on, CUPTI leaves out those of the graph's kernels: the levels need a run each.
  if ((kinds & kKindGraphs) != 0 && (kinds & kKindKernels) != 0) {
    return bad("kinds: graphs and kernels exclude each other; record each in a run of its own");
  }
  config.kinds = kinds;
  return {};
}

Failure read_range(const std::string &value, Config &config) {
  config.range_name.clear();
  if (value == "all") {
    config.range = RangeMode::kAll;
  } else if (value == "cuda") {
    config.range = RangeMode::kCuda;
  } else if (value == "manual") {
    config.range = RangeMode::kManual;
  } else if (value.rfind("nvtx:", 0) == 0 && value.size() > 5) {
    config.range = RangeMode::kNvtx;
    config.range_name = value.substr(5);
  } else {
    return bad("range: '" + value + "' is not all, cuda, manual or nvtx:NAME");
  }
  return {};
}

template <class Number>
Failure read_number(const std::string &name, const std::string &value, std::uint64_t lowest, std::uint64_t highest,
                    Number &number) {
  char *end = nullptr;
  errno = 0;
  const unsigned long long parsed = std::strtoull(value.c_str(), &end, 10);
  if (value.empty() || *end != '\0' || value[0] == '-' || errno != 0 || parsed < lowest || parsed > highest) {
    return bad(name + ": '" + value + "' is not a number from " + std::to_string(lowest) + " to " + std::to_string(highest));
  }
  number = static_cast<Number>(parsed);
  return {};
}

Failure read_sync(const std::string &value, Config &config) {
  if (value == "none") {
    config.sync = Sync::kNone;
  } else if (value == "close") {
    config.sync = Sync::kClose;
  } else if (value == "chunk") {
    config.sync = Sync::kChunk;
  } else {
    return bad("sync: '" + value + "' is not none, close or chunk");
  }
  return {};
}

Failure read_setting(const std::string &name, const std::string &value, Config &config) {
  constexpr std::uint64_t kHour = 3600 * 1000;
  if (name == "directory") {
    config.directory = value;
    return {};
  }
  if (name == "cupti") {
    config.cupti = value;
    return {};
  }
  if (name == "kinds") return read_kinds(value, config);
  if (name == "range") return read_range(value, config);
  if (name == "sync") return read_sync(value, config);
  if (name == "buffer_bytes") return read_number(name, value, 4096, 1U << 30, config.buffer_bytes);
  if (name == "max_buffers") return read_number(name, value, 1, 1U << 16, config.max_buffers);
  if (name == "flush_ms") return read_number(name, value, 0, kHour, config.flush_ms);
  if (name == "exit_ms") return read_number(name, value, 0, kHour, config.exit_ms);
  return bad("'" + name + "' is not a setting");
}

}  // namespace

Failure read_settings(const char *lines, Config &config) {
  std::string_view rest(lines != nullptr ? lines : "");
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (line.empty()) continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) return bad("'" + std::string(line) + "' is not name=value");
    if (Failure failure = read_setting(std::string(line.substr(0, equals)), std::string(line.substr(equals + 1)), config)) {
      return failure;
    }
  }
  return {};
}

Failure read_environment(Config &config) {
  Failure first;
  for (const char *setting : kSettings) {
    std::string variable = "KERNTRACE_";
    for (const char *c = setting; *c != '\0'; ++c) variable += *c == '_' ? '_' : static_cast<char>(*c - 'a' + 'A');
    const char *value = std::getenv(variable.c_str());
    if (value == nullptr || *value == '\0') continue;
    if (Failure failure = read_setting(setting, value, config)) {
      if (!first) first = std::move(failure);  // go on: the directory is needed to leave the error in a shard
    }
  }
  return first;
}

}  // namespace kerntrace
