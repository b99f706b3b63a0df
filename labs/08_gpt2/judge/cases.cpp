// Lab 08's problems: sizes, seeded inputs, expected results, and the work that they take.
#include <lab/case.hpp>
#include <lab/compare.hpp>
#include <lab/formula.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "gpt2/pass.hpp"

namespace {

using lab::buffer;
using lab::dtype;
using lab::formula;
using lab::rows_case;
using lab::test_case;
using std::int64_t;

using floats = std::vector<float>;
using doubles = std::vector<double>;
using names = std::vector<std::string>;

std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

std::string sizes(std::initializer_list<int64_t> all) {
  std::string text;
  for (const int64_t n : all) text += (text.empty() ? "" : "x") + std::to_string(n);
  return text;
}

// ---- ranges --------------------------------------------------------------------------------------------------------

constexpr const char* operation_names[] = {"embed",
                                           "normalize_before_attention",
                                           "project_to_qkv",
                                           "multiply_queries_by_keys",
                                           "softmax",
                                           "weigh_values",
                                           "project_attention",
                                           "add_attention",
                                           "normalize_before_mlp",
                                           "expand",
                                           "gelu",
                                           "contract",
                                           "add_mlp",
                                           "normalize_last",
                                           "multiply_by_embedding"};
/// For each operation: an index of gpt2::all_blocks.
constexpr int block_of[] = {0, 1, 2, 2, 2, 2, 2, 3, 4, 5, 5, 5, 6, 7, 8};
constexpr int layer_range = 9, leave_event = 99, enter_event = 100, step_event = 1000;

std::string range_name(int which) {
  return which == layer_range  ? "layer"
         : which < layer_range ? gpt2::name_of(gpt2::all_blocks[which])
                               : "of another name";
}

/// The operations of a pass with this many layers, in order: (operation, layer).
std::vector<std::pair<int, int>> operations_of(int layers) {
  std::vector<std::pair<int, int>> all{{0, 0}};
  for (int l = 0; l < layers; ++l)
    for (int o = 1; o <= 12; ++o) all.emplace_back(o, l);
  all.insert(all.end(), {{13, 0}, {14, 0}});
  return all;
}

std::string nested(const std::vector<int>& ranges) {
  if (ranges.empty()) return "no range";
  std::string text;
  for (const int r : ranges) text += (text.empty() ? "'" : "' > '") + range_name(r);
  return text + "'";
}

/// "" if the events are right for a pass whose operation `fail_at` throws (-1: none).
std::string check_events(std::span<const double> out, int layers, int fail_at) {
  const auto want = operations_of(layers);
  const std::size_t expected = fail_at < 0 ? want.size() : at(fail_at) + 1;
  if (!(out[0] >= 0 && out[0] <= static_cast<double>(out.size() - 2))) return "more ranges than a pass can have";
  std::vector<int> open;
  std::map<int, int> begun;
  std::size_t done = 0;
  for (std::size_t i = 2; i < 2 + static_cast<std::size_t>(out[0]); ++i) {
    // A layer may be any number: the submission's process writes it.
    constexpr double most_event = step_event + 1e8;
    const int event = out[i] >= leave_event && out[i] < most_event ? static_cast<int>(out[i]) : 0;
    if (event == 0 || (event >= step_event && (event - step_event) % 100 >= std::ssize(operation_names)))
      return "an operation runs for a layer that does not exist";
    if (event == leave_event) {
      if (open.empty()) return "a range that never began ends";
      open.pop_back();
    } else if (event < step_event) {
      open.push_back(event - enter_event);
      ++begun[event - enter_event];
      if (event - enter_event > layer_range)
        return "a range has a name that is not in the contract; check the spelling";
    } else {
      const int operation = (event - step_event) % 100, layer = (event - step_event) / 100;
      const std::string what = std::string(operation_names[operation]) + " of layer " + std::to_string(layer);
      if (done >= expected) return what + " runs after the last operation, or after one that failed";
      if (std::pair(operation, layer) != want[done])
        return what + " runs instead of " + operation_names[want[done].first] + " of layer " +
               std::to_string(want[done].second) + " should";
      std::vector<int> right{block_of[operation]};
      if (operation >= 1 && operation <= 12) right.insert(right.begin(), layer_range);
      if (open != right) return what + " runs in " + nested(open) + ", but should run in " + nested(right);
      ++done;
    }
  }
  if (done < expected)
    return std::string(operation_names[want[done].first]) + " of layer " + std::to_string(want[done].second) +
           " never runs";
  if (!open.empty()) return nested(open) + " never ends" + (fail_at < 0 ? "" : " if an operation throws");
  if (out[1] != (fail_at < 0 ? 0 : 1)) return "forward() must let an operation's exception through to its caller";
  // One range per block: as many as there are first operations.
  std::map<int, int> right;
  for (std::size_t i = 0; i < expected; ++i) {
    const auto [operation, layer] = want[i];
    if (i == 0 || block_of[operation] != block_of[want[i - 1].first]) ++right[block_of[operation]];
    right[layer_range] += operation == 1;
  }
  for (const auto& [range, count] : begun)
    if (count != right[range])
      return "'" + range_name(range) + "' begins " + std::to_string(count) + " times, but should " +
             std::to_string(right[range]) + " times: one range per block";
  return {};
}

test_case ranges(int64_t layers, int64_t fail_at) {
  test_case result;
  result.id = "ranges/" + std::to_string(layers) + (fail_at < 0 ? "" : "_throws_at_" + std::to_string(fail_at));
  result.entry = "ranges";
  result.where = lab::part::host;
  const int64_t room = 64 * (layers + 1);
  result.parameters = {layers, fail_at, room};
  result.outputs = {{dtype::f64, room + 2}};
  result.inputs = [](std::uint64_t) { return lab::buffers(doubles{0}); };
  result.check = [=](std::span<const buffer>, std::span<const buffer> outputs) {
    return check_events(outputs[0].as<double>(), static_cast<int>(layers), static_cast<int>(fail_at));
  };
  return result;
}

// ---- formulas ------------------------------------------------------------------------------------------------------

const names of_shape = {"B", "T", "C", "L", "NH", "V"};

names with(names first, const names& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

formula block_work() {
  return {"block_work",
          with({"block"}, with(of_shape, {"bytes"})),
          {"FLOPs", "weight bytes", "activation bytes"},
          [](const double* in) {
            gpt2::config c;
            c.channels = static_cast<int>(in[3]);
            c.layers = static_cast<int>(in[4]);
            c.heads = static_cast<int>(in[5]);
            c.padded_vocabulary = static_cast<int>(in[6]);
            const auto w = gpt2::work_of(gpt2::all_blocks[static_cast<int>(in[0])], c, static_cast<int>(in[1]),
                                         static_cast<int>(in[2]), in[7]);
            return doubles{w.flops, w.weight_bytes, w.activation_bytes};
          },
          1e-9,
          [](const double* in) { return std::string(gpt2::name_of(gpt2::all_blocks[static_cast<int>(in[0])])); }};
}

formula bounds() {
  return {"bounds",
          {"FLOPs", "weight bytes", "activation bytes", "FLOP/s", "DRAM B/s", "L2 B/s"},
          {"cold seconds", "warm seconds", "memory_bound_cold", "memory_bound_warm"},
          [](const double* in) {
            const double compute = in[0] / in[3], cold = (in[1] + in[2]) / in[4],
                         warm = std::max(in[1] / in[4], (in[1] + in[2]) / in[5]);
            return doubles{std::max(compute, cold), std::max(compute, warm), cold > compute ? 1.0 : 0.0,
                           warm > compute ? 1.0 : 0.0};
          }};
}

/// All blocks of a shape, as rows of block_work.
doubles all_blocks(const doubles& shape, double bytes) {
  doubles rows;
  for (int b = 0; b < 9; ++b) {
    rows.push_back(b);
    rows.insert(rows.end(), shape.begin(), shape.end());
    rows.push_back(bytes);
  }
  return rows;
}

std::function<doubles(std::uint64_t)> drawn(std::size_t count, std::vector<std::pair<int64_t, int64_t>> bounds) {
  return [=](std::uint64_t seed) {
    lab::random_sizes size(seed);
    doubles rows;
    for (std::size_t i = 0; i < count; ++i)
      for (const auto& [least, most] : bounds) rows.push_back(static_cast<double>(size(least, most)));
    return rows;
  };
}

std::function<doubles(std::uint64_t)> fixed(doubles rows) {
  return [rows = std::move(rows)](std::uint64_t) { return rows; };
}

constexpr double a100_tf32[] = {156e12, 1555e9, 5e12};  // FLOP/s, DRAM and L2 bytes/s

void add_analysis(std::vector<test_case>& all) {
  doubles study = all_blocks({4, 64, 768, 12, 12, 50304}, 4);
  const doubles longer = all_blocks({4, 1024, 768, 12, 12, 50304}, 2);
  study.insert(study.end(), longer.begin(), longer.end());
  all.push_back(rows_case(block_work(), "study", fixed(study)));
  // Its counts exceed every float.
  all.push_back(rows_case(block_work(), "large", fixed(all_blocks({7, 9973, 1957, 13, 19, 50257}, 4))));
  all.push_back(rows_case(block_work(), "drawn", [](std::uint64_t seed) {
    lab::random_sizes size(seed);
    doubles rows;
    for (int i = 0; i < 3; ++i) {
      const auto draw = [&](int64_t least, int64_t most) { return static_cast<double>(size(least, most)); };
      const double heads = draw(1, 20);
      const doubles more = all_blocks(
          {draw(1, 9), draw(1, 999), heads * draw(1, 99), draw(1, 48), heads, draw(2, 60'000)}, size(0, 1) ? 2 : 4);
      rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
  }));
  doubles worked;
  for (const gpt2::block b : gpt2::all_blocks) {
    const auto w = gpt2::work_of(b, {}, 4, 64, 4);
    for (const double v : {w.flops, w.weight_bytes, w.activation_bytes, a100_tf32[0], a100_tf32[1], a100_tf32[2]})
      worked.push_back(v);
  }
  all.push_back(rows_case(bounds(), "study", fixed(worked)));
  all.push_back(
      rows_case(bounds(), "drawn", drawn(12, {{0, 1000}, {0, 1000}, {1, 1000}, {1, 50}, {1, 50}, {50, 200}})));

  const formula loads{
      "load_ratio", {"a.global_ld", "a.ldgsts", "b.global_ld", "b.ldgsts"}, {"ratio"}, [](const double* in) {
        return doubles{(in[0] + in[1]) / (in[2] + in[3])};
      }};
  all.push_back(rows_case(loads, "study", fixed({2'117'914, 0, 230'208, 339'456, 0, 1000, 0, 1000})));
  all.push_back(rows_case(loads, "drawn", drawn(6, {{0, 9999}, {1, 9999}, {0, 9999}, {1, 9999}})));
  const formula streams{"residual_stream_bytes", with(of_shape, {"bytes"}), {"bytes"}, [](const double* in) {
                          return doubles{in[3] * in[0] * in[1] * in[2] * in[6]};
                        }};
  all.push_back(rows_case(streams, "study", fixed({4, 64, 768, 12, 12, 50304, 4})));
  all.push_back(rows_case(streams, "drawn", drawn(4, {{1, 9}, {1, 999}, {1, 999}, {1, 99}, {1, 9}, {1, 999}, {2, 4}})));
  const formula percent{
      "percent_of_peak", {"s0", "s1", "s2", "s3", "p0", "p1", "p2", "p3", "n"}, {"per cent"}, [](const double* in) {
        double used = 0, time = 0;
        for (int i = 0; i < static_cast<int>(in[8]); ++i) used += in[i] * in[4 + i], time += in[i];
        return doubles{used / time};
      }};
  // Two matrix products, GELU, bias: each alone is near the peak, and together they never exceed it.
  all.push_back(rows_case(percent, "study", fixed({20e-6, 4e-6, 20e-6, 2e-6, 45, 30, 41.8, 10, 4})));
  all.push_back(
      rows_case(percent, "drawn",
                drawn(9, {{1, 99}, {1, 99}, {1, 99}, {1, 99}, {0, 100}, {0, 100}, {0, 100}, {0, 100}, {1, 4}})));
  const formula waits{
      "seconds_without_waits", {"w0", "w1", "w2", "w3", "wait", "n"}, {"seconds"}, [](const double* in) {
        double sum = 0;
        for (int i = 0; i < static_cast<int>(in[5]); ++i) sum += std::max(0.0, in[i] - in[4]);
        return doubles{sum};
      }};
  // LayerNorm, attention, residual, MLP of a layer, in microseconds; waiting takes 13.
  all.push_back(rows_case(waits, "study", fixed({30, 101, 17, 86, 13, 4})));
  all.push_back(rows_case(waits, "drawn", drawn(9, {{1, 99}, {1, 99}, {1, 99}, {1, 99}, {1, 60}, {1, 4}})));
}

/// The predictions' questions; given code computes the answers.
test_case study() {
  test_case result;
  result.id = "study/a100_tf32";
  result.entry = "study";
  result.where = lab::part::host;
  result.outputs = {{dtype::f64, 6}};
  result.inputs = [](std::uint64_t) { return lab::buffers(std::span<const double>(a100_tf32)); };
  result.check = [](std::span<const buffer>, std::span<const buffer>) { return std::string(); };
  return result;
}

/// The kind of kernel, counted from 1, whose launch takes longest in a modelled profile; see calls.cpp.
test_case profiled() {
  test_case result = study();
  result.id = "profile/unfused";
  result.entry = "profile";
  result.outputs = {{dtype::f64, 1}};
  result.inputs = [](std::uint64_t) { return std::vector<buffer>(); };
  return result;
}

// ---- traces --------------------------------------------------------------------------------------------------------

/// Random whole numbers up to a limit. Faster than lab::random_sizes, for a choice in each of many rows.
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

/// CUPTI's numbers for the kinds of its records, and for a marker's flags.
constexpr int64_t no_record = 0, copy_record = 1, fill_record = 2, driver_call = 4, runtime_call = 5,
                  kernel_record = 10, marker_record = 12, mark = 1, range_begins = 2, range_ends = 4;

/// As calls.cpp reads them. A marker's `stream` is its flag.
struct drawn_record {
  int64_t kind = no_record, start = 0, end = 0, correlation = 0, stream = 0, thread = 0, name = 0, id = 0;
};
constexpr int64_t most_records_a_kernel = 8, deepest = 20;

/// A random pass: each thread has ranges, and calls in them. Some calls launch kernels, which run later, in order
/// within each stream.
std::vector<drawn_record> draw_pass(int64_t kernels, int64_t streams, int64_t threads, std::uint64_t seed) {
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
    if (one_in(16)) on.now += draw(50'000, 200'000);  // until the device has no work left
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
  // A long pass is slow, too: 32 bits do not hold its times, nor does a float.
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
bool starts_earlier(const true_kernel& a, const true_kernel& b) {
  return std::pair(a.begin, a.stream) < std::pair(b.begin, b.stream);
}

/// The kernels of a pass, each with its block: the range that began last among those that contain its call, on the
/// call's thread.
std::vector<true_kernel> true_kernels(std::span<const int64_t> numbers, int64_t from) {
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
    const drawn_record &call = *calls.at(r.correlation), *block = nullptr;
    for (const auto& [id, range] : ranges)
      if (range.first->thread == call.thread && range.first->start < call.start && call.end < range.second->start &&
          (!block || block->start < range.first->start))
        block = range.first;
    kernels.push_back({r.name, block ? block->name : -1, r.stream, r.start - from, r.end - from, call.start - from});
  }
  std::sort(kernels.begin(), kernels.end(), starts_earlier);
  return kernels;
}

std::string block_text(int64_t number) {
  return number == -1 ? "no range (\"\")" : number < -1 ? "an unknown range" : "'range " + std::to_string(number) + "'";
}
/// The output of the submission's process, which may be anything.
int64_t whole(double value) { return std::abs(value) < 1e15 ? static_cast<int64_t>(value) : -9; }

std::string check_kernels(std::span<const int64_t> records, int64_t from, std::span<const double> out) {
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
true_sums sums_of(const std::vector<true_kernel>& kernels) {
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

std::string check_sums(std::span<const int64_t> records, int64_t from, std::span<const double> out, int64_t room) {
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
test_case trace(bool sums, int64_t kernels, int64_t streams, int64_t threads) {
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

/// The metrics of calls.cpp: sums, of which `sectors` and `requests` are two, and their ratio.
constexpr std::size_t counted_sums = 7, sectors = 5, requests = 6;

std::string number_text(double value) {
  return value == std::floor(value) ? std::to_string(whole(value)) : std::to_string(value);
}

test_case counted(int64_t blocks, int64_t metrics) {
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

// ---- questions to a timeline ----------------------------------------------------------------------------------------

/// The right answers; for the first two, every block that may be named.
struct right_answers {
  std::vector<int64_t> to_speed_up, to_fuse;
  int64_t least_busy = 0;  ///< a likely wrong answer to which block to fuse: the one with the least time in all
  int64_t waiting_for_host = 0, overlapping = 0, most_waiting = 0;
};

/// Nothing changes between two moments at which kernels are launched, begin or end.
right_answers answers_to(const std::vector<true_kernel>& kernels) {
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
  std::map<int64_t, std::pair<int64_t, int64_t>> times;  // sum and number, over all kernels of a block
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
    if (t.first * shortest->second == shortest->first * t.second) right.to_fuse.push_back(block);
  }
  return right;
}

bool contains(const std::vector<int64_t>& blocks, int64_t block) {
  return std::find(blocks.begin(), blocks.end(), block) != blocks.end();
}

enum class question { block_to_speed_up, block_to_fuse, time_waiting_for_host, time_overlapping, most_waiting };

std::string check_answer(question what, const right_answers& right, double answer) {
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

test_case asked(question what, int64_t kernels, int64_t streams, int64_t threads) {
  constexpr const char* entries[] = {"block_to_speed_up", "block_to_fuse", "time_waiting_for_host", "time_overlapping",
                                     "most_waiting"};
  constexpr int64_t most_blocks = 7;
  test_case result;
  result.entry = entries[static_cast<int>(what)];
  result.id = result.entry + "/" + std::to_string(kernels) + "_kernels_" + std::to_string(streams) + "_streams";
  result.where = lab::part::host;
  result.parameters = {kernels, most_blocks};
  result.outputs = {{dtype::f64, 1}};
  result.inputs = [=](std::uint64_t seed) {
    std::vector<true_kernel> all;
    // A single kernel's block is both the shortest and the least busy.
    const int most_tries = what == question::block_to_fuse && kernels > 1 ? 100 : 1;
    for (int tries = 0; tries < most_tries; ++tries) {
      const std::vector<drawn_record> records =
          draw_pass(kernels, streams, threads, seed + static_cast<std::uint64_t>(tries));
      all = true_kernels(std::span(&records.front().kind, records.size() * sizeof(drawn_record) / sizeof(int64_t)), 0);
      const right_answers right = answers_to(all);
      if (!contains(right.to_fuse, right.least_busy)) break;
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
constexpr question all_questions[] = {question::block_to_speed_up, question::block_to_fuse,
                                      question::time_waiting_for_host, question::time_overlapping,
                                      question::most_waiting};

// ---- blocks --------------------------------------------------------------------------------------------------------

/// Random in [-spread, spread) around one center per row, up to `far`.
floats rows_around(int64_t rows, int64_t columns, float spread, float far, std::uint64_t seed) {
  floats x = lab::random_floats(at(rows * columns), seed);
  const floats centers = lab::random_floats(at(rows), seed + 1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = spread * x[i] + far * centers[i / at(columns)];
  return x;
}

/// Rows for a LayerNorm, around centers up to `far`. `flat`: rows whose variance is about epsilon, and one whose
/// variance is 0.
floats rows_to_normalize(int64_t rows, int64_t channels, bool flat, float far, std::uint64_t seed) {
  floats x = rows_around(rows, channels, flat ? 5e-3f : 3.0f, flat || channels < 16 ? 0.0f : far, seed);
  if (flat) std::fill_n(x.begin(), channels, 0.25f);
  // In about every second row, one element, the first or any, is far from all others.
  many_choices draw(3 * rows, seed + 4);
  for (int64_t row = 0; !flat && channels >= 16 && row < rows; ++row)
    if (const int64_t kind = draw(0, 3); kind < 2)
      x[at(row * channels + (kind == 0 ? 0 : draw(0, channels - 1)))] += static_cast<float>(draw(200, 400));
  return x;
}

floats norm_weights(int64_t channels, std::uint64_t seed) {
  floats weight = lab::random_floats(at(channels), seed + 2);
  for (float& w : weight) w += 1.5f;
  return weight;
}

/// LayerNorm of each row, computed in double.
floats normalized(std::span<const float> in, std::span<const float> weight, std::span<const float> bias) {
  const std::size_t channels = weight.size();
  floats out(in.size());
  const auto normalize = [&](std::size_t r) {
    const auto row = in.subspan(r * channels, channels);
    double mean = 0, variance = 0;
    for (const double v : row) mean += v / static_cast<double>(channels);
    for (const double v : row) variance += (v - mean) * (v - mean) / static_cast<double>(channels);
    for (std::size_t c = 0; c < row.size(); ++c)
      out[r * row.size() + c] = static_cast<float>((static_cast<double>(row[c]) - mean) / std::sqrt(variance + 1e-5) *
                                                       static_cast<double>(weight[c]) +
                                                   static_cast<double>(bias[c]));
  };
  lab::for_each_index(in.size() / channels, normalize, channels);
  return out;
}

test_case layer_norm(const std::string& entry, int64_t rows, int64_t channels, bool flat = false) {
  test_case result;
  result.id = entry + "/" + sizes({rows, channels}) + (flat ? "_flat" : "");
  result.entry = entry;
  result.parameters = {rows, channels};
  result.outputs = {{dtype::f32, rows * channels}};
  result.inputs = [=](std::uint64_t seed) {
    return lab::buffers(rows_to_normalize(rows, channels, flat, 100.0f, seed), norm_weights(channels, seed),
                        lab::random_floats(at(channels), seed + 3));
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    const floats want = normalized(before[0].as<float>(), before[1].as<float>(), before[2].as<float>());
    // A single thread that adds up 4096 values near 100 is off by 1e-4 in their mean. Divided by a deviation of 1.7 and
    // multiplied by weights of up to 2.5, that needs at least 16 numbers.
    return lab::mismatch(outputs[0].as<float>(), want, {5e-4, 1e-5}, at(channels));
  };
  result.work.bytes = 8.0 * static_cast<double>(rows * channels);
  result.work.flops = 8.0 * static_cast<double>(rows * channels);
  return result;
}

/// The same two functions, for more kernels than a formula of a few numbers has.
test_case of_many(const std::string& entry, int64_t n) {
  test_case result;
  result.id = entry + "/" + std::to_string(n);
  result.entry = entry;
  result.where = lab::part::host;
  result.parameters = {n};
  result.outputs = {{dtype::f64, 1}};
  result.inputs = [=](std::uint64_t seed) {
    many_choices draw(2 * n, seed);
    doubles first(at(n)), second(at(n));
    for (double& one : first) one = static_cast<double>(draw(1, 99));
    for (double& one : second) one = static_cast<double>(draw(0, 60));
    return lab::buffers(first, second);
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const auto first = before[0].as<double>(), second = before[1].as<double>();
    double used = 0, time = 0, sum = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
      used += first[i] * second[i];
      time += first[i];
      sum += std::max(0.0, first[i] - second[0]);
    }
    const double want = entry == "percent_of_peak" ? used / time : sum, got = outputs[0].as<double>()[0];
    if (std::abs(got - want) <= 1e-9 * want) return "";
    return "the result is " + std::to_string(got) + ", should be " + std::to_string(want);
  };
  return result;
}

/// `thousandths`: of the scale, 125 for heads of 64 channels.
test_case softmax(const std::string& entry, int64_t matrices, int64_t tokens, int64_t thousandths = 125) {
  test_case result;
  result.id = entry + "/" + sizes({matrices, tokens});
  result.entry = entry;
  result.parameters = {matrices, tokens, thousandths};
  const int64_t n = matrices * tokens * tokens;
  result.outputs = {{dtype::f32, n}};
  result.inputs = [=](std::uint64_t seed) {
    floats scores = rows_around(matrices * tokens, tokens, 60.0f, 1000.0f, seed);
    many_choices draw(5 * matrices * tokens, seed + 2);
    for (int64_t row = 0; row < matrices * tokens; ++row) {
      const int64_t seen = row % tokens + 1, kind = draw(0, 2);
      const auto at_row = [&](int64_t column) -> float& { return scores[at(row * tokens + column)]; };
      if (kind == 1) {
        // Two scores are so far above the others that only subtracting the true maximum keeps exp() finite, and one of
        // them is slightly higher: capping exp() does not help.
        const int64_t far = draw(0, seen - 1), apart = draw(1, std::max<int64_t>(seen - 1, 1));
        const float highest = at_row(far) += static_cast<float>(draw(3000, 6000));
        if (seen > 1) at_row((far + apart) % seen) = highest - static_cast<float>(draw(4, 40)) / 8;
      } else if (kind == 2) {
        // All are far below any plausible initial value of a maximum; and equal, so that scaling them first is exact.
        const float far = std::ldexp(static_cast<float>(draw(5, 7)), static_cast<int>(draw(16, 24)));
        for (int64_t i = 0; i < tokens; ++i) at_row(i) = -far;
      }
    }
    for (int64_t i = 0; i < n; ++i)
      if (i % tokens > i / tokens % tokens) scores[at(i)] = std::numeric_limits<float>::quiet_NaN();
    return lab::buffers(scores);
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    const auto in = before[0].as<float>();
    floats want(in.size());
    const double scale = static_cast<float>(thousandths) * 1e-3f;
    const auto exponentiate = [&](std::size_t r) {
      const std::size_t row = r * at(tokens), seen = r % at(tokens) + 1;
      const double largest = *std::max_element(&in[row], &in[row] + seen);
      double sum = 0;
      for (std::size_t c = 0; c < seen; ++c) sum += std::exp(scale * (static_cast<double>(in[row + c]) - largest));
      for (std::size_t c = 0; c < seen; ++c)
        want[row + c] = static_cast<float>(std::exp(scale * (static_cast<double>(in[row + c]) - largest)) / sum);
    };
    lab::for_each_index(at(matrices * tokens), exponentiate, at(tokens));
    // Arguments of the exponential near 130 are off by 8e-6, twice, and its values by the same fraction.
    return lab::mismatch(outputs[0].as<float>(), want, {1e-7, 1e-4}, at(tokens));
  };
  const double seen = static_cast<double>(matrices * tokens) * static_cast<double>(tokens + 1) / 2;
  result.work.bytes = 4.0 * (seen + static_cast<double>(n));
  result.work.flops = 6.0 * seen;
  return result;
}

// ---- block.cpp -----------------------------------------------------------------------------------------------------

test_case residual_norm(int64_t rows, int64_t channels, bool flat = false) {
  test_case result = layer_norm("residual_norm", rows, channels, flat);
  const int64_t n = rows * channels;
  result.where = lab::part::host;
  result.parameters = {n, channels};  // the first is also the triad's, which takes the first three inputs
  result.outputs = {{dtype::f32, n}, {dtype::f32, n}};
  result.inputs = [=](std::uint64_t seed) {
    floats y = lab::random_floats(at(n), seed + 5);
    for (float& one : y) one *= flat ? 5e-3f : 1.0f;
    if (flat) std::fill_n(y.begin(), channels, 0.25f);
    return lab::buffers(rows_to_normalize(rows, channels, flat, 200.0f, seed), y, norm_weights(channels, seed),
                        lab::random_floats(at(channels), seed + 3));
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    floats sums(before[0].as<float>().begin(), before[0].as<float>().end());
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += before[1].as<float>()[i];
    if (const std::string why = lab::mismatch(outputs[0].as<float>(), sums, {}, at(channels)); !why.empty())
      return "stream: " + why;
    // Rows lie twice as far from 0 as those of layer_norm.
    const floats want = normalized(sums, before[2].as<float>(), before[3].as<float>());
    const std::string why = lab::mismatch(outputs[1].as<float>(), want, {1e-3, 1e-5}, at(channels));
    return why.empty() ? "" : "normalized: " + why;
  };
  result.work.bytes = 12.0 * static_cast<double>(n);  // the triad's traffic; the call stores the sums, too
  return result;
}

/// A row of attention_heads, computed in double.
doubles attention_row(std::span<const float> qkv, std::size_t t, std::size_t channels, std::size_t heads) {
  const std::size_t size = channels / heads;
  const auto row = [&](std::size_t u, std::size_t part) { return &qkv[(3 * u + part) * channels]; };
  doubles out(channels), share(t + 1);
  for (std::size_t first = 0; first < channels; first += size) {
    for (std::size_t u = 0; u <= t; ++u) {
      share[u] = 0;
      for (std::size_t c = first; c < first + size; ++c)
        share[u] += static_cast<double>(row(t, 0)[c]) * static_cast<double>(row(u, 1)[c]);
      share[u] /= std::sqrt(static_cast<double>(size));
    }
    const double largest = *std::max_element(share.begin(), share.end());
    double sum = 0;
    for (double& one : share) sum += one = std::exp(one - largest);
    for (std::size_t u = 0; u <= t; ++u)
      for (std::size_t c = first; c < first + size; ++c) out[c] += share[u] / sum * static_cast<double>(row(u, 2)[c]);
  }
  return out;
}

test_case attention_heads(int64_t tokens, int64_t channels, int64_t heads) {
  test_case result;
  result.id = "attention_heads/" + sizes({tokens, channels, heads});
  result.entry = "attention_heads";
  result.where = lab::part::host;
  result.parameters = {tokens, channels, tokens, heads};  // the first three are also those of Eigen's product
  result.outputs = {{dtype::f32, tokens * channels}};
  result.inputs = [=](std::uint64_t seed) {
    floats qkv = lab::random_floats(at(3 * tokens * channels), seed);
    many_choices draw(tokens, seed + 1);
    for (int64_t t = 0; t < tokens; ++t) {
      const bool far = draw(0, 2) == 0;  // so far apart that only subtracting the true maximum keeps exp() finite
      for (int64_t c = 0; c < 2 * channels; ++c) qkv[at(3 * t * channels + c)] *= far && c < channels ? 100.0f : 2.0f;
    }
    // Only Eigen's product takes the second input.
    return lab::buffers(qkv, lab::random_floats(at(tokens * channels), seed + 2));
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const auto qkv = before[0].as<float>(), got = outputs[0].as<float>();
    // In large cases, some rows, chosen after the answer is known.
    constexpr int64_t most = 1 << 25, some = 48;
    const bool all = tokens * tokens * channels <= most;
    lab::random_sizes draw(lab::secret_seed());
    for (int64_t i = 0; i < (all ? tokens : some); ++i) {
      const std::size_t t = at(all ? i : draw(0, tokens - 1));
      const auto row = got.subspan(t * at(channels), at(channels));
      // In a far row, the absolute terms of a product of 64 add up to 3200. Each sum rounds by up to 2^-24 of that, and
      // the weight of a value is off by the same fraction as its score, an eighth of the product. The largest error
      // seen was 7e-5.
      const std::string why = lab::mismatch(std::span<const double>(doubles(row.begin(), row.end())),
                                            attention_row(qkv, t, at(channels), at(heads)), {3e-4, 0});
      if (!why.empty()) return "row " + std::to_string(t) + ": " + why;
    }
    return "";
  };
  result.work.flops = 2.0 * static_cast<double>(tokens * channels) * static_cast<double>(tokens + 1);
  return result;
}

// ---- what the predictions ask, and the pass ------------------------------------------------------------------------

test_case residual_add(int64_t n) {
  test_case result;
  result.id = "residual_add/" + std::to_string(n);
  result.entry = "residual_add";
  result.parameters = {n};
  result.outputs = {{dtype::f32, n}};
  result.inputs = [n](std::uint64_t seed) {
    return lab::buffers(lab::random_floats(at(n), seed), lab::random_floats(at(n), seed + 1));
  };
  result.check = [](std::span<const buffer> before, std::span<const buffer> outputs) {
    floats want(before[0].as<float>().begin(), before[0].as<float>().end());
    for (std::size_t i = 0; i < want.size(); ++i) want[i] += before[1].as<float>()[i];
    return lab::mismatch(outputs[0].as<float>(), want, {});
  };
  result.work = {static_cast<double>(n), 12.0 * static_cast<double>(n)};
  return result;
}

/// Which of the student's blocks the pass calls; given code replaces the other, so that a failure has a name.
enum class block { both, layer_norm, softmax };

test_case forward(const gpt2::config& c, int64_t batch, int64_t length, block yours = block::both) {
  constexpr const char* prefixes[] = {"", "your_layer_norm_", "your_softmax_"};
  test_case result;
  result.id = "gpt2_forward/" + (prefixes[static_cast<int>(yours)] +
                                 (sizes({c.layers, c.heads, c.channels}) + "_" + sizes({batch, length})));
  result.entry = "gpt2_forward";
  result.parameters = {c.context, c.vocabulary, c.padded_vocabulary,        c.layers, c.heads, c.channels,
                       batch,     length,       static_cast<int64_t>(yours)};
  result.outputs = {{dtype::f32, batch * length * c.vocabulary}};
  const auto tokens = [=](std::uint64_t seed) {
    lab::random_sizes draw(seed + 1);
    std::vector<std::int32_t> ids;
    for (int64_t i = 0; i < batch * length; ++i) ids.push_back(static_cast<std::int32_t>(draw(0, c.vocabulary - 1)));
    return ids;
  };
  result.inputs = [=](std::uint64_t seed) {
    return lab::buffers(gpt2::random_checkpoint(c, seed).weights, tokens(seed));
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    const auto weights = before[0].as<float>();
    const auto ids = before[1].as<std::int32_t>();
    const doubles want = gpt2::reference_logits({c, {weights.begin(), weights.end()}}, ids, static_cast<int>(batch),
                                                static_cast<int>(length));
    const auto got = outputs[0].as<float>();
    // Logits are about 0.5; the solution's blocks are off by at most 3e-7.
    return lab::mismatch(std::span<const double>(doubles(got.begin(), got.end())), want, {5e-6, 0}, at(c.vocabulary));
  };
  return result;
}

std::vector<test_case> cases() {
  std::vector<test_case> all;
  for (const int64_t layers : {1, 2, 12}) all.push_back(ranges(layers, -1));
  for (int64_t fail_at = 0; fail_at < 27; ++fail_at) all.push_back(ranges(2, fail_at));  // each operation once
  for (const bool sums : {false, true})
    for (const auto& [kernels, streams, threads] : {std::array{12, 1, 1}, {150, 3, 1}, {1200, 4, 2}})
      all.push_back(trace(sums, kernels, streams, threads));
  for (const auto& [blocks, metrics] : {std::array{1, 1}, {5, 2}, {9, 8}}) all.push_back(counted(blocks, metrics));
  // One thread launches the long pass: its device waits for the host for more than 32 bits of nanoseconds.
  for (const question what : all_questions)
    for (const auto& [kernels, streams, threads] : {std::array{1, 1, 1}, {40, 1, 1}, {150, 3, 2}, {1200, 4, 1}})
      all.push_back(asked(what, kernels, streams, threads));
  add_analysis(all);
  all.push_back(study());
  all.push_back(profiled());
  // 1, primes, one below and one above each multiple of a vector, a warp and a block; the study's own size.
  const std::pair<int64_t, int64_t> shapes[] = {{1, 2},    {37, 3},   {5, 31},   {5, 32},    {3, 33},  {67, 65},
                                                {7, 127},  {4, 128},  {3, 129},  {2, 767},   {9, 768}, {1, 1023},
                                                {2, 1025}, {1, 4095}, {1, 4096}, {256, 768}, {3, 1000}};
  for (const auto& [rows, channels] : shapes) all.push_back(layer_norm("layer_norm", rows, channels));
  for (const int64_t channels : {64, 100, 2048}) all.push_back(layer_norm("layer_norm", 5, channels, true));
  const std::pair<int64_t, int64_t> squares[] = {{1, 1},   {3, 2},    {2, 5},    {1, 31},  {2, 32},  {1, 33},
                                                 {3, 64},  {1, 65},   {1, 127},  {1, 129}, {8, 256}, {1, 257},
                                                 {1, 700}, {1, 1025}, {1, 1028}, {1, 2050}};
  for (const auto& [matrices, tokens] : squares)  // heads of 64 channels only if bytes are counted
    all.push_back(softmax("causal_softmax", matrices, tokens, tokens == 256 ? 125 : 62 + 16 * (tokens % 12)));
  all.push_back(layer_norm("layer_norm_unfused", 256, 768));
  all.push_back(softmax("causal_softmax_unfused", 8, 64));
  all.push_back(residual_add(196'608));
  // Each block alone in the smallest pass: a failure shows this one first.
  const gpt2::config smallest{
      .context = 16, .vocabulary = 13, .padded_vocabulary = 16, .layers = 1, .heads = 3, .channels = 36};
  for (const block yours : {block::layer_norm, block::softmax}) all.push_back(forward(smallest, 1, 7, yours));
  const gpt2::config tiny = gpt2::config_named("tiny");
  for (const auto& [batch, length] : {std::pair<int64_t, int64_t>{1, 1}, {2, 17}})
    all.push_back(forward(tiny, batch, length));
  all.push_back(forward(
      {.context = 40, .vocabulary = 13, .padded_vocabulary = 16, .layers = 3, .heads = 3, .channels = 36}, 1, 37));
  all.push_back(timed(layer_norm("layer_norm", 1 << 16, 768)));
  all.push_back(timed(softmax("causal_softmax", 192, 1024)));
  // Below, at and above a vector, a strip of rows and a block of columns.
  const std::array<int64_t, 3> attended[] = {{1, 1, 1},    {1, 6, 2},    {2, 3, 3},   {5, 12, 4},
                                             {33, 64, 64}, {37, 36, 3},  {64, 64, 1}, {65, 96, 2},
                                             {128, 48, 4}, {129, 64, 8}, {200, 65, 1}};
  for (const auto& [tokens, channels, heads] : attended) all.push_back(attention_heads(tokens, channels, heads));
  for (const auto& [rows, channels] : shapes) all.push_back(residual_norm(rows, channels));
  all.push_back(residual_norm(5, 100, true));
  all.push_back(timed(attention_heads(768, 256, 4)));
  all.push_back(timed(residual_norm(4096, 768)));
  all.push_back(timed(layer_norm("layer_norm_unfused", 1 << 16, 768)));  // shows the gain of replacing them
  all.push_back(timed(softmax("causal_softmax_unfused", 192, 1024)));
  return all;
}

/// Random sizes: no submission can prepare for them. (Formulas draw their rows from the seed anyway.)
std::vector<test_case> drawn_cases(std::uint64_t seed) {
  lab::random_sizes size(seed);
  std::vector<test_case> all;
  for (int i = 0; i < 2; ++i) {
    const int64_t layers = size(1, 20);
    all.push_back(ranges(layers, -1));
    all.push_back(ranges(layers, size(0, 12 * layers + 2)));
    all.push_back(trace(i == 1, size(1300, 2000), size(2, 6), size(1, 3)));
    all.push_back(counted(size(10, 40), size(3, 7)));
    all.push_back(layer_norm("layer_norm", size(2, 40), size(16, 2000)));
    all.push_back(softmax("causal_softmax", size(1, 4), size(3, 200), size(50, 250)));
  }
  for (int i = 0; i < 2; ++i) {
    const int64_t heads = size(1, 6);
    all.push_back(attention_heads(size(3, 300), heads * size(1, 70), heads));
    all.push_back(residual_norm(size(2, 40), size(16, 2000)));
  }
  all.push_back(attention_heads(size(1100, 1400), size(3, 9), 1));
  all.push_back(residual_norm(size(257, 600), 33));
  for (const question what : all_questions) all.push_back(asked(what, size(200, 900), size(2, 6), size(1, 3)));
  // Larger than any case above, or as large as allowed.
  all.push_back(layer_norm("layer_norm", size(257, 600), 33));
  all.push_back(layer_norm("layer_norm", 2, size(4000, 4096)));
  all.push_back(softmax("causal_softmax", size(257, 400), size(3, 6), 125));
  all.push_back(softmax("causal_softmax", 1, size(2051, 2300), 125));
  all.push_back(ranges(size(1001, 1100), -1));
  for (const char* entry : {"percent_of_peak", "seconds_without_waits"})
    all.push_back(of_many(entry, size(1001, 3000)));
  // Cases whose counters are read.
  all.push_back(like("layer_norm/256x768", layer_norm("layer_norm", 16 * size(10, 15), 32 * size(10, 30))));
  all.push_back(like("causal_softmax/8x256", softmax("causal_softmax", size(7, 9), 8 * size(25, 31), 125)));
  return all;
}

const lab::case_registration registration{"08_gpt2", cases, drawn_cases};

}  // namespace
