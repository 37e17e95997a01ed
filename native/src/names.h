// Texts by number: each distinct text is written to the shard once and referred to by its id.
#ifndef KERNTRACE_NAMES_H
#define KERNTRACE_NAMES_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kerntrace {

class NameTable {
 public:
  // Distinct texts and bytes of one text; beyond them memory would follow what a program happens to put in a range's name.
  static constexpr std::size_t kMaxTexts = 1U << 20;
  static constexpr std::size_t kMaxBytes = 1U << 16;

  // The id of a text; 0 for an empty one. Ids of equal texts are equal. Thread-safe.
  std::uint32_t id(std::string_view text);

  // Payload of a Names chunk with the texts that are new since the last call; returns how many.
  std::uint32_t take_new(std::vector<char> &payload);

  // Calls of id() that met the limit and got the id of a text that says so.
  std::uint64_t lost() const;

 private:
  mutable std::mutex mutex_;
  std::deque<std::string> texts_;  // text i has id i + 1; a deque keeps the views into it valid
  std::unordered_map<std::string_view, std::uint32_t> ids_;
  std::size_t written_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace kerntrace

#endif
