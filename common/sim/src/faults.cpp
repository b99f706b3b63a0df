// The checkers' reports: which to keep, and their text.
#include "faults.hpp"

#include <fmt/format.h>

#include <fmt/ranges.h>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "devices.hpp"
#include "grid.hpp"
#include "heap.hpp"
#include "library.hpp"
#include "lines.hpp"
#include "program.hpp"
#include "report.hpp"
#include "runtime.hpp"
#include "streams.hpp"

namespace sim {
namespace {

std::string coordinates(std::uint64_t i, const dim3& of) {
  return fmt::format("({},{},{})", i % of.x, i / of.x % of.y, i / of.x / of.y);
}

const char* verb(operation op) {
  switch (op) {
    case operation::load: return "load";
    case operation::store: return "store";
    case operation::copy:
    case operation::copied: return "asynchronous copy";
    default: return "atomic";
  }
}

std::string line_text(std::uint64_t site) {
  const source_line at = line_of(site_pc(site));
  return fmt::format("{}:{}", at.file, at.line);
}

/// Up to three lines of a launch's `wanted` accesses; "" if there are none.
template <class Predicate>
std::string lines_where(const launched& where, Predicate wanted) {
  std::vector<std::string> lines;
  for (const auto& [key, c] : where.counts.sites) {
    if (!wanted(key.first, key.second, c)) continue;
    const std::string line = line_text(key.second);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  if (lines.size() > 3) lines.resize(3);
  return fmt::format("{}", fmt::join(lines, " or "));
}

/// The lines of a launch whose accesses near this address match `wanted`.
template <class Predicate>
std::string lines_that_touch(const launched& where, std::uintptr_t address, Predicate wanted) {
  const std::string lines = lines_where(where, [&](space memory, std::uint64_t site, const site_counts& c) {
    return memory == space::global && wanted(site_operation(site)) && c.low <= address && address < c.high;
  });
  return lines.empty() ? "an unknown line" : lines;
}

/// Suggests a fence for a race if the launch also has a flag or counter: an atomic or volatile access to one variable.
/// Within a block, counters usually count something else.
std::string missing_fence(const launched& where, const fault_report& r, const char* fence) {
  const std::string flags = lines_where(where, [&](space memory, std::uint64_t site, const site_counts& c) {
    const bool data = memory == r.where && c.low <= r.address && r.address < c.high;
    const bool counter = site_operation(site) == operation::atomic;
    return site_strength(site) != strength::plain && (!counter || r.what == fault::global_race) &&
           c.high - c.low <= sizeof(std::uint64_t) && !data;
  });
  if (flags.empty()) return "";
  return fmt::format("; or, if {} hands the data over, {} before it and after it{}", flags, fence,
                     r.what == fault::global_race && where.counts.fenced
                         ? ", since the kernel's fences and memory orders have only block scope"
                         : "");
}

/// Describes the access of a launch, copy or fill to this address.
std::string work_of_epoch(std::uint64_t epoch, std::uintptr_t address, bool loads) {
  const launched* of = nullptr;
  for (const launched& l : launch_log())
    if (l.first_epoch <= epoch && epoch <= l.last_epoch) of = &l;
  return of ? fmt::format(
                  "kernel {} at {}", of->kernel,
                  lines_that_touch(*of, address, [&](operation op) { return (op == operation::load) == loads; }))
            : "a copy or fill";
}

std::string place_of(const fault_report& r) {
  if (r.where != space::global || r.what == fault::illegal_address) return "";
  if (r.address - heap_base < heap_bytes) return place_in_allocation(r.address);
  const std::string variable = variable_at(r.address);
  return variable.empty() ? "" : ", of the variable '" + variable + "'";
}

}  // namespace

std::string place_in_allocation(std::uintptr_t address) {
  bool freed = false;
  const allocation *a = nearest_allocation(address, &freed), *next = next_allocation(address);
  const auto named = [](const allocation& one) {
    return fmt::format("{} of {} bytes", one.name.empty() ? fmt::format("allocation {}", one.number) : one.name,
                       one.end - one.begin);
  };
  const bool of_others = freed && freed_in_earlier_call(address);
  if (of_others) a = previous_allocation(address);
  if (a && address < a->end && a->in_padding(address))
    return fmt::format(", in the padding after row {} of {}: its rows have {} bytes, {} apart",
                       (address - a->begin) / a->pitch, named(*a), a->row_bytes, a->pitch);
  if (a && address < a->end) return fmt::format(", byte {} of {}", address - a->begin, named(*a));
  if (of_others && !a) return ", below all arrays, in memory that an earlier call has freed";
  const char* whose = of_others ? ", in memory that an earlier call has freed" : "";
  if (next && (!a || next->begin - address < address - a->end))  // an index below 0
    return fmt::format(", {} bytes before {}{}", next->begin - address, named(*next), whose);
  return a ? fmt::format(", {} bytes past the end of {}{}", address - a->end, named(*a), whose) : "";
}

bool is_excused(const launch_counts& c, const fault_report& r, bool fences_order_blocks) {
  if (r.what == fault::stream_race) return c.fenced_for_all || (c.hands_over_global && !site_in_block(r.site));
  if (r.what == fault::early_access) return c.hands_over_global;
  // A flag without a fence orders only itself.
  if (r.what == fault::global_race)
    return (c.fenced_for_all && fences_order_blocks) ||
           (c.hands_over_global && site_strength(r.site) != strength::plain && !site_in_block(r.site));
  // Data that a block hands to another is marked as written slightly late.
  if (r.what == fault::uninitialised && r.where == space::global)
    return ((c.fenced && fences_order_blocks) || c.hands_over_global) && is_valid(r.address, site_bytes(r.site));
  if (r.what != fault::block_race) return false;
  // As in the guide's atomicAdd for doubles: a load, then a compare-and-swap that fails if the value has changed.
  return (r.between_flags && c.fenced) ||
         (r.is_load_beside_atomic() && c.compared_loads.contains(static_cast<std::uint32_t>(r.site)));
}

namespace {
/// Fences order blocks only with a flag: an atomic or volatile access that all of them could have made. False if the
/// launch has fences but no such access.
bool may_hand_over(const launched& what) {
  const launch_counts& c = what.counts;
  const auto may_be_flag = [](const auto& site) {
    const operation op = site_operation(site.first.second);
    return site.first.first == space::global ? site_strength(site.first.second) != strength::plain
                                             : op >= operation::remote_load && op <= operation::remote_atomic;
  };
  const dim3& cluster = what.config.cluster;  // its barriers order its blocks
  return c.hands_over_global || what.blocks_run || sampling() != 1 || cluster.x * cluster.y * cluster.z != 1 ||
         std::any_of(c.sites.begin(), c.sites.end(), may_be_flag);
}
/// Both sides of a race report it; keep the load's report.
bool is_other_side(const fault_report& store, const fault_report& load) {
  return store.what == fault::block_race && load.what == store.what && site_operation(store.site) != operation::load &&
         site_operation(load.site) == operation::load && line_text(load.site) == line_text(store.other_site) &&
         line_text(load.other_site) == line_text(store.site);
}
}  // namespace

void settle_reports(launched& what) {
  auto& faults = what.counts.faults;
  const launch_counts& c = what.counts;
  const bool fences_order_blocks = faults.empty() || !c.fenced || may_hand_over(what);
  std::erase_if(faults, [&](const auto& entry) { return is_excused(c, entry.second, fences_order_blocks); });
  for (auto& [key, r] : faults) r.place = place_of(r);
  for (auto& [begin, counts] : what.counts.allocations)
    if (const allocation* a = find_allocation(begin)) {
      counts.bytes = a->end - a->begin;
      counts.pc = a->pc;
      counts.name = a->name;
    }
  // A spinning loop may have several loads on one line, and compilers duplicate loops.
  std::map<std::string, fault_report*> waits;
  for (auto next = faults.begin(); next != faults.end();) {
    fault_report& r = next->second;
    fault_report* kept = r.what == fault::infinite_wait ? waits.try_emplace(line_text(r.site), &r).first->second : &r;
    if (kept == &r) {
      ++next;
    } else {
      kept->merge(r, r.number);
      next = faults.erase(next);
    }
  }
  // The fix of a race between warps also fixes one within a warp.
  for (const auto& [key, r] : faults)
    for (auto& [of, o] : faults)
      if (is_other_side(r, o) && r.other == party::thread) o.other = party::thread;
  std::erase_if(faults, [&](const auto& entry) {
    const fault_report& r = entry.second;
    return std::any_of(faults.begin(), faults.end(), [&](const auto& other) {
      const fault_report& o = other.second;
      const auto pc = [](std::uint64_t site) { return site & 0xffff'ffff; };
      if (is_other_side(r, o)) return true;
      // A read that comes too early is first of all a race.
      if (r.what == fault::uninitialised && r.where == space::shared)
        return o.what == fault::block_race && (o.site == r.site || pc(o.other_site) == pc(r.site));
      const operation of_r = site_operation(r.site), of_o = site_operation(o.site);
      if (r.what != fault::global_race || o.what != r.what || of_r == of_o || of_r == operation::store ||
          of_o == operation::load)
        return false;
      const auto load = c.sites.find({space::global, r.site}), store = c.sites.find({space::global, o.site});
      return load != c.sites.end() && store != c.sites.end() &&  // bulk copies are counted elsewhere
             store->second.low <= r.address && r.address < store->second.high && load->second.low <= o.address &&
             o.address < load->second.high;
    });
  });
}

std::vector<const fault_report*> in_order(const launch_counts& counts) {
  std::vector<const fault_report*> all;
  for (const auto& [key, r] : counts.faults) all.push_back(&r);
  std::stable_sort(all.begin(), all.end(), [](const fault_report* a, const fault_report* b) {
    return std::tuple{a->block, a->number} < std::tuple{b->block, b->number};
  });
  return all;
}

std::string describe(const launched& where, const fault_report& r) {
  const auto& block = where.config.block;
  const std::string thread =
      fmt::format("block {} thread {}", coordinates(r.block, where.config.grid), coordinates(r.thread, block));
  const operation op = site_operation(r.site);
  const std::string access = fmt::format("{} of {} bytes", verb(op), site_bytes(r.site));
  const char* memory = r.where == space::global ? "global" : "shared";
  const std::string place = r.place.empty() ? place_of(r) : r.place;
  const bool one_store = op == operation::store && (r.site & 0xffff'ffff) == (r.other_site & 0xffff'ffff);
  const std::string advice =
      one_store ? "they store different values, and any of them may remain; let one thread store"
      : r.other != party::thread_of_warp
          ? "put __syncthreads() between the two" + missing_fence(where, r, "__threadfence_block()")
          : "put __syncwarp() between the two (or __syncthreads() if other warps share the data)" +
                missing_fence(where, r, "__threadfence_block()");
  std::string what;
  switch (r.what) {
    case fault::out_of_bounds:
      what = fmt::format("{} {} out of bounds{}; check the index against the size", memory, access,
                         r.where == space::shared ? r.detail : place);
      break;
    case fault::use_after_free: what = fmt::format("{} {} after cudaFree{}", memory, access, place); break;
    case fault::misaligned:
      what = fmt::format("misaligned {} {}; its address must be a multiple of {}", memory, access, site_bytes(r.site));
      break;
    case fault::uninitialised:
      what = r.other != party::copy
                 ? fmt::format("{} {} that were never written{}; write them first{}", memory, access, place,
                               r.where == space::shared ? ", then call __syncthreads()" : "")
                 : fmt::format(
                       "{} {} before the asynchronous copy to these bytes has completed; wait for the copy "
                       "(__pipeline_wait_prior), and put __syncthreads() after the wait",
                       memory, access);
      break;
    case fault::illegal_address:
      what =
          r.detail.starts_with("vtable for ")
              ? fmt::format(
                    "call of a virtual function of a {} that host code made: its table has the host's "
                    "functions; make the object in a kernel, or call without virtual functions",
                    r.detail.substr(11))
          : r.detail.empty()
              ? fmt::format("{} at {:#x}, which is not device memory; is it a host pointer, null, or below all arrays?",
                            access, r.address)
              : fmt::format(
                    "{} of the host variable '{}', which no kernel can reach; declare it __shared__ or "
                    "__device__, or pass its value to the kernel",
                    access, r.detail);
      break;
    case fault::other_device: what = fmt::format("{} of {}", access, r.detail); break;
    case fault::divergent_barrier:
      what = fmt::format("barrier not reached by all threads: {}; move it out of the branch", r.detail);
      break;
    case fault::assertion: what = fmt::format("assertion failed: {}", r.detail); break;
    case fault::trap: what = r.detail.empty() ? "__trap() stopped the kernel" : r.detail; break;
    case fault::missing_lane:
      what = fmt::format("warp function with lanes missing: {}; give it the mask of the lanes that call it", r.detail);
      break;
    case fault::block_race:
      what =
          r.where == space::global ? fmt::format("race between threads of a block: {}{}, and {} by thread {} at {}; {}",
                                                 access, place, verb(site_operation(r.other_site)),
                                                 coordinates(r.other_thread, block), line_text(r.other_site), advice)
          : r.other == party::reading_copy || r.other == party::reading_product
              ? fmt::format(
                    "race in shared memory: {} at byte {} of its array, which {} that thread {} issued at {} may "
                    "still read; wait for it first ({}), and put a barrier after the wait",
                    access, r.address, r.other == party::reading_copy ? "a bulk copy" : "a product (wgmma)",
                    coordinates(r.other_thread, block), line_text(r.other_site),
                    r.other == party::reading_copy ? "cp.async.bulk.wait_group.read" : "wgmma.wait_group")
          : r.other == party::copy
              ? fmt::format(
                    "race in shared memory: {} at byte {} of its array, before the asynchronous copy to these bytes "
                    "has completed (by thread {} at {}); wait for the copy (__pipeline_wait_prior, or its mbarrier), "
                    "and put __syncthreads() after the wait",
                    access, r.address, coordinates(r.other_thread, block), line_text(r.other_site))
              : fmt::format("race in shared memory: {} at byte {} of its array, and {} by thread {} at {}; {}", access,
                            r.address, verb(site_operation(r.other_site)), coordinates(r.other_thread, block),
                            line_text(r.other_site), advice);
      break;
    case fault::global_race: {
      const bool of_block = site_in_block(r.site), atomic = op == operation::atomic && !of_block;  // beside a store
      what = fmt::format(
          "race between blocks: {}{}, and {} by {} at {}; {}", access, place,
          op == operation::load || atomic ? "store" : "an access",
          r.other_block == some_block ? "another block" : "block " + coordinates(r.other_block, where.config.grid),
          lines_that_touch(where, r.address, [&](operation other) { return of_block || other != op; }),
          atomic     ? "set the value before the launch (cudaMemset), or store it by an atomic, such as atomicExch"
          : of_block ? "its scope is the block: use device scope, such as atomicAdd instead of atomicAdd_block, or "
                       "cuda::thread_scope_device"
                     : "blocks run in any order: use two launches, an atomic, or a grid-wide barrier" +
                           missing_fence(where, r, "__threadfence()"));
      break;
    }
    case fault::stream_race:
      what = fmt::format(
          "race between streams: {}{}, and {}, which nothing orders before it; put a "
          "cudaStreamWaitEvent between them",
          access, place, work_of_epoch(r.other_block, r.address, op != operation::load));
      break;
    case fault::early_access:
      what = fmt::format(
          "too early: {}{}, and {}, which may still run, because this launch need not wait for it "
          "(cudaLaunchAttributeProgrammaticStreamSerialization); call cudaGridDependencySynchronize() first, also in "
          "the "
          "kernels between them",
          access, place, work_of_epoch(r.other_block, r.address, op != operation::load));
      break;
    case fault::local_bounds:
      what = r.detail.empty()
                 ? fmt::format("{} of another thread's local variable; pass the value through shared or global memory",
                               access)
                 : fmt::format("array out of bounds{}; check the index against its size", r.detail);
      break;
    case fault::infinite_wait:
      what = std::string(
                 "infinite wait: this thread spins, and no other thread can still change the value it waits for; check "
                 "which thread should change it, and whether that thread or its block can run") +
             (device_count() > 1 ? ", or is in a kernel that is launched later, which runs later here" : "") +
             (r.detail.empty() ? "" : " (" + r.detail + ")");
      break;
    case fault::late_copy:
      what = fmt::format(
          "bulk copy into shared memory: {}; give mbarrier.arrive.expect_tx the bytes of all copies of a phase, and "
          "wait for each phase",
          r.detail);
      break;
    case fault::not_cooperative:
      what = "grid-wide barrier in an ordinary launch; launch with cudaLaunchCooperativeKernel";
      break;
  }
  const bool ended = where.counts.ran_away && (r.what == fault::out_of_bounds || r.what == fault::use_after_free);
  return fmt::format("{}: {}: {}: {}{}{}", line_text(r.site), where.kernel, thread, what,
                     r.occurrences > 1 ? fmt::format(" ({} times)", r.occurrences) : "",
                     ended ? "; such accesses ended the kernel" : "");
}

std::string describe(const launched& where, const stopped_thread& stopped) {
  const source_line at = line_of(stopped.loop.front());
  int low = at.line, high = at.line;
  for (const std::uintptr_t pc : stopped.loop)
    if (const source_line other = line_of(pc); other.file == at.file) {
      low = std::min(low, other.line);
      high = std::max(high, other.line);
    }
  const auto times = [](std::uint64_t n) { return n == 1 ? "once" : fmt::format("{} times", n); };
  return fmt::format(
      "{}:{}: {}: block {} thread {}: was here when the program was stopped{}{}", at.file, at.line, where.kernel,
      coordinates(stopped.block, where.config.grid), coordinates(stopped.thread, where.config.block),
      stopped.rounds == 0 ? ""
      : low == high
          ? fmt::format(", in a loop on this line; it has run at most {}", times(stopped.rounds))
          : fmt::format(", in a loop on lines {} to {}; it has run at most {}", low, high, times(stopped.rounds)),
      stopped.barriers == 0
          ? ""
          : fmt::format("; its block has passed {} barrier{}", stopped.barriers, stopped.barriers == 1 ? "" : "s"));
}

namespace {
std::vector<std::string> of_host, warnings_of_host;

std::mutex noting;  // threads that run a host function also report, without the runtime's lock

void note_once(std::vector<std::string>& known, const std::string& what) {
  const std::scoped_lock lock(noting);
  if (std::find(known.begin(), known.end(), what) == known.end()) known.push_back(what);
}
}  // namespace

void note_host_fault(const std::string& what) {
  report_at_exit();
  note_once(of_host, what);
}
const std::vector<std::string>& host_faults() { return of_host; }
void note_host_warning(const std::string& what) {
  report_at_exit();
  note_once(warnings_of_host, what);
}
const std::vector<std::string>& host_warnings() { return warnings_of_host; }

void note_shift(const char* file, unsigned line, std::int64_t count, int width) {
  static std::set<std::pair<const char*, unsigned>> noted;  // every lane may do it in every iteration
  {
    const std::scoped_lock lock(noting);
    if (!noted.emplace(file, line).second) return;
  }
  note_host_warning(fmt::format(
      "{}:{}: a kernel shifts a {}-bit number by {}, which C++ leaves undefined: a GPU shifts out all bits, this "
      "processor may shift by {}; shift by 0 to {}",
      file, line, width, count, count & (width - 1), width - 1));
}

void note_fault_of_call(const std::string& what) {
  if (!watched_streams) return note_host_fault(what);
  note_once(watched_streams->faults, what);
}
void withdraw_fault(const std::string& what) {
  const std::scoped_lock lock(noting);
  std::erase(of_host, what);
  if (watched_streams) std::erase(watched_streams->faults, what);
}

void note_copy_race(std::uintptr_t address, std::uint16_t epoch, bool stores, bool was_load) {
  const std::string what = fmt::format(
      "race between streams: a copy or fill {}{}, and {}, which nothing orders before it; put a "
      "cudaStreamWaitEvent between them",
      stores ? "into device memory" : "out of device memory", place_in_allocation(address),
      work_of_epoch(epoch, address, was_load));
  note_fault_of_call(what);
  if (stream_listener) overlaps.push_back({what, epoch});
}

namespace {
/// The host uses memory that it shares with the device: checks whether it has waited for other users.
void host_access_beside_work(std::uintptr_t address, std::uint64_t site) {
  if (host_shares_device_memory() || site_strength(site) != strength::plain) return;
  const std::scoped_lock lock(runtime_state_mutex());
  const bool stores = site_operation(site) != operation::load;
  const std::string work = work_in_flight_at(address, site_bytes(site), stores);
  if (work.empty()) return;
  static stream_watch whole_program;
  stream_watch& watch = watched_streams ? *watched_streams : whole_program;
  if (!watch.early_accesses.insert({site_pc(site), work}).second) return;  // one report for each line
  note_fault_of_call(
      fmt::format("{}: host code: {} of {} bytes{}, which {} may still {}; wait for it first, for example with "
                  "cudaDeviceSynchronize() or cudaStreamSynchronize()",
                  line_text(site), verb(site_operation(site)), site_bytes(site), place_in_allocation(address), work,
                  stores ? "use" : "write"));
}
}  // namespace

void host_access(std::uintptr_t address, std::uint64_t site) {
  const allocation* entry = find_allocation(address);
  if (entry && entry->kind != memory_kind::device)
    return library_at_work() ? void() : host_access_beside_work(address, site);
  if (entry && host_shares_device_memory()) {
    if (site_operation(site) != operation::load) host_wrote(reinterpret_cast<const void*>(address), site_bytes(site));
    return;
  }
  std::fflush(stdout);
  fmt::print(stderr, "error: {}: host code: {} of {} bytes in device memory{}; {}\n", line_text(site),
             verb(site_operation(site)), site_bytes(site), place_in_allocation(address),
             library_at_work()
                 ? "CUB calls your operators and iterators on the host here: they must not access device memory"
                 : "copy it with cudaMemcpy, or use cudaMallocManaged");
  std::fflush(stderr);
  std::signal(SIGSEGV, SIG_DFL);
  std::raise(SIGSEGV);
}

}  // namespace sim
