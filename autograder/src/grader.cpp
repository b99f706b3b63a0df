// The judge's command line. Links every lab's cases and no submission.
#include <fmt/format.h>
#include <malloc.h>

#include <cstdio>
#include <cstdlib>

#include "class/commands.hpp"
#include "commands/command_line.hpp"
#include "staff/commands.hpp"
#include "student/commands.hpp"

int main(int argc, char** argv) {
  // Every timed call makes new inputs: keep their memory instead of returning and clearing it each time.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  // A shell may have set these for its own programs. No grade depends on them.
  for (const char* name : {"SIM_BUDGET", "SIM_DEVICE", "SIM_DEVICES", "SIM_SAMPLE"}) unsetenv(name);
  try {
    grading::command_line line(LAB_SOURCE_DIR, LAB_BINARY_DIR);
    grading::add_student_commands(line);
    grading::add_class_commands(line);
    grading::add_staff_commands(line);
    return line.run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return grading::cannot;
  }
}
