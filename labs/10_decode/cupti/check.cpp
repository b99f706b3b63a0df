// Records a token of a small model by hand and by the course's profiler, and compares them range by range.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "by_hand.hpp"
#include "decoders.hpp"
#include "lab/profiler.hpp"
#include "lab/range.hpp"

namespace {

/// Gives each name a number, and tells the hand-written recorder.
class numbered final : public lab::range_listener {
 public:
  void enter(std::string_view name, const lab::work&) override {
    lab10::begin_range(numbers.try_emplace(std::string(name), static_cast<int>(numbers.size())).first->second);
  }
  void leave() override { lab10::end_range(); }
  std::map<std::string, int> numbers;
};

}  // namespace

int main() try {
  const llama::checkpoint model = llama::random_checkpoint(llama::config_named("4:1024:16:4:64:2816:8192:256"), 1);
  const auto with = llama::make_on_device(model, 256, true);
  with->fill_cache();
  with->load(0, 255);
  with->run();
  (void)with->logits();  // are there any?

  numbered ranges;
  lab10::start_recording();
  lab::range_listener::current = &ranges;
  with->run();
  lab::range_listener::current = nullptr;
  const std::vector<lab10::kernel_time> by_hand = lab10::stop_recording();

  lab::profile p;  // afterwards: CUPTI has one receiver of records in a process
  p.run("token", [&] { with->run(); });
  bool same =
      std::is_sorted(by_hand.begin(), by_hand.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  if (!same) fmt::print("the kernels are not in the order in which they began\n");
  fmt::print("{:20} {:>18} {:>22}\n", "range", "launches", "microseconds");
  int compared = 0;
  for (const lab::profile::row& row : p.rows()) {
    const auto found = ranges.numbers.find(row.path.substr(row.path.rfind('/') + 1));
    if (found == ranges.numbers.end()) continue;
    int launches = 0;
    double seconds = 0;
    for (const lab10::kernel_time& k : by_hand)
      if (k.range == found->second) {
        ++launches;
        seconds += 1e-9 * static_cast<double>(k.end - k.begin);
      }
    // Kernels that are launched early overlap, and two runs differ: times need not be equal, but of one size.
    const bool agree =
        launches == row.launches && seconds < 2 * row.device_seconds && seconds > 0.5 * row.device_seconds;
    fmt::print("{:20} {:>8} {:>9} {:>11.2f} {:>10.2f} {}\n", found->first, launches, row.launches, 1e6 * seconds,
               1e6 * row.device_seconds, agree ? "" : "<- differ");
    same = same && agree;
    ++compared;
  }
  fmt::print("{}\n", same && compared == 8 ? "Your records agree with the profiler's." : "Not yet.");
  return same && compared == 8 ? 0 : 1;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
