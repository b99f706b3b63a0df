// The judge's end of a runner: starts it, sends requests, lets it run for one call, stops and inspects it, drains its
// output, reaps it.
#include "sandbox/process_executor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <new>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lab/case.hpp"
#include "lab/ceilings.hpp"
#include "lab/exchange.hpp"
#include "sandbox/channel.hpp"
#include "support/command.hpp"
#include "support/machine.hpp"

namespace grading {
namespace {

using clock = std::chrono::steady_clock;
constexpr std::size_t most_code = std::size_t{24} << 20;  ///< of a runner and its libraries in memory
constexpr int patience = 6;                               // on a busy machine a call may take this many times as long
constexpr const char* no_answer = "the program sent something other than an answer";
constexpr const char* one_thread = "a submission runs on one core, in the thread that calls it";

void close_if_open(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

/// Keeps the judge and all threads of a runner on one core while it lives. Only one of them works at a time, so they do
/// not disturb each other, and other busy processes get the other cores.
class on_one_core {
 public:
  explicit on_one_core(pid_t program) : program_(program) {
    if (sched_getaffinity(0, sizeof allowed_, &allowed_) != 0) CPU_ZERO(&allowed_);
  }
  ~on_one_core() { restrict_to(allowed_); }
  on_one_core(const on_one_core&) = delete;
  on_one_core& operator=(const on_one_core&) = delete;

  [[nodiscard]] std::size_t cores() const { return static_cast<std::size_t>(CPU_COUNT(&allowed_)); }
  void use(std::size_t core) const {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &allowed_) || core-- > 0) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      return restrict_to(one);
    }
  }

 private:
  void restrict_to(const cpu_set_t& cores) const {
    sched_setaffinity(0, sizeof cores, &cores);
    for (const int task : tasks_of(program_)) sched_setaffinity(task, sizeof cores, &cores);
  }
  pid_t program_;
  cpu_set_t allowed_{};
};

/// How many times a process has opened and mapped a folder or files in it.
struct files_in_use {
  int open = 0, mapped = 0;
};

files_in_use files_of(int process, const std::filesystem::path& folder) {
  files_in_use result;
  if (folder.empty()) return result;
  std::error_code gone;
  // The names that the kernel shows depend on where the folder is mounted; numbers and the last part of a path do not.
  const auto number_of = [](const std::filesystem::path& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 ? std::pair(status.st_dev, status.st_ino) : std::pair(dev_t{}, ino_t{});
  };
  std::set<std::pair<dev_t, ino_t>> numbers{number_of(folder)};
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder, gone)) {
    numbers.insert(number_of(file.path()));
    names.push_back("/" + file.path().filename().string());
  }
  for (const auto& file : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", process), gone))
    result.open += numbers.contains(number_of(file.path())) ? 1 : 0;
  std::ifstream maps(fmt::format("/proc/{}/maps", process));
  for (std::string line; std::getline(maps, line);)
    result.mapped +=
        std::any_of(names.begin(), names.end(), [&](const std::string& name) { return line.ends_with(name); }) ? 1 : 0;
  return result;
}

/// An error that names what a call has left open; "" if it has closed everything.
std::string left_of(const files_in_use& before, const files_in_use& after) {
  if (after.open > before.open) return "left its file open; close it, on every path out of the function";
  if (after.mapped > before.mapped) return "left its file mapped; call munmap, on every path out of the function";
  return {};
}

control& control_of(std::span<std::byte> shared) { return *reinterpret_cast<control*>(shared.data()); }

bool says_more_than_asked(const lab::request& asked, bool on_host, const lab::response& got) {
  const bool timed = !got.call_seconds.empty() || !got.ceiling_seconds.empty(),
             counted = !got.reports.empty() || !got.launches.empty() || !got.metrics.empty();
  return (timed && asked.what != lab::action::time) || (counted && on_host);
}

}  // namespace

process_executor::process_executor(std::filesystem::path runner, limits allowed, wall behind,
                                   std::vector<std::filesystem::path> readable)
    : runner_(std::move(runner)), allowed_(allowed), behind_(behind), readable_(std::move(readable)) {
  allowed_.driver = allowed_.driver || allowed_.device;
  prctl(PR_SET_TIMERSLACK, 1000);  // our short sleeps end within a microsecond of their time
}

process_executor::~process_executor() {
  stop();
  unshare();
}

void process_executor::stand_beside(executor* other) {
  if (allowed_.device) return;
  beside_ = dynamic_cast<process_executor*>(other);
  stop();
  unshare();
}

void process_executor::start_over() {
  stop();
  starts_over_ = true;
}

bool process_executor::shares(std::size_t bytes) const {
  if (beside_ && beside_->shares(bytes)) return memory_file_ == beside_->memory_file_;
  return shared_.size() >= bytes;
}

/// Memory of a sealed size: if it shrank, the judge would crash. A larger size needs new memory and a new runner that
/// inherits it. Two runners that share it take turns: one is always stopped.
void process_executor::share(std::size_t buffers) {
  unshare();
  std::size_t bytes = page_bytes + (allowed_.device ? 0 : std::max(buffers, reserved_));
  if (beside_ && beside_->shares(bytes)) {
    memory_file_ = beside_->memory_file_;
    bytes = beside_->shared_.size();
  } else {
    const int made = memfd_create("buffers", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (made < 0) fail("memfd_create of the shared buffers");
    memory_file_ = {new int(made), [](const int* fd) {
                      close(*fd);
                      delete fd;
                    }};
    if (ftruncate(made, static_cast<off_t>(bytes)) != 0) fail("making the shared buffers");
    if (fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) fail("fcntl(F_ADD_SEALS)");
  }
  void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, *memory_file_, 0);
  if (start == MAP_FAILED) fail("mmap of the shared buffers");
  shared_ = {static_cast<std::byte*>(start), bytes};
  new (shared_.data()) control{};  // the other's runner may have left anything there
  if (!allowed_.device) return;
  device_memory_ = allowed_.device->share(buffers);
  control_of(shared_).device_bytes = device_memory_->bytes();
}

void process_executor::unshare() {
  device_memory_.reset();
  if (!shared_.empty()) munmap(shared_.data(), shared_.size());
  shared_ = {};
  memory_file_.reset();
}

void process_executor::start() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
  socket_ = ends[0];
  box what;
  what.command = {behind_ == wall::box ? std::string("/runner") : runner_.string()};
  if (mode_.host_only) what.command.emplace_back(runner_host_only);
  if (mode_.counted) what.command.emplace_back(runner_counted);
  if (mode_.threads) what.command.emplace_back(runner_threads);
  if (behind_ == wall::none) what.command.emplace_back(runner_without_wall);
  what.mounts = {{runner_, "/runner"}};
  for (const std::filesystem::path& path : readable_) what.mounts.push_back({path, path});
  if (!mode_.exchange.empty()) what.mounts.push_back({mode_.exchange, mode_.exchange});
  if (mode_.exact_malloc) what.variables.emplace("GLIBC_TUNABLES", lab::exact_malloc);
  what.cpu_seconds = 600;
  std::vector<handed_down> descriptors{{ends[1], runner_socket}, {*memory_file_, runner_memory}};
  if (device_memory_) {
    allowed_.device->add_to(what);
    descriptors.push_back({device_memory_->descriptor(), runner_device_memory});
  }
  try {
    child_ = grading::start(what, behind_, descriptors);
  } catch (const std::exception&) {
    close(ends[1]);
    stop();
    throw;
  }
  close(ends[1]);
  program_ = behind_ == wall::box ? -1 : child_.process;
  if (!mode_.counted) return;
  pollfd ready{socket_, POLLIN, 0};
  const int listener = poll(&ready, 1, 10'000) > 0 ? receive_descriptor(socket_) : -1;
  if (listener < 0) {  // this kernel cannot do it or does not allow it
    stop();
    cannot_count_ = true;
    mode_.counted = false;
    return start();
  }
  counter_ = std::make_unique<call_counter>(listener);
}

void process_executor::stop() {
  if (child_.process > 0) {
    counted();                                  // its waiting time is known only while the process exists
    if (program_ > 0) kill(program_, SIGKILL);  // before anything that waits for it
    kill(-child_.process, SIGKILL);
    wait_for_end(child_.process);
    drain();
  }
  counter_.reset();
  child_.process = program_ = -1;
  threads_ = 0;
  close_if_open(child_.death);
  close_if_open(child_.output);
  close_if_open(socket_);
}

void process_executor::finish(std::chrono::milliseconds within) {
  if (program_ > 0) {
    close_if_open(socket_);
    thaw(program_);
    const auto deadline = clock::now() + within;
    for (pollfd death{child_.death, POLLIN, 0}; clock::now() < deadline && poll(&death, 1, 10) == 0;) drain();
  }
  stop();
}

bool process_executor::drain() {
  char piece[16 << 10];
  // Bounded: a submission that prints faster than we read must not hold us here.
  int pieces = 0;
  for (; pieces < 64; ++pieces) {
    const ssize_t got = read(child_.output, piece, sizeof piece);
    if (got <= 0) break;
    const std::size_t keep = std::min(static_cast<std::size_t>(got), kept_output - printed_.size());
    printed_.append(piece, keep);
    discarded_ += static_cast<std::size_t>(got) - keep;
  }
  return pieces > 0;
}

std::string process_executor::output() {
  if (discarded_ == 0) return printed_;
  return printed_ + fmt::format("\n[{} more bytes of output were discarded]\n", discarded_);
}

answer process_executor::failed(answer::ending how, std::string why) {
  stop();
  return {how, {}, std::move(why)};
}

std::optional<answer> process_executor::hold(std::size_t more_threads) {
  const std::size_t threads = freeze(program_);
  if (threads == 0) return ended();
  if (threads_ == 0) threads_ = threads;
  most_threads_ = std::max(most_threads_, threads);
  if (threads <= threads_ + more_threads || allowed_.driver) return {};
  if (more_threads > 0)
    return failed(answer::ending::crashed,
                  fmt::format("has started {} threads, but may start at most {}", threads - threads_, more_threads));
  return failed(answer::ending::crashed,
                fmt::format("has {} threads but began with {}; {}", threads, threads_, one_thread));
}

/// "; it printed last: " and the line printed during this request, or "": programs say why they give up.
std::string process_executor::last_words() const {
  std::string_view rest = std::string_view(printed_).substr(std::min(printed_before_, printed_.size()));
  while (rest.ends_with('\n')) rest.remove_suffix(1);
  rest.remove_prefix(rest.find_last_of('\n') + 1);
  return rest.empty() ? "" : fmt::format("; it printed last: {}", rest);
}

/// The socket is closed, or the runner sent something other than an answer: how did it end?
answer process_executor::ended() {
  if (program_ > 0) thaw(program_);  // otherwise it cannot end
  int status = 0;
  const auto deadline = clock::now() + std::chrono::seconds(1);
  pid_t reaped = 0;
  while ((reaped = waitpid(child_.process, &status, WNOHANG)) == 0 && clock::now() < deadline) {
    drain();
    usleep(1000);
  }
  if (reaped != child_.process)
    return failed(answer::ending::crashed, "the program closed its connection to the grader");
  kill(-child_.process, SIGKILL);  // orphaned children
  drain();
  child_.process = program_ = -1;
  // The box exits with its program's status, and reports a signal as a shell does.
  const int code = exit_code_of(status);
  if (code == 128 + SIGSYS && !mode_.threads)  // the runner's own filter
    return failed(answer::ending::crashed, fmt::format("starts a thread or a process; {}", one_thread));
  if (const int number = code - 128; number > 0)
    return failed(
        answer::ending::crashed,
        fmt::format("the program was killed by SIG{} ({}){}", sigabbrev_np(number) ? sigabbrev_np(number) : "?",
                    sigdescr_np(number) ? sigdescr_np(number) : "unknown signal", last_words()));
  return failed(answer::ending::crashed,
                fmt::format("the program ended before it answered (exit code {}){}", code, last_words()));
}

/// The time since the request began, as far as it counts. This excludes time for which the runner, or the judge that
/// answers it, waited for a core: that is not the submission's fault. But a minimum always counts, so that every call
/// ends.
std::chrono::nanoseconds process_executor::counted() {
  const int program = program_ > 0 ? program_ : program_in(child_.process);
  if (program > 0) waited_ = waited_by(program) - (program_ > 0 ? waited_before_ : 0);
  const std::chrono::nanoseconds passed = clock::now() - began_;
  const std::chrono::duration<double> waited(waited_ + waited_by_task(gettid()) - judge_waited_before_);
  return std::max(passed - std::chrono::duration_cast<std::chrono::nanoseconds>(waited), passed / patience);
}

std::optional<answer> process_executor::wait_for(const std::function<bool()>& reached, wait how) {
  constexpr auto worth_spinning = std::chrono::microseconds(200);  // then yield the core to other processes
  constexpr clock::duration look_every = std::chrono::milliseconds(20);
  constexpr clock::duration shortest_nap = std::chrono::microseconds(10), longest_nap = std::chrono::milliseconds(1);
  const auto begun = clock::now();
  auto looked = begun;
  for (unsigned turn = 1;; ++turn) {
    if (reached()) return {};
    if (turn % 16 != 0 && how == wait::spin) {
      machine::pause();
      continue;
    }
    const auto now = clock::now();
    if (now > began_ + limit_ && counted() > limit_)
      return failed(answer::ending::timed_out,
                    fmt::format("no answer after {:g} s", static_cast<double>(allowed_.per_request.count()) / 1000.0));
    if (now - looked > look_every) {
      looked = now;
      if (drain() && how == wait::sleep) how = wait::nap;
      pollfd ends[] = {{child_.death, POLLIN, 0}, {socket_, 0, 0}};  // the second: it has closed the connection
      if (poll(ends, 2, 0) > 0) return ended();
      if (program_ > 0 && memory_of_tree(program_) > allowed_.memory)
        return failed(answer::ending::crashed, fmt::format("used more than {} MiB of memory", allowed_.memory >> 20));
    }
    if (how == wait::sleep) {
      sleep_while(control_of(shared_).news, 0, look_every);
      continue;
    }
    if (how == wait::spin && now - begun < worth_spinning) continue;
    // Each poll takes time from a core that the runner may need. Sleeping for a tenth of the elapsed time delays an
    // answer by at most that share.
    const auto nap = how == wait::nap       ? std::clamp<clock::duration>((now - begun) / 10, shortest_nap, longest_nap)
                     : how == wait::message ? look_every
                                            : shortest_nap;
    const timespec moment{0, std::chrono::nanoseconds(nap).count()};
    // A submission that prints a lot must not wait for us.
    pollfd changes[] = {{child_.output, POLLIN, 0}, {how == wait::message ? socket_ : -1, POLLIN, 0}};
    if (ppoll(changes, 2, &moment, nullptr) > 0 && changes[0].revents & POLLIN)
      drain();
    else if (changes[0].revents)
      usleep(10);  // it closed its end
  }
}

/// One message, while the runner runs and prints.
std::optional<answer> process_executor::receive(std::string& text) {
  std::string received;
  std::size_t wanted = sizeof(std::uint32_t);  // first the length, then that many bytes
  bool has_length = false, gone = false, lie = false;
  const auto whole = [&] {
    char piece[64 << 10];
    while (!gone && received.size() < wanted) {
      const ssize_t got = recv(socket_, piece, std::min(sizeof piece, wanted - received.size()), MSG_DONTWAIT);
      if (got > 0) received.append(piece, static_cast<std::size_t>(got));
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
      gone = got <= 0;
      if (received.size() < wanted || has_length) continue;
      std::uint32_t length = 0;
      std::memcpy(&length, received.data(), sizeof length);
      lie = length > longest_message;
      if (lie) return true;
      has_length = true;
      received.clear();
      wanted = length;
    }
    return true;
  };
  if (auto instead = wait_for(whole, wait::message)) return instead;
  if (lie) return failed(answer::ending::crashed, no_answer);
  if (gone) return ended();
  text = std::move(received);
  return {};
}

bool process_executor::speaks() const {
  char byte = 0;
  return recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

answer process_executor::run(const lab::request& what, const buffer_access& buffers,
                             const std::function<void()>& settle,
                             const std::function<void(std::span<std::byte>)>& reply) {
  if (!allowed_.budget) return run_within(allowed_.per_request, what, buffers, settle, reply);
  time_budget& budget = *allowed_.budget;
  const auto used_up = [&] {
    return failed(answer::ending::timed_out,
                  fmt::format("the submission used up its {} s; the remaining items were not run", budget.all.count()));
  };
  if (budget.left().count() <= 0) return used_up();
  answer got =
      run_within(std::min<std::chrono::nanoseconds>(allowed_.per_request, budget.left()), what, buffers, settle, reply);
  budget.spent += counted();
  return got.end == answer::ending::timed_out && budget.left().count() <= 0 ? used_up() : got;
}

answer process_executor::run_within(std::chrono::nanoseconds limit, const lab::request& what,
                                    const buffer_access& buffers, const std::function<void()>& settle,
                                    const std::function<void(std::span<std::byte>)>& reply) {
  printed_before_ = printed_.size();
  const layout where = layout_of(what);
  const bool on_device = allowed_.device != nullptr;
  if (on_device ? !device_memory_ || device_memory_->bytes() < where.bytes : !shares(page_bytes + where.bytes)) {
    stop();
    share(where.bytes);
  }
  const std::span<std::byte> memory = on_device ? memory_.first(where.bytes) : shared_.subspan(page_bytes, where.bytes);
  // Stopping and waking the device's threads would take time on the one core of a timed call.
  const bool timed_on_host = settle && !on_device, alone = std::exchange(starts_over_, false) && !on_device;
  const bool wants_counts = what.count_calls && !timed_on_host;
  // Accesses of .cpp files are invisible, so they run in a process that counts nothing.
  const bool apart = what.on_host && !allowed_.trusted && !on_device;
  const mode wanted{timed_on_host || alone || wants_counts || what.threads > 1 || apart, wants_counts && !cannot_count_,
                    what.threads > 1, apart && !timed_on_host, lab::exchange_folder_if_any()};
  if (child_.process >= 0 && wanted != mode_) stop();
  mode_ = wanted;
  if (child_.process < 0) start();
  const bool counts = mode_.counted;
  control& gate = control_of(shared_);
  gate.ready.store(0);
  gate.go.store(0);
  gate.done.store(0);
  gate.news.store(0);
  began_ = clock::now();
  limit_ = limit;
  waited_ = 0;
  waited_before_ = program_ > 0 ? waited_by(program_) : 0;
  judge_waited_before_ = waited_by_task(gettid());
  if (program_ > 0) thaw(program_);
  lab::request ask = what;
  ask.resident = on_device;
  if (!send_message(socket_, lab::to_json(ask))) return ended();
  if (auto instead = wait_for([&] { return gate.ready.load() != 0 || gate.done.load() != 0; }, wait::nap))
    return *instead;
  if (program_ < 0) program_ = program_in(child_.process);
  if (program_ < 0) return ended();
  if (auto instead = hold()) return *instead;
  const files_in_use files_before = files_of(program_, mode_.exchange);
  // Memory allocated by global objects belongs to the submission, too.
  const std::size_t had = alone ? std::min(memory_of(program_).now, shared_.size() + most_code) : 0;

  if (buffers.give) buffers.give(memory);
  if (on_device) {  // it flushes the caches itself: only its own process has the GPU then
    device_memory_->write(memory);
    gate.go.store(1);
    thaw(program_);
    if (auto instead = wait_for([&] { return gate.ready.load() > 1 || gate.done.load() != 0; }, wait::nap))
      return *instead;
  }
  std::optional<on_one_core> together;
  if (timed_on_host) {
    together.emplace(program_);
    // If the runner had to wait for a core here, it would also wait in the call: choose another core.
    std::size_t& core = beside_ ? beside_->core_ : core_;
    for (std::size_t tries = 0; tries < std::min<std::size_t>(together->cores(), 4); ++tries) {
      together->use(core);
      const double waited = waited_by_task(gettid()), start = lab::raw_seconds();
      settle();
      if (waited_by_task(gettid()) - waited < 0.01 * (lab::raw_seconds() - start)) break;
      core = (core + 1) % together->cores();
    }
  }
  std::vector<std::byte> mailbox;
  const auto finished = [&] {
    const bool news = gate.news.exchange(0) != 0;
    if (gate.done.load() != 0) return true;
    if (news && reply && !what.output_specs.empty()) {
      // In our own memory: the submission can write while we read.
      const std::span<std::byte> theirs = memory.subspan(where.outputs.back(), what.output_specs.back().bytes());
      mailbox.assign(theirs.begin(), theirs.end());
      reply(mailbox);
      std::copy(mailbox.begin(), mailbox.end(), theirs.begin());
      set_and_wake(gate.answered);
    }
    return false;
  };
  const double faults_before = counts ? faults_of(program_) : 0;
  if (counts) counter_->begin(gate.done);
  const double ran = ran_by(program_), waited = waited_by_task(program_), start = lab::raw_seconds();
  gate.go.store(on_device ? 2 : 1);
  thaw(program_);
  // Polling would take half a core from the simulated device. A GPU's call ends within microseconds.
  const bool looks = on_device && !together && !counts;
  if (auto instead = wait_for(finished, looks    ? wait::spin
                                        : counts ? wait::nap  // the call that would wake us needs our answer
                                                 : wait::sleep))
    return *instead;
  double seconds = lab::raw_seconds() - start;
  const double waited_in_it = waited_by_task(program_) - waited;  // later it would include waiting for us to stop it
  if (auto instead = hold(static_cast<std::size_t>(what.threads) - 1)) return *instead;
  std::map<std::string, double> calls;
  if (counts) calls = counter_->end();
  const double faults = counts ? faults_of(program_) - faults_before : 0;
  // Work after "done" or in other threads is part of the call, except on a GPU, where the driver's threads run, too.
  if (!allowed_.driver) seconds = std::max(seconds, ran_by(program_) - ran);
  const files_in_use files_after = files_of(program_, mode_.exchange);
  const std::size_t has_had = alone ? memory_of(program_).most : 0;
  together.reset();
  if (on_device && buffers.take) device_memory_->read(memory);
  if (buffers.take) buffers.take(memory);

  // The runner answers once, after the outputs are taken: a second answer comes from the submission.
  if (speaks()) return failed(answer::ending::crashed, no_answer);
  gate.go.store(control::taken);
  thaw(program_);
  std::string text;
  if (auto instead = receive(text)) return *instead;
  if (auto instead = hold(static_cast<std::size_t>(what.threads) - 1)) return *instead;
  if (speaks()) return failed(answer::ending::crashed, no_answer);
  // A joined thread may take a moment to disappear.
  for (int moments = 0; what.threads > 1; ++moments) {
    const std::size_t now = tasks_of(program_).size(), more = now - std::min(now, threads_);
    if (more == 0) break;
    if (moments == 500)
      return failed(answer::ending::crashed, fmt::format("left {} thread{} running", more, more == 1 ? "" : "s"));
    thaw(program_);
    usleep(2000);
    if (auto instead = hold(static_cast<std::size_t>(what.threads) - 1)) return *instead;
  }
  drain();
  try {
    answer got{answer::ending::answered,
               lab::response_from_json(text),
               {},
               seconds,
               counts,
               std::move(calls),
               faults,
               waited_in_it,
               has_had - std::min(had, has_had)};
    if (says_more_than_asked(what, mode_.host_only, got.response)) return failed(answer::ending::crashed, no_answer);
    if (got.response.error.empty()) got.response.error = left_of(files_before, files_after);
    // After some errors a GPU refuses all further requests of the process, so the next call gets a new process.
    if (!got.response.error.empty() && !allowed_.outlives_errors) stop();
    return got;
  } catch (const std::runtime_error&) {
    return failed(answer::ending::crashed, no_answer);
  }
}

}  // namespace grading
