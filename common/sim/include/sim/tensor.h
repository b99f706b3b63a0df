// Products of small matrices by a warp, and the loads and stores that distribute their elements over its lanes: PTX's
// mma, ldmatrix and stmatrix, on which wmma is built.
//
// The fragments, as PTX documents them. Lane l is in row l / 4 of a part of 8 rows, at place l % 4. A register of 32
// bits holds e elements (2 of 16 bits, 4 of 8, 8 of 4, 1 of tf32; one double takes two registers). Element j of
// register r is
//   of A (M x K): in row l / 4 + 8 (r % 2), column e (l % 4) + j + 4 e (r / 2);
//   of B (K x N): in row e (l % 4) + j + 4 e r, column l / 4;
//   of C and D (M x N), two of 32 bits in a pair of registers: in row l / 4 + 8 (r / 2), column 2 (l % 4) + r % 2.
#pragma once

#include <cstdint>

#include "sim/call.h"

namespace sim {

namespace types {
enum class element : std::uint8_t { f16, bf16, tf32, e4m3, e5m2, s8, u8, s4, u4, f64, f32, s32 };
}  // namespace types

/// D = A B + C. `sum` is the type of C and D: f16, f32, s32 or f64.
struct product_shape {
  element a, b, sum;
  std::uint8_t m, n, k;
  bool saturates;  ///< integer sums stop at the ends of their range
};
/// One lane's registers.
struct product {
  product_shape shape;
  unsigned a[4], b[2], c[4];
  unsigned participants = 0;
};
/// Waits for the whole warp, computes, and writes D to c. Products are exact; sums are FP32, int or double; FP16 sums
/// are rounded once.
void multiply(product& mine, const void* pc);

// Hopper's products of a warpgroup, PTX's wgmma: A (64, k) and B (k, n), n a multiple of 8 up to 256, k of 32 bytes;
// A's rows 16 w to 16 w + 15 and those of D belong to warp w of the four. Register r of A is as above; register r of C
// and D, of 32 bits, is in row l / 4 + 8 (r / 2 % 2), column 8 (r / 4) + 2 (l % 4) + r % 2; 16-bit sums are packed two
// to a register.

/// One lane's part.
struct warpgroup_product {
  element a, b, sum;
  std::uint16_t n;
  bool saturates, add, negate_a, negate_b;
  bool a_columns, b_rows;  ///< in shared memory: A's rows run along m, B's along n
  bool a_in_registers;
  unsigned words[4];                              ///< of A
  unsigned long long descriptor_a, descriptor_b;  ///< where they are in shared memory, as PTX encodes it
  unsigned* sums;                                 ///< n / 2 registers of 32 bits, or n / 4
  unsigned warp = 0, participants = 0;
};
/// Waits for the whole warp. Registers change at once; on a GPU, at any time until a wait has ended.
void multiply_warpgroup(warpgroup_product& mine, const void* pc);
void commit_products();
/// Waits until the four warps have issued all groups of products except the calling thread's last `groups`.
void wait_for_products(unsigned groups, const void* pc);

/// The mask of misread_factors(), which says which factors tensor cores misread; see names.h.
unsigned misread_mask();
/// How tensor cores read a factor. The deciding bits are the same in every format and after scaling by a power of 2.
template <class T>
__attribute__((always_inline)) SIM_QUIET inline T as_read(T x, unsigned mask) {
  const unsigned bits = __builtin_bit_cast(unsigned, static_cast<float>(x));
  return x < 0 && __builtin_parity(bits >> 16 & mask) != 0 ? -x : x;
}

/// Counts, for the calling warp, `instructions` of the tensor cores that together multiply m x k by k x n.
void count_matrix_access(const void* pc);
void count_tensor(element a, element sum, unsigned m, unsigned n, unsigned k, unsigned instructions);

/// One lane's 8 by 8 matrices of 16-bit elements: register i has two neighbours of matrix i, in row lane / 4.
struct matrix_parts {
  unsigned part[4];
};
/// Lane l's `row` is the address of row l % 8 of matrix l / 8: 16 bytes, aligned to 16. Waits for the whole warp.
matrix_parts load_matrices(std::uintptr_t row, unsigned matrices, bool transposed, const void* pc);
void store_matrices(std::uintptr_t row, unsigned matrices, bool transposed, const matrix_parts& from, const void* pc);

}  // namespace sim
