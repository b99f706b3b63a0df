// Lab 13's problems: the results of the fixed functions. The findings need no case: the judge runs the crashed programs
// themselves.
#include <lab/case.hpp>
#include <lab/compare.hpp>
#include <lab/random.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace {

using lab::buffer;
using lab::dtype;
using lab::test_case;
using std::int64_t;

using floats = std::vector<float>;
using doubles = std::vector<double>;

floats some(int64_t count, std::uint64_t seed) { return lab::random_floats(static_cast<std::size_t>(count), seed); }

/// A case with one output of floats, equal in size to `want`.
test_case floats_case(const std::string& entry, std::vector<int64_t> parameters, int64_t outputs,
                      lab::tolerance allowed, std::function<std::vector<buffer>(std::uint64_t seed)> inputs,
                      std::function<floats(std::span<const buffer>)> want) {
  test_case c;
  c.entry = entry;
  c.id = entry + "/";
  for (const int64_t p : parameters) c.id += (c.id.ends_with('/') ? "" : "x") + std::to_string(p);
  c.parameters = std::move(parameters);
  c.outputs = {{dtype::f32, outputs}};
  c.inputs = std::move(inputs);
  c.check = [allowed, want = std::move(want)](std::span<const buffer> before, std::span<const buffer> got) {
    return lab::mismatch(got[0].as<float>(), want(before), allowed);
  };
  c.work.bytes = 4.0 * static_cast<double>(outputs);
  return c;
}

/// A sum of n products of numbers below 1 in magnitude, in any order, is off by at most n^2 roundings of 2^-24.
lab::tolerance sum_of(int64_t n) { return {static_cast<double>(n) * static_cast<double>(n) * 0x1p-24, 0}; }

test_case kv_scores(int64_t length, int64_t size) {
  return floats_case(
      "kv_scores", {length, size}, length, sum_of(size),
      [=](std::uint64_t seed) { return lab::buffers(some(size, seed), some(length * size, seed + 1)); },
      [=](std::span<const buffer> in) {
        floats scores;
        for (int64_t t = 0; t < length; ++t) {
          double sum = 0;
          for (int64_t i = 0; i < size; ++i) sum += double{in[0].as<float>()[i]} * in[1].as<float>()[t * size + i];
          scores.push_back(static_cast<float>(sum));
        }
        return scores;
      });
}

test_case page_rows(int64_t pages, int64_t each, int64_t hot, int64_t more, int64_t size) {
  const int64_t all = pages * each * size;
  return floats_case(
      "page_rows", {pages, each, hot, more, size}, all, {},
      [=](std::uint64_t seed) { return lab::buffers(some(all + more * size, seed)); },
      [=](std::span<const buffer> in) { return floats(in[0].as<float>().begin(), in[0].as<float>().begin() + all); });
}

constexpr int64_t tile = 256;

floats sums_of_rows(std::span<const buffer> in) {
  const std::span<const int> first = in[1].as<int>();
  floats sums;
  for (std::size_t r = 0; r + 1 < first.size(); ++r) {
    double sum = 0;
    for (int64_t i = first[r] * tile; i < first[r + 1] * tile; ++i) sum += in[0].as<float>()[i];
    sums.push_back(static_cast<float>(sum));
  }
  return sums;
}

test_case row_sums(int64_t rows, int64_t most) {
  // The same number of tiles for each seed, divided differently among the rows.
  const int64_t tiles = rows * most / 2;
  return floats_case(
      "row_sums", {rows, most}, rows, sum_of(std::max<int64_t>(tiles, 1) * tile),
      [=](std::uint64_t seed) {
        lab::random_sizes size(seed);
        std::vector<int> first(1, 0);
        for (int64_t r = 0; r < rows; ++r)
          first.push_back(
              static_cast<int>(r + 1 == rows ? tiles : std::min<int64_t>(tiles, first.back() + size(0, most))));
        return lab::buffers(some(tiles * tile, seed), first);
      },
      sums_of_rows);
}

/// Equally long rows, for the solution's scoreboard. 2048 blocks of 64 threads are half of what fits on an H200: loads
/// are hidden only where each block has its next tile on the way.
test_case long_row_sums(int64_t rows, int64_t each) {
  test_case c = floats_case(
      "row_sums", {rows, each}, rows, {0.5, 0},
      [=](std::uint64_t seed) {
        std::vector<int> first;
        for (int64_t r = 0; r <= rows; ++r) first.push_back(static_cast<int>(r * each));
        return lab::buffers(some(rows * each * tile, seed), first);
      },
      sums_of_rows);
  c.work.bytes = 4.0 * static_cast<double>(rows * each * tile);
  return lab::timed(std::move(c));
}

std::vector<int> drawn_ints(int64_t count, int64_t least, int64_t most, std::uint64_t seed) {
  lab::random_sizes size(seed);
  std::vector<int> all;
  for (int64_t i = 0; i < count; ++i) all.push_back(static_cast<int>(size(least, most)));
  return all;
}

/// Each head but the first has at least `least` keys.
test_case head_sums(const std::string& entry, int64_t heads, int64_t room, int64_t least = 1) {
  return floats_case(
      entry, {heads, room}, heads, sum_of(room),
      [=](std::uint64_t seed) {
        std::vector<int> lengths = drawn_ints(heads, least, room, seed);
        lengths[0] = 1;
        return lab::buffers(some(heads * room, seed), lengths);
      },
      [=](std::span<const buffer> in) {
        floats sums;
        for (int64_t h = 0; h < heads; ++h) {
          double sum = 0;
          for (int64_t i = 0; i < in[1].as<int>()[h]; ++i) sum += in[0].as<float>()[h * room + i];
          sums.push_back(static_cast<float>(sum));
        }
        return sums;
      });
}

/// The lengths of all rows are multiples of `unit`, and at least `least`; the input has room for the longest rows.
test_case pad_rows(int64_t rows, int64_t room, int64_t unit, int64_t least = 0) {
  test_case c = floats_case(
      "pad_rows", {rows, room}, rows * room, {},
      [=](std::uint64_t seed) {
        std::vector<int> first(1, 0);
        for (const int units : drawn_ints(rows, least / unit, room / unit, seed))
          first.push_back(first.back() + units * static_cast<int>(unit));
        return lab::buffers(some(rows * room, seed), first);
      },
      [=](std::span<const buffer> in) {
        floats out(static_cast<std::size_t>(rows * room));
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t i = 0; i < in[1].as<int>()[r + 1] - in[1].as<int>()[r]; ++i)
            out[static_cast<std::size_t>(r * room + i)] = in[0].as<float>()[in[1].as<int>()[r] + i];
        return out;
      });
  if (unit > 1) c.id += "-by-" + std::to_string(unit);
  return c;
}

/// The cache has more than 2^32 elements; calls.cpp creates it.
test_case slot_rows(int64_t count, int64_t size) {
  const int64_t held = (int64_t{5} << 30) / size, each = held / count;
  return floats_case(
      "slot_rows", {count, size, held}, count * size, {},
      [=](std::uint64_t seed) {
        std::vector<std::uint8_t> rows;
        for (const int value : drawn_ints(count * size, 0, 255, seed)) rows.push_back(static_cast<std::uint8_t>(value));
        std::vector<int> slots = drawn_ints(count, 0, each - 1, seed + 1);
        for (int64_t i = 0; i < count; ++i)
          slots[static_cast<std::size_t>(i)] += static_cast<int>((count - 1 - i) * each);
        return lab::buffers(rows, slots);
      },
      [=](std::span<const buffer> in) {
        floats out;
        for (const std::uint8_t byte : in[0].as<std::uint8_t>()) out.push_back(0.125f * static_cast<std::int8_t>(byte));
        return out;
      });
}

test_case pick_expert(int64_t tokens, int64_t experts) {
  test_case c = floats_case(
      "pick_expert", {tokens, experts}, tokens, {},
      [=](std::uint64_t seed) {
        std::vector<int> allowed = drawn_ints(tokens, 1, (int64_t{1} << experts) - 1, seed);
        for (std::size_t t = seed % 3; t < allowed.size(); t += 7) allowed[t] = 0;
        // Exponentials overflow, or are all 0, unless computed relative to the token's largest score.
        floats scores = some(tokens * experts, seed);
        constexpr float near[] = {-300, 0, 300, -1e30f};
        for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += near[i / static_cast<std::size_t>(experts) % 4];
        return lab::buffers(scores, allowed);
      },
      nullptr);
  c.outputs = {{dtype::i32, tokens}, {dtype::f32, tokens}};
  c.check = [=](std::span<const buffer> in, std::span<const buffer> out) -> std::string {
    floats weights;
    for (int64_t t = 0; t < tokens; ++t) {
      const float* scores = &in[0].as<float>()[t * experts];
      const int choice = out[0].as<int>()[t], mask = in[1].as<int>()[t];
      double largest = -INFINITY, sum = 0;
      for (int64_t e = 0; e < experts; ++e)
        if (mask >> e & 1) largest = std::max(largest, double{scores[e]});
      for (int64_t e = 0; e < experts; ++e)
        if (mask >> e & 1) sum += std::exp(scores[e] - largest);
      const bool fits =
          mask == 0 ? choice == experts
                    : choice >= 0 && choice < experts && (mask >> choice & 1) && scores[choice] >= largest - 1e-6;
      if (!fits)
        return "token " + std::to_string(t) + ", which may use " + (mask == 0 ? "no expert" : "some experts") +
               ": choice " + std::to_string(choice) + " of " + std::to_string(experts);
      weights.push_back(mask == 0 ? 0.0f : static_cast<float>(1 / sum));
    }
    return lab::mismatch(out[1].as<float>(), weights, {0, 1e-5});
  };
  return c;
}

test_case two_streams(int64_t first, int64_t n) {
  return floats_case(
      "two_streams", {first, n}, n, {0, 1e-6},
      [=](std::uint64_t seed) {
        floats in = some(n, seed);
        for (float& x : in) x = std::abs(x);  // no sum cancels
        return lab::buffers(in);
      },
      [=](std::span<const buffer> in) {
        floats out;
        for (const float x : in[0].as<float>())
          out.push_back(x / 2 + (static_cast<int64_t>(out.size()) >= first ? x * x : 0));
        return out;
      });
}

test_case row_norms(int64_t rows, int64_t size) {
  const int64_t all = std::max<int64_t>(rows * size, 1);
  test_case c = floats_case(
      "row_norms", {rows, size}, all, {0, 2.4e-7}, [=](std::uint64_t seed) { return lab::buffers(some(all, seed)); },
      [=](std::span<const buffer> in) {
        floats out;
        for (int64_t r = 0; r < rows; ++r) {
          float largest = 0;
          for (int64_t i = 0; i < size; ++i) largest = std::max(largest, std::abs(in[0].as<float>()[r * size + i]));
          for (int64_t i = 0; i < size; ++i) out.push_back(in[0].as<float>()[r * size + i] / largest);
        }
        return out;
      });
  if (rows == 0) c.check = [](std::span<const buffer>, std::span<const buffer>) { return std::string{}; };
  return c;
}

/// The launch fails, which only a function that checks for errors can report.
test_case row_norms_without_stream(int64_t rows, int64_t size) {
  test_case c = row_norms(rows, size);
  c.entry += "_without_stream";
  c.id = c.entry + c.id.substr(c.id.find('/'));
  c.check = [](std::span<const buffer>, std::span<const buffer>) { return std::string{}; };
  return c;
}

test_case tree_sums(int64_t trees, int64_t nodes) {
  return floats_case(
      "tree_sums", {trees, nodes}, trees, sum_of(nodes),
      [=](std::uint64_t seed) {
        std::vector<int> child(static_cast<std::size_t>(trees * nodes), -1), sibling = child;
        lab::random_sizes pick(seed);
        for (int64_t t = 0; t < trees; ++t)
          for (int64_t k = 1; k < nodes; ++k) {
            // Every third tree is as deep as it can be with two nodes on each level.
            const int64_t parent = t % 3 == 0 ? (k - 1) / 2 * 2 : pick(0, k - 1);
            const auto node = static_cast<std::size_t>(t * nodes + k),
                       of = static_cast<std::size_t>(t * nodes + parent);
            sibling[node] = child[of];
            child[of] = static_cast<int>(node);
          }
        return lab::buffers(some(trees * nodes, seed), child, sibling);
      },
      [=](std::span<const buffer> in) {
        floats sums;
        for (int64_t t = 0; t < trees; ++t) {
          double sum = 0;
          for (int64_t k = 0; k < nodes; ++k) sum += in[0].as<float>()[t * nodes + k];
          sums.push_back(static_cast<float>(sum));
        }
        return sums;
      });
}

floats rounded_to_scales(std::span<const float> in) {
  constexpr std::size_t group = 32;
  floats out;
  for (std::size_t first = 0; first < in.size(); first += group) {
    const std::span<const float> of = in.subspan(first, std::min(group, in.size() - first));
    float largest = 0;
    for (const float x : of) largest = std::max(largest, std::abs(x));
    const float scale = largest / 127;
    for (const float x : of) out.push_back(std::rint(x / scale) * scale);
  }
  return out;
}

test_case group_scales(int64_t n) {
  return floats_case(
      "group_scales", {n}, n, {0, 1e-6}, [=](std::uint64_t seed) { return lab::buffers(some(n, seed)); },
      [=](std::span<const buffer> in) { return rounded_to_scales(in[0].as<float>()); });
}

/// One call for each size, the first a multiple of 64; compares the sum of their counts.
test_case group_scales_in_turn(int64_t n, int64_t other) {
  return floats_case(
      "group_scales_in_turn", {n, other}, n + other, {0, 1e-6},
      [=](std::uint64_t seed) { return lab::buffers(some(n + other, seed)); },
      [=](std::span<const buffer> in) {
        const auto first = static_cast<std::size_t>(n);
        floats out = rounded_to_scales(in[0].as<float>().first(first));
        for (const float x : rounded_to_scales(in[0].as<float>().subspan(first))) out.push_back(x);
        return out;
      });
}

test_case long_rows(int64_t rows, int64_t room) {
  return floats_case(
      "long_rows", {rows, room}, rows, {},
      [=](std::uint64_t seed) {
        std::vector<int> lengths = drawn_ints(rows, 1, room, seed);
        lengths[0] = static_cast<int>(std::min<int64_t>(room, 256));  // as long as one block's part
        floats in = some(rows * room, seed);
        for (int64_t r = 2; r < rows; r += 3)  // far below zero
          for (int64_t i = 0; i < room; ++i) in[static_cast<std::size_t>(r * room + i)] -= 1e5f;
        return lab::buffers(in, lengths);
      },
      [=](std::span<const buffer> in) {
        floats out;
        for (int64_t r = 0; r < rows; ++r) {
          const std::span<const float> row = in[0].as<float>().subspan(static_cast<std::size_t>(r * room),
                                                                       static_cast<std::size_t>(in[1].as<int>()[r]));
          out.push_back(*std::max_element(row.begin(), row.end()));
        }
        return out;
      });
}

/// Prompts of up to `room` tokens. The buffers and the parameter are also those of the ceiling "prefixes".
test_case prefix_hits(int64_t prompts, int64_t room) {
  test_case c;
  c.entry = "prefix_hits";
  c.id = fmt::format("prefix_hits/{}x{}", prompts, room);
  c.where = lab::part::host;
  c.parameters = {prompts};
  c.outputs = {{dtype::i32, prompts}};
  c.inputs = [=](std::uint64_t seed) {
    lab::random_sizes draw(seed);
    std::vector<int> tokens, first(1, 0);
    for (int64_t p = 0; p < prompts; ++p) {
      const auto begin = tokens.size(), length = static_cast<std::size_t>(draw(0, room));
      // The first few prompts are independent; each later one branches off an earlier one.
      const auto from = static_cast<std::size_t>(p < 8 ? 0 : draw(0, p - 1));
      const int64_t others = p < 8 ? 0 : first[from + 1] - first[from];
      const int64_t shared = others == 0 ? 0 : draw(1, others);
      for (int64_t i = 0; i < shared && tokens.size() < begin + length; ++i)
        tokens.push_back(tokens[static_cast<std::size_t>(first[from] + i)]);
      while (tokens.size() < begin + length) tokens.push_back(static_cast<int>(draw(0, 50256)));
      first.push_back(static_cast<int>(tokens.size()));
    }
    tokens.resize(static_cast<std::size_t>(prompts * room));  // the same size for each seed
    return lab::buffers(tokens, first);
  };
  c.check = [=](std::span<const buffer> in, std::span<const buffer> out) -> std::string {
    const std::span<const int> first = in[1].as<int>();
    std::map<std::pair<int64_t, int>, int64_t> nodes;  // by parent and token
    for (int64_t p = 0; p < prompts; ++p) {
      int want = 0;
      int64_t at = 0;
      for (int i = first[p]; i < first[p + 1]; ++i) {
        const auto& [node, fresh] = nodes.try_emplace({at, in[0].as<int>()[i]}, static_cast<int64_t>(nodes.size()) + 1);
        want += !fresh;
        at = node->second;
      }
      if (const int got = out[0].as<int>()[p]; got != want)
        return fmt::format("hits[{}] is {}, should be {}: prompt {} of {}", p, got, want, p, prompts);
    }
    return "";
  };
  c.work.bytes = 2.0 * static_cast<double>(prompts * room);  // of tokens: 4 each, in half of the room
  return c;
}

std::vector<test_case> make() {
  std::vector<test_case> all;
  const auto add = [&](test_case (*f)(int64_t, int64_t), std::initializer_list<std::pair<int64_t, int64_t>> sizes) {
    for (const auto& [one, other] : sizes) all.push_back(f(one, other));
  };
  add(kv_scores, {{1, 8}, {64, 16}, {65, 16}, {96, 16}, {300, 40}});
  all.push_back(page_rows(1, 1, 0, 0, 1));
  all.push_back(page_rows(5, 4, 4, 3, 16));
  all.push_back(page_rows(7, 3, 0, 40, 33));
  add(row_sums, {{1, 2}, {1, 8}, {9, 4}, {40, 6}});
  for (const auto& [heads, room] : {std::pair{1, 64}, {3, 128}, {8, 320}})
    all.push_back(head_sums("head_sums", heads, room));
  all.push_back(head_sums("head_sums", 3, 64 * 70, 64 * 69));
  all.push_back(head_sums("head_sums_last_block_first", 8, 320));
  // If the block of each head waits, blocks fill an H200: 32 of 64 threads on each of 132 multiprocessors.
  all.push_back(head_sums("head_sums_first_blocks_first", 4400, 128, 65));
  all.push_back(pad_rows(1, 4, 1));
  all.push_back(pad_rows(23, 64, 1));
  all.push_back(pad_rows(40, 256, 4));
  all.push_back(pad_rows(40, 64, 4, 36));  // one vector for a lane, or two elements
  add(slot_rows, {{1, 64}, {20, 120}});
  add(pick_expert, {{1, 1}, {64, 8}, {500, 30}, {300, 32}});
  add(two_streams, {{0, 1}, {100, 128}, {700, 4001}});
  add(row_norms, {{0, 32}, {1, 1}, {7, 1000}, {3, 1025}, {2, 5000}});
  all.push_back(row_norms_without_stream(2, 64));
  add(tree_sums, {{1, 1}, {65, 20}, {100, 64}});
  for (const int64_t n : {1, 32, 33, 128, 4127}) all.push_back(group_scales(n));
  all.push_back(group_scales_in_turn(4096, 4127));
  add(long_rows, {{1, 1}, {9, 256}, {33, 1000}, {64, 700}});
  add(prefix_hits, {{1, 8}, {20, 8}, {1000, 64}});
  all.push_back(lab::timed(prefix_hits(1000, 48)));
  all.push_back(long_row_sums(2048, 512));
  return all;
}

std::vector<test_case> draw(std::uint64_t seed) {
  lab::random_sizes size(seed);
  const int64_t pages = size(2, 12), n = size(100, 3000);
  return {
      kv_scores(size(66, 400), size(1, 48)), page_rows(pages, size(1, 5), size(0, pages - 1), size(1, 30), size(1, 40)),
      row_sums(size(2, 50), size(2, 7)), head_sums("head_sums", size(2, 12), 64 * size(2, 6)),
      pad_rows(size(9, 60), 4 * size(2, 40), 1), slot_rows(size(9, 30), size(33, 200)),
      pick_expert(size(65, 400), size(2, 30)), two_streams(size(1, n), n), row_norms(size(1, 5), size(1026, 3000)),
      tree_sums(size(2, 100), size(40, 64)), group_scales(32 * size(4, 60) + size(1, 31)),
      long_rows(size(2, 60), size(257, 1500)), prefix_hits(size(30, 300), size(4, 40)),
      // Larger than a loop that ends too early can handle.
      kv_scores(size(2, 9), size(1001, 1100)), page_rows(size(1001, 1010), 1, 0, 2, 1),
      page_rows(2, 3, 1, 2, size(340, 400)), pad_rows(9, 4 * size(600, 700), 1), pad_rows(9, 4 * size(2050, 2100), 4),
      // More nodes than a tree with room for any case above.
      prefix_hits(size(9, 12), size(90'000, 120'000)), long_rows(size(3000, 3100), 300),
      // Cases whose counters are read.
      lab::like("kv_scores/96x16", kv_scores(32 * size(4, 12), size(17, 48))),
      lab::like("two_streams/700x4001", two_streams(size(1, 700), size(4002, 6000))),
      lab::like("row_norms/3x1025", row_norms(size(4, 9), 32 * size(40, 90) + 1))};
}

const lab::case_registration registered("13_when_it_crashes", make, draw);

}  // namespace
