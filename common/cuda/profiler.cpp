// lab::profiler on a GPU: CUPTI's range profiler reads the counters of one range, and the work runs once for each pass
// that the chosen counters need. Where counters cannot be read, the work still runs, and a note says why.
#include "lab/profiler.hpp"

#include <cuda.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <optional>
#include <utility>

#include "lab/device.hpp"
#include "metric_plan.hpp"

namespace lab {
namespace {

/// The runtime's context, asked for without linking the driver's library: programs must start where there is none.
CUcontext current_context() {
  LAB_CUDA_CHECK(cudaFree(nullptr));  // the runtime creates its context on first use
  void* entry = nullptr;
  LAB_CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &entry, 12000, cudaEnableDefault));
  CUcontext context = nullptr;
  if (entry == nullptr || reinterpret_cast<decltype(&cuCtxGetCurrent)>(entry)(&context) != CUDA_SUCCESS)
    throw std::runtime_error("the driver does not give its context away");
  return context;
}

std::string chip_name() {
  int device = 0;
  LAB_CUDA_CHECK(cudaGetDevice(&device));
  auto chip = LAB_CUPTI_PARAMETERS(CUpti_Device_GetChipName_Params);
  chip.deviceIndex = static_cast<std::size_t>(device);
  LAB_CUPTI_CHECK(cuptiDeviceGetChipName(&chip));
  return chip.pChipName;
}

std::vector<std::uint8_t> counter_availability(CUcontext context) {
  auto query = LAB_CUPTI_PARAMETERS(CUpti_Profiler_GetCounterAvailability_Params);
  query.ctx = context;
  LAB_CUPTI_CHECK(cuptiProfilerGetCounterAvailability(&query));
  std::vector<std::uint8_t> image(query.counterAvailabilityImageSize);
  query.pCounterAvailabilityImage = image.data();
  LAB_CUPTI_CHECK(cuptiProfilerGetCounterAvailability(&query));
  return image;
}

/// Counts the kernels that this process launches while it lives.
class launch_counter {
 public:
  launch_counter() {
    LAB_CUPTI_CHECK(cuptiSubscribe(&subscriber_, &launch_counter::on_call, &launches_));
    try {
      for (const CUpti_CallbackId call :
           {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
            CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
            CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz})
        LAB_CUPTI_CHECK(cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, call));
    } catch (...) {
      (void)cuptiUnsubscribe(subscriber_);
      throw;
    }
  }
  ~launch_counter() { (void)cuptiUnsubscribe(subscriber_); }
  launch_counter(const launch_counter&) = delete;  // CUPTI holds a pointer to its count
  launch_counter& operator=(const launch_counter&) = delete;
  int count() const { return launches_; }

 private:
  static void CUPTIAPI on_call(void* launches, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
    if (static_cast<const CUpti_CallbackData*>(data)->callbackSite == CUPTI_API_ENTER) ++*static_cast<int*>(launches);
  }
  CUpti_SubscriberHandle subscriber_ = nullptr;
  int launches_ = 0;
};

/// CUPTI's hold on one context. Only one profiler can have it.
class session {
 public:
  explicit session(CUcontext context) {
    auto enable = LAB_CUPTI_PARAMETERS(CUpti_RangeProfiler_Enable_Params);
    enable.ctx = context;
    LAB_CUPTI_CHECK(cuptiRangeProfilerEnable(&enable));
    object_ = enable.pRangeProfilerObject;
  }
  ~session() {
    auto disable = with_object<CUpti_RangeProfiler_Disable_Params>(CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
    (void)cuptiRangeProfilerDisable(&disable);
  }
  session(const session&) = delete;  // owns CUPTI's object
  session& operator=(const session&) = delete;

  /// Room for one range. CUPTI writes into it until the session ends.
  void configure(const metric_plan& plan) {
    std::vector<const char*> names;
    for (const std::string& name : plan.metrics()) names.push_back(name.c_str());
    auto size = with_object<CUpti_RangeProfiler_GetCounterDataSize_Params>(
        CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxNumOfRanges = 1;
    size.maxNumRangeTreeNodes = 1;
    LAB_CUPTI_CHECK(cuptiRangeProfilerGetCounterDataSize(&size));
    counter_data_.assign(size.counterDataSize, 0);

    auto clear = with_object<CUpti_RangeProfiler_CounterDataImage_Initialize_Params>(
        CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
    clear.pCounterData = counter_data_.data();
    clear.counterDataSize = counter_data_.size();
    LAB_CUPTI_CHECK(cuptiRangeProfilerCounterDataImageInitialize(&clear));

    auto config = with_object<CUpti_RangeProfiler_SetConfig_Params>(CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
    config.pConfig = plan.config_image().data();
    config.configSize = plan.config_image().size();
    config.pCounterDataImage = counter_data_.data();
    config.counterDataImageSize = counter_data_.size();
    config.range = CUPTI_UserRange;
    config.replayMode = CUPTI_UserReplay;
    config.maxRangesPerPass = 1;
    config.numNestingLevels = 1;
    config.minNestingLevel = 1;
    config.passIndex = 0;
    config.targetNestingLevel = 1;
    LAB_CUPTI_CHECK(cuptiRangeProfilerSetConfig(&config));
  }

  /// Runs the work, which must not throw, once under the counters; false where more passes are needed.
  bool pass(const std::function<void()>& work) {
    auto start = with_object<CUpti_RangeProfiler_Start_Params>(CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
    LAB_CUPTI_CHECK(cuptiRangeProfilerStart(&start));
    auto push = with_object<CUpti_RangeProfiler_PushRange_Params>(CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE);
    push.pRangeName = "call";
    LAB_CUPTI_CHECK(cuptiRangeProfilerPushRange(&push));
    work();
    auto pop = with_object<CUpti_RangeProfiler_PopRange_Params>(CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE);
    LAB_CUPTI_CHECK(cuptiRangeProfilerPopRange(&pop));
    auto stop = with_object<CUpti_RangeProfiler_Stop_Params>(CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
    LAB_CUPTI_CHECK(cuptiRangeProfilerStop(&stop));
    return stop.isAllPassSubmitted != 0;
  }

  std::span<const std::uint8_t> decode() {
    auto decoded =
        with_object<CUpti_RangeProfiler_DecodeData_Params>(CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);
    LAB_CUPTI_CHECK(cuptiRangeProfilerDecodeData(&decoded));
    if (decoded.numOfRangeDropped != 0) throw std::runtime_error("CUPTI dropped the range");
    return counter_data_;
  }

 private:
  template <class T>
  T with_object(std::size_t size) const {
    T parameters = sized<T>(size);
    parameters.pRangeProfilerObject = object_;
    return parameters;
  }
  CUpti_RangeProfiler_Object* object_ = nullptr;
  std::vector<std::uint8_t> counter_data_;
};

}  // namespace

struct profiler::state {
  std::vector<std::string> metrics, notes;
  std::optional<metric_plan> plan;
  CUcontext context = nullptr;
  bool initialized = false, count_launches = false;
};

profiler::profiler(std::vector<std::string> metrics) : state_(std::make_unique<state>()) {
  state_->metrics = std::move(metrics);
  state_->count_launches = std::erase(state_->metrics, "launches") > 0;
  if (state_->metrics.empty()) return;
  try {
    state_->context = current_context();
    auto initialize = LAB_CUPTI_PARAMETERS(CUpti_Profiler_Initialize_Params);
    LAB_CUPTI_CHECK(cuptiProfilerInitialize(&initialize));
    state_->initialized = true;
    const std::vector<std::uint8_t> availability = counter_availability(state_->context);
    state_->plan.emplace(chip_name(), state_->metrics, availability);
    state_->notes = state_->plan->notes();
  } catch (const std::exception& e) {
    state_->notes.push_back(std::string("counters were not read: ") + e.what());
    state_->plan.reset();
  }
}

profiler::~profiler() {
  state_->plan.reset();
  if (!state_->initialized) return;
  auto deinitialize = LAB_CUPTI_PARAMETERS(CUpti_Profiler_DeInitialize_Params);
  (void)cuptiProfilerDeInitialize(&deinitialize);
}

profiler::result profiler::collect(const std::function<void()>& launch_once) {
  result counted;
  counted.notes = state_->notes;
  bool launched = false;
  std::exception_ptr thrown;
  // What the work throws is its caller's business; what CUPTI refuses is a note.
  const auto guarded = [&] {
    launched = true;
    try {
      launch_once();
    } catch (...) {
      thrown = std::current_exception();
    }
  };
  if (state_->plan && !state_->plan->metrics().empty()) {
    try {
      session counters(state_->context);
      counters.configure(*state_->plan);
      // One pass more than planned would be CUPTI's mistake; without a bound it would be our hang.
      bool done = false;
      for (std::size_t pass = 0; !done && !thrown && pass <= 2 * state_->plan->passes(); ++pass)
        done = counters.pass(guarded);
      if (!done && !thrown) throw std::runtime_error("CUPTI asks for more passes than it announced");
      if (!thrown) counted.metrics = state_->plan->evaluate(counters.decode(), 0);
    } catch (const std::exception& e) {
      counted.notes.push_back(std::string("counters were not read: ") + e.what());
    }
  }
  // Alone it would look as if the counters had been read and had counted nothing.
  if (state_->count_launches && !thrown && (state_->metrics.empty() || !counted.metrics.empty())) {
    try {
      const launch_counter counter;
      guarded();
      counted.metrics["launches"] = counter.count();
    } catch (const std::exception& e) {
      counted.notes.push_back(std::string("launches were not counted: ") + e.what());
    }
  }
  if (!launched) guarded();
  if (thrown) std::rethrow_exception(thrown);
  return counted;
}

}  // namespace lab
