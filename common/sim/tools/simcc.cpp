// simcc: compiles a CUDA file for the simulated device, as nvcc does for a GPU.
//
//   simcc FILE.cu -c -o FILE.o [compiler flags]    an object to link with libsim
//   simcc FILE.cu -o PROGRAM [compiler flags]      a program
//
// Launches are lowered (lower.hpp), the compiler's thread sanitizer pass reports each access to hooks of ours, and what
// `extern __shared__` left undefined gets its storage.
#include <elf.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

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

void run(const words& command) {
  std::vector<char*> arguments;
  for (const std::string& w : command) arguments.push_back(const_cast<char*>(w.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  int status = 0;
  if (posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0)
    stop("cannot start " + command[0] + "; install it (apt install g++)");
  waitpid(child, &status, 0);
  if (status != 0) std::exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/// Thread-local symbols that the object uses and does not define: arrays declared `extern __shared__`.
std::set<std::string> undefined_shared(const std::string& object) {
  std::set<std::string> found;
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(object.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(object.data() + header->e_shoff);
  for (int s = 0; s < header->e_shnum; ++s) {
    if (sections[s].sh_type != SHT_SYMTAB) continue;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(object.data() + sections[s].sh_offset);
    const char* names = object.data() + sections[sections[s].sh_link].sh_offset;
    for (std::size_t i = 0; i < sections[s].sh_size / sizeof(Elf64_Sym); ++i) {
      const std::string name = names + symbols[i].st_name;
      const bool ours = name == "threadIdx" || name == "blockIdx" || name == "blockDim" || name == "gridDim";
      if (ELF64_ST_TYPE(symbols[i].st_info) == STT_TLS && symbols[i].st_shndx == SHN_UNDEF && !ours) found.insert(name);
    }
  }
  return found;
}

/// All such arrays of one object begin at the same address, as in CUDA. 227 KB is the most that a block can have.
std::string shared_storage(const std::set<std::string>& names) {
  std::ostringstream text;
  text << ".section .tbss,\"awT\",@nobits\n.balign 1024\n";
  for (const std::string& name : names)
    text << ".weak \"" << name << "\"\n.type \"" << name << "\", @object\n.size \"" << name << "\", 232464\n\"" << name
         << "\":\n";
  text << ".type sim_dynamic_shared, @object\n.size sim_dynamic_shared, 232448\nsim_dynamic_shared:\n"
       << ".zero 232464\n.section .note.GNU-stack,\"\",@progbits\n";
  return text.str();
}

}  // namespace

int main(int argc, char** argv) {
  fs::path source, output;
  bool object_only = false;
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
  const std::string lowered = object + ".lowered.cpp", storage = object + ".shared.s", part = object + ".part.o";
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
                   "-fsanitize=thread", "-fno-optimize-sibling-calls", "-ftls-model=initial-exec", "-fPIE"};
  if (compiler.find("clang") == std::string::npos) {
    for (const char* f :
         {"-fno-tree-sra", "--param", "tsan-instrument-func-entry-exit=0", "--param", "tsan-distinguish-volatile=1",
          "-fno-extern-tls-init", "-fno-builtin-memcpy", "-fno-builtin-memmove", "-fno-builtin-memset",
          // Lanes that have taken different ways meet again: no copies of what follows a branch, and it
          // comes later in memory.
          "-fno-thread-jumps", "-fno-reorder-blocks", "-fno-reorder-blocks-and-partition",
          // A store through a null argument stays one, to be seen.
          "-fno-delete-null-pointer-checks"})
      compile.emplace_back(f);
  } else {
    for (const char* f :
         {"-gdwarf-aranges", "-fdebug-info-for-profiling", "-mllvm", "-tsan-instrument-func-entry-exit=0", "-mllvm",
          "-tsan-distinguish-volatile=1", "-mllvm", "-tsan-instrument-read-before-write=1", "-fno-builtin",
          "-fno-unroll-loops", "-fno-vectorize", "-fno-slp-vectorize"})
      compile.emplace_back(f);
  }
  compile.insert(compile.end(), {"-isystem", SIM_INCLUDE, "-iquote", source.parent_path().string()});
  if (!dependencies.empty()) compile.insert(compile.end(), {"-MD", "-MF", dependencies, "-MT", object});
  if (file.refused) compile.emplace_back("-Wfatal-errors");
  words link_flags;
  for (const std::string& f : flags) (f.starts_with("-l") || f.starts_with("-L") ? link_flags : compile).push_back(f);
  compile.insert(compile.end(), {"-c", lowered, "-o", object});
  run(compile);
  if (!dependencies.empty()) file.name_originals(dependencies);
  run({"objcopy", "--redefine-sym", "memcpy=sim_memcpy", "--redefine-sym", "memmove=sim_memmove", "--redefine-sym",
       "memset=sim_memset", object});

  if (const auto names = undefined_shared(read_file(object)); !names.empty()) {
    write_file(storage, shared_storage(names));
    fs::rename(object, part);
    run({compiler, "-nostdlib", "-r", "-o", object, part, storage});
    fs::remove(part);
  }
  if (object_only) return 0;

  words link = {compiler, object, "-o", output.string(), SIM_LIBRARY};
  link.insert(link.end(), link_flags.begin(), link_flags.end());
  for (const char* library : {"-lboost_context", "-lfmt", "-ldw", "-ltomlplusplus", "-lpthread"})
    link.emplace_back(library);
  run(link);
  return 0;
}
