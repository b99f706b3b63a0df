// The runner: holds a submission, does what the judge asks, and decides nothing. It knows no case, no expected value
// and no clock; it reads requests from an inherited socket and finds the buffers in inherited memory.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <stdexcept>

#include "channel.hpp"

namespace {

/// All of the judge's memory, mapped once: a timed call must not meet page faults.
std::span<std::byte> shared_memory() {
  struct stat status {};
  if (fstat(grading::runner_memory, &status) != 0) throw std::runtime_error("the runner has no memory to share");
  const auto bytes = static_cast<std::size_t>(status.st_size);
  void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, grading::runner_memory, 0);
  if (start == MAP_FAILED) throw std::runtime_error("the runner cannot map its buffers");
  return {static_cast<std::byte*>(start), bytes};
}

/// Says that it is about to begin, and waits until the judge has written the inputs. One for each request.
struct waiting_gate : lab::call_gate {
  explicit waiting_gate(grading::control& page) : shared(page) {}
  void begin() override {
    shared.ready.store(++begun);
    while (shared.go.load() < begun) __builtin_ia32_pause();
  }
  void end() override { grading::set_and_wake(shared.done); }
  grading::control& shared;
  std::uint32_t begun = 0;
};

}  // namespace

int main() try {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // no orphan keeps a core busy
  std::signal(SIGPIPE, SIG_IGN);
  const rlimit no_core_file{0, 0};
  setrlimit(RLIMIT_CORE, &no_core_file);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // so that a crash does not swallow what was printed before it

  const std::span<std::byte> memory = shared_memory();
  auto& page = *reinterpret_cast<grading::control*>(memory.data());
  std::span<std::byte> device_memory;
  for (std::string text; grading::receive_message(grading::runner_socket, text);) {
    lab::response response;
    waiting_gate gate(page);
    try {
      lab::request request = lab::request_from_json(text);
      const grading::layout where = grading::layout_of(request);
      if (request.resident && device_memory.empty())
        device_memory = lab::map_device_memory(grading::runner_device_memory, page.device_bytes);
      const std::span<std::byte> buffers = request.resident ? device_memory : memory.subspan(grading::page);
      if (where.bytes > buffers.size()) throw std::runtime_error("more buffers than there is memory");
      grading::place(request, where, buffers);
      response = lab::execute(request, gate);
    } catch (const std::exception& error) {
      response.error = error.what();
      gate.end();
    }
    std::fflush(stdout);
    if (!grading::send_message(grading::runner_socket, lab::to_json(response))) return 1;
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "runner: %s\n", error.what());
  return 1;
}
