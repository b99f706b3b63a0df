// Runs other programs: graders, compilers, drivers' tools.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace grading {

/// Throws std::runtime_error with the message of errno after a failed system call.
[[noreturn]] void fail(const char* call);

/// A descriptor of this process, and its number in the child.
struct handed_down {
  int ours = -1;
  int theirs = -1;
};

enum class process_group {
  ours,  ///< the terminal's signals stop it and us
  own    ///< to be killed with all its children
};

/// Starts a program with an empty standard input and only these descriptors; standard error is a copy of standard
/// output if not given. Returns its process. Throws std::runtime_error if it cannot be started.
int spawn(const std::vector<std::string>& words, const std::vector<handed_down>& descriptors, process_group group);

/// Sets an environment variable, for programs started while this object lives.
class exported_variable {
 public:
  exported_variable(const char* name, const std::string& value);
  ~exported_variable();
  exported_variable(const exported_variable&) = delete;  // a process has one environment
  exported_variable& operator=(const exported_variable&) = delete;

 private:
  const char* name_;
};

/// A shell's exit code for a status from waitpid: 128 + signal if a signal ended the process.
int exit_code_of(int status);

/// Waits until a child has ended; returns its exit code.
int wait_for_end(int process);

/// Runs a shell command at our terminal, if we have one; returns its exit code.
int run_command(const std::string& command);

/// Runs a shell command and passes on its standard output in pieces, or "" after each second without any; returns its
/// exit code.
int run_command(const std::string& command, const std::function<void(std::string_view piece)>& take);

/// The standard output of a shell command; "" if it cannot run.
std::string output_of(const std::string& command);

/// The text as one word of a shell command.
std::string shell_word(const std::string& word);

}  // namespace grading
