// lab::profiler on a GPU: CUPTI's range profiler reads the counters of one range, and the work runs once for each pass
// that they need. If counters cannot be read, the work still runs, and a note says why.
#include "lab/profiler.hpp"

#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>

#include <optional>
#include <utility>

#include "counter_session.hpp"
#include "lab/device.hpp"

namespace lab {
namespace {

/// Counts the kernels that this process launches during its lifetime.
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

const std::string whole_call = "call", from_here = "from here";
counter_session* counting = nullptr;

/// The session whose range lab_count_from_here ends.
struct current_session {
  explicit current_session(counter_session& now) { counting = &now; }
  ~current_session() { counting = nullptr; }
  current_session(const current_session&) = delete;
  current_session& operator=(const current_session&) = delete;
};

}  // namespace

struct profiler::state {
  std::vector<std::string> metrics, notes;
  std::optional<counter_access> counters;
  bool count_launches = false;
};

profiler::profiler(std::vector<std::string> metrics) : state_(std::make_unique<state>()) {
  state_->metrics = std::move(metrics);
  state_->count_launches = std::erase(state_->metrics, "launches") > 0;
  if (state_->metrics.empty()) return;
  try {
    state_->counters.emplace(state_->metrics);
    state_->notes = state_->counters->plan().notes();
  } catch (const std::exception& e) {
    state_->notes.push_back(std::string("counters were not read: ") + e.what());
  }
}

profiler::~profiler() = default;

profiler::result profiler::collect(const std::function<void()>& launch_once, void*) {
  result counted;
  counted.notes = state_->notes;
  bool launched = false;
  std::exception_ptr thrown;
  // The caller handles the work's exceptions; a refusal by CUPTI becomes a note.
  const auto guarded = [&] {
    launched = true;
    try {
      launch_once();
    } catch (...) {
      thrown = std::current_exception();
    }
  };
  if (state_->counters && !state_->counters->plan().metrics().empty()) {
    try {
      counter_session session(*state_->counters, 2);
      const current_session until_the_end(session);
      // More passes than planned would be a bug in CUPTI; without a bound we would hang.
      bool done = false;
      for (std::size_t pass = 0; !done && !thrown && pass <= 2 * state_->counters->plan().passes(); ++pass) {
        session.start();
        session.push(whole_call);
        guarded();
        session.pop();
        done = session.stop();
      }
      if (!done && !thrown) throw std::runtime_error("CUPTI asks for more passes than it announced");
      if (!thrown) {
        auto ranges = session.decode();
        counted.metrics = ranges[ranges.contains(from_here) ? from_here : whole_call];
      }
    } catch (const std::exception& e) {
      counted.notes.push_back(std::string("counters were not read: ") + e.what());
    }
  }
  // The launch count alone would look as if the counters had been read and had counted nothing.
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

/// Declared in lab/host_accesses.hpp, for the staff's calls.
extern "C" void lab_count_from_here();
void lab_count_from_here() {
  if (!lab::counting) return;
  LAB_CUDA_CHECK(cudaDeviceSynchronize());  // a range counts only what runs before it ends
  lab::counting->pop();
  lab::counting->push(lab::from_here);
}
