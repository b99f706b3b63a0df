// On a GPU, lab::range and NVTX are equivalent. If a tool listens to NVTX (Nsight sets NVTX_INJECTION64_PATH), we push
// our ranges to it. If none does, we are the tool: we receive the program's NVTX ranges as if each were a lab::range.
#include <cstdint>

// This file is an injection: NVTX's header requires this macro first.
#define NVTX_STATIC_INJECTION_IMPL
extern "C" int (*InitializeInjectionNvtx2_fnptr)(const void* (*)(std::uint32_t));
#include <nvtx3/nvToolsExt.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "lab/range.hpp"

namespace lab {
namespace {

class nvtx_ranges final : public range_listener {
 public:
  nvtx_ranges() {
    if (std::getenv("NVTX_INJECTION64_PATH")) current = this;
  }
  void enter(std::string_view name, double, double) override { nvtxRangePushA(std::string(name).c_str()); }
  void leave() override { nvtxRangePop(); }
} forwarding;

/// A registered string's handle is a copy that is never freed.
nvtxStringHandle_t keep(nvtxDomainHandle_t, const char* text) {
  return reinterpret_cast<nvtxStringHandle_t>(strdup(text ? text : ""));
}
int message_of(const nvtxEventAttributes_t* what) {
  if (what && what->messageType == NVTX_MESSAGE_TYPE_ASCII) return sim::open_ranges::push(what->message.ascii);
  if (what && what->messageType == NVTX_MESSAGE_TYPE_REGISTERED)
    return sim::open_ranges::push(reinterpret_cast<const char*>(what->message.registered));
  return sim::open_ranges::push("");
}
int push(const char* name) { return sim::open_ranges::push(name); }
int pop() { return sim::open_ranges::pop(); }
int push_in_domain(nvtxDomainHandle_t, const nvtxEventAttributes_t* what) { return message_of(what); }
int pop_in_domain(nvtxDomainHandle_t) { return sim::open_ranges::pop(); }

int attach(NvtxGetExportTableFunc_t tables) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(tables(NVTX_ETID_CALLBACKS));
  if (!callbacks) return 0;
  const auto set = [&](NvtxCallbackModule module, unsigned call, auto function) {
    NvtxFunctionTable table = nullptr;
    unsigned size = 0;
    if (callbacks->GetModuleFunctionTable(module, &table, &size) && call < size)
      *table[call] = reinterpret_cast<NvtxFunctionPointer>(function);
  };
  set(NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushA, &push);
  set(NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushEx, &message_of);
  set(NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePop, &pop);
  set(NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePushEx, &push_in_domain);
  set(NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePop, &pop_in_domain);
  set(NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRegisterStringA, &keep);
  return 1;
}

}  // namespace
}  // namespace lab

extern "C" {
extern const int lab_nvtx = 1;  // every GPU program refers to it; otherwise the linker would drop this file
NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr = &lab::attach;
}
