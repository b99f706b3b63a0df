// CUPTI's host half: turns metric names into a configuration of the counters, and raw counters into values.
#include "metric_plan.hpp"

#include <cupti_profiler_host.h>

#include <algorithm>
#include <utility>

#include "sim/counters.hpp"

namespace lab {
namespace {

std::string explain(CUptiResult status) {
  switch (status) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return "this user may not read the GPU's counters; run as root, or load the nvidia module with "
             "NVreg_RestrictProfilingToAdminUsers=0";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "the host of this virtual GPU does not let guests read counters";
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "another profiler is attached to this process (ncu, nsys, cuda-gdb?); only one can be";
    case CUPTI_ERROR_INVALID_CHIP_NAME: return "this CUPTI does not know the chip; try a newer CUDA toolkit";
    case CUPTI_ERROR_NOT_INITIALIZED: return "no NVIDIA driver, or one that this CUPTI does not support";
    default: {
      const char* text = nullptr;
      (void)cuptiGetResultString(status, &text);
      return text != nullptr ? text : "error " + std::to_string(static_cast<int>(status));
    }
  }
}

CUpti_Profiler_Host_Object* open_host(const std::string& chip, std::span<const std::uint8_t> availability) {
  auto initialize = LAB_CUPTI_PARAMETERS(CUpti_Profiler_Host_Initialize_Params);
  initialize.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  initialize.pChipName = chip.c_str();
  initialize.pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data();
  LAB_CUPTI_CHECK(cuptiProfilerHostInitialize(&initialize));
  return initialize.pHostObject;
}

void close_host(CUpti_Profiler_Host_Object* host) {
  auto deinitialize = LAB_CUPTI_PARAMETERS(CUpti_Profiler_Host_Deinitialize_Params);
  deinitialize.pHostObject = host;
  (void)cuptiProfilerHostDeinitialize(&deinitialize);
}

std::vector<const char*> c_strings(const std::vector<std::string>& names) {
  std::vector<const char*> result;
  result.reserve(names.size());
  for (const std::string& name : names) result.push_back(name.c_str());
  return result;
}

CUptiResult add_metrics(CUpti_Profiler_Host_Object* host, const std::vector<std::string>& names) {
  std::vector<const char*> pointers = c_strings(names);
  auto add = LAB_CUPTI_PARAMETERS(CUpti_Profiler_Host_ConfigAddMetrics_Params);
  add.pHostObject = host;
  add.ppMetricNames = pointers.data();
  add.numMetrics = pointers.size();
  return cuptiProfilerHostConfigAddMetrics(&add);
}

/// "A / B" becomes A and B; each name once, in the order of first mention.
std::vector<std::string> separate(const std::vector<std::string>& metrics) {
  std::vector<std::string> names;
  const auto add = [&](std::string name) {
    name.erase(0, name.find_first_not_of(' '));
    name.erase(name.find_last_not_of(' ') + 1);
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const std::string& metric : metrics) {
    std::size_t begin = 0;
    for (std::size_t slash; (slash = metric.find('/', begin)) != std::string::npos; begin = slash + 1)
      add(metric.substr(begin, slash - begin));
    add(metric.substr(begin));
  }
  return names;
}

}  // namespace

cupti_error::cupti_error(const std::string& call, CUptiResult status)
    : std::runtime_error(call.substr(0, call.find('(')) + ": " + explain(status)), code(status) {}

void check_cupti(CUptiResult status, const char* call) {
  if (status != CUPTI_SUCCESS) throw cupti_error(call, status);
}

metric_plan::metric_plan(const std::string& chip, const std::vector<std::string>& metrics,
                         std::span<const std::uint8_t> availability)
    : host_(open_host(chip, availability)), accepted_(separate(metrics)) {
  try {
    if (!accepted_.empty() && add_metrics(host_, accepted_) != CUPTI_SUCCESS) {
      // CUPTI does not say which name it rejects, so try each on its own host object.
      std::erase_if(accepted_, [&](const std::string& name) {
        CUpti_Profiler_Host_Object* trial = open_host(chip, availability);
        const CUptiResult status = add_metrics(trial, {name});
        close_host(trial);
        if (status != CUPTI_SUCCESS) notes_.push_back(chip + " has no metric " + name + " here; it is omitted");
        return status != CUPTI_SUCCESS;
      });
      close_host(std::exchange(host_, nullptr));
      host_ = open_host(chip, availability);
      if (!accepted_.empty()) LAB_CUPTI_CHECK(add_metrics(host_, accepted_));
    }
    if (accepted_.empty()) return;

    auto size = LAB_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetConfigImageSize_Params);
    size.pHostObject = host_;
    LAB_CUPTI_CHECK(cuptiProfilerHostGetConfigImageSize(&size));
    config_image_.resize(size.configImageSize);

    auto image = LAB_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetConfigImage_Params);
    image.pHostObject = host_;
    image.configImageSize = config_image_.size();
    image.pConfigImage = config_image_.data();
    LAB_CUPTI_CHECK(cuptiProfilerHostGetConfigImage(&image));

    auto count = LAB_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetNumOfPasses_Params);
    count.configImageSize = config_image_.size();
    count.pConfigImage = config_image_.data();
    LAB_CUPTI_CHECK(cuptiProfilerHostGetNumOfPasses(&count));
    passes_ = count.numOfPasses;
  } catch (...) {
    if (host_ != nullptr) close_host(host_);
    throw;
  }
}

metric_plan::~metric_plan() { close_host(host_); }

std::map<std::string, double> metric_plan::evaluate(std::span<const std::uint8_t> counter_data,
                                                    std::size_t range) const {
  std::vector<const char*> names = c_strings(accepted_);
  std::vector<double> values(names.size());
  auto evaluation = LAB_CUPTI_PARAMETERS(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
  evaluation.pHostObject = host_;
  evaluation.pCounterDataImage = counter_data.data();
  evaluation.counterDataImageSize = counter_data.size();
  evaluation.rangeIndex = range;
  evaluation.ppMetricNames = names.data();
  evaluation.numMetrics = names.size();
  evaluation.pMetricValues = values.data();
  LAB_CUPTI_CHECK(cuptiProfilerHostEvaluateToGpuValues(&evaluation));
  std::map<std::string, double> result;
  for (std::size_t i = 0; i < values.size(); ++i) result[accepted_[i]] = values[i];
  return result;
}

const std::vector<std::string>& profile_metrics() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> profiled;
    for (const sim::counter& c : sim::counters)
      if (c.uses & sim::counter::profiled) profiled.emplace_back(c.name);
    return profiled;
  }();
  return names;
}

}  // namespace lab
