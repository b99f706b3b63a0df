// The ceilings for a call's speed; those of the host part say how fast one core of this machine reads memory, reads and
// writes it, computes tanh, and multiplies numbers and matrices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/part.hpp"

namespace lab {

/// Rubrics, bars.toml and the staff's runners use its name.
struct ceiling {
  const char* name;
  part where;
  const char* figure;                                                 ///< the meaning of a ratio to it
  enum class work { bytes, input_bytes, flops } moves = work::bytes;  ///< the unit of its rate, counted by the case
  bool is_limit = true;  ///< false for an alternative that a good call can beat
};
inline constexpr ceiling ceilings[] = {
    {"read", part::host, "of read bandwidth", ceiling::work::input_bytes},
    {"triad", part::host, "of triad bandwidth"},
    {"fma", part::host, "of the multiply-add peak", ceiling::work::flops},
    {"eigen", part::host, "of Eigen's speed", ceiling::work::flops},
    {"tanh", part::host, "of the speed of Eigen's tanh"},
    {"file", part::host, "of file bandwidth"},
    {"threads", part::host, "times as fast as a thread for each part", ceiling::work::bytes, false},
    {"prefixes", part::host, "of a correct program's speed", ceiling::work::bytes, false},
    {"copy", part::device, "of copy bandwidth"},
    {"cublas", part::device, "of cuBLAS's speed", ceiling::work::flops},
    {"cublas_aligned", part::device, "of cuBLAS's speed at aligned sizes", ceiling::work::flops},
};

/// Null if none has that name.
constexpr const ceiling* find_ceiling(std::string_view name) {
  for (const ceiling& c : ceilings)
    if (c.name == name) return &c;
  return nullptr;
}

/// Reads every byte once, on one core, as fast as we can; returns the sum of the 64-bit words, so that the compiler
/// cannot drop the reads. `memory` starts at a multiple of 32 bytes; its size is rounded down to a multiple of 64.
std::uint64_t read_all(std::span<const std::byte> memory);

/// a = b + scale * c on one core (McCalpin's STREAM calls it triad). Each is n floats long.
void triad(float* a, const float* b, const float* c, float scale, std::size_t n);

/// out[i] = in[i] after `rounds` steps x <- x * x + c[i], with enough independent chains to fill the multiply-add
/// units. A step is one fused multiply-add where the processor has one.
void fma_chains(float* out, const float* in, const float* c, std::size_t n, std::int64_t rounds);

/// out = a b, on one core, with Eigen; row-major (m, n) = (m, k) (k, n).
void eigen_product(float* out, const float* a, const float* b, std::int64_t m, std::int64_t n, std::int64_t k);

/// out[i] = tanh(in[i]), i < n, in one pass on one core, with Eigen.
void eigen_tanh(float* out, const float* in, std::size_t n);

/// Reads the first `bytes` bytes of a file into `to`, with as few system calls as possible. Throws std::runtime_error.
void read_file(const char* path, std::byte* to, std::size_t bytes);

/// Repeats `operations` times: starts `parts` threads, each of which does lab::small_work of `rounds`, and joins
/// them. Returns what they computed.
std::int64_t thread_per_part(std::int64_t parts, std::int64_t operations, std::int64_t rounds);

/// For each prompt, the number of leading tokens that it shares with an earlier one; prompt p has tokens first[p] to
/// first[p + 1] - 1.
void shared_prefixes(int* out, const int* tokens, const int* first, std::int64_t prompts);

/// Calls one of the host's ceilings as a student's function is called. Each has: inputs; outputs; parameters.
///   read   anything; one i64, the sum of all words; the inputs' sizes in bytes
///   triad  b and c, n floats each, and one float, the scale; a; n
///   fma    n floats, and their n constants; n floats; n, rounds
///   eigen  a and b; their product; m, n, k
///   tanh   n floats; n floats; n
///   file   the file's path and a zero; its bytes; their number
///   threads  nothing; anything; parts, operations, rounds
///   prefixes  tokens, and where each prompt's begin; what they share; prompts
/// Throws std::out_of_range for an unknown name or for too few buffers or parameters.
void run_host_ceiling(const std::string& name, const std::vector<const void*>& inputs,
                      const std::vector<void*>& outputs, const std::vector<std::int64_t>& parameters);

/// The time in seconds, from a clock that is never adjusted (CLOCK_MONOTONIC_RAW).
double raw_seconds();

}  // namespace lab
