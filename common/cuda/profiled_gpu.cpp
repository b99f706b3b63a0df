// What a profile needs from a GPU: a timeline from one run, and counters from one more run per pass.
#include <memory>

#include "counter_session.hpp"
#include "lab/device.hpp"
#include "roofs.hpp"
#include "timeline.hpp"

namespace lab {
namespace {

class gpu final : public profiled_device {
 public:
  std::string name() override {
    int device = 0;
    cudaDeviceProp properties;
    LAB_CUDA_CHECK(cudaGetDevice(&device));
    LAB_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    return properties.name;
  }
  bool modelled() const override { return false; }
  roofs measure_roofs(std::vector<std::string>& notes) override {
    try {
      return measured_roofs();
    } catch (const std::exception& e) {
      notes.push_back(std::string("the roofs were not measured: ") + e.what());
      return {};
    }
  }

  void start(bool) override {  // CUPTI's records have no stacks
    try {
      timeline::start();
      recording_ = true;
    } catch (const std::exception& e) {
      refused_ = e.what();
    }
  }
  device_account stop() override {
    if (recording_) {
      recording_ = false;
      return timeline::stop();
    }
    device_account nothing;
    nothing.notes.push_back("GPU times and launches were not recorded: " + refused_);
    return nothing;
  }

  void segment(int number) override {
    if (recording_) timeline::segment(number);
    if (counting_) count_in(number);
  }

  device_account count(const std::function<void()>& rerun, const std::set<int>& busy,
                       const std::vector<std::string>& metrics) override {
    device_account account;
    try {
      std::vector<std::string> wanted = profile_metrics();
      wanted.insert(wanted.end(), metrics.begin(), metrics.end());
      const counter_access counters(wanted);
      account.notes = counters.plan().notes();
      if (counters.plan().metrics().empty() || busy.empty()) return account;
      counter_session session(counters, busy.size());
      const struct ending {
        gpu* of;
        ~ending() { of->counting_ = nullptr; }
      } at_the_end{this};
      busy_ = &busy;
      open_ = -1;
      failure_.clear();
      bool done = false;
      for (std::size_t pass = 0; !done && pass <= 2 * counters.plan().passes(); ++pass) {
        session.start();
        counting_ = &session;
        std::exception_ptr thrown;
        try {
          rerun();
        } catch (...) {
          thrown = std::current_exception();
        }
        count_in(-1);
        counting_ = nullptr;
        done = session.stop();
        if (thrown) std::rethrow_exception(thrown);
        if (!failure_.empty()) throw std::runtime_error(failure_);
      }
      if (!done) throw std::runtime_error("CUPTI asks for more passes than it announced");
      for (auto& [name, values] : session.decode()) account.metrics[std::stoi(name)] = std::move(values);
    } catch (const std::exception& e) {
      account.metrics.clear();
      account.notes.push_back(std::string("counters were not read: ") + e.what());
    }
    return account;
  }

 private:
  /// Called when a range begins or ends, so it must not throw.
  void count_in(int number) {
    if (number >= 0 && !busy_->contains(number)) number = -1;
    if (number == open_) return;
    try {
      if (open_ >= 0) {
        LAB_CUDA_CHECK(cudaDeviceSynchronize());  // otherwise work that still runs would be counted in the next range
        counting_->pop();
      }
      open_ = -1;
      if (number >= 0) counting_->push(std::to_string(number));
      open_ = number;
    } catch (const std::exception& e) {
      if (failure_.empty()) failure_ = e.what();
    }
  }

  bool recording_ = false;
  std::string refused_;
  counter_session* counting_ = nullptr;
  const std::set<int>* busy_ = nullptr;
  int open_ = -1;
  std::string failure_;
};

}  // namespace
}  // namespace lab

/// ./course profile calls this instead of the program's cudaDeviceReset, because the program will run again.
extern "C" cudaError_t lab_keep_device() { return cudaDeviceSynchronize(); }

extern "C" lab::profiled_device* lab_profiled_device() {
  static lab::gpu device;
  return &device;
}
