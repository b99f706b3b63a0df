// What page tables cost paged.cu on a GPU: pages at random places beside the same pages in order, and beside the same
// kernel without a table. In turns, each with a cold L2; all must have the same results.
//   cmake --build build --target lab15.solution.cuda.tables && build/bin/lab15.solution.cuda.tables [--json]
#include <cuda_bf16.h>
#include <lab/device.hpp>
#include <lab/environment.hpp>
#include <lab/experiment.hpp>
#include <lab/statistics.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "serving.hpp"

namespace lab15 {

decltype(paged_attention) contiguous_attention;  // of contiguous.patch

}  // namespace lab15

namespace {

using namespace lab15;
using bf16 = __nv_bfloat16;

constexpr int heads = 32, kv_heads = 8, size = 128, row = kv_heads * size, rounds = 60, warm_ups = 10;

template <class T>
lab::device_buffer<T> on_device(const std::vector<T>& from) {
  lab::device_buffer<T> to(from.size());
  LAB_CUDA_CHECK(cudaMemcpy(to.data(), from.data(), to.bytes(), cudaMemcpyHostToDevice));
  return to;
}

float random_number(std::mt19937& bits) { return static_cast<float>(bits() >> 8) * 0x1p-23f - 1.0f; }

std::vector<bf16> random_cache(std::size_t count, std::mt19937& bits) {
  std::vector<bf16> all(count);
  for (bf16& one : all) one = __float2bfloat16(random_number(bits));
  return all;
}

/// Page i of `from` is page table[i] of the result.
lab::device_buffer<bf16> placed(const std::vector<bf16>& from, const std::vector<int>& table) {
  constexpr std::size_t page = std::size_t{page_tokens} * row;
  std::vector<bf16> to(from.size());
  for (std::size_t i = 0; i < table.size(); ++i)
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(i * page), page,
                to.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(table[i]) * page));
  return on_device(to);
}

/// K, V, their table, and the kernel that reads them.
struct variant {
  const char* name;
  decltype(paged_attention)* attention;
  lab::device_buffer<bf16> k, v;
  lab::device_buffer<int> table;
  std::vector<double> seconds = {};
};

nlohmann::ordered_json spread(const std::vector<double>& of) {
  return {{"median", lab::median(of)},
          {"p10", lab::quantile(of, 0.1)},
          {"p90", lab::quantile(of, 0.9)},
          {"samples", of.size()}};
}

/// Times of all variants, and the speed of the first relative to that of the others, whose pages are in order.
nlohmann::ordered_json measure(int sequences, int tokens, bool json) {
  const int width = tokens / page_tokens, count = sequences * width;
  std::mt19937 bits(15);
  std::vector<int> in_order(static_cast<std::size_t>(count)), at_random;
  std::iota(in_order.begin(), in_order.end(), 0);
  at_random = in_order;
  std::shuffle(at_random.begin(), at_random.end(), bits);
  const std::size_t numbers = static_cast<std::size_t>(count) * page_tokens * row;
  const std::vector<bf16> k = random_cache(numbers, bits), v = random_cache(numbers, bits);
  std::vector<float> queries(static_cast<std::size_t>(sequences) * heads * size);
  for (float& one : queries) one = random_number(bits);

  std::array all{variant{"pages at random places", paged_attention, placed(k, at_random), placed(v, at_random),
                         on_device(at_random)},
                 variant{"pages in order", paged_attention, on_device(k), on_device(v), on_device(in_order)},
                 variant{"no table", contiguous_attention, on_device(k), on_device(v), on_device(in_order)}};
  const lab::device_buffer<float> q = on_device(queries);
  const lab::device_buffer<int> lengths = on_device(std::vector(static_cast<std::size_t>(sequences), tokens));
  lab::device_buffer<float> out(queries.size());
  cudaDeviceProp device;
  LAB_CUDA_CHECK(cudaGetDeviceProperties(&device, 0));
  lab::device_buffer<std::byte> flush(2 * static_cast<std::size_t>(device.l2CacheSize));
  const lab::stream where;
  lab::event start, stop;
  const auto call = [&](variant& one) {
    out.poison(where);
    flush.poison(where);
    start.record(where);
    one.attention(out.data(), q.data(), one.k.data(), one.v.data(), one.table.data(), lengths.data(), sequences, heads,
                  kv_heads, size, width, where.get());
    stop.record(where);
    return stop.seconds_since(start);
  };

  std::vector<float> expected(queries.size()), got(queries.size());
  for (variant& one : all) {
    call(one);
    std::vector<float>& to = &one == all.data() ? expected : got;
    LAB_CUDA_CHECK(cudaMemcpy(to.data(), out.data(), out.bytes(), cudaMemcpyDeviceToHost));
    if (!std::all_of(to.begin(), to.end(), [](float x) { return std::isfinite(x); }))
      throw std::runtime_error(std::string(one.name) + ": a result is not a number");
    for (std::size_t i = 0; &to == &got && i < got.size(); ++i)
      if (std::abs(got[i] - expected[i]) > 1e-5f)
        throw std::runtime_error(std::string(one.name) + ": another result than with " + all[0].name);
  }
  for (int i = 0; i < warm_ups + rounds; ++i)
    for (std::size_t j = 0; j < all.size(); ++j) {
      variant& one = all[(static_cast<std::size_t>(i) + j) % all.size()];
      const double seconds = call(one);
      if (i >= warm_ups) one.seconds.push_back(seconds);
    }

  const double bytes = 2.0 * sizeof(bf16) * static_cast<double>(numbers);
  nlohmann::ordered_json result{{"sequences", sequences}, {"tokens", tokens}, {"heads", heads},
                                {"kv_heads", kv_heads},   {"size", size},     {"bytes_of_k_and_v", bytes}};
  for (const variant& one : all) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < one.seconds.size(); ++i) ratios.push_back(one.seconds[i] / all[0].seconds[i]);
    result["seconds"][one.name] = spread(one.seconds);
    if (&one != all.data()) result["speed"][std::string("of ") + one.name] = spread(ratios);
    if (!json)
      std::printf(
          "%4d sequences of %4d tokens, %-22s: %7.1f us, %6.0f GB/s; pages at random places have %.4f of its "
          "speed (%.4f to %.4f)\n",
          sequences, tokens, one.name, 1e6 * lab::median(one.seconds), 1e-9 * bytes / lab::median(one.seconds),
          lab::median(ratios), lab::quantile(ratios, 0.1), lab::quantile(ratios, 0.9));
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  return lab::experiment(argc, argv, [](bool json) {
    nlohmann::ordered_json out{{"environment", lab::environment()}};
    for (const auto& [sequences, tokens] : {std::pair{64, 4096}, {512, 512}})
      out["attention"].push_back(measure(sequences, tokens, json));
    out["environment_after"] = lab::environment();
    if (json) std::printf("%s\n", out.dump(1).c_str());
  });
}
