// Random calls to the memory API and kernels that touch random addresses, against a model of what should happen: each
// content, each error code, and a report exactly where there is reason for one. Always the same seeds.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <sim/observe.hpp>

namespace {

template <class T>
__global__ void load(T* result, const T* from, int stride) {
  result[threadIdx.x] = from[static_cast<int>(threadIdx.x) * stride];
}
template <class T>
__global__ void store(T* to, T value, int stride) {
  to[static_cast<int>(threadIdx.x) * stride] = value;
}

struct block {
  std::vector<std::uint8_t> bytes;
  std::vector<bool> written;
  std::uint64_t number = 0;
};

/// What the device should hold. Only addresses are taken from the device.
class model {
 public:
  using address = std::uintptr_t;

  void add(address at, std::size_t bytes) {
    live[at] = {std::vector<std::uint8_t>(bytes), std::vector<bool>(bytes), ++number};
  }
  void remove(address at) {
    freed[at] = live.at(at).bytes.size();
    live.erase(at);
  }
  void reset() {
    while (!live.empty()) remove(live.begin()->first);
  }
  /// The block that holds all of [at, at + bytes), or none.
  block* holds(address at, std::size_t bytes, std::size_t& offset) {
    auto after = live.upper_bound(at);
    if (after == live.begin()) return nullptr;
    auto& [begin, b] = *std::prev(after);
    offset = at - begin;
    return offset < b.bytes.size() && bytes <= b.bytes.size() - offset ? &b : nullptr;
  }
  bool was_freed(address at) const {
    auto after = freed.upper_bound(at);
    return after != freed.begin() && at - std::prev(after)->first < std::prev(after)->second;
  }
  /// Where the report says that an address is.
  std::string nearest(address at) const {
    const auto name = [](const block& b) {
      return "allocation " + std::to_string(b.number) + " of " + std::to_string(b.bytes.size()) + " bytes";
    };
    const auto next = live.upper_bound(at);
    const auto before = next == live.begin() ? live.end() : std::prev(next);
    const std::size_t size = before == live.end() ? 0 : before->second.bytes.size();
    if (before != live.end() && at - before->first < size)
      return ", byte " + std::to_string(at - before->first) + " of " + name(before->second);
    if (next != live.end() && (before == live.end() || next->first - at < at - before->first - size))
      return ", " + std::to_string(next->first - at) + " bytes before " + name(next->second);
    if (before == live.end()) return "";
    return ", " + std::to_string(at - before->first - size) + " bytes past the end of " + name(before->second);
  }

  std::map<address, block> live;
  std::map<address, std::size_t> freed;
  std::uint64_t number = 0;  ///< of the last block
};

std::uintptr_t address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

struct MemoryFuzz : testing::Test {
  void begin(unsigned seed) {
    ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
    m.reset();
    bits.seed(seed);
  }
  void TearDown() override { cudaDeviceReset(); }

  std::size_t below(std::size_t n) { return bits() % n; }

  std::size_t some_bytes() { return below(4) ? 1 + below(100) : 1 + below(20'000); }

  void allocate(std::size_t bytes) {
    void* p = &p;
    const cudaError_t error = cudaMalloc(&p, bytes);
    if (bytes > std::size_t{1} << 38) {
      ASSERT_EQ(error, cudaErrorMemoryAllocation);
      ASSERT_EQ(p, nullptr);
      ASSERT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
      return;
    }
    ASSERT_EQ(error, cudaSuccess);
    if (bytes == 0) {
      ASSERT_EQ(p, nullptr);
      return;
    }
    ASSERT_EQ(address_of(p) % 256, 0u);
    for (const auto& [begin, b] : m.live) {
      ASSERT_TRUE(address_of(p) >= begin + b.bytes.size() || address_of(p) + bytes <= begin);
    }
    m.add(address_of(p), bytes);
  }

  /// An address in an allocation, near one, in a freed one, or nowhere.
  std::uintptr_t some_address() {
    const auto from = [&](const auto& table, auto size) {
      const auto entry = std::next(table.begin(), static_cast<std::ptrdiff_t>(below(table.size())));
      switch (below(6)) {
        case 0: return entry->first;
        case 1: return entry->first + size(entry->second);
        case 2: return entry->first + size(entry->second) + below(64) - 32;
        case 3: return entry->first - below(64);
        default: return entry->first + below(size(entry->second) + 1);
      }
    };
    if (!m.freed.empty() && below(5) == 0) return from(m.freed, [](std::size_t n) { return n; });
    if (!m.live.empty()) return from(m.live, [](const block& b) { return b.bytes.size(); });
    return std::uintptr_t{0x2000'0000'0000} + below(1 << 20);
  }

  void release() {
    const std::uintptr_t at = some_address();
    const bool valid = m.live.contains(at);
    ASSERT_EQ(cudaFree(reinterpret_cast<void*>(at)), valid ? cudaSuccess : cudaErrorInvalidValue);
    ASSERT_EQ(cudaGetLastError(), valid ? cudaSuccess : cudaErrorInvalidValue);
    if (valid) m.remove(at);
  }

  std::size_t some_length() { return below(40) == 0 ? ~std::size_t{0} - below(300) : below(200); }

  void fill() {
    const std::uintptr_t at = some_address();
    const std::size_t bytes = some_length();
    const int value = static_cast<int>(below(256));
    std::size_t offset = 0;
    block* b = m.holds(at, bytes, offset);
    const cudaError_t expected = b || bytes == 0 ? cudaSuccess : cudaErrorInvalidValue;
    ASSERT_EQ(cudaMemset(reinterpret_cast<void*>(at), value, bytes), expected);
    ASSERT_EQ(cudaGetLastError(), expected);
    for (std::size_t i = 0; b && i < bytes; ++i) {
      b->bytes[offset + i] = static_cast<std::uint8_t>(value);
      b->written[offset + i] = true;
    }
  }

  void copy() {
    std::vector<std::uint8_t> host(256);
    for (auto& h : host) h = static_cast<std::uint8_t>(bits());
    const bool to_device = below(2), from_device = below(2);
    const std::uintptr_t to = to_device ? some_address() : address_of(host.data());
    const std::uintptr_t from = from_device ? some_address() : address_of(host.data());
    const std::size_t bytes = to_device || from_device ? some_length() : below(256);
    const auto right = static_cast<cudaMemcpyKind>(to_device + 2 * from_device);
    const cudaMemcpyKind kind = below(8) ? below(3) ? right : cudaMemcpyDefault : static_cast<cudaMemcpyKind>(below(5));
    std::size_t to_offset = 0, from_offset = 0;
    block* to_block = to_device ? m.holds(to, bytes, to_offset) : nullptr;
    block* from_block = from_device ? m.holds(from, bytes, from_offset) : nullptr;
    const bool valid = bytes == 0 || ((kind == right || kind == cudaMemcpyDefault) && (!to_device || to_block) &&
                                      (!from_device || from_block));
    std::vector<std::uint8_t> expected = host;
    const cudaError_t error = valid ? cudaSuccess : cudaErrorInvalidValue;
    ASSERT_EQ(cudaMemcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes, kind), error);
    ASSERT_EQ(cudaGetLastError(), error);
    if (valid) {
      const std::vector<std::uint8_t> source = from_block ? from_block->bytes : host;
      const std::vector<bool> written = from_block ? from_block->written : std::vector<bool>(host.size(), true);
      for (std::size_t i = 0; i < bytes; ++i) {
        if (to_block) {
          to_block->bytes[to_offset + i] = source[from_offset + i];
          to_block->written[to_offset + i] = written[from_offset + i];
        } else {
          expected[i] = source[from_offset + i];
        }
      }
    }
    ASSERT_EQ(host, expected);
  }

  template <class T>
  void touch(bool stores) {
    // Aligned, except for a few accesses by a single lane.
    std::uintptr_t at = some_address();
    int lanes = 1 + static_cast<int>(below(32)), stride = static_cast<int>(below(6)) - 1;
    if (below(3) == 0) lanes = 1;
    if (lanes > 1 || below(4)) at -= at % sizeof(T);
    if (below(100) == 0) at = address_of(&bits) / 16 * 16, lanes = 1;
    T value{}, *result = nullptr;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      reinterpret_cast<std::uint8_t*>(&value)[i] = static_cast<std::uint8_t>(bits());
    ASSERT_NO_FATAL_FAILURE(allocate(32 * sizeof(T)));
    for (const auto& [begin, b] : m.live)  // the newest lies highest
      result = reinterpret_cast<T*>(begin);
    const std::uintptr_t own = address_of(result);

    std::map<std::string, int> expected;  // the beginning of a report, and how many lanes
    cudaError_t error = cudaSuccess;
    std::vector<std::optional<T>> loaded(static_cast<std::size_t>(lanes));
    const std::string what =
        std::string("global ") + (stores ? "store" : "load") + " of " + std::to_string(sizeof(T)) + " bytes ";
    std::optional<std::string> place;  // of the first lane that is out of bounds
    if (at - 0x2000'0000'0000 >= std::uintptr_t{1} << 37) {
      error = cudaErrorIllegalAddress;
      expected["which is not device memory"] = 1;
    } else if (at % sizeof(T) != 0) {
      error = cudaErrorMisalignedAddress;
      expected["misaligned " + what.substr(0, what.size() - 1)] = 1;
    } else {
      for (int lane = 0; lane < lanes; ++lane) {
        const std::uintptr_t a =
            at + static_cast<std::uintptr_t>(static_cast<std::ptrdiff_t>(sizeof(T)) * lane * stride);
        std::size_t offset = 0;
        block* b = m.holds(a, sizeof(T), offset);
        if (!b) {
          const bool gone = m.was_freed(a);
          if (!gone && !place) place = m.nearest(a);
          ++expected[what + (gone ? "after cudaFree" : "out of bounds")];
          // The part that is inside is still written.
          for (std::size_t i = 0; stores && i < sizeof(T); ++i)
            if (block* part = m.holds(a + i, 1, offset))
              part->bytes[offset] = reinterpret_cast<std::uint8_t*>(&value)[i];
          continue;
        }
        bool written = true;
        T content{};
        for (std::size_t i = 0; i < sizeof(T); ++i) {
          if (stores) {
            b->bytes[offset + i] = reinterpret_cast<std::uint8_t*>(&value)[i];
            b->written[offset + i] = true;
          }
          written = written && b->written[offset + i];
          reinterpret_cast<std::uint8_t*>(&content)[i] = b->bytes[offset + i];
        }
        if (!written) ++expected[what + "that were never written"];
        if (written) loaded[static_cast<std::size_t>(lane)] = content;
      }
    }

    const auto seen = sim::observe([&] {
      if (stores)
        store<T><<<1, lanes>>>(reinterpret_cast<T*>(at), value, stride);
      else
        load<T><<<1, lanes>>>(result, reinterpret_cast<const T*>(at), stride);
    });
    std::string all;
    for (const std::string& r : seen.reports) all += r + "\n";
    ASSERT_EQ(seen.reports.size(), expected.size())
        << all << what << std::hex << at << " lanes " << lanes << " stride " << stride;
    for (const auto& [text, count] : expected) {
      const std::string times = count > 1 ? "(" + std::to_string(count) + " times)" : "";
      bool found = false;
      for (const std::string& r : seen.reports)
        found |= r.find(text) != std::string::npos &&
                 (!text.ends_with("out of bounds") || r.find(*place) != std::string::npos) &&
                 (times.empty() ? r.find(" times)") == std::string::npos : r.ends_with(times));
      ASSERT_TRUE(found) << text << place.value_or("") << " " << times << "\n" << all;
    }
    ASSERT_EQ(cudaDeviceSynchronize(), error);
    if (error != cudaSuccess) {
      void* p = nullptr;
      ASSERT_EQ(cudaMalloc(&p, 4), error);
      ASSERT_EQ(cudaMemset(result, 0, 1), error);
      ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
      m.reset();
      return;
    }
    if (!stores) {
      std::vector<T> got(static_cast<std::size_t>(lanes));
      ASSERT_EQ(cudaMemcpy(got.data(), result, got.size() * sizeof(T), cudaMemcpyDefault), cudaSuccess);
      for (std::size_t i = 0; i < got.size(); ++i)
        if (loaded[i]) {
          ASSERT_EQ(memcmp(&got[i], &*loaded[i], sizeof(T)), 0) << what << std::hex << at;
        }
    }
    ASSERT_EQ(cudaFree(result), cudaSuccess);
    m.remove(own);
  }

  void compare() {
    for (const auto& [begin, b] : m.live) {
      std::vector<std::uint8_t> host(b.bytes.size());
      ASSERT_EQ(cudaMemcpy(host.data(), reinterpret_cast<void*>(begin), host.size(), cudaMemcpyDeviceToHost),
                cudaSuccess);
      ASSERT_EQ(host, b.bytes);
    }
  }

  std::mt19937 bits;
  model m;
};

TEST_F(MemoryFuzz, MatchesTheModel) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_NO_FATAL_FAILURE(begin(seed));
    for (int round = 0; round < 1500; ++round) {
      if (m.live.size() > 20) ASSERT_NO_FATAL_FAILURE(release());
      switch (below(14)) {
        case 0: ASSERT_NO_FATAL_FAILURE(allocate(some_bytes())); break;
        case 1:
          ASSERT_NO_FATAL_FAILURE(allocate(below(10)  ? some_bytes()
                                           : below(2) ? 0
                                                      : ~std::size_t{0} - below(2'000'000)));
          break;
        case 2: ASSERT_NO_FATAL_FAILURE(release()); break;
        case 3:
        case 4: ASSERT_NO_FATAL_FAILURE(fill()); break;
        case 5:
        case 6:
        case 7: ASSERT_NO_FATAL_FAILURE(copy()); break;
        case 8: ASSERT_NO_FATAL_FAILURE(touch<std::uint8_t>(below(2))); break;
        case 9: ASSERT_NO_FATAL_FAILURE(touch<std::uint16_t>(below(2))); break;
        case 10:
        case 11: ASSERT_NO_FATAL_FAILURE(touch<std::uint32_t>(below(2))); break;
        case 12: ASSERT_NO_FATAL_FAILURE(touch<std::uint64_t>(below(2))); break;
        default: ASSERT_NO_FATAL_FAILURE(touch<uint4>(below(2))); break;
      }
      if (round % 50 == 0) ASSERT_NO_FATAL_FAILURE(compare());
    }
  }
}

TEST_F(MemoryFuzz, SizesThatOverflow) {
  void* p = nullptr;
  for (const std::size_t bytes : {~std::size_t{0}, ~std::size_t{0} - 4095, ~std::size_t{0} / 2}) {
    EXPECT_EQ(cudaMalloc(&p, bytes), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaMallocHost(&p, bytes), cudaErrorMemoryAllocation);
  }
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
}

// Last, since freed memory is then forgotten: a program that allocates in a loop reaches the end of the reserved
// range.
TEST_F(MemoryFuzz, AddressesAreReused) {
  char *kept = nullptr, *p = nullptr;
  ASSERT_EQ(cudaMalloc(&kept, 1000), cudaSuccess);
  ASSERT_EQ(cudaMemset(kept, 7, 1000), cudaSuccess);
  for (int i = 0; i < 140'000; ++i) {
    ASSERT_EQ(cudaMalloc(&p, 1000), cudaSuccess) << i;
    ASSERT_TRUE(p >= kept + 1000 || p + 1000 <= kept);
    ASSERT_EQ(cudaFree(p), cudaSuccess);
  }
  std::vector<char> host(1000);
  ASSERT_EQ(cudaMemcpy(host.data(), kept, 1000, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(host, std::vector<char>(1000, 7));
  EXPECT_EQ(cudaFree(kept), cudaSuccess);
}

}  // namespace
