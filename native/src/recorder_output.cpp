// The part of the recorder that writes: rows, events and status to the shard.
#include <cstring>

#include "clock.h"
#include "recorder.h"

namespace kerntrace {
namespace {

template <class Record>
bool put(ShardWriter &writer, ChunkType type, const std::vector<Record> &records) {
  return records.empty() || writer.append(type, records.data(), records.size());
}

}  // namespace

bool Recorder::write_out() {
  if (dead_) return false;
  const std::uint64_t start = monotonic_ns();
  const std::vector<WindowRecord> windows = windows_.take_events();
  ranges_.take(events_);
  Rows &rows = decoder_.rows;
  // Names after events and rows were collected, before they are written: a reader knows every id when it meets it.
  const std::uint32_t texts = names_.take_new(text_);
  const bool written =
      (texts == 0 || writer_.append(ChunkType::kNames, texts, sizeof(NameEntry), text_.data(), text_.size())) &&
      put(writer_, ChunkType::kWindows, windows) && put(writer_, ChunkType::kDevices, rows.devices) &&
      put(writer_, ChunkType::kKernels, rows.kernels) && put(writer_, ChunkType::kMemops, rows.memops) &&
      put(writer_, ChunkType::kApiCalls, rows.api_calls) && put(writer_, ChunkType::kSyncs, rows.syncs) &&
      put(writer_, ChunkType::kOverheads, rows.overheads) && put(writer_, ChunkType::kGraphSpans, rows.graph_spans) &&
      put(writer_, ChunkType::kRangeEvents, events_);
  if (!written) {
    note({KT_DISK, 0, "the shard cannot be written: " + std::string(std::strerror(writer_.error()))});
    disk_failed();
    return false;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    status_.kernels += rows.kernels.size();
    status_.memops += rows.memops.size();
    status_.api_calls += rows.api_calls.size();
    status_.syncs += rows.syncs.size();
    status_.overheads += rows.overheads.size();
    status_.graph_spans += rows.graph_spans.size();
    status_.range_events += events_.size();
    status_.write_ns += monotonic_ns() - start;
  }
  rows.clear();
  return true;
}

void Recorder::write_status(Phase phase) {
  if (dead_) return;
  const ClockRecord clocks = session_.read_clocks();
  StatusRecord status{};
  const std::uint64_t dropped = session_.started() ? session_.take_dropped() : 0;
  const PoolCounts pool = pool_.counts();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    status_.time_ns = clocks.realtime_after_ns;
    status_.phase = static_cast<std::uint32_t>(phase);
    status_.dropped += dropped;
    status_.dropped += calls_.take_dropped();
    status_.zero_timestamps = decoder_.counts.zero_timestamps;
    status_.outside_window = decoder_.counts.outside_window;
    status_.unknown_records = decoder_.counts.unknown_records;
    status_.bad_buffers = decoder_.counts.bad_buffers;
    status_.refused_buffers = pool.refused;
    status_.lost_names = names_.lost() + ranges_.dropped();
    status_.buffers = pool.completed;
    status_.peak_buffers = pool.allocated;
    status_.bytes_written = writer_.bytes_written();
    status = status_;
  }
  if (!writer_.append(ChunkType::kClocks, &clocks, 1) || !writer_.append(ChunkType::kStatus, &status, 1)) {
    note({KT_DISK, 0, "the shard cannot be written: " + std::string(std::strerror(writer_.error()))});
    disk_failed();
  }
  status_written_at_ = writer_.bytes_written();
}

void Recorder::disk_failed() {
  dead_ = true;
  takes_ranges_ = false;
  StatusRecord status{};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    status_.time_ns = realtime_ns();
    status_.phase = static_cast<std::uint32_t>(Phase::kFailed);
    status_.bytes_written = writer_.bytes_written();
    status = status_;
  }
  writer_.last_word(status);
  writer_.close();
  session_.disable();  // from here on the program runs as if it were not recorded
  decoder_.rows.clear();
}

}  // namespace kerntrace
