// The data of bulk copies: tensor maps, which the driver's cuTensorMapEncodeTiled checks and stores; a box's bytes in
// global memory; and how they move.
#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "bulk.hpp"
#include "cuda.h"
#include "faults.hpp"
#include "lines.hpp"
#include "sim/device.h"
#include "sim/float16.h"

namespace sim {
namespace {

constexpr std::uint32_t mark = 0x54'4d'41'01;
constexpr unsigned most_dimensions = 5;

/// The contents of the 128 bytes of a CUtensorMap.
struct tensor_map {
  std::uint32_t made = mark;
  std::uint8_t type, dimensions, swizzle, fill_nan;
  std::uint64_t begin;
  std::array<std::uint64_t, most_dimensions - 1> pitch;  ///< bytes from one element to the next, from dimension 1 on
  std::array<std::uint32_t, most_dimensions> last;       ///< size minus one
  std::array<std::uint16_t, most_dimensions> box;
  std::array<std::uint8_t, most_dimensions> step;
};
static_assert(sizeof(tensor_map) <= sizeof(CUtensorMap));

unsigned bytes_of(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8: return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: return 2;
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: return 8;
    default: return 4;
  }
}
number number_of(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8: return number::u8;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16: return number::u16;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32: return number::u32;
    case CU_TENSOR_MAP_DATA_TYPE_INT32: return number::s32;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64: return number::u64;
    case CU_TENSOR_MAP_DATA_TYPE_INT64: return number::s64;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16: return number::f16;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: return number::f64;
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: return number::bf16;
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ: return number::tf32;
    default: return number::f32;
  }
}
bool is_real(CUtensorMapDataType type) {
  const number n = number_of(type);
  return n == number::f16 || n == number::f32 || n == number::f64 || n == number::bf16 || n == number::tf32;
}
unsigned swizzle_bytes(CUtensorMapSwizzle s) {
  return s == CU_TENSOR_MAP_SWIZZLE_32B ? 32 : s == CU_TENSOR_MAP_SWIZZLE_64B ? 64 : 128;
}

}  // namespace

std::shared_ptr<bulk_rows> rows_of_box(const void* map, const box_begin& begin, const char** wrong) {
  tensor_map m;
  std::memcpy(static_cast<void*>(&m), map, sizeof m);
  // The compiler places parameters; on Arm, at any multiple of 16.
  const bool misplaced = is_global(map) && reinterpret_cast<std::uintptr_t>(map) % 64 != 0;
  if (m.made != mark || misplaced) {
    *wrong =
        "this is not a tensor map; make one with cuTensorMapEncodeTiled, and pass it as const __grid_constant__ "
        "CUtensorMap or in device memory";
    return nullptr;
  }
  if (m.dimensions != begin.dimensions) {
    *wrong = "the tensor map and the copy have different numbers of dimensions";
    return nullptr;
  }
  const auto type = static_cast<CUtensorMapDataType>(m.type);
  const unsigned size = bytes_of(type);
  auto result = std::make_shared<bulk_rows>();
  result->row_bytes = m.box[0] * size;
  const auto swizzle = static_cast<CUtensorMapSwizzle>(m.swizzle);
  result->swizzle = swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? 0 : swizzle_bytes(swizzle) / 16 - 1;
  result->fill_nan = m.fill_nan != 0;
  result->type = number_of(type);
  // All rows are alike along dimension 0.
  const std::int64_t first = begin.at[0], length = std::int64_t{m.last[0]} + 1;
  const std::int64_t low = std::clamp<std::int64_t>(0, first, first + m.box[0]),
                     high = std::clamp<std::int64_t>(length, low, first + m.box[0]);
  std::array<unsigned, most_dimensions> count{}, at{};
  for (unsigned d = 1; d < m.dimensions; ++d) count[d] = (m.box[d] + m.step[d] - 1u) / m.step[d];
  for (;;) {
    bulk_rows::row row{0, static_cast<std::uint32_t>((low - first) * size),
                       static_cast<std::uint32_t>((high - low) * size)};
    std::uint64_t offset = static_cast<std::uint64_t>(low) * size;
    for (unsigned d = 1; d < m.dimensions; ++d) {
      const std::int64_t i = begin.at[d] + std::int64_t{at[d]} * m.step[d];
      if (i < 0 || i > std::int64_t{m.last[d]}) row.bytes = 0;
      offset += static_cast<std::uint64_t>(i) * m.pitch[d - 1];
    }
    if (row.bytes > 0) row.global = m.begin + offset;
    if (row.bytes == 0) row.skip = 0;
    result->rows.push_back(row);
    unsigned d = 1;
    for (; d < m.dimensions; ++d) {
      if (++at[d] < count[d]) break;
      at[d] = 0;
    }
    if (d >= m.dimensions) return result;
  }
}

// ---- moving the data

namespace {

/// The address of byte `i` of a copy in shared memory.
std::uintptr_t swizzled(std::uintptr_t address, unsigned mask) { return address ^ ((address >> 7 & mask) << 4); }

template <class T>
T combined(bulk_reduction how, T a, T b) {
  switch (how) {
    case bulk_reduction::add: return static_cast<T>(a + b);
    case bulk_reduction::min: return b < a ? b : a;
    case bulk_reduction::max: return a < b ? b : a;
    default: break;
  }
  if constexpr (std::is_integral_v<T>) switch (how) {
      case bulk_reduction::inc: return a >= b ? T{0} : static_cast<T>(a + 1);
      case bulk_reduction::dec: return a == 0 || a > b ? b : static_cast<T>(a - 1);
      case bulk_reduction::bit_and: return a & b;
      case bulk_reduction::bit_or: return a | b;
      case bulk_reduction::bit_xor: return a ^ b;
      default: break;
    }
  return b;
}
template <class Word, class F>
void update(std::uintptr_t to, const char* from, F f) {
  Word value;
  std::memcpy(&value, from, sizeof value);
  auto* target = reinterpret_cast<Word*>(to);
  Word old = __atomic_load_n(target, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(target, &old, f(old, value), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
}
template <class T, class Word>
void reduce_as(std::uintptr_t to, const char* from, bulk_reduction how) {
  update<Word>(to, from,
               [how](Word a, Word b) { return bit_cast<Word>(combined(how, bit_cast<T>(a), bit_cast<T>(b))); });
}
template <class Format>
void reduce_small(std::uintptr_t to, const char* from, bulk_reduction how) {
  update<std::uint16_t>(to, from, [how](std::uint16_t a, std::uint16_t b) {
    return encode<Format>(combined(how, double{decode<Format>(a)}, double{decode<Format>(b)}));
  });
}
unsigned size_of(number type) {
  switch (type) {
    case number::u8: return 1;
    case number::u16:
    case number::f16:
    case number::bf16: return 2;
    case number::u64:
    case number::s64:
    case number::f64: return 8;
    default: return 4;
  }
}
void reduce(std::uintptr_t to, const char* from, bulk_reduction how, number type) {
  switch (type) {
    case number::u8: return reduce_as<std::uint8_t, std::uint8_t>(to, from, how);
    case number::u16: return reduce_as<std::uint16_t, std::uint16_t>(to, from, how);
    case number::u32: return reduce_as<std::uint32_t, std::uint32_t>(to, from, how);
    case number::s32: return reduce_as<std::int32_t, std::uint32_t>(to, from, how);
    case number::u64: return reduce_as<std::uint64_t, std::uint64_t>(to, from, how);
    case number::s64: return reduce_as<std::int64_t, std::uint64_t>(to, from, how);
    case number::f16: return reduce_small<binary16>(to, from, how);
    case number::bf16: return reduce_small<bfloat16>(to, from, how);
    case number::f64: return reduce_as<double, std::uint64_t>(to, from, how);
    default: return reduce_as<float, std::uint32_t>(to, from, how);
  }
}
/// Calls `f` for each contiguous run of a copy's bytes in shared memory, with its address, row and offset in the row.
template <class F>
void each_run(const bulk_rows& rows, std::uintptr_t shared, F f) {
  const std::uint32_t step = rows.swizzle ? 16 : rows.row_bytes;
  for (std::size_t r = 0; r < rows.rows.size(); ++r)
    for (std::uint32_t i = 0; i < rows.row_bytes; i += step)
      f(swizzled(shared + r * rows.row_bytes + i, rows.swizzle), rows.rows[r], i, std::min(step, rows.row_bytes - i));
}

}  // namespace

void move_in(const arriving_copy& copy) {
  each_run(*copy.rows, reinterpret_cast<std::uintptr_t>(copy.to),
           [&](std::uintptr_t to, const bulk_rows::row& row, std::uint32_t from, std::uint32_t n) {
             const std::uint32_t begin = std::clamp(row.skip, from, from + n),
                                 end = std::clamp(row.skip + row.bytes, begin, from + n);
             auto* target = reinterpret_cast<unsigned char*>(to);
             if (end - begin < n) std::memset(target, copy.rows->fill_nan ? 0xff : 0, n);
             if (begin < end)
               std::memcpy(target + (begin - from), reinterpret_cast<const void*>(row.global + (begin - row.skip)),
                           end - begin);
           });
}
void move_out(const leaving_copy& copy) {
  each_run(*copy.rows, reinterpret_cast<std::uintptr_t>(copy.from),
           [&](std::uintptr_t from, const bulk_rows::row& row, std::uint32_t first, std::uint32_t n) {
             const std::uint32_t begin = std::clamp(row.skip, first, first + n),
                                 end = std::clamp(row.skip + row.bytes, begin, first + n);
             if (begin == end) return;
             const std::uintptr_t to = row.global + (begin - row.skip);
             const char* source = reinterpret_cast<const char*>(from) + (begin - first);
             if (copy.how == bulk_reduction::none) {
               std::memcpy(reinterpret_cast<void*>(to), source, end - begin);
               return;
             }
             const unsigned size = size_of(copy.rows->type);
             for (std::uint32_t i = 0; i < end - begin; i += size)
               reduce(to + i, source + i, copy.how, copy.rows->type);
           });
}

}  // namespace sim

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t dimensions, void* begin,
                                const cuuint64_t* size, const cuuint64_t* pitch, const cuuint32_t* box,
                                const cuuint32_t* step, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  const void* pc = __builtin_return_address(0);
  const auto refuse = [&](const std::string& why) {
    const sim::source_line at = sim::line_of(reinterpret_cast<std::uintptr_t>(pc));
    sim::note_host_fault(fmt::format("{}:{}: cuTensorMapEncodeTiled fails: {}", at.file, at.line, why));
    return CUDA_ERROR_INVALID_VALUE;
  };
  const auto address = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
  if (!map || !size || !box || !step || (dimensions > 1 && !pitch)) return refuse("a pointer is null");
  if (address(map) % 64 != 0) return refuse("the CUtensorMap is not at a multiple of 64 bytes");
  if (type < CU_TENSOR_MAP_DATA_TYPE_UINT8 || type > CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ)
    return refuse("the simulated device does not support this data type");
  if (dimensions < 1 || dimensions > sim::most_dimensions)
    return refuse(fmt::format("{} dimensions; a tensor map has 1 to 5", dimensions));
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE)
    return refuse("interleaved layouts are not simulated; use CU_TENSOR_MAP_INTERLEAVE_NONE");
  if (swizzle < CU_TENSOR_MAP_SWIZZLE_NONE || swizzle > CU_TENSOR_MAP_SWIZZLE_128B)
    return refuse("the simulated device does not support this swizzle; use none, 32B, 64B or 128B");
  if (promotion < CU_TENSOR_MAP_L2_PROMOTION_NONE || promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
    return refuse("unknown L2 promotion");
  if (!begin || address(begin) % 16 != 0) return refuse("the global address is not a multiple of 16, or null");
  const unsigned bytes = sim::bytes_of(type);
  for (unsigned d = 0; d < dimensions; ++d) {
    if (size[d] == 0 || size[d] > (cuuint64_t{1} << 32))
      return refuse(fmt::format("dimension {} of the tensor is {}; it may be 1 to 2^32", d, size[d]));
    if (box[d] == 0 || box[d] > 256)
      return refuse(fmt::format("dimension {} of the box is {}; it may be 1 to 256", d, box[d]));
    if (step[d] == 0 || step[d] > 8)
      return refuse(fmt::format("element stride {} is {}; it may be 1 to 8", d, step[d]));
    if (d == 0) continue;
    if (pitch[d - 1] % 16 != 0 || pitch[d - 1] >= cuuint64_t{1} << 40)
      return refuse(
          fmt::format("stride {} is {} bytes; it has to be a multiple of 16 below 2^40", d - 1, pitch[d - 1]));
  }
  if (box[0] * bytes % 16 != 0)
    return refuse(fmt::format("a row of the box has {} bytes; it has to be a multiple of 16", box[0] * bytes));
  if (swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && box[0] * bytes > sim::swizzle_bytes(swizzle))
    return refuse(fmt::format("a row of the box has {} bytes; the swizzle allows up to {}", box[0] * bytes,
                              sim::swizzle_bytes(swizzle)));
  if (fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA && !sim::is_real(type))
    return refuse("only floating-point elements outside of the tensor can become NaN");
  sim::tensor_map m{};
  m.made = sim::mark;
  m.type = static_cast<std::uint8_t>(type);
  m.dimensions = static_cast<std::uint8_t>(dimensions);
  m.swizzle = static_cast<std::uint8_t>(swizzle);
  m.fill_nan = fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  m.begin = address(begin);
  for (unsigned d = 0; d < dimensions; ++d) {
    m.last[d] = static_cast<std::uint32_t>(size[d] - 1);
    m.box[d] = static_cast<std::uint16_t>(box[d]);
    m.step[d] = static_cast<std::uint8_t>(step[d]);
    if (d > 0) m.pitch[d - 1] = pitch[d - 1];
  }
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &m, sizeof m);
  return CUDA_SUCCESS;
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* begin) {
  sim::tensor_map m;
  if (!map || !begin || reinterpret_cast<std::uintptr_t>(begin) % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(static_cast<void*>(&m), map, sizeof m);
  if (m.made != sim::mark) return CUDA_ERROR_INVALID_VALUE;
  m.begin = reinterpret_cast<std::uintptr_t>(begin);
  std::memcpy(map, &m, sizeof m);
  return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* how) {
  if (!name || !function) return cudaErrorInvalidValue;
  *function = std::strcmp(name, "cuTensorMapEncodeTiled") == 0 ? reinterpret_cast<void*>(&cuTensorMapEncodeTiled)
              : std::strcmp(name, "cuTensorMapReplaceAddress") == 0
                  ? reinterpret_cast<void*>(&cuTensorMapReplaceAddress)
              : std::strcmp(name, "cuCtxGetCurrent") == 0 ? reinterpret_cast<void*>(&cuCtxGetCurrent)
                                                          : nullptr;
  if (how) *how = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
