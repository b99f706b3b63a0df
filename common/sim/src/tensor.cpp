// A warp's products of small matrices, and the loads and stores of their parts.
#include "sim/tensor.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "access.hpp"
#include "sim/float8.h"
#include "sim/names.h"

namespace sim {

namespace {

unsigned mask_of_misread = 0;

constexpr unsigned most_rows = 16, most_columns = 8, most_depth = 64;

constexpr unsigned bits_of(element e) {
  switch (e) {
    case element::f64: return 64;
    case element::f16:
    case element::bf16: return 16;
    case element::e4m3:
    case element::e5m2:
    case element::s8:
    case element::u8: return 8;
    case element::s4:
    case element::u4: return 4;
    default: return 32;
  }
}

/// Element j of a register.
float real(element e, unsigned word, unsigned j) {
  switch (e) {
    case element::f16: return decode<binary16>(static_cast<std::uint16_t>(word >> 16 * j));
    case element::bf16: return decode<bfloat16>(static_cast<std::uint16_t>(word >> 16 * j));
    case element::tf32: return bit_cast<float>(word & 0xffffe000u);  // the hardware ignores the other bits
    case element::e4m3: return decode8<e4m3>(static_cast<std::uint8_t>(word >> 8 * j));
    default: return decode8<e5m2>(static_cast<std::uint8_t>(word >> 8 * j));
  }
}
int whole(element e, unsigned word, unsigned j) {
  switch (e) {
    case element::s8: return static_cast<std::int8_t>(word >> 8 * j);
    case element::u8: return static_cast<std::uint8_t>(word >> 8 * j);
    case element::s4: return static_cast<std::int8_t>(word >> 4 * j << 4) >> 4;
    default: return static_cast<int>(word >> 4 * j & 15);
  }
}

template <class T>
T element_of(element e, const unsigned* words, unsigned r, unsigned j) {
  if constexpr (std::is_same_v<T, double>) {
    double value;
    std::memcpy(&value, words, sizeof value);
    return value;
  } else if constexpr (std::is_same_v<T, float>) {
    return real(e, words[r], j);
  } else {
    return whole(e, words[r], j);
  }
}

/// Register r of a lane's C: its rows and columns.
struct place {
  unsigned row, column;
};
place place_of(unsigned lane, unsigned r) { return {lane / 4 + 8 * (r / 2), 2 * (lane % 4) + r % 2}; }

template <class T>
void put(const product_shape& s, unsigned* c, unsigned r, T value) {
  if constexpr (std::is_same_v<T, double>) {
    std::memcpy(c + 2 * r, &value, sizeof value);
  } else if constexpr (std::is_same_v<T, float>) {
    if (s.sum == element::f32)
      c[r] = bit_cast<unsigned>(value);
    else  // two elements per register
      c[r / 2] = r % 2 == 0 ? encode<binary16>(value) : c[r / 2] | unsigned{encode<binary16>(value)} << 16;
  } else {
    if (s.saturates) value = std::clamp<T>(value, std::numeric_limits<int>::min(), std::numeric_limits<int>::max());
    c[r] = static_cast<unsigned>(value);
  }
}
template <class T>
T sum_in(const product_shape& s, const unsigned* c, unsigned r) {
  if constexpr (std::is_same_v<T, double>) {
    double value;
    std::memcpy(&value, c + 2 * r, sizeof value);
    return value;
  } else if constexpr (std::is_same_v<T, float>) {
    return s.sum == element::f32 ? bit_cast<float>(c[r]) : real(element::f16, c[r / 2], r % 2);
  } else {
    return static_cast<int>(c[r]);
  }
}

template <class Argument>
void note_participants(const warp_call& call) {
  for (unsigned lane = 0; lane < lanes_per_warp; ++lane)
    if (call.has(lane)) call.at<Argument>(lane).participants = call.participants;
}

/// D for all lanes. T: float, double, or an integer type that holds any sum.
template <class T>
void combine_product(const warp_call& call) {
  const product_shape s = [&] {
    for (unsigned lane = 0;; ++lane)
      if (call.has(lane)) return call.at<product>(lane).shape;
  }();
  T a[most_rows][most_depth] = {}, b[most_depth][most_columns] = {}, d[most_rows][most_columns] = {};
  const auto fill = [&](auto at, const unsigned* words, element e, unsigned lane, unsigned count) {
    const unsigned in_word = std::max(32 / bits_of(e), 1u), in_all = count * 32 / bits_of(e);
    for (unsigned i = 0; i < in_all; ++i)
      at(lane, i / in_word, i % in_word, in_word) =
          as_read(element_of<T>(e, words, i / in_word, i % in_word), mask_of_misread);
  };
  const unsigned words_a = s.m * s.k * bits_of(s.a) / 1024, words_b = s.k * s.n * bits_of(s.b) / 1024;
  const unsigned sums = s.m * s.n / 32;
  for (unsigned lane = 0; lane < lanes_per_warp; ++lane) {
    if (!call.has(lane)) continue;
    const product& mine = call.at<product>(lane);
    fill([&](unsigned l, unsigned r, unsigned j,
             unsigned e) -> T& { return a[l / 4 + 8 * (r % 2)][e * (l % 4) + j + 4 * e * (r / 2)]; },
         mine.a, s.a, lane, words_a);
    fill([&](unsigned l, unsigned r, unsigned j, unsigned e) -> T& { return b[e * (l % 4) + j + 4 * e * r][l / 4]; },
         mine.b, s.b, lane, words_b);
    for (unsigned r = 0; r < sums; ++r) {
      const place p = place_of(lane, r);
      d[p.row][p.column] = sum_in<T>(s, mine.c, r);
    }
  }
  for (unsigned i = 0; i < s.m; ++i)
    for (unsigned k = 0; k < s.k; ++k)
      for (unsigned j = 0; j < most_columns; ++j) d[i][j] += a[i][k] * b[k][j];
  for (unsigned lane = 0; lane < lanes_per_warp; ++lane)
    if (call.has(lane))
      for (unsigned r = 0; r < sums; ++r) {
        const place p = place_of(lane, r);
        put<T>(s, call.at<product>(lane).c, r, d[p.row][p.column]);
      }
  note_participants<product>(call);
}

struct matrix_call {
  std::uintptr_t row;
  unsigned matrices;
  bool transposed;
  matrix_parts parts;
  unsigned participants = 0;
};
/// Where a lane's part of matrix i is: two neighbours in a row or, if transposed, in a column.
template <class Each>
void each_element(const warp_call& call, Each each) {
  note_participants<matrix_call>(call);
  for (unsigned lane = 0; lane < lanes_per_warp; ++lane) {
    if (!call.has(lane)) continue;
    auto& mine = call.at<matrix_call>(lane);
    for (unsigned i = 0; i < mine.matrices; ++i)
      for (unsigned j = 0; j < 2; ++j) {
        unsigned row = lane / 4, column = 2 * (lane % 4) + j;
        if (mine.transposed) std::swap(row, column);
        if (call.has(8 * i + row)) each(mine.parts.part[i], 16 * j, call.at<matrix_call>(8 * i + row).row + 2 * column);
      }
  }
}
void combine_loads(const warp_call& call) {
  each_element(call, [](unsigned& part, unsigned shift, std::uintptr_t address) {
    std::uint16_t bits;
    std::memcpy(&bits, reinterpret_cast<const void*>(address), sizeof bits);
    part = shift == 0 ? bits : part | unsigned{bits} << shift;
  });
}
void combine_stores(const warp_call& call) {
  each_element(call, [](unsigned part, unsigned shift, std::uintptr_t address) {
    const auto bits = static_cast<std::uint16_t>(part >> shift);
    std::memcpy(reinterpret_cast<void*>(address), &bits, sizeof bits);
  });
}

}  // namespace

void misread_factors(unsigned mask) { mask_of_misread = mask & 127; }
unsigned misread_mask() { return mask_of_misread; }

void multiply(product& mine, const void* pc) {
  const product_shape& s = mine.shape;
  // As on an H200: outside wgmma, an e4m3 or e5m2 product is two fp16 ones, and a 4-bit integer product is two 8-bit
  // ones.
  const bool as_fp16 = s.a == element::e4m3 || s.a == element::e5m2, as_int8 = s.a == element::s4 || s.a == element::u4;
  count_tensor(as_fp16 ? element::f16 : as_int8 ? element::s8 : s.a, s.sum, s.m, s.n, s.k, as_fp16 || as_int8 ? 2 : 1);
  meet(full_mask, &mine,
       s.sum == element::f64   ? &combine_product<double>
       : s.sum == element::s32 ? &combine_product<long long>
                               : &combine_product<float>,
       pc);
  check_whole_warp(mine.participants, pc);
}

matrix_parts load_matrices(std::uintptr_t row, unsigned matrices, bool transposed, const void* pc) {
  count_matrix_access(pc);
  if (lane_number() < 8 * matrices) observe_load(reinterpret_cast<const void*>(row), 16, pc);
  matrix_call mine{row, matrices, transposed, {}};
  meet(full_mask, &mine, &combine_loads, pc);
  check_whole_warp(mine.participants, pc);
  return mine.parts;
}
void store_matrices(std::uintptr_t row, unsigned matrices, bool transposed, const matrix_parts& from, const void* pc) {
  count_matrix_access(pc);
  if (lane_number() < 8 * matrices) observe_store(reinterpret_cast<const void*>(row), 16, pc);
  matrix_call mine{row, matrices, transposed, from};
  meet(full_mask, &mine, &combine_stores, pc);
  check_whole_warp(mine.participants, pc);
}

}  // namespace sim
