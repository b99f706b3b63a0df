// Java, with a little logging.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>
#include "quantization.hpp"

namespace lab07 {
namespace model {

class Resource {
 public:
  virtual ~Resource() = default;
  virtual std::string getName() const = 0;
  virtual std::int64_t getAvailable(const device& d) const = 0;
  virtual std::int64_t getNeeded(const kernel& k, const device& d) const = 0;
};

class Threads : public Resource {
  std::string getName() const override { return "threads"; }
  std::int64_t getAvailable(const device& d) const override { return d.threads_of_sm; }
  std::int64_t getNeeded(const kernel& k, const device&) const override { return k.threads; }
};
class Slots : public Resource {
  std::string getName() const override { return "slots"; }
  std::int64_t getAvailable(const device& d) const override { return d.blocks_of_sm; }
  std::int64_t getNeeded(const kernel&, const device&) const override { return 1; }
};
class Registers : public Resource {
  std::string getName() const override { return "registers"; }
  std::int64_t getAvailable(const device& d) const override { return d.registers_of_sm; }
  std::int64_t getNeeded(const kernel& k, const device& d) const override {
    const std::int64_t ofWarp = 32LL * k.registers;
    const std::int64_t rest = ofWarp % d.register_unit;
    return (ofWarp + (rest == 0 ? 0 : d.register_unit - rest)) * (k.threads / 32);
  }
};
class SharedMemory : public Resource {
  std::string getName() const override { return "shared memory"; }
  std::int64_t getAvailable(const device& d) const override { return d.shared_bytes_of_sm; }
  std::int64_t getNeeded(const kernel& k, const device& d) const override { return k.shared_bytes + d.reserved_bytes; }
};

const std::vector<std::shared_ptr<Resource>>& resources() {
  static const std::vector<std::shared_ptr<Resource>> all{std::make_shared<Threads>(), std::make_shared<Slots>(),
                                                           std::make_shared<Registers>(), std::make_shared<SharedMemory>()};
  return all;
}

struct does_not_fit : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace model

std::int64_t tiles(const shape& s, const kernel& by) {
  const auto cover = [](std::int64_t size, std::int64_t tile) {
    if (tile <= 0) throw std::invalid_argument("a tile of " + std::to_string(tile));
    return 1 + (size - 1) / tile;
  };
  return cover(s.m, by.tile_m) * cover(s.n, by.tile_n);
}

int occupancy(const kernel& by, const device& on) {
  std::int64_t least = std::numeric_limits<int>::max();
  std::string scarce;
  for (const auto& r : model::resources()) {
    const std::int64_t needed = r->getNeeded(by, on);
    if (needed == 0) continue;
    const std::int64_t fit = r->getAvailable(on) / needed;
    if (fit < least) least = fit, scarce = r->getName();
  }
#ifdef DEBUG
  std::cerr << "occupancy " << least << ", by " << scarce << std::endl;
#endif
  return static_cast<int>(least);
}

static std::int64_t slots(const kernel& by, const device& on) {
  const std::int64_t n = static_cast<std::int64_t>(occupancy(by, on)) * on.multiprocessors;
  if (n == 0) throw model::does_not_fit("not one block fits");
  return n;
}

std::int64_t waves(const shape& s, const kernel& by, const device& on) {
  const auto t = tiles(s, by), w = slots(by, on);
  return t / w + (t % w != 0);
}

double utilization(const shape& s, const kernel& by, const device& on) {
  const long double useful = static_cast<long double>(s.m) * s.n;
  return static_cast<double>(useful / (static_cast<long double>(waves(s, by, on)) * slots(by, on) * by.tile_m * by.tile_n));
}

double seconds(const shape& s, const kernel& by, const device& on) {
  const long double blocks = slots(by, on);
  const std::map<std::string, long double> time{
      {"compute", 2.0L * by.tile_m * by.tile_n * s.k * blocks / on.flops_per_second},
      {"fetch", blocks * (by.tile_m + by.tile_n) * s.k * by.element_bytes / on.l2_bytes_per_second}};
  const auto slower = std::max_element(time.begin(), time.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return static_cast<double>(on.launch_seconds + waves(s, by, on) * slower->second);
}

std::int64_t next_cliff(std::int64_t n, const kernel& by, const device& on) {
  const std::int64_t before = waves({n, n, 1}, by, on);
  std::int64_t side = n;
  // Tiles change one past a multiple of a tile's side.
  while (waves({side, side, 1}, by, on) == before) {
    const std::int64_t a = ((side - 1) / by.tile_m + 1) * by.tile_m + 1, b = ((side - 1) / by.tile_n + 1) * by.tile_n + 1;
    side = std::min(a, b);
  }
  return side;
}

int best_kernel(const shape& s, const kernel* candidates, int count, const device& on) {
  using answer = std::variant<std::monostate, int>;
  answer best;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < count; ++i) try {
      const double t = seconds(s, candidates[i], on);
      if (t < least) least = t, best = i;
    } catch (const model::does_not_fit& e) {
#ifdef DEBUG
      std::cerr << i << ": " << e.what() << '\n';
#endif
    }
  return std::visit([](auto x) { if constexpr (std::is_same_v<decltype(x), int>) return x; else return -1; }, best);
}

}  // namespace lab07
