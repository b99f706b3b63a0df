// A typed array on the host: it passes between the judge, which makes inputs and checks outputs, and the runner, which
// calls the student's function on them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace lab {

enum class dtype : std::uint8_t { f32, f64, i32, i64, u8, bf16 };

/// The upper half of a float's bits, a factor for tensor cores; __nv_bfloat16 on a device.
struct bfloat16 {
  std::uint16_t bits = 0;
  operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
};

/// Rounds to nearest, ties to even; for finite values.
inline bfloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return {static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)};
}

template <class T>
struct dtype_of;
template <>
struct dtype_of<float> {
  static constexpr dtype value = dtype::f32;
};
template <>
struct dtype_of<double> {
  static constexpr dtype value = dtype::f64;
};
template <>
struct dtype_of<std::int32_t> {
  static constexpr dtype value = dtype::i32;
};
template <>
struct dtype_of<std::int64_t> {
  static constexpr dtype value = dtype::i64;
};
template <>
struct dtype_of<std::uint8_t> {
  static constexpr dtype value = dtype::u8;
};
template <>
struct dtype_of<bfloat16> {
  static constexpr dtype value = dtype::bf16;
};

constexpr std::size_t size_bytes(dtype type) {
  switch (type) {
    case dtype::f64:
    case dtype::i64: return 8;
    case dtype::u8: return 1;
    case dtype::bf16: return 2;
    default: return 4;
  }
}

/// What an output must be: its element type and its number of elements.
struct buffer_spec {
  dtype type = dtype::f32;
  std::int64_t size = 0;
  std::size_t bytes() const { return static_cast<std::size_t>(size) * size_bytes(type); }
};

/// An owning array of `spec().size` elements of `spec().type`.
class buffer {
 public:
  buffer() = default;
  /// All bytes are 0xFF, which is NaN in floating point, so they cannot be mistaken for a result.
  explicit buffer(buffer_spec spec) : spec_(spec), data_(std::vector(spec.bytes(), std::byte{0xFF})) {}
  /// A copy of these bytes; there must be `spec.bytes()` of them.
  buffer(buffer_spec spec, std::span<const std::byte> bytes)
      : spec_(spec), data_(std::vector(bytes.begin(), bytes.end())) {}
  /// A vector that is moved here is not copied.
  template <class T>
  static buffer of(std::vector<T> values) {
    buffer result;
    result.spec_ = {dtype_of<T>::value, static_cast<std::int64_t>(values.size())};
    result.data_ = std::move(values);
    return result;
  }
  template <class T>
  static buffer of(std::span<const T> values) {
    return of(std::vector<T>(values.begin(), values.end()));
  }

  const buffer_spec& spec() const { return spec_; }
  std::span<std::byte> bytes() {
    return std::visit([](auto& values) { return std::as_writable_bytes(std::span(values)); }, data_);
  }
  std::span<const std::byte> bytes() const {
    return std::visit([](const auto& values) { return std::as_bytes(std::span(values)); }, data_);
  }

  /// The elements; throws std::logic_error if T is not the element type.
  template <class T>
  std::span<const T> as() const {
    expect(dtype_of<T>::value);
    return {reinterpret_cast<const T*>(bytes().data()), static_cast<std::size_t>(spec_.size)};
  }
  template <class T>
  std::span<T> as() {
    expect(dtype_of<T>::value);
    return {reinterpret_cast<T*>(bytes().data()), static_cast<std::size_t>(spec_.size)};
  }

 private:
  void expect(dtype type) const {
    if (type != spec_.type) throw std::logic_error("lab::buffer was read as an element type that it does not hold");
  }
  buffer_spec spec_;
  std::variant<std::vector<std::byte>, std::vector<std::uint8_t>, std::vector<bfloat16>, std::vector<float>,
               std::vector<std::int32_t>, std::vector<std::int64_t>, std::vector<double>>
      data_;
};

/// Buffers, or what buffer::of takes, in this order; what is moved here is not copied.
template <class... Part>
std::vector<buffer> buffers(Part&&... each) {
  std::vector<buffer> all;
  all.reserve(sizeof...(each));
  const auto add = [&]<class P>(P&& part) {
    if constexpr (std::is_same_v<std::remove_cvref_t<P>, buffer>)
      all.push_back(std::forward<P>(part));
    else
      all.push_back(buffer::of(std::forward<P>(part)));
  };
  (add(std::forward<Part>(each)), ...);
  return all;
}

}  // namespace lab
