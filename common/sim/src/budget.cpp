#include "budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <tuple>

#include "basic_blocks.hpp"
#include "settings.hpp"
#include "sim/host_accesses.hpp"

namespace sim {
namespace {

using clock = std::chrono::steady_clock;
const clock::time_point program_begin = clock::now();

double seconds_since(clock::time_point begin) { return std::chrono::duration<double>(clock::now() - begin).count(); }

// The shares of the remaining time for a new launch, and for one that repeats an earlier grid.
constexpr double share_of_new = 1. / 4, share_of_known = 1. / 32;
constexpr double least_seconds_of_new = 0.5;  // even if the budget is used up: a program has few kernels
constexpr double share_before_look = 1. / 8;  // of a launch's time: until then its blocks run in order
constexpr double tolerance = 1. / 8;          // of a launch's time

using launch_key = std::tuple<std::string, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned>;
launch_key key_of(const launched& what) {
  const dim3 &g = what.config.grid, &b = what.config.block;
  return {what.kernel, g.x, g.y, g.z, b.x, b.y, b.z};
}
std::map<launch_key, launched>& runs() {
  static auto& all = *new std::map<launch_key, launched>;
  return all;
}
std::atomic<bool> partial = false;
bool last_block_first = false;
std::uint64_t between_blocks = 1;

/// The n-th block in this order: every `step`-th from block 0 on, then every `step`-th from block 1 on, and so on.
std::uint64_t in_steps(std::uint64_t n, std::uint64_t blocks, std::uint64_t step) {
  for (std::uint64_t first = 0; first < std::min(step, blocks); ++first) {
    const std::uint64_t these = (blocks - first + step - 1) / step;
    if (n < these) return first + n * step;
    n -= these;
  }
  return n;
}

/// The n-th block in an order drawn with SIM_SCHEDULE: n * step + begin, where step and the number of blocks share no
/// factor.
std::uint64_t in_drawn_order(std::uint64_t n, std::uint64_t blocks) {
  std::uint64_t step = drawn(blocks, blocks) + 1;
  while (std::gcd(step, blocks) != 1) ++step;
  using wide = unsigned __int128;
  return static_cast<std::uint64_t>((wide{n} * step + drawn(blocks)) % blocks);
}

/// The positive number in a setting; 0 if it is not set.
double positive(const char* name, const char* what) {
  const char* wanted = setting(name);
  if (!wanted) return 0;
  char* end = nullptr;
  const double given = std::strtod(wanted, &end);
  if (*end == '\0' && given > 0 && given < 1e9) return given;
  fmt::print(stderr, "simulated device: {}={} is not a {}; set it to one, such as 60\n", name, wanted, what);
  std::exit(2);
}
std::uint64_t schedule() {
  static const auto seed = static_cast<std::uint64_t>(positive("SIM_SCHEDULE", "positive number"));
  return seed;
}

}  // namespace

bool is_order_drawn() { return schedule() != 0; }
std::uint64_t drawn(std::uint64_t choices, std::uint64_t block, std::uint64_t round) {
  if (schedule() == 0) return 0;
  std::uint64_t x = schedule() + (block << 20) + round;  // SplitMix64
  for (const std::uint64_t factor : {0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu}) x = (x ^ (x >> 30)) * factor;
  return (x ^ (x >> 31)) % choices;
}

double budget_seconds() {
  static const double seconds = positive("SIM_BUDGET", "number of seconds");
  return seconds;
}
bool memory_is_partial() { return partial; }
void note_partial_memory() { partial = true; }

double seconds_for(const launched& what) {
  // The blocks of a cooperative launch wait for each other.
  if (budget_seconds() == 0 || what.config.cooperative) return std::numeric_limits<double>::infinity();
  const double left = std::max(0.0, budget_seconds() - seconds_since(program_begin));
  return runs().contains(key_of(what)) ? left * share_of_known : std::max(left * share_of_new, least_seconds_of_new);
}
const launched* instead_of(const launched& what) {
  if (budget_seconds() == 0 || seconds_since(program_begin) < budget_seconds()) return nullptr;
  const auto found = runs().find(key_of(what));
  return found == runs().end() ? nullptr : &found->second;
}
void note_run(const launched& what) {
  if (budget_seconds() > 0) runs()[key_of(what)] = what;
}

// ---- one launch

void block_schedule::thin_out(std::uint64_t together) {
  const double elapsed = seconds_since(begin_);
  const std::uint64_t next = next_, turns = turns_;
  if (elapsed < seconds_ * share_before_look || turns == 0 || next >= blocks_) return;
  const double rest = static_cast<double>((blocks_ - next) / together) * elapsed / static_cast<double>(turns);
  const double left = std::max(0.0, seconds_ - elapsed) + seconds_ * tolerance;
  std::uint64_t before = stride_, stride = before;
  while (rest / static_cast<double>(stride) > left && stride < blocks_) stride *= 2;
  if (stride == before) return;
  note_partial_memory();
  thinned_ = true;
  while (before < stride && !stride_.compare_exchange_weak(before, stride)) {
  }
}

block_schedule::turn block_schedule::next(std::uint64_t together) {
  if (seconds_ < std::numeric_limits<double>::infinity()) thin_out(together);
  const bool apart = thinned_;
  const std::uint64_t stride = stride_, number = next_.fetch_add(stride * together);
  if (number < blocks_) {
    const std::uint64_t rest = (blocks_ - number) / together;
    const bool leaves_last = rest > 1 && rest <= stride;
    run_ += together;
    ++turns_;
    if (!apart) ++turns_before_;
    if (leaves_last) last_to_come_ = true;
    const bool all_run = seconds_ == std::numeric_limits<double>::infinity();
    const std::uint64_t which = all_run && last_block_first                    ? blocks_ - together - number
                                : all_run && together == 1 && is_order_drawn() ? in_drawn_order(number, blocks_)
                                : all_run && together == 1 ? in_steps(number, blocks_, between_blocks)
                                                           : number;
    return {which, std::min(stride, rest) - leaves_last, apart, rest == 1};
  }
  if (!last_to_come_.exchange(false)) return {};
  run_ += together;
  return {blocks_ - together, 1, true, true};
}

void block_schedule::note(const launch_counts& counted, const turn& of, bool alone) {
  if (!thinned_) return;
  if (of.apart && !alone) mixed_ = true;
  if (of.last && alone) return;
  std::map<std::string, numbers> sums;
  for (const auto& [key, c] : counted.sites) {
    const auto add = [&](const std::string& name, const numbers& here) {
      numbers& sum = sums[name];
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += here[i];
    };
    const operation op = site_operation(key.second);
    if (const block_info* block = block_at(site_pc(key.second)))
      add("instructions", {c.requests * block->instructions, c.lanes * block->instructions});
    const bool remote = op >= operation::remote_load && op <= operation::remote_atomic;
    if (c.requests > 0 && op != operation::copy && (key.first != space::none || remote))
      add(name_of(key.first, op) + "s", {c.requests, c.lanes, c.bytes, c.sectors, c.wavefronts});
  }
  if (of.apart) ++blocks_apart_;
  for (const auto& [name, sum] : sums) {
    if (!of.apart) {
      for (std::size_t i = 0; i < sum.size(); ++i) before_[name][i] += sum[i];
      continue;
    }
    range& r = apart_.try_emplace(name, range{sum, sum, 0}).first->second;
    ++r.blocks;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      r.low[i] = std::min(r.low[i], sum[i]);
      r.high[i] = std::max(r.high[i], sum[i]);
    }
  }
}

std::map<std::string, bool> block_schedule::same() const {
  std::map<std::string, bool> all;
  for (const auto& [name, sum] : before_) all[name] = false;
  for (const auto& [name, r] : apart_) {
    const auto before = before_.find(name);
    bool same = !mixed_ && r.blocks == blocks_apart_ && r.low == r.high;
    for (std::size_t i = 0; i < r.low.size(); ++i)
      same &= (before == before_.end() ? 0 : before->second[i]) == r.low[i] * turns_before_;
    all[name] = same;
  }
  return all;
}

}  // namespace sim

void sim_begin_with_last_block(bool yes) { sim::last_block_first = yes; }
void sim_begin_with_every_block(std::size_t step) { sim::between_blocks = step; }
