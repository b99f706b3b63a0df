// The runner: holds a submission, executes the judge's requests, and decides nothing. It knows no case, no expected
// value and no clock; it reads requests from an inherited socket and finds the buffers in inherited memory.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/channel.hpp"
#include "support/machine.hpp"

namespace grading {
namespace {

/// All of the judge's memory, mapped once: a timed call must not meet page faults. Nothing else points to it.
std::span<std::byte> shared_memory() {
  struct stat status {};
  if (fstat(grading::runner_memory, &status) != 0) throw std::runtime_error("the runner has no shared memory");
  const auto bytes = static_cast<std::size_t>(status.st_size);
  void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, grading::runner_memory, 0);
  if (start == MAP_FAILED) throw std::runtime_error("the runner cannot map its buffers");
  close(grading::runner_memory);
  return {static_cast<std::byte*>(start), bytes};
}

/// Announces that the call is about to begin, and waits until the judge has written the inputs. One object per request.
struct waiting_gate : lab::call_gate {
  explicit waiting_gate(grading::control& page) : shared(page) {}
  void begin() override {
    shared.ready.store(++begun);
    while (shared.go.load() < begun) grading::machine::pause();
    if (begun == hidden_after) protect(PROT_NONE);
  }
  /// Waits until the judge has taken the outputs: it stops the clock when all threads have stopped.
  void end() override {
    if (hidden_after > 0) protect(PROT_READ | PROT_WRITE);
    shared.done.store(1);
    grading::set_and_wake(shared.news);
    for (std::uint32_t go; (go = shared.go.load()) <= begun;) grading::sleep_while(shared.go, go);
  }
  void ask() override {
    shared.answered.store(0);
    grading::set_and_wake(shared.news);
    while (shared.answered.load() == 0) grading::sleep_while(shared.answered, 0);
  }
  void protect(int access) {
    if (mprotect(&shared, grading::page_bytes, access) != 0)
      throw std::runtime_error("the runner cannot protect its memory");
  }
  grading::control& shared;
  std::uint32_t begun = 0;
  /// From the begin() with this number to end(), the page is hidden from the submission; 0: never. On a GPU, where
  /// threads freeze but kernels do not, a submission that set `done` itself could run kernels beyond the clock.
  std::uint32_t hidden_after = 0;
};

/// Lets the judge count every system call from now on, including those of future threads. The calls needed for this are
/// exempt, and compute_only removes them afterwards.
void count_calls() {
  constexpr std::uint32_t not_asked[] = {SYS_sendmsg, SYS_seccomp, SYS_prctl, SYS_restart_syscall, SYS_rt_sigreturn};
  std::vector<sock_filter> rules{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const std::uint32_t call : not_asked)
    rules.insert(rules.end(),
                 {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)});
  rules.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  const sock_fprog program{static_cast<unsigned short>(rules.size()), rules.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) throw std::runtime_error("cannot count system calls");
  const long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
  if (listener < 0 || !grading::send_descriptor(grading::runner_socket, static_cast<int>(listener)))
    throw std::runtime_error("cannot count system calls");
  close(static_cast<int>(listener));
}

/// Leaves this process only the system calls that computing and printing need: no new threads, no signal handlers, no
/// timers, nothing asynchronous in the kernel. Starting a thread ends the process with SIGSYS; the other calls fail as
/// if the system lacked them. `threads`: it may start threads, but no processes. An emulator may have no filters; local
/// grading runs there, too.
void compute_only(bool threads, bool without_wall) {
  namespace machine = grading::machine;
  std::vector<std::uint32_t> starts_threads = {SYS_clone, SYS_clone3};
  std::vector<std::uint32_t> needed = {
      // memory, locks, time
      SYS_brk, SYS_munmap, SYS_mremap, SYS_futex, SYS_sched_yield, SYS_sched_getaffinity, SYS_clock_gettime,
      SYS_clock_getres, SYS_gettimeofday, SYS_nanosleep, SYS_clock_nanosleep, SYS_restart_syscall, SYS_set_robust_list,
      SYS_rseq, SYS_getrandom, SYS_getrusage, SYS_times, SYS_sysinfo, SYS_uname,
      // the judge's messages, printing, and debug information for the simulated device's reports
      SYS_recvfrom, SYS_sendto, SYS_read, SYS_pread64, SYS_readv, SYS_preadv, SYS_write, SYS_writev, SYS_lseek,
      SYS_openat, SYS_close, SYS_fcntl, SYS_ioctl, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_faccessat, SYS_faccessat2,
      SYS_readlinkat, SYS_getcwd, SYS_getdents64,
      // all ways to end
      SYS_getpid, SYS_gettid, SYS_rt_sigprocmask, SYS_sigaltstack, SYS_exit, SYS_exit_group};
  starts_threads.insert(starts_threads.end(), machine::starts_processes.begin(), machine::starts_processes.end());
  needed.insert(needed.end(), machine::computes_and_prints.begin(), machine::computes_and_prints.end());

  const auto load = [](std::size_t offset) {
    return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
  };
  const auto skip_unless = [](std::uint32_t value, std::uint8_t skipped) {
    return sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped);
  };
  const auto answer = [](std::uint32_t action) { return sock_filter BPF_STMT(BPF_RET | BPF_K, action); };
  const auto refused = SECCOMP_RET_ERRNO | ENOSYS;

  std::vector<sock_filter> rules{load(offsetof(seccomp_data, arch)),
                                 sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, machine::audit_architecture, 1, 0),
                                 answer(SECCOMP_RET_KILL_PROCESS), load(offsetof(seccomp_data, nr))};
  if (threads) {
    rules.insert(rules.end(), {skip_unless(SYS_clone3, 1), answer(refused)});  // its flags are invisible: use clone
    rules.insert(rules.end(), {skip_unless(SYS_clone, 4), load(offsetof(seccomp_data, args[0])),
                               sock_filter BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
                               answer(SECCOMP_RET_ALLOW), answer(SECCOMP_RET_KILL_PROCESS)});
  }
  for (const std::uint32_t call : starts_threads)
    rules.insert(rules.end(), {skip_unless(call, 1), answer(SECCOMP_RET_KILL_PROCESS)});
  for (const std::uint32_t call : needed) rules.insert(rules.end(), {skip_unless(call, 1), answer(SECCOMP_RET_ALLOW)});
  // No new code: only code that was checked at build time runs.
  for (const std::uint32_t call : {SYS_mmap, SYS_mprotect})
    rules.insert(rules.end(), {skip_unless(call, 4), load(offsetof(seccomp_data, args[2])),
                               sock_filter BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0),
                               answer(SECCOMP_RET_ALLOW), answer(refused)});
  // Memory may be given back, but the judge's buffers keep pages of their size.
  rules.insert(rules.end(), {skip_unless(SYS_madvise, 4), load(offsetof(seccomp_data, args[2])),
                             skip_unless(MADV_DONTNEED, 1), answer(SECCOMP_RET_ALLOW), answer(refused)});
  // raise() and abort() need tgkill; SIGCONT would undo the judge's SIGSTOP.
  rules.insert(rules.end(), {skip_unless(SYS_tgkill, 4), load(offsetof(seccomp_data, args[2])), skip_unless(SIGCONT, 1),
                             answer(refused), answer(SECCOMP_RET_ALLOW), answer(refused)});
  const sock_fprog program{static_cast<unsigned short>(rules.size()), rules.data()};
  // For all threads: those of the simulated device are already running.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0)
    return;
  if (errno != ENOSYS || !without_wall) throw std::runtime_error("cannot limit the system calls of the runner");
}

}  // namespace
}  // namespace grading

// Constructors of the submission's global objects; the builder hides them from the loader.
using constructor = void (*)();
extern "C" {
[[gnu::weak, gnu::visibility("hidden")]] extern const constructor __start_host_constructors[],
    __stop_host_constructors[], __start_device_constructors[], __stop_device_constructors[];
// Code and variables of the submission's .cu files.
[[gnu::weak, gnu::visibility("hidden")]] extern const std::byte __start_hand_in_code[], __stop_hand_in_code[],
    __start_hand_in_data[], __stop_hand_in_data[], __start_hand_in_zeros[], __stop_hand_in_zeros[];
}

// Replaces functions of the contract that no file of the submission defines (box_builder.cpp).
extern "C" void hand_in_not_built() { throw std::runtime_error(grading::file_not_built); }

int main(int argc, char** argv) try {
  using namespace grading;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // so that no orphan keeps a core busy
  std::signal(SIGPIPE, SIG_IGN);
  const rlimit no_core_file{0, 0};
  setrlimit(RLIMIT_CORE, &no_core_file);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // so that a crash does not lose earlier output

  const std::span<std::byte> memory = shared_memory();
  auto& page = *reinterpret_cast<grading::control*>(memory.data());
  const auto told = [&](std::string_view word) { return std::find(argv + 1, argv + argc, word) != argv + argc; };
  const bool host_only = told(grading::runner_host_only);
  if (told(grading::runner_counted)) count_calls();
  // The device's threads must start first: those that start later count as the submission's.
  const bool has_device = (!host_only || told(grading::runner_threads)) && lab::start_threads();
  if (host_only || has_device) compute_only(told(grading::runner_threads), told(grading::runner_without_wall));
  lab::guard({{__start_hand_in_code, __stop_hand_in_code},
              {__start_hand_in_data, __stop_hand_in_data},
              {__start_hand_in_zeros, __stop_hand_in_zeros},
              memory.subspan(grading::page_bytes)});
  std::span<std::byte> device_memory;
  // The submission's first code to run; from here on everything forbidden is blocked. If anything is counted, no code
  // of .cpp files runs: its memory accesses are invisible.
  if (host_only || lab::backend_name() != "sim")
    std::for_each(__start_host_constructors, __stop_host_constructors, [](constructor c) { c(); });
  std::for_each(__start_device_constructors, __stop_device_constructors, [](constructor c) { c(); });
  for (std::string text; grading::receive_message(grading::runner_socket, text);) {
    lab::response response;
    waiting_gate gate(page);
    try {
      lab::request request = lab::request_from_json(text);
      if (request.resident) gate.hidden_after = 2;  // the last begin() of such a call
      const grading::layout where = grading::layout_of(request);
      if (request.resident && device_memory.empty())
        device_memory = lab::map_device_memory(grading::runner_device_memory, page.device_bytes);
      const std::span<std::byte> buffers = request.resident ? device_memory : memory.subspan(grading::page_bytes);
      if (where.bytes > buffers.size()) throw std::runtime_error("the buffers do not fit the shared memory");
      grading::place(request, where, buffers);
      response = lab::execute(request, gate);
    } catch (const std::exception& error) {
      response.error = error.what();
      gate.end();
    }
    std::fflush(stdout);
    if (!grading::send_message(grading::runner_socket, lab::to_json(response))) return 1;
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "runner: %s\n", error.what());
  return 1;
}
