// Maps each case to a function of the contract. Inputs and expected values are in cases.cpp.
#include <lab/call.hpp>

#include <vector>

#include "quantization.hpp"
#include "schedule.hpp"

namespace {

using namespace lab07;

/// Reads the numbers of a row of input 0 in order.
struct row {
  const double* at;
  double number() { return *at++; }
  int whole() { return static_cast<int>(number()); }
  std::int64_t large() { return static_cast<std::int64_t>(number()); }

  shape a_shape() {
    shape s{};
    s.m = large(), s.n = large(), s.k = large();
    return s;
  }
  kernel a_kernel() {
    kernel by{};
    by.tile_m = whole(), by.tile_n = whole(), by.threads = whole();
    by.registers = whole(), by.shared_bytes = whole(), by.element_bytes = whole();
    return by;
  }
  device a_device() {
    device on{};
    on.multiprocessors = whole(), on.threads_of_sm = whole(), on.blocks_of_sm = whole(), on.registers_of_sm = whole();
    on.shared_bytes_of_sm = whole(), on.register_unit = whole(), on.reserved_bytes = whole();
    on.flops_per_second = number(), on.l2_bytes_per_second = number(), on.launch_seconds = number();
    return on;
  }
};

/// The submission's answers for functions that others use: tiles, occupancy, and the first `more` of waves and seconds.
/// They let a message tell where a wrong answer comes from.
double* said(double* out, const shape& s, const kernel& by, const device& on, int more) {
  out[0] = static_cast<double>(tiles(s, by));
  out[1] = occupancy(by, on);
  const bool fits = out[1] > 0 && blocks_that_fit(by, on) > 0;
  if (more > 0 && fits) out[2] = static_cast<double>(waves(s, by, on));
  if (more > 1 && fits) out[3] = seconds(s, by, on);
  return out + 4;
}

/// Parameters: rows of input 0, numbers in each, and kernels after shape and device. `f` turns each row into a number.
template <class F>
void rows(const lab::call& c, F f) {
  for (int i = 0; i < c.parameter(0); ++i) {
    row r{c.input<double>(0) + std::int64_t{i} * c.parameter(1)};
    const shape s = r.a_shape();
    const device on = r.a_device();
    std::vector<kernel> candidates;
    for (int j = 0; j < c.parameter(2); ++j) candidates.push_back(r.a_kernel());
    c.output<double>(0)[i] = static_cast<double>(f(s, candidates, on));
  }
}

template <auto f, int more>
void of_all(const lab::call& c) {
  double* earlier = c.output<double>(1);  // NaN unless set
  rows(c, [&](const shape& s, const std::vector<kernel>& by, const device& on) {
    earlier = said(earlier, s, by[0], on, more);
    return f(s, by[0], on);
  });
}

constexpr lab::entry table[] = {
    {"tiles", lab::part::host,
     [](const lab::call& c) {
       rows(c, [](const shape& s, const std::vector<kernel>& by, const device&) { return tiles(s, by[0]); });
     }},
    {"occupancy", lab::part::host,
     [](const lab::call& c) {
       rows(c, [](const shape&, const std::vector<kernel>& by, const device& on) { return occupancy(by[0], on); });
     }},
    {"waves", lab::part::host, of_all<waves, 0>},
    {"utilization", lab::part::host, of_all<utilization, 1>},
    {"seconds", lab::part::host, of_all<seconds, 1>},
    {"next_cliff", lab::part::host,
     [](const lab::call& c) {
       double* earlier = c.output<double>(1);
       rows(c, [&](const shape& s, const std::vector<kernel>& by, const device& on) {
         const std::int64_t cliff = next_cliff(s.n, by[0], on);
         for (const std::int64_t n : {s.n, cliff - 1, cliff})
           earlier = n >= 1 && n <= std::int64_t{1} << 36 ? said(earlier, {n, n, 1}, by[0], on, 1) : earlier + 4;
         return cliff;
       });
     }},
    {"best_kernel", lab::part::host,
     [](const lab::call& c) {
       double* earlier = c.output<double>(1);
       rows(c, [&](const shape& s, const std::vector<kernel>& by, const device& on) {
         for (const kernel& one : by) earlier = said(earlier, s, one, on, 2);
         return best_kernel(s, by.data(), static_cast<int>(by.size()), on);
       });
     }},
    // Given, for your predictions: what schedule.hpp counts.
    {"dealt_tiles", lab::part::host,
     [](const lab::call& c) {
       rows(c,
            [](const shape& s, const std::vector<kernel>& by, const device& on) { return deal(s, by[0], on).tiles; });
     }},
    {"dealt_waves", lab::part::host,
     [](const lab::call& c) {
       rows(c,
            [](const shape& s, const std::vector<kernel>& by, const device& on) { return deal(s, by[0], on).waves; });
     }},
    {"dealt_utilization", lab::part::host,
     [](const lab::call& c) {
       rows(c, [](const shape& s, const std::vector<kernel>& by, const device& on) {
         return static_cast<double>(s.m * s.n) / static_cast<double>(deal(s, by[0], on).multiply_adds);
       });
     }},
    {"dealt_cliff", lab::part::host,
     [](const lab::call& c) {
       rows(c, [](const shape& s, const std::vector<kernel>& by, const device& on) {
         std::int64_t n = s.n + 1;
         while (deal({n, n, 1}, by[0], on).waves <= deal(s, by[0], on).waves) ++n;
         return n;
       });
     }},
    {"pad", lab::part::device,
     [](const lab::call& c) {
       pad(c.output<bf16>(0), c.input<bf16>(0), c.parameter(0), c.parameter(1), c.parameter(2), c.parameter(3),
           c.stream);
     }},
    {"unpad", lab::part::device,
     [](const lab::call& c) {
       unpad(c.output<bf16>(0), c.input<bf16>(0), c.parameter(0), c.parameter(1), c.parameter(2), c.stream);
     }},
    {"padded_gemm", lab::part::device,
     [](const lab::call& c) {
       padded_gemm(c.output<bf16>(0), c.input<bf16>(0), c.input<bf16>(1), c.output<bf16>(1), c.parameter(0),
                   c.parameter(1), c.parameter(2), c.stream);
     }},
    // Parameters: k, then sizes n; the products of the first n rows of A and a (k, n) B, one after the other.
    {"fixed_tile_gemm", lab::part::device,
     [](const lab::call& c) {
       float* out = c.output<float>(0);
       const int k = c.parameter(0);
       for (std::size_t i = 1; i < c.parameters.size(); ++i) {
         const int n = c.parameter(i);
         fixed_tile_gemm(out, c.input<float>(0), c.input<float>(1), n, n, k, c.stream);
         out += std::int64_t{n} * n;
       }
     }},
    {"narrow_gemm", lab::part::host,
     [](const lab::call& c) {
       const auto size = [&](std::size_t i) { return static_cast<std::size_t>(c.parameters.at(i)); };
       narrow_gemm(c.output<float>(0), c.input<float>(0), c.input<float>(1), size(0), size(1), size(2));
     }},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
