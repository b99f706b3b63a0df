// simcc: compiles CUDA programs for the simulated device, as nvcc does for a GPU.
//
//   simcc FILE... -o PROGRAM [options]    a program
//   simcc -c FILE.cu -o FILE.o            an object to link with libsim, or with simcc
//
// It takes nvcc's options: the applicable ones go to the host compiler, the others have no effect.
//
// If nvcc is installed, simcc asks it how many registers the kernels take, to know their occupancy. It does so for
// programs, and for objects with --registers. nvcc runs beside the host compiler; if it fails on a file, simcc guesses.
// With --checked-calls, for graded programs, calls through pointers reach only functions that a program may call
// (src/guard.hpp).
//
// In a .cu file, launches are lowered (lower.hpp), the compiler's sanitizer passes report each access and each basic
// block to our hooks, and the assembly is completed (assembly.hpp). Other sources go to the host compiler unchanged.
#include <fcntl.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "assembly.hpp"
#include "headers.hpp"
#include "processor.hpp"

namespace {

namespace fs = std::filesystem;
using words = std::vector<std::string>;

[[noreturn]] void stop(const std::string& message, int code = 2) {
  std::cerr << "simcc: " << message << "\n";
  std::exit(code);
}

/// Looks up a name in simcc.profile, next to simcc: a "NAME PATH" per line; paths may be relative to its folder.
/// - include, interface: folders of headers
/// - library: libsim.a; NVIDIA's libraries are beside it
/// - compiler: the host compiler
/// - cmake, build: set in a build tree, to build NVIDIA's libraries on demand
const std::string& place(const std::string& name) {
  static const auto places = [] {
    const fs::path self = fs::canonical(reinterpret_cast<const char*>(getauxval(AT_EXECFN)));
    const fs::path profile = self.parent_path() / "simcc.profile";
    std::map<std::string, std::string> read;
    std::ifstream in(profile);
    for (std::string key, path; in >> key >> std::ws && std::getline(in, path);)
      read[key] = (self.parent_path() / path).lexically_normal().string();
    for (const char* needed : {"include", "interface", "library", "compiler"})
      if (!read.contains(needed)) stop(profile.string() + " is missing or has no " + needed + "; build simcc again");
    read.try_emplace("build");
    return read;
  }();
  return places.at(name);
}
std::string library_folder() { return fs::path(place("library")).parent_path().string(); }

/// `output`: the descriptor for its output; -1: ours.
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

/// Whether clang -cc1 knows the option.
bool clang_knows(const std::string& clang, const char* option) {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  const pid_t child = start({clang, "-Xclang", option, "-fsyntax-only", "-x", "c++", "/dev/null"}, nowhere);
  int status = 1;
  if (child >= 0) waitpid(child, &status, 0);
  close(nowhere);
  return status == 0;
}

/// An nvcc process that finds the registers of a file's kernels.
class register_count {
 public:
  register_count(const fs::path& source, const words& flags) {
    words command = {fs::exists("/usr/local/cuda/bin/nvcc") ? "/usr/local/cuda/bin/nvcc" : "nvcc",
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
      if (flags[i].starts_with("-I") || flags[i].starts_with("-D") || flags[i].starts_with("-std="))
        command.push_back(flags[i]);
      if (alone && i + 1 < flags.size()) command.push_back(flags[++i]);
    }
    if (std::none_of(flags.begin(), flags.end(), [](const std::string& f) { return f.starts_with("-std="); }))
      command.emplace_back("-std=c++17");
    command.push_back(source.string());
    if (said_ >= 0) child_ = start(command, said_);
  }

  std::string answer() {
    if (child_ < 0) return "";
    int status = 0;
    waitpid(child_, &status, 0);
    return status == 0 ? sim::read_file("/proc/self/fd/" + std::to_string(said_)) : "";
  }

 private:
  int said_ = memfd_create("ptxas", MFD_CLOEXEC);
  pid_t child_ = -1;
};

// ---- the command line

enum class language { cuda, host, link };

struct input {
  fs::path file;
  language taken_as;
};

struct request {
  std::vector<input> inputs;
  fs::path output;
  bool object_only = false, device_link = false, registers = false, keep = false, dependencies = false, verbose = false;
  bool device_debug = false, fast_math = false, checked_calls = false;
  std::string dependency_file;
  words flags;       ///< of the host compiler, for every source
  words host_flags;  ///< ... for sources without kernels: a kernel's counts do not depend on -O
  words link_flags;
  std::set<std::string> components;  ///< named on the command line
};

bool contains(const words& all, const std::string& word) {
  return std::find(all.begin(), all.end(), word) != all.end();
}

// nvcc's options for GPU code: they have no effect here.
const words ignored = {"-lineinfo",
                       "--generate-line-info",
                       "-rdc",
                       "--relocatable-device-code",
                       "-expt-relaxed-constexpr",
                       "--expt-relaxed-constexpr",
                       "-expt-extended-lambda",
                       "--expt-extended-lambda",
                       "-extended-lambda",
                       "--extended-lambda",
                       "-ftz",
                       "--ftz",
                       "-prec-div",
                       "--prec-div",
                       "-prec-sqrt",
                       "--prec-sqrt",
                       "-restrict",
                       "--restrict",
                       "-m64",
                       "--machine",
                       "-Wno-deprecated-gpu-targets",
                       "-forward-unknown-to-host-compiler",
                       "--forward-unknown-to-host-compiler",
                       "-dlto",
                       "--dlink-time-opt",
                       "-res-usage",
                       "--resource-usage",
                       "-keep",
                       "--keep",
                       "-fmad=true",
                       "--fmad=true",
                       "-src-in-ptx",
                       "--source-in-ptx",
                       "-extra-device-vectorization",
                       "--extra-device-vectorization"};
// The same, with a value: `-arch sm_90` or `-arch=sm_90`.
const words ignored_pairs = {
    "-arch",          "--gpu-architecture", "-code",      "--gpu-code",         "-gencode",        "--generate-code",
    "-maxrregcount",  "--maxrregcount",     "-t",         "--threads",          "-ccbin",          "--compiler-bindir",
    "-cudart",        "--cudart",           "-Xptxas",    "--ptxas-options",    "-Xnvlink",        "--nvlink-options",
    "-diag-suppress", "--diag-suppress",    "-diag-warn", "--diag-warn",        "-default-stream", "--default-stream",
    "-split-compile", "--split-compile",    "-odir",      "--output-directory", "-keep-dir",       "--keep-dir"};
// Options of the host compiler whose value is the next word.
const words pairs = {"-I", "-D", "-U", "-include", "-isystem", "-iquote", "-idirafter", "-MT", "-MQ", "-imacros"};
// nvcc's other names for options with a value; CMake writes `-isystem=DIR`.
const std::pair<const char*, const char*> other_names[] = {
    {"--include-path", "-I"}, {"--system-include", "-isystem"}, {"-isystem", "-isystem"}, {"--pre-include", "-include"},
    {"--define-macro", "-D"}, {"--undefine-macro", "-U"},       {"--library-path", "-L"}, {"--library", "-l"}};
// Libraries that libsim replaces, and libraries that programs name without using them.
const words ours = {"-lcudart",        "-lcudart_static", "-lcuda",    "-lcudadevrt", "-lcurand",
                    "-lcurand_static", "-lnvToolsExt",    "-lculibos", "-lnvidia-ml"};
// Separate libraries, libsim_NAME.a: their functions begin with the name.
struct component {
  std::string name, title;
};
const component components[] = {{"cublas", "cuBLAS"},     {"cufft", "cuFFT"}, {"cusolver", "cuSOLVER"},
                                {"cusparse", "cuSPARSE"}, {"cupti", "CUPTI"}, {"nccl", "NCCL"}};
const words not_made = {"-ptx", "--ptx", "-cubin", "--cubin", "-fatbin", "--fatbin", "-lib", "--lib"};

class command_line {
 public:
  command_line(int argc, char** argv) : words_(argv + 1, argv + argc) {
    while (at_ < words_.size()) next();
    if (made_.inputs.empty()) stop("which file? usage: simcc FILE.cu... [-c] -o OUTPUT");
    const bool many = made_.object_only && made_.inputs.size() > 1;
    if (many && !made_.output.empty()) stop("-c with -o takes one file; omit -o, or compile the files one by one");
    for (const input& i : made_.inputs)
      if (!fs::exists(i.file)) stop("there is no file " + i.file.string());
    if (made_.output.empty() && !made_.object_only) made_.output = "a.out";
  }
  request made() { return std::move(made_); }

 private:
  std::string value(const std::string& option) {
    if (at_ >= words_.size()) stop(option + " needs a value");
    return words_[at_++];
  }
  /// Whether the word is one of these options, as `-option value` or `-option=value`; `found` receives the value.
  bool is(const std::string& word, std::initializer_list<const char*> names, std::string* found) {
    for (const std::string name : names) {
      if (word == name) return *found = value(name), true;
      if (word.starts_with(name + "=")) return *found = word.substr(name.size() + 1), true;
    }
    return false;
  }
  void read_options(const std::string& path) {
    const words more = split(sim::read_file(path), " \t\r\n");
    words_.insert(words_.begin() + static_cast<std::ptrdiff_t>(at_), more.begin(), more.end());
  }
  /// The words of a list; quotes keep separators within a word, even if they begin inside it (`-I"a folder"`).
  static words split(const std::string& list, const std::string& separators) {
    words all;
    bool inside = false;
    char quote = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const char c = list[i];
      if (quote == 0 && separators.find(c) != std::string::npos) {
        inside = false;
        continue;
      }
      if (!inside) all.emplace_back();
      inside = true;
      if (c == quote)
        quote = 0;
      else if (quote == 0 && (c == '"' || c == '\''))
        quote = c;
      else
        all.back() += c == '\\' && i + 1 < list.size() ? list[++i] : c;
    }
    return all;
  }

  void for_host_compiler(const std::string& w) {
    if (w.starts_with("-O")) return made_.host_flags.push_back(w);
    made_.flags.push_back(w);
    if (w == "-fopenmp" || w == "-pthread" || w.starts_with("-fsanitize") || w.starts_with("-fopenmp="))
      made_.link_flags.push_back(w);
  }

  void next() {
    const std::string w = words_[at_++];
    const std::string name = w.substr(0, w.find('='));
    std::string v;
    if (w == "--help" || w == "-h") {
      std::cout << "usage: simcc FILE... [-c] [-o OUTPUT] [options of nvcc and of the C++ compiler]\n"
                   "Compiles CUDA programs for the simulated device. CXX names the host compiler (g++).\n";
      std::exit(0);
    }
    if (w == "--version" || w == "-V") {
      std::cout << "simcc: compiles CUDA for the simulated device, in place of nvcc: NVIDIA (R) Cuda compiler driver\n"
                   "Cuda compilation tools, release 13.0, V13.0.0\n"  // CMake recognises nvcc by these words
                   "Simulated device, version " SIM_VERSION "\n";
      std::exit(0);
    }
    if (contains(not_made, w)) stop(w + ": simcc generates no GPU code; it makes objects (-c) and programs");
    if (w == "-c" || w == "-dc" || w == "--compile" || w == "--device-c")
      made_.object_only = true;
    else if (w == "-dlink" || w == "--device-link")
      made_.device_link = true;
    else if (w == "-v" || w == "--verbose") {
      made_.verbose = true;
      // Without a toolkit, CMake takes its folder, its device library and the default architecture from these lines.
      const std::string top = library_folder();
      std::cerr << "#$ TOP=" << top << "\n#$ NVVMIR_LIBRARY_DIR=" << top
                << "/nvvm/libdevice\n#$ simcc -arch compute_90\n";
    } else if (is(w, {"-optf", "--options-file"}, &v))
      read_options(v);
    else if (w == "-G" || w == "--device-debug")
      made_.device_debug = true;
    else if (w == "-use_fast_math" || w == "--use_fast_math")
      made_.fast_math = true;
    else if (w == "--registers")
      made_.registers = true;
    else if (w == "--checked-calls")
      made_.checked_calls = true;
    else if (w.starts_with("-save-temps") || w.starts_with("--save-temps"))
      made_.keep = true;
    else if (is(w, {"-o", "--output-file"}, &v))
      made_.output = v;
    else if (is(w, {"-MF"}, &v))
      made_.dependencies = true, made_.dependency_file = v;
    else if (w == "-MD" || w == "-MMD")
      made_.dependencies = true;
    else if (is(w, {"-x", "--x"}, &v))
      forced_ = v == "cu" ? std::optional(language::cuda) : v == "none" ? std::nullopt : std::optional(language::host);
    else if (w == "-fmad=false" || w == "--fmad=false")
      made_.flags.emplace_back("-ffp-contract=off");
    else if (is(w, {"-std", "--std"}, &v)) {
      const bool old = v.ends_with("11") || v.ends_with("14") || v.ends_with("03");
      made_.flags.push_back("-std=" + (old ? "c++17" : v));  // CUDA's own headers want C++17
      if (old) made_.flags.emplace_back("-DSIM_BEFORE_CXX17");
    } else if (is(w, {"-Xcompiler", "--compiler-options"}, &v))
      for (const std::string& one : split(v, ", ")) for_host_compiler(one);
    else if (is(w, {"-Xlinker", "--linker-options"}, &v))
      made_.link_flags.push_back("-Wl," + v);
    else if (w == "-Werror" && at_ < words_.size() && !words_[at_].starts_with("-") && !fs::exists(words_[at_]))
      ++at_;  // nvcc's own warnings
    else if (contains(ignored, w) || contains(ignored, name) || contains(ours, w))
      return;
    else if (const component* c =
                 std::ranges::find_if(components, [&](auto& one) { return w.starts_with("-l" + one.name); });
             c != std::end(components))
      made_.components.insert(c->name);
    else if (contains(ignored_pairs, name))
      name == w ? (void)value(w) : void();
    else if (w == "-L" || w == "-l")
      made_.link_flags.push_back(w + value(w));
    else if (w.starts_with("-l") || w.starts_with("-L") || w.starts_with("-Wl,") || w == "-shared" ||
             w == "-static-libstdc++")
      made_.link_flags.push_back(w);
    else if (contains(pairs, w))
      option(w, value(w));
    else if (const auto* other = std::ranges::find_if(other_names, [&](auto& o) { return is(w, {o.first}, &v); });
             other != std::end(other_names))
      words_.insert(words_.begin() + static_cast<std::ptrdiff_t>(at_), {other->second, v});
    else if (w.starts_with("-I") && w.size() > 2)
      option("-I", w.substr(2));
    else if (w.starts_with("-"))
      for_host_compiler(w);
    else
      file(w);
  }

  void option(const std::string& name, const std::string& v) {
    // The headers of an installed toolkit would come before ours.
    if (name.starts_with("-i") || name == "-I")
      if (fs::exists(fs::path(v) / "cuda_runtime.h") && !fs::equivalent(v, place("include"))) return;
    made_.flags.push_back(name);
    made_.flags.push_back(v);
  }

  void file(const std::string& w) {
    static const words sources = {".cpp", ".cc", ".cxx", ".C", ".c", ".c++"};
    const std::string extension = fs::path(w).extension().string();
    const language by_name = extension == ".cu"             ? language::cuda
                             : contains(sources, extension) ? language::host
                                                            : language::link;
    const language taken_as = forced_.value_or(by_name);            // as in nvcc, -x applies to every file name
    if (taken_as == language::link) made_.link_flags.push_back(w);  // in order among the libraries
    made_.inputs.push_back({w, taken_as});
  }

  words words_;
  std::size_t at_ = 0;
  std::optional<language> forced_;
  request made_;
};

// ---- compiling

std::string host_compiler() {
  const char* chosen = std::getenv("CXX");
  // make sets CXX to simcc if the Makefile is told to use simcc as its compiler.
  const bool named = chosen && *chosen && std::string(chosen).find("simcc") == std::string::npos;
  return named ? chosen : place("compiler");
}

/// A temporary folder, removed at exit.
struct scratch {
  scratch() {
    std::string name = (fs::temp_directory_path() / "simcc-XXXXXX").string();
    if (!mkdtemp(name.data())) stop("cannot write to " + fs::temp_directory_path().string());
    path = name;
  }
  ~scratch() {
    std::error_code ignored_error;
    fs::remove_all(path, ignored_error);
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  fs::path path;
};

std::string dependency_file(const request& r, const fs::path& object) {
  return r.dependency_file.empty() ? fs::path(object).replace_extension(".d").string() : r.dependency_file;
}

/// Options that make the compiler list the files it read, for make.
void add_dependencies(words& command, const request& r, const fs::path& object) {
  if (!r.dependencies) return;
  command.insert(command.end(), {"-MD", "-MF", dependency_file(r, object)});
  if (!contains(r.flags, "-MT") && !contains(r.flags, "-MQ")) command.insert(command.end(), {"-MT", object.string()});
}

/// Whether a file itself includes one of our headers.
bool includes_ours(const fs::path& file) {
  std::istringstream text(sim::read_file(file));
  for (std::string line; std::getline(text, line);) {
    const std::size_t hash = line.find_first_not_of(" \t"), open = line.find_first_of("<\"");
    if (hash == std::string::npos || open == std::string::npos || line[hash] != '#') continue;
    const std::string name = line.substr(open + 1, line.find_first_of(">\"", open + 1) - open - 1);
    if (line.find("include", hash) < open && fs::is_regular_file(fs::path(place("include")) / name)) return true;
  }
  return false;
}

/// Compiles a source for the host.
void compile_host(const request& r, const input& in, const fs::path& object) {
  words command = {host_compiler()};
  const bool named_c = in.file.extension() == ".c", c = named_c && !includes_ours(in.file);
  command.insert(command.end(), {"-x", c ? "c" : "c++", "-O2", "-fPIE", "-fsigned-char", "-isystem", place("include"),
                                 "-isystem", place("interface")});
  if (!named_c && contains(r.flags, "-DSIM_BEFORE_CXX17"))
    command.insert(command.end(), {"-include", "sim/before_cxx17.h"});
  // Our headers are C++, but the program may be C, which converts void* implicitly.
  if (named_c && !c) command.insert(command.end(), {"-std=gnu++17", "-fpermissive", "-w", "-Drestrict=__restrict"});
  for (const std::string& flag : r.flags)
    if (!(c && flag.starts_with("-std=c++"))) command.push_back(flag);
  command.insert(command.end(), r.host_flags.begin(), r.host_flags.end());
  add_dependencies(command, r, object);
  command.insert(command.end(), {"-c", in.file.string(), "-o", object.string()});
  run(command);
}

/// Compiles a CUDA file. Intermediate files are next to the object if they are kept, otherwise in `between`.
void compile_cuda(const request& r, const fs::path& file, const fs::path& object, const fs::path& between) {
  const fs::path source = fs::absolute(file).lexically_normal();
  const std::string stem = r.keep ? object.string() : (between / object.filename()).string();
  const std::string lowered = stem + ".lowered.cpp", assembly = stem + ".s";
  sim::lowered_file lowering;
  try {
    lowering = sim::lower_with_headers(source, lowered, r.flags);
  } catch (const std::exception& e) {
    stop(e.what());
  }

  const std::string compiler = host_compiler();
  words compile = {compiler, "-x", "c++", "-std=c++17", "-O2", "-g1", "-D__CUDACC__", "-D__NVCC__",
                   "-D__CUDACC_VER_MAJOR__=13", "-D__CUDACC_VER_MINOR__=0", "-D__CUDACC_VER_BUILD__=0",
                   "-D__CUDACC_DEVICE_ATOMIC_BUILTINS__=1", "-D__CUDA_ARCH__=900", "-D__CUDA_ARCH_LIST__=900",
                   "-DCUDART_VERSION=13000", "-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP", "-Wno-unknown-pragmas",
                   "-Wno-psabi", "-include", "cuda_runtime.h",
                   // One hook per access, at its full width.
                   "-fsanitize=thread", "-fno-optimize-sibling-calls", "-ftls-model=initial-exec", "-fPIE",
                   "-ffp-contract=fast", "-fsigned-char",
                   // Kernels have no errno: loads may move across math functions.
                   "-fno-math-errno"};
  const std::unique_ptr<sim::processor> processor = sim::this_processor();
  const bool clang = compiler.find("clang") != std::string::npos;
  for (const std::string& option : processor->compiler_options(clang)) compile.push_back(option);
  if (!clang) {
    for (const char* f : {"-fno-tree-sra", "-fno-tree-vectorize", "-fsanitize=bounds", "-fsanitize=return",
                          "-fsanitize=shift-exponent", "-fsanitize-coverage=trace-pc", "--param",
                          "tsan-instrument-func-entry-exit=0", "--param", "tsan-distinguish-volatile=1",
                          "-fno-extern-tls-init", "-fno-builtin-memcpy", "-fno-builtin-memmove", "-fno-builtin-memset",
                          // Keep a kernel's stores to memory that it frees: they may be wrong, too.
                          "-fno-builtin-malloc", "-fno-builtin-free",
                          // Lanes that have diverged must meet again: do not duplicate the code after a branch, and
                          // place it later in memory.
                          "-fno-thread-jumps", "-fno-reorder-blocks", "-fno-reorder-blocks-and-partition",
                          // Copy a struct passed by value in a statement, which has a hook; an argument has none.
                          "-fno-elide-constructors",
                          // Keep a store through a null argument, so that it is reported.
                          "-fno-delete-null-pointer-checks"})
      compile.emplace_back(f);
  } else {
    // For profiling: otherwise functions that inline nothing have no address range in -gdwarf-aranges.
    // And `extern __shared__` in an unnamed namespace is valid CUDA.
    for (const char* f : {"-Wno-undefined-internal", "-gdwarf-aranges", "-fdebug-info-for-profiling", "-mllvm",
                          "-tsan-instrument-func-entry-exit=0", "-mllvm", "-tsan-distinguish-volatile=1", "-mllvm",
                          "-tsan-instrument-read-before-write=1", "-fno-builtin", "-fno-unroll-loops", "-fno-vectorize",
                          "-fno-slp-vectorize", "-fsanitize=array-bounds", "-fsanitize=return",
                          "-fsanitize=shift-exponent", "-fsanitize-coverage=trace-pc,no-prune"})
      compile.emplace_back(f);
    // All lanes may pass a variable that only one has set: clang would conclude that each is that lane.
    for (const char* option : {"-no-enable-noundef-analysis", "-disable-noundef-analysis"})  // by clang's version
      if (clang_knows(compiler, option)) {
        compile.insert(compile.end(), {"-Xclang", option});
        break;
      }
  }
  compile.insert(compile.end(), {"-isystem", place("include"), "-isystem", place("interface"), "-iquote",
                                 source.parent_path().string()});
  add_dependencies(compile, r, object);
  if (r.keep) compile.emplace_back("-save-temps=obj");
  if (lowering.refused) compile.emplace_back("-Wfatal-errors");
  compile.insert(compile.end(), r.flags.begin(), r.flags.end());
  if (r.device_debug) {  // the debugger finds locals in memory at each line
    compile.insert(compile.end(), {"-O0", "-g"});
    for (const std::string& option : processor->debugger_options()) compile.push_back(option);
  }
  // Like nvcc, do not warn about casts between vectors and their elements. Ubuntu's g++ would use the C library's
  // checked functions instead of memcpy and similar functions, which have hooks here.
  compile.insert(compile.end(), {"-U_FORTIFY_SOURCE", "-Wno-strict-aliasing", "-S", lowered, "-o", assembly});
  std::optional<register_count> counting;
  if (r.registers || !r.object_only) counting.emplace(source, r.flags);
  run(compile);
  const std::string compiled = sim::read_file(assembly);
  for (const char* own : {"sim_blocks", "sim_device_variables", "sim_host_variables", "sim_registers"})
    if (compiled.find(own) != std::string::npos)
      stop(source.string() + ": the simulated device reserves the name " + own + "; choose another");
  std::string edited =
      sim::edit_assembly(compiled, {r.device_debug, r.fast_math, r.checked_calls, place("include")}, *processor);
  edited += sim::variable_tables(edited, lowering.known);
  if (counting) edited += sim::register_table(edited, counting->answer());
  sim::write_file(assembly, edited);
  run({compiler, "-c", assembly, "-o", object.string()});
  if (!r.keep) fs::remove(assembly);
  if (r.dependencies) lowering.name_originals(dependency_file(r, object));
}

// ---- linking

/// Whether a symbol of an object or archive begins with the library's name.
bool may_call(const std::string& object, const component& library) {
  for (std::size_t at = 0; (at = object.find(library.name, at)) != std::string::npos; at += library.name.size()) {
    const std::size_t next = at + library.name.size();
    if (at > 0 && object[at - 1] == '\0' && next < object.size() && std::isupper(object[next])) return true;
  }
  return false;
}

/// The library's file; in a build tree, builds it if it is out of date.
fs::path built(const component& library) {
  const std::string target = "sim_" + library.name;
  const fs::path file = fs::path(library_folder()) / ("lib" + target + ".a");
  const std::string& build = place("build");
  if (build.empty() && !fs::exists(file)) stop(library.title + " is not installed: there is no " + file.string());
  if (build.empty() || access(build.c_str(), W_OK) != 0) return file;  // installed, or built by another user
  if (!fs::exists(file)) std::cerr << "simcc: building " << library.title << " for the simulated device, once\n";
  // Like ./course, allow one build of a folder at a time.
  const int output = memfd_create("build", MFD_CLOEXEC);
  const pid_t child =
      start({"flock", build + "/building.lock", place("cmake"), "--build", build, "--target", target}, output);
  int status = 1;
  if (child >= 0) waitpid(child, &status, 0);
  if (status != 0)
    stop("cannot build " + library.title + ":\n" + sim::read_file("/proc/self/fd/" + std::to_string(output)));
  close(output);
  return file;
}

}  // namespace

int main(int argc, char** argv) {
  const request r = command_line(argc, argv).made();
  static const scratch between;  // static: gone at every exit
  if (r.device_link) {           // nothing to do, but CMake wants its object
    sim::write_file(between.path / "empty.cpp", "");
    run({host_compiler(), "-c", (between.path / "empty.cpp").string(), "-o", r.output.string()});
    return 0;
  }
  if (r.output.has_parent_path()) fs::create_directories(r.output.parent_path());
  words link = {host_compiler(), "-o", r.output.string()};
  int count = 0;
  for (const input& in : r.inputs) {
    if (in.taken_as == language::link) continue;
    // Two files in different folders may have the same name.
    fs::path object = between.path / (std::to_string(++count) + "." + in.file.filename().string() + ".o");
    if (r.object_only) object = !r.output.empty() ? r.output : fs::path(in.file.filename()).replace_extension(".o");
    if (in.taken_as == language::cuda)
      compile_cuda(r, in.file, object, between.path);
    else
      compile_host(r, in, object);
    link.push_back(object.string());
  }
  if (r.object_only) return 0;
  link.insert(link.end(), r.link_flags.begin(), r.link_flags.end());
  for (const component& library : components) {
    const auto calls = [&](const std::string& word) {
      return !word.starts_with("-") && fs::is_regular_file(word) && may_call(sim::read_file(word), library);
    };
    if (r.components.contains(library.name) || std::any_of(link.begin() + 3, link.end(), calls))
      link.push_back(built(library).string());
  }
  link.insert(link.end(), {place("library"), "-lboost_context", "-lfmt", "-ldw", "-lpthread"});
  if (r.verbose) {  // in nvcc's format: from it, CMake reads what to link programs with
    const std::string folder = "\"-L" + library_folder() + "\"";
    std::cerr << "#$ PATH=" << (std::getenv("PATH") ? std::getenv("PATH") : "") << "\n#$ LIBRARIES=  " << folder
              << "\n\n#$ " << host_compiler() << " " << folder;
    for (std::size_t i = 1; i < link.size(); ++i) std::cerr << " " << std::quoted(link[i]);
    std::cerr << "\n";
  }
  run(link);
  return 0;
}
