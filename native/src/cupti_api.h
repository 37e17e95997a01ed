// Finds libcupti at run time and holds its functions.
#ifndef KERNTRACE_CUPTI_API_H
#define KERNTRACE_CUPTI_API_H

#include <cstdint>
#include <string>

#include "cupti_abi.h"
#include "kerntrace/capi.h"

namespace kerntrace {

// What went wrong: a code, CUPTI's own result behind it if there is one, and a line for people.
struct Failure {
  kt_code code = KT_OK;
  cupti::Result result = 0;
  std::string message;

  explicit operator bool() const { return code != KT_OK; }
};

struct CuptiApi {
  cupti::Result (*activity_enable)(std::uint32_t kind);
  cupti::Result (*activity_enable_and_dump)(std::uint32_t kind);  // null in a library without it
  cupti::Result (*activity_disable)(std::uint32_t kind);
  cupti::Result (*activity_register)(cupti::RequestBuffer request, cupti::CompleteBuffer complete);
  cupti::Result (*activity_flush)(std::uint32_t flag);
  cupti::Result (*activity_next)(std::uint8_t *buffer, std::size_t valid, cupti::Record **record);
  cupti::Result (*activity_dropped)(void *context, std::uint32_t stream, std::size_t *dropped);
  cupti::Result (*activity_set_attribute)(std::uint32_t attribute, std::size_t *size, void *value);
  cupti::Result (*set_thread_id_type)(std::uint32_t type);
  cupti::Result (*timestamp)(std::uint64_t *ns);
  cupti::Result (*version)(std::uint32_t *version);
  cupti::Result (*result_string)(cupti::Result result, const char **text);
  cupti::Result (*callback_name)(std::uint32_t domain, std::uint32_t cbid, const char **name);
  cupti::Result (*subscribe)(cupti::Subscriber *subscriber, cupti::Callback callback, void *user);
  cupti::Result (*subscribe_v2)(cupti::Subscriber *subscriber, cupti::Callback callback, void *user,
                                cupti::SubscriberParams *params);  // null in a library without it
  cupti::Result (*unsubscribe)(cupti::Subscriber subscriber);
  cupti::Result (*enable_callback)(std::uint32_t enable, cupti::Subscriber subscriber, std::uint32_t domain, std::uint32_t cbid);

  std::string path;
  std::uint32_t version_number = 0;
};

// Load libcupti: the copy that the process has mapped already, because two copies in a process work against each other;
// else the first of `paths` (colon-separated) that loads; else what the dynamic linker or a toolkit offers.
// It is never unloaded: CUPTI's own threads run in it.
Failure load_cupti(const std::string &paths, CuptiApi &api);

// A failed CUPTI call as a code and a line that names the call and CUPTI's word for the result.
Failure cupti_failure(const CuptiApi &api, const char *call, cupti::Result result);

// Subscribe, so that no second tool comes between; if one is there already its name is in the message.
Failure subscribe(const CuptiApi &api, cupti::Callback callback, cupti::Subscriber *subscriber);

}  // namespace kerntrace

#endif
