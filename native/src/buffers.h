// Activity buffers: handed to CUPTI zeroed, taken back full, zeroed again by the worker. CUPTI asks for and completes them
// on the program's own threads, so request() and complete() only move pointers.
#ifndef KERNTRACE_BUFFERS_H
#define KERNTRACE_BUFFERS_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace kerntrace {

struct FullBuffer {
  std::uint8_t *data;
  std::size_t valid;
};

struct PoolCounts {
  std::uint64_t requested;
  std::uint64_t refused;
  std::uint64_t completed;
  std::uint64_t allocated;
};

class BufferPool {
 public:
  BufferPool(std::size_t buffer_bytes, std::size_t max_buffers);
  ~BufferPool();
  BufferPool(const BufferPool &) = delete;
  BufferPool &operator=(const BufferPool &) = delete;

  std::size_t buffer_bytes() const { return buffer_bytes_; }

  // Touch the memory of the first buffers now rather than in the program's launch calls.
  void prepare(std::size_t count);

  // A zeroed buffer, or null when all `max_buffers` are out: CUPTI then drops records and counts them.
  std::uint8_t *request() noexcept;

  // Take a buffer back from CUPTI with `valid` bytes of records. True if there is something to decode.
  bool complete(std::uint8_t *buffer, std::size_t valid) noexcept;

  // The oldest full buffer. False if there is none.
  bool take(FullBuffer &full);

  // Zero a decoded buffer and make it free.
  void give_back(std::uint8_t *buffer);

  // Return the memory of the free buffers.
  void trim();

  PoolCounts counts() const;

 private:
  std::uint8_t *allocate() const noexcept;

  const std::size_t buffer_bytes_;
  const std::size_t max_buffers_;
  mutable std::mutex mutex_;
  std::vector<std::uint8_t *> free_;
  std::vector<std::uint8_t *> all_;
  std::deque<FullBuffer> full_;
  std::uint64_t requested_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t completed_ = 0;
};

}  // namespace kerntrace

#endif
