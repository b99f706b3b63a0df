#include "recomputation.hpp"
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <vector>
namespace lab05 {
namespace {
struct state {
  std::int64_t kept, extra;
  std::size_t layer;        // kept last
  const state* before;
};
// For a fixed longest dropped run: pareto front of (kept bytes, extra flops) ending at a kept layer.
struct answer { std::int64_t extra; std::vector<std::uint8_t> keep; };
std::optional<answer> best(std::span<const std::int64_t> bytes, std::span<const std::int64_t> flops, std::int64_t run, std::int64_t budget) {
  const std::size_t n = bytes.size();
  std::vector<std::vector<state>> front(n + 1);
  std::vector<std::int64_t> b(n + 1), f(n + 1);
  std::partial_sum(bytes.begin(), bytes.end(), b.begin() + 1);
  std::partial_sum(flops.begin(), flops.end(), f.begin() + 1);
  // position p means: layers < p decided, layer p - 1 kept (or p = 0)
  front[0].push_back({0, 0, 0, nullptr});
  const state* winner = nullptr;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t p = 1; p <= n + 1; ++p) {
    std::vector<state> all;
    for (std::size_t q = p; q-- > 0;) {            // previous kept ends at q, dropped q .. p-2
      if (b[p - 1] - b[q] > run) break;
      const std::int64_t own = p <= n ? bytes[p - 1] : 0;
      for (const state& s : front[q])
        if (s.kept + own + run <= budget) all.push_back({s.kept + own, s.extra + f[p - 1] - f[q], p, &s});
    }
    std::ranges::sort(all, {}, [](const state& s) { return std::pair(s.kept, s.extra); });
    if (p == n + 1) {
      for (const state& s : all)
        if (s.extra < least) { least = s.extra; winner = s.before; }
      break;
    }
    std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
    for (const state& s : all)
      if (s.extra < lowest) { lowest = s.extra; front[p].push_back(s); }
  }
  if (!winner) return std::nullopt;
  answer a{least, std::vector<std::uint8_t>(n, 0)};
  for (const state* s = winner; s->before; s = s->before) a.keep[s->layer - 1] = 1;
  return a;
}
}  // namespace
void choose_checkpoints(std::uint8_t* keep, const std::int64_t* bytes, const std::int64_t* flops, std::size_t layers, std::int64_t budget) {
  std::span b{bytes, layers}, f{flops, layers};
  std::set<std::int64_t> runs{0};
  for (std::size_t i = 0; i < layers; ++i) {
    std::int64_t sum = 0;
    for (std::size_t j = i; j < layers; ++j)
      if ((sum += bytes[j]) <= budget) runs.insert(sum); else break;
  }
  std::optional<answer> found;
  for (const std::int64_t run : runs)
    if (auto a = best(b, f, run, budget); a && (!found || a->extra < found->extra)) found = std::move(a);
  if (found) std::ranges::copy(found->keep, keep);
}
}  // namespace lab05
