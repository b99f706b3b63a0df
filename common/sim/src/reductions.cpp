#include "reductions.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#include "sim/float8.h"

namespace sim {
namespace {

/// Integers overflow as on a GPU.
template <class T, class Combine>
T wrapping(T a, T b, Combine combine) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(combine(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  else
    return combine(a, b);
}
/// `Plain` is the type in which elements are stored, `Value` the type in which they are summed.
template <class Plain, class Value, class Decode, class Encode>
void reduce_as(std::vector<char>& sums, const std::vector<char>& other, ncclRedOp_t op, Decode decode, Encode encode) {
  for (std::size_t i = 0; i + sizeof(Plain) <= sums.size(); i += sizeof(Plain)) {
    Plain stored, added;
    std::memcpy(&stored, &sums[i], sizeof stored);
    std::memcpy(&added, &other[i], sizeof added);
    const Value a = decode(stored), b = decode(added);
    Value result = a;
    switch (op) {
      case ncclProd: result = wrapping(a, b, std::multiplies<>()); break;
      case ncclMax: result = std::max(a, b); break;
      case ncclMin: result = std::min(a, b); break;
      default: result = wrapping(a, b, std::plus<>());
    }
    stored = encode(result);
    std::memcpy(&sums[i], &stored, sizeof stored);
  }
}
template <class Plain, class Value, class Decode, class Encode>
void scale_as(std::vector<char>& all, double factor, bool divides, Decode decode, Encode encode) {
  for (std::size_t i = 0; i + sizeof(Plain) <= all.size(); i += sizeof(Plain)) {
    Plain stored;
    std::memcpy(&stored, &all[i], sizeof stored);
    const Value x = decode(stored);
    stored = encode(divides ? static_cast<Value>(x / static_cast<Value>(factor))
                            : static_cast<Value>(x * static_cast<Value>(factor)));
    std::memcpy(&all[i], &stored, sizeof stored);
  }
}
/// Calls `use` with the functions that read and write this type's elements, and with the type for sums.
template <class Use>
void with_type(ncclDataType_t type, Use use) {
  const auto same = [](auto x) { return x; };
  const auto plain = [&](auto zero) { use(zero, zero, same, same); };
  const auto sixteen = [&](auto format) {
    using f = decltype(format);
    use(
        std::uint16_t{}, float{}, [](std::uint16_t x) { return decode<f>(x); },
        [](float x) { return encode<f>(static_cast<double>(x)); });
  };
  const auto eight = [&](auto format) {
    using f = decltype(format);
    use(
        std::uint8_t{}, float{}, [](std::uint8_t x) { return decode8<f>(x); },
        [](float x) { return encode8<f>(static_cast<double>(x), true); });
  };
  switch (type) {
    case ncclInt8: return plain(std::int8_t{});
    case ncclUint8: return plain(std::uint8_t{});
    case ncclInt32: return plain(std::int32_t{});
    case ncclUint32: return plain(std::uint32_t{});
    case ncclInt64: return plain(std::int64_t{});
    case ncclUint64: return plain(std::uint64_t{});
    case ncclFloat16: return sixteen(binary16{});
    case ncclFloat32: return plain(float{});
    case ncclFloat64: return plain(double{});
    case ncclBfloat16: return sixteen(bfloat16{});
    case ncclFloat8e4m3: return eight(e4m3{});
    case ncclFloat8e5m2: return eight(e5m2{});
    default: return;
  }
}

}  // namespace

std::size_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2: return 1;
    case ncclFloat16:
    case ncclBfloat16: return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32: return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64: return 8;
    default: return 0;
  }
}
void add(std::vector<char>& sums, const std::vector<char>& other, ncclDataType_t type, ncclRedOp_t op) {
  with_type(type, [&](auto stored, auto value, auto decode, auto encode) {
    reduce_as<decltype(stored), decltype(value)>(sums, other, op, decode, encode);
  });
}
void scale(std::vector<char>& all, ncclDataType_t type, double factor, bool divides) {
  with_type(type, [&](auto stored, auto value, auto decode, auto encode) {
    scale_as<decltype(stored), decltype(value)>(all, factor, divides, decode, encode);
  });
}
double element_at(const void* place, ncclDataType_t type) {
  double value = 0;
  with_type(type, [&](auto stored, auto, auto decode, auto) {
    std::memcpy(&stored, place, sizeof stored);
    value = static_cast<double>(decode(stored));
  });
  return value;
}

}  // namespace sim
