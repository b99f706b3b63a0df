// Each question by its own sorted vector of (time, what changes), as on a whiteboard.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "forward.hpp"

using namespace lab08;
using std::uint64_t;

namespace {

using Events = std::vector<std::pair<uint64_t, int>>;

auto isBefore = [](auto& a, auto& b) { return a.first < b.first; };

int indexOf(std::unordered_map<std::string, int>& known, const std::string& name) {
  return known.emplace(name, known.size()).first->second;
}

}  // namespace

std::string lab08::block_to_speed_up(const timeline& of) {
  std::unordered_map<std::string, int> ids;
  Events events;
  for (const auto& k : of.kernels) {
    const int id = indexOf(ids, k.block) + 1;
    events.emplace_back(k.begin, +id);
    events.emplace_back(k.end, -id);
  }
  std::stable_sort(events.begin(), events.end(), isBefore);
  std::vector<uint64_t> gain(ids.size());
  std::vector<int> active(ids.size());
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    const int change = events[i].second;
    active[std::abs(change) - 1] += change > 0 ? 1 : -1;
    const auto busy = std::count_if(active.begin(), active.end(), [](int n) { return n != 0; });
    if (busy != 1) continue;
    const auto only = std::find_if(active.begin(), active.end(), [](int n) { return n != 0; }) - active.begin();
    gain[only] += events[i + 1].first - events[i].first;
  }
  const auto most = std::max_element(gain.begin(), gain.end()) - gain.begin();
  for (const auto& [name, id] : ids)
    if (id == most) return name;
  return {};
}

std::string lab08::block_to_fuse(const timeline& of) {
  std::unordered_map<std::string, std::pair<uint64_t, uint64_t>> all;  // time, kernels
  for (const auto& k : of.kernels) {
    auto& [time, kernels] = all[k.block];
    time += k.end - k.begin;
    kernels++;
  }
  const auto average = [](const auto& a) { return static_cast<long double>(a.second.first) / a.second.second; };
  auto best = all.begin();
  for (auto it = all.begin(); it != all.end(); ++it)
    if (average(*it) < average(*best)) best = it;
  return best->first;
}

uint64_t lab08::time_waiting_for_host(const timeline& of) {
  // Between the end of everything that was launched and the next launch.
  std::vector<traced_kernel> byLaunch(of.kernels);
  std::sort(byLaunch.begin(), byLaunch.end(), [](auto& a, auto& b) { return a.launched < b.launched; });
  uint64_t firstBegin = UINT64_MAX, ended = 0, sum = 0;
  for (const auto& k : of.kernels) firstBegin = std::min(firstBegin, k.begin);
  for (const auto& k : byLaunch) {
    if (ended > firstBegin && k.launched > ended) sum += k.launched - ended;
    ended = std::max(ended, k.end);
  }
  return sum;
}

uint64_t lab08::time_overlapping(const timeline& of) {
  Events events;
  std::unordered_map<uint32_t, int> streams;
  for (const auto& k : of.kernels) {
    const int id = static_cast<int>(streams.emplace(k.stream, streams.size() + 1).first->second);
    events.emplace_back(k.begin, +id);
    events.emplace_back(k.end, -id);
  }
  std::stable_sort(events.begin(), events.end(), isBefore);
  std::vector<int> active(streams.size() + 1);
  int busy = 0;
  uint64_t sum = 0, last = 0;
  for (const auto& [now, change] : events) {
    if (busy > 1) sum += now - last;
    last = now;
    int& kernels = active[std::abs(change)];
    busy -= kernels > 0;
    kernels += change > 0 ? 1 : -1;
    busy += kernels > 0;
  }
  return sum;
}

int lab08::most_waiting(const timeline& of) {
  std::vector<uint64_t> launches, begins;
  for (const auto& k : of.kernels) launches.push_back(k.launched), begins.push_back(k.begin);
  std::sort(launches.begin(), launches.end());
  std::sort(begins.begin(), begins.end());
  std::ptrdiff_t most = 0;
  for (const uint64_t now : launches) {
    const auto launched = std::upper_bound(launches.begin(), launches.end(), now) - launches.begin();
    const auto begun = std::upper_bound(begins.begin(), begins.end(), now) - begins.begin();
    most = std::max(most, launched - begun);
  }
  return static_cast<int>(most);
}
