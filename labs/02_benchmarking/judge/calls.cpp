// Which function of the contract answers which case. No expected values: those are in cases.cpp.
#include <lab/call.hpp>

#include <algorithm>

#include "conversation.hpp"
#include "mlp.hpp"
#include "real_machine.hpp"

namespace {

using namespace lab02;

/// Input: cold, least samples, relative error, budget. Outputs: the timing; what the benchmark asks of the machine.
void run_benchmark(const lab::call& c) {
  const double* in = c.input<double>(0);
  distant_machine m(*c.output<mailbox>(1), c.ask);
  const timing t = benchmark(m, {in[0] != 0, static_cast<int>(in[1]), in[2], in[3]});
  m.hand_over();
  const double all[] = {t.median_seconds,
                        t.low_seconds,
                        t.high_seconds,
                        t.overhead_seconds,
                        static_cast<double>(t.samples),
                        static_cast<double>(t.outliers),
                        static_cast<double>(t.dropped)};
  std::copy(std::begin(all), std::end(all), c.output<double>(0));
}

/// Input: how long the chain is. Output: three medians.
void run_real(const lab::call& c) {
  chain m(*c.input<std::int64_t>(0));
  for (int i = 0; i < 3; ++i) c.output<double>(0)[i] = benchmark(m, {false, 11, 0.01, 0.1}).median_seconds;
}

constexpr lab::entry table[] = {
    {"benchmark", lab::part::host, run_benchmark},
    {"combined", lab::part::host, run_benchmark},
    {"real", lab::part::host, run_real},
    {"mlp", lab::part::device,
     [](const lab::call& c) {
       mlp(c.output<float>(0), c.output<float>(1), c.input<float>(0), c.input<float>(1), c.parameter(0), c.parameter(1),
           c.parameter(2), c.parameter(3), c.stream);
     }},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
