// What to do about a timeline: five questions, answered by what changes when a kernel is launched, begins or ends.
#include <algorithm>
#include <map>

#include "forward.hpp"

namespace lab08 {
namespace {

struct change {
  enum class kind { launched, begins, ends } what;
  const traced_kernel* kernel;
};

/// Calls nothing_changes(time) for each stretch between two moments, and changes(c) for what happens at its end.
template <class Stretch, class Change>
void walk(const timeline& of, const Stretch& nothing_changes, const Change& changes) {
  std::multimap<std::uint64_t, change> all;
  for (const traced_kernel& k : of.kernels) {
    all.insert({k.launched, {change::kind::launched, &k}});
    all.insert({k.begin, {change::kind::begins, &k}});
    all.insert({k.end, {change::kind::ends, &k}});
  }
  std::uint64_t last = all.begin()->first;
  for (const auto& [now, c] : all) {
    if (now > last) nothing_changes(now - last);
    last = now;
    changes(c);
  }
}

/// How many kernels run, by block or by stream; blocks and streams without a running kernel are left out.
template <class Key>
class running {
 public:
  void count(const change& c, const Key& key) {
    if (c.what == change::kind::begins) ++all_[key];
    if (c.what == change::kind::ends && --all_[key] == 0) all_.erase(key);
  }
  const std::map<Key, int>& all() const { return all_; }

 private:
  std::map<Key, int> all_;
};

}  // namespace

std::string block_to_speed_up(const timeline& of) {
  running<std::string> now;
  std::map<std::string, std::uint64_t> alone;
  for (const traced_kernel& k : of.kernels) alone[k.block] = 0;
  walk(
      of,
      [&](std::uint64_t time) {
        if (now.all().size() == 1) alone[now.all().begin()->first] += time;
      },
      [&](const change& c) { now.count(c, c.kernel->block); });
  return std::max_element(alone.begin(), alone.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

std::string block_to_fuse(const timeline& of) {
  struct sum {
    std::uint64_t time = 0, kernels = 0;
  };
  std::map<std::string, sum> sums;
  for (const traced_kernel& k : of.kernels) sums[k.block].time += k.end - k.begin, ++sums[k.block].kernels;
  return std::min_element(sums.begin(), sums.end(),
                          [](const auto& a, const auto& b) {
                            return a.second.time * b.second.kernels < b.second.time * a.second.kernels;
                          })
      ->first;
}

std::uint64_t time_waiting_for_host(const timeline& of) {
  int launched = 0, ended = 0;
  bool begun = false;
  std::uint64_t sum = 0;
  walk(
      of,
      [&](std::uint64_t time) {
        if (begun && launched == ended) sum += time;
      },
      [&](const change& c) {
        launched += c.what == change::kind::launched;
        ended += c.what == change::kind::ends;
        begun = begun || c.what == change::kind::begins;
      });
  return sum;
}

std::uint64_t time_overlapping(const timeline& of) {
  running<std::uint32_t> now;
  std::uint64_t sum = 0;
  walk(
      of,
      [&](std::uint64_t time) {
        if (now.all().size() > 1) sum += time;
      },
      [&](const change& c) { now.count(c, c.kernel->stream); });
  return sum;
}

int most_waiting(const timeline& of) {
  int waiting = 0, most = 0;
  walk(
      of, [&](std::uint64_t) { most = std::max(most, waiting); },
      [&](const change& c) {
        waiting += c.what == change::kind::launched;
        waiting -= c.what == change::kind::begins;
      });
  return most;
}

}  // namespace lab08
