// Maps each case to a function of the contract. Inputs and expected values are in cases.cpp. Nothing here calls the
// kernel while system calls are counted.
#include <lab/call.hpp>
#include <lab/device.hpp>
#include <lab/execute.hpp>
#include <lab/host_accesses.hpp>
#include <lab/small_work.hpp>

#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cache.hpp"
#include "host.hpp"
#include "layer_weights.hpp"
#include "readers.hpp"

namespace {

/// The most bytes that one read returns, as on file systems where signals interrupt calls.
std::size_t most_at_once = std::numeric_limits<std::size_t>::max();

/// Passes `call` as much of the buffers as this limit allows.
template <class function>
ssize_t read_some(const iovec* buffers, int count, function call) {
  std::size_t left = most_at_once;
  std::array<iovec, 1024> some;  // the kernel's limit
  int taken = 0;
  for (; taken < count && static_cast<std::size_t>(taken) < some.size() && left > 0; ++taken) {
    const iovec& whole = buffers[taken];
    some[static_cast<std::size_t>(taken)] = {whole.iov_base, std::min(whole.iov_len, left)};
    left -= some[static_cast<std::size_t>(taken)].iov_len;
  }
  return call(some.data(), taken);
}

/// Makes a system call through the C library's own syscall().
template <class... arguments>
long call_kernel(long number, arguments... all) {
  static const auto own = reinterpret_cast<long (*)(long, ...)>(dlsym(RTLD_NEXT, "syscall"));
  return own(number, all...);
}

}  // namespace

// These replace the C library's functions: loader.cpp calls them, and each makes one system call. <atomic> and other
// parts of C++ need syscall() only to wait; with an arbitrary number, it would bypass these functions and reach the
// judge's connection.
extern "C" {
long syscall(long number, ...) {
  std::array<long, 6> all{};
  va_list rest;
  va_start(rest, number);
  for (long& one : all) one = va_arg(rest, long);
  va_end(rest);
  if (number != SYS_futex && number != SYS_seccomp && lab::backend_name() == "sim") {  // a GPU's driver makes others
    std::printf("your files may not make system calls by their number; call the functions that host.hpp lists\n");
    std::fflush(stdout);
    std::abort();
  }
  return call_kernel(number, all[0], all[1], all[2], all[3], all[4], all[5]);
}
ssize_t read(int file, void* to, std::size_t bytes) {
  return call_kernel(SYS_read, file, to, std::min(bytes, most_at_once));
}
ssize_t pread(int file, void* to, std::size_t bytes, off_t offset) {
  return call_kernel(SYS_pread64, file, to, std::min(bytes, most_at_once), offset);
}
ssize_t pread64(int file, void* to, std::size_t bytes, off64_t offset) { return pread(file, to, bytes, offset); }
ssize_t readv(int file, const iovec* buffers, int count) {
  return read_some(buffers, count,
                   [=](const iovec* some, int taken) { return call_kernel(SYS_readv, file, some, taken); });
}
ssize_t preadv(int file, const iovec* buffers, int count, off_t offset) {
  return read_some(buffers, count,
                   [=](const iovec* some, int taken) { return call_kernel(SYS_preadv, file, some, taken, offset, 0); });
}
ssize_t preadv64(int file, const iovec* buffers, int count, off64_t offset) {
  return preadv(file, buffers, count, offset);
}
}

namespace {

using namespace lab12;

/// Inputs: a path; offset, bytes and address of each tensor. Outputs: memory; ...
std::array<tensor, 500> tensors;
std::size_t tensors_of(const lab::call& c) {
  const auto count = std::min(static_cast<std::size_t>(c.parameters[1]), tensors.size());
  const auto* table = c.input<std::int64_t>(1);
  for (std::size_t i = 0; i < count; ++i, table += 3)
    tensors[i] = {table[0], table[1], c.output<std::byte>(0) + table[2]};
  return count;
}

/// Returns 1 if `load` returns true, 0 if false, but 2 if several more calls leave memory allocated. The first call may
/// allocate what all calls share.
int load_and_again(const char* path, std::size_t count, bool again) {
  const bool said = load(path, tensors.data(), count);
  if (!again) return said ? 1 : 0;
  constexpr std::size_t calls = 8;
  const std::size_t before = lab::bytes_allocated();
  for (std::size_t i = 0; i < calls; ++i)
    if (load(path, tensors.data(), count) != said) return said ? 0 : 1;
  if (lab::bytes_allocated() >= before + 16 * calls) return 2;
  return said ? 1 : 0;
}

template <void (*function)(const char*, std::byte*)>
void whole_file(const lab::call& c) {
  function(c.input<char>(0), c.output<std::byte>(0));
}

struct through_a_cache : lab::host_watcher {
  void see(std::uintptr_t address, std::size_t bytes, bool) override { seen.access(address, bytes); }
  cache seen;
};

/// The writable memory of the program's variables, in order: ranges [from, to).
const std::vector<std::pair<std::uintptr_t, std::uintptr_t>>& variables() {
  static const auto all = [] {
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> found;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
          for (int i = 0; i < info->dlpi_phnum; ++i)
            if (const auto& part = info->dlpi_phdr[i]; part.p_type == PT_LOAD && (part.p_flags & PF_W))
              static_cast<decltype(found)*>(to)->push_back(
                  {info->dlpi_addr + part.p_vaddr, info->dlpi_addr + part.p_vaddr + part.p_memsz});
          return 0;
        },
        &found);
    return found;
  }();
  return all;
}
bool is_variable(std::uintptr_t address) {
  return std::any_of(variables().begin(), variables().end(),
                     [=](const auto& range) { return range.first <= address && address < range.second; });
}

/// Records the accesses to a worker's totals, the last place stored to, and how often a 64-bit total had grown at the
/// next access to any memory. Also records stores to variables that all workers share; not to the stack, where each
/// worker has its own, nor to allocated memory: a worker may get what an earlier one has freed.
struct within : lab::host_watcher {
  void see(std::uintptr_t address, std::size_t size, bool store) override {
    look();
    if (address - begin >= bytes) {
      if (!store || !is_variable(address)) return;
      if (std::exchange(busy, true)) return;  // our set may use a submission's instrumented copy of its functions
      seen.push_back({address, true});
      for (std::uintptr_t word = address / 8; word <= (address + size - 1) / 8; ++word) words.insert(word);
      busy = false;
      return;
    }
    seen.push_back({address, store});
    if (store) last = address;
    if (store && size == sizeof most) stored = address;
  }
  void look() {
    if (const std::uintptr_t from = std::exchange(stored, 0)) {
      std::int64_t total = 0;
      std::memcpy(&total, reinterpret_cast<const void*>(from), sizeof total);
      if (total > most) ++grown, most = total;
    }
  }
  std::uintptr_t begin = 0, stored = 0, last = 0;
  std::size_t bytes = 0;
  std::int64_t most = 0, grown = 0;
  std::vector<shared_access> seen;
  std::unordered_set<std::uintptr_t> words;  ///< of variables
  bool busy = false;
};

/// A stack that shows how much of it a call used. No hook reports accesses to a local array that never escapes, so a
/// large one would act as a cache that the model does not see.
class measured_stack {
 public:
  static constexpr std::size_t most = 96 << 10;  ///< 64 KiB of arrays, as host.hpp says, plus what calls need

  /// Calls f on this stack, and returns how many of its bytes changed.
  static std::size_t used_by(const std::function<void()>& f) {
    mprotect(memory, guard, PROT_NONE);
    std::byte* const begin = memory + guard;
    std::fill_n(begin, bytes, untouched);
    now = &f;
    thrown = nullptr;
    ucontext_t here, there;
    getcontext(&there);
    there.uc_stack.ss_sp = begin;
    there.uc_stack.ss_size = bytes;
    there.uc_link = &here;
    makecontext(&there, call, 0);
    swapcontext(&here, &there);
    if (thrown) std::rethrow_exception(thrown);
    return bytes - static_cast<std::size_t>(
                       std::find_if(begin, begin + bytes, [](std::byte b) { return b != untouched; }) - begin);
  }

 private:
  static void call() {
    try {
      (*now)();
    } catch (...) {
      thrown = std::current_exception();
    }
  }
  static constexpr std::size_t guard = 60 << 20, bytes = 4 << 20;
  static constexpr std::byte untouched{0xA5};
  alignas(4096) static inline std::byte memory[guard + bytes];
  static inline const std::function<void()>* now = nullptr;
  static inline std::exception_ptr thrown;
};

/// A copy of an array that ends at an inaccessible page, so that reading past it crashes.
class guarded {
 public:
  guarded(const float* from, std::size_t count)
      : bytes_((count * sizeof(float) + page_bytes - 1) / page_bytes * page_bytes + page_bytes),
        memory_(static_cast<std::byte*>(
            mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    mprotect(memory_ + bytes_ - page_bytes, page_bytes, PROT_NONE);
    numbers_ = reinterpret_cast<float*>(memory_ + bytes_ - page_bytes) - count;
    std::copy_n(from, count, numbers_);
  }
  ~guarded() { munmap(memory_, bytes_); }
  guarded(const guarded&) = delete;  // owns the memory
  guarded& operator=(const guarded&) = delete;
  const float* numbers() const { return numbers_; }

 private:
  std::size_t bytes_;
  std::byte* memory_;
  float* numbers_ = nullptr;
};

void run_attention(const lab::call& c) {
  const std::size_t count = static_cast<std::size_t>(c.parameters[0]) * static_cast<std::size_t>(c.parameters[1]);
  const guarded q(c.input<float>(0), count), k(c.input<float>(1), count), v(c.input<float>(2), count);
  through_a_cache watching;
  const std::size_t stack = measured_stack::used_by(
      [&] { attention(c.output<float>(1), q.numbers(), k.numbers(), v.numbers(), c.parameter(0), c.parameter(1)); });
  if (stack > measured_stack::most)
    throw std::runtime_error("took " + std::to_string(stack >> 10) +
                             " KiB of the stack, where the cache does not see every access; arrays there may take " +
                             "64 KiB: allocate larger ones, as std::vector does");
  const cache& seen = watching.seen;
  std::copy_n(std::array{static_cast<double>(seen.last_misses), static_cast<double>(seen.first_misses),
                         static_cast<double>(seen.accesses)}
                  .begin(),
              3, c.output<double>(0));
}

/// Two threads add to numbers at these two places and, in turn, to numbers on separate pages. Returns the speed of the
/// former relative to the latter, or nothing if the two rarely ran at the same time, as on a busy machine.
std::optional<double> measured_sharing(std::int64_t* one, std::int64_t* other) {
  using clock = std::chrono::steady_clock;
  constexpr int additions = 20'000, enough = 20;
  alignas(page_bytes) static std::int64_t apart[2 * page_bytes / sizeof(std::int64_t)];
  const std::array<std::array<std::int64_t*, 2>, 2> to{
      {{one, other}, {apart, apart + page_bytes / sizeof(std::int64_t)}}};
  std::array<std::vector<double>, 2> seconds;           // at the given places; on separate pages
  std::array<std::array<clock::time_point, 2>, 2> ran;  // by thread: from, to
  std::atomic<int> arrived = 0;
  std::atomic<bool> done = false;
  const auto few = [&] { return std::min(seconds[0].size(), seconds[1].size()) < enough; };
  const auto body = [&](std::size_t self) {
    const auto late = clock::now() + std::chrono::milliseconds(500);
    auto meet = [&, all = 0]() mutable {
      for (++arrived, all += 2; arrived < all;) std::this_thread::yield();
    };
    for (std::size_t kind = 0;; kind = 1 - kind) {
      if (self == 0) done = !few() || clock::now() > late;
      meet();
      if (done) return;
      ran[self][0] = clock::now();
      for (int i = 0; i < additions; ++i) std::atomic_ref(*to[kind][self]).fetch_add(1, std::memory_order_relaxed);
      ran[self][1] = clock::now();
      meet();
      if (self == 1) continue;
      const std::chrono::duration<double> any = std::max(ran[0][1], ran[1][1]) - std::min(ran[0][0], ran[1][0]),
                                          both = std::min(ran[0][1], ran[1][1]) - std::max(ran[0][0], ran[1][0]);
      if (both > 0.75 * any) seconds[kind].push_back(any.count());
    }
  };
  std::thread second(body, 1);
  body(0);
  second.join();
  if (few()) return {};
  const auto median = [](std::vector<double>& all) {
    std::nth_element(all.begin(), all.begin() + enough / 2, all.begin() + enough);
    return all[enough / 2];
  };
  return std::min(1.0, median(seconds[1]) / median(seconds[0]));
}

/// Runs the workers one after another; the model then interleaves their accesses, and two threads measure two places
/// that workers chose, on the same line if possible. If that is impossible, as on one core, the model alone decides.
void run_count_positive(const lab::call& c) {
  const int workers = c.parameter(1);
  auto* const totals = c.output<std::int64_t>(2);
  const std::size_t bytes = bytes_per_worker * static_cast<std::size_t>(workers);
  std::fill_n(totals, bytes / sizeof *totals, 0);
  std::vector<std::vector<shared_access>> all;
  std::set<std::int64_t*> places;
  std::unordered_set<std::uintptr_t> words;
  double grown = sim_watch_host ? 0 : std::numeric_limits<double>::infinity();  // infinity: no hooks, so not counted
  for (int w = 0; w < workers; ++w) {
    within watching;
    watching.begin = reinterpret_cast<std::uintptr_t>(totals);
    watching.bytes = bytes;
    count_positive(totals, c.input<std::int32_t>(0), static_cast<std::size_t>(c.parameters[0]), w, workers);
    watching.look();
    grown += static_cast<double>(watching.grown);
    if (watching.last != 0) places.insert(totals + (watching.last - watching.begin) / sizeof *totals);
    all.push_back(std::move(watching.seen));
    for (const std::uintptr_t word : watching.words)
      if (!words.insert(word).second)
        throw std::runtime_error(
            "worker " + std::to_string(w) + " and an earlier one store to the same variable, but " +
            "all run at the same time; keep what a worker counts in its part of `totals`, or in " + "local variables");
  }
  for (int w = 0; w < workers; ++w) c.output<std::int64_t>(1)[w] = total_of(totals, w, workers);
  const std::uint64_t moved = lines_moved(all);
  double speed = moved == 0 ? 1 : 0;
  if (places.size() >= 2 && c.parameters[2] != 0 && std::thread::hardware_concurrency() > 1) {
    const auto line = [&](const std::int64_t* place) { return (place - totals) * sizeof *place / line_bytes; };
    auto one = std::adjacent_find(places.begin(), places.end(), [&](auto* a, auto* b) { return line(a) == line(b); });
    const bool by_variables = one == places.end() && moved > 0;
    if (one == places.end()) one = places.begin();
    if (!by_variables) speed = measured_sharing(*one, *std::next(one)).value_or(speed);
  }
  std::copy_n(std::array{static_cast<double>(moved), grown, speed}.begin(), 3, c.output<double>(0));
}

// ---- pool ---------------------------------------------------------------------------------------------------------

constexpr int most_parts = 1000, functions = 2, states = 2;

struct operation;
operation& operation_of(const void* state);

struct operation {
  std::array<std::array<std::atomic<std::int32_t>, most_parts>, functions> calls{};
  std::int64_t rounds = 0;
  std::atomic<std::int64_t> sink = 0;
  int meeting = 0;                  ///< number of parts that have begun
  int together = 0;                 ///< number of parts that must run at the same time
  int waiting = 0;                  ///< the first `waiting` parts wait until a group of `together` has begun
  bool stay = false;                ///< they then stay for a moment, so that all threads that take parts are there
  int inside = 0, most_inside = 0;  ///< number of parts that wait or stay, in this operation
  bool met = true;                  ///< in all operations
  std::atomic<int> ended = 0;

  template <std::size_t function>
  static void work(void* state, int part) {
    operation& self = operation_of(state);
    if (part < 0 || part >= most_parts) return;
    ++self.calls[function][static_cast<std::size_t>(part)];
    if (self.rounds > 0) self.sink.fetch_add(lab::small_work(self.rounds, part), std::memory_order_relaxed);
    if (self.together > 0) self.meet();
    ++self.ended;
  }

 private:
  // Sleeps: polling threads would leave the core to other programs on this machine.
  void meet() {
    std::unique_lock held(lock_);
    if (meeting >= waiting) return;
    most_inside = std::max(most_inside, ++inside);
    const int group_end = (meeting++ / together + 1) * together;
    if (meeting == group_end) all_here_.notify_all();
    if (!all_here_.wait_for(held, std::chrono::seconds(2), [&] { return meeting >= group_end || !met; })) met = false;
    if (!met) all_here_.notify_all();
    held.unlock();
    if (stay) std::this_thread::sleep_for(std::chrono::microseconds(200));
    held.lock();
    --inside;
  }

  std::mutex lock_;
  std::condition_variable all_here_;
};

/// New pages at an address that nothing else reveals.
std::byte* pages_somewhere(std::size_t bytes, int access) {
  std::mt19937_64 random(std::random_device{}());
  auto* const hint =
      reinterpret_cast<void*>(std::uniform_int_distribution<std::uintptr_t>(1u << 20, 5u << 28)(random) * page_bytes);
  void* const memory = mmap(hint, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

/// The `state` given to a pool points into inaccessible pages, one for each state, far from what a pool must not
/// change, such as what parts wait for.
const std::byte* name_of_state(std::size_t which) {
  static const std::byte* const names = pages_somewhere(states * page_bytes, PROT_NONE);
  return names + which * page_bytes + page_bytes / 2;
}
std::array<operation, states>& all_operations() {
  using table = std::array<operation, states>;
  static table* const all = new (pages_somewhere(sizeof(table), PROT_READ | PROT_WRITE)) table;
  return *all;
}
operation& operation_of(const void* state) {
  const auto distance = reinterpret_cast<std::uintptr_t>(state) - reinterpret_cast<std::uintptr_t>(name_of_state(0));
  return all_operations()[distance / page_bytes % states];
}

struct spent {
  double processor_ms = 0, turns = 0;
  friend spent operator-(const spent& a, const spent& b) {
    return {a.processor_ms - b.processor_ms, a.turns - b.turns};
  }
};

/// The processor time of all threads, and how often one other than the caller gave up its core because it had to wait.
spent spent_now() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  rusage use{}, own{};
  getrusage(RUSAGE_SELF, &use);
  getrusage(RUSAGE_THREAD, &own);
  return {static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6,
          static_cast<double>(use.ru_nvcsw - own.ru_nvcsw)};
}

/// Runs parts that sleep, the first of them longer than the others. On the caller's thread a part returns as soon as
/// other threads have the rest. Returns the processor time of all threads in milliseconds: a caller that polls uses
/// most of the elapsed time, and so does a thread that polls after its last part.
double sleeping_parts(pool& p, int threads) {
  struct sleeper {
    std::thread::id caller = std::this_thread::get_id();
    std::mutex lock;
    std::condition_variable begun;
    int others = 0, rest = 0;
    void work() {
      std::unique_lock held(lock);
      if (std::this_thread::get_id() == caller) {
        begun.wait_for(held, std::chrono::seconds(2), [&] { return others >= rest; });
        return;
      }
      const bool first = ++others == 1;
      begun.notify_all();
      held.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(first ? 150 : 10));
    }
  };
  sleeper all;
  all.rest = threads - 1;
  const spent before = spent_now();
  if (threads > 1)
    run(
        p, [](void* state, int) { static_cast<sleeper*>(state)->work(); }, &all, threads);
  return (spent_now() - before).processor_ms;
}

/// Runs operations whose parts sleep for a few tenths of a millisecond and wait for no other part. If the caller tends
/// to take all parts, another thread gets one only by chance, unless a part sleeps long. Returns whether others took a
/// part in a quarter of the operations, and in at least a dozen; on a busy machine that may take many operations.
bool shares(pool& p, int threads) {
  struct sleeper {
    std::thread::id caller = std::this_thread::get_id();
    std::chrono::microseconds time{};
    std::atomic<bool> shared = false;
    static void work(void* state, int) {
      auto& self = *static_cast<sleeper*>(state);
      if (std::this_thread::get_id() != self.caller) self.shared = true;
      std::this_thread::sleep_for(self.time);
    }
  };
  constexpr int enough = 12, most = 300;
  std::minstd_rand random(std::random_device{}());
  int shared = 0;
  for (int i = 1; i <= most && threads > 1; ++i) {
    sleeper all;
    all.time = std::chrono::microseconds(std::uniform_int_distribution<int>(100, 400)(random));
    run(p, sleeper::work, &all, threads);
    shared += all.shared;
    if (shared >= enough && 4 * shared >= i) return true;
  }
  return threads == 1;
}

/// Two threads run two pools at the same time. Returns whether each part ran as often as it should.
bool separate(pool& one, pool& other) {
  constexpr int parts = 7, operations = 20;
  struct tally {
    std::array<std::atomic<int>, parts> calls{};
    std::atomic<bool> strayed = false;
    static void work(void* state, int part) {
      auto& self = *static_cast<tally*>(state);
      if (part < 0 || part >= parts)
        self.strayed = true;
      else
        ++self.calls[static_cast<std::size_t>(part)];
      std::this_thread::yield();
    }
    void run_in(pool& p) {
      for (int i = 0; i < operations; ++i) run(p, work, this, parts);
    }
    bool right() const {
      return !strayed && std::all_of(calls.begin(), calls.end(), [](const auto& n) { return n == operations; });
    }
  };
  tally first, second;
  std::thread meanwhile([&] { second.run_in(other); });
  first.run_in(one);
  meanwhile.join();
  return first.right() && second.right();
}

/// Whether most pools of a series leave memory allocated. The first few may allocate what all share, and sometimes
/// malloc itself keeps more, for threads that allocate at the same time. What malloc keeps counts as allocated and
/// varies, so memory must also grow over the whole series, in every round.
bool leave_memory(int threads) {
  constexpr std::size_t first = 8, more = 32, rounds = 5, bytes = 16;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::size_t grown = 0, at_first = 0;
    for (std::size_t i = 0; i < first + more; ++i) {
      const std::size_t before = lab::bytes_allocated();
      if (i == first) at_first = before;
      pool* const p = start_pool(threads);
      run(
          *p, [](void*, int) {}, nullptr, 2 * threads);
      stop_pool(p);
      grown += i >= first && lab::bytes_allocated() >= before + bytes;
    }
    if (4 * grown < 3 * more || lab::bytes_allocated() < at_first + more * bytes / 2) return false;
  }
  return true;
}

/// Gives the pool no work for this long, and longer while its threads use processor time: polling threads keep doing
/// so, even on a busy machine; sleeping threads make a few system calls. Returns the milliseconds of processor time
/// that they used, hardly any if they sleep and at least 5 in each of 8 rounds if they poll; and how often one of them
/// woke: sleeping threads do not.
spent idle(std::chrono::milliseconds time) {
  if (time.count() == 0) return {};
  std::this_thread::sleep_for(time / 10);  // until the last one sleeps
  const spent start = spent_now();
  spent last = start;
  for (int k = 0; k < 8; ++k) {
    std::this_thread::sleep_for(time);
    if (const spent before = std::exchange(last, spent_now()); last.processor_ms - before.processor_ms < 5) break;
  }
  return last - start;
}

/// Parameters: parts, operations, rounds of work in a part, threads; pools, each of which starts before the previous
/// one ends; whether parts wait for each other (1: in all operations; 2: in the first, the last and some others); the
/// minimum milliseconds without work at the end; whether every third operation has half of the parts. Input: for each
/// operation, 1 if parts wait for each other, 0 if not, -1 after the last one. Parts wait in groups as large as the
/// number of threads; up to half of all parts wait. Functions and states alternate: a pool must not keep those of an
/// earlier operation. Outputs: milliseconds of processor time while there was no work or parts slept, and how often a
/// thread woke while there was no work; how often each part was called with each function and state; 1 if all is well,
/// 0 if parts did not meet, 2 if run returned too early, 3 if pools leak memory, 4 if two concurrent pools interfere, 5
/// if the caller takes all parts, 6 if more parts run at a time than the threads and the caller can run.
void run_pool(const lab::call& c) {
  constexpr std::array<void (*)(void*, int), functions> work{operation::work<0>, operation::work<1>};
  const int threads = c.parameter(3);
  const auto* const plan = c.input<std::int32_t>(0);
  for (operation& now : all_operations()) {
    for (auto& one : now.calls)
      for (auto& calls : one) calls = 0;
    now.rounds = c.parameters[2];
    now.stay = c.parameter(5) == 1;
    now.met = true;
  }
  bool early = false, apart = true, alone = false, met = true, crowded = false;
  spent while_idle;
  pool* p = start_pool(threads);
  for (int pools = c.parameter(4); pools > 0; --pools) {
    pool* const next = pools > 1 ? start_pool(threads) : nullptr;
    for (int k = 0; k < c.parameter(1) && plan[k] >= 0; ++k) {
      const std::size_t which = static_cast<std::size_t>(k / functions % states);
      operation& now = all_operations()[which];
      const int parts = c.parameter(7) != 0 && k % 3 == 1 ? c.parameter(0) / 2 : c.parameter(0);
      now.meeting = now.most_inside = now.ended = 0;
      const int together = plan[k] > 0 ? std::min(parts, threads) : 0;
      const int waiting = together > 0 ? std::max(1, parts / 2 / together) * together : 0;
      now.together = together;
      now.waiting = waiting;
      run(*p, work[static_cast<std::size_t>(k % functions)], const_cast<std::byte*>(name_of_state(which)), parts);
      early = early || now.ended != parts;
      // Not what the table says now: a pool may have found it.
      met = met && (early || (now.meeting == waiting && now.most_inside >= together));
      crowded = crowded || now.most_inside > threads + 1;
    }
    if (next) apart = separate(*p, *next) && apart;
    if (c.parameter(5) == 1) alone = alone || !shares(*p, threads);
    const double asleep = c.parameters[6] > 0 ? sleeping_parts(*p, threads) : 0;
    while_idle = idle(std::chrono::milliseconds(c.parameters[6]));
    while_idle.processor_ms += asleep;
    stop_pool(std::exchange(p, next));
  }
  c.output<double>(0)[0] = while_idle.processor_ms;
  c.output<double>(0)[1] = while_idle.turns;
  auto* to = c.output<std::int32_t>(1);
  for (const operation& now : all_operations())
    for (const auto& one : now.calls) to = std::copy(one.begin(), one.end(), to);
  for (const operation& now : all_operations()) met = met && now.met;
  *c.output<std::int32_t>(2) = !met                                           ? 0
                               : early                                        ? 2
                               : !apart                                       ? 4
                               : alone                                        ? 5
                               : crowded                                      ? 6
                               : c.parameter(4) > 10 && leave_memory(threads) ? 3
                                                                              : 1;
}

// ---- streaming ------------------------------------------------------------------------------------------------------

/// Device memory in use, in bytes. On a GPU other programs may use it, too, so it is checked on the simulated device
/// only.
std::size_t used_memory() { return lab::objects_now().device_bytes; }

/// What forward does in host memory: it may copy weights there, in any way, but not compute with them.
struct beside_the_device : lab::host_watcher {
  void see(std::uintptr_t address, std::size_t bytes, bool store) override {
    constexpr std::size_t number = 32;      // at most what one instruction moves: more is a copy by memcpy
    if (std::exchange(busy, true)) return;  // our set may use a submission's instrumented copy of its functions
    // Some accesses to arrays on the stack are not seen, but copies to them are.
    const bool on_stack = address - reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) < 8 << 20;
    const bool is_number = bytes <= number;
    if (store && is_number) loaded -= std::min(loaded, bytes);  // a loop that copies stores what it loads
    if (store ? on_stack && !is_number : is_number) loaded += bytes;
    if (store && !on_stack) note(address, bytes);
    busy = false;
  }
  void note(std::uintptr_t address, std::size_t bytes) {
    for (std::uintptr_t page = address / page_bytes; page <= (address + bytes - 1) / page_bytes; ++page)
      stored.insert(page);
  }
  bool busy = false;
  std::size_t loaded = 0;                     ///< bytes that were not stored again
  std::unordered_set<std::uintptr_t> stored;  ///< pages
};

/// The source of forward's weights. The `state` that forward gets points to nothing.
struct source {
  static inline source* now = nullptr;
  std::uint64_t seed = 0;
  int layers = 0, n = 0;
  std::set<const float*> places;
  beside_the_device watching;
  std::size_t most_used = used_memory();
  static void read(void*, int layer, float* to) {
    source& self = *now;
    if (layer < 0 || layer >= self.layers) throw std::runtime_error("read was asked for a layer that does not exist");
    if (self.places.insert(to).second)
      self.watching.note(reinterpret_cast<std::uintptr_t>(to),
                         sizeof(float) * static_cast<std::size_t>(self.n * self.n));
    self.most_used = std::max(self.most_used, used_memory());
    fill_layer(self.seed, layer, self.n, to);
  }
};

/// Inputs: the token, and the seed of the weights. Parameters: layers, n.
void run_forward(const lab::call& c) {
  static char name;
  const auto made = std::make_unique<source>();
  source& from = *made;
  source::now = &from;
  from.layers = c.parameter(0);
  from.n = c.parameter(1);
  LAB_CUDA_CHECK(cudaMemcpy(&from.seed, c.input<std::uint64_t>(1), sizeof from.seed, cudaMemcpyDeviceToHost));
  const std::size_t used_at_first = from.most_used;
  const sim_objects before = lab::objects_now();
  lab::count_from_here();
  forward(c.output<float>(0), c.input<float>(0), {source::read, &name}, from.layers, from.n);
  if (from.places.size() > 3)
    throw std::runtime_error("weights were read to " + std::to_string(from.places.size()) +
                             " addresses; host memory has room for 3 layers");
  const std::size_t layer = sizeof(float) * static_cast<std::size_t>(from.n) * static_cast<std::size_t>(from.n);
  const std::size_t room = 3 * layer;
  if (const std::size_t loaded = from.watching.loaded;
      loaded > layer / 2 * static_cast<std::size_t>(from.layers) + (64 << 10))
    throw std::runtime_error("loaded " + std::to_string(loaded) + " bytes in host code, about as many as the weights " +
                             "have: layers are applied by the kernels of apply_layer; host code may only copy weights");
  if (const std::size_t stored = page_bytes * from.watching.stored.size(); stored > room + (1 << 20))
    throw std::runtime_error("stored to " + std::to_string(stored) +
                             " bytes of host memory; it has room for 3 layers, " + std::to_string(room) +
                             " bytes, and a MiB");
  if (const std::size_t used = from.most_used - used_at_first; used > room + (1 << 20))
    throw std::runtime_error("took " + std::to_string(used) + " bytes of device memory; it has room for 3 layers, " +
                             std::to_string(room) + " bytes, and a MiB");
  if (const std::string left = lab::new_objects(before); !left.empty())
    throw std::runtime_error("left " + left + " after it returned: free or destroy all that it allocated or created, " +
                             "pinned memory and instantiated graphs, too");
}

constexpr lab::entry table[] = {
    {"run", lab::part::host, run_pool},
    {"load", lab::part::host,
     [](const lab::call& c) {
       const std::size_t count = tensors_of(c);
       if (c.parameters[2] > 0) most_at_once = static_cast<std::size_t>(c.parameters[2]);
       // Only in a case without counters or timing: the small files with the most tensors.
       const bool again = count == tensors.size() && c.parameters[0] < 1 << 20;
       *c.output<std::int32_t>(1) = load_and_again(c.input<char>(0), count, again);
       most_at_once = std::numeric_limits<std::size_t>::max();
     }},
    {"generate", lab::part::host,
     [](const lab::call& c) {
       const auto size = static_cast<std::size_t>(c.parameters[0] + c.parameters[1]);
       std::fill_n(c.output<std::int64_t>(2), size, 1 << 30);  // arbitrary earlier contents
       mallopt(M_MMAP_THRESHOLD, 128 << 10);  // as in a new process: earlier calls would have raised it
       generate(c.output<int>(0), c.output<char>(1), c.output<std::int64_t>(2), c.input<std::int32_t>(0),
                c.input<std::int32_t>(1), c.parameter(0), c.parameter(1), c.parameter(2), c.parameter(3));
     }},
    {"attention", lab::part::host, run_attention},
    {"forward", lab::part::device, run_forward, true},
    {"count_positive", lab::part::host, run_count_positive},
    {"read_in_pieces", lab::part::host, whole_file<read_in_pieces>},
    {"read_at_once", lab::part::host, whole_file<read_at_once>},
    {"map_and_copy", lab::part::host, whole_file<map_and_copy>},
    {"allocate_often", lab::part::host,
     [](const lab::call& c) { allocate_often(c.output<std::byte>(0), c.parameter(0)); }},
    {"ask_the_clock", lab::part::host,
     [](const lab::call& c) { ask_the_clock(c.output<std::int64_t>(0), c.parameter(0)); }},
    {"lock_and_unlock", lab::part::host,
     [](const lab::call& c) { lock_and_unlock(c.output<std::int64_t>(0), c.parameter(0)); }},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
