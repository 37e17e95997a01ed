#include "nvtx.h"

#include <cstring>
#include <cwchar>
#include <string>

#include "ranges.h"

namespace kerntrace {
namespace {

void append_utf8(std::string &text, std::uint32_t c) {
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xc0 | (c >> 6));
    text += static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    text += static_cast<char>(0xe0 | (c >> 12));
    text += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
    text += static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x110000) {
    text += static_cast<char>(0xf0 | (c >> 18));
    text += static_cast<char>(0x80 | ((c >> 12) & 0x3f));
    text += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
    text += static_cast<char>(0x80 | (c & 0x3f));
  }
}

std::string utf8(const wchar_t *wide) {
  std::string text;
  for (; wide != nullptr && *wide != L'\0'; ++wide) append_utf8(text, static_cast<std::uint32_t>(*wide));
  return text;
}

Label plain(const char *message) {
  Label label;
  if (message != nullptr) label.text = message;
  return label;
}

void read_payload(const nvtx::Attributes &attributes, Label &label) {
  const std::uint64_t raw = attributes.payload;
  double real = 0;
  switch (attributes.payload_type) {
    case nvtx::kPayloadUnsigned64:
      label.payload_type = Payload::kUnsigned;
      label.payload = static_cast<std::int64_t>(raw);
      return;
    case nvtx::kPayloadSigned64:
      label.payload_type = Payload::kInteger;
      label.payload = static_cast<std::int64_t>(raw);
      return;
    case nvtx::kPayloadUnsigned32:
      label.payload_type = Payload::kInteger;
      label.payload = static_cast<std::int64_t>(raw & 0xffffffffU);
      return;
    case nvtx::kPayloadSigned32:
      label.payload_type = Payload::kInteger;
      label.payload = static_cast<std::int32_t>(static_cast<std::uint32_t>(raw));
      return;
    case nvtx::kPayloadDouble:
      label.payload_type = Payload::kDouble;
      std::memcpy(&label.payload, &raw, sizeof raw);
      return;
    case nvtx::kPayloadFloat: {
      float single = 0;
      std::memcpy(&single, &raw, sizeof single);
      real = static_cast<double>(single);
      label.payload_type = Payload::kDouble;
      std::memcpy(&label.payload, &real, sizeof real);
      return;
    }
    default:
      return;
  }
}

// The label of an event; `wide` keeps the text of a wide message alive.
Label label_of(const nvtx::Attributes *attributes, std::string &wide) {
  Label label;
  if (attributes == nullptr) return label;
  read_payload(*attributes, label);
  if (attributes->message == nullptr) return label;
  switch (attributes->message_type) {
    case nvtx::kMessageAscii:
      label.text = static_cast<const char *>(attributes->message);
      break;
    case nvtx::kMessageUnicode:
      wide = utf8(static_cast<const wchar_t *>(attributes->message));
      label.text = wide;
      break;
    case nvtx::kMessageRegistered:
      label.registered = static_cast<Text *>(const_cast<void *>(attributes->message));
      break;
    default:
      break;
  }
  return label;
}

int domain_push(void *domain, const nvtx::Attributes *attributes) {
  std::string wide;
  return push_range(static_cast<Text *>(domain), label_of(attributes, wide));
}

int domain_pop(void *domain) { return pop_range(static_cast<Text *>(domain)); }

std::uint64_t domain_start(void *domain, const nvtx::Attributes *attributes) {
  std::string wide;
  return start_range(static_cast<Text *>(domain), label_of(attributes, wide));
}

void domain_end(void *domain, std::uint64_t range) { end_range(static_cast<Text *>(domain), range); }

int push_ex(const nvtx::Attributes *attributes) { return domain_push(nullptr, attributes); }
int push_a(const char *message) { return push_range(nullptr, plain(message)); }
int push_w(const wchar_t *message) { return push_range(nullptr, plain(utf8(message).c_str())); }
int pop() { return pop_range(nullptr); }
std::uint64_t start_ex(const nvtx::Attributes *attributes) { return domain_start(nullptr, attributes); }
std::uint64_t start_a(const char *message) { return start_range(nullptr, plain(message)); }
std::uint64_t start_w(const wchar_t *message) { return start_range(nullptr, plain(utf8(message).c_str())); }
void end(std::uint64_t range) { end_range(nullptr, range); }

void *create_a(const char *name) { return new Text(name != nullptr ? name : ""); }
void *create_w(const wchar_t *name) { return new Text(utf8(name)); }
void *register_a(void *, const char *text) { return create_a(text); }
void *register_w(void *, const wchar_t *text) { return create_w(text); }

template <class Hook>
void hook(nvtx::FunctionTable table, unsigned count, unsigned id, Hook function) {
  if (id < count && table[id] != nullptr) *table[id] = reinterpret_cast<nvtx::Function>(function);
}

bool attach_core(const nvtx::ExportTable &exports) {
  nvtx::FunctionTable table = nullptr;
  unsigned count = 0;
  if (exports.function_table(nvtx::kModuleCore, &table, &count) == 0 || table == nullptr) return false;
  hook(table, count, nvtx::kRangePushEx, push_ex);
  hook(table, count, nvtx::kRangePushA, push_a);
  hook(table, count, nvtx::kRangePushW, push_w);
  hook(table, count, nvtx::kRangePop, pop);
  hook(table, count, nvtx::kRangeStartEx, start_ex);
  hook(table, count, nvtx::kRangeStartA, start_a);
  hook(table, count, nvtx::kRangeStartW, start_w);
  hook(table, count, nvtx::kRangeEnd, end);
  return true;
}

bool attach_core2(const nvtx::ExportTable &exports) {
  nvtx::FunctionTable table = nullptr;
  unsigned count = 0;
  if (exports.function_table(nvtx::kModuleCore2, &table, &count) == 0 || table == nullptr) return false;
  hook(table, count, nvtx::kDomainRangePushEx, domain_push);
  hook(table, count, nvtx::kDomainRangePop, domain_pop);
  hook(table, count, nvtx::kDomainRangeStartEx, domain_start);
  hook(table, count, nvtx::kDomainRangeEnd, domain_end);
  hook(table, count, nvtx::kDomainCreateA, create_a);
  hook(table, count, nvtx::kDomainCreateW, create_w);
  hook(table, count, nvtx::kDomainRegisterStringA, register_a);
  hook(table, count, nvtx::kDomainRegisterStringW, register_w);
  return true;
}

}  // namespace

bool attach_nvtx(nvtx::GetExportTable get_table) {
  const auto *exports = static_cast<const nvtx::ExportTable *>(get_table(nvtx::kExportCallbacks));
  if (exports == nullptr || exports->size < sizeof(nvtx::ExportTable) || exports->function_table == nullptr) return false;
  const bool core = attach_core(*exports);
  const bool core2 = attach_core2(*exports);
  return core || core2;
}

}  // namespace kerntrace
