// Lab 09, low precision: what your files must define.
//
// Host pointers in the host part. In the device part all pointers are device pointers from cudaMalloc (256-byte
// aligned); inputs and outputs never overlap. Launch on `stream` and return without waiting.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace lab09 {

// ---- formats.cpp: numbers -----------------------------------------------------------------------------------------

/// Floating-point formats: sign, exponent and fraction bits, from the highest to the lowest.
enum class format {
  fp32,  ///< 1, 8, 23
  fp16,  ///< 1, 5, 10; bias 15
  bf16,  ///< 1, 8, 7; bias 127
  tf32,  ///< 1, 8, 10; bias 127; kept as a float whose lowest 13 bits are 0
  e4m3,  ///< 1, 4, 3; bias 7; no infinities: the largest number is 0x7E = 448, and only 0x7F and 0xFF are NaN
  e5m2,  ///< 1, 5, 2; bias 15
};

/// The bits of `value` in the format `to`: the nearest number or, if two are equally near, the one whose last bit is 0.
/// Small values become subnormal numbers, or zeros with the sign of `value`. A value is too large if, were the exponent
/// unlimited, it would round to a number beyond the largest finite one. It becomes an infinity; in the two 8-bit
/// formats it becomes the largest finite number with its sign, and so do infinities (CUDA calls this __NV_SATFINITE).
/// NaN becomes a NaN with sign 0 whose other bits are 1, as in CUDA: 0x7FFF, 0x7F, 0x7FFFE000 for tf32, and 0x7FFFFFFF
/// for fp32.
std::uint32_t encode(float value, format to);

/// The number with these bits; for a NaN, any NaN. The bits above those of the format are 0.
float decode(std::uint32_t bits, format from);

// In the next five functions each operation (a difference, an exponential, a quotient, an addition ...) is computed in
// float, and its result is rounded to the given format before it is used. Inputs are rounded, too: the numbers in x,
// the divisor n, and the weight, rate and gradient of descend. Sums start at 0 and go from x[0] to x[n - 1].

/// The sum of x: each x[i] is rounded to `terms`, each partial sum to `sums`.
float sum(const float* x, std::size_t n, format terms, format sums);

/// The denominator of softmax: the sum of e^(x[i] - max), with std::exp.
float softmax_sum(const float* x, std::size_t n, format in);

/// LayerNorm's variance: the mean of (x[i] - mean)^2, in two passes. A mean is a sum divided by n.
float variance(const float* x, std::size_t n, format in);

/// The loss of one token: log(softmax_sum) - (x[target] - max), with std::log.
float cross_entropy(const float* x, std::size_t n, std::size_t target, format in);

/// The weight after `steps` steps of gradient descent, w <- w - rate * gradient.
float descend(float w, float rate, float gradient, std::size_t steps, format in);

/// How many nonzero numbers of x become 0 in fp16, after multiplication by `scale` in float.
std::size_t lost(const float* x, std::size_t n, float scale);

/// The largest power of two by which all of x can be multiplied without one becoming infinite in fp16. The largest
/// |x[i]| is between 2^-100 and 2^100.
float loss_scale(const float* x, std::size_t n);

// ---- formats.cpp: groups of numbers with one scale ----------------------------------------------------------------
// All numbers are finite. Two 4-bit numbers share a byte: byte i of a group has number i in its lower half and number
// i + group / 2 in its upper half. `in` and `out` hold groups * group numbers.

constexpr std::size_t int_group = 64, mx_group = 32;

/// int8: scale = max |x| / 127 in float, q = x / scale in float, rounded to the nearest integer, ties to even, and at
/// most 127 in absolute value; if scale is 0, all q are 0. A number is q * scale.
void quantize_int8(std::int8_t* q,  // (groups, 64)
                   float* scale,    // (groups)
                   const float* in, std::size_t groups);
void dequantize_int8(float* out, const std::int8_t* q, const float* scale, std::size_t groups);

/// int4: the same with 7 instead of 127; stores q + 8.
void quantize_int4(std::uint8_t* q,  // (groups, 32)
                   float* scale,     // (groups)
                   const float* in, std::size_t groups);
void dequantize_int4(float* out, const std::uint8_t* q, const float* scale, std::size_t groups);

/// mxfp4 (OCP Microscaling Formats 1.0): a scale is a power of two with the exponent floor(log2(max |x|)) - 2. The
/// exponent + 127 is stored, or 0 if that is negative or all x are 0. A number is e2m1 (1 sign bit, 2 exponent bits
/// with bias 1, 1 fraction bit: 0, 0.5, 1, 1.5, 2, 3, 4, 6), x / scale rounded to nearest even; values above 6 become
/// 6. The sign of 0 is kept.
void quantize_mxfp4(std::uint8_t* q,      // (groups, 16)
                    std::uint8_t* scale,  // (groups)
                    const float* in, std::size_t groups);
void dequantize_mxfp4(float* out, const std::uint8_t* q, const std::uint8_t* scale, std::size_t groups);

// ---- quantized.cpp: y = W x on one thread, W quantized as above ---------------------------------------------------
// Rows are divided into groups of 64 columns; columns is a multiple of 64. x is finite, and its largest number is 0 or
// at least 2^-100 in absolute value. y[r] may be off by 2^-14 of the sum of |W(r, c)| over c, times the largest |x[c]|.

void matvec_int8(float* y,              // (rows)
                 const std::int8_t* q,  // (rows, columns)
                 const float* scale,    // (rows, columns / 64)
                 const float* x,        // (columns)
                 std::size_t rows, std::size_t columns);

void matvec_int4(float* y,               // (rows)
                 const std::uint8_t* q,  // (rows, columns / 2)
                 const float* scale,     // (rows, columns / 64)
                 const float* x,         // (columns)
                 std::size_t rows, std::size_t columns);

// ---- tensor.cu: C = A B on tensor cores ----------------------------------------------------------------------------
// Row-major bf16 matrices, sums in FP32, each rounded to bf16 once, at the end. m, n, k are 1 to 500,000, and n and k
// are multiples of 8, so that each row starts at a multiple of 16 bytes. The number of elements of each matrix fits in
// an int.

using bf16 = __nv_bfloat16;

/// A block of 4 warps computes 64 x 64 elements of C from tiles of 64 x 32 and 32 x 64 in shared memory, with wmma
/// (mma.h).
void gemm_wmma(bf16* c,        // (m, n)
               const bf16* a,  // (m, k)
               const bf16* b,  // (k, n)
               int m, int n, int k, cudaStream_t stream);

/// A block of 8 warps computes 128 x 128 elements from tiles of 128 x 32 and 32 x 128; each warp computes 64 x 32 of
/// them with mma and ldmatrix (lab/tensor_core.hpp), without bank conflicts.
void gemm_mma(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream);

/// As fast as you can make it: tiles of at least 128 x 128 in at least 3 buffers, filled by asynchronous copies.
void gemm_pipelined(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream);

}  // namespace lab09
