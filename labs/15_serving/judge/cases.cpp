// Lab 15's problems: formulas, operations on a pager, days of a server, attention through page tables, products with
// several vectors. A pager and a scheduler are judged by what they may do next, given all that they did before.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <lab/case.hpp>
#include <lab/compare.hpp>
#include <lab/figures.hpp>
#include <lab/formula.hpp>
#include <limits>
#include <string>
#include <utility>

#include "account.hpp"
#include "operations.hpp"
#include "pager_judge.hpp"
#include "trace.hpp"

namespace {

using namespace lab15;
using lab::bfloat16;
using lab::buffer;
using lab::dtype;
using lab::test_case;
using std::int32_t;
using std::int64_t;
using floats = std::vector<float>;
using doubles = std::vector<double>;

constexpr double unit = 0x1p-24;  // the rounding of one operation in FP32

// ---- advice ---------------------------------------------------------------------------------------------------------

/// Rows of numbers. Machine: bytes and FLOPs per second, memory. Model: bytes of weights; FLOPs and bytes of cache per
/// token. The last numbers of a row are specific to the function.
using setting = doubles;

double cache(const double* in, double context) { return in[5] * context; }

double turning_point(const double* in) {
  const double gained = in[4] / in[1] - cache(in, in[6]) / in[0];
  return gained > 0 ? std::ceil(in[3] / in[0] / gained) : -1;
}

double advised(const double* in) {
  const double of_sequence = cache(in, in[6]);
  return std::floor(std::max(
      0.0, std::min({(in[7] * in[0] - in[3]) / of_sequence, in[7] * in[1] / in[4], (in[2] - in[3]) / of_sequence})));
}

lab::formula advice(const std::string& entry) {
  lab::formula f{entry,
                 {"bytes_per_second", "flops_per_second", "memory_bytes", "weight_bytes", "flops_per_token",
                  "cache_bytes_per_token"},
                 {"result"},
                 {},
                 0};
  if (entry == "step_seconds_of") {
    f.arguments.insert(f.arguments.end(), {"batch", "context"});
    f.tolerance = 1e-9;
    f.want = [](const double* in) {
      return doubles{std::max((in[3] + in[6] * cache(in, in[7])) / in[0], in[6] * in[4] / in[1])};
    };
  } else if (entry == "turning_point_of") {
    f.arguments.emplace_back("context");
    f.want = [](const double* in) { return doubles{turning_point(in)}; };
  } else {
    f.arguments.insert(f.arguments.end(), {"context", "limit"});
    f.want = [](const double* in) { return doubles{advised(in)}; };
  }
  return f;
}

test_case advice_case(const std::string& entry, const std::string& label, const std::vector<setting>& rows) {
  doubles all;
  for (const setting& one : rows) all.insert(all.end(), one.begin(), one.end());
  return lab::rows_case(advice(entry), label, [all](std::uint64_t) { return all; });
}

const setting h200_llama_1b{4.25e12, 989e12, 141e9, 2.47e9, 2.47e9, 32'768},
    a100_llama_8b{1.9e12, 312e12, 80e9, 16.06e9, 15e9, 131'072};
/// Powers of two: results are exact, in any order of operations. Reading the weights takes 2^-9 seconds, the products
/// of a sequence take 2^-18, reading a cached token 2^-19.
const setting exact{0x1p40, 0x1p50, 0x1p34, 0x1p31, 0x1p32, 0x1p21};
/// For this machine, a batch does not fit in an int.
const setting huge{1e15, 1e16, 1e13, 1e9, 10, 1};

setting with(setting base, const setting& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}

setting with_memory(setting base, double bytes, const setting& more) {
  base[2] = bytes;
  return with(base, more);
}

/// 16 rows of random machines and models whose whole-number results survive tiny changes of the weights.
test_case drawn_advice(const std::string& entry, std::uint64_t drawn) {
  return lab::rows_case(advice(entry), fmt::format("drawn-{}", drawn % 1000), [=](std::uint64_t seed) {
    lab::random_sizes draw(seed + drawn);
    doubles all;
    for (int count = 0; count < 16;) {
      setting one;
      const auto scaled = [&](int64_t least, int64_t most, double by) {
        one.push_back(static_cast<double>(draw(least, most)) * by);
      };
      scaled(90, 8000, 1e9), scaled(10, 5000, 1e12), scaled(8, 400, 1e9);
      scaled(100, 90'000, 1e6), scaled(200, 90'000, 1e6), scaled(3, 500, 1e3);
      if (entry == "step_seconds_of") scaled(1, 3000, 1);
      scaled(1, entry == "turning_point_of" ? 500 : 30'000, 1);
      if (entry == "advise_for") scaled(1, 200, 1e-3);
      const bool whole_numbers = entry != "step_seconds_of";
      const auto moved = [&](double factor) {  // the result for slightly larger weights
        setting other = one;
        other[3] *= factor;
        return advice(entry).want(other.data())[0];
      };
      if (whole_numbers && moved(1 - 1e-9) != moved(1 + 1e-9)) continue;
      all.insert(all.end(), one.begin(), one.end());
      ++count;
    }
    return all;
  });
}

void add_advice(std::vector<test_case>& all) {
  all.push_back(
      advice_case("step_seconds_of", "listed",
                  {with(h200_llama_1b, {1, 1}), with(h200_llama_1b, {64, 1024}), with(h200_llama_1b, {4000, 1}),
                   with(a100_llama_8b, {32, 8192}), with(exact, {1024, 1}), with(huge, {5e9, 1e6})}));
  all.push_back(advice_case("turning_point_of", "listed",
                            {with(exact, {1}),  // 1024, where both take equally long
                             with(exact, {2}),  // never: each sequence adds as much memory time as arithmetic
                             with(exact, {3}), with(a100_llama_8b, {1}), with(a100_llama_8b, {4096}),
                             with({1e9, 1e12, 1e12, 9.1234567e12, 2.7e3, 1}, {1})}));  // beyond 2^31
  const double weights = 0x1p31, token = 0x1p21, read = 0x1p-9, each = 0x1p-19;
  all.push_back(advice_case(
      "advise_for", "listed",
      {with(h200_llama_1b, {1024, 0.005}), with(h200_llama_1b, {1024, 0.1}), with(h200_llama_1b, {1, 0.0009}),
       with(a100_llama_8b, {4096, 0.05}), with(exact, {1, read + 100 * each}),            // exactly 100
       with(exact, {1, read + 100 * each - 0x1p-30}),                                     // 99
       with(exact, {1, read}), with(exact, {1, read / 2}),                                // none
       with(exact, {1, read + 1500 * each}),                                              // arithmetic: 1262
       with(exact, {1, 0x1p-7}),                                                          // arithmetic: 2048
       with_memory(exact, weights + 64 * token, {1, 1}),                                  // exactly 64
       with_memory(exact, weights + 64 * token - 1, {1, 1}),                              // 63
       with_memory(exact, weights, {1, 1}), with_memory(exact, weights / 2, {1, 1}),      // none
       with(huge, {1, 1e9}), with({1e15, 1e16, 1e15, 1e9, 10, 0x1p24 + 1}, {1, 1e9})}));  // not in int, not in float
}

// ---- pages ----------------------------------------------------------------------------------------------------------

test_case pages(const pager_plan& plan, const std::string& label = "") {
  test_case c;
  c.entry = plan.shares ? "shared_pages" : "pages";
  c.id = fmt::format("{}/{}x{}-{}{}", c.entry, plan.pages, plan.page_tokens, plan.operations, label);
  c.where = lab::part::host;
  const int count = plan.operations + plan.names;
  c.parameters = {plan.pages, plan.page_tokens, count};
  c.outputs = {{dtype::i32, count * width_of_answer(plan.pages)}};
  c.inputs = [=](std::uint64_t seed) { return lab::buffers(operations_of(plan, seed)); };
  c.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    pager_judge judge(plan);
    const int32_t *next = before[0].as<int32_t>().data(), *answer = outputs[0].as<int32_t>().data();
    for (int i = 0; i < count; ++i, answer += width_of_answer(plan.pages)) {
      const std::string wrong = judge.enter(operation::read(next), answer);
      if (!wrong.empty()) return fmt::format("operation {} of {}: {}", i + 1, count, wrong);
    }
    return "";
  };
  return c;
}

// ---- the scheduler --------------------------------------------------------------------------------------------------

/// The rule that this valid call breaks, or "".
std::string broken_rule(const account& now, engine_call c) {
  const int first = now.first_waiting(), needed = now.needed(), r = static_cast<int>(c.request);
  const bool waits = first < now.requests();
  const int pages = waits ? now.pages_for(now.tokens(first) + 1) + needed : 0;
  const auto count = [&](int n) {
    return fmt::format("{} page{}, and {} {} free", n, n == 1 ? "" : "s", now.free_pages(),
                       now.free_pages() == 1 ? "is" : "are");
  };
  if (c.what == engine_call::admit) {
    if (needed > now.free_pages()) return fmt::format("those who run need {}", count(needed));
    if (r != first) return fmt::format("request {} waits, too, and arrived before", first);
    if (pages > now.free_pages())
      return fmt::format("its {} tokens, its next one, and the next ones of those who run need {}", now.tokens(r),
                         count(pages));
  }
  if (c.what == engine_call::preempt) {
    if (needed <= now.free_pages()) return fmt::format("those who run need {}", count(needed));
    for (int later = r + 1; later < now.requests(); ++later)
      if (now.running(later)) return fmt::format("request {} runs, too, and arrived later", later);
  }
  if (c.what == engine_call::step && waits && now.free_slots() > 0 && pages <= now.free_pages())
    return fmt::format("request {} waits; {} of {} slots are free, and it and those who run need {}", first,
                       now.free_slots(), now.about().slots, count(pages));
  return "";
}

/// Figures of a day so far.
std::string figures_of(const account& seen) {
  std::string text = fmt::format("{} steps, {} idle slots, {} tokens computed again", seen.steps(), seen.idle_slots(),
                                 seen.tokens_again());
  const doubles latencies = seen.latencies();
  if (!latencies.empty())
    text +=
        fmt::format(", latency p50 {:.3g} s, p99 {:.3g} s", percentile(latencies, 0.5), percentile(latencies, 0.99));
  return text;
}

std::string wrong_day(const workload& w, std::span<const int64_t> record) {
  constexpr const char* names[] = {"admit", "preempt", "step", "wait"};
  account seen(w);
  std::string last;
  const int64_t count = std::clamp<int64_t>(record[0], 0, (std::ssize(record) - 1) / 2);
  for (int64_t i = 0; i < count; ++i) {
    const engine_call c{record[at(1 + 2 * i)], record[at(2 + 2 * i)]};
    const bool named = c.what >= engine_call::admit && c.what <= engine_call::wait;
    std::string call = named ? names[c.what] : "?";
    if (c.what <= engine_call::preempt) call += fmt::format("({})", c.request);
    account after = seen;
    std::string wrong = after.enter(c);
    if (wrong.empty()) wrong = broken_rule(seen, c);
    if (!wrong.empty())
      return fmt::format("call {}, {}{}: {}. Until then {}", i + 1, call, last.empty() ? "" : " after " + last, wrong,
                         figures_of(seen));
    seen = std::move(after);
    last = call;
  }
  for (int r = 0; r < seen.requests(); ++r)
    if (!seen.finished(r))
      return fmt::format("serve returns, but request {} is not finished, after {}", r, figures_of(seen));
  return "";
}

struct day {
  int requests, slots, page_tokens, pages, prompt, output;  ///< the longest prompt and output
  int together = 1;                                         ///< requests that arrive at the same time
  int milliseconds = 20;                                    ///< between arrivals, on average
  bool needs_all = false;                                   ///< a request in the middle needs all pages
  int admission = 1;                                        ///< times the usual cost of an admitted token
};

workload workload_for(const day& d, std::uint64_t seed) {
  lab::random_sizes draw(seed);
  const auto any = [&](int64_t least, int64_t most) { return static_cast<int>(draw(least, most)); };
  workload w{d.slots, d.page_tokens, d.pages, 0.005, 1e-4, 1e-7, 1e-5 * any(1, 20) * d.admission, {}};
  double now = any(0, 1) * 0.5;
  for (int i = 0; i < d.requests; ++i) {
    if (i > 0 && i % d.together == 0) now += 1e-3 * any(0, 2 * d.milliseconds * d.together);
    w.requests.push_back({now, any(1, d.prompt), any(1, d.output)});
  }
  if (d.needs_all) {
    request& one = w.requests[at(d.requests / 2)];
    one.prompt = d.pages * d.page_tokens - one.output;
  }
  return w;
}

/// "serve_full" if memory is short.
test_case serve(const day& d) {
  const bool full = d.pages < d.slots * ((d.prompt + d.output + d.page_tokens - 1) / d.page_tokens);
  test_case c;
  c.entry = full ? "serve_full" : "serve";
  c.id = fmt::format("{}/{}in{}-{}x{}{}", c.entry, d.requests, d.slots, d.pages, d.page_tokens,
                     d.together > 1 ? "-bursts" : "");
  c.where = lab::part::host;
  c.outputs = {{dtype::i64, 1 + 8 * std::max(1, d.requests * (d.output + 1))}};
  c.inputs = [=](std::uint64_t seed) { return lab::buffers(numbers_of(workload_for(d, seed))); };
  c.check = [](std::span<const buffer> before, std::span<const buffer> outputs) {
    return wrong_day(workload_of(before[0].as<double>().data()), outputs[0].as<int64_t>());
  };
  return c;
}

/// Computed by arithmetic for the predictions' trace: steps of static batching, its idle slots, and steps of continuous
/// batching.
doubles slots_of_trace() {
  const workload w = trace();
  const auto slots = at(w.slots);
  int steps = 0, idle = 0;
  for (std::size_t first = 0; first < w.requests.size(); first += slots) {
    const std::size_t end = std::min(first + slots, w.requests.size());
    int longest = 0, tokens = 0;
    for (std::size_t r = first; r < end; ++r) {
      longest = std::max(longest, w.requests[r].output);
      tokens += w.requests[r].output;
    }
    steps += longest;
    if (end < w.requests.size()) idle += longest * w.slots - tokens;
  }
  std::vector<int> until(slots);
  for (const request& r : w.requests) *std::min_element(until.begin(), until.end()) += r.output;
  return {static_cast<double>(steps), static_cast<double>(idle),
          static_cast<double>(*std::max_element(until.begin(), until.end()))};
}

/// Average number of places that a sequence of 1 to 4096 tokens wastes in pages of 16, 256 and 4096; and the number of
/// pages of 16 for 8 sequences of 1024 tokens whose first 1000 are equal.
doubles waste_of_pages() {
  doubles result;
  for (const int size : {16, 256, 4096}) {
    double wasted = 0;
    for (int length = 1; length <= 4096; ++length) wasted += (size - length % size) % size;
    result.push_back(wasted / 4096);
  }
  constexpr int shared = 1000 / 16, all = 1024 / 16;
  result.push_back(shared + 8 * (all - shared));
  return result;
}

/// given/records.md: milliseconds of a step of one process, and tokens per second.
doubles read_records() {
  constexpr double ms_64 = 2.54, ms_128 = 3.34, ms_256 = 4.98;
  constexpr double two_under_mps = 31'172, as_many_in_one = 37'691;  // of 64 sequences each; of 128
  const setting& h200 = h200_llama_1b;
  const auto bytes = [&](double processes, double sequences) {
    return processes * h200[3] + sequences * 1024 * h200[5];
  };
  return {1e-3 * ms_256 / (bytes(1, 256) / h200[0]), 1e3 * (ms_128 - ms_64) / 64, 96, bytes(1, 64) / bytes(2, 64),
          as_many_in_one / two_under_mps};
}

// ---- attention through a page table ---------------------------------------------------------------------------------

constexpr int32_t page_tokens = 16;

using numbers = std::vector<bfloat16>;

double wide(bfloat16 x) { return static_cast<double>(static_cast<float>(x)); }

/// Random numbers plus `shift`, times `scale`; a long list repeats them.
numbers random_numbers(std::size_t count, std::uint64_t seed, float scale, float shift) {
  constexpr std::size_t most = 4'194'301;
  const floats some = lab::random_floats(std::min(count, most), seed);
  numbers result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = lab::to_bfloat16((some[i % some.size()] + shift) * scale);
  return result;
}

/// 2^20 to 2^30 or its inverse. If one factor of a product is multiplied by it and another divided, the product is
/// unchanged in float and in bf16, but the factors leave fp16's range.
float power_of_two(lab::random_sizes& draw) {
  return std::ldexp(1.0f, static_cast<int>(draw(20, 30) * (2 * draw(0, 1) - 1)));
}

struct attended {
  doubles out, magnitude;
  double largest = 0;  ///< the largest sum of a score's absolute terms
};

/// Row t begins at place(t).
template <class F>
attended attention_of(std::span<const float> q, std::span<const bfloat16> k, std::span<const bfloat16> v,
                      std::size_t tokens, F place) {
  const std::size_t size = q.size();
  const double scale = 1 / std::sqrt(static_cast<double>(size));
  attended result{doubles(size), doubles(size)};
  doubles weights(tokens);
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::size_t t = 0; t < tokens; ++t) {
    const lab::dot score = lab::dot_of(k.subspan(place(t), size), q);
    weights[t] = score.sum * scale;
    most = std::max(most, weights[t]);
    result.largest = std::max(result.largest, score.terms * scale);
  }
  for (double& one : weights) sum += one = std::exp(one - most);
  for (std::size_t t = 0; t < tokens; ++t)
    for (std::size_t i = 0; i < size; ++i) {
      const double term = weights[t] / sum * wide(v[place(t) + i]);
      result.out[i] += term;
      result.magnitude[i] += std::abs(term);
    }
  return result;
}

struct batch_shape {
  int64_t sequences, heads, kv_heads, size, width;
  std::vector<int32_t> lengths = {};  ///< drawn if empty
  /// even: as drawn; spread: one token has nearly all of the weight; below: all scores lie between -1000 and -400
  enum class scores : std::uint8_t { even, spread, below } kind = scores::even;
  int64_t together = 2;    ///< this many drawn sequences share the room of one; the last takes the rest
  bool own_pages = false;  ///< no page is used twice, so each is read from DRAM
};

test_case paged(const batch_shape& s) {
  test_case c;
  c.entry = "paged_attention";
  c.id = fmt::format("paged_attention/{}x{}:{}x{}-{}{}{}", s.sequences, s.heads, s.kv_heads, s.size, s.width,
                     s.lengths.empty() ? "" : fmt::format("-{}tokens", s.lengths[0]),
                     s.kind == batch_shape::scores::spread  ? "-spread"
                     : s.kind == batch_shape::scores::below ? "-below"
                                                            : "");
  c.parameters = {s.sequences, s.heads, s.kv_heads, s.size, s.width};
  c.outputs = {{dtype::f32, s.sequences * s.heads * s.size}};
  const int64_t most_pages =
      s.lengths.empty() ? (s.sequences + s.together - 1) / s.together * (s.width + s.together) : s.sequences * s.width;
  const int64_t pages = most_pages + 3, row = s.kv_heads * s.size, of_page = page_tokens * row;
  c.inputs = [=](std::uint64_t seed) {
    lab::random_sizes draw(seed + 4);
    const auto any = [&](int64_t least, int64_t most) { return static_cast<int32_t>(draw(least, most)); };
    std::vector<int32_t> lengths = s.lengths;
    const auto room = static_cast<int32_t>(page_tokens * s.width);
    const int64_t most = s.together == 2 ? room - 1 : room / (2 * s.together);
    for (int32_t i = 0, left = room; lengths.size() < at(s.sequences); ++i) {
      const bool last = i % s.together == s.together - 1;
      lengths.push_back(last ? left : any(1, most));
      left = last ? room : left - lengths.back();
    }
    // Pages in random order. Every second sequence begins with pages of the one before; some use a page twice.
    std::vector<int32_t> order(at(pages));
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = static_cast<int32_t>(i);
      std::swap(order[i], order[at(any(0, static_cast<int64_t>(i)))]);
    }
    std::vector<int32_t> table;
    auto unused = order.begin();
    std::vector<bool> used(at(pages * page_tokens));
    for (int64_t i = 0; i < s.sequences; ++i) {
      const int32_t length = lengths[at(i)], whole = length / page_tokens;
      const int32_t shared = i % 2 == 1 && !s.own_pages ? any(0, std::min(whole, lengths[at(i - 1)] / page_tokens)) : 0;
      for (int32_t j = 0; j < s.width; ++j) {
        constexpr int32_t never[] = {-1, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()};
        int32_t page = j * page_tokens < length ? *unused++ : 0;
        if (j < shared) page = table[at((i - 1) * s.width + j)];
        if (!s.own_pages && j > 0 && j < whole && any(0, 9) == 0) page = table.back();
        if (j * page_tokens >= length)  // beyond the sequence: any page, or none
          page = any(0, 2) != 0 ? any(0, static_cast<int32_t>(pages - 1)) : never[any(0, 2)];
        table.push_back(page);
        for (int32_t t = 0; t < page_tokens && j * page_tokens + t < length; ++t)
          used[at(page * page_tokens + t)] = true;
      }
    }
    floats q = lab::random_floats(at(s.sequences * s.heads * s.size), seed);
    constexpr float around = 1.75f;
    const bool below = s.kind == batch_shape::scores::below;
    const float far = below ? std::sqrt(880.0f / std::sqrt(static_cast<float>(s.size))) : 0.0f;
    const float spread = s.kind == batch_shape::scores::spread ? 48.0f : 1.0f;
    const float of_keys = power_of_two(draw), of_values = power_of_two(draw);
    for (float& one : q) one = (around * spread * one + far) / of_keys;
    numbers k = random_numbers(at(pages * of_page), seed + 1, around * of_keys, (below ? -far : 0.125f) / around);
    numbers v = random_numbers(at(pages * of_page), seed + 2, of_values, 0.25f);
    for (std::size_t i = 0; i < used.size(); ++i)
      if (!used[i])
        for (std::size_t j = i * at(row); j < (i + 1) * at(row); ++j) k[j].bits = v[j].bits = 0xFFFF;  // NaN
    return lab::buffers(q, k, v, table, lengths);
  };
  c.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const auto q = before[0].as<float>(), out = outputs[0].as<float>();
    const auto k = before[1].as<bfloat16>(), v = before[2].as<bfloat16>();
    const auto table = before[3].as<int32_t>(), lengths = before[4].as<int32_t>();
    const auto heads = at(s.heads), size = at(s.size);
    std::vector<std::string> wrong(at(s.sequences) * heads);
    lab::for_each_index(
        wrong.size(),
        [&](std::size_t i) {
          const std::size_t sequence = i / heads, head = i % heads / at(s.heads / s.kv_heads);
          const auto tokens = at(lengths[sequence]);
          const auto place = [&](std::size_t t) {
            const int32_t page = table[sequence * at(s.width) + t / page_tokens];
            return (at(page) * page_tokens + t % page_tokens) * at(row) + head * size;
          };
          const attended want = attention_of(q.subspan(i * size, size), k, v, tokens, place);
          const double of_score = 2 * (static_cast<double>(size) + 16) * unit * want.largest;
          const double of_sum = 2 * (std::sqrt(static_cast<double>(tokens)) + 32) * unit;
          for (std::size_t j = 0; j < size && wrong[i].empty(); ++j) {
            const double got = static_cast<double>(out[i * size + j]);
            const double allowed = (2 * of_score + of_sum) * want.magnitude[j] + 1e-36;
            if (!(std::abs(got - want.out[j]) <= allowed))
              wrong[i] = fmt::format(
                  "sequence {} with {} tokens, head {}: column {} is {:.7g}, should be {:.7g}, and may be off by "
                  "{:.2g}",
                  sequence, tokens, i % heads, j, got, want.out[j], allowed);
          }
        },
        at(s.width) * page_tokens * size);
    const auto is_wrong = [](const std::string& text) { return !text.empty(); };
    const auto first = std::find_if(wrong.begin(), wrong.end(), is_wrong);
    if (first == wrong.end()) return "";
    return fmt::format("{} of {} heads are wrong: {}", std::count_if(wrong.begin(), wrong.end(), is_wrong),
                       wrong.size(), *first);
  };
  double tokens = static_cast<double>(s.sequences * s.width * page_tokens) / static_cast<double>(s.together);
  if (!s.lengths.empty()) {
    tokens = 0;
    for (const int32_t one : s.lengths) tokens += one;
  }
  c.work = {4 * tokens * static_cast<double>(s.heads * s.size),
            4 * tokens * static_cast<double>(row) + 8.0 * static_cast<double>(s.sequences * s.heads * s.size)};
  return c;
}

// ---- products with several vectors ----------------------------------------------------------------------------------

test_case batched(int64_t batch, int64_t rows, int64_t columns) {
  test_case c;
  c.entry = "batched_matvec";
  c.id = fmt::format("batched_matvec/{}x{}x{}", batch, rows, columns);
  c.where = lab::part::host;
  c.parameters = {batch, rows, columns};
  c.outputs = {{dtype::f32, batch * rows}};
  c.inputs = [=](std::uint64_t seed) {
    floats w = lab::random_floats(at(rows * columns), seed), x = lab::random_floats(at(batch * columns), seed + 1);
    for (float& one : x) one += 0.25f;
    for (floats* const all : {&w, &x}) all->resize(all->size() + 64, std::numeric_limits<float>::quiet_NaN());
    return lab::buffers(std::move(x), std::move(w));  // as Eigen's factors, for the ceiling
  };
  c.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    const auto x = before[0].as<float>(), w = before[1].as<float>(), y = outputs[0].as<float>();
    std::vector<std::string> wrong(at(rows));
    lab::for_each_index(
        wrong.size(),
        [&](std::size_t r) {
          for (std::size_t b = 0; b < at(batch) && wrong[r].empty(); ++b) {
            const lab::dot want =
                lab::dot_of(w.subspan(r * at(columns), at(columns)), x.subspan(b * at(columns), at(columns)));
            const double allowed = 2 * (std::sqrt(static_cast<double>(columns)) + 32) * unit * want.terms;
            const double got = static_cast<double>(y[b * at(rows) + r]);
            if (!(std::abs(got - want.sum) <= allowed))
              wrong[r] = fmt::format("y({}, {}) is {:.7g}, should be {:.7g}, and may be off by {:.2g}", b, r, got,
                                     want.sum, allowed);
          }
        },
        at(batch * columns));
    const auto first = std::find_if(wrong.begin(), wrong.end(), [](const std::string& text) { return !text.empty(); });
    return first == wrong.end() ? std::string() : *first;
  };
  const auto weights = static_cast<double>(rows * columns);
  c.work = {2 * static_cast<double>(batch) * weights, 4 * (weights + static_cast<double>(batch * (rows + columns)))};
  return c;
}

// ---- all ------------------------------------------------------------------------------------------------------------

std::vector<test_case> cases() {
  std::vector<test_case> all;
  add_advice(all);
  for (const bool shares : {false, true}) {
    all.push_back(pages({1, 1, 2, 60, 2, shares}));
    all.push_back(pages({1, 16, 3, 100, 20, shares}));
    all.push_back(pages({7, 4, 4, 400, 14, shares}));
    all.push_back(pages({1100, 1, most_names, 2000, 20, shares}));
    all.push_back(pages({40, 16, 10, 16'000, 100, shares}));
    all.push_back(pages({350, 1, 3, 300, 250, shares}));
    all.push_back(pages({120, 16, 12, 2000, 400, shares}));
  }
  all.push_back(serve({0, 2, 16, 8, 20, 20}));
  all.push_back(serve({1, 1, 16, 3, 20, 20}));
  all.push_back(serve({8, 1, 16, 3, 20, 20}));
  all.push_back(serve({30, 4, 16, 40, 60, 60}));
  all.push_back(serve({1010, 16, 16, 200, 60, 6, 20, 1}));
  all.push_back(serve({40, 4, 1, 480, 60, 60}));
  all.push_back(serve({50, 20, 16, 200, 60, 40, 1, 15, false, 30}));  // many arrive while others are admitted
  all.push_back(serve({12, 8, 16, 4, 24, 40}));
  all.push_back(serve({40, 8, 16, 12, 50, 60, 10, 30}));
  all.push_back(serve({30, 6, 16, 16, 60, 80, 1, 40, true}));
  all.push_back(serve({30, 30, 1, 90, 20, 50, 30}));  // all arrive at once, with memory for a few
  all.push_back(serve({20, 3, 7, 6, 10, 30, 4, 5, true}));
  all.push_back(serve({140, 100, 16, 600, 20, 30, 140}));

  using scores = batch_shape::scores;
  all.push_back(paged({1, 1, 1, 64, 1, {1}}));
  all.push_back(paged({5, 8, 1, 64, 125, {2000, 1, 15, 16, 17}}));
  all.push_back(paged({5, 4, 2, 128, 125, {16, 2000, 17, 1, 15}}));
  all.push_back(paged({3, 2, 2, 64, 9}));
  all.push_back(paged({4, 16, 2, 128, 5}));
  all.push_back(paged({2, 12, 3, 64, 40}));
  all.push_back(paged({2, 8, 2, 64, 20, {}, scores::spread}));
  all.push_back(paged({3, 8, 2, 128, 12, {}, scores::spread}));
  all.push_back(paged({2, 4, 2, 64, 12, {}, scores::below}));
  all.push_back(paged({3, 2, 2, 128, 2, {31, 1, 16}, scores::below}));
  all.push_back(paged({36, 16, 2, 128, 128, {}, scores::below, 12}));
  all.push_back(paged({4, 8, 4, 64, 16}));

  for (const int64_t batch : {1, 2, 3, 5, 7, 8, 9, 13, 16}) {
    all.push_back(batched(batch, 2 * batch + 1, 8 * batch));
    all.push_back(batched(batch, 1 + batch / 2, 1032 + 8 * batch));
  }
  all.push_back(batched(16, 1, 8));
  all.push_back(batched(4, 1000, 264));
  all.push_back(batched(16, 65, 4104));

  all.push_back(lab::figures_case("figures/little", [] { return doubles{3 * 250 * 0.020}; }));
  all.push_back(lab::figures_case("figures/llama", [] {
    const setting& h200 =
        h200_llama_1b;  // the last: from this context on, a sequence adds more memory time than arithmetic
    return doubles{turning_point(with(h200, {1}).data()), turning_point(with(h200, {256}).data()),
                   h200[4] / h200[1] * h200[0] / h200[5]};
  }));
  all.push_back(lab::figures_case("figures/pages", waste_of_pages));
  all.push_back(lab::figures_case("figures/slots", slots_of_trace));
  all.push_back(lab::figures_case("figures/records", read_records));

  all.push_back(timed(batched(8, 8192, 4096)));
  batch_shape full{64, 32, 8, 128, 256, std::vector<int32_t>(64, 4096)};
  full.own_pages = true;
  all.push_back(timed(paged(full)));
  return all;
}

/// Random sizes, some larger than any above: no submission can prepare for them.
std::vector<test_case> drawn_cases(std::uint64_t seed) {
  lab::random_sizes draw64(seed);
  const auto draw = [&](int64_t least, int64_t most) { return static_cast<int>(draw64(least, most)); };
  std::vector<test_case> all;
  for (const char* const entry : {"step_seconds_of", "turning_point_of", "advise_for"})
    all.push_back(drawn_advice(entry, seed));
  for (const bool shares : {false, true}) {
    all.push_back(pages({draw(8, 40), draw(2, 20), draw(3, 9), 1000, draw(30, 200), shares}));
    all.push_back(pages({draw(300, 400), 1, 3, draw(300, 400), draw(150, 280), shares}));
    all.push_back(pages({draw(300, 500), draw(17, 40), draw(20, 60), draw(4001, 5000), draw(600, 900), shares}));
    all.push_back(pages({draw(1101, 1600), 1, most_names, 600, 20, shares}));
  }
  all.push_back(serve({draw(10, 40), draw(2, 12), draw(2, 20), 600, 60, 60, draw(1, 5), 20, false, draw(5, 40)}));
  all.push_back(serve({draw(61, 90), draw(31, 50), 16, 500, 70, 80, draw(31, 50)}));
  const int page = draw(8, 20), enough = (40 + 60) / page + 1;  // for the longest request by itself
  all.push_back(serve({draw(10, 30), draw(3, 12), page, enough + draw(1, 3), 40, 60, draw(1, 5), 20, true}));
  all.push_back(serve({draw(61, 80), draw(31, 50), draw(8, 20), draw(17, 30), 50, 80, draw(31, 60)}));
  all.push_back(serve({draw(140, 160), draw(70, 130), 16, 600, 20, 30, 160}));
  all.push_back(serve({draw(1011, 2000), 16, 16, 200, 60, 6, 20, 1}));
  const int kv_heads = draw(1, 4);
  all.push_back(paged({draw(2, 6), kv_heads << draw(0, 3), kv_heads, 64 * draw(1, 2), draw(2, 30)}));
  all.push_back(lab::like("paged_attention/36x16:2x128-128-below",
                          paged({12 * draw(3, 4), 16, 2, 128, draw(120, 140), {}, batch_shape::scores::below, 12})));
  const int many_heads = draw(17, 24);
  all.push_back(paged({draw(260, 400), 1, 1, 64, 2}));
  all.push_back(paged({draw(9, 40), 2 * many_heads, many_heads, 64, draw(2, 4)}));
  all.push_back(paged({1, 8, 1, 128, 2000, {draw(17'601, 32'000)}}));  // more than 1100 pages
  for (int i = 0; i < 2; ++i) all.push_back(batched(draw(1, 16), draw(2, 100), 8 * draw(1, 300)));
  all.push_back(batched(draw(9, 16), draw(1001, 1200), 8 * draw(20, 40)));
  all.push_back(batched(draw(1, 16), draw(3, 9), 8 * draw(1025, 2000)));
  // Timed in official grading.
  all.push_back(
      lab::like("batched_matvec/8x8192x4096", timed(batched(8, 8192 + 64 * draw(1, 9), 4096 + 64 * draw(1, 9)))));
  return all;
}

const lab::case_registration registration{"15_serving", cases, drawn_cases};

}  // namespace
