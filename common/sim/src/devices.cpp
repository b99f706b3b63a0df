#include "devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "grid.hpp"
#include "heap.hpp"
#include "launches.hpp"
#include "model.hpp"
#include "program.hpp"
#include "settings.hpp"

extern "C" const sim::program_variable __start_sim_device_variables[] __attribute__((weak));
extern "C" const sim::program_variable __stop_sim_device_variables[] __attribute__((weak));

namespace sim {
namespace {

/// The machine's numbers for the devices that the program sees.
const std::vector<int>& visible() {
  static const auto& all = *[] {
    auto* const found = new std::vector<int>;
    const char* const wanted = setting("SIM_DEVICES");
    const int count = wanted ? std::clamp(std::atoi(wanted), 1, most_devices) : 1;
    // Without SIM_DEVICES, "no GPU" in CUDA_VISIBLE_DEVICES refers to this machine's GPUs.
    const char* const list = wanted ? std::getenv("CUDA_VISIBLE_DEVICES") : nullptr;
    if (!list) {
      for (int d = 0; d < count; ++d) found->push_back(d);
      return found;
    }
    for (std::string_view rest = list; !rest.empty();) {
      const std::string_view one = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), one.size() + 1));
      int device = -1;
      const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), device);
      if (error != std::errc() || end != one.data() + one.size() || device < 0 || device >= count)
        break;  // as CUDA does
      found->push_back(device);
    }
    return found;
  }();
  return all;
}
[[gnu::constructor(102)]] void read_devices() { visible(); }  // later changes by the program have no effect

// Measured between two H200s (tests/goldens/nvidia-h200-links.csv, and counters of link_counters.cu): kernels that load
// from or store to the other device, copies without the launch, and copies through the host.
constexpr double kernel_seconds = 3.0e-6, kernel_share = 0.9;
constexpr double copy_seconds = 2.4e-6;
constexpr double staged_seconds = 17e-6, staged_share = 0.77;
double link_rate() { return described_device().link_bytes_per_second; }

thread_local int current __asm__("sim_current_device") = 0;
std::atomic<int> at_work = 0;  // the device whose kernel runs, or ran last

using matrix = std::array<std::array<bool, most_devices>, most_devices>;
matrix peers{}, pools{};

struct traffic {
  std::array<double, 3> bytes{};  // by link_use
};
std::map<std::pair<int, int>, traffic> links;  // by the machine's device numbers

/// Each device's own copies of variables; the resident device's are in place.
struct variables {
  struct range {
    char* begin;
    std::size_t bytes;
  };
  std::vector<range> ranges;
  std::vector<std::vector<char>> images;  // by device
  int resident = 0;

  variables() {
    std::size_t bytes = 0;
    for (const program_variable* v = __start_sim_device_variables; v != __stop_sim_device_variables; ++v) {
      ranges.push_back({reinterpret_cast<char*>(v->begin()), static_cast<std::size_t>(v->bytes)});
      bytes += ranges.back().bytes;
    }
    images.assign(most_devices, std::vector<char>(bytes));
    for (int d = 0; d < most_devices; ++d) save(d);
  }
  void save(int device) {
    char* to = images[static_cast<std::size_t>(device)].data();
    for (const range& r : ranges) to = std::copy_n(r.begin, r.bytes, to);
  }
  /// Not a race: the other device accessed its own copy.
  static void forget_uses(const range& r) {
    const program_range all = program_data();
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(r.begin) - all.begin;
    if (begin >= all.bytes) return;
    const std::uintptr_t first = heap_bytes + begin, last = first + r.bytes - 1;
    for (std::uintptr_t s = first / sector_bytes; s <= last / sector_bytes; ++s) {
      shadow().sectors[s].stored.store({}, std::memory_order_relaxed);
      shadow().sectors[s].loaded.store({}, std::memory_order_relaxed);
    }
    for (std::uintptr_t i = first / bytes_per_mask; i <= last / bytes_per_mask; ++i) {
      shadow().bytes[i].stored.store({}, std::memory_order_relaxed);
      shadow().bytes[i].loaded.store({}, std::memory_order_relaxed);
    }
  }
  void bring(int device) {
    if (device == resident) return;
    save(resident);
    const char* from = images[static_cast<std::size_t>(device)].data();
    for (const range& r : ranges) {
      std::memcpy(r.begin, from, r.bytes);
      from += r.bytes;
      forget_uses(r);
    }
    resident = device;
  }
};

}  // namespace

int device_count() { return static_cast<int>(visible().size()); }
bool is_device(int device) { return device >= 0 && device < device_count(); }
int number_in_machine(int device) { return visible()[static_cast<std::size_t>(device)]; }
int current_device() { return is_worker() ? at_work.load() : current; }
void set_current_device(int device) { current = device; }

void set_device_at_work(int device) {
  bring_variables_of(device);
  at_work = device;
}

void bring_variables_of(int device) {
  if (device_count() <= 1) return;
  static variables& all = *new variables;  // made before a kernel or copy changes any
  all.bring(device);
}

bool are_linked(int device, int other) { return device != other && described_device().link_bytes_per_second > 0; }
bool has_peer_access(int device, int other) {
  return peers[static_cast<std::size_t>(device)][static_cast<std::size_t>(other)];
}
void set_peer_access(int device, int other, bool enabled) {
  peers[static_cast<std::size_t>(device)][static_cast<std::size_t>(other)] = enabled;
}
bool has_pool_access(int device, int other) {
  return pools[static_cast<std::size_t>(device)][static_cast<std::size_t>(other)];
}
void set_pool_access(int device, int other, bool enabled) {
  pools[static_cast<std::size_t>(device)][static_cast<std::size_t>(other)] = enabled;
}
bool may_access(int device, const allocation& what) {
  if (what.kind != memory_kind::device || what.device == device) return true;
  return (what.work_item != 0 ? pools : peers)[static_cast<std::size_t>(device)][static_cast<std::size_t>(what.device)];
}
std::string why_not(int device, const allocation& what) {
  const std::string whose = fmt::format("memory of device {}, which device {} may not access", what.device, device);
  if (!are_linked(device, what.device)) return whose + ": these devices have no link; copy it with cudaMemcpyPeer";
  if (what.work_item != 0)
    return fmt::format("{}: call cudaMemPoolSetAccess for device {} on the pool that allocated it", whose, device);
  return fmt::format("{}: call cudaDeviceEnablePeerAccess({}, 0) while device {} is current", whose, what.device,
                     device);
}

void count_link(int from, int to, link_use what, double bytes) {
  count_link_of_machine(number_in_machine(from), number_in_machine(to), what, bytes);
}
void count_link_of_machine(int from, int to, link_use what, double bytes) {
  if (bytes > 0) links[{from, to}].bytes[static_cast<std::size_t>(what)] += bytes;
}
double count_links(launched& what) {
  std::array<double, most_devices> loaded{}, stored{};
  for (const auto& [begin, counts] : what.counts.allocations) {
    const allocation* const home = counts.remote ? find_allocation(begin) : nullptr;
    if (!home) continue;
    loaded[static_cast<std::size_t>(home->device)] += static_cast<double>(counts.link_loaded);
    stored[static_cast<std::size_t>(home->device)] += static_cast<double>(counts.link_stored);
    what.link_loaded += counts.link_loaded;
    what.link_stored += counts.link_stored;
  }
  double longest = 0;
  for (int other = 0; other < device_count(); ++other) {
    const double in = loaded[static_cast<std::size_t>(other)], out = stored[static_cast<std::size_t>(other)];
    count_link(other, what.device, link_use::kernel, in);
    count_link(what.device, other, link_use::kernel, out);
    if (in + out > 0) longest = std::max(longest, kernel_seconds + std::max(in, out) / (kernel_share * link_rate()));
  }
  return longest;
}
double link_seconds(int from, int to, double bytes) {
  const bool direct = are_linked(from, to) && (has_peer_access(from, to) || has_peer_access(to, from));
  return direct ? copy_seconds + bytes / link_rate()
                : staged_seconds + bytes / (staged_share * described_device().host_copy_bytes_per_second);
}

std::string link_table() {
  if (links.empty()) return {};
  std::string text =
      fmt::format("\n{:28} {:>20} {:>20} {:>20}\n", "bytes from device to device", "copies", "kernels", "collectives");
  for (const auto& [ends, t] : links)
    text += fmt::format("{:28} {:>20.0f} {:>20.0f} {:>20.0f}\n", fmt::format("{} -> {}", ends.first, ends.second),
                        t.bytes[0], t.bytes[1], t.bytes[2]);
  return text;
}

}  // namespace sim
