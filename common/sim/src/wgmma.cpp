// Products of a warpgroup (wgmma). Each warp computes its 16 rows when its lanes meet; the first warp reports all four
// warps' reads to the checkers.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "access.hpp"
#include "bulk.hpp"
#include "sim/float8.h"
#include "sim/tensor.h"

// One per OS thread. Outside the namespace: program.cpp recognises our variables by the prefix sim_.
__thread void* sim_product_operands = nullptr;

namespace sim {
namespace {

constexpr unsigned rows_of_warp = 16, most_columns = 256, most_depth = 32, chunk_bytes = 16, depth_bytes = 32;

unsigned bytes_of(element e) { return e == element::f16 || e == element::bf16 ? 2 : e == element::tf32 ? 4 : 1; }

/// A factor in shared memory, in chunks of 16 bytes.
class factor {
 public:
  factor(unsigned long long descriptor, bool along_k)
      : begin_(static_cast<std::uintptr_t>(descriptor & 0x3fff) << 4),
        leading_((descriptor >> 16 & 0x3fff) << 4),
        stride_((descriptor >> 32 & 0x3fff) << 4),
        base_(static_cast<unsigned>(descriptor >> 49 & 7)),
        along_k_(along_k) {
    constexpr unsigned spans[] = {16, 128, 64, 32};
    span_ = spans[descriptor >> 62];
  }
  /// If rows run along k: chunk `c` of row `r`. Otherwise: chunk `c` of the row at k = `r`.
  std::uintptr_t chunk(unsigned r, unsigned c) const {
    std::uintptr_t offset = 0;
    if (span_ == chunk_bytes)
      offset = along_k_ ? r % 8 * chunk_bytes + r / 8 * stride_ + c * leading_
                        : r % 8 * chunk_bytes + r / 8 * leading_ + c * stride_;
    else if (along_k_)
      offset = r % 8 * span_ + r / 8 * stride_ + c * chunk_bytes;
    else
      offset = r % 8 * span_ + r / 8 * stride_ + c % (span_ / chunk_bytes) * chunk_bytes +
               c / (span_ / chunk_bytes) * leading_;
    const std::uintptr_t at = begin_ + offset;
    const std::uintptr_t exchanged = ((at >> 7) - base_) & (span_ / chunk_bytes - 1);
    return reinterpret_cast<std::uintptr_t>(shared_address(at ^ exchanged << 4));
  }

 private:
  std::uintptr_t begin_, leading_, stride_;
  unsigned base_, span_;
  bool along_k_;
};

template <class F>
const auto& table_of(F f) {
  static const auto table = [f] {
    std::array<float, 256> all{};
    for (unsigned i = 0; i < all.size(); ++i) all[i] = f(static_cast<std::uint8_t>(i));
    return all;
  }();
  return table;
}
void decode_chunk(element e, std::uintptr_t from, float* to) {
  unsigned char bytes[chunk_bytes];
  std::memcpy(bytes, reinterpret_cast<const void*>(from), chunk_bytes);
  const auto halves = [&](auto decode_one) {
    for (unsigned i = 0; i < 8; ++i) {
      std::uint16_t word;
      std::memcpy(&word, bytes + 2 * i, 2);
      to[i] = decode_one(word);
    }
  };
  switch (e) {
    case element::bf16: return halves([](std::uint16_t w) { return bit_cast<float>(std::uint32_t{w} << 16); });
    case element::f16: return halves([](std::uint16_t w) { return decode<binary16>(w); });
    case element::tf32:
      for (unsigned i = 0; i < 4; ++i) {
        std::uint32_t word;
        std::memcpy(&word, bytes + 4 * i, 4);
        to[i] = bit_cast<float>(word & 0xffffe000u);  // the hardware ignores the other bits
      }
      return;
    default: {
      const auto& table = e == element::e4m3 ? table_of([](std::uint8_t x) { return decode8<e4m3>(x); })
                                             : table_of([](std::uint8_t x) { return decode8<e5m2>(x); });
      for (unsigned i = 0; i < chunk_bytes; ++i) to[i] = table[bytes[i]];
    }
  }
}
void decode_chunk(element e, std::uintptr_t from, int* to) {
  unsigned char bytes[chunk_bytes];
  std::memcpy(bytes, reinterpret_cast<const void*>(from), chunk_bytes);
  for (unsigned i = 0; i < chunk_bytes; ++i)
    to[i] = e == element::s8 ? static_cast<signed char>(bytes[i]) : static_cast<int>(bytes[i]);
}

template <class T>
struct operands {
  T a[rows_of_warp][most_depth], b[most_depth][most_columns], sums[rows_of_warp][most_columns];
};

/// Row by row, in the order of k.
template <class T>
void multiply_and_add(operands<T>& o, unsigned n, unsigned depth) {
  for (unsigned i = 0; i < rows_of_warp; ++i)
    for (unsigned k = 0; k < depth; k += 4) {
      const T a0 = o.a[i][k], a1 = o.a[i][k + 1], a2 = o.a[i][k + 2], a3 = o.a[i][k + 3];
      const T *b0 = o.b[k], *b1 = o.b[k + 1], *b2 = o.b[k + 2], *b3 = o.b[k + 3];
      T* sums = o.sums[i];
      for (unsigned j = 0; j < n; ++j) sums[j] = (((sums[j] + a0 * b0[j]) + a1 * b1[j]) + a2 * b2[j]) + a3 * b3[j];
    }
}

template <class T>
void fetch_a(operands<T>& o, const warp_call& call, const warpgroup_product& p, unsigned size) {
  const unsigned in_chunk = chunk_bytes / size;
  T chunk[chunk_bytes];
  if (p.a_in_registers) {
    const unsigned in_word = 4 / size;
    for (unsigned lane = 0; lane < lanes_per_warp; ++lane) {
      if (!call.has(lane)) continue;
      decode_chunk(p.a, reinterpret_cast<std::uintptr_t>(call.at<warpgroup_product>(lane).words), chunk);
      for (unsigned i = 0; i < in_chunk; ++i) {
        const unsigned r = i / in_word;
        o.a[lane / 4 + 8 * (r % 2)][in_word * (lane % 4) + i % in_word + 4 * in_word * (r / 2)] = chunk[i];
      }
    }
  } else {
    const factor a(p.descriptor_a, !p.a_columns);
    const unsigned first = p.warp % warps_per_warpgroup * rows_of_warp;
    if (p.a_columns)
      for (unsigned k = 0; k < depth_bytes / size; ++k)
        for (unsigned c = 0; c < rows_of_warp / in_chunk; ++c) {
          decode_chunk(p.a, a.chunk(k, first / in_chunk + c), chunk);
          for (unsigned i = 0; i < in_chunk; ++i) o.a[c * in_chunk + i][k] = chunk[i];
        }
    else
      for (unsigned r = 0; r < rows_of_warp; ++r)
        for (unsigned c = 0; c < depth_bytes / chunk_bytes; ++c)
          decode_chunk(p.a, a.chunk(first + r, c), &o.a[r][c * in_chunk]);
  }
  if (const unsigned mask = misread_mask(); p.negate_a || mask != 0)
    for (auto& row : o.a)
      for (T& x : row) x = p.negate_a ? -as_read(x, mask) : as_read(x, mask);
}
template <class T>
void fetch_b(operands<T>& o, const warpgroup_product& p, unsigned size) {
  const unsigned in_chunk = chunk_bytes / size, depth = depth_bytes / size;
  const factor b(p.descriptor_b, !p.b_rows);
  if (p.b_rows)
    for (unsigned k = 0; k < depth; ++k)
      for (unsigned c = 0; c < p.n / in_chunk; ++c) decode_chunk(p.b, b.chunk(k, c), &o.b[k][c * in_chunk]);
  else
    for (unsigned j = 0; j < p.n; ++j)
      for (unsigned c = 0; c < depth_bytes / chunk_bytes; ++c) {
        T chunk[chunk_bytes];
        decode_chunk(p.b, b.chunk(j, c), chunk);
        for (unsigned i = 0; i < in_chunk; ++i) o.b[c * in_chunk + i][j] = chunk[i];
      }
  if (const unsigned mask = misread_mask(); p.negate_b || mask != 0)
    for (unsigned k = 0; k < depth; ++k)
      for (unsigned j = 0; j < p.n; ++j) o.b[k][j] = p.negate_b ? -as_read(o.b[k][j], mask) : as_read(o.b[k][j], mask);
}

float sum_in(const warpgroup_product& p, unsigned r, float) {
  return p.sum == element::f32 ? bit_cast<float>(p.sums[r])
                               : decode<binary16>(static_cast<std::uint16_t>(p.sums[r / 2] >> 16 * (r % 2)));
}
int sum_in(const warpgroup_product&, unsigned, int) { return 0; }  // the caller adds: the sum may overflow
void put(warpgroup_product& p, unsigned r, float value) {
  if (p.sum == element::f32)
    p.sums[r] = bit_cast<unsigned>(value);
  else
    p.sums[r / 2] = r % 2 == 0 ? (p.sums[r / 2] & 0xffff0000u) | encode<binary16>(value)
                               : (p.sums[r / 2] & 0xffffu) | unsigned{encode<binary16>(value)} << 16;
}
void put(warpgroup_product& p, unsigned r, int value) {
  long long sum = value;
  if (p.add) sum += static_cast<int>(p.sums[r]);
  if (p.saturates) sum = std::clamp<long long>(sum, std::numeric_limits<int>::min(), std::numeric_limits<int>::max());
  p.sums[r] = static_cast<unsigned>(sum);
}

template <class T>
void combine(const warp_call& call) {
  if (!sim_product_operands) sim_product_operands = new operands<float>;
  operands<T>& o = *static_cast<operands<T>*>(sim_product_operands);
  unsigned first = 0;
  while (!call.has(first)) ++first;
  const warpgroup_product& p = call.at<warpgroup_product>(first);
  const unsigned size = bytes_of(p.a), registers = p.n / 2;
  fetch_a(o, call, p, size);
  fetch_b(o, p, size);
  const auto row = [](unsigned lane, unsigned r) { return lane / 4 + 8 * (r / 2 % 2); };
  const auto column = [](unsigned lane, unsigned r) { return 8 * (r / 4) + 2 * (lane % 4) + r % 2; };
  for (unsigned lane = 0; lane < lanes_per_warp; ++lane)
    for (unsigned r = 0; r < registers; ++r)
      o.sums[row(lane, r)][column(lane, r)] =
          p.add && call.has(lane) ? sum_in(call.at<warpgroup_product>(lane), r, T{}) : T{};
  multiply_and_add(o, p.n, depth_bytes / size);
  for (unsigned lane = 0; lane < lanes_per_warp; ++lane) {
    if (!call.has(lane)) continue;
    auto& mine = call.at<warpgroup_product>(lane);
    for (unsigned r = 0; r < registers; ++r) put(mine, r, o.sums[row(lane, r)][column(lane, r)]);
    mine.participants = call.participants;
  }
}

}  // namespace

std::vector<bulk_access::range> read_by(const warpgroup_product& p) {
  std::vector<bulk_access::range> runs;
  const unsigned size = bytes_of(p.a), in_chunk = chunk_bytes / size;
  const auto add = [&](unsigned long long descriptor, bool along_k, unsigned length) {
    const factor f(descriptor, along_k);
    const unsigned rows = along_k ? length : depth_bytes / size, in_row = along_k ? 2 : length / in_chunk;
    for (unsigned r = 0; r < rows; ++r)
      for (unsigned c = 0; c < in_row; ++c) {
        const std::uintptr_t at = f.chunk(r, c);
        if (!runs.empty() && at == runs.back().begin + runs.back().bytes) {
          runs.back().bytes += chunk_bytes;
        } else if (!runs.empty() && at + chunk_bytes == runs.back().begin) {
          runs.back().begin = at;
          runs.back().bytes += chunk_bytes;
        } else {
          runs.push_back({at, chunk_bytes});
        }
      }
  };
  if (!p.a_in_registers) add(p.descriptor_a, !p.a_columns, warps_per_warpgroup * rows_of_warp);
  add(p.descriptor_b, !p.b_rows, p.n);
  return runs;
}

std::uint64_t operations_of_warp(const warpgroup_product& p) {
  return std::uint64_t{2} * rows_of_warp * p.n * depth_bytes / bytes_of(p.a);
}

std::uint64_t shared_bytes_of(const warpgroup_product& p) {
  const unsigned rows_of_a = p.a_in_registers ? 0 : warps_per_warpgroup * rows_of_warp;
  return std::uint64_t{rows_of_a + p.n} * depth_bytes;
}

void multiply_warpgroup(warpgroup_product& mine, const void* pc) {
  begin_product(mine, pc);
  meet(full_mask, &mine, mine.sum == element::s32 ? &combine<int> : &combine<float>, pc);
  check_whole_warp(mine.participants, pc);
}

}  // namespace sim
