// Running other programs: graders, compilers, drivers' tools.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace grading {

/// Throws std::runtime_error with what errno says of a system call that failed.
[[noreturn]] void fail(const char* call);

/// One descriptor of ours, and the number under which the child has it.
struct handed_down {
  int ours = -1;
  int theirs = -1;
};

enum class process_group {
  ours,  ///< what stops us at the terminal stops it, too
  own    ///< to be killed with all its children
};

/// Starts a program, which has an empty standard input and, but for that, these descriptors alone; standard error is a
/// copy of its standard output if none is named. Returns its process. Throws std::runtime_error if it cannot be
/// started.
int spawn(const std::vector<std::string>& words, const std::vector<handed_down>& descriptors, process_group group);

/// A variable of the environment while it lives: of programs that are started meanwhile.
class exported_variable {
 public:
  exported_variable(const char* name, const std::string& value);
  ~exported_variable();
  exported_variable(const exported_variable&) = delete;  // the environment is one
  exported_variable& operator=(const exported_variable&) = delete;

 private:
  const char* name_;
};

/// How a process ended, as waitpid tells it, the way a shell counts: 128 + signal if a signal ended it.
int exit_code_of(int status);

/// Waits until a child has ended; its exit code.
int wait_for_end(int process);

/// Runs a shell command at our terminal, if we have one; its exit code.
int run_command(const std::string& command);

/// Runs a shell command and passes on its standard output piece by piece, and "" after each second without any; its
/// exit code.
int run_command(const std::string& command, const std::function<void(std::string_view piece)>& take);

/// Standard output of a shell command; "" if it cannot be run.
std::string output_of(const std::string& command);

/// The text as one word of a shell command.
std::string shell_word(const std::string& word);

}  // namespace grading
