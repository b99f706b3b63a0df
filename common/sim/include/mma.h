// Matrix products by a warp (nvcuda::wmma). CUDA does not define which lane holds which element; here the layout is
// that of the mma instructions: 8 by 8 parts, in which a lane holds two neighbours in a row or, in matrix_b, in a
// column.
#pragma once

#include <type_traits>

#include "sim/tensor.h"
#include "sim/warp.h"
#if __has_include("cuda_fp16.h")
#include "cuda_fp16.h"
#endif
#if __has_include("cuda_bf16.h")
#include "cuda_bf16.h"
#endif

namespace nvcuda {
namespace wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

namespace detail {

template <class Use, int m, int n, int k>
constexpr int rows = std::is_same_v<Use, matrix_b> ? k : m;
template <class Use, int m, int n, int k>
constexpr int columns = std::is_same_v<Use, matrix_a> ? k : n;
template <class T>
using stored = std::conditional_t<std::is_same_v<T, precision::tf32>, float, T>;
/// The type of the sums.
template <class T>
using sum_type =
    std::conditional_t<std::is_integral_v<T>, int, std::conditional_t<std::is_same_v<T, double>, double, float>>;

}  // namespace detail

template <class Use, int m, int n, int k, class T, class Layout = void>
class fragment {
 public:
  static_assert((m == 16 && n == 16 && (k == 16 || k == 8)) || (m == 32 && n == 8 && k == 16) ||
                    (m == 8 && n == 32 && k == 16) || (m == 8 && n == 8 && k == 4),
                "wmma has the shapes 16x16x16, 32x8x16, 8x32x16, 16x16x8 (tf32) and 8x8x4 (double)");
  static constexpr int rows = detail::rows<Use, m, n, k>, columns = detail::columns<Use, m, n, k>;
  static constexpr int num_elements = rows * columns / 32, num_storage_elements = num_elements;
  using element_type = T;
  using storage_element_type = detail::stored<T>;
  storage_element_type x[num_elements];

  static constexpr bool by_column = std::is_same_v<Use, matrix_b>;
  /// The row and column of a lane's element i in the matrix.
  SIM_QUIET static constexpr int row(unsigned lane, int i) { return by_column ? along(lane, i) : across(lane, i); }
  SIM_QUIET static constexpr int column(unsigned lane, int i) { return by_column ? across(lane, i) : along(lane, i); }

 private:
  // Lengths along and across the pairs; in 8x8x4, parts have length 4 along, with one element per lane.
  static constexpr int length = by_column ? rows : columns;
  static constexpr int part = length < 8 ? length : 8, in_part = part / 4, parts = length / part;
  SIM_QUIET static constexpr int along(unsigned lane, int i) {
    return i / in_part % parts * part + static_cast<int>(lane % 4) * in_part + i % in_part;
  }
  SIM_QUIET static constexpr int across(unsigned lane, int i) {
    return i / in_part / parts * 8 + static_cast<int>(lane / 4);
  }
};

namespace detail {

inline void whole_warp(const void* pc) {
  unsigned here = 0;
  sim::meet(sim::full_mask, &here, &sim::combine_participants, pc);
  sim::check_whole_warp(here, pc);
}

template <class Layout>
constexpr bool is_row_major = std::is_same_v<Layout, row_major>;

/// Loads or stores neighbours in memory with one access.
template <class Fragment, class Each>
__attribute__((always_inline)) inline void by_pairs(unsigned ld, bool row_major, Each each) {
  const unsigned lane = sim::lane_number();
  const auto place = [&](int i) SIM_QUIET {
    return row_major ? Fragment::row(lane, i) * ld + Fragment::column(lane, i)
                     : Fragment::column(lane, i) * ld + Fragment::row(lane, i);
  };
  for (int i = 0; i < Fragment::num_elements;) {
    const auto at = place(i);
    const int count = i + 1 < Fragment::num_elements && place(i + 1) == at + 1 ? 2 : 1;
    each(i, at, count);
    i += count;
  }
}

/// Copies one or two elements. Does not call memcpy, which would be observed.
template <class T>
__attribute__((always_inline)) SIM_QUIET inline void move(void* to, const void* from, int count) {
  __builtin_memcpy(to, from, sizeof(T));
  if (count == 2)
    __builtin_memcpy(static_cast<char*>(to) + sizeof(T), static_cast<const char*>(from) + sizeof(T), sizeof(T));
}

template <class Fragment, class T>
SIM_UNOBSERVED void load(Fragment& f, const T* from, unsigned ld, bool row_major, const void* pc) {
  by_pairs<Fragment>(
      ld, row_major, [&](int i, auto at, int count) __attribute__((always_inline)) SIM_QUIET {
        sim::observe_load(from + at, count * sizeof(T), pc);
        move<T>(f.x + i, from + at, count);
      });
}
template <class Fragment, class T>
SIM_UNOBSERVED void store(T* to, const Fragment& f, unsigned ld, bool row_major, const void* pc) {
  by_pairs<Fragment>(
      ld, row_major, [&](int i, auto at, int count) __attribute__((always_inline)) SIM_QUIET {
        sim::observe_store(to + at, count * sizeof(T), pc);
        move<T>(to + at, f.x + i, count);
      });
}

/// The counters' names for these types.
template <class T>
constexpr sim::element element_of = std::is_same_v<T, precision::tf32>         ? sim::element::tf32
                                    : std::is_same_v<T, double>                ? sim::element::f64
                                    : std::is_same_v<T, float>                 ? sim::element::f32
                                    : std::is_same_v<T, int>                   ? sim::element::s32
                                    : std::is_same_v<T, signed char>           ? sim::element::s8
                                    : std::is_same_v<T, unsigned char>         ? sim::element::u8
                                    : std::is_same_v<T, class ::__nv_bfloat16> ? sim::element::bf16
                                                                               : sim::element::f16;

template <class Result, class Left, class Right, class Sums>
struct operands {
  Result* d;
  const Left* a;
  const Right* b;
  const Sums* c;
};
template <class Result, class Left, class Right, class Sums>
SIM_UNOBSERVED void combine_products(const sim::warp_call& call) {
  using sum = sum_type<typename Left::storage_element_type>;
  const unsigned mask = sim::misread_mask();
  sum a[Left::rows][Left::columns] = {}, b[Right::rows][Right::columns] = {};
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!call.has(lane)) continue;
    const auto& mine = call.at<operands<Result, Left, Right, Sums>>(lane);
    for (int i = 0; i < Left::num_elements; ++i)
      a[Left::row(lane, i)][Left::column(lane, i)] = sim::as_read(static_cast<sum>(mine.a->x[i]), mask);
    for (int i = 0; i < Right::num_elements; ++i)
      b[Right::row(lane, i)][Right::column(lane, i)] = sim::as_read(static_cast<sum>(mine.b->x[i]), mask);
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!call.has(lane)) continue;
    auto& mine = call.at<operands<Result, Left, Right, Sums>>(lane);
    for (int i = 0; i < Result::num_elements; ++i) {
      sum total = static_cast<sum>(mine.c->x[i]);
      for (int k = 0; k < Left::columns; ++k) total += a[Result::row(lane, i)][k] * b[k][Result::column(lane, i)];
      mine.d->x[i] = static_cast<typename Result::storage_element_type>(total);
    }
  }
}

}  // namespace detail

template <class Use, int m, int n, int k, class T, class Layout, class Value>
void fill_fragment(fragment<Use, m, n, k, T, Layout>& f, const Value& value) {
  for (auto& x : f.x) x = static_cast<detail::stored<T>>(value);
}
template <class Use, int m, int n, int k, class T, class Layout, class Element>
SIM_CALLED_HERE void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& f, const Element* from, unsigned ld) {
  static_assert(!std::is_void_v<Layout>, "an accumulator needs a layout: load_matrix_sync(f, p, ld, mem_row_major)");
  detail::whole_warp(SIM_CALLER);
  detail::load(f, from, ld, detail::is_row_major<Layout>, SIM_CALLER);
}
template <int m, int n, int k, class T, class Element>
SIM_CALLED_HERE void load_matrix_sync(fragment<accumulator, m, n, k, T>& f, const Element* from, unsigned ld,
                                      layout_t layout) {
  detail::whole_warp(SIM_CALLER);
  detail::load(f, from, ld, layout == mem_row_major, SIM_CALLER);
}
template <int m, int n, int k, class T, class Element>
SIM_CALLED_HERE void store_matrix_sync(Element* to, const fragment<accumulator, m, n, k, T>& f, unsigned ld,
                                       layout_t layout) {
  detail::whole_warp(SIM_CALLER);
  detail::store(to, f, ld, layout == mem_row_major, SIM_CALLER);
}
/// d = a * b + c, added up in FP32 (or int, or FP64) and rounded once.
template <int m, int n, int k, class Result, class Left, class LayoutA, class Right, class LayoutB, class Sums>
SIM_CALLED_HERE void mma_sync(fragment<accumulator, m, n, k, Result>& d,
                              const fragment<matrix_a, m, n, k, Left, LayoutA>& a,
                              const fragment<matrix_b, m, n, k, Right, LayoutB>& b,
                              const fragment<accumulator, m, n, k, Sums>& c, bool = false) {
  using call = detail::operands<fragment<accumulator, m, n, k, Result>, fragment<matrix_a, m, n, k, Left, LayoutA>,
                                fragment<matrix_b, m, n, k, Right, LayoutB>, fragment<accumulator, m, n, k, Sums>>;
  call mine{&d, &a, &b, &c};
  // In steps of m16n8k16, m16n8k8 (tf32) or m8n8k4 (double), as compilers do.
  constexpr unsigned step =
      std::is_same_v<Left, double> ? 8 * 8 * 4 : 16 * 8 * (std::is_same_v<Left, precision::tf32> ? 8 : 16);
  sim::count_tensor(detail::element_of<Left>, detail::element_of<Result>, m, n, k, m * n * k / step);
  sim::meet(
      sim::full_mask, &mine,
      &detail::combine_products<fragment<accumulator, m, n, k, Result>, fragment<matrix_a, m, n, k, Left, LayoutA>,
                                fragment<matrix_b, m, n, k, Right, LayoutB>, fragment<accumulator, m, n, k, Sums>>,
      SIM_CALLER);
}
inline float __float_to_tf32(float x) {
  const auto bits = __builtin_bit_cast(unsigned, x);
  return (bits & 0x7f800000u) == 0x7f800000u ? x : __builtin_bit_cast(float, (bits + 0x1000) & ~0x1fffu);
}

}  // namespace wmma
}  // namespace nvcuda
