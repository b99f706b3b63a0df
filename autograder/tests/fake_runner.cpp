// A runner whose submission misbehaves in every known way; the entry selects one.
#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "sandbox/channel.hpp"

namespace {

void send_raw(std::uint32_t length, const char* text) {
  send(grading::runner_socket, &length, sizeof length, 0);
  send(grading::runner_socket, text, std::strlen(text), 0);
}

std::string open_files() {
  std::string numbers;
  for (int fd = 0; fd < 1024; ++fd)
    if (fcntl(fd, F_GETFD) >= 0) numbers += std::to_string(fd) + " ";
  return numbers;
}

std::vector<int> threads() {
  std::vector<int> ids;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
    ids.push_back(std::stoi(task.path().filename()));
  return ids;
}

/// The cores on which at least one thread may run.
std::string allowed_cores() {
  cpu_set_t all, cores;
  CPU_ZERO(&all);
  for (const int id : threads()) {
    sched_getaffinity(id, sizeof cores, &cores);
    CPU_OR(&all, &all, &cores);
  }
  std::string numbers;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &all)) numbers += std::to_string(i) + " ";
  return numbers;
}

/// Uses this many milliseconds of the calling thread's CPU time.
void compute(std::int64_t milliseconds) {
  const auto ran = [] {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
  };
  for (const auto start = ran(); ran() < start + milliseconds;) {
  }
}

/// A thread that exists before the submission runs, like those of the simulated device. It runs the work that it is
/// given.
std::atomic<std::int64_t> helper_computes{0};
std::atomic<bool> helper_starts_a_thread{false};

void help() {
  for (;;) {
    if (const std::int64_t milliseconds = helper_computes) {
      compute(milliseconds);
      helper_computes = 0;
    }
    if (helper_starts_a_thread) std::thread([] {}).join();
    usleep(1000);
  }
}

void at_work(int) {}

/// Names of the system calls that this process can still make, though they could work while the judge has stopped it,
/// or undo what the judge does to it.
std::string open_doors() {
  std::string open;
  const auto door = [&](const char* name, long result) {
    if (result != -1 || errno != ENOSYS) open += std::string(name) + " ";
  };
  timer_t timer{};
  itimerval soon{{0, 0}, {1000, 0}};
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(0, &cores);
  static std::byte memory[4 << 20];
  auto* page = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory) + (2 << 20) - 1) >> 21 << 21);
  struct sigaction handler {};
  handler.sa_handler = at_work;
  char* const none[] = {nullptr};
  door("sigaction", sigaction(SIGUSR1, &handler, nullptr));
  door("setitimer", setitimer(ITIMER_REAL, &soon, nullptr));
  door("alarm", syscall(SYS_alarm, 1000));
  door("timer_create", timer_create(CLOCK_MONOTONIC, nullptr, &timer));
  door("timerfd_create", timerfd_create(CLOCK_MONOTONIC, 0));
  door("eventfd", eventfd(0, 0));
  door("epoll_create", epoll_create1(0));
  door("io_setup", syscall(SYS_io_setup, 0, nullptr));
  door("io_uring_setup", syscall(SYS_io_uring_setup, 0, nullptr));
  door("userfaultfd", syscall(SYS_userfaultfd, 0));
  door("memfd_create", memfd_create("", 0));
  door("execve", execve("/no/such/program", none, none));
  door("kill", kill(getpid(), 0));
  door("SIGCONT", syscall(SYS_tgkill, getpid(), gettid(), SIGCONT));
  door("sched_setaffinity", sched_setaffinity(0, sizeof cores, &cores));
  door("setpriority", syscall(SYS_setpriority, 0, 0, 0));
  door("sync", syscall(SYS_sync));
  door("prctl", prctl(PR_GET_DUMPABLE));
  door("new code", syscall(SYS_mmap, nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  door("data as code", mprotect(page, 4096, PROT_READ | PROT_EXEC));
  door("huge pages", madvise(page, 2 << 20, MADV_HUGEPAGE));
  return open;
}

/// Memory that a submission's global object may take.
const std::vector<char> from_the_beginning(std::getenv("FAKE_RUNNER_BEGINS_WITH_MEMORY") ? 100 << 20 : 0, 1);

void twice(const lab::request& what) {
  const auto* in = reinterpret_cast<const float*>(what.inputs[0].data());
  auto* out = reinterpret_cast<float*>(what.outputs[0].data());
  for (std::size_t i = 0; i < what.inputs[0].size() / sizeof(float); ++i) out[i] = 2.0f * in[i];
}

}  // namespace

lab::response lab::execute(const lab::request& what, lab::call_gate& gate) {
  lab::response answer;
  gate.begin();
  if (what.resident) gate.begin();
  const std::string& does = what.entry;
  if (!what.inputs.empty() && !what.outputs.empty() && does != "nothing") twice(what);
  if (does == "overrun") what.outputs[0].data()[what.outputs[0].size()] = std::byte{0};
  if (does == "adds_zero") {
    volatile float& behind = *reinterpret_cast<float*>(what.outputs[0].data() + what.outputs[0].size());
    behind = behind + 0.0f;
  }
  if (does == "underrun") what.outputs[0].data()[-1] = std::byte{0};
  if (does == "scribble") what.inputs[0][0] ^= std::byte{1};
  if (does == "off_by_one") reinterpret_cast<float*>(what.outputs[0].data())[0] += 1.0f;
  const auto yield_often = [&] {
    for (std::int64_t i = 0; i < what.parameters[0]; ++i) syscall(SYS_sched_yield);
  };
  if (does == "yields") yield_often();
  if (does == "yields_in_threads") {
    std::thread one(yield_often), other(yield_often);
    one.join();
    other.join();
  }
  if (does == "yields_after_done") {  // the submission reports that it is done before it calls the kernel
    // Without inputs, the control page lies two pages before the output.
    std::byte* const page = what.outputs[0].data() - 2 * grading::page_bytes;
    reinterpret_cast<grading::control*>(page)->done.store(1);
    yield_often();
    what.outputs[0][0] = std::byte{1};
  }
  if (does == "says_done") {  // returns while its kernels still run
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
      if (line.find("memfd:buffers") != std::string::npos) {
        reinterpret_cast<grading::control*>(std::stoull(line, nullptr, 16))->done.store(1);
        break;
      }
  }
  if (does == "asks") {  // asks this many questions: 1, 2, ...
    const auto number = [&](std::size_t output) -> double& {
      return *reinterpret_cast<double*>(what.outputs[output].data());
    };
    for (std::int64_t i = 0; i < what.parameters[0]; ++i) {
      number(1) = static_cast<double>(i + 1);
      gate.ask();
      number(0) = number(1);
    }
  }
  if (does == "segfault") std::raise(SIGSEGV);
  if (does == "divide") std::printf("%ld", 1000 / what.parameters[0]);
  if (does == "abort") std::abort();
  if (does == "exit") std::exit(7);
  if (does == "complains") {
    std::fputs("x.cu:7: an illegal memory access\n\n", stderr);
    std::exit(1);
  }
  if (does == "hang") sleep(1000);
  if (does == "compute") compute(what.parameters[0]);
  if (does == "compute_with_help") {
    helper_computes = what.parameters[0];
    compute(what.parameters[0]);
    while (helper_computes != 0) usleep(100);
  }
  if (does == "takes_memory") {  // takes this many megabytes and frees them before the call ends
    std::vector<char> bytes(static_cast<std::size_t>(what.parameters[0]) << 20);
    std::memset(bytes.data(), 1, bytes.size());
    answer.error = std::to_string(bytes[bytes.size() / 2] - 1);
    if (answer.error == "0") answer.error.clear();
  }
  if (does == "keeps_memory") {  // keeps them for later calls
    static std::vector<char> kept;
    kept.resize(static_cast<std::size_t>(what.parameters[0]) << 20, 1);
  }
  if (does == "thread") std::thread([] {}).join();
  if (does == "thread_that_stays") std::thread([] { sleep(1000); }).detach();
  if (does == "thread_of_the_helper") {
    helper_starts_a_thread = true;
    sleep(1000);
  }
  if (does == "threads") answer.error = std::to_string(threads().size());
  if (does == "doors") answer.error = open_doors();
  if (does == "close") {
    close(grading::runner_socket);
    sleep(1000);
  }
  if (does == "silence") {
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
  }
  if (does == "orphan" && fork() == 0) sleep(1000);
  if (does == "fork" && fork() == 0) {
    std::printf("pid %d\n", getpid());
    std::fflush(stdout);
    sleep(1000);
  }
  if (does == "print") std::printf("hello\n");
  if (does == "shout")
    for (std::int64_t i = 0; i < what.parameters[0] << 20 >> 6; ++i)
      std::puts("0123456789012345678901234567890123456789012345678901234567890_");
  if (does == "huge_length") send_raw(0xFFFFFFFFu, "");
  if (does == "too_short") send_raw(4, "{\"error\":\"\"}");
  if (does == "too_long") {
    send_raw(1000, "{}");
    std::exit(0);
  }
  if (does == "garbage") send_raw(7, "garbage");
  if (does == "answers_itself") {
    const std::string all_well = lab::to_json(answer);
    send_raw(static_cast<std::uint32_t>(all_well.size()), all_well.c_str());
  }
  if (does == "names_its_time") answer.call_seconds = answer.ceiling_seconds = {1};
  if (does == "counts_itself") answer.metrics["launches"] = 1;
  if (does == "files") answer.error = open_files();
  if (does == "cores") answer.error = allowed_cores();
  static bool broken = false;  // like a GPU's context after a misaligned address
  broken = broken || does == "fails";
  if (broken) answer.error = "cudaErrorMisalignedAddress";
  if (does == "reports") answer.reports = {"a.cu:3: race", "a.cu:4: race", "a.cu:5: race", "a.cu:6: race"};
  gate.end();
  return answer;
}

std::string lab::backend_name() { return "sim"; }
void lab::guard(const submission_parts&) {}
bool lab::start_threads() {
  std::thread(help).detach();
  return !std::getenv("FAKE_RUNNER_IS_OPEN");
}
std::span<std::byte> lab::map_device_memory(int descriptor, std::size_t bytes) {
  return {static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)), bytes};
}
