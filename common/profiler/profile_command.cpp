// ./course profile: compiles a program for a backend, or takes one of the course's programs, and profiles its run.
//
//   profile PROGRAM|FILE.cu|FILE.cpp [--backend cpu|sim|cuda] [--output DIR] [--flame] [--] [ARGUMENTS]
//   profile --target ...    prints the build target that is needed first; runs nothing
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using words = std::vector<std::string>;

const fs::path source = LAB_SOURCE_DIR, build = LAB_BINARY_DIR;

/// A user's mistake, and what to do.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct request {
  std::string name, backend;
  fs::path output;
  words folders;    ///< -I..., where ./course has found that the file looks for headers
  words arguments;  ///< of the program
  bool only_target = false, flame = false;

  bool is_file() const { return name.ends_with(".cu") || name.ends_with(".cpp"); }
};

bool has_gpu() { return fs::exists("/dev/nvidiactl"); }

bool has_nvcc() { return std::system("command -v nvcc >/dev/null") == 0; }

/// The first unknown option begins the program's arguments.
request parsed(const words& given) {
  request r;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string& word = given[i];
    const auto value = [&] {
      if (i + 1 == given.size()) throw usage_error(word + " needs a value; see ./course profile --help");
      return given[++i];
    };
    const auto rest = [&](std::size_t from) {
      r.arguments.assign(given.begin() + static_cast<std::ptrdiff_t>(from), given.end());
      i = given.size();
    };
    if (word == "--target")
      r.only_target = true;
    else if (word == "--flame")
      r.flame = true;
    else if (word == "--backend")
      r.backend = value();
    else if (word == "--output")
      r.output = fs::absolute(value());
    else if (word.starts_with("-I") && r.name.empty())
      r.folders.push_back(word);
    else if (word == "--")
      rest(i + 1);
    else if (word.starts_with("-") && r.name.empty())
      throw usage_error("there is no option " + word + "; see ./course profile --help");
    else if (word.starts_with("-"))
      rest(i);
    else if (r.name.empty())
      r.name = word;
    else
      throw usage_error("one program at a time; put its arguments after --");
  }
  if (r.name.empty()) throw usage_error("which program? usage: ./course profile PROGRAM|FILE.cu");
  const bool host = r.name.ends_with(".cpp");
  if (r.backend.empty()) r.backend = host ? "cpu" : has_gpu() && has_nvcc() ? "cuda" : "sim";
  if (r.backend != "cpu" && r.backend != "sim" && r.backend != "cuda")
    throw usage_error("no backend '" + r.backend + "'; use cpu, sim or cuda");
  if (host && r.backend != "cpu")
    throw usage_error(r.name + " is not a CUDA program; omit --backend, or rename it to .cu");
  if (r.backend == "cuda" && !has_gpu()) throw usage_error("this machine has no NVIDIA GPU; omit --backend");
  if (r.backend == "cuda" && !has_nvcc())
    throw usage_error("nvcc is not on the PATH: install the CUDA toolkit, or omit --backend");
  if (r.is_file() && !fs::is_regular_file(r.name)) throw usage_error("no file " + r.name);
  if (r.output.empty()) r.output = build / "profile" / fs::path(r.name).stem();
  return r;
}

bool is_program(const std::string& name) {
  std::ifstream in(build / "build.ninja");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("build bin/" + name + ":")) return true;
  return false;
}

/// For a file, the libraries to link; otherwise the program itself.
std::string target_of(const request& r) {
  if (r.is_file()) return "profile_" + r.backend;
  for (const std::string& target : {r.name + "." + r.backend, r.name})
    if (is_program(target)) return target;
  throw usage_error("the course has no program '" + r.name + "' for " + r.backend +
                    "; give a FILE.cu, or a program in build/bin that uses lab::profile");
}

void say(const std::string& before, const words& command) {
  const bool dim = isatty(STDERR_FILENO) == 1 && !std::getenv("NO_COLOR");
  std::string line = before;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
  std::fprintf(stderr, dim ? "\033[2m$ %s\033[0m\n" : "$ %s\n", line.c_str());
}

std::vector<char*> pointers_to(words& command) {
  std::vector<char*> pointers;
  for (std::string& word : command) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Runs a command; on a terminal, appends the elapsed seconds to the current line. Returns the exit status, or 128 plus
/// the signal.
int run(words command, const char* doing) {
  pid_t child = 0;
  const int error = posix_spawnp(&child, command[0].c_str(), nullptr, nullptr, pointers_to(command).data(), environ);
  if (error != 0) throw std::runtime_error("cannot run " + command[0] + ": " + std::strerror(error));
  int status = 0, tenths = 0;
  const bool terminal = isatty(STDERR_FILENO) == 1;
  for (pid_t ended = 0; (ended = waitpid(child, &status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR);) {
    usleep(100'000);
    if (++tenths % 10 == 0 && terminal) std::fprintf(stderr, "\0337\033[K%s %d s\0338", doing, tenths / 10);
  }
  if (tenths >= 10 && terminal) std::fprintf(stderr, "\033[K");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool compiles(const words& command) {
  say("", command);
  return run(command, "compiling") == 0;
}

/// Compiles the file so that our main() calls the program's as the work to profile. Replaces cudaDeviceReset, which
/// would destroy the context between two runs. Returns the program, or nothing if a command failed.
fs::path compiled(const request& r) {
  const fs::path folder = build / "run" / "profile";
  fs::create_directories(folder);
  const fs::path program = folder / (fs::path(r.name).stem().string() + "." + r.backend);
  const std::string object = program.string() + ".o";
  words compile;
  if (r.backend == "cpu")
    compile = {LAB_CXX, "-std=c++20", "-O3", "-g", LAB_NATIVE "-x", "c++"};
  else if (r.backend == "sim")
    compile = {(build / "bin" / "simcc").string(), "-std=c++20"};
  else
    compile = {"nvcc", "-std=c++20",   "--extended-lambda", "--expt-relaxed-constexpr",
               "-O3",  "-arch=native", "-lineinfo"};
  for (const std::string& word : {"-I" + (source / "common" / "include").string(), std::string("-c"),
                                  fs::canonical(r.name).string(), std::string("-o"), object})
    compile.push_back(word);
  compile.insert(compile.end(), r.folders.begin(), r.folders.end());
  words rename = {"objcopy", "--redefine-sym", "main=lab_program_main"};
  if (r.backend == "cuda") rename.insert(rename.end(), {"--redefine-sym", "cudaDeviceReset=lab_keep_device"});
  rename.push_back(object);
  const words link = {LAB_CXX, object, "@" + (build / ("profile." + r.backend + ".link")).string(), "-o",
                      program.string()};
  return compiles(compile) && compiles(rename) && compiles(link) ? program : fs::path();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const request r = parsed(words(argv + 1, argv + argc));
    const std::string target = target_of(r);
    if (r.only_target) {
      std::puts(target.c_str());
      return 0;
    }
    const fs::path program = r.is_file() ? compiled(r) : build / "bin" / target;
    if (program.empty()) return 1;  // the compiler has printed why
    words command = {program.string()};
    command.insert(command.end(), r.arguments.begin(), r.arguments.end());
    say((r.flame ? "LAB_PROFILE_FLAME=1 LAB_PROFILE=" : "LAB_PROFILE=") + r.output.string(), command);
    setenv("LAB_PROFILE", r.output.c_str(), 1);
    if (r.flame)
      setenv("LAB_PROFILE_FLAME", "1", 1);
    else
      unsetenv("LAB_PROFILE_FLAME");
    return run(command, "profiling");
  } catch (const usage_error& error) {
    std::fprintf(stderr, "profile: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "profile: %s\n", error.what());
    return 1;
  }
}
