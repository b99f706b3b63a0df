// Four programs, each with a bad habit, for strace and perf: records.md shows their output, without names. Three more
// measure this machine: 5 what a pool of threads gains, 6 what two cores lose by sharing a line, 7 what a page's size
// costs. The first argument selects a program; without one, all of them run briefly. Compile in this lab's folder: g++
// -std=c++20 -O2 -I. -I../../common/include given/experiment.cpp handin/pool.cpp -o experiment
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <lab/small_work.hpp>
#include <thread>
#include <vector>

#include "host.hpp"

namespace {

/// Reads 32 MiB in pieces of 512 bytes.
void small_reads(int share) {
  char name[] = "/tmp/weights-XXXXXX";
  const int file = mkstemp(name);
  unlink(name);
  std::vector<char> content(32u << 20, 'w');
  if (file < 0 || write(file, content.data(), content.size()) < 0 || lseek(file, 0, SEEK_SET) < 0) return;
  for (std::size_t at = 0; at < content.size() / static_cast<std::size_t>(share); at += 512)
    if (read(file, &content[at], 512) <= 0) break;
  close(file);
}

/// 200 tokens, each with its own array.
void allocations(int share) {
  for (int token = 0; token < 200 / share; ++token) {
    std::vector<char> scores(48u << 20);
    if (scores[static_cast<std::size_t>(token)] != 0) std::puts("?");
  }
}

/// 2000 operations, each by four new threads.
void new_threads(int share) {
  std::atomic<int> sum = 0;
  for (int operation = 0; operation < 2000 / share; ++operation) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back([&] { ++sum; });
    for (std::thread& one : threads) one.join();
  }
}

/// 12 threads that meet 1000 times, and poll until all have arrived.
void asks_until(int share) {
  std::atomic<int> there = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 12; ++t)
    threads.emplace_back([&] {
      for (int meeting = 1; meeting <= 1000 / share; ++meeting) {
        ++there;
        while (there < 12 * meeting) sched_yield();
      }
    });
  for (std::thread& one : threads) one.join();
}

/// The fastest run of `call`, in microseconds: other programs disturb most runs.
template <class function>
double least_us(int times, const function& call) {
  double least = 1e300;
  for (int i = 0; i < times; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    least =
        std::min(least, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  return least;
}

/// 8 parts of several lengths: one after the other, and by your pool.
void threads_gain(int share) {
  const auto part = [](void* rounds, int i) {
    static std::atomic<std::int64_t> sink;
    sink += lab::small_work(*static_cast<std::int64_t*>(rounds), i);
  };
  std::printf("8 parts: one after the other, and by pools of 2, 4 and 8 threads; microseconds\n");
  for (std::int64_t rounds : {1'000, 10'000, 100'000}) {
    std::printf("%9.0f", least_us(400 / share, [&] {
                  for (int i = 0; i < 8; ++i) part(&rounds, i);
                }));
    for (const int threads : {2, 4, 8}) {
      lab12::pool* const p = lab12::start_pool(threads);
      std::printf("%9.0f", least_us(400 / share, [&] { lab12::run(*p, part, &rounds, 8); }));
      lab12::stop_pool(p);
    }
    std::printf("\n");
  }
}

/// Two threads, each adding to its own number.
void shared_line(int share) {
  struct alignas(128) pair_of_lines {
    std::atomic<std::int64_t> numbers[16];
  };
  static pair_of_lines memory[2];
  const int times = 2'000'000 / share;
  const auto nanoseconds = [&](std::atomic<std::int64_t>& other) {
    const auto add = [times](std::atomic<std::int64_t>& to) {
      for (int i = 0; i < times; ++i) to.fetch_add(1, std::memory_order_relaxed);
    };
    return 1e3 / times * least_us(5, [&] {
             std::thread second([&] { add(other); });
             add(memory[0].numbers[0]);
             second.join();
           });
  };
  const double together = nanoseconds(memory[0].numbers[1]), apart = nanoseconds(memory[1].numbers[0]);
  std::printf("two threads, a number each: %.1f ns per addition on one line, %.1f on two lines\n", together, apart);
}

/// Reads random addresses in 256 MiB, which no prefetcher can predict.
void pages(int share) {
  constexpr std::size_t bytes = 256u << 20, huge_page = 2u << 20;
  const int reads = 4'000'000 / share;
  for (const int advice : {MADV_NOHUGEPAGE, MADV_HUGEPAGE}) {
    auto* const memory = static_cast<char*>(std::aligned_alloc(huge_page, bytes));
    if (!memory) return;
    madvise(memory, bytes, advice);
    for (std::size_t at = 0; at < bytes; at += 4096) memory[at] = 1;
    volatile std::uint64_t last = 1;
    std::uint64_t at = last;
    const double us = least_us(3, [&] {
      for (int i = 0; i < reads; ++i) at = at * 6364136223846793005u + static_cast<unsigned char>(memory[at >> 36]);
      last = at;
    });
    std::printf("%s pages: %.1f ns per read\n", advice == MADV_HUGEPAGE ? "2 MiB" : "4 KiB", 1e3 * us / reads);
    std::free(memory);
  }
}

}  // namespace

int main(int argc, char** argv) {
  constexpr void (*programs[])(int) = {small_reads,  allocations, new_threads, asks_until,
                                       threads_gain, shared_line, pages};
  const int which = argc > 1 ? std::atoi(argv[1]) : 0;
  for (int i = 1; i <= 7; ++i)
    if (which == i || which == 0) programs[i - 1](which == 0 ? 20 : 1);
  if (which == 0) std::puts("strace -c -f and perf stat say more of one program: give its number, 1 to 4");
}
