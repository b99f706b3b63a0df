// CUPTI's Range Profiler. The device always counts, so a range is a list of launches. As on a GPU, the program runs
// once per pass, and each pass counts only some metrics.
#include "cupti_range_profiler.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cupti_profiler_host.h"
#include "devices.hpp"
#include "launches.hpp"
#include "metrics.hpp"
#include "model.hpp"
#include "runtime.hpp"
#include "sim/host_accesses.hpp"

namespace sim {
using names = std::vector<std::string>;

/// The launches of a range, by pass. An inner range's name begins with the outer ranges' names.
struct counted_range {
  std::string name;
  std::map<std::size_t, std::vector<std::size_t>> launches = {};
  std::map<std::size_t, std::map<std::string, double>> added = {};  // by the staff
};
struct open_range {
  std::string name;
  std::size_t first_launch;
  std::map<std::string, double> added = {};
};
}  // namespace sim

struct CUpti_Profiler_Host_Object {
  sim::names metrics;
  bool broken = false;  // after its first error
};

struct CUpti_RangeProfiler_Object {
  int device = 0;
  sim::names metrics = {};
  std::span<std::uint8_t> image = {};
  bool each_kernel = false, in_one_pass = false;
  std::size_t most_ranges = 0, first_level = 1, levels = 1;
  std::size_t pass = 0, passes = 0;
  bool running = false;
  std::vector<sim::open_range> open = {};
  std::size_t first_launch = 0;
  std::vector<sim::counted_range> ranges = {};
};

namespace sim {
namespace {

constexpr char between_names = '\x1f';

CUpti_RangeProfiler_Object* of_device[most_devices];

/// The pass of each metric, from 0. A GPU reads few counters at a time, and counts "sass" metrics by patching the
/// kernels' code, in separate passes. How many it reads at a time depends on the chip; here, two.
std::vector<std::size_t> passes_of(const names& metrics) {
  constexpr std::size_t at_a_time = 2;
  const auto patched = [](const std::string& m) { return m.find("_sass_") != m.npos; };
  std::vector<std::size_t> passes;
  std::size_t counters = 0;
  for (const std::string& m : metrics) passes.push_back(patched(m) ? 0 : counters++ / at_a_time);
  const std::size_t last = (counters + at_a_time - 1) / at_a_time;
  for (std::size_t i = 0; i < metrics.size(); ++i)
    if (patched(metrics[i])) passes[i] = last;
  return passes;
}
std::size_t number_of_passes(const names& metrics) {
  const std::vector<std::size_t> all = passes_of(metrics);
  return 1 + *std::max_element(all.begin(), all.end());
}

std::string joined(const names& metrics) {
  std::string text;
  for (const std::string& m : metrics) text += m + '\n';
  return text;
}
names separated(std::string_view text, char end = '\n') {
  names all;
  for (std::size_t length; (length = text.find(end)) != text.npos; text.remove_prefix(length + 1))
    all.emplace_back(text.substr(0, length));
  return all;
}
/// The configuration's metrics; empty if it is invalid.
names metrics_in(const std::uint8_t* config, std::size_t bytes) {
  if (!config) return {};
  names all = separated({reinterpret_cast<const char*>(config), bytes});
  return joined(all).size() == bytes && std::all_of(all.begin(), all.end(), is_metric) ? all : names();
}

/// The counter data image's contents: a line of metrics, then each range's name and values.
struct counter_data {
  names metrics;
  struct range {
    std::string name;
    std::vector<double> values;
  };
  std::vector<range> ranges;
};
constexpr std::string_view mark = "simulated counters\n";
constexpr std::size_t longest_name = 256;
std::size_t bytes_of(const counter_data& data) {
  std::size_t bytes = mark.size() + joined(data.metrics).size() + 2;
  for (const counter_data::range& r : data.ranges) bytes += r.name.size() + 1 + r.values.size() * sizeof(double);
  return bytes;
}
void write(const counter_data& data, std::span<std::uint8_t> image) {
  auto to = image.begin();
  const auto put = [&](const void* from, std::size_t bytes) {
    to = std::copy_n(static_cast<const std::uint8_t*>(from), bytes, to);
  };
  const std::string metrics = joined(data.metrics);
  put(mark.data(), mark.size());
  put(metrics.c_str(), metrics.size() + 1);
  for (const counter_data::range& r : data.ranges) {
    put(r.name.c_str(), r.name.size() + 1);
    put(r.values.data(), r.values.size() * sizeof(double));
  }
  std::fill(to, image.end(), std::uint8_t{0});
}
/// An image's metrics, and the last of its ranges that was read.
struct read_image {
  names metrics;
  std::size_t ranges = 0;  ///< how many were read
  std::string_view name = {};
  const char* values = nullptr;
  double value(std::size_t metric) const {
    double x;
    std::memcpy(&x, values + metric * sizeof x, sizeof x);
    return x;
  }
};
/// Reads as far as the range with index `last`; nothing if this is not an image.
std::optional<read_image> read(const std::uint8_t* image, std::size_t bytes, std::size_t last = std::string::npos) {
  if (!image) return std::nullopt;
  std::string_view rest(reinterpret_cast<const char*>(image), bytes);
  if (!rest.starts_with(mark)) return std::nullopt;
  rest.remove_prefix(mark.size());
  const auto text = [&] {
    const std::string_view found = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), found.size() + 1));
    return found;
  };
  read_image data{separated(text())};
  const std::size_t row = data.metrics.size() * sizeof(double);
  for (; data.ranges <= last && !rest.empty() && rest.front() != '\0'; ++data.ranges) {
    data.name = text();
    if (rest.size() < row) return std::nullopt;
    data.values = rest.data();
    rest.remove_prefix(row);
  }
  return data;
}
/// The range that a call asks for; nothing if the image has none with this index.
template <class Parameters>
std::optional<read_image> range_of(const Parameters& call) {
  const auto data = read(call.pCounterDataImage, call.counterDataImageSize, call.rangeIndex);
  return data && data->ranges > call.rangeIndex ? data : std::nullopt;
}

/// The level of nesting whose ranges the pass counts.
std::size_t level_of(const CUpti_RangeProfiler_Object& o) { return o.first_level + o.pass * o.levels / o.passes; }

/// Adds launches to the range of this name, which this or another pass may have created.
void count(CUpti_RangeProfiler_Object& of, const open_range& what, std::size_t end) {
  auto found = std::find_if(of.ranges.begin(), of.ranges.end(), [&](const auto& r) { return r.name == what.name; });
  if (found == of.ranges.end()) {
    if (of.ranges.size() == of.most_ranges) return;
    found = of.ranges.insert(found, counted_range{what.name});
  }
  std::vector<std::size_t>& launches = found->launches[of.pass];
  for (std::size_t i = what.first_launch; i < end; ++i)
    if (launch_log()[i].device == of.device) launches.push_back(i);
  for (const auto& [metric, value] : what.added) found->added[of.pass][metric] += value;
}

/// NaN for metrics whose pass has not run.
counter_data counted(const CUpti_RangeProfiler_Object& by) {
  counter_data data{by.metrics, {}};
  const std::vector<std::size_t> pass_of = passes_of(by.metrics);
  for (const counted_range& r : by.ranges) {
    counter_data::range& to = data.ranges.emplace_back();
    to.name = r.name;
    to.values.assign(by.metrics.size(), std::numeric_limits<double>::quiet_NaN());
    for (const auto& [pass, launches] : r.launches) {
      std::vector<const launched*> all;
      for (const std::size_t i : launches) all.push_back(&launch_log()[i]);
      std::map<std::string, double> values = metrics_of(all);
      if (const auto added = r.added.find(pass); added != r.added.end()) {
        for (const auto& [metric, value] : added->second) values[metric] += value;
        add_ratios(values);
      }
      for (std::size_t m = 0; m < by.metrics.size(); ++m)
        if (by.in_one_pass || pass_of[m] == pass % (by.passes / by.levels)) to.values[m] = values[by.metrics[m]];
    }
  }
  return data;
}

/// Whether `parameters` belong to this call: their size must be that of its struct.
template <class Parameters>
bool are_valid(const Parameters* parameters, std::size_t bytes) {
  return parameters && parameters->structSize == bytes;
}
#define SIM_EXPECT(type) \
  if (!are_valid(p, type##_STRUCT_SIZE)) return CUPTI_ERROR_INVALID_PARAMETER
/// The same for a call on an object.
#define SIM_EXPECT_OBJECT(type) \
  SIM_EXPECT(type);             \
  if (!p->pRangeProfilerObject) return CUPTI_ERROR_INVALID_PARAMETER

}  // namespace
}  // namespace sim

using namespace sim;

extern "C" {

CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* p) {
  SIM_EXPECT(CUpti_Device_GetChipName_Params);
  if (p->deviceIndex >= static_cast<std::size_t>(device_count())) return CUPTI_ERROR_INVALID_DEVICE;
  p->pChipName = described_device().chip.c_str();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params* p) {
  SIM_EXPECT(CUpti_Profiler_Initialize_Params);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params* p) {
  SIM_EXPECT(CUpti_Profiler_DeInitialize_Params);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params* p) {
  SIM_EXPECT(CUpti_Profiler_GetCounterAvailability_Params);
  if (p->pCounterAvailabilityImage && p->counterAvailabilityImageSize > 0) *p->pCounterAvailabilityImage = 1;
  p->counterAvailabilityImageSize = 1;  // empty: all counters are available
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* p) {
  SIM_EXPECT(CUpti_Profiler_Host_Initialize_Params);
  CUpti_Device_GetChipName_Params here{CUpti_Device_GetChipName_Params_STRUCT_SIZE, nullptr, 0, nullptr};
  if (!p->pChipName || cuptiDeviceGetChipName(&here) != CUPTI_SUCCESS) return CUPTI_ERROR_INVALID_PARAMETER;
  if (std::string_view(p->pChipName) != here.pChipName) return CUPTI_ERROR_INVALID_CHIP_NAME;
  if (p->profilerType != CUPTI_PROFILER_TYPE_RANGE_PROFILER) return CUPTI_ERROR_NOT_SUPPORTED;
  p->pHostObject = new CUpti_Profiler_Host_Object;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params* p) {
  SIM_EXPECT(CUpti_Profiler_Host_Deinitialize_Params);
  if (!p->pHostObject) return CUPTI_ERROR_INVALID_PARAMETER;
  delete p->pHostObject;
  return CUPTI_SUCCESS;
}
// As the real library behaves, though NVIDIA's header promises CUPTI_ERROR_INVALID_METRIC_NAME for an unknown name:
// after one error, the object accepts no more metrics.
CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* p) {
  SIM_EXPECT(CUpti_Profiler_Host_ConfigAddMetrics_Params);
  if (!p->pHostObject || !p->ppMetricNames || p->numMetrics == 0) return CUPTI_ERROR_INVALID_PARAMETER;
  const names added(p->ppMetricNames, p->ppMetricNames + p->numMetrics);
  if (p->pHostObject->broken) return CUPTI_ERROR_UNKNOWN;
  p->pHostObject->broken = !std::all_of(added.begin(), added.end(), is_metric);
  if (p->pHostObject->broken) return CUPTI_ERROR_INVALID_PARAMETER;
  names& all = p->pHostObject->metrics;
  for (const std::string& m : added)
    if (std::find(all.begin(), all.end(), m) == all.end()) all.push_back(m);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* p) {
  SIM_EXPECT(CUpti_Profiler_Host_GetConfigImageSize_Params);
  if (!p->pHostObject) return CUPTI_ERROR_INVALID_PARAMETER;
  p->configImageSize = joined(p->pHostObject->metrics).size();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* p) {
  SIM_EXPECT(CUpti_Profiler_Host_GetConfigImage_Params);
  if (!p->pHostObject || !p->pConfigImage) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::string text = joined(p->pHostObject->metrics);
  if (p->configImageSize < text.size()) return CUPTI_ERROR_INVALID_PARAMETER;
  std::copy(text.begin(), text.end(), p->pConfigImage);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* p) {
  SIM_EXPECT(CUpti_Profiler_Host_GetNumOfPasses_Params);
  const names metrics = metrics_in(p->pConfigImage, p->configImageSize);
  if (metrics.empty()) return CUPTI_ERROR_INVALID_PARAMETER;
  p->numOfPasses = number_of_passes(metrics);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params* p) {
  SIM_EXPECT(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
  if (!p->pHostObject || !p->ppMetricNames || !p->pMetricValues) return CUPTI_ERROR_INVALID_PARAMETER;
  const auto range = range_of(*p);
  if (!range) return CUPTI_ERROR_INVALID_PARAMETER;
  for (std::size_t i = 0; i < p->numMetrics; ++i) {
    const auto found = std::find(range->metrics.begin(), range->metrics.end(), p->ppMetricNames[i]);
    if (found == range->metrics.end()) return CUPTI_ERROR_INVALID_METRIC_NAME;
    p->pMetricValues[i] = range->value(static_cast<std::size_t>(found - range->metrics.begin()));
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* p) {
  SIM_EXPECT(CUpti_RangeProfiler_Enable_Params);
  const std::scoped_lock lock(runtime_state_mutex());
  const int device = p->ctx ? driver::device_of(p->ctx) : -1;  // the real library crashes without a context
  if (!is_device(device)) return CUPTI_ERROR_INVALID_PARAMETER;
  if (of_device[device]) return CUPTI_ERROR_INVALID_OPERATION;
  p->pRangeProfilerObject = of_device[device] = new CUpti_RangeProfiler_Object{device};
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params* p) {
  SIM_EXPECT_OBJECT(CUpti_RangeProfiler_Disable_Params);
  const std::scoped_lock lock(runtime_state_mutex());
  of_device[p->pRangeProfilerObject->device] = nullptr;
  delete p->pRangeProfilerObject;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params* p) {
  SIM_EXPECT_OBJECT(CUpti_RangeProfiler_GetCounterDataSize_Params);
  if (!p->pMetricNames || p->numMetrics == 0 || p->maxNumOfRanges == 0 || p->maxNumRangeTreeNodes < p->maxNumOfRanges)
    return CUPTI_ERROR_INVALID_PARAMETER;
  const counter_data empty{names(p->pMetricNames, p->pMetricNames + p->numMetrics), {}};
  if (!std::all_of(empty.metrics.begin(), empty.metrics.end(), is_metric)) return CUPTI_ERROR_INVALID_PARAMETER;
  p->counterDataSize = bytes_of(empty) + p->maxNumOfRanges * (longest_name + p->numMetrics * sizeof(double));
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerCounterDataImageInitialize(CUpti_RangeProfiler_CounterDataImage_Initialize_Params* p) {
  SIM_EXPECT_OBJECT(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
  if (!p->pCounterData || p->counterDataSize < bytes_of({})) return CUPTI_ERROR_INVALID_PARAMETER;
  write({}, {p->pCounterData, p->counterDataSize});
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params* p) {
  SIM_EXPECT_OBJECT(CUpti_RangeProfiler_SetConfig_Params);
  CUpti_RangeProfiler_Object& o = *p->pRangeProfilerObject;
  if (o.running) return CUPTI_ERROR_INVALID_OPERATION;
  const names metrics = metrics_in(p->pConfig, p->configSize);
  const bool each_kernel = p->range == CUPTI_AutoRange, in_one_pass = p->replayMode == CUPTI_KernelReplay;
  if (metrics.empty() || !read(p->pCounterDataImage, p->counterDataImageSize) || p->maxRangesPerPass == 0 ||
      p->numNestingLevels == 0 || p->minNestingLevel == 0 || (!each_kernel && p->range != CUPTI_UserRange) ||
      p->replayMode <= CUPTI_Replay_INVALID || p->replayMode >= CUPTI_Replay_COUNT || (in_one_pass && !each_kernel))
    return CUPTI_ERROR_INVALID_PARAMETER;
  CUpti_RangeProfiler_Object fresh{o.device, metrics, {p->pCounterDataImage, p->counterDataImageSize}};
  fresh.each_kernel = each_kernel;
  fresh.in_one_pass = in_one_pass;
  fresh.most_ranges = p->maxRangesPerPass;
  fresh.first_level = p->minNestingLevel;
  fresh.levels = each_kernel ? 1 : p->numNestingLevels;
  fresh.pass = p->passIndex;
  fresh.passes = in_one_pass ? 1 : fresh.levels * number_of_passes(metrics);
  o = fresh;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params* p) {
  SIM_EXPECT_OBJECT(CUpti_RangeProfiler_Start_Params);
  CUpti_RangeProfiler_Object& o = *p->pRangeProfilerObject;
  if (o.running || o.metrics.empty()) return CUPTI_ERROR_INVALID_OPERATION;
  const std::scoped_lock lock(runtime_state_mutex());
  if (o.pass == o.passes) o.pass = 0, o.ranges.clear();
  o.running = true;
  o.first_launch = launch_log().size();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params* p) {
  SIM_EXPECT_OBJECT(CUpti_RangeProfiler_Stop_Params);
  CUpti_RangeProfiler_Object& o = *p->pRangeProfilerObject;
  if (!o.running || !o.open.empty()) return CUPTI_ERROR_INVALID_OPERATION;
  const std::scoped_lock lock(runtime_state_mutex());
  o.running = false;
  if (o.each_kernel)
    for (std::size_t i = o.first_launch; i < launch_log().size(); ++i)
      count(o, {std::to_string(i - o.first_launch), i}, i + 1);
  ++o.pass;
  p->isAllPassSubmitted = o.pass == o.passes;
  p->passIndex = o.pass % o.passes;
  p->targetNestingLevel = level_of(o);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params* p) {
  SIM_EXPECT_OBJECT(CUpti_RangeProfiler_PushRange_Params);
  CUpti_RangeProfiler_Object& o = *p->pRangeProfilerObject;
  if (!p->pRangeName || !*p->pRangeName) return CUPTI_ERROR_INVALID_PARAMETER;
  if (!o.running || o.each_kernel) return CUPTI_ERROR_INVALID_OPERATION;
  const std::scoped_lock lock(runtime_state_mutex());
  const std::string outer = o.open.empty() ? "" : o.open.back().name + between_names;
  o.open.push_back({outer + p->pRangeName, launch_log().size()});
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params* p) {
  SIM_EXPECT_OBJECT(CUpti_RangeProfiler_PopRange_Params);
  CUpti_RangeProfiler_Object& o = *p->pRangeProfilerObject;
  if (o.open.empty()) return CUPTI_ERROR_INVALID_OPERATION;
  const std::scoped_lock lock(runtime_state_mutex());
  if (o.open.size() == level_of(o)) count(o, o.open.back(), launch_log().size());
  o.open.pop_back();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params* p) {
  SIM_EXPECT_OBJECT(CUpti_RangeProfiler_DecodeData_Params);
  CUpti_RangeProfiler_Object& o = *p->pRangeProfilerObject;
  if (o.running || o.metrics.empty()) return CUPTI_ERROR_INVALID_OPERATION;
  const std::scoped_lock lock(runtime_state_mutex());
  counter_data data = counted(o);
  p->numOfRangeDropped = 0;  // as the real library answers, even if it dropped ranges
  while (bytes_of(data) > o.image.size() && !data.ranges.empty()) data.ranges.pop_back();
  if (bytes_of(data) > o.image.size()) return CUPTI_ERROR_INVALID_PARAMETER;
  write(data, o.image);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params* p) {
  SIM_EXPECT(CUpti_RangeProfiler_GetCounterDataInfo_Params);
  const auto data = read(p->pCounterDataImage, p->counterDataImageSize);
  if (!data) return CUPTI_ERROR_INVALID_PARAMETER;
  p->numTotalRanges = data->ranges;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerCounterDataGetRangeInfo(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params* p) {
  SIM_EXPECT(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
  const auto range = range_of(*p);
  if (!range) return CUPTI_ERROR_INVALID_PARAMETER;
  std::string name;
  for (const std::string& part : separated(std::string(range->name) + between_names, between_names))
    name += (name.empty() ? "" : p->rangeDelimiter ? p->rangeDelimiter : "/") + part;
  static std::set<std::string> kept;  // the caller keeps the address
  const std::scoped_lock lock(runtime_state_mutex());
  p->rangeName = kept.insert(name).first->c_str();
  return CUPTI_SUCCESS;
}

}  // extern "C"

void sim_add_counter(const char* metric, double value) {
  const std::scoped_lock lock(runtime_state_mutex());
  for (CUpti_RangeProfiler_Object* o : of_device)
    if (o)
      for (open_range& r : o->open) r.added[metric] += value;
}
