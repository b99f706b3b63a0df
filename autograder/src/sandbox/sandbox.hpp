// A sandbox ("box") for untrusted programs: bubblewrap's namespaces, a system call filter, resource limits, and a user
// of its own. It contains only libraries, programs if it is for compiling, and named mounts; no network; no descriptors
// except those passed in.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/command.hpp"

namespace grading {

constexpr std::size_t kept_output = 64 << 10;  ///< bytes of what a program prints; the rest is dropped

struct box {
  struct mount {
    std::filesystem::path from, to;
    bool writable = false;
  };
  std::vector<std::string> command;
  std::vector<mount> mounts;
  std::vector<std::filesystem::path> devices;  ///< nodes that stay usable
  std::filesystem::path driver;  ///< folder of libraries that are looked for first; in a box it is /driver
  std::map<std::string, std::string> variables;  ///< of the environment, beside the usual ones
  bool tools = false;      ///< programs and child processes, too: to compile; otherwise libraries and threads only
  int cpu_seconds = 60;    ///< of one process
  int processes = 256;     ///< and threads
  std::size_t memory = 0;  ///< bytes of address space of one process; 0: not limited here
  std::size_t file = 64u << 20;  ///< largest file that it may write
};

/// What isolates a program from the machine.
enum class wall {
  none,  ///< for code that is trusted
  user,  ///< another user without privileges, and limits: where a platform's container allows no box. Only root has it
  box,
};

/// "" if boxes work on this machine; otherwise why they do not, and what to do. Tried once.
const std::string& sandbox_obstacle();

/// Whether this system lets a program give up system calls (seccomp). Emulators may not.
bool can_limit_system_calls();

/// A started program. Move it into the object that waits for it.
struct child {
  int process = -1;  ///< the box, or the program itself if there is none
  int death = -1;    ///< descriptor that is readable once it has ended
  int output = -1;   ///< what it prints, both streams; never blocks
};

/// Starts the command behind that wall. Standard input is empty. Throws std::runtime_error if it cannot be started.
child start(const box& what, wall behind, std::vector<handed_down> descriptors = {});

/// The one program in the box that is not the box itself; -1 if there is none.
int program_in(int box_process);

/// Bytes of memory that the process and everything below it have in use.
std::size_t memory_of_tree(int process);

/// Bytes of memory that one process has now, and that it had at most.
struct memory_use {
  std::size_t now = 0, most = 0;
};
memory_use memory_of(int process);

/// Its threads, as the kernel sees them.
std::vector<int> tasks_of(int process);

/// Seconds that all threads of the process ran, those that have ended too; exact while they are stopped.
double ran_by(int process);

/// Page faults of all its threads.
double faults_of(int process);

/// Seconds that a thread was ready to run and did not, by the kernel's account. A process's own number is that of its
/// first thread.
double waited_by_task(int task);
/// The longest of all threads.
double waited_by(int process);

/// Stops every thread of the process and waits until all have stopped. Returns their number; 0 if the process is gone.
std::size_t freeze(int process);
void thaw(int process);

struct ran {
  int exit_code = 0;  ///< 128 + signal if a signal ended it
  bool timed_out = false, out_of_memory = false;
  std::string output;  ///< first 64 KiB
};

/// Runs the command to its end, and kills it when it takes longer or more memory than it may.
ran run_in(const box& what, wall behind, std::chrono::milliseconds wall, std::size_t memory_in_use);

}  // namespace grading
