// simcc: compiles a CUDA file for the simulated device, as nvcc does for a GPU.
//
//   simcc FILE.cu -c -o FILE.o [compiler flags]    an object to link with libsim
//   simcc FILE.cu -o PROGRAM [compiler flags]      a program
//
// Where nvcc is installed, it is asked how many registers the kernels take, for occupancy: for programs, and for
// objects with --registers. It runs beside the host compiler; what it cannot compile is left to the guess.
//
// Launches are lowered (lower.hpp), the compiler's sanitizer passes report each access and each basic block to hooks of
// ours, and the assembly is completed (assembly.hpp).
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "assembly.hpp"
#include "headers.hpp"

namespace {

namespace fs = std::filesystem;
using words = std::vector<std::string>;

[[noreturn]] void stop(const std::string& message, int code = 2) {
  std::cerr << "simcc: " << message << "\n";
  std::exit(code);
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) stop("cannot read " + path.string());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) stop("cannot write " + path.string());
}

/// `output`: where it may write; -1 for where we do.
pid_t start(const words& command, int output = -1) {
  std::vector<char*> arguments;
  for (const std::string& w : command) arguments.push_back(const_cast<char*>(w.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (output >= 0)
    for (const int to : {1, 2}) posix_spawn_file_actions_adddup2(&files, output, to);
  const int error = posix_spawnp(&child, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  return error == 0 ? child : -1;
}

void run(const words& command) {
  const pid_t child = start(command);
  int status = 0;
  if (child < 0) stop("cannot start " + command[0] + "; install it (apt install g++)");
  waitpid(child, &status, 0);
  if (status != 0) std::exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/// nvcc at work on the registers of a file's kernels.
class register_count {
 public:
  register_count(const fs::path& source, const words& flags) {
    words command = {fs::exists("/usr/local/cuda/bin/nvcc") ? "/usr/local/cuda/bin/nvcc" : "nvcc",
                     "-std=c++20",
                     "--extended-lambda",
                     "--expt-relaxed-constexpr",
                     "-O3",
                     "-arch=sm_90",
                     "-cubin",
                     "-Xptxas",
                     "-v",
                     "-w",
                     "-o",
                     "/dev/null"};
    for (std::size_t i = 0; i < flags.size(); ++i) {
      const bool alone = flags[i] == "-I" || flags[i] == "-D";
      if (flags[i].starts_with("-I") || flags[i].starts_with("-D")) command.push_back(flags[i]);
      if (alone && i + 1 < flags.size()) command.push_back(flags[++i]);
    }
    command.push_back(source.string());
    if (said_ >= 0) child_ = start(command, said_);
  }

  std::string answer() {
    if (child_ < 0) return "";
    int status = 0;
    waitpid(child_, &status, 0);
    return status == 0 ? read_file("/proc/self/fd/" + std::to_string(said_)) : "";
  }

 private:
  int said_ = memfd_create("ptxas", MFD_CLOEXEC);
  pid_t child_ = -1;
};

}  // namespace

int main(int argc, char** argv) {
  fs::path source, output;
  bool object_only = false, registers = false;
  words flags;
  std::string dependencies;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "--help") {
      std::cout << "usage: simcc FILE.cu [-c] -o OUTPUT [flags for the C++ compiler]\n"
                   "Compiles a CUDA file for the simulated device. CXX names the compiler (g++).\n";
      return 0;
    }
    if (a == "-c")
      object_only = true;
    else if (a == "--registers")
      registers = true;
    else if (a == "-o" && i + 1 < argc)
      output = argv[++i];
    else if (a == "-MF" && i + 1 < argc)
      dependencies = argv[++i];
    else if (source.empty() && fs::path(a).extension() == ".cu")
      source = a;
    else
      flags.push_back(a);
  }
  if (source.empty()) stop("which file? usage: simcc FILE.cu [-c] -o OUTPUT");
  if (output.empty()) stop("where to? add -o OUTPUT");
  if (!fs::exists(source)) stop("there is no file " + source.string());
  source = fs::absolute(source).lexically_normal();

  const char* chosen = std::getenv("CXX");
  const std::string compiler = chosen && *chosen ? chosen : SIM_CXX;
  const std::string object = object_only ? output.string() : output.string() + ".o";
  const std::string lowered = object + ".lowered.cpp", assembly = object + ".s";
  if (output.has_parent_path()) fs::create_directories(output.parent_path());
  sim::lowered_file file;
  try {
    file = sim::lower_with_headers(source, lowered, flags);
  } catch (const std::exception& e) {
    stop(e.what());
  }

  words compile = {compiler, "-std=c++20", "-O2", "-g1", "-D__CUDACC__", "-D__NVCC__", "-D__CUDA_ARCH__=900",
                   "-DCUDART_VERSION=13000", "-Wno-unknown-pragmas", "-include", "cuda_runtime.h",
                   // Every access is reported, each at its full width, and each once.
                   "-fsanitize=thread", "-fno-optimize-sibling-calls", "-ftls-model=initial-exec", "-fPIE",
                   "-ffp-contract=fast"};
  if (__builtin_cpu_supports("fma")) compile.emplace_back("-mfma");  // as on a GPU: one rounding
  if (compiler.find("clang") == std::string::npos) {
    for (const char* f : {"-fno-tree-sra", "-fno-tree-vectorize", "-fsanitize=bounds", "-fsanitize-coverage=trace-pc",
                          "--param", "tsan-instrument-func-entry-exit=0", "--param", "tsan-distinguish-volatile=1",
                          "-fno-extern-tls-init", "-fno-builtin-memcpy", "-fno-builtin-memmove", "-fno-builtin-memset",
                          // Lanes that have taken different ways meet again: no copies of what follows a branch, and it
                          // comes later in memory.
                          "-fno-thread-jumps", "-fno-reorder-blocks", "-fno-reorder-blocks-and-partition",
                          // A store through a null argument stays one, to be seen.
                          "-fno-delete-null-pointer-checks"})
      compile.emplace_back(f);
  } else {
    // Profiling's: without it, functions that inline nothing have no address range in -gdwarf-aranges.
    // And `extern __shared__` in an unnamed namespace is no mistake in CUDA.
    for (const char* f : {"-Wno-undefined-internal", "-gdwarf-aranges", "-fdebug-info-for-profiling", "-mllvm",
                          "-tsan-instrument-func-entry-exit=0", "-mllvm", "-tsan-distinguish-volatile=1", "-mllvm",
                          "-tsan-instrument-read-before-write=1", "-fno-builtin", "-fno-unroll-loops", "-fno-vectorize",
                          "-fno-slp-vectorize", "-fsanitize=array-bounds", "-fsanitize-coverage=trace-pc,no-prune"})
      compile.emplace_back(f);
  }
  compile.insert(compile.end(), {"-isystem", SIM_INCLUDE, "-iquote", source.parent_path().string()});
  if (!dependencies.empty()) compile.insert(compile.end(), {"-MD", "-MF", dependencies, "-MT", object});
  if (file.refused) compile.emplace_back("-Wfatal-errors");
  words link_flags;
  for (const std::string& f : flags) (f.starts_with("-l") || f.starts_with("-L") ? link_flags : compile).push_back(f);
  compile.insert(compile.end(), {"-S", lowered, "-o", assembly});
  std::optional<register_count> counting;
  if (registers || !object_only) counting.emplace(source, flags);
  run(compile);
  const std::string compiled = read_file(assembly);
  for (const char* own : {"sim_blocks", "sim_registers"})
    if (compiled.find(own) != std::string::npos)
      stop(source.string() + ": the name " + own + " is the simulated device's own; take another");
  std::string edited = sim::edit_assembly(compiled);
  if (counting) edited += sim::register_table(edited, counting->answer());
  write_file(assembly, edited);
  run({compiler, "-c", assembly, "-o", object});
  if (std::none_of(flags.begin(), flags.end(), [](const std::string& f) { return f.starts_with("-save-temps"); }))
    fs::remove(assembly);
  if (!dependencies.empty()) file.name_originals(dependencies);
  if (object_only) return 0;

  words link = {compiler, object, "-o", output.string(), SIM_LIBRARY};
  link.insert(link.end(), link_flags.begin(), link_flags.end());
  for (const char* library : {"-lboost_context", "-lfmt", "-ldw", "-ltomlplusplus", "-lpthread"})
    link.emplace_back(library);
  run(link);
  return 0;
}
