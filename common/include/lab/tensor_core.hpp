// Two PTX instructions of tensor cores as functions: ldmatrix and mma.sync, for bf16 with sums in FP32 (compute
// capability 8.0). All 32 lanes of a warp must call them. The PTX manual specifies which lane holds which element; in
// the pictures, lane = 4 * g + t.
//
//   A, 16 x 16          t = 0   1   2   3 | 0   1   2   3
//   row g           a[0]: 01  23  45  67   a[2]: 89 ..        columns 2t and 2t + 1; in a[2], a[3], 8 columns further
//   row g + 8       a[1]                   a[3]
//
//   B, 16 x 8           column g: b[0] holds rows 2t and 2t + 1, b[1] rows 2t + 8 and 2t + 9
//
//   C, 16 x 8           row g: d[0], d[1] in columns 2t, 2t + 1; row g + 8: d[2], d[3]
//
// The element with the lower index is in the lower half of a register.
#pragma once

#include <cuda_runtime.h>

namespace lab {

/// Loads four 8 x 8 matrices of 16-bit elements from shared memory. Lanes 0 to 7 pass the addresses of the rows of the
/// first matrix, 8 to 15 those of the second, and so on; a row is 16 bytes, and starts at a multiple of 16 bytes. to[i]
/// holds columns 2t and 2t + 1 of row g of matrix i.
__device__ inline void ldmatrix(unsigned (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
}

/// The same, transposed: to[i] holds rows 2t and 2t + 1 of column g of matrix i.
__device__ inline void ldmatrix_trans(unsigned (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
}

/// d += a b: 16 x 8 = 16 x 16 times 16 x 8.
__device__ inline void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

}  // namespace lab
