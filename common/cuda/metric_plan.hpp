// Plans how to read Nsight Compute metrics from a chip's counters: which it has, and in how many passes. Needs no GPU.
#pragma once

#include <cupti_result.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

struct CUpti_Profiler_Host_Object;

namespace lab {

/// A failed CUPTI call; `what()` says what to do.
struct cupti_error : std::runtime_error {
  cupti_error(const std::string& call, CUptiResult status);
  CUptiResult code;
};

/// Throws cupti_error if `status` is not CUPTI_SUCCESS.
void check_cupti(CUptiResult status, const char* call);
#define LAB_CUPTI_CHECK(call) ::lab::check_cupti((call), #call)

/// CUPTI's parameter structs begin with their own size; members that are not set must be zero.
template <class T>
T sized(std::size_t size) {
  T parameters{};
  parameters.structSize = size;
  return parameters;
}
#define LAB_CUPTI_PARAMETERS(type) ::lab::sized<type>(type##_STRUCT_SIZE)

class metric_plan {
 public:
  /// `chip`: CUPTI's name ("GH100"). `availability`: the image that CUPTI reads from a device; if empty, all counters
  /// of the chip. "A / B" in `metrics` requests A and B. A metric that the chip lacks is omitted with a note. Throws
  /// cupti_error if the chip is unknown.
  metric_plan(const std::string& chip, const std::vector<std::string>& metrics,
              std::span<const std::uint8_t> availability = {});
  ~metric_plan();
  metric_plan(const metric_plan&) = delete;  // owns CUPTI's host object
  metric_plan& operator=(const metric_plan&) = delete;

  const std::vector<std::string>& metrics() const { return accepted_; }
  const std::vector<std::string>& notes() const { return notes_; }
  std::size_t passes() const { return passes_; }  ///< how many times the work must run
  std::span<const std::uint8_t> config_image() const { return config_image_; }

  /// The values of one range in a decoded counter data image.
  std::map<std::string, double> evaluate(std::span<const std::uint8_t> counter_data, std::size_t range) const;

 private:
  CUpti_Profiler_Host_Object* host_ = nullptr;
  std::vector<std::string> accepted_, notes_;
  std::vector<std::uint8_t> config_image_;
  std::size_t passes_ = 0;
};

/// What lab::profile reads, in three passes on a GH100: memory traffic and tensor-core work with hardware counters, the
/// rest by patching the code ("sass"). All are sums: a range's ratio comes from its sums, not from its parts' ratios.
const std::vector<std::string>& profile_metrics();

}  // namespace lab
