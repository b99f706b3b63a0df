// A sandbox ("box") for untrusted programs: bubblewrap's namespaces, a system call filter, resource limits, and a user
// of its own. It contains only libraries, plus compilers in a build sandbox, and named mounts; no network; no
// descriptors except those passed in.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/command.hpp"

namespace grading {

constexpr std::size_t kept_output = 64 << 10;  ///< bytes of a program's output; the rest is dropped

struct box {
  struct mount {
    std::filesystem::path from, to;
    bool writable = false;
  };
  std::vector<std::string> command;
  std::vector<mount> mounts;
  std::vector<std::filesystem::path> devices;    ///< nodes that stay usable
  std::filesystem::path driver;                  ///< folder that is searched first for libraries; /driver in a box
  std::map<std::string, std::string> variables;  ///< environment variables besides the usual ones
  bool tools = false;      ///< for compiling: allows programs and child processes; otherwise only libraries and threads
  int cpu_seconds = 60;    ///< CPU time of one process
  int processes = 256;     ///< processes and threads
  std::size_t memory = 0;  ///< bytes of address space per process; 0: no limit here
  std::size_t file = 64u << 20;  ///< largest file that it may write
};

/// How a program is isolated from the machine.
enum class wall {
  none,  ///< for code that is trusted
  user,  ///< an unprivileged user and limits, for platforms whose container allows no box; needs root
  box,
};

/// "" if boxes work on this machine; otherwise why not, and what to do. Tried once.
const std::string& sandbox_obstacle();

/// Whether this system lets a program drop system calls (seccomp). Emulators may not.
bool can_limit_system_calls();

/// A running program. Move it into the object that waits for it.
struct child {
  int process = -1;  ///< the box, or the program itself if there is none
  int death = -1;    ///< descriptor that becomes readable when it ends
  int output = -1;   ///< reads both output streams; never blocks
};

/// Starts the command with that isolation. Standard input is empty. Throws std::runtime_error if it cannot be started.
child start(const box& what, wall behind, std::vector<handed_down> descriptors = {});

/// The one program in the box that is not the box itself; -1 if there is none.
int program_in(int box_process);

/// Bytes of memory in use by the process and its descendants.
std::size_t memory_of_tree(int process);

/// Bytes of memory that one process has now, and its peak.
struct memory_use {
  std::size_t now = 0, most = 0;
};
memory_use memory_of(int process);

/// The ids of its threads, as the kernel lists them.
std::vector<int> tasks_of(int process);

/// CPU seconds of all threads of the process, including ended ones; exact while they are stopped.
double ran_by(int process);

/// Page faults of all its threads.
double faults_of(int process);

/// Seconds for which a thread was ready but not running, by the kernel's account. A process's id is its first thread's.
double waited_by_task(int task);
/// The longest such time of all its threads.
double waited_by(int process);

/// Stops every thread of the process and waits until all have stopped. Returns their number; 0 if the process is gone.
std::size_t freeze(int process);
void thaw(int process);

struct ran {
  int exit_code = 0;  ///< 128 + signal if a signal ended it
  bool timed_out = false, out_of_memory = false;
  std::string output;  ///< first 64 KiB
};

/// Runs the command to its end; kills it if it exceeds its time or memory.
ran run_in(const box& what, wall behind, std::chrono::milliseconds wall, std::size_t memory_in_use);

}  // namespace grading
