// Four programs with a bad habit each, for strace and perf: records.md shows what those said of them, without names. A
// number from 1 to 4 says which program runs; without one, all of them run for a moment. To compile it, in this lab's
// folder: g++ -std=c++20 -O2 -I. given/experiment.cpp -o experiment
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "host.hpp"

namespace {

/// 32 MiB in pieces of 512 bytes.
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

/// 12 threads that meet 1000 times, and ask until all are there.
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

}  // namespace

int main(int argc, char** argv) {
  constexpr void (*programs[])(int) = {small_reads, allocations, new_threads, asks_until};
  const int which = argc > 1 ? std::atoi(argv[1]) : 0;
  for (int i = 1; i <= 4; ++i)
    if (which == i || which == 0) programs[i - 1](which == 0 ? 20 : 1);
  if (which == 0) std::puts("strace -c -f and perf stat say more of one program: give its number, 1 to 4");
}
