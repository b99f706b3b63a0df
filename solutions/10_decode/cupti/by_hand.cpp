// Kernels and ranges by CUPTI's Activity API. A record of a kernel and one of the number that was pushed when it was
// launched have the same correlation ID, which is that of the call.
#include "by_hand.hpp"

#include <cuda_runtime.h>
#include <cupti.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace lab10 {
namespace {

#if CUPTI_API_VERSION >= 130000
using kernel_record = CUpti_ActivityKernel10;
#else
using kernel_record = CUpti_ActivityKernel9;
#endif

void check(CUptiResult status, const char* call) {
  if (status == CUPTI_SUCCESS) return;
  const char* text = nullptr;
  (void)cuptiGetResultString(status, &text);
  throw std::runtime_error(std::string(call) + " failed: " + (text ? text : "?"));
}
#define CUPTI_CHECK(call) check((call), #call)

// External correlation needs the records of the call that launches: the runtime's.
constexpr CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_RUNTIME,
                                        CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

std::mutex mutex;  // buffers come back in a thread of CUPTI's
std::vector<std::pair<std::uint32_t, kernel_time>> kernels;
std::map<std::uint32_t, int> ranges;  // both by correlation ID

void CUPTIAPI give(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, buffer_bytes));
  *bytes = *buffer ? buffer_bytes : 0;
  *most_records = 0;  // as many as fit
}

void CUPTIAPI take(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  const std::scoped_lock lock(mutex);
  CUpti_Activity* record = nullptr;
  while (valid > 0 && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      const auto& k = *reinterpret_cast<const kernel_record*>(record);
      kernels.emplace_back(k.correlationId, kernel_time{k.name, k.start, k.end, -1});
    } else if (record->kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) {
      const auto& r = *reinterpret_cast<const CUpti_ActivityExternalCorrelation*>(record);
      if (r.externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0)
        ranges[r.correlationId] = static_cast<int>(r.externalId);
    }
  }
  std::free(buffer);
}

void wait() {
  if (const cudaError_t status = cudaDeviceSynchronize(); status != cudaSuccess)
    throw std::runtime_error(std::string("the work failed: ") + cudaGetErrorString(status));
}

}  // namespace

void start_recording() {
  wait();  // what was launched before is not recorded
  CUPTI_CHECK(cuptiActivityRegisterCallbacks(give, take));
  for (const CUpti_ActivityKind kind : kinds) CUPTI_CHECK(cuptiActivityEnable(kind));
}

void begin_range(int number) {
  CUPTI_CHECK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
                                                     static_cast<std::uint64_t>(number)));
}

void end_range() {
  std::uint64_t last = 0;
  CUPTI_CHECK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last));
}

std::vector<kernel_time> stop_recording() {
  wait();
  CUPTI_CHECK(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));  // calls take: not under the lock
  for (const CUpti_ActivityKind kind : kinds) CUPTI_CHECK(cuptiActivityDisable(kind));
  const std::scoped_lock lock(mutex);
  std::vector<kernel_time> result;
  for (auto& [correlation, kernel] : kernels) {
    if (const auto found = ranges.find(correlation); found != ranges.end()) kernel.range = found->second;
    result.push_back(kernel);
  }
  kernels.clear();
  ranges.clear();
  std::sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return result;
}

}  // namespace lab10
