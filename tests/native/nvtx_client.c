/* A C program that uses NVTX's own headers: every kind of range that the recorder hooks. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

static nvtxEventAttributes_t labelled(const char *text) {
  nvtxEventAttributes_t attributes = {0};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = text;
  return attributes;
}

static void push_payloads(void) {
  nvtxEventAttributes_t attributes = labelled("u64");
  attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  attributes.payload.ullValue = 18446744073709551615ULL; /* beyond int64: no payload */
  nvtxRangePushEx(&attributes);
  attributes = labelled("i64");
  attributes.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  attributes.payload.llValue = -7;
  nvtxRangePushEx(&attributes);
  attributes = labelled("u32");
  attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
  attributes.payload.uiValue = 4000000000U;
  nvtxRangePushEx(&attributes);
  attributes = labelled("i32");
  attributes.payloadType = NVTX_PAYLOAD_TYPE_INT32;
  attributes.payload.iValue = -3;
  nvtxRangePushEx(&attributes);
  attributes = labelled("double");
  attributes.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  attributes.payload.dValue = 1.5;
  nvtxRangePushEx(&attributes);
  attributes = labelled("float");
  attributes.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
  attributes.payload.fValue = 1.5f;
  nvtxRangePushEx(&attributes);
  for (int i = 0; i < 6; ++i) nvtxRangePop();
}

int main(void) {
  printf("%d", nvtxRangePushA("ascii"));
  printf("%d", nvtxRangePushW(L"w\u00efde"));
  printf("%d", nvtxRangePop());
  printf("%d\n", nvtxRangePop());
  push_payloads();

  nvtxDomainHandle_t a = nvtxDomainCreateA("domain a");
  nvtxDomainHandle_t w = nvtxDomainCreateW(L"domain w");
  nvtxEventAttributes_t attributes = labelled("in a");
  nvtxDomainRangePushEx(a, &attributes);
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(w, "registered");
  nvtxDomainRangePushEx(w, &attributes);
  attributes.message.registered = nvtxDomainRegisterStringW(a, L"registered w");
  nvtxRangeId_t crossing = nvtxDomainRangeStartEx(a, &attributes);
  nvtxDomainRangePop(a);
  nvtxDomainRangePop(w);
  nvtxDomainRangeEnd(a, crossing);

  nvtxRangeId_t first = nvtxRangeStartA("first");
  nvtxRangeId_t second = nvtxRangeStartW(L"second");
  attributes = labelled("third");
  nvtxRangeId_t third = nvtxRangeStartEx(&attributes);
  nvtxRangeEnd(first);
  nvtxRangeEnd(third);
  nvtxRangeEnd(second);
  nvtxRangePop(); /* nothing was pushed */
  nvtxRangePushA("after a pop too many");
  nvtxRangePop();
  nvtxMarkA("a mark is no range");
  nvtxRangePushA("left open");
  return 0;
}
