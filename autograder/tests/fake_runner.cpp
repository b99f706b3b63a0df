// A runner whose submission does everything that submissions do to graders. The entry says what.
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "channel.hpp"

namespace {

void send_raw(std::uint32_t length, const char* text) {
  send(grading::runner_socket, &length, sizeof length, 0);
  send(grading::runner_socket, text, std::strlen(text), 0);
}

std::string open_files() {
  std::string numbers;
  for (int fd = 0; fd < 1024; ++fd)
    if (fcntl(fd, F_GETFD) >= 0) numbers += std::to_string(fd) + " ";
  return numbers;
}

std::string allowed_cores() {
  cpu_set_t cores;
  sched_getaffinity(0, sizeof cores, &cores);
  std::string numbers;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &cores)) numbers += std::to_string(i) + " ";
  return numbers;
}

void twice(const lab::request& what) {
  const auto* in = reinterpret_cast<const float*>(what.inputs[0].data());
  auto* out = reinterpret_cast<float*>(what.outputs[0].data());
  for (std::size_t i = 0; i < what.inputs[0].size() / sizeof(float); ++i) out[i] = 2.0f * in[i];
}

}  // namespace

lab::response lab::execute(const lab::request& what, lab::call_gate& gate) {
  lab::response answer;
  gate.begin();
  const std::string& does = what.entry;
  if (!what.inputs.empty() && !what.outputs.empty() && does != "nothing") twice(what);
  if (does == "overrun") what.outputs[0].data()[what.outputs[0].size()] = std::byte{0};
  if (does == "underrun") what.outputs[0].data()[-1] = std::byte{0};
  if (does == "scribble") what.inputs[0][0] ^= std::byte{1};
  if (does == "off_by_one") reinterpret_cast<float*>(what.outputs[0].data())[0] += 1.0f;
  if (does == "segfault") std::raise(SIGSEGV);
  if (does == "abort") std::abort();
  if (does == "exit") std::exit(7);
  if (does == "hang") sleep(1000);
  if (does == "compute")  // so many milliseconds of a core
    while (std::clock() < what.parameters[0] * (CLOCKS_PER_SEC / 1000)) {
    }
  if (does == "close") {
    close(grading::runner_socket);
    sleep(1000);
  }
  if (does == "silence") {
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
  }
  if (does == "orphan" && fork() == 0) sleep(1000);
  if (does == "fork" && fork() == 0) {
    std::printf("pid %d\n", getpid());
    std::fflush(stdout);
    sleep(1000);
  }
  if (does == "print") std::printf("hello\n");
  if (does == "shout")
    for (std::int64_t i = 0; i < what.parameters[0] << 20 >> 6; ++i)
      std::puts("0123456789012345678901234567890123456789012345678901234567890_");
  if (does == "huge_length") send_raw(0xFFFFFFFFu, "");
  if (does == "too_short") send_raw(4, "{\"error\":\"\"}");
  if (does == "too_long") {
    send_raw(1000, "{}");
    std::exit(0);
  }
  if (does == "garbage") send_raw(7, "garbage");
  if (does == "files") answer.error = open_files();
  if (does == "cores") answer.error = allowed_cores();
  static bool broken = false;  // as a GPU is for its process, once an address was misaligned
  broken = broken || does == "fails";
  if (broken) answer.error = "cudaErrorMisalignedAddress";
  if (does == "reports") answer.reports = {"a.cu:3: race", "a.cu:4: race", "a.cu:5: race", "a.cu:6: race"};
  gate.end();
  return answer;
}

std::string lab::backend_name() { return "sim"; }
std::span<std::byte> lab::map_device_memory(int, std::size_t) { return {}; }
