#include "shard.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "crc32.h"

namespace kerntrace {
namespace {

constexpr char kZeros[8] = {};

ChunkHeader header_of(ChunkType type, std::uint32_t count, std::uint32_t record_bytes, const void *payload, std::size_t length) {
  ChunkHeader header{};
  header.magic = kMagic;
  header.version = kVersion;
  header.type = static_cast<std::uint16_t>(type);
  header.count = count;
  header.record_bytes = record_bytes;
  header.length = length;
  header.payload_crc = crc32(payload, length);
  header.header_crc = crc32(&header, sizeof header - sizeof header.header_crc);
  return header;
}

// While it lives, this thread's writes beyond the limit on file sizes fail instead of ending the program: the shard is opened
// on one of the program's threads. The worker, which writes the rest, blocks all signals for good.
class NoSizeSignal {
 public:
  NoSizeSignal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~NoSizeSignal() {
    if (sigismember(&before_, SIGXFSZ) == 1) return;
    const timespec now{};
    sigtimedwait(&signal_, nullptr, &now);  // take the one that is pending, if any
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSizeSignal(const NoSizeSignal &) = delete;
  NoSizeSignal &operator=(const NoSizeSignal &) = delete;

 private:
  sigset_t signal_{};
  sigset_t before_{};
};

iovec part(const void *data, std::size_t size) {
  return {const_cast<void *>(data), size};  // iovec serves readv too, hence not const; writev only reads
}

// Write all parts at `offset`, however many calls that takes. Returns 0 or the error number.
int write_all(int fd, iovec *parts, int count, std::uint64_t offset) {
  while (count > 0) {
    const ssize_t wrote = pwritev(fd, parts, count, static_cast<off_t>(offset));
    if (wrote < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    if (wrote == 0) return ENOSPC;
    offset += static_cast<std::uint64_t>(wrote);
    auto left = static_cast<std::size_t>(wrote);
    while (count > 0 && left >= parts->iov_len) {
      left -= parts->iov_len;
      ++parts;
      --count;
    }
    if (count > 0 && left > 0) {
      parts->iov_base = static_cast<char *>(parts->iov_base) + left;
      parts->iov_len -= left;
    }
  }
  return 0;
}

}  // namespace

bool ShardWriter::open(const std::string &directory, const SessionRecord &session, Sync sync) {
  const NoSizeSignal quiet;
  sync_ = sync;
  path_ = directory + "/kt-" + std::to_string(session.pid) + "-" + std::to_string(session.start_realtime_ns) + kShardSuffix;
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd_ < 0) {
    error_ = errno;
    return false;
  }
  const StatusRecord unspoken{};
  bool begun = append(ChunkType::kSession, &session, 1);
  last_word_at_ = offset_;
  begun = begun && append(ChunkType::kStatus, &unspoken, 1);
  if (!begun) {
    close();
    unlink(path_.c_str());
  }
  return begun;
}

bool ShardWriter::append(ChunkType type, std::uint32_t count, std::uint32_t record_bytes, const void *payload,
                         std::size_t length) {
  if (fd_ < 0) return false;
  ChunkHeader header = header_of(type, count, record_bytes, payload, length);
  const std::size_t padding = (8 - length % 8) % 8;
  iovec parts[3] = {part(&header, sizeof header), part(payload, length), part(kZeros, padding)};
  error_ = write_all(fd_, parts, 3, offset_);
  if (error_ != 0) {
    if (ftruncate(fd_, static_cast<off_t>(offset_)) != 0) error_ = error_ != 0 ? error_ : errno;
    return false;
  }
  offset_ += sizeof header + length + padding;
  if (sync_ == Sync::kChunk) fdatasync(fd_);
  return true;
}

bool ShardWriter::last_word(const StatusRecord &status) {
  if (fd_ < 0 || last_word_at_ == 0) return false;
  ChunkHeader header = header_of(ChunkType::kStatus, 1, sizeof status, &status, sizeof status);
  iovec parts[2] = {part(&header, sizeof header), part(&status, sizeof status)};
  return write_all(fd_, parts, 2, last_word_at_) == 0;
}

void ShardWriter::close() {
  if (fd_ < 0) return;
  if (sync_ != Sync::kNone) fdatasync(fd_);
  ::close(fd_);
  fd_ = -1;
}

void ShardWriter::abandon() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace kerntrace
