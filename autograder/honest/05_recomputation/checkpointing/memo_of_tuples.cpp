// translated from python: functools.lru_cache over (layer, bytes left), for each longest run
#include "recomputation.hpp"
#include <map>
#include <set>
#include <unordered_map>
#include <functional>
#include <algorithm>
#include <vector>
#include <string>
#include <numeric>
#include <limits>
namespace lab05 {
using i64 = std::int64_t;
static const i64 INF = std::numeric_limits<i64>::max() / 4;
void choose_checkpoints(std::uint8_t* keep, const std::int64_t* bytes, const std::int64_t* flops, std::size_t layers, std::int64_t budget) {
  std::vector<i64> pb(layers + 1, 0);
  for (std::size_t i = 0; i < layers; i++) pb[i + 1] = pb[i] + bytes[i];
  std::set<i64> runs = {0};
  for (std::size_t i = 0; i < layers; i++)
    for (std::size_t j = i + 1; j <= layers; j++) if (pb[j] - pb[i] <= budget) runs.insert(pb[j] - pb[i]);
  i64 best = INF;
  std::vector<std::uint8_t> best_plan(layers, 1);
  for (i64 run : runs) {
    const i64 left = budget - run;
    // cost(i, kept bytes so far, current run) -> fewest flops for the rest
    std::map<std::tuple<std::size_t, i64, i64>, std::pair<i64, int>> memo;
    std::function<i64(std::size_t, i64, i64)> cost = [&](std::size_t i, i64 used, i64 cur) -> i64 {
      if (i == layers) return 0;
      auto key = std::make_tuple(i, used, cur);
      if (auto it = memo.find(key); it != memo.end()) return it->second.first;
      i64 r = INF; int choice = 1;
      if (used + bytes[i] <= left) { i64 a = cost(i + 1, used + bytes[i], 0); if (a < r) { r = a; choice = 1; } }
      if (cur + bytes[i] <= run) { i64 a = cost(i + 1, used, cur + bytes[i]); if (a < INF && a + flops[i] < r) { r = a + flops[i]; choice = 0; } }
      memo[key] = {r, choice};
      return r;
    };
    i64 c = cost(0, 0, 0);
    if (c < best) {
      best = c;
      i64 used = 0, cur = 0;
      for (std::size_t i = 0; i < layers; i++) {
        int ch = memo[std::make_tuple(i, used, cur)].second;
        best_plan[i] = ch;
        if (ch) { used += bytes[i]; cur = 0; } else cur += bytes[i];
      }
    }
  }
  std::copy(best_plan.begin(), best_plan.end(), keep);
}
}
