// Appends chunks to a shard file. One owner, one thread at a time.
#ifndef KERNTRACE_SHARD_H
#define KERNTRACE_SHARD_H

#include <cstddef>
#include <cstdint>
#include <string>

#include "kerntrace/records.h"

namespace kerntrace {

enum class Sync : std::uint8_t { kNone, kClose, kChunk };

class ShardWriter {
 public:
  ShardWriter() = default;
  ShardWriter(const ShardWriter &) = delete;
  ShardWriter &operator=(const ShardWriter &) = delete;

  // Create DIRECTORY/kt-PID-START.ktshard and write its session and its reserved last word. False: see error().
  bool open(const std::string &directory, const SessionRecord &session, Sync sync);

  // Append one chunk of `count` records. A chunk that does not fit whole is taken back and false returned: see error().
  bool append(ChunkType type, std::uint32_t count, std::uint32_t record_bytes, const void *payload, std::size_t length);

  template <class Record>
  bool append(ChunkType type, const Record *records, std::size_t count) {
    return append(type, static_cast<std::uint32_t>(count), sizeof(Record), records, count * sizeof(Record));
  }

  // Write the status over the reserved chunk, which works on a full disk too.
  bool last_word(const StatusRecord &status);

  void close();

  // Give up the file without writing: for a forked child, whose parent still writes to it.
  void abandon() noexcept;

  bool is_open() const { return fd_ >= 0; }
  int error() const { return error_; }
  std::uint64_t bytes_written() const { return offset_; }
  const std::string &path() const { return path_; }

 private:
  int fd_ = -1;
  int error_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t last_word_at_ = 0;
  Sync sync_ = Sync::kNone;
  std::string path_;
};

}  // namespace kerntrace

#endif
