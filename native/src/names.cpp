#include "names.h"

#include <cstring>

#include "kerntrace/records.h"

namespace kerntrace {

std::uint32_t NameTable::id(std::string_view text) {
  if (text.empty()) return 0;
  text = text.substr(0, kMaxBytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = ids_.find(text);
  if (known != ids_.end()) return known->second;
  if (texts_.size() >= kMaxTexts) {
    ++lost_;
    return static_cast<std::uint32_t>(kMaxTexts);
  }
  texts_.emplace_back(texts_.size() + 1 < kMaxTexts ? text : std::string_view("(too many distinct names)"));
  const auto number = static_cast<std::uint32_t>(texts_.size());
  if (number == kMaxTexts) {
    ++lost_;
  } else {
    ids_.emplace(texts_.back(), number);
  }
  return number;
}

std::uint32_t NameTable::take_new(std::vector<char> &payload) {
  const std::lock_guard<std::mutex> lock(mutex_);
  payload.clear();
  const std::size_t count = texts_.size() - written_;
  payload.resize(count * sizeof(NameEntry));
  for (std::size_t i = 0; i < count; ++i) {
    const std::string &text = texts_[written_ + i];
    const NameEntry entry{static_cast<std::uint32_t>(written_ + i + 1), static_cast<std::uint32_t>(text.size())};
    std::memcpy(payload.data() + i * sizeof entry, &entry, sizeof entry);
    payload.insert(payload.end(), text.begin(), text.end());
  }
  written_ = texts_.size();
  return static_cast<std::uint32_t>(count);
}

std::uint64_t NameTable::lost() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return lost_;
}

}  // namespace kerntrace
