#include "programs.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace course {
namespace {

bool has_gpu() { return fs::exists("/dev/nvidiactl"); }

bool on_path(const std::string& program) { return std::system(("command -v " + program + " >/dev/null").c_str()) == 0; }

void say(const words& command) {
  std::string line = "$";
  for (const std::string& word : command) line += " " + word;
  const bool dim = isatty(STDERR_FILENO) == 1 && !std::getenv("NO_COLOR");
  std::fprintf(stderr, dim ? "\033[2m%s\033[0m\n" : "%s\n", line.c_str());
}

words joined(words a, const words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<char*> pointers_to(words& command) {
  std::vector<char*> pointers;
  for (std::string& word : command) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Runs a command. If `doing` names what it does, a terminal shows the elapsed seconds on the current line. Returns the
/// exit status, or 128 plus the signal.
int done(words command, const char* doing = nullptr) {
  pid_t child = 0;
  const int error = posix_spawnp(&child, command[0].c_str(), nullptr, nullptr, pointers_to(command).data(), environ);
  if (error != 0) throw std::runtime_error("cannot run " + command[0] + ": " + std::strerror(error));
  int status = 0, tenths = 0;
  const bool shown = doing && isatty(STDERR_FILENO) == 1;
  for (pid_t ended = 0; (ended = waitpid(child, &status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR);) {
    usleep(100'000);
    if (++tenths % 10 == 0 && shown) std::fprintf(stderr, "\0337\033[K%s %d s\0338", doing, tenths / 10);
  }
  if (tenths >= 10 && shown) std::fprintf(stderr, "\033[K");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Replaces this process with the command, so that signals reach it and a program that is stopped prints the counts so
/// far.
[[noreturn]] void become(words command) {
  std::fflush(nullptr);
  execvp(command[0].c_str(), pointers_to(command).data());
  throw std::runtime_error("cannot run " + command[0] + ": " + std::strerror(errno));
}

bool compiles(const words& command) {
  say(command);
  return done(command, "compiling") == 0;
}

/// Builds a target of the build folder, as ./course does: shows progress, one build at a time.
void build_target(const folders& here, const std::string& target) {
  if (const int status = done({(here.source / "course").string(), "build", target}); status != 0) std::exit(status);
}

/// The options with which a file in a lab's folder finds the lab's headers.
words lab_folders(const fs::path& file) {
  const fs::path lab = fs::weakly_canonical(fs::absolute(file).parent_path() / "..");
  if (!fs::is_directory(lab / "judge")) return {};
  return {"-I" + lab.string(), "-I" + (lab / "given").string()};
}

bool names_main(const words& sources) {
  return std::any_of(sources.begin(), sources.end(), [](const std::string& file) {
    std::ifstream in(file);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    for (std::size_t at = 0; (at = text.find("main", at)) != std::string::npos; at += 4) {
      const std::size_t next = text.find_first_not_of(' ', at + 4);
      const bool whole = at == 0 || !(std::isalnum(static_cast<unsigned char>(text[at - 1])) || text[at - 1] == '_');
      if (whole && next != std::string::npos && text[next] == '(') return true;
    }
    return false;
  });
}

/// Whether the text is a number other than 0, made of these characters.
bool is_number(const std::string& text, const char* characters = "0123456789") {
  return text.find_first_not_of(characters) == std::string::npos &&
         text.find_first_of("123456789") != std::string::npos && text.size() < 12;
}

void need_gdb(const folders& here) {
#if !defined(__x86_64__)
  throw usage_error("the debugger runs on x86-64 only; ./course see shows what each line does, without it");
#endif
  if (!on_path("gdb"))
    if (const int status = done({(here.source / "course").string(), "setup", "--packages", "gdb"}); status != 0)
      std::exit(status);
  if (std::system("gdb -batch -ex 'python pass' >/dev/null 2>&1") != 0)
    throw usage_error("no gdb with Python here; install it: apt-get install gdb");
}

/// Becomes gdb with the course's commands. If there is a script, its commands replace yours.
[[noreturn]] void debugger(const folders& here, const fs::path& commands, const words& rest) {
  need_gdb(here);
  words command = {"gdb", "-nx", "-q", "-x", (here.source / "common/sim/debugger/commands.py").string()};
  if (!commands.empty()) command = joined(command, {"-batch", "-x", fs::absolute(commands).string()});
  command = joined(command, rest);
  say(command);
  become(command);
}

void check_commands(const fs::path& commands) {
  if (!commands.empty() && !fs::is_regular_file(commands))
    throw usage_error("there is no file " + commands.string() + " with gdb's commands");
}

/// The names of the files in a folder, without endings.
std::string stems_in(const fs::path& folder) {
  words names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : " ") + name;
  return list;
}

/// Throws usage_error if two options exclude each other or a value is invalid. `file`: what to run.
void check(const folders& here, const run_request& r, const std::string& file) {
  const std::string command = r.debug ? "debug" : r.see ? "see" : "run";
  if (file.empty()) throw usage_error("which file? usage: ./course " + command + " FILE.cu");
  if (!fs::exists(file)) throw usage_error("there is no file " + file);
  if (fs::is_directory(file))
    throw usage_error(
        file + " is a folder; build its program with make NVCC=\"$(./course simcc)\", then: ./course run ./PROGRAM");
  if (!is_number(r.devices, "12345678") || r.devices.size() > 1)
    throw usage_error("--devices needs a number from 1 to 8");
  if (!is_number(r.sample)) throw usage_error("--sample needs a number: --sample 16 observes one block in 16");
  if (!r.budget.empty() && !is_number(r.budget, "0123456789."))
    throw usage_error("--budget needs a number of seconds: --budget 60");
  if (!r.schedule.empty() && (!is_number(r.schedule) || r.schedule == "0"))
    throw usage_error("--schedule needs a positive number: --schedule 1");
  if (!r.budget.empty() && r.sample != "1") throw usage_error("--budget chooses blocks itself; omit --sample");
  if (!r.budget.empty() && r.see) throw usage_error("./course see draws blocks that --budget may leave out; omit it");
  if (!r.before.empty()) {
    std::ifstream in(r.before);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    if (text.find("id=\"data\"") == std::string::npos)
      throw usage_error(r.before.string() + " is not a page that ./course see has written");
  }
  if (r.backend == "sim") {
    const fs::path known = here.source / "common/sim/devices";
    if (!fs::is_regular_file(known / (r.device + ".toml")))
      throw usage_error("no device '" + r.device + "'; use one of: " + stems_in(known));
    return;
  }
  if (r.backend != "cuda") throw usage_error("no backend '" + r.backend + "'; use sim or cuda");
  if (r.debug) throw usage_error("./course debug is for the simulated device; on a GPU use cuda-gdb, with nvcc -g -G");
  if (r.see) throw usage_error("./course see draws what the simulated device records; omit --backend");
  if (!r.schedule.empty()) throw usage_error("--schedule is for the simulated device; a GPU has its own order");
  if (!r.budget.empty()) throw usage_error("--budget is for the simulated device; omit it on a GPU");
  if (r.devices != "1")
    throw usage_error("--devices is for the simulated device; on a machine with GPUs set CUDA_VISIBLE_DEVICES");
  if (!r.csv.empty())
    throw usage_error("--csv is for the simulated device; on a GPU run ncu --csv --page raw --print-units base");
  if (!has_gpu()) throw usage_error("there is no NVIDIA GPU on this machine; omit --backend");
  if (!on_path("nvcc")) throw usage_error("no nvcc on the PATH: install the CUDA toolkit, or omit --backend");
}

/// Replaces this process with the program, on the simulated device; the program prints its summary.
[[noreturn]] void run_simulated(const run_request& r, const words& command) {
  words shown;
  const auto set = [&](const char* name, const std::string& value, bool say_it) {
    setenv(name, value.c_str(), 1);
    if (say_it) shown.push_back(std::string(name) + "=" + value);
  };
  set("SIM_REPORT", "1", true);
  set("SIM_DEVICES", r.devices, r.devices != "1");
  set("SIM_SAMPLE", r.sample, false);
  set("SIM_BUDGET", r.budget, !r.budget.empty());
  set("SIM_SCHEDULE", r.schedule, !r.schedule.empty());
  set("SIM_CSV", r.csv, !r.csv.empty());
  set("SIM_SEE", r.page.string(), !r.page.empty());
  set("SIM_SEE_BEFORE", r.before.string(), !r.before.empty());
  say(joined(shown, command));
  become(command);
}

bool is_program(const folders& here, const std::string& name) {
  std::ifstream in(here.build / "build.ninja");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("build bin/" + name + ":")) return true;
  return false;
}

bool is_file(const profile_request& r) { return r.name.ends_with(".cu") || r.name.ends_with(".cpp"); }

/// The target to build: for a file, the libraries to link, otherwise the program itself.
std::string target_of(const folders& here, const profile_request& r) {
  if (is_file(r)) return "profile_" + r.backend;
  for (const std::string& target : {r.name + "." + r.backend, r.name})
    if (is_program(here, target)) return target;
  throw usage_error("the course has no program '" + r.name + "' for " + r.backend +
                    "; give a FILE.cu, or a program in build/bin that uses lab::profile");
}

/// Compiles the file so that our main() calls the program's as the work to profile. Replaces cudaDeviceReset, which
/// would destroy the context between two runs. Returns the program, or nothing if a command failed.
fs::path compiled(const folders& here, const profile_request& r) {
  const fs::path folder = here.build / "run" / "profile";
  fs::create_directories(folder);
  const fs::path program = folder / (fs::path(r.name).stem().string() + "." + r.backend);
  const std::string object = program.string() + ".o";
  words compile;
  if (r.backend == "cpu")
    compile = {LAB_CXX, "-std=c++20", "-O3", "-g", LAB_NATIVE "-x", "c++"};
  else if (r.backend == "sim")
    compile = {(here.build / "bin" / "simcc").string(), "-std=c++20"};
  else
    compile = {"nvcc", "-std=c++20",   "--extended-lambda", "--expt-relaxed-constexpr",
               "-O3",  "-arch=native", "-lineinfo"};
  compile = joined(compile, {"-I" + (here.source / "common" / "include").string(), "-c", fs::canonical(r.name).string(),
                             "-o", object});
  compile = joined(compile, lab_folders(r.name));
  words rename = {"objcopy", "--redefine-sym", "main=lab_program_main"};
  if (r.backend == "cuda") rename = joined(rename, {"--redefine-sym", "cudaDeviceReset=lab_keep_device"});
  rename.push_back(object);
  const words link = {LAB_CXX, object, "@" + (here.build / ("profile." + r.backend + ".link")).string(), "-o",
                      program.string()};
  return compiles(compile) && compiles(rename) && compiles(link) ? program : fs::path();
}

}  // namespace

bool is_source(const std::string& word) {
  const std::string ending = fs::path(word).extension().string();
  return std::string(".cu .cpp .cc .cxx .c .o ").find(ending + " ") != std::string::npos && !ending.empty();
}

int run(const folders& here, run_request r) {
  check_commands(r.commands);
  words sources;
  std::copy_if(r.given.begin(), r.given.end(), std::back_inserter(sources), is_source);
  const words candidates = joined(sources, r.given);
  const auto found =
      std::find_if(candidates.begin(), candidates.end(), [](const std::string& w) { return fs::is_regular_file(w); });
  const std::string file = found != candidates.end() ? *found : candidates.empty() ? "" : candidates[0];
  check(here, r, file);
  r.given = joined(r.given, lab_folders(file));
  const std::string name = fs::path(file).stem().string();
  fs::path program = here.build / (r.debug ? "debug" : "run") / name;
  fs::create_directories(program.parent_path());
  if (r.backend == "cuda") {
    program += ".cuda";
    words compile = {"nvcc", "--extended-lambda", "--expt-relaxed-constexpr", "-O3", "-arch=native",
                     "-o",   program.string()};
    if (std::none_of(r.given.begin(), r.given.end(), [](const std::string& w) { return w.starts_with("-std"); }))
      compile.push_back("-std=c++20");
    if (!compiles(joined(compile, r.given))) return 1;
    const words command = joined({program.string()}, r.arguments);
    say(command);
    become(command);
  }
  if (sources.empty() && access(file.c_str(), X_OK) == 0) {
    program = fs::canonical(file);
  } else {
    words compile = {(here.build / "bin" / "simcc").string()};
    if (r.debug) compile = joined(compile, {"-g", "-G", "-O0"});
    if (!compiles(joined(joined(compile, r.given), {"-o", program.string()}))) {
      if (names_main(sources)) return 1;
      throw usage_error(
          file + " has no main(), so it is not a program. To " +
          (r.debug ? "debug hand-in files: ./course debug NN ITEM" : "run hand-in files: ./course lab NN"));
    }
  }
  setenv("SIM_DEVICE", r.device.c_str(), 1);
  setenv("SIM_DEVICES", r.devices.c_str(), 1);
  const words command = joined({program.string()}, r.arguments);
  if (r.only_build) {
    need_gdb(here);
    return 0;
  }
  if (r.debug) debugger(here, r.commands, joined({"--args"}, command));
  if (!r.csv.empty() && r.csv != "-") r.csv = fs::absolute(r.csv).string();
  if (!r.before.empty()) r.before = fs::canonical(r.before);
  if (r.see) {
    r.page = r.page.empty() ? here.build / "see" / (name + ".html") : fs::absolute(r.page);
    fs::create_directories(r.page.parent_path());
  }
  run_simulated(r, command);
}

int debug_item(const folders& here, const std::string& lab, const std::string& item, const fs::path& commands) {
  check_commands(commands);
  const std::string number = std::string(lab.size() < 2 ? 2 - lab.size() : 0, '0') + lab;
  fs::path rubric;
  for (const auto& entry : fs::directory_iterator(here.source / "labs"))
    if (entry.path().filename().string().starts_with(number + "_")) rubric = entry.path() / "judge" / "rubric.toml";
  if (rubric.empty()) throw usage_error("there is no lab " + lab);
  std::ifstream in(rubric);
  std::string items;
  bool known = false, begun = false;
  for (std::string line; std::getline(in, line);) {
    begun = begun || line.starts_with("[[item");
    if (!begun || !line.starts_with("id = \"")) continue;
    const std::string id = line.substr(6, line.find('"', 6) - 6);
    known = known || id == item;
    items += " " + id;
  }
  if (!known)
    throw usage_error("which item of lab " + number + "? ./course debug " + number + " ITEM; its items:" + items);
  const std::string target = "lab" + number + ".student.sim.debug";
  build_target(here, target);
  debugger(here, commands, {"--args", (here.build / "bin" / target).string(), item});
}

int debug_dump(const folders& here, const fs::path& dump, const fs::path& commands) {
  check_commands(commands);
  if (!fs::is_regular_file(dump))
    throw usage_error("there is no dump " + dump.string() + "; generate-core-file FILE writes one, in the debugger");
  debugger(here, commands, {"-ex", "python open_dump('" + fs::canonical(dump).string() + "')"});
}

int profile(const folders& here, profile_request r) {
  const bool host = r.name.ends_with(".cpp");
  if (r.backend.empty()) r.backend = host ? "cpu" : has_gpu() && on_path("nvcc") ? "cuda" : "sim";
  if (r.backend != "cpu" && r.backend != "sim" && r.backend != "cuda")
    throw usage_error("no backend '" + r.backend + "'; use cpu, sim or cuda");
  if (host && r.backend != "cpu")
    throw usage_error(r.name + " is not a CUDA program; omit --backend, or rename it to .cu");
  if (r.backend == "cuda" && !has_gpu()) throw usage_error("this machine has no NVIDIA GPU; omit --backend");
  if (r.backend == "cuda" && !on_path("nvcc"))
    throw usage_error("nvcc is not on the PATH: install the CUDA toolkit, or omit --backend");
  if (is_file(r) && !fs::is_regular_file(r.name)) throw usage_error("no file " + r.name);
  r.output = r.output.empty() ? here.build / "profile" / fs::path(r.name).stem() : fs::absolute(r.output);
  const std::string target = target_of(here, r);
  build_target(here, target);
  const fs::path program = is_file(r) ? compiled(here, r) : here.build / "bin" / target;
  if (program.empty()) return 1;  // the compiler has printed why
  const words command = joined({program.string()}, r.arguments);
  say(joined({(r.flame ? "LAB_PROFILE_FLAME=1 LAB_PROFILE=" : "LAB_PROFILE=") + r.output.string()}, command));
  setenv("LAB_PROFILE", r.output.c_str(), 1);
  if (r.flame)
    setenv("LAB_PROFILE_FLAME", "1", 1);
  else
    unsetenv("LAB_PROFILE_FLAME");
  return done(command, "profiling");
}

}  // namespace course
