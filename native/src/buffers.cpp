#include "buffers.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace kerntrace {

BufferPool::BufferPool(std::size_t buffer_bytes, std::size_t max_buffers) : buffer_bytes_(buffer_bytes), max_buffers_(max_buffers) {
  free_.reserve(max_buffers_);  // so that no callback has to allocate for bookkeeping
  all_.reserve(max_buffers_);
}

BufferPool::~BufferPool() {
  for (std::uint8_t *buffer : all_) munmap(buffer, buffer_bytes_);
}

std::uint8_t *BufferPool::allocate() const noexcept {
  // Pages of an anonymous mapping are zero, and cost nothing until they are touched.
  void *memory = mmap(nullptr, buffer_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::uint8_t *>(memory);
}

void BufferPool::prepare(std::size_t count) {
  for (std::size_t i = 0; i < std::min(count, max_buffers_); ++i) {
    std::uint8_t *buffer = allocate();
    if (buffer == nullptr) return;
    std::memset(buffer, 0, buffer_bytes_);
    const std::lock_guard<std::mutex> lock(mutex_);
    all_.push_back(buffer);
    free_.push_back(buffer);
  }
}

std::uint8_t *BufferPool::request() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++requested_;
  if (!free_.empty()) {
    std::uint8_t *buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  std::uint8_t *buffer = all_.size() < max_buffers_ ? allocate() : nullptr;
  if (buffer == nullptr) {
    ++refused_;
  } else {
    all_.push_back(buffer);
  }
  return buffer;
}

bool BufferPool::complete(std::uint8_t *buffer, std::size_t valid) noexcept {
  if (buffer == nullptr) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  ++completed_;
  if (valid == 0) {
    free_.push_back(buffer);
    return false;
  }
  try {
    full_.push_back({buffer, std::min(valid, buffer_bytes_)});
  } catch (...) {  // out of memory: these records are lost, the program goes on
    ++refused_;
    return false;
  }
  return true;
}

bool BufferPool::take(FullBuffer &full) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (full_.empty()) return false;
  full = full_.front();
  full_.pop_front();
  return true;
}

void BufferPool::give_back(std::uint8_t *buffer) {
  // All of it: a forced flush may leave bytes of unfinished records beyond the valid ones.
  std::memset(buffer, 0, buffer_bytes_);
  const std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(buffer);
}

void BufferPool::trim() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (std::uint8_t *buffer : free_) {
    munmap(buffer, buffer_bytes_);
    all_.erase(std::find(all_.begin(), all_.end(), buffer));
  }
  free_.clear();
}

PoolCounts BufferPool::counts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {requested_, refused_, completed_, all_.size()};
}

}  // namespace kerntrace
