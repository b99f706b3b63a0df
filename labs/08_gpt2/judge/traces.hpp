// Lab 08's problems about a timeline: traces of passes, their sums, counters by range, and questions about them.
#pragma once

#include <lab/case.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gpt2/pass.hpp"

namespace lab08 {

using lab::buffer;
using lab::dtype;
using lab::test_case;
using std::int64_t;

using floats = std::vector<float>;
using doubles = std::vector<double>;

inline std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

inline std::string sizes(std::initializer_list<int64_t> all) {
  std::string text;
  for (const int64_t n : all) text += (text.empty() ? "" : "x") + std::to_string(n);
  return text;
}

// ---- traces --------------------------------------------------------------------------------------------------------

/// At most `count` random whole numbers. Faster than lab::random_sizes, for choices in many rows.
class many_choices {
 public:
  many_choices(int64_t count, std::uint64_t seed) : random_(lab::random_floats(at(count), seed)) {}
  int64_t operator()(int64_t least, int64_t most) {
    const double share = (static_cast<double>(random_.at(next_++)) + 1) / 2;
    return least + static_cast<int64_t>(share * static_cast<double>(most - least + 1));
  }

 private:
  floats random_;
  std::size_t next_ = 0;
};

/// CUPTI's numbers for its kinds of records, and for a marker's flags.
inline constexpr int64_t no_record = 0, copy_record = 1, fill_record = 2, driver_call = 4, runtime_call = 5,
                         kernel_record = 10, marker_record = 12, mark = 1, range_begins = 2, range_ends = 4;

/// A record as calls.cpp reads it. A marker's `stream` is its flag.
struct drawn_record {
  int64_t kind = no_record, start = 0, end = 0, correlation = 0, stream = 0, thread = 0, name = 0, id = 0;
};
inline constexpr int64_t most_records_a_kernel = 8, deepest = 20;

/// A random pass: each thread has ranges and makes calls in them. Some calls launch kernels, which run later, in order
/// within each stream.
inline std::vector<drawn_record> draw_pass(int64_t kernels, int64_t streams, int64_t threads, std::uint64_t seed) {
  many_choices draw(60 * (kernels + 10), seed);
  const auto one_in = [&](int64_t n) { return draw(1, n) == 1; };
  std::vector<drawn_record> all;
  // Nanoseconds since 1970, which exceed a double's precision.
  const int64_t begin = 1'764'000'000'000'000'000 + draw(0, 8'000'000) * 1'000'000'007;
  struct host_thread {
    int64_t id, now;
    std::vector<int64_t> open;  // open markers
  };
  std::vector<host_thread> hosts;
  for (int64_t t = 0; t < threads; ++t) hosts.push_back({70'000 + 17 * t, begin + draw(0, 5000), {}});
  std::vector<int64_t> busy_until(at(streams), begin);
  int64_t correlation = draw(1, 1 << 30), markers = draw(1, 1 << 30);
  const auto later = [&](host_thread& on) { return on.now += draw(50, 900); };
  const auto end_range = [&](host_thread& on) {
    const int64_t now = later(on);
    all.push_back({marker_record, now, now, 0, range_ends, on.id, 0, on.open.back()});
    on.open.pop_back();
  };
  const auto call = [&](host_thread& on, int64_t kind) {
    const int64_t start = later(on);
    all.push_back({kind, start, on.now += draw(300, 2500), ++correlation, 0, on.id, 0, 0});
    return start;
  };
  const auto work = [&](int64_t kind, int64_t after, int64_t name) {
    const int64_t stream = draw(0, streams - 1);
    int64_t& until = busy_until[at(stream)];
    const int64_t start = std::max(after + draw(200, 3000), until + (one_in(4) ? 0 : draw(1, 1500)));
    until = start + draw(300, 12'000);
    all.push_back({kind, start, until, correlation, stream == 0 ? 7 : 12 + stream, 0, name, 0});
  };
  for (int64_t k = 0; k < kernels; ++k) {
    host_thread& on = hosts[at(draw(0, threads - 1))];
    if (one_in(16)) on.now += draw(50'000, 200'000);  // long enough for the device to run out of work
    if (one_in(2) && !on.open.empty()) end_range(on);
    if (one_in(2) && std::ssize(on.open) < deepest) {
      const int64_t now = later(on);
      all.push_back({marker_record, now, now, 0, range_begins, on.id, draw(0, 5), on.open.emplace_back(++markers)});
    }
    if (one_in(8)) all.push_back({marker_record, later(on), on.now, 0, mark, on.id, draw(0, 5), ++markers});
    if (one_in(8)) call(on, runtime_call);
    if (one_in(5)) {
      const int64_t kind = one_in(2) ? copy_record : fill_record, after = call(on, runtime_call);
      work(kind, after, 0);
    }
    const int64_t after = call(on, one_in(4) ? driver_call : runtime_call);
    work(kernel_record, after, draw(0, 99));
  }
  for (host_thread& on : hosts)
    while (!on.open.empty()) end_range(on);
  // A pass with many kernels also gets long times, which neither 32 bits nor a float can hold.
  const int64_t slower = kernels > 1000 ? draw(20'000, 30'000) : 1;
  for (drawn_record& r : all)
    for (int64_t* const time : {&r.start, &r.end}) *time = begin + slower * (*time - begin);
  // CUPTI guarantees no order.
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[at(draw(0, static_cast<int64_t>(i) - 1))]);
  all.resize(at(most_records_a_kernel * kernels + deepest * threads));
  return all;
}

struct true_kernel {
  int64_t name, block, stream, begin, end, launched;
  auto operator<=>(const true_kernel&) const = default;
};
inline bool starts_earlier(const true_kernel& a, const true_kernel& b) {
  return std::pair(a.begin, a.stream) < std::pair(b.begin, b.stream);
}

/// The kernels of a pass, each with its block: the range that began last among those that contain its call, on the
/// call's thread.
inline std::vector<true_kernel> true_kernels(std::span<const int64_t> numbers, int64_t from) {
  const auto* const first = reinterpret_cast<const drawn_record*>(numbers.data());
  const std::span records(first, numbers.size() * sizeof(int64_t) / sizeof(drawn_record));
  std::map<int64_t, const drawn_record*> calls;
  std::map<int64_t, std::pair<const drawn_record*, const drawn_record*>> ranges;  // by marker
  for (const drawn_record& r : records) {
    if (r.kind == driver_call || r.kind == runtime_call) calls[r.correlation] = &r;
    if (r.kind == marker_record && r.stream == range_begins) ranges[r.id].first = &r;
    if (r.kind == marker_record && r.stream == range_ends) ranges[r.id].second = &r;
  }
  std::vector<true_kernel> kernels;
  for (const drawn_record& r : records) {
    if (r.kind != kernel_record) continue;
    const auto found = calls.find(r.correlation);
    if (found == calls.end()) continue;
    const drawn_record &call = *found->second, *block = nullptr;
    for (const auto& [id, range] : ranges)
      if (range.first && range.second && range.first->thread == call.thread && range.first->start < call.start &&
          call.end < range.second->start && (!block || block->start < range.first->start))
        block = range.first;
    kernels.push_back({r.name, block ? block->name : -1, r.stream, r.start - from, r.end - from, call.start - from});
  }
  std::sort(kernels.begin(), kernels.end(), starts_earlier);
  return kernels;
}

inline std::string block_text(int64_t number) {
  if (number == -1) return "no range (\"\")";
  if (number < 0 || number >= std::ssize(gpt2::all_blocks)) return "an unknown range";
  return std::string("'") + gpt2::name_of(gpt2::all_blocks[number]) + "'";
}
/// Converts output of the submission's process, which may be anything.
inline int64_t whole(double value) { return std::abs(value) < 1e15 ? static_cast<int64_t>(value) : -9; }

inline std::string check_kernels(std::span<const int64_t> records, int64_t from, std::span<const double> out) {
  const std::vector<true_kernel> want = true_kernels(records, from);
  if (whole(out[0]) != std::ssize(want))
    return std::to_string(whole(out[0])) + " kernels are on the timeline, but the pass launches " +
           std::to_string(want.size());
  std::vector<true_kernel> got;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto* row = &out[1 + 6 * i];
    got.push_back({whole(row[0]), whole(row[1]), whole(row[2]), whole(row[3]), whole(row[4]), whole(row[5])});
    if (i > 0 && got[i].begin < got[i - 1].begin)
      return "kernel " + std::to_string(i) + " of the timeline begins before the one before it";
  }
  std::sort(got.begin(), got.end(), starts_earlier);
  for (std::size_t i = 0; i < want.size(); ++i) {
    const true_kernel &g = got[i], &w = want[i];
    if (g == w) continue;
    const std::string which = "kernel " + std::to_string(i) + " of " + std::to_string(want.size());
    if (g.begin != w.begin || g.end != w.end)
      return which + " runs from " + std::to_string(g.begin) + " to " + std::to_string(g.end) +
             " ns on the timeline, but ran from " + std::to_string(w.begin) + " to " + std::to_string(w.end);
    if (g.block != w.block)
      return which + " belongs to " + block_text(g.block) + ", but was launched in " + block_text(w.block);
    if (g.launched != w.launched)
      return which + " was launched at " + std::to_string(g.launched) + " ns on the timeline, but its call began at " +
             std::to_string(w.launched);
    return which + " has another name or stream than its record";
  }
  return {};
}

struct sum {
  int64_t launches = 0, busy = 0, until = 0;
};
struct true_sums {
  std::map<int64_t, sum> blocks;
  int64_t idle = 0, longest = 0;
};
inline true_sums sums_of(const std::vector<true_kernel>& kernels) {
  true_sums all;
  int64_t until = kernels.front().begin;
  for (const true_kernel& k : kernels) {
    sum& s = all.blocks[k.block];
    ++s.launches;
    s.busy += std::max<int64_t>(0, k.end - std::max(k.begin, s.until));
    s.until = std::max(s.until, k.end);
    all.idle += std::max<int64_t>(0, k.begin - until);
    all.longest = std::max(all.longest, k.begin - until);
    until = std::max(until, k.end);
  }
  return all;
}

inline std::string check_sums(std::span<const int64_t> records, int64_t from, std::span<const double> out,
                              int64_t room) {
  const auto [want, idle, longest] = sums_of(true_kernels(records, from));
  const auto differ = [](const std::string& what, int64_t got, int64_t right) {
    return what + " is " + std::to_string(got) + ", should be " + std::to_string(right);
  };
  const int64_t blocks = whole(out[2]);
  if (blocks != std::ssize(want)) return differ("the number of blocks that launch kernels", blocks, std::ssize(want));
  std::map<int64_t, sum> got;
  for (int64_t i = 0; i < std::min(blocks, room); ++i)
    got[whole(out[at(3 + 3 * i)])] = {whole(out[at(4 + 3 * i)]), whole(out[at(5 + 3 * i)])};
  for (const auto& [block, right] : want) {
    if (!got.contains(block)) return block_text(block) + " launches kernels, but is not among the blocks";
    if (got[block].launches != right.launches)
      return differ("the number of launches in " + block_text(block), got[block].launches, right.launches);
    if (got[block].busy != right.busy)
      return differ("the busy time of " + block_text(block) + " in ns", got[block].busy, right.busy);
  }
  if (whole(out[0]) != idle) return differ("the idle time in ns", whole(out[0]), idle);
  if (whole(out[1]) != longest) return differ("the longest gap in ns", whole(out[1]), longest);
  return {};
}

/// `sums`: for trace_sums.
inline test_case trace(bool sums, int64_t kernels, int64_t streams, int64_t threads) {
  test_case result;
  result.entry = sums ? "trace_sums" : "trace";
  result.id = result.entry + "/" + std::to_string(kernels) + "_kernels_" + std::to_string(streams) + "_streams_" +
              std::to_string(threads) + "_threads";
  result.where = lab::part::host;
  result.on_sim = true;
  const int64_t room = sums ? 16 : kernels;
  result.parameters = {most_records_a_kernel * kernels + deepest * threads, room};
  result.outputs = {{dtype::f64, sums ? 3 + 3 * room : 1 + 6 * room}};
  result.inputs = [=](std::uint64_t seed) {
    const std::vector<drawn_record> records = draw_pass(kernels, streams, threads, seed);
    int64_t from = records.front().start;
    for (const drawn_record& r : records)
      if (r.kind != no_record) from = std::min(from, r.start);
    const auto* const numbers = reinterpret_cast<const int64_t*>(records.data());
    const int64_t in_a_buffer = lab::random_sizes(seed + 1)(5, 90);
    return lab::buffers(std::span(numbers, records.size() * sizeof(drawn_record) / sizeof(int64_t)),
                        std::vector<int64_t>{from, in_a_buffer});
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    const auto records = before[0].as<int64_t>();
    const int64_t from = before[1].as<int64_t>()[0];
    const auto out = outputs[0].as<double>();
    return sums ? check_sums(records, from, out, room) : check_kernels(records, from, out);
  };
  return result;
}

// ---- counters by range ----------------------------------------------------------------------------------------------

/// The metrics of calls.cpp: sums, two of them `sectors` and `requests`, and the ratio of these two.
inline constexpr std::size_t counted_sums = 7, sectors = 5, requests = 6;

inline std::string number_text(double value) {
  return value == std::floor(value) ? std::to_string(whole(value)) : std::to_string(value);
}

inline test_case counted(int64_t blocks, int64_t metrics) {
  test_case result;
  result.entry = "count";
  result.id = "count/" + std::to_string(blocks) + "_blocks_" + std::to_string(metrics) + "_metrics";
  result.where = lab::part::host;
  result.on_sim = true;
  result.parameters = {blocks, metrics};
  result.outputs = {{dtype::f64, 2 + blocks * (1 + metrics)}};
  result.inputs = [=](std::uint64_t seed) {
    lab::random_sizes draw(seed);
    const auto shuffled = [&](int64_t count) {
      std::vector<int64_t> all(at(count));
      std::iota(all.begin(), all.end(), 0);
      for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[at(draw(0, static_cast<int64_t>(i) - 1))]);
      return all;
    };
    std::vector<int64_t> table;
    for (const int64_t name : shuffled(blocks)) {
      table.push_back(name);
      for (std::size_t m = 0; m < counted_sums; ++m) table.push_back(draw(1, 1'000'000));
    }
    std::vector<int64_t> asked = shuffled(counted_sums + 1);
    asked.resize(at(metrics));
    return lab::buffers(table, asked);
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const auto table = before[0].as<int64_t>(), asked = before[1].as<int64_t>();
    const auto out = outputs[0].as<double>();
    if (whole(out[0]) != blocks)
      return std::to_string(whole(out[0])) + " blocks are counted, but the pass has " + std::to_string(blocks);
    if (out[1] != 1) return "a run of the pass launches its blocks in another order, or not all of them";
    for (std::size_t i = 0; i < at(blocks); ++i) {
      const auto row = out.subspan(2 + i * at(1 + metrics));
      const auto drawn = table.subspan(i * (1 + counted_sums));
      const std::string which = "block " + std::to_string(i) + " of " + std::to_string(blocks);
      if (whole(row[0]) != drawn[0]) return which + " has another name than in the pass";
      const auto sums = drawn.subspan(1);
      for (std::size_t m = 0; m < at(metrics); ++m) {
        const auto metric = at(asked[m]);
        const double want = metric < counted_sums
                                ? static_cast<double>(sums[metric])
                                : static_cast<double>(sums[sectors]) / static_cast<double>(sums[requests]);
        if (!(std::abs(row[1 + m] - want) <= 1e-9 * want))
          return which + ": metric " + std::to_string(m) + " of " + std::to_string(metrics) + " is " +
                 number_text(row[1 + m]) + ", should be " + number_text(want);
      }
    }
    return {};
  };
  return result;
}

// ---- questions about a timeline -------------------------------------------------------------------------------------

/// The right answers; for the first two, every block that may be named.
struct right_answers {
  std::vector<int64_t> to_speed_up, to_fuse;
  int64_t least_busy = 0;  ///< a likely wrong answer for block_to_fuse: the block with the least total time
  int64_t waiting_for_host = 0, overlapping = 0, most_waiting = 0;
};

/// Nothing changes between two moments at which kernels are launched, begin or end.
inline right_answers answers_to(const std::vector<true_kernel>& kernels) {
  std::map<int64_t, std::vector<std::pair<const true_kernel*, int>>> moments;  // 0: launched, 1: begins, 2: ends
  for (const true_kernel& k : kernels) {
    moments[k.launched].emplace_back(&k, 0);
    moments[k.begin].emplace_back(&k, 1);
    moments[k.end].emplace_back(&k, 2);
  }
  right_answers right;
  std::map<int64_t, int> in_block, in_stream;  // running kernels
  std::map<int64_t, int64_t> alone, mean;
  int64_t last = 0, waiting = 0, running = 0;
  bool begun = false;
  for (const auto& [now, changes] : moments) {
    const int64_t time = now - last;
    if (in_block.size() == 1) alone[in_block.begin()->first] += time;
    if (in_stream.size() > 1) right.overlapping += time;
    if (begun && running == 0 && waiting == 0) right.waiting_for_host += time;
    for (const auto& [k, what] : changes) {
      waiting += what == 0 ? 1 : what == 1 ? -1 : 0;
      running += what == 1 ? 1 : what == 2 ? -1 : 0;
      begun = begun || what == 1;
      for (const auto& [all, one] : {std::pair{&in_block, k->block}, {&in_stream, k->stream}}) {
        int& count = (*all)[one] += what == 1 ? 1 : what == 2 ? -1 : 0;
        if (count == 0) all->erase(one);
      }
    }
    right.most_waiting = std::max(right.most_waiting, waiting);
    last = now;
  }
  std::map<int64_t, std::pair<int64_t, int64_t>> times;  // total time and number of each block's kernels
  for (const true_kernel& k : kernels) times[k.block].first += k.end - k.begin, ++times[k.block].second;
  int64_t longest = -1;
  const auto* shortest = &times.begin()->second;
  right.least_busy = times.begin()->first;
  for (const auto& [block, t] : times) {
    longest = std::max(longest, alone[block]);
    if (t.first < times[right.least_busy].first) right.least_busy = block;
    if (t.first * shortest->second < shortest->first * t.second) shortest = &t;
  }
  for (const auto& [block, t] : times) {
    if (alone[block] == longest) right.to_speed_up.push_back(block);
    // An average may have been rounded to a nanosecond.
    if (t.first * shortest->second <= (shortest->first + shortest->second) * t.second) right.to_fuse.push_back(block);
  }
  return right;
}

inline bool contains(const std::vector<int64_t>& blocks, int64_t block) {
  return std::find(blocks.begin(), blocks.end(), block) != blocks.end();
}

enum class question { block_to_speed_up, block_to_fuse, time_waiting_for_host, time_overlapping, most_waiting };

inline std::string check_answer(question what, const right_answers& right, double answer) {
  const auto block = [&](const std::vector<int64_t>& any) -> std::string {
    if (contains(any, whole(answer))) return {};
    return "the answer is " + block_text(whole(answer)) + ", should be " + block_text(any.front());
  };
  const auto number = [&](int64_t want) -> std::string {
    if (whole(answer) == want) return {};
    return "the answer is " + std::to_string(whole(answer)) + ", should be " + std::to_string(want);
  };
  switch (what) {
    case question::block_to_speed_up: return block(right.to_speed_up);
    case question::block_to_fuse: return block(right.to_fuse);
    case question::time_waiting_for_host: return number(right.waiting_for_host);
    case question::time_overlapping: return number(right.overlapping);
    default: return number(right.most_waiting);
  }
}

inline constexpr const char* entry_of[] = {"block_to_speed_up", "block_to_fuse", "time_waiting_for_host",
                                           "time_overlapping", "most_waiting"};

/// If `ties`, each kernel is launched at a moment at which one begins.
inline test_case asked(question what, int64_t kernels, int64_t streams, int64_t threads, bool ties = false) {
  constexpr int64_t most_blocks = 7;
  test_case result;
  result.entry = entry_of[static_cast<int>(what)];
  result.id = result.entry + "/" + std::to_string(kernels) + "_kernels_" + std::to_string(streams) + "_streams";
  if (ties) result.id += "_ties";
  result.where = lab::part::host;
  result.parameters = {kernels, most_blocks};
  result.outputs = {{dtype::f64, 1}};
  result.inputs = [=](std::uint64_t seed) {
    std::vector<true_kernel> all;
    // If there is a single kernel, its block is both the shortest and the least busy.
    const int most_tries = what == question::block_to_fuse && kernels > 1 ? 100 : 1;
    for (int tries = 0; tries < most_tries; ++tries) {
      const std::vector<drawn_record> records =
          draw_pass(kernels, streams, threads, seed + static_cast<std::uint64_t>(tries));
      all = true_kernels(std::span(&records.front().kind, records.size() * sizeof(drawn_record) / sizeof(int64_t)), 0);
      const right_answers right = answers_to(all);
      if (!contains(right.to_fuse, right.least_busy)) break;
    }
    for (true_kernel& k : all) {
      const auto next = std::find_if(all.begin(), all.end(), [&](auto& other) { return other.begin >= k.launched; });
      if (ties) k.launched = next->begin;  // its own begin at the latest
    }
    const true_sums of = sums_of(all);
    std::vector<int64_t> rows, sums{of.idle, of.longest};
    for (const true_kernel& k : all) rows.insert(rows.end(), {k.name, k.block, k.stream, k.begin, k.end, k.launched});
    for (const auto& [name, s] : of.blocks) sums.insert(sums.end(), {name, s.launches, s.busy});
    sums.resize(at(2 + 3 * most_blocks));
    return lab::buffers(rows, sums);
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    std::vector<true_kernel> all;
    for (const auto* k = before[0].as<int64_t>().data(); std::ssize(all) < kernels; k += 6)
      all.push_back({k[0], k[1], k[2], k[3], k[4], k[5]});
    return check_answer(what, answers_to(all), outputs[0].as<double>()[0]);
  };
  return result;
}

/// About the student's own pass, as the student's tracer records it. If `given_norm`, LayerNorm is the one that is
/// given, of few long rows, and takes longer than attention.
inline test_case asked_own(question what, bool given_norm) {
  constexpr int64_t most_records = 8192, columns = sizeof(drawn_record) / sizeof(int64_t);
  test_case result;
  result.entry = std::string("own_") + entry_of[static_cast<int>(what)];
  result.id = result.entry + (given_norm ? "/your_softmax" : "/your_blocks");
  result.where = lab::part::host;
  result.on_sim = true;
  result.threads = 2;  // more than one, so that the device may have threads, too
  result.parameters = {most_records, given_norm};
  result.outputs = {{dtype::f64, 1}, {dtype::i64, columns * most_records}};
  result.inputs = [=](std::uint64_t seed) {
    lab::random_sizes draw(seed);
    const int64_t heads = draw(1, 4), size = 4 * (given_norm ? draw(8, 16) : draw(1, 4));
    std::vector<int64_t> drawn = {draw(1, 3), heads, heads * size, draw(50, 200), draw(1, 1 << 20)};
    for (int text = 0; text < 2; ++text)
      drawn.insert(drawn.end(), {draw(1, 3), given_norm ? draw(2, 9) : draw(20, 60)});
    return lab::buffers(drawn, std::vector<int64_t>{draw(5, 90)});
  };
  result.check = [=](std::span<const buffer>, std::span<const buffer> outputs) -> std::string {
    const auto records = outputs[1].as<int64_t>();
    const std::vector<true_kernel> kernels = true_kernels(records, 0);
    if (kernels.empty()) return "your pass launches no kernel";
    return check_answer(what, answers_to(kernels), outputs[0].as<double>()[0]);
  };
  return result;
}
inline constexpr question all_questions[] = {question::block_to_speed_up, question::block_to_fuse,
                                             question::time_waiting_for_host, question::time_overlapping,
                                             question::most_waiting};

}  // namespace lab08
