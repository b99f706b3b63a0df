// Flame graphs: stacks sampled by CPU time, and device work below the host functions that issued it. The format is
// folded stacks, one per line with its nanoseconds: "outer;inner;file.cpp:12 1500".
#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <unordered_map>
#include <utility>

#include "recording.hpp"

namespace lab {
namespace {

// ---- sampling

constexpr std::size_t most_samples = 20'000, deepest = 96;

/// A signal handler fills it, so all memory is allocated in advance.
struct sampler {
  struct sample {
    int frames;
    void* stack[deepest];
  };
  std::unique_ptr<sample[]> taken = std::make_unique<sample[]>(most_samples);
  std::atomic<std::size_t> count = 0;  ///< including samples that were not kept
  profiled_device* device = nullptr;
  double cpu_seconds = 0;
};
std::atomic<sampler*> sampling = nullptr;

std::uintptr_t interrupted_at(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#ifdef __x86_64__
  return static_cast<std::uintptr_t>(machine.gregs[REG_RIP]);
#else
  return machine.pc;
#endif
}

/// Stores the stack, the interrupted instruction first. Skips the device's own threads: their stacks cannot be walked.
void take_sample(int, siginfo_t*, void* context) {
  sampler* const into = sampling;
  if (!into) return;
  const int error = errno;
  const std::size_t number = into->count++;
  if (number < most_samples) {
    sampler::sample& now = into->taken[number];
    now.frames = 0;
    if (!into->device || !into->device->owns_thread()) {
      void* all[deepest];
      const int frames = backtrace(all, deepest);
      const void* const at = reinterpret_cast<const void*>(interrupted_at(context));
      void** const first = std::find(all, all + frames, at);
      std::copy(first, all + frames, now.stack);
      now.frames = static_cast<int>(all + frames - first);
    }
  }
  errno = error;
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void set_timer(long microseconds) {
  const itimerval every{{0, microseconds}, {0, microseconds}};
  setitimer(ITIMER_PROF, &every, nullptr);
}

// ---- names

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return without_arguments(status == 0 ? text.get() : name);
}

/// A function and a position in its source.
struct level {
  std::string function, file;
  int line = 0;
};

class symbols {
 public:
  symbols() {
    static char* no_path = nullptr;
    static const Dwfl_Callbacks callbacks = {dwfl_linux_proc_find_elf, dwfl_standard_find_debuginfo, nullptr, &no_path};
    session_ = dwfl_begin(&callbacks);
    if (session_ && dwfl_linux_proc_report(session_, getpid()) == 0) dwfl_report_end(session_, nullptr, nullptr);
  }
  ~symbols() { dwfl_end(session_); }
  symbols(const symbols&) = delete;  // owns the session
  symbols& operator=(const symbols&) = delete;

  /// The functions at a program counter, inlined ones included, the outermost first.
  const std::vector<level>& at(std::uintptr_t pc) {
    const auto [found, fresh] = known_.try_emplace(pc);
    if (fresh) found->second = look_up(pc);
    return found->second;
  }

 private:
  std::vector<level> look_up(std::uintptr_t pc) const {
    Dwfl_Module* const module = session_ ? dwfl_addrmodule(session_, pc) : nullptr;
    if (!module) return {};
    level now;
    if (Dwfl_Line* found = dwfl_getsrc(session_, pc))
      if (const char* file = dwfl_lineinfo(found, nullptr, &now.line, nullptr, nullptr, nullptr)) now.file = file;
    std::vector<level> levels;
    Dwarf_Addr bias = 0;
    Dwarf_Die* const unit = dwfl_addrdie(session_, pc, &bias);
    Dwarf_Die *innermost = nullptr, *scopes = nullptr;
    if (unit && dwarf_getscopes(unit, pc - bias, &innermost) > 0) {
      const int count = dwarf_getscopes_die(innermost, &scopes);  // the innermost first
      for (int i = 0; i < count && dwarf_tag(&scopes[i]) != DW_TAG_subprogram; ++i) {
        if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine) continue;
        now.function = name_of(scopes[i]);
        levels.push_back(std::exchange(now, called_at(unit, scopes[i])));
      }
      std::free(scopes);
      std::free(innermost);
    }
    const char* const symbol = dwfl_module_addrname(module, pc);
    now.function = symbol ? demangled(symbol) : "?";
    levels.push_back(std::move(now));
    std::reverse(levels.begin(), levels.end());
    return levels;
  }
  static level called_at(Dwarf_Die* unit, Dwarf_Die& inlined) {
    Dwarf_Attribute attribute;
    Dwarf_Word file = 0, line = 0;
    Dwarf_Files* files = nullptr;
    if (dwarf_formudata(dwarf_attr(&inlined, DW_AT_call_file, &attribute), &file) != 0 ||
        dwarf_formudata(dwarf_attr(&inlined, DW_AT_call_line, &attribute), &line) != 0 ||
        dwarf_getsrcfiles(unit, &files, nullptr) != 0)
      return {};
    const char* const name = dwarf_filesrc(files, file, nullptr, nullptr);
    return {"", name ? name : "", static_cast<int>(line)};
  }
  static std::string name_of(Dwarf_Die& function) {
    Dwarf_Attribute attribute;
    const char* name = dwarf_formstring(dwarf_attr_integrate(&function, DW_AT_linkage_name, &attribute));
    if (!name) name = dwarf_diename(&function);
    return name ? demangled(name) : "?";
  }

  Dwfl* session_ = nullptr;
  std::unordered_map<std::uintptr_t, std::vector<level>> known_;
};

/// Whether simcc inserts calls to this function at the accesses and basic blocks of .cu files.
bool is_instrumentation(const std::string& function) {
  return function.starts_with("__tsan_") || function.starts_with("__sanitizer_cov_") || function.starts_with("sim_mem");
}

/// Library headers call each other; only the first function is shown.
bool is_library(const level& here) { return here.file.starts_with("/usr/"); }

/// Whether it is a library's frame for calling a function object or starting a thread.
bool is_wrapper(const std::string& function) {
  static constexpr const char* words[] = {"std::_Function_handler", "std::function<", "std::__invoke", "::_State_impl<",
                                          "std::thread::_Invoker",  "_Invoker<",      "start_thread",  "clone"};
  return std::any_of(std::begin(words), std::end(words),
                     [&](const char* word) { return function.find(word) != std::string::npos; });
}

/// The program's own functions on a stack, the outermost first, and the innermost's line. Empty if the stack contains
/// the simulated device's code: with a GPU, the host would not spend that time.
std::vector<std::string> program_frames(symbols& names, const std::vector<std::uintptr_t>& stack, bool sample) {
  std::vector<std::string> frames;
  std::string line;
  bool in_library = false;
  const auto ended = [&] {
    if (!frames.empty() && !line.empty()) frames.push_back(line);
    return frames;
  };
  for (std::size_t i = stack.size(); i-- > 0;)
    for (const level& here : names.at(stack[i] - (i > 0 || !sample))) {  // a return address is one past the call
      const std::string& function = here.function;
      if (is_instrumentation(function)) return ended();
      if (function.starts_with("sim::") || here.file.find("/sim/include/") != std::string::npos)
        return sample ? std::vector<std::string>() : ended();
      if (function.starts_with("lab::profile::run") || function == "main")  // our frames around the program's
        frames.clear();
      else if (function == "lab_program_main")
        frames = {"main"};
      else if (!is_wrapper(function) && !(std::exchange(in_library, is_library(here)) && in_library))
        frames.push_back(function);
      line = here.line == 0 ? "" : fmt::format("{}:{}", here.file.substr(here.file.rfind('/') + 1), here.line);
    }
  return ended();
}

std::vector<std::string> words_of(const std::string& path) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    words.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

void start_sampling(profiled_device* device) {
  static sampler all;  // never destroyed: a late signal may still come
  void* warm_up[1];
  backtrace(warm_up, 1);  // the first call loads a library
  all.count = 0;
  all.device = device;
  all.cpu_seconds = cpu_seconds();
  sampling = &all;
  struct sigaction action {};
  action.sa_sigaction = take_sample;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  set_timer(1000);
}

cpu_samples stop_sampling() {
  set_timer(0);
  sampler* const all = sampling.exchange(nullptr);
  cpu_samples result;
  if (!all || all->count == 0) return result;
  result.seconds_each = (cpu_seconds() - all->cpu_seconds) / static_cast<double>(all->count);
  for (std::size_t i = 0; i < std::min<std::size_t>(all->count, most_samples); ++i) {
    const sampler::sample& one = all->taken[i];
    std::vector<std::uintptr_t>& stack = result.stacks.emplace_back();
    for (int k = 0; k < one.frames; ++k) stack.push_back(reinterpret_cast<std::uintptr_t>(one.stack[k]));
  }
  return result;
}

std::string folded_of(const profile_contents& what) {
  symbols names;
  std::map<std::string, double> seconds;
  const auto add = [&](const std::vector<std::string>& frames, double amount) {
    std::string stack;
    for (std::string frame : frames) {
      std::replace_if(
          frame.begin(), frame.end(), [](unsigned char c) { return c < ' ' || c == ';'; }, ' ');
      if (!frame.empty()) stack += (stack.empty() ? "" : ";") + frame;
    }
    seconds[stack] += amount;
  };
  for (const recording& rec : what.recordings) {
    const std::string root = rec.runs.empty() ? "program" : rec.runs[0].name;
    const auto below_root = [&](std::vector<std::string> frames) {
      frames.insert(frames.begin(), root);
      return frames;
    };
    for (const std::vector<std::uintptr_t>& stack : rec.samples.stacks)
      if (const auto frames = program_frames(names, stack, true); !frames.empty())
        add(below_root(frames), rec.samples.seconds_each);
    for (const activity& a : rec.device.activities) {
      if (a.what == activity::kind::call) continue;
      std::vector<std::string> frames =
          a.stack.empty() ? words_of(path_of(rec, run_of(rec, a))) : below_root(program_frames(names, a.stack, false));
      frames.push_back(without_arguments(a.name) + " [device]");
      const double all = 1e-9 * static_cast<double>(a.end - a.begin);
      double of_lines = 0;
      for (const auto& [line, amount] : a.lines) {
        frames.push_back(line + " [device]");
        add(frames, amount);
        frames.pop_back();
        of_lines += amount;
      }
      add(frames, std::max(0.0, all - of_lines));
    }
  }
  std::string text;
  for (const auto& [stack, amount] : seconds)
    if (amount >= 0.5e-9) text += fmt::format("{} {:.0f}\n", stack, 1e9 * amount);
  return text;
}

}  // namespace lab
