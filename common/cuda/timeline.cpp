#include "timeline.hpp"

#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cxxabi.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "lab/device.hpp"
#include "metric_plan.hpp"

namespace lab {
namespace {

#if CUPTI_API_VERSION >= 130000
using kernel_record = CUpti_ActivityKernel10;
#else
using kernel_record = CUpti_ActivityKernel9;
#endif
using copy_record = CUpti_ActivityMemcpy6;  // the newest version, which CUPTI fills
using fill_record = CUpti_ActivityMemset4;

constexpr CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                        CUPTI_ACTIVITY_KIND_RUNTIME,
                                        CUPTI_ACTIVITY_KIND_DRIVER,  // libraries launch without the runtime
                                        CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                        CUPTI_ACTIVITY_KIND_MEMCPY,
                                        CUPTI_ACTIVITY_KIND_MEMSET};
struct {
  std::mutex mutex;
  bool registered = false;
  timeline_buffers buffers;
  std::atomic<std::size_t> given{0};
  std::vector<activity> activities;
  std::unordered_map<std::uint32_t, int> segments;  // by correlation
  std::size_t dropped = 0;
} taken;

constexpr std::size_t alignment = 8;

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *most_records = 0;  // as many as fit
  *buffer = nullptr;
  *bytes = 0;
  if (taken.given.fetch_add(1) >= taken.buffers.most) return void(taken.given.fetch_sub(1));
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(alignment, taken.buffers.bytes));
  if (*buffer) *bytes = taken.buffers.bytes;
}

std::string demangled(const char* name) {
  if (!name) return "?";
  int failed = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &failed),
                                                         std::free);
  return failed == 0 && text ? text.get() : name;
}

/// "cudaLaunchKernel_v7000" -> "cudaLaunchKernel"
std::string call_name(CUpti_CallbackDomain domain, CUpti_CallbackId call) {
  const char* name = nullptr;
  if (cuptiGetCallbackName(domain, call, &name) != CUPTI_SUCCESS || !name) return "call " + std::to_string(call);
  const std::string text = name;
  const std::size_t version = text.rfind("_v");
  return version != std::string::npos && text.find_first_not_of("0123456789", version + 2) == std::string::npos
             ? text.substr(0, version)
             : text;
}

const char* copy_name(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD: return "copy to the device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH: return "copy to the host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD: return "copy on the device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH: return "copy on the host";
    default: return "copy";
  }
}

template <class Record>
activity activity_of(activity::kind what, const Record& r) {
  activity a;
  a.what = what;
  a.begin = static_cast<nanoseconds>(r.start);
  a.end = static_cast<nanoseconds>(r.end);
  a.correlation = r.correlationId;
  if constexpr (requires { r.streamId; }) a.lane = r.streamId;
  if constexpr (requires { r.threadId; }) a.lane = r.threadId;
  if constexpr (requires { r.bytes; }) a.bytes = static_cast<double>(r.bytes);
  return a;
}

void take(const CUpti_Activity* record) {
  const auto as = [&]<class Record>(const Record*) -> const Record& {
    return *reinterpret_cast<const Record*>(record);
  };
  activity a;
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& r = as(static_cast<const CUpti_ActivityExternalCorrelation*>(nullptr));
      if (r.externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0)
        taken.segments[r.correlationId] = static_cast<int>(r.externalId);
      return;
    }
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& r = as(static_cast<const kernel_record*>(nullptr));
      a = activity_of(activity::kind::kernel, r);
      a.name = demangled(r.name);
      const auto size = [](std::int32_t x, std::int32_t y, std::int32_t z) {
        return std::array{static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), static_cast<std::uint32_t>(z)};
      };
      a.grid = size(r.gridX, r.gridY, r.gridZ);
      a.block = size(r.blockX, r.blockY, r.blockZ);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& r = as(static_cast<const copy_record*>(nullptr));
      a = activity_of(activity::kind::copy, r);
      a.name = copy_name(r.copyKind);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET:
      a = activity_of(activity::kind::fill, as(static_cast<const fill_record*>(nullptr)));
      a.name = "fill";
      break;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: {
      const auto& r = as(static_cast<const CUpti_ActivityAPI*>(nullptr));
      a = activity_of(activity::kind::call, r);
      a.name = call_name(
          record->kind == CUPTI_ACTIVITY_KIND_RUNTIME ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API,
          r.cbid);
      break;
    }
    default: return;
  }
  taken.activities.push_back(std::move(a));
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                          std::size_t valid) {
  {
    const std::scoped_lock lock(taken.mutex);
    CUpti_Activity* record = nullptr;
    while (valid > 0 && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) take(record);
    std::size_t dropped = 0;
    if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS) taken.dropped += dropped;
  }
  std::free(buffer);
  if (buffer) taken.given.fetch_sub(1);
}

void disable_all() {
  for (const CUpti_ActivityKind kind : kinds) (void)cuptiActivityDisable(kind);
}

thread_local bool pushed = false;

}  // namespace

void timeline::start(timeline_buffers buffers) {
  LAB_CUDA_CHECK(cudaFree(nullptr));
  if (!taken.registered) {
    // The device's records and ours use one clock, which must be set before anything is recorded.
    LAB_CUPTI_CHECK(cuptiActivityRegisterTimestampCallback([] { return static_cast<std::uint64_t>(host_now()); }));
    LAB_CUPTI_CHECK(cuptiActivityRegisterCallbacks(give_buffer, take_buffer));
    taken.registered = true;
  }
  {
    const std::scoped_lock lock(taken.mutex);
    taken.buffers = buffers;
    taken.activities.clear();
    taken.segments.clear();
    taken.dropped = 0;
  }
  LAB_CUDA_CHECK(cudaDeviceSynchronize());
  try {
    for (const CUpti_ActivityKind kind : kinds) LAB_CUPTI_CHECK(cuptiActivityEnable(kind));
  } catch (...) {
    disable_all();
    throw;
  }
}

void timeline::segment(int number) {
  std::uint64_t last = 0;
  if (pushed) (void)cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
  pushed = number >= 0 && cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
                                                                 static_cast<std::uint64_t>(number)) == CUPTI_SUCCESS;
}

device_account timeline::stop() {
  const cudaError_t status = cudaDeviceSynchronize();
  // Not under our lock: CUPTI calls take_buffer meanwhile.
  (void)cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  disable_all();
  const std::scoped_lock lock(taken.mutex);
  std::size_t dropped = 0;  // records can be dropped even before the first buffer
  if (cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS) taken.dropped += dropped;
  device_account account;
  account.activities = std::exchange(taken.activities, {});
  std::size_t homeless = 0;
  for (activity& a : account.activities) {
    const auto found = taken.segments.find(a.correlation);
    if (found != taken.segments.end())
      a.segment = found->second;
    else
      homeless += a.what == activity::kind::kernel;
  }
  if (taken.dropped > 0)
    account.notes.push_back("CUPTI dropped " + std::to_string(taken.dropped) +
                            " records: times and launches cover the rest only; profile less at a time");
  if (homeless > 0)
    account.notes.push_back(std::to_string(homeless) +
                            "  kernels belong to no range: they were launched outside every range");
  if (status != cudaSuccess) account.notes.push_back("the work ended with " + describe(status));
  return account;
}

}  // namespace lab
