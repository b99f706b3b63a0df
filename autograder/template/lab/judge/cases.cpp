// Lab 00's problems: sizes, seeded inputs, expected results, and how much work they take.
#include <lab/case.hpp>
#include <lab/compare.hpp>

#include <string>
#include <utility>

namespace {

using std::int64_t;

lab::test_case scaling(std::string entry, lab::part where, int64_t n) {
  lab::test_case c;
  c.id = entry + "/" + std::to_string(n);
  c.entry = std::move(entry);
  c.where = where;
  c.parameters = {n};
  c.outputs = {{lab::dtype::f32, n}};
  c.inputs = [n](std::uint64_t seed) {
    return lab::buffers(lab::buffer::of(lab::random_floats(static_cast<std::size_t>(n), seed)));
  };
  c.check = [n](std::span<const lab::buffer> before, std::span<const lab::buffer> outputs) {
    const auto in = before[0].as<float>();
    std::vector<float> want(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < want.size(); ++i) want[i] = 3.0f * in[i];
    return lab::mismatch(outputs[0].as<float>(), want, {});  // one rounding: nothing else is right
  };
  c.work.flops = static_cast<double>(n);
  c.work.bytes = 8.0 * static_cast<double>(n);
  return c;
}

std::vector<lab::test_case> cases() {
  std::vector<lab::test_case> all;
  // 1, primes, one below and one above each vector, warp and block, and one that fills a device.
  for (int64_t n : {1, 3, 4, 5, 31, 32, 33, 255, 257, 1021, 262144}) {
    all.push_back(scaling("scale", lab::part::device, n));
    all.push_back(scaling("scale_host", lab::part::host, n));
  }
  all.push_back(scaling("scale_host", lab::part::host, 1 << 21));  // quick; a lab goes far beyond the caches
  all.back().timed = true;
  return all;
}

/// Sizes that no one could have prepared for.
std::vector<lab::test_case> drawn_cases(std::uint64_t seed) {
  lab::random_sizes size(seed);
  return {scaling("scale", lab::part::device, size(5, 20'000)),
          scaling("scale_host", lab::part::host, size(5, 20'000))};
}

const lab::case_registration registration{"00_topic", cases, drawn_cases};

}  // namespace
