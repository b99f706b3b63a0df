// The commands that take a program: ./course run, see, debug and profile. Each builds what it needs, compiles the
// program, and becomes it or waits for it.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace course {

namespace fs = std::filesystem;
using words = std::vector<std::string>;

/// A user's mistake; what() also says what to do.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct folders {
  fs::path source = LAB_SOURCE_DIR, build = LAB_BINARY_DIR;
};

/// A program to run, draw or debug on the simulated device, or to run on a GPU.
struct run_request {
  words given;      ///< files, and options of nvcc
  words arguments;  ///< the program's
  std::string backend = "sim", device = "h200", devices = "1", sample = "1", budget, schedule;
  std::string csv;        ///< "-" for the standard output
  fs::path page, before;  ///< for see
  fs::path commands;      ///< for debug: a script
  bool see = false, debug = false;
  bool only_build = false;  ///< for debug
};

/// Whether the word is a file to compile or link.
bool is_source(const std::string& word);

/// Runs, draws or debugs a program. Returns an exit code, or becomes the program or the debugger.
int run(const folders& here, run_request r);

/// Starts the debugger on a student's own files, called as an item of a lab calls them.
int debug_item(const folders& here, const std::string& lab, const std::string& item, const fs::path& commands);

/// Opens one of the debugger's dumps.
int debug_dump(const folders& here, const fs::path& dump, const fs::path& commands);

/// A program to profile: one of the course's, or a file to compile.
struct profile_request {
  std::string name, backend;
  fs::path output;
  words arguments;  ///< the program's
  bool flame = false;
};

/// Profiles a program. Returns its exit code.
int profile(const folders& here, profile_request r);

}  // namespace course
