// The debugger's view of a kernel, and the calls that simcc -G inserts before each line. Always compiled with -g: the
// debugger reads the types from this file.
#define SIM_DEFINE_LINE_FUNCTION  // sim_line, in assembly: sim/machine.h
#include "debugger.hpp"

#include <sys/mman.h>

#include "faults.hpp"
#include "hooks.hpp"
#include "settings.hpp"
#include "worker.hpp"

namespace sim {

debugged_kernel debugged = [] {
  debugged_kernel none;
  none.attached = setting("SIM_DEBUG") != nullptr;
  return none;
}();

namespace {
const launched* running = nullptr;
}

bool stop_place::takes(const uint3& b, const uint3& t) const {
  const auto same = [](const int(&wanted)[3], const uint3& i) {
    const unsigned is[3] = {i.x, i.y, i.z};
    for (int k = 0; k < 3; ++k)
      if (wanted[k] >= 0 && static_cast<unsigned>(wanted[k]) != is[k]) return false;
    return true;
  };
  return same(block, b) && same(thread, t);
}

void leave_out_of_dumps(void* begin, std::size_t bytes) {
  if (debugged.attached) madvise(begin, bytes, MADV_DONTDUMP);
}
void keep_in_dumps(std::uintptr_t begin, std::size_t bytes) {
  const std::uintptr_t page = page_bytes();
  const std::uintptr_t first = begin / page * page, last = (begin + bytes + page - 1) / page * page;
  if (debugged.attached) madvise(reinterpret_cast<void*>(first), last - first, MADV_DODUMP);
}

void begin_debugged_launch(const launched& what) {
  if (!debugged.attached) return;
  running = &what;
  debugged.kernel = what.kernel.c_str();
  ++debugged.launches;
  debugged.grid = what.config.grid;
  debugged.block_size = what.config.block;
  debugged.arrays = shared_arrays().data();
  debugged.array_count = shared_arrays().size();
  debugged.dynamic_shared_bytes = what.config.dynamic_shared_bytes;
  debugged.threads = nullptr;
  debugged.thread_count = 0;
  debugged.focus = -1;
  sim_debugger_launch();
}

void end_debugged_launch() {
  running = nullptr;
  debugged.kernel = nullptr;
  debugged.threads = nullptr;
  debugged.thread_count = 0;
}

void tell_debugger(const launch_counts& so_far, const fault_report& report) {
  if (!running || is_excused(so_far, report)) return;
  const std::string text = describe(*running, report);
  debugged.report = text.c_str();
  debugged.report_thread = report.thread;
  sim_debugger_report();
  debugged.report = nullptr;
}

// ---- worker: lanes advance together

/// The lanes to run now: those between two lines; otherwise those in the deepest call at the lowest line, so that lanes
/// meet again after a branch, call or loop. The first to reach a line may stop there.
unsigned worker::lanes_in_step(unsigned first, unsigned count) {
  unsigned between = 0, together = 0;
  std::uintptr_t depth = 0, line = 0;
  for (unsigned lane = 0; lane < count; ++lane) {
    const thread_state& t = threads()[first + lane];
    if (t.now != state::fresh && t.now != state::ready) continue;
    const std::uintptr_t deep = t.line == 0 ? 0 : reinterpret_cast<std::uintptr_t>(t.stack->top) - t.frame;
    if (t.line == 0) between |= 1u << lane;
    if (t.line == 0 || deep < depth || (deep == depth && t.line > line)) continue;
    if (deep > depth || t.line < line || line == 0) together = 0;
    depth = deep;
    line = t.line;
    together |= 1u << lane;
  }
  leader_ = -1;
  if (between != 0) return between;
  const auto lead = [&](auto&& may) {
    for (unsigned lane = 0; lane < count && leader_ < 0; ++lane)
      if ((together >> lane & 1) && may(threads()[first + lane])) leader_ = static_cast<int>(first + lane);
  };
  bool known = false;  // a breakpoint names threads at this line
  if (debugged.focus >= static_cast<int>(first) && debugged.focus < static_cast<int>(first + count) &&
      (together >> (debugged.focus - static_cast<int>(first)) & 1))
    leader_ = debugged.focus;
  for (unsigned i = 0; i < debugged.place_count; ++i)
    if (debugged.places[i].pc == line) {
      known = true;
      lead([&](const thread_state& t) { return debugged.places[i].takes(blockIdx, t.index); });
    }
  if (!known) lead([](const thread_state&) { return true; });
  return together;
}

/// Called when the thread reaches a line of a program built by simcc -G: lets the warp's other lanes reach it, too.
/// Returns whether the thread may stop there.
bool worker::reach_line(std::uintptr_t pc, std::uintptr_t frame) {
  if (!debugged.attached) return true;
  thread_state& self = *current_;
  self.line = pc;
  leave(frame);
  self.line = 0;
  if (leader_ == static_cast<int>(current_number_)) return true;
  for (unsigned i = 0; i < debugged.place_count; ++i)
    if (debugged.places[i].pc == pc && debugged.places[i].each && debugged.places[i].takes(blockIdx, self.index))
      return true;
  return false;
}

}  // namespace sim

extern "C" {

[[gnu::noinline]] void sim_debugger_launch() { asm volatile("" ::: "memory"); }
[[gnu::noinline]] void sim_debugger_report() { asm volatile("" ::: "memory"); }

[[gnu::used]] std::uintptr_t sim_reach_line(std::uintptr_t pc, std::uintptr_t frame) {
  if (!sim_running_worker) return 1;  // no kernel thread: the host checks which kernel a launch would run
  return sim_running_worker->reach_line(pc, frame) ? 0 : 1;
}
}
