// The judge's command line, in three programs, each with only what its commands need: `grader` for students, which
// passes other commands on, `grader-class` and `grader-staff`. They link no submission; a lab's cases are a module.
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "commands/command_line.hpp"
#include "lab/case.hpp"

#if !defined(LAB_CLASS_COMMANDS) && !defined(LAB_STAFF_COMMANDS)
namespace {

/// If the command belongs to another of these programs, runs that program, from this one's folder.
void pass_on(char** argv) {
  struct other {
    std::string_view command, program;
  };
  for (char** word = argv + 1; *word; ++word)
    for (const other& o : {other{"one", "grader-class"},
                           {"grade", "grader-class"},
                           {"export", "grader-class"},
                           {"report", "grader-class"},
                           {"gradescope-zip", "grader-class"},
                           {"check", "grader-staff"},
                           {"attacks", "grader-staff"},
                           {"honest", "grader-staff"},
                           {"mutants", "grader-staff"}})
      if (*word == o.command) {
        const auto program = std::filesystem::read_symlink("/proc/self/exe").replace_filename(o.program);
        execv(program.c_str(), argv);
        throw std::runtime_error(
            fmt::format("{} is not built: cmake --build {} --target {}", program.string(), LAB_BINARY_DIR, o.program));
      }
}

}  // namespace
#endif

int main(int argc, char** argv) {
  // Every timed call makes new inputs: keep their memory instead of returning and clearing it each time.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  // A shell may have set these for its own programs. No grade depends on them.
  for (const char* name : {"SIM_BUDGET", "SIM_DEVICE", "SIM_DEVICES", "SIM_SAMPLE"}) unsetenv(name);
  try {
    grading::command_line line(LAB_SOURCE_DIR, LAB_BINARY_DIR);
#if defined(LAB_CLASS_COMMANDS)
    grading::add_class_commands(line);
#elif defined(LAB_STAFF_COMMANDS)
    grading::add_staff_commands(line);
#else
    pass_on(argv);
    grading::add_student_commands(line);
    grading::add_demo_command(line);
#endif
    return line.run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return grading::cannot;
  }
}
