// The parts of C++20's library that these headers need, for C++17 programs (nvcc's default).
#pragma once

namespace sim {

/// std::bit_cast
template <class To, class From>
__attribute__((always_inline)) constexpr To bit_cast(From value) noexcept {
  return __builtin_bit_cast(To, value);
}

/// std::type_identity_t
template <class T>
struct same {
  using type = T;
};
template <class T>
using same_t = typename same<T>::type;

}  // namespace sim
