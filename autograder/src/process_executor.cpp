// The judge's end of a runner: spawn, ask, wait with a deadline, drain what it prints, bury it.
#include "process_executor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

#include "channel.hpp"

namespace grading {
namespace {

using clock = std::chrono::steady_clock;
constexpr std::size_t kept_output = 64 << 10;

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(fmt::format("{} failed: {}", what, std::strerror(errno)));
}

/// The same descriptor above those that the runner inherits, so that renumbering them cannot collide.
int out_of_the_way(int fd) {
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, 10);
  if (moved < 0) fail("fcntl(F_DUPFD_CLOEXEC)");
  close(fd);
  return moved;
}

void close_if_open(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

int milliseconds_left(clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now()).count();
  return left > 0 ? static_cast<int>(std::min<long long>(left, 1'000'000)) : 0;
}

}  // namespace

process_executor::process_executor(std::filesystem::path runner, limits allowed)
    : runner_(std::move(runner)), allowed_(allowed) {
  memory_fd_ = memfd_create("buffers", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory_fd_ < 0) fail("memfd_create");
  memory_fd_ = out_of_the_way(memory_fd_);
  // A runner that shrank it would make the judge crash.
  if (fcntl(memory_fd_, F_ADD_SEALS, F_SEAL_SHRINK) != 0) fail("fcntl(F_ADD_SEALS)");
}

process_executor::~process_executor() {
  stop();
  if (!memory_.empty()) munmap(memory_.data(), memory_.size());
  close_if_open(memory_fd_);
}

std::span<std::byte> process_executor::memory(std::size_t bytes) {
  if (bytes <= memory_.size()) return memory_;
  if (ftruncate(memory_fd_, static_cast<off_t>(bytes)) != 0) fail("ftruncate of the shared buffers");
  if (!memory_.empty()) munmap(memory_.data(), memory_.size());
  memory_ = {};
  void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, memory_fd_, 0);
  if (start == MAP_FAILED) fail("mmap of the shared buffers");
  memory_ = {static_cast<std::byte*>(start), bytes};
  return memory_;
}

void process_executor::start() {
  int ends[2], pipe_ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) fail("pipe2");
  socket_ = ends[0];
  printed_fd_ = pipe_ends[0];
  fcntl(printed_fd_, F_SETFL, O_NONBLOCK);
  int runner_end = out_of_the_way(ends[1]);
  int print_end = out_of_the_way(pipe_ends[1]);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, print_end, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, print_end, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&files, runner_end, runner_socket);
  posix_spawn_file_actions_adddup2(&files, memory_fd_, runner_memory);
  posix_spawn_file_actions_addclosefrom_np(&files, runner_memory + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // its own group: killed with all its children
  posix_spawnattr_setpgroup(&attributes, 0);
  std::string name = runner_.string();
  char* arguments[] = {name.data(), nullptr};
  const int error = posix_spawn(&process_, name.c_str(), &files, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  close_if_open(runner_end);
  close_if_open(print_end);
  if (error != 0) {
    process_ = -1;
    stop();
    throw std::runtime_error(fmt::format("cannot start {}: {}", name, std::strerror(error)));
  }
  // The socket alone does not tell: a child of the runner may hold its end open.
  death_fd_ = static_cast<int>(syscall(SYS_pidfd_open, process_, 0));
  if (death_fd_ < 0) fail("pidfd_open");
}

void process_executor::stop() {
  if (process_ > 0) {
    kill(-process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
    drain();
  }
  process_ = -1;
  close_if_open(death_fd_);
  close_if_open(socket_);
  close_if_open(printed_fd_);
}

void process_executor::drain() {
  char piece[16 << 10];
  // Bounded: a submission that prints faster than we read must not keep us here.
  for (int i = 0; i < 64; ++i) {
    const ssize_t got = read(printed_fd_, piece, sizeof piece);
    if (got <= 0) return;
    const std::size_t keep = std::min(static_cast<std::size_t>(got), kept_output - printed_.size());
    printed_.append(piece, keep);
    discarded_ += static_cast<std::size_t>(got) - keep;
  }
}

std::string process_executor::output() {
  if (discarded_ == 0) return printed_;
  return printed_ + fmt::format("\n[{} more bytes were printed and are not kept]\n", discarded_);
}

answer process_executor::failed(answer::ending how, std::string why) {
  stop();
  return {how, {}, std::move(why)};
}

/// The socket is closed, or the runner said something that is no answer: how did it end?
answer process_executor::ended() {
  int status = 0;
  const auto deadline = clock::now() + std::chrono::seconds(1);
  pid_t reaped = 0;
  while ((reaped = waitpid(process_, &status, WNOHANG)) == 0 && clock::now() < deadline) {
    drain();
    usleep(1000);
  }
  if (reaped != process_) return failed(answer::ending::crashed, "the program closed its connection to the grader");
  kill(-process_, SIGKILL);  // children that it left behind
  drain();
  process_ = -1;
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    return failed(answer::ending::crashed,
                  fmt::format("the program was ended by SIG{} ({})", sigabbrev_np(number) ? sigabbrev_np(number) : "?",
                              sigdescr_np(number) ? sigdescr_np(number) : "unknown signal"));
  }
  return failed(answer::ending::crashed,
                fmt::format("the program ended before it answered (exit code {})", WEXITSTATUS(status)));
}

answer process_executor::run(const lab::request& what) {
  if (process_ < 0) start();
  if (!send_message(socket_, lab::to_json(what))) return ended();
  const auto deadline = clock::now() + allowed_.per_request;
  std::string received;
  std::size_t wanted = sizeof(std::uint32_t);  // length first, then as much as it says
  bool has_length = false, prints = true;
  for (;;) {
    if (received.size() == wanted && has_length) break;
    if (received.size() == wanted) {
      std::uint32_t length = 0;
      std::memcpy(&length, received.data(), sizeof length);
      if (length > longest_message)
        return failed(answer::ending::crashed, "the program sent something else than an answer");
      has_length = true;
      received.clear();
      wanted = length;
      continue;
    }
    const int left = milliseconds_left(deadline);
    if (left == 0)
      return failed(answer::ending::timed_out,
                    fmt::format("no answer after {:g} s", static_cast<double>(allowed_.per_request.count()) / 1000.0));
    pollfd events[] = {{socket_, POLLIN, 0}, {prints ? printed_fd_ : -1, POLLIN, 0}, {death_fd_, POLLIN, 0}};
    if (poll(events, 3, left) <= 0) continue;
    if (events[1].revents & POLLIN)
      drain();
    else if (events[1].revents)
      prints = false;  // it closed its end
    if (!events[0].revents && events[2].revents) return ended();
    if (!events[0].revents) continue;
    char piece[64 << 10];
    const ssize_t got = recv(socket_, piece, std::min(sizeof piece, wanted - received.size()), MSG_DONTWAIT);
    if (got > 0) received.append(piece, static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return ended();
  }
  drain();
  try {
    return {answer::ending::answered, lab::response_from_json(received), {}};
  } catch (const std::runtime_error&) {
    return failed(answer::ending::crashed, "the program sent something else than an answer");
  }
}

}  // namespace grading
