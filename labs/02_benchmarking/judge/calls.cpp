// Maps each case to a function of the contract. Expected values are in cases.cpp.
#include <lab/call.hpp>

#include <time.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "conversation.hpp"
#include "google_figures.hpp"
#include "loops.hpp"
#include "mlp.hpp"
#include "real_machine.hpp"

namespace {

using namespace lab02;

/// Input: cold, least samples, relative error, budget. Outputs: the timing; the benchmark's requests to the machine.
void run_benchmark(const lab::call& c) {
  const double* in = c.input<double>(0);
  distant_machine m(*c.output<mailbox>(1), c.ask);
  const timing t = lab02::benchmark(m, {in[0] != 0, static_cast<int>(in[1]), in[2], in[3]});
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

/// Inputs: values, constants, rounds of each input, the error. Outputs: the last values; median, calls and their work.
void run_sampling(const lab::call& c) {
  const auto n = static_cast<std::size_t>(c.parameter(0)), inputs = static_cast<std::size_t>(c.parameter(3));
  float* values = c.output<float>(0);
  std::copy_n(c.input<float>(0), n, values);
  uneven m({values, n}, {c.input<float>(1), n}, {c.input<std::int64_t>(2), inputs});
  const timing t = lab02::benchmark(m, {false, 11, *c.input<double>(3), 10});
  const double all[] = {t.median_seconds, static_cast<double>(m.calls), static_cast<double>(m.all_rounds),
                        static_cast<double>(m.misuses), static_cast<double>(m.timings)};
  std::copy(std::begin(all), std::end(all), c.output<double>(1));
}

// ---- Google Benchmark -----------------------------------------------------------------------------------------------

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double middle(std::vector<double> of) {
  std::nth_element(of.begin(), of.begin() + std::ssize(of) / 2, of.end());
  return of[of.size() / 2];
}

/// The time of one call of the loop without Google Benchmark.
double plain_seconds(const std::string& loop, std::size_t n) {
  const bool sorts = loop == "sort";
  const std::size_t calls = std::max<std::size_t>((sorts ? 1 << 16 : 1 << 20) / n, 1);
  // y begins half a page later in its page than x does in its own: at the same place, its stores would delay x's next
  // loads, and scale would take three times as long.
  constexpr std::size_t page = 4096 / sizeof(float);
  const std::size_t numbers = sorts ? calls * n : n, pages = (numbers + page - 1) / page;
  std::vector<float> memory(pages * page + page / 2 + n);
  const std::span x = std::span(memory).first(numbers), y = std::span(memory).last(n);
  const auto renew = [&](unsigned seed) { std::ranges::copy(random_floats(numbers, seed), x.begin()); };
  renew(0);
  std::vector<double> samples;
  for (unsigned i = 0; i < 15; ++i) {
    if (sorts) renew(i);  // new numbers for each call
    const double start = cpu_seconds();
    for (std::size_t call = 0; call < calls; ++call) {
      if (loop == "sum") benchmark::DoNotOptimize(sum(x));
      if (loop == "scale") scale(y, x, 2.0f);
      if (sorts) sort(x.subspan(call * n, n));
      benchmark::DoNotOptimize(memory.data());
    }
    samples.push_back((cpu_seconds() - start) / static_cast<double>(calls));
  }
  return middle(samples);
}

/// Keeps each benchmark's measurements, whatever its options add to its name.
struct collector : benchmark::BenchmarkReporter {
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& report) override {
    for (const Run& r : report)
      if (r.run_type == Run::RT_Iteration && r.iterations > 0)
        runs[r.run_name.function_name + "/" + r.run_name.args.substr(r.run_name.args.find(':') + 1)].push_back(r);
  }
  std::map<std::string, std::vector<Run>> runs;
};

/// The library's measurements of the registered benchmarks with these names; unregisters all of them.
std::map<std::string, std::vector<benchmark::BenchmarkReporter::Run>> runs_of(const char* names) {
  static std::string words[] = {"google", "--benchmark_min_time=0.02", "--benchmark_repetitions=3"};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  int count = 3;
  benchmark::Initialize(&count, arguments);
  collector all;
  benchmark::RunSpecifiedBenchmarks(&all, names);
  benchmark::ClearRegisteredBenchmarks();
  return all.runs;
}

google_figures figures_of(std::vector<benchmark::BenchmarkReporter::Run> runs) {
  // Real time is longer on a busy machine; with PauseTiming or manual times, CPU time measures something else.
  const auto seconds = [](const auto& r) {
    return std::min(r.real_accumulated_time, r.cpu_accumulated_time) / static_cast<double>(r.iterations);
  };
  std::sort(runs.begin(), runs.end(), [&](const auto& a, const auto& b) { return seconds(a) < seconds(b); });
  const auto& r = runs[runs.size() / 2];
  const auto rate = [&](const char* name) {
    const auto found = r.counters.find(name);
    return found == r.counters.end() ? 0.0 : found->second.value;
  };
  google_figures all;
  all.seconds = seconds(r);
  all.cpu_seconds = r.cpu_accumulated_time / static_cast<double>(r.iterations);
  all.real_seconds = r.real_accumulated_time / static_cast<double>(r.iterations);
  all.bytes_per_second = rate("bytes_per_second");
  all.flops_per_second = rate("flops");
  return all;
}

/// Input: the length of the chain. Output: three medians, and Google Benchmark's figure.
void run_real(const lab::call& c) {
  chain m(*c.input<std::int64_t>(0));
  for (int i = 0; i < 3; ++i) c.output<double>(0)[i] = lab02::benchmark(m, {false, 11, 0.01, 0.1}).median_seconds;
  benchmark::RegisterBenchmark("chain", [&](benchmark::State& state) {
    for (auto _ : state) m.keep(m.run(0));
  });
  c.output<double>(0)[3] = figures_of(runs_of("^chain$").begin()->second).seconds;
}

/// Output: google_figures for the `google_runs` that sort, or for those that do not. The loop itself is timed before
/// and after: in between, another process may begin to use the same core's caches, or end.
void run_google(const lab::call& c) {
  const bool sorts = c.parameter(0) != 0;
  benchmark::ClearRegisteredBenchmarks();  // drops those of macros: changing one would not trigger a new grading
  register_benchmarks();
  std::vector<double> before;
  for (const google_run& wanted : google_runs) before.push_back(plain_seconds(wanted.loop, wanted.n));
  auto runs = runs_of(sorts ? "^sort/" : "^(sum|scale)/");
  auto* out = c.output<google_figures>(0);
  for (const google_run& wanted : google_runs) {
    if ((wanted.bytes == 0) != sorts) continue;
    const auto found = runs.find(wanted.name());
    *out = found == runs.end() ? google_figures{} : figures_of(found->second);
    const auto [least, most] =
        std::minmax({before[static_cast<std::size_t>(&wanted - google_runs)], plain_seconds(wanted.loop, wanted.n)});
    out->plain_seconds = std::clamp(out->seconds, least, most);
    ++out;
  }
}

void run_p_value(const lab::call& c) {
  const auto series = [&](std::size_t i) {
    return std::span(c.input<double>(i), static_cast<std::size_t>(c.parameter(i)));
  };
  *c.output<double>(0) = p_value(series(0), series(1));
}

constexpr lab::entry table[] = {
    {"benchmark", lab::part::host, run_benchmark},
    {"combined", lab::part::host, run_benchmark},
    {"real", lab::part::host, run_real},
    {"sampling", lab::part::host, run_sampling},
    {"google", lab::part::host, run_google},
    {"p_value", lab::part::host, run_p_value},
    {"mlp", lab::part::device,
     [](const lab::call& c) {
       mlp(c.output<float>(0), c.output<float>(1), c.input<float>(0), c.input<float>(1), c.parameter(0), c.parameter(1),
           c.parameter(2), c.parameter(3), c.stream);
     }},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
