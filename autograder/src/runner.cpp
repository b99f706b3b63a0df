// The runner: holds a submission, does what the judge asks, and decides nothing. It knows no case, no expected value
// and no clock; it reads requests from an inherited socket and finds the buffers in inherited memory.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <stdexcept>

#include "channel.hpp"

namespace {

/// The judge's memory, mapped again only when a request needs more of it: a timed call must not meet page faults.
class shared_memory {
 public:
  std::span<std::byte> at_least(std::size_t bytes) {
    if (bytes > mapped_.size()) {
      if (!mapped_.empty()) munmap(mapped_.data(), mapped_.size());
      void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, grading::runner_memory, 0);
      if (start == MAP_FAILED) throw std::runtime_error("the runner cannot map its buffers");
      mapped_ = {static_cast<std::byte*>(start), bytes};
    }
    return mapped_;
  }

 private:
  std::span<std::byte> mapped_;
};

}  // namespace

int main() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // no orphan keeps a core busy
  std::signal(SIGPIPE, SIG_IGN);
  const rlimit no_core_file{0, 0};
  setrlimit(RLIMIT_CORE, &no_core_file);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // so that a crash does not swallow what was printed before it

  shared_memory memory;
  for (std::string text; grading::receive_message(grading::runner_socket, text);) {
    lab::response response;
    try {
      lab::request request = lab::request_from_json(text);
      const grading::layout where = grading::layout_of(request);
      grading::place(request, where, memory.at_least(where.bytes));
      response = lab::execute(request);
    } catch (const std::exception& error) {
      response.error = error.what();
    }
    std::fflush(stdout);
    if (!grading::send_message(grading::runner_socket, lab::to_json(response))) return 1;
  }
  return 0;
}
