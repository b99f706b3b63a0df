// What the parts of the simulated device share: addresses, accesses, counters, launches.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/api.h"
#include "sim/call.h"
#include "sim/graph.h"
#include "sim/launch.h"

namespace sim {

class worker;

// ---- address space --------------------------------------------------------------------------------------------------

constexpr std::uintptr_t heap_base =
    0x2000'0000'0000;  ///< all of cudaMalloc lies in [heap_base, heap_base + heap_bytes)
constexpr std::uintptr_t heap_bytes = std::uintptr_t{1} << 37;
constexpr std::size_t sector_bytes = 32, word_bytes = 4, bank_count = 32, lanes_per_warp = 32;

/// Who loaded, or stored, the words of a sector since a kernel or a grid barrier began: the epoch, the first block, the
/// words that this block alone touched, and those that several blocks did. Words that only later blocks touched are not
/// kept.
struct sector_use {
  std::uint16_t epoch;
  std::uint8_t one, many;  ///< bit w: word w of the sector
  std::uint32_t block;
};
struct sector_shadow {
  std::atomic<sector_use> stored, loaded;
};
/// Reserved once; the kernel gives pages as they are touched.
struct shadow_memory {
  std::uint8_t* valid;     ///< by word: bit b says that byte b has been written
  sector_shadow* sectors;  ///< by sector
};
const shadow_memory& shadow();
/// The epoch for what begins now; epochs are numbered from 1, and anew after 65535.
std::uint16_t begin_epoch();

struct allocation {
  std::uintptr_t begin = 0, end = 0;
  std::uint64_t number = 0;  ///< 1 for the program's first cudaMalloc
  memory_kind kind = memory_kind::device;
  std::uintptr_t pc = 0;  ///< of the line that allocated it
  std::string name;       ///< for messages; empty where it is called by its number
};
/// The live allocation that holds the address, or null. The table does not change during a launch.
const allocation* find_allocation(std::uintptr_t address);
/// The last allocation that begins at or before the address, live or freed; null where there is none.
const allocation* nearest_allocation(std::uintptr_t address, bool* freed);
void mark_valid(std::uintptr_t begin, std::size_t bytes);
bool is_valid(std::uintptr_t begin, std::size_t bytes);
/// Frees the live allocation that begins here; false where there is none.
bool release(std::uintptr_t begin);
void free_everything();
std::vector<allocation> live_allocations();
std::vector<allocation>& registered_host_memory();
/// Whether an asynchronous copy to this address of shared memory has begun that its thread has not waited for.
bool copy_pending(std::uintptr_t address);
/// What the host did wrong, in a sentence each, for the account at the program's end.
void note_host_fault(std::string what);
const std::vector<std::string>& host_faults();
/// A launch that failed and for whose error nobody has asked yet; empty where there is none.
std::string unchecked_launch();

/// One array in shared memory: its place relative to the thread pointer.
struct shared_array {
  std::string name;
  std::intptr_t offset = 0;
  std::size_t bytes = 0;
  bool dynamic = false;
  bool guard = false;  ///< no array: g++'s note whether what has a constructor has been constructed
};
/// All arrays declared __shared__ in this program, by offset; those declared extern are `dynamic`.
const std::vector<shared_array>& shared_arrays();
/// Offset from the thread pointer and size of the program's thread-local storage, which holds them.
std::intptr_t thread_storage_offset();
std::size_t thread_storage_bytes();
/// Writable variables of the program itself (`__device__`) or host memory that it registered; and its constants.
bool is_program_variable(std::uintptr_t address);
bool is_program_constant(std::uintptr_t address);

// ---- observation ----------------------------------------------------------------------------------------------------

enum class operation : std::uint8_t {
  load,
  store,
  atomic,
  copy,    ///< into shared memory, asynchronous, begins: from now on it may write
  copied,  ///< and has been waited for: it has written
  local,   ///< memory that is no traffic: the thread's own stack, constants, arguments
  block,   ///< a basic block begins
  sync,    ///< a warp function; the address is its mask
  index,   ///< the address is an index beyond its array; what the next access touches tells whether that is wrong
};
enum class space : std::uint8_t { global, shared, none };

extern "C" const char __executable_start[];  // the linker's name for where the program begins

/// One lane's access. `site` names the instruction: program counter, from the program's beginning (32 bits), size in
/// bytes (8), operation (8); and how deep in calls the lane was, as a distance on its stack (16).
struct access {
  std::uint64_t site;
  std::uintptr_t address;
};
constexpr std::uint64_t site_mask = 0xffff'ffff'ffff;
inline std::uint64_t make_site(std::uintptr_t pc, std::size_t bytes, operation op, std::uint64_t depth = 0) {
  return ((pc - reinterpret_cast<std::uintptr_t>(__executable_start)) & 0xffff'ffff) | (std::uint64_t{bytes} << 32) |
         (static_cast<std::uint64_t>(op) << 40) | (depth << 48);
}
inline std::uintptr_t site_pc(std::uint64_t site) {
  return (site & 0xffff'ffff) + reinterpret_cast<std::uintptr_t>(__executable_start);
}
constexpr std::size_t site_bytes(std::uint64_t site) { return (site >> 32) & 0xff; }
constexpr operation site_operation(std::uint64_t site) { return static_cast<operation>((site >> 40) & 0x7f); }
/// An atomic whose lanes nvcc combines in the warp where they want one address: of integers.
constexpr auto atomic_in_warp = static_cast<operation>(static_cast<unsigned>(operation::atomic) | 0x80);
constexpr bool site_in_warp(std::uint64_t site) { return (site >> 47) & 1; }
constexpr std::uint64_t site_depth(std::uint64_t site) { return site >> 48; }

/// What one run of a basic block computes, as the compiler's assembly has it; tools/assembly.cpp writes the table.
struct block_info {
  std::int32_t site;  ///< relative to this field's own address
  std::uint16_t instructions, fadd, fmul, ffma, dadd, dmul, dfma, special;
  std::uint16_t counted;  ///< something goes on by a constant: where this is a loop, nvcc knows its step
  std::uint16_t unused;
};
/// Of the block that this program counter marks; null for all others.
const block_info* block_at(std::uintptr_t pc);

/// Sums over all warp instructions of one site.
struct site_counts {
  std::uint64_t requests = 0, lanes = 0;
  std::uint64_t bytes = 0;                             ///< the different ones of each request
  std::uint64_t sectors = 0, ideal_sectors = 0;        ///< global memory
  std::uint64_t lines = 0;                             ///< of 128 bytes, looked up one by one; of atomics, L2's steps
  std::uint64_t wavefronts = 0, ideal_wavefronts = 0;  ///< shared memory
  std::uintptr_t low = ~std::uintptr_t{0}, high = 0;   ///< addresses: [low, high)
  void add(const site_counts& other);
};

enum class fault : std::uint8_t {
  out_of_bounds,
  use_after_free,
  misaligned,
  uninitialised,
  illegal_address,
  divergent_barrier,
  missing_lane,
  shared_race,
  global_race,
  stream_race,
  local_bounds,
  infinite_wait,
  not_cooperative,
  assertion,
  trap,
};

/// The first occurrence, by block and thread, of a fault at a site.
struct fault_report {
  fault what{};
  std::uint64_t site = 0;
  space where = space::global;
  std::uint64_t block = 0;
  std::uint32_t thread = 0;
  std::uintptr_t address = 0;
  std::string detail;
  std::uint64_t other_site = 0;   ///< of a race: the access before
  std::uint64_t other_block = 0;  ///< or, of a race between streams, the number of the launch before
  std::uint32_t other_thread = 0;
  std::uint64_t occurrences = 1;
  /// Of the two the earlier one stays, with the occurrences of both.
  void merge(const fault_report& other);
};

/// What takes a warp time of its own, one thing after the other, in warp instructions. Of a block: the most that a warp
/// does from barrier to barrier, summed over the phases.
struct warp_path {
  std::uint64_t instructions = 0, special = 0, barriers = 0, atomics = 0;
  std::uint64_t loads = 0;         ///< of global memory, that the warp waits for
  std::uint64_t loads_beside = 0;  ///< behind another in its basic block
  std::uint64_t loads_ahead = 0;   ///< in a loop that nvcc unrolls: several turns' are on their way together
  std::uint64_t loads_near = 0, loads_ahead_near = 0;  ///< of what the block has just loaded
  template <class Combine>
  void combine(const warp_path& other, Combine f) {
    for (const auto field :
         {&warp_path::instructions, &warp_path::special, &warp_path::barriers, &warp_path::atomics, &warp_path::loads,
          &warp_path::loads_beside, &warp_path::loads_ahead, &warp_path::loads_near, &warp_path::loads_ahead_near})
      this->*field = f(this->*field, other.*field);
  }
  void add(const warp_path& other) { combine(other, std::plus<>()); }
  void take_longer(const warp_path& other) {
    combine(other, [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
  }
};

/// Counts of one launch, or of one worker's share of it.
struct launch_counts {
  std::map<std::pair<space, std::uint64_t>, site_counts> sites;
  std::map<std::pair<fault, std::uint64_t>, fault_report> faults;
  std::uint64_t unique_loaded_sectors = 0, unique_stored_sectors = 0;
  std::uint64_t unique_loaded_pairs = 0;  ///< of sectors: DRAM moves 64 bytes at a time
  std::uint64_t shared_stores = 0;        ///< of a sector that another block had stored to first
  /// Loaded sectors that the block had loaded before. Entry k: while its warp moved on by less than 2^k lines, and by
  /// 2^(k-1) or more.
  std::array<std::uint64_t, 13> reuse{};
  warp_path path;                                             ///< summed over the blocks
  warp_path longest;                                          ///< of one block
  std::uint64_t barriers = 0;                                 ///< __syncthreads, one for each warp
  std::uint64_t collectives = 0;                              ///< shuffles, votes, __syncwarp, one for each warp
  std::uint64_t accesses = 0;                                 ///< observed, one for each lane
  bool fenced = false;                                        ///< a thread used a fence
  bool hands_over_global = false, hands_over_shared = false;  ///< or volatile accesses, or locks, in this memory
  void add(const launch_counts& other);
  void add(const fault_report& report);
  void scale(double factor);  ///< to all blocks from those observed
};

struct launched {
  std::string kernel;
  int registers = 0;  ///< for each thread; 0 for a library's work
  configuration config;
  launch_counts counts;
  std::size_t static_shared_bytes = 0;
  double modelled_seconds = 0;
  bool aborted = false;
  std::uint16_t first_epoch = 0, last_epoch = 0;
  std::uint64_t observed_blocks = 0;  ///< with SIM_SAMPLE fewer than the grid has; counts are scaled
};

/// Every launch since the program began, oldest first.
std::vector<launched>& launch_log();
/// What a launch executed, summed over threads; `instructions` over warps. From the host compiler's code.
struct executed {
  double instructions = 0, thread_instructions = 0;
  double fadd = 0, fmul = 0, ffma = 0, dadd = 0, dmul = 0, dfma = 0, special = 0;
};
executed executed_by(const launched& what);
/// Drops reports that only repeat others, and races where threads have ordered themselves in ways not followed.
void settle_reports(launched& what);
/// One sentence: what happened, where, by whom, and what to do.
std::string describe(const launched& where, const fault_report& report);

struct source_line {
  std::string file;
  int line = 0;
};
/// With SIM_REPORT set: an account of all launches on stderr when the program ends; exit code 1 where a checker
/// complained.
void report_at_exit();
/// The source line of a program counter; {"?", 0} without debug information.
source_line line_of(std::uintptr_t pc);

// ---- scheduling, model, errors --------------------------------------------------------------------------------------

/// Whether the caller is a thread of a kernel.
bool in_kernel();
/// Ends the kernel that calls.
[[noreturn]] void stop_kernel(fault what, const void* pc, const std::string& detail);
/// Every how many blocks one is observed (SIM_SAMPLE); 1 where all are.
std::uint64_t sampling();
/// Starts the threads that run blocks; otherwise the first launch does.
void start_workers();
/// Runs all blocks and fills `counts`, `aborted` and `static_shared_bytes`.
void run_blocks(launched& what, void (*body)(void*), void* frame, std::size_t frame_bytes,
                const std::bitset<65536>* concurrent);
/// A program counter in the first function that `body` would run, but for those of namespace std; 0 where none is
/// traced.
std::uintptr_t ask_for_kernel(void (*body)(void*), void* frame);
/// The host has touched device memory: ends the program, as on a machine with a GPU.
void host_access(std::uintptr_t address, std::uint64_t site);

struct device_description {
  std::string name;
  int compute_major = 0, compute_minor = 0, multiprocessors = 0;
  double sm_clock_hertz = 0, memory_bytes = 0, l2_bytes = 0;
  double copy_bytes_per_second = 0;  ///< reached by a large device-to-device copy, read + write
  double l2_bytes_per_second = 0;
  double fp32_flops_per_second = 0;
  double host_copy_bytes_per_second = 0;
  double launch_seconds = 0;        ///< from one kernel's start to the next, empty kernels in one stream
  double kernel_floor_seconds = 0;  ///< of an empty kernel, from its own start to its end
  double dram_latency_seconds = 0, l2_latency_cycles = 0, l1_latency_cycles = 0, shared_latency_cycles = 0;
  double l1_bytes_per_sm = 0;  ///< with shared memory, which takes its share of them
  double fp32_lanes_per_sm = 0, fp64_lanes_per_sm = 0;
  int max_threads_per_sm = 0, max_blocks_per_sm = 0;
  int registers_per_sm = 0, register_allocation_unit = 0, warp_allocation_granularity = 0;
  std::size_t shared_per_sm_bytes = 0, shared_per_block_optin_bytes = 0, shared_reserved_per_block_bytes = 0;
};
const device_description& described_device();
/// How many blocks fit one multiprocessor as far as each of its resources goes.
struct occupancy_limits {
  int by_blocks = 0, by_registers = 0, by_shared = 0, by_warps = 0;
  int blocks() const { return std::min({by_blocks, by_registers, by_shared, by_warps}); }
};
occupancy_limits occupancy_of(int threads, int registers, std::size_t shared_bytes);
occupancy_limits occupancy_of(const launched& what);
struct dram_traffic {
  double read_bytes = 0, written_bytes = 0;
};
dram_traffic dram_traffic_of(const launched& what);
/// How long the launch takes on the device. A model, never a measurement.
double model_seconds(const launched& what);

std::mutex& runtime_mutex();
/// Remembers the error for cudaGetLastError and returns it. A sticky error stays until cudaDeviceReset.
cudaError_t fail(cudaError_t error, bool sticky = false);
/// What every call returns once a kernel has gone wrong.
cudaError_t sticky_error();

// ---- streams on the modelled clock; the caller holds runtime_mutex

/// Says when this begins.
double advance_clock(cudaStream_t stream, double seconds);
/// What a stream does from one moment of the modelled clock to another.
struct stream_work {
  enum class kind { kernel, copy, fill } what;
  const char* name;
  cudaStream_t stream;
  double begin, seconds, bytes;
};
/// Told of it, in the thread that asked for it, where a profile is taken; null otherwise.
extern void (*stream_listener)(const stream_work&);
void tell(const stream_work& what);
/// What one call of a function put into streams and whether it waited, for contracts that say "launch on `stream` and
/// return without waiting".
struct stream_watch {
  struct piece {
    std::string name;
    cudaStream_t stream;
    std::size_t number;       ///< of the stream
    std::uint32_t work_item;  ///< of that stream's
  };
  std::vector<piece> work;
  std::string waited;  ///< the first call that made the host wait
};
/// Null where nobody asks.
extern stream_watch* watched_streams;
/// `call` is about to make the host wait.
void note_wait(const char* call);
/// One sentence for each way in which what was watched broke that contract.
std::vector<std::string> broken_contract(const stream_watch& watched, cudaStream_t stream);
/// The epochs of launches that nothing orders before one in this stream now; null where there are none.
const std::bitset<65536>* concurrent_launches(cudaStream_t stream);
void note_launch(cudaStream_t stream, std::uint16_t first_epoch, std::uint16_t last_epoch);
bool is_stream(cudaStream_t stream);
bool is_capturing(cudaStream_t stream);
/// Into the graph that the stream is being captured to. `replay` gets the stream that the graph is launched in.
void record(cudaStream_t stream, cudaGraphNodeType type, std::function<void(cudaStream_t)> replay);
void wait_for_all();
void forget_streams();

/// A library's work on the host, as one entry of the launch log: `work` runs now, or whenever the graph does that the
/// stream is captured to. Takes runtime_mutex itself and holds it while `work` runs.
cudaError_t library_call(const char* name, cudaStream_t stream, double flops, double bytes,
                         const std::function<void()>& work);
/// Then the host may touch device memory: it plays the device's part.
bool host_shares_device_memory();
bool library_at_work();
void host_wrote(const void* pointer, std::size_t bytes);

/// As it stands in the program: ns::kernel<int, 4>; empty where the address is no function.
std::string function_name(std::uintptr_t address);
std::string kernel_name(const void* kernel);
/// Where the function begins that this program counter lies in; 0 where it lies in none, or in one of namespace std.
std::uintptr_t function_at(std::uintptr_t pc);
/// The address of the kernel that `body` runs, called `name` in the source; 0 where that cannot be told.
std::uintptr_t kernel_behind(const char* name, void (*body)(void*), void* frame);
/// For each thread of the kernel, as ptxas says (simcc asks it), or else a guess.
int registers_of(std::uintptr_t kernel);
/// What cudaFuncSetAttribute allows; of a kernel that is not known (0), what it allows any.
std::size_t dynamic_shared_limit(std::uintptr_t kernel);
/// Nothing, and an error noted for the report, where the types of the kernel's arguments are not known.
std::shared_ptr<const bound_kernel> bind_by_address(const void* kernel, void** arguments);

}  // namespace sim
