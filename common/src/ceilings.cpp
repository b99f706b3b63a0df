// The host's ceilings, each as fast as one core can go.
// Reading: four parallel streams keep more pages open than the prefetcher follows by itself, and an explicit prefetch
// half a kilobyte ahead keeps the line-fill buffers busy. On the 2.5 GHz Xeon where this was chosen, it reads 12.4
// GB/s, a single plain loop 10.8.
//
// The triad is the plain loop. On that Xeon a prefetch made it 4 % slower, and streaming stores, which avoid fetching
// each line, 8 %: one core runs out of buffers for outgoing lines. A multiply-add takes about four cycles, and two
// units can each start one per cycle, so at least eight chains must be in flight.
#include "lab/ceilings.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <Eigen/Core>
#include <atomic>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "lab/small_work.hpp"

namespace lab {
namespace {

typedef std::uint64_t words __attribute__((vector_size(32), aligned(32), may_alias));
constexpr std::size_t line = 64;
constexpr int streams = 4;

#ifdef __AVX512F__
constexpr std::size_t wide = 64;
#else
constexpr std::size_t wide = 32;
#endif
constexpr std::size_t lanes = wide / sizeof(float);
typedef float floats __attribute__((vector_size(wide), aligned(4), may_alias));
constexpr std::size_t chains = 12;  // more than eight; constants that do not fit in registers are loaded from memory

floats at(const float* from) { return *reinterpret_cast<const floats*>(from); }

template <std::size_t together>
void chains_of(float* out, const float* in, const float* c, std::int64_t rounds) {
  floats x[together], constants[together];
  for (std::size_t k = 0; k < together; ++k) x[k] = at(in + k * lanes), constants[k] = at(c + k * lanes);
  for (std::int64_t i = 0; i < rounds; ++i)
    for (std::size_t k = 0; k < together; ++k) x[k] = x[k] * x[k] + constants[k];
  for (std::size_t k = 0; k < together; ++k) *reinterpret_cast<floats*>(out + k * lanes) = x[k];
}

}  // namespace

std::uint64_t read_all(std::span<const std::byte> memory) {
  const std::size_t part = memory.size() / line / streams;  // lines in each stream
  const words* from[streams];
  words sums[streams][2] = {};
  for (int s = 0; s < streams; ++s)
    from[s] = reinterpret_cast<const words*>(memory.data() + static_cast<std::size_t>(s) * part * line);
  for (std::size_t i = 0; i < part; ++i) {
    for (int s = 0; s < streams; ++s) {
      __builtin_prefetch(reinterpret_cast<const char*>(from[s] + 2 * i) + 8 * line);
      sums[s][0] += from[s][2 * i];
      sums[s][1] += from[s][2 * i + 1];
    }
  }
  words total = {};
  for (int s = 0; s < streams; ++s) total += sums[s][0] + sums[s][1];
  const words* rest = from[streams - 1] + 2 * part;
  for (std::size_t i = 0; i < 2 * (memory.size() / line - streams * part); ++i) total += rest[i];
  return total[0] + total[1] + total[2] + total[3];
}

void triad(float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c, float scale,
           std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + scale * c[i];
}

void fma_chains(float* out, const float* in, const float* c, std::size_t n, std::int64_t rounds) {
  std::size_t i = 0;
  for (; i + chains * lanes <= n; i += chains * lanes) chains_of<chains>(out + i, in + i, c + i, rounds);
  for (; i + lanes <= n; i += lanes) chains_of<1>(out + i, in + i, c + i, rounds);
  for (; i < n; ++i) {
    float x = in[i];
    for (std::int64_t k = 0; k < rounds; ++k) x = x * x + c[i];
    out[i] = x;
  }
}

void eigen_product(float* out, const float* a, const float* b, std::int64_t m, std::int64_t n, std::int64_t k) {
  using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using input = Eigen::Map<const matrix>;
  Eigen::Map<matrix>(out, m, n).noalias() = input(a, m, k) * input(b, k, n);
}

void eigen_tanh(float* out, const float* in, std::size_t n) {
  const auto size = static_cast<Eigen::Index>(n);
  Eigen::Map<Eigen::ArrayXf>(out, size) = Eigen::Map<const Eigen::ArrayXf>(in, size).tanh();
}

void read_file(const char* path, std::byte* to, std::size_t bytes) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) throw std::runtime_error(std::string("cannot open ") + path);
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t got = ::read(file, to + done, bytes - done);
    if (got > 0) done += static_cast<std::size_t>(got);
    if (got == 0 || (got < 0 && errno != EINTR)) {
      close(file);
      throw std::runtime_error(std::string("cannot read ") + path);
    }
  }
  close(file);
}

std::int64_t thread_per_part(std::int64_t parts, std::int64_t operations, std::int64_t rounds) {
  std::atomic<std::int64_t> sum = 0;
  for (std::int64_t k = 0; k < operations; ++k) {
    std::vector<std::thread> threads;
    for (std::int64_t part = 0; part < parts; ++part)
      threads.emplace_back([&, part] { sum.fetch_add(small_work(rounds, part), std::memory_order_relaxed); });
    for (std::thread& one : threads) one.join();
  }
  return sum;
}

void shared_prefixes(int* out, const int* tokens, const int* first, std::int64_t prompts) {
  struct node {
    int token, child = -1, next = -1;
  };
  std::vector<node> nodes{{-1}};
  for (std::int64_t p = 0; p < prompts; ++p) {
    const int *now = tokens + first[p], *const end = tokens + first[p + 1];
    std::size_t at = 0;
    for (; now != end; ++now) {  // tokens shared with an earlier prompt
      int child = nodes[at].child;
      while (child >= 0 && nodes[static_cast<std::size_t>(child)].token != *now)
        child = nodes[static_cast<std::size_t>(child)].next;
      if (child < 0) break;
      at = static_cast<std::size_t>(child);
    }
    out[p] = static_cast<int>(now - tokens) - first[p];
    for (; now != end; ++now) {
      nodes.push_back({*now, -1, nodes[at].child});
      nodes[at].child = static_cast<int>(nodes.size()) - 1;
      at = nodes.size() - 1;
    }
  }
}

void run_host_ceiling(const std::string& name, const std::vector<const void*>& inputs,
                      const std::vector<void*>& outputs, const std::vector<std::int64_t>& parameters) {
  const auto in = [&](std::size_t i) { return static_cast<const float*>(inputs.at(i)); };
  const auto out = [&] { return static_cast<float*>(outputs.at(0)); };
  const auto size = [&](std::size_t i) { return static_cast<std::size_t>(parameters.at(i)); };
  if (name == "read") {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      sum += read_all({static_cast<const std::byte*>(inputs[i]), size(i)});
    *static_cast<std::int64_t*>(outputs.at(0)) = static_cast<std::int64_t>(sum);
  } else if (name == "triad") {
    triad(out(), in(0), in(1), *in(2), size(0));
  } else if (name == "fma") {
    fma_chains(out(), in(0), in(1), size(0), parameters.at(1));
  } else if (name == "eigen") {
    eigen_product(out(), in(0), in(1), parameters.at(0), parameters.at(1), parameters.at(2));
  } else if (name == "tanh") {
    eigen_tanh(out(), in(0), size(0));
  } else if (name == "file") {
    read_file(static_cast<const char*>(inputs.at(0)), static_cast<std::byte*>(outputs.at(0)), size(0));
  } else if (name == "threads") {
    *static_cast<std::int32_t*>(outputs.at(0)) =
        static_cast<std::int32_t>(thread_per_part(parameters.at(0), parameters.at(1), parameters.at(2)));
  } else if (name == "prefixes") {
    shared_prefixes(static_cast<int*>(outputs.at(0)), static_cast<const int*>(inputs.at(0)),
                    static_cast<const int*>(inputs.at(1)), parameters.at(0));
  } else {
    throw std::out_of_range("no host ceiling '" + name + "'");
  }
}

double raw_seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace lab
