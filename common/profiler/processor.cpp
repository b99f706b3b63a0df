// What a profile needs from the processor: perf_event's counters, and the ceilings of all cores together.
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <thread>

#include "lab/ceilings.hpp"
#include "lab/environment.hpp"
#include "recording.hpp"

namespace lab {
namespace {

constexpr std::uint64_t events[] = {PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_CACHE_MISSES};

/// A descriptor, or -1 with errno.
int open_counter(std::uint64_t event, pid_t thread) {
  perf_event_attr what{};
  what.size = sizeof what;
  what.type = PERF_TYPE_HARDWARE;
  what.config = event;
  what.inherit = 1;  // also threads started later
  what.exclude_kernel = 1;
  what.exclude_hv = 1;
  what.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(syscall(SYS_perf_event_open, &what, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

std::string reason(int error) {
  if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV)
    return "this machine has none (a virtual machine without a performance monitor?)";
  if (error == EACCES || error == EPERM)
    return "this user may not read them; as root: sysctl kernel.perf_event_paranoid=1 (containers also need "
           "--cap-add=PERFMON)";
  return std::strerror(error);
}

int available_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? std::max(1, CPU_COUNT(&cores)) : 1;
}

/// The best rate of several rounds in which each core does `amount` of work.
template <class Body>
double rate_of_all_cores(int cores, double amount, const Body& body) {
  constexpr int rounds = 7;
  double best = 0;
  std::barrier together(cores);
  const auto work = [&](int core) {
    for (int i = 0; i < rounds; ++i) {
      together.arrive_and_wait();
      const double start = raw_seconds();
      body(core);
      together.arrive_and_wait();
      if (core == 0) best = std::max(best, amount * cores / (raw_seconds() - start));
    }
  };
  std::vector<std::jthread> others;
  for (int core = 1; core < cores; ++core) others.emplace_back(work, core);
  work(0);
  return best;
}

}  // namespace

processor_counters::processor_counters() {
  std::error_code failed;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", failed))
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const int file = open_counter(events[i], static_cast<pid_t>(std::stol(thread.path().filename().string())));
      if (file >= 0)
        files_[i].push_back(file);
      else if (errno != ESRCH && refused_.empty())  // a thread may have ended
        refused_ = std::string("the CPU's counters were not read: ") + reason(errno);
    }
}

processor_counters::~processor_counters() {
  for (const auto& of_event : files_)
    for (const int file : of_event) close(file);
}

processor_counts processor_counters::read() const {
  processor_counts sum;
  for (std::size_t i = 0; i < files_.size(); ++i)
    for (const int file : files_[i]) {
      struct {
        std::uint64_t value, enabled, running;
      } got{};
      // If events take turns on too few counters, scale the counts to the whole time.
      if (::read(file, &got, sizeof got) == sizeof got && got.running > 0)
        sum.values[i] +=
            static_cast<double>(got.value) * static_cast<double>(got.enabled) / static_cast<double>(got.running);
    }
  return sum;
}

std::string processor_name() { return environment()["cpu"]; }

roofs processor_roofs() {
  constexpr std::size_t fma_floats = 12 * 16;
  constexpr std::int64_t fma_rounds = 200'000;
  constexpr std::size_t cached_bytes = 128 << 10;
  constexpr int cached_rounds =
      1024;  // about a millisecond, so that synchronizing the cores costs little in comparison
  const int cores = available_cores();
  const auto last_cache = static_cast<std::size_t>(std::max(0L, sysconf(_SC_LEVEL3_CACHE_SIZE)));
  const std::size_t bytes =
      std::clamp<std::size_t>(3 * last_cache, 192 << 20, 768 << 20) / static_cast<std::size_t>(cores) / 4096 * 4096;
  struct free_memory {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::vector<std::unique_ptr<std::byte, free_memory>> memory;
  for (int core = 0; core < cores; ++core)
    memory.emplace_back(static_cast<std::byte*>(std::aligned_alloc(4096, bytes)));
  for (const auto& m : memory) {
    if (!m) return {};  // no roof, then
    std::memset(m.get(), 1, bytes);
  }
  static std::atomic<std::uint64_t> sink{0};
  const auto read = [&](int core, std::size_t amount) {
    sink = read_all({memory[static_cast<std::size_t>(core)].get(), amount});
  };
  roofs r;
  r.flops_per_second.emplace_back("FP32",
                                  rate_of_all_cores(cores, 2.0 * fma_floats * static_cast<double>(fma_rounds), [](int) {
                                    float values[fma_floats] = {}, constants[fma_floats];
                                    std::fill_n(constants, fma_floats, 0.25f);
                                    fma_chains(values, values, constants, fma_floats, fma_rounds);
                                    sink = static_cast<std::uint64_t>(values[0]);
                                  }));
  r.bytes_per_second.emplace_back(
      "DRAM", rate_of_all_cores(cores, static_cast<double>(bytes), [&](int core) { read(core, bytes); }));
  const double cache = rate_of_all_cores(cores, double{cached_bytes} * cached_rounds, [&](int core) {
    for (int i = 0; i < cached_rounds; ++i) read(core, cached_bytes);
  });
  // No cache is slower than the memory that it caches, but on a busy machine it may seem to be.
  r.bytes_per_second.emplace_back("cache", std::max(cache, r.bytes_per_second.back().second));
  return r;
}

}  // namespace lab
