// Everything that needs no terminal starts in spawn().
#include "support/command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <stdexcept>

#include "support/text.hpp"

namespace grading {
namespace {

constexpr int first_free = 64;  // our copies of a child's descriptors are above the child's numbers

}  // namespace

void fail(const char* call) { throw std::runtime_error(fmt::format("{} failed: {}", call, std::strerror(errno))); }

int spawn(const std::vector<std::string>& words, const std::vector<handed_down>& descriptors, process_group group) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  std::vector<int> copies;
  std::set<int> theirs{STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
  bool has_errors = false;
  for (const handed_down& d : descriptors) {
    copies.push_back(fcntl(d.ours, F_DUPFD_CLOEXEC, first_free));
    if (copies.back() < 0) fail("fcntl(F_DUPFD_CLOEXEC)");
    posix_spawn_file_actions_adddup2(&files, copies.back(), d.theirs);
    theirs.insert(d.theirs);
    has_errors |= d.theirs == STDERR_FILENO;
  }
  if (!has_errors) posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  const int last = *theirs.rbegin();
  for (int fd = 0; fd < last; ++fd)
    if (!theirs.contains(fd)) posix_spawn_file_actions_addclose(&files, fd);
  posix_spawn_file_actions_addclosefrom_np(&files, last + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (group == process_group::own) {
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
  }
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t process = -1;
  const int error = posix_spawnp(&process, arguments[0], &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  for (const int copy : copies) close(copy);
  if (error != 0) throw std::runtime_error(fmt::format("cannot start {}: {}", words[0], std::strerror(error)));
  return process;
}

exported_variable::exported_variable(const char* name, const std::string& value) : name_(name) {
  setenv(name, value.c_str(), 1);
}
exported_variable::~exported_variable() { unsetenv(name_); }

int exit_code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

int wait_for_end(int process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return exit_code_of(status);
}

int run_command(const std::string& command) {
  std::fflush(nullptr);  // flush earlier output first
  return exit_code_of(std::system(command.c_str()));
}

int run_command(const std::string& command, const std::function<void(std::string_view piece)>& take) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe2");
  const int process = spawn({"/bin/sh", "-c", command}, {{ends[1], STDOUT_FILENO}, {STDERR_FILENO, STDERR_FILENO}},
                            process_group::ours);
  close(ends[1]);
  char piece[4096];
  pollfd ready{ends[0], POLLIN, 0};
  for (ssize_t got = 1; got != 0;) {
    if (poll(&ready, 1, 1000) > 0)
      got = read(ends[0], piece, sizeof piece);
    else
      got = -1;
    take({piece, static_cast<std::size_t>(std::max<ssize_t>(got, 0))});
  }
  close(ends[0]);
  return wait_for_end(process);
}

std::string output_of(const std::string& command) {
  std::string text;
  run_command(command, [&](std::string_view piece) { text += piece; });
  return text;
}

std::string shell_word(const std::string& word) { return "'" + replaced(word, "'", "'\\''") + "'"; }

}  // namespace grading
