#include "support/side_by_side.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <vector>

#include "lab/exchange.hpp"
#include "support/command.hpp"

namespace grading {

std::size_t side_by_side(std::size_t processes, std::size_t count, const std::function<bool(std::size_t)>& f) {
  struct tally {
    std::atomic<std::size_t> next = 0, fine = 0;
  };
  void* shared = mmap(nullptr, sizeof(tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::runtime_error("cannot allocate a page of shared memory");
  auto& all = *new (shared) tally;
  std::fflush(nullptr);  // or each child would print the buffered text, too
  std::vector<pid_t> children;
  for (std::size_t p = 0; p < std::min(processes, count); ++p) {
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("cannot start a process");
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    for (std::size_t i; (i = all.next++) < count;) {
      try {
        all.fine += f(i);
      } catch (const std::exception& error) {
        fmt::print(stderr, "grader: {}\n", error.what());
      }
      std::fflush(nullptr);
    }
    lab::remove_exchange_folder();
    std::_Exit(0);
  }
  for (const pid_t child : children) wait_for_end(child);
  const std::size_t fine = all.fine;
  munmap(shared, sizeof(tally));
  return count - fine;
}

}  // namespace grading
