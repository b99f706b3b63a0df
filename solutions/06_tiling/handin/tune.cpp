// Hill climbing from a few configurations that are known to be good somewhere: it moves to the fastest neighbour,
// as long as it is faster. Neighbours differ in one size by a factor of two. What is left of the measurements goes to
// the next start.
#include "tune.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace lab06 {
namespace {

using sizes = std::array<int, 5>;  // bm, bn, bk, tm, tn
constexpr sizes least{32, 32, 8, 2, 2}, largest{256, 256, 64, 16, 16};
constexpr sizes starts[] = {{128, 128, 8, 8, 8},   {64, 64, 16, 4, 4}, {32, 32, 16, 2, 2},
                            {256, 128, 16, 8, 16}, {64, 64, 8, 8, 8},  {32, 64, 32, 4, 4}};

configuration as_configuration(const sizes& s) { return {s[0], s[1], s[2], s[3], s[4]}; }

class search {
 public:
  search(const limits& of, int most, double (*time)(const configuration&)) : limits_(of), left_(most), time_(time) {}

  /// Infinite once no measurement is left.
  double seconds(const sizes& of) {
    if (const auto found = known_.find(of); found != known_.end()) return found->second;
    if (left_ == 0) return std::numeric_limits<double>::infinity();
    --left_;
    return known_[of] = time_(as_configuration(of));
  }

  void climb_from(sizes here) {
    for (;;) {
      sizes fastest = here;
      for (std::size_t i = 0; i < here.size(); ++i)
        for (const bool up : {false, true}) {
          sizes next = here;
          next[i] = up ? 2 * here[i] : here[i] / 2;
          if (next[i] < least[i] || next[i] > largest[i] || !fits(as_configuration(next), limits_)) continue;
          if (seconds(next) < seconds(fastest)) fastest = next;
        }
      if (fastest == here) return;
      here = fastest;
    }
  }

  configuration best() const {
    const auto faster = [](const auto& a, const auto& b) { return a.second < b.second; };
    return as_configuration(std::min_element(known_.begin(), known_.end(), faster)->first);
  }

 private:
  limits limits_;
  int left_;
  double (*time_)(const configuration&);
  std::map<sizes, double> known_;
};

}  // namespace

bool fits(const configuration& what, const limits& of) {
  const int threads = what.bm / what.tm * (what.bn / what.tn);
  const int registers = (what.tm * what.tn + 2 * (what.tm + what.tn) + 32 + 7) / 8 * 8;
  const int shared_bytes = 2 * what.bk * (what.bm + what.bn) * static_cast<int>(sizeof(float));
  return threads % 32 == 0 && threads <= 1024 && shared_bytes <= of.shared_bytes && registers <= 255 &&
         threads * registers <= of.registers;
}

configuration tune(const limits& of, int most, double (*time)(const configuration&)) {
  search all(of, most, time);
  std::vector<std::pair<double, sizes>> from;
  for (const sizes& start : starts)
    if (fits(as_configuration(start), of)) from.emplace_back(all.seconds(start), start);
  std::sort(from.begin(), from.end());
  for (const auto& [seconds, start] : from) all.climb_from(start);
  return all.best();
}

}  // namespace lab06
