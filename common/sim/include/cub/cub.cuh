// CUB's common primitives. Warp and block primitives run in the kernel, with their own shared memory and barriers;
// device primitives run on the host, as one entry in the launch log with modelled time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include "cooperative_groups/scan.h"
#include "cuda_runtime.h"

namespace sim {
/// Runs a library's `work` on the host, now or, if the stream is being captured, when the graph runs.
cudaError_t library_call(const char* name, cudaStream_t stream, double flops, double bytes,
                         const std::function<void()>& work);
void host_wrote(const void* pointer, std::size_t bytes);
/// A library's own access to device memory. The operators and iterators that it calls are the program's and run on the
/// host, so they may not touch device memory.
void library_copy(void* to, const void* from, std::size_t bytes);
}  // namespace sim

namespace cub {

struct Sum {
  template <class T, class U>
  auto operator()(const T& a, const U& b) const {
    return a + b;
  }
};
struct Max {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};
struct Min {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return b < a ? b : a;
  }
};
struct Equality {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a == b;
  }
};
struct NullType {};

template <class K, class V>
struct KeyValuePair {
  using Key = K;
  using Value = V;
  K key;
  V value;
  KeyValuePair() = default;  // trivial: may be in shared memory
  KeyValuePair(const K& k, const V& v) : key(k), value(v) {}
  bool operator==(const KeyValuePair& other) const { return key == other.key && value == other.value; }
  bool operator!=(const KeyValuePair& other) const { return !(*this == other); }
};
/// The pair with the larger value, or the smaller one; among equal values, the pair with the smaller key.
struct ArgMax {
  template <class K, class V>
  KeyValuePair<K, V> operator()(const KeyValuePair<K, V>& a, const KeyValuePair<K, V>& b) const {
    return a.value < b.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};
struct ArgMin {
  template <class K, class V>
  KeyValuePair<K, V> operator()(const KeyValuePair<K, V>& a, const KeyValuePair<K, V>& b) const {
    return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};

/// Converts a number's bits to an unsigned number that sorts in the same order, and back.
template <class T>
struct Traits {
  using UnsignedBits =
      std::conditional_t<sizeof(T) == 1, std::uint8_t,
                         std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                            std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>>>;
  static constexpr auto high_bit = static_cast<UnsignedBits>(UnsignedBits{1} << (8 * sizeof(T) - 1));
  static UnsignedBits TwiddleIn(UnsignedBits key) {
    if (std::is_unsigned_v<T>) return key;
    return static_cast<UnsignedBits>(std::is_integral_v<T> || !(key & high_bit) ? key ^ high_bit : ~key);
  }
  static UnsignedBits TwiddleOut(UnsignedBits key) {
    if (std::is_unsigned_v<T>) return key;
    return static_cast<UnsignedBits>(std::is_integral_v<T> || (key & high_bit) ? key ^ high_bit : ~key);
  }
};

/// Prints an error, and returns it.
inline cudaError_t Debug(cudaError_t error, const char* file, int line) {
  if (error != cudaSuccess)
    std::fprintf(stderr, "CUDA error %d [%s, %d]: %s\n", static_cast<int>(error), file, line,
                 cudaGetErrorString(error));
  return error;
}
#define CubDebug(error) cub::Debug(static_cast<cudaError_t>(error), __FILE__, __LINE__)
#define CubDebugExit(error) \
  if (CubDebug(error) != cudaSuccess) std::exit(1)

enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS,
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT,
  BLOCK_LOAD_STRIPED,
  BLOCK_LOAD_VECTORIZE,
  BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE,
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT,
  BLOCK_STORE_STRIPED,
  BLOCK_STORE_VECTORIZE,
  BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE,
};

namespace detail {

namespace groups = cooperative_groups::detail;

template <class T, class Op>
T warp_reduce(unsigned mask, T value, Op&& op, const void* pc) {
  return groups::reduce_lanes(mask, value, op, pc);
}

/// Storage for algorithms that are given no TempStorage.
template <class T>
T& private_storage() {
  __shared__ T storage;
  return storage;
}

template <class T, int Items, class Op>
T thread_reduce(const T (&items)[Items], Op op) {
  T total = items[0];
  for (int i = 1; i < Items; ++i) total = op(total, items[i]);
  return total;
}

}  // namespace detail

// ---- warps

template <class T, int Lanes = 32>
class WarpReduce {
  static constexpr bool by_shuffles = (Lanes & (Lanes - 1)) == 0;  // otherwise through the storage
  struct nothing {};
  struct numbers {
    T of_lane[Lanes];
  };

 public:
  using TempStorage = std::conditional_t<by_shuffles, nothing, numbers>;
  explicit WarpReduce(TempStorage& storage) : storage_(storage) {}
  SIM_CALLED_HERE T Sum(T value) { return reduce(value, cub::Sum(), SIM_CALLER); }
  template <class Op>
  SIM_CALLED_HERE T Reduce(T value, Op op) {
    return reduce(value, op, SIM_CALLER);
  }

 private:
  template <class Op>
  T reduce(T value, Op&& op, const void* pc) {
    const unsigned mask = detail::groups::tile_mask(Lanes);
    if constexpr (by_shuffles) {
      return detail::warp_reduce(mask, value, op, pc);
    } else {
      const int lane = static_cast<int>(detail::groups::thread_in_block() % 32) % Lanes;
      for (int distance = 1; distance < Lanes; distance *= 2) {
        storage_.of_lane[lane] = value;
        __syncwarp(mask);
        if (lane + distance < Lanes) value = op(value, storage_.of_lane[lane + distance]);
        __syncwarp(mask);
      }
      return value;
    }
  }

  TempStorage& storage_;
};

template <class T, int Lanes = 32>
class WarpScan {
 public:
  struct TempStorage {};
  explicit WarpScan(TempStorage&) {}
  SIM_CALLED_HERE void InclusiveSum(T value, T& result) { result = scan<true>(value, cub::Sum(), SIM_CALLER); }
  SIM_CALLED_HERE void ExclusiveSum(T value, T& result) { result = scan<false>(value, cub::Sum(), SIM_CALLER); }
  template <class Op>
  SIM_CALLED_HERE void InclusiveScan(T value, T& result, Op op) {
    result = scan<true>(value, op, SIM_CALLER);
  }

 private:
  template <bool Inclusive, class Op>
  T scan(T value, Op&& op, const void* pc) {
    return detail::groups::scan<Inclusive>(detail::groups::tile_mask(Lanes), value, op, pc);
  }
};

// ---- blocks

template <class T, int X, BlockReduceAlgorithm Algorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1>
class BlockReduce {
  static constexpr int warps = (X * Y * Z + 31) / 32;

 public:
  struct TempStorage {
    T of_warp[warps];
  };
  BlockReduce() : storage_(detail::private_storage<TempStorage>()) {}
  explicit BlockReduce(TempStorage& storage) : storage_(storage) {}

  /// Thread 0 gets the result; the other threads' results are undefined.
  template <class Op>
  T Reduce(T value, Op op) {
    const unsigned thread = detail::groups::thread_in_block();
    value = detail::warp_reduce(sim::full_mask, value, op, __builtin_return_address(0));
    if (warps == 1) return value;
    if (thread % 32 == 0) storage_.of_warp[thread / 32] = value;
    __syncthreads();
    if (thread == 0)
      for (int w = 1; w < warps; ++w) value = op(value, storage_.of_warp[w]);
    return value;
  }
  template <class Op>
  T Reduce(T value, Op op, int valid) {
    const int thread = static_cast<int>(detail::groups::thread_in_block()), first = thread / 32 * 32;
    if (thread < valid) {
      const int here = valid - first;
      value = detail::warp_reduce(detail::groups::lanes(static_cast<unsigned>(here)), value, op,
                                  __builtin_return_address(0));
      if (thread == first) storage_.of_warp[thread / 32] = value;
    }
    __syncthreads();
    if (thread == 0)
      for (int w = 1; w < (valid + 31) / 32; ++w) value = op(value, storage_.of_warp[w]);
    return value;
  }
  template <int Items, class Op>
  T Reduce(T (&items)[Items], Op op) {
    return Reduce(detail::thread_reduce(items, op), op);
  }
  T Sum(T value) { return Reduce(value, cub::Sum()); }
  T Sum(T value, int valid) { return Reduce(value, cub::Sum(), valid); }
  template <int Items>
  T Sum(T (&items)[Items]) {
    return Reduce(items, cub::Sum());
  }

 private:
  TempStorage& storage_;
};

template <class T, int X, BlockScanAlgorithm Algorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1>
class BlockScan {
  static constexpr int warps = (X * Y * Z + 31) / 32;

 public:
  struct TempStorage {
    T of_warp[warps];
  };
  BlockScan() : storage_(detail::private_storage<TempStorage>()) {}
  explicit BlockScan(TempStorage& storage) : storage_(storage) {}

  template <class Op>
  void InclusiveScan(T value, T& result, Op op, T& total) {
    T before;
    const bool first = scan(value, before, op, total);
    result = first ? value : op(before, value);
  }
  template <class Op>
  void ExclusiveScan(T value, T& result, T initial, Op op, T& total) {
    T before;
    const bool first = scan(value, before, op, total);
    result = first ? initial : op(initial, before);
  }
  template <int Items, class Op>
  void InclusiveScan(T (&items)[Items], T (&results)[Items], Op op, T& total) {
    T before;
    const bool first = scan(detail::thread_reduce(items, op), before, op, total);
    for (int i = 0; i < Items; ++i) results[i] = before = first && i == 0 ? items[0] : op(before, items[i]);
  }
  template <int Items, class Op>
  void ExclusiveScan(T (&items)[Items], T (&results)[Items], T initial, Op op, T& total) {
    T before;
    const bool first = scan(detail::thread_reduce(items, op), before, op, total);
    before = first ? initial : op(initial, before);
    for (int i = 0; i < Items; ++i) {
      const T item = items[i];
      results[i] = before;
      before = op(before, item);
    }
  }
  template <class In, class Out, class Op>
  void InclusiveScan(In& in, Out& out, Op op) {
    T total;
    InclusiveScan(in, out, op, total);
  }
  template <class In, class Out, class Op>
  void ExclusiveScan(In& in, Out& out, T initial, Op op) {
    T total;
    ExclusiveScan(in, out, initial, op, total);
  }
  template <class In, class Out>
  void InclusiveSum(In&& in, Out& out) {
    T total;
    InclusiveScan(in, out, cub::Sum(), total);
  }
  template <class In, class Out>
  void InclusiveSum(In&& in, Out& out, T& total) {
    InclusiveScan(in, out, cub::Sum(), total);
  }
  template <class In, class Out>
  void ExclusiveSum(In&& in, Out& out) {
    T total;
    ExclusiveScan(in, out, T{}, cub::Sum(), total);
  }
  template <class In, class Out>
  void ExclusiveSum(In&& in, Out& out, T& total) {
    ExclusiveScan(in, out, T{}, cub::Sum(), total);
  }

 private:
  /// Combines the values of all earlier threads; returns true in thread 0, which has none.
  template <class Op>
  bool scan(T value, T& before, Op op, T& total) {
    const unsigned thread = detail::groups::thread_in_block(), warp = thread / 32;
    const void* pc = __builtin_return_address(0);
    const T until = detail::groups::scan<true>(sim::full_mask, value, op, pc);
    before = detail::groups::scan<false>(sim::full_mask, value, op, pc);
    const unsigned last = detail::groups::threads_of_block() - 1;
    if (thread % 32 == 31 || thread == last) storage_.of_warp[warp] = until;
    __syncthreads();
    T sum = storage_.of_warp[0], ahead = sum;
    for (unsigned w = 1; w < warps; ++w) {
      if (w == warp) ahead = sum;
      sum = op(sum, storage_.of_warp[w]);
    }
    total = sum;
    if (warp > 0) before = thread % 32 == 0 ? ahead : op(ahead, before);
    return thread == 0;
  }
  TempStorage& storage_;
};

enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };

/// How many times each number from 0 to Bins - 1 occurs among a block's items. Uses atomics, whatever the algorithm.
template <class T, int X, int Items, int Bins, BlockHistogramAlgorithm Algorithm = BLOCK_HISTO_SORT, int Y = 1,
          int Z = 1>
class BlockHistogram {
 public:
  struct TempStorage {};
  BlockHistogram() = default;
  explicit BlockHistogram(TempStorage&) {}

  template <class Counter>
  void InitHistogram(Counter (&histogram)[Bins]) {
    for (unsigned b = detail::groups::thread_in_block(); b < Bins; b += X * Y * Z) histogram[b] = 0;
  }
  template <class Counter>
  void Composite(T (&items)[Items], Counter (&histogram)[Bins]) {
    for (const T& one : items) atomicAdd(&histogram[one], Counter{1});
  }
  template <class Counter>
  void Histogram(T (&items)[Items], Counter (&histogram)[Bins]) {
    InitHistogram(histogram);
    __syncthreads();
    Composite(items, histogram);
  }
};

/// Calls the operator for each item and the one before it (Left) or after it (Right); the caller may supply the
/// neighbour at the block's end.
template <class T, int X, int Y = 1, int Z = 1>
class BlockAdjacentDifference {
  static constexpr int threads = X * Y * Z;

 public:
  struct TempStorage {
    T first[threads], last[threads];
  };
  BlockAdjacentDifference() : storage_(detail::private_storage<TempStorage>()) {}
  explicit BlockAdjacentDifference(TempStorage& storage) : storage_(storage) {}

  template <int Items, class Out, class Op>
  void SubtractLeft(T (&items)[Items], Out (&out)[Items], Op op) {
    left(items, out, op, static_cast<T*>(nullptr), threads * Items);
  }
  template <int Items, class Out, class Op>
  void SubtractLeft(T (&items)[Items], Out (&out)[Items], Op op, T before) {
    left(items, out, op, &before, threads * Items);
  }
  template <int Items, class Out, class Op>
  void SubtractLeftPartialTile(T (&items)[Items], Out (&out)[Items], Op op, int valid) {
    left(items, out, op, static_cast<T*>(nullptr), valid);
  }
  template <int Items, class Out, class Op>
  void SubtractLeftPartialTile(T (&items)[Items], Out (&out)[Items], Op op, int valid, T before) {
    left(items, out, op, &before, valid);
  }
  template <int Items, class Out, class Op>
  void SubtractRight(T (&items)[Items], Out (&out)[Items], Op op) {
    right(items, out, op, static_cast<T*>(nullptr), threads * Items);
  }
  template <int Items, class Out, class Op>
  void SubtractRight(T (&items)[Items], Out (&out)[Items], Op op, T after) {
    right(items, out, op, &after, threads * Items);
  }
  template <int Items, class Out, class Op>
  void SubtractRightPartialTile(T (&items)[Items], Out (&out)[Items], Op op, int valid) {
    right(items, out, op, static_cast<T*>(nullptr), valid);
  }

 private:
  // Items beyond the valid ones and an item without a neighbour stay unchanged. `out` may be `items`.
  template <int Items, class Out, class Op>
  void left(T (&items)[Items], Out (&out)[Items], Op op, T* before, int valid) {
    const int thread = static_cast<int>(detail::groups::thread_in_block());
    storage_.last[thread] = items[Items - 1];
    __syncthreads();
    for (int i = Items - 1; i >= 0; --i) {
      const int at = thread * Items + i;
      if (at >= valid || (at == 0 && !before))
        out[i] = items[i];
      else
        out[i] = op(items[i], i > 0 ? items[i - 1] : thread > 0 ? storage_.last[thread - 1] : *before);
    }
  }
  template <int Items, class Out, class Op>
  void right(T (&items)[Items], Out (&out)[Items], Op op, T* after, int valid) {
    const int thread = static_cast<int>(detail::groups::thread_in_block());
    storage_.first[thread] = items[0];
    __syncthreads();
    for (int i = 0; i < Items; ++i) {
      const int at = thread * Items + i;
      if (at >= valid || (at == valid - 1 && !(after && valid == threads * Items)))
        out[i] = items[i];
      else
        out[i] = op(items[i], i + 1 < Items          ? items[i + 1]
                              : thread + 1 < threads ? storage_.first[thread + 1]
                                                     : *after);
    }
  }
  TempStorage& storage_;
};

namespace detail {
/// Direct: a thread's items are adjacent. Striped: all threads' items i are adjacent.
constexpr int place(int thread, int item, int threads, int items, bool striped) {
  return striped ? item * threads + thread : thread * items + item;
}
template <class T, int Count, bool Used>
struct exchange {
  T values[Used ? Count : 1];
};

/// How many words a thread moves at a time if the algorithm vectorizes: 4, 2 or 1, as in CUB.
template <class T, int Items>
struct vector_of {
  static constexpr int word = sizeof(T) % 8 == 0 ? 8 : sizeof(T) % 4 == 0 ? 4 : sizeof(T) % 2 == 0 ? 2 : 1;
  static constexpr int words = Items * sizeof(T) / word, bytes = word * (words % 4 == 0 ? 4 : words % 2 == 0 ? 2 : 1);
  static constexpr int wide = bytes > 16 ? 16 : bytes, count = Items * sizeof(T) / wide;
  struct __align__(wide) type {
    unsigned char data[wide];
  };
};
}  // namespace detail

template <class T, int X, int Items, BlockLoadAlgorithm Algorithm = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1>
class BlockLoad {
  static constexpr int threads = X * Y * Z;
  static constexpr bool through_shared = Algorithm >= BLOCK_LOAD_TRANSPOSE;

 public:
  using TempStorage = detail::exchange<T, threads * Items, through_shared>;
  BlockLoad() : storage_(detail::private_storage<TempStorage>()) {}
  explicit BlockLoad(TempStorage& storage) : storage_(storage) {}
  template <class Iterator>
  void Load(Iterator from, T (&items)[Items]) {
    if constexpr (Algorithm == BLOCK_LOAD_VECTORIZE && std::is_convertible_v<Iterator, const T*>) {
      using vector = detail::vector_of<T, Items>;
      const T* const mine = from + detail::groups::thread_in_block() * Items;
      if (reinterpret_cast<std::uintptr_t>(from) % vector::wide == 0) {
        typename vector::type got[vector::count];
        for (int i = 0; i < vector::count; ++i) got[i] = reinterpret_cast<const typename vector::type*>(mine)[i];
        std::memcpy(items, got, sizeof items);
        return;
      }
    }
    Load(from, items, threads * Items);
  }
  template <class Iterator>
  void Load(Iterator from, T (&items)[Items], int valid) {
    const int thread = static_cast<int>(detail::groups::thread_in_block());
    if constexpr (through_shared) {
      for (int i = 0; i < Items; ++i)
        if (const int at = i * threads + thread; at < valid) storage_.values[at] = from[at];
      __syncthreads();
      for (int i = 0; i < Items; ++i)
        if (thread * Items + i < valid) items[i] = storage_.values[thread * Items + i];
    } else {
      for (int i = 0; i < Items; ++i)
        if (const int at = detail::place(thread, i, threads, Items, Algorithm == BLOCK_LOAD_STRIPED); at < valid)
          items[i] = from[at];
    }
  }
  template <class Iterator, class Default>
  void Load(Iterator from, T (&items)[Items], int valid, Default otherwise) {
    for (T& item : items) item = otherwise;
    Load(from, items, valid);
  }

 private:
  TempStorage& storage_;
};

template <class T, int X, int Items, BlockStoreAlgorithm Algorithm = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1>
class BlockStore {
  static constexpr int threads = X * Y * Z;
  static constexpr bool through_shared = Algorithm >= BLOCK_STORE_TRANSPOSE;

 public:
  using TempStorage = detail::exchange<T, threads * Items, through_shared>;
  BlockStore() : storage_(detail::private_storage<TempStorage>()) {}
  explicit BlockStore(TempStorage& storage) : storage_(storage) {}
  template <class Iterator>
  void Store(Iterator to, T (&items)[Items]) {
    if constexpr (Algorithm == BLOCK_STORE_VECTORIZE && std::is_same_v<Iterator, T*>) {
      using vector = detail::vector_of<T, Items>;
      T* const mine = to + detail::groups::thread_in_block() * Items;
      if (reinterpret_cast<std::uintptr_t>(to) % vector::wide == 0) {
        typename vector::type all[vector::count];
        std::memcpy(all, items, sizeof items);
        for (int i = 0; i < vector::count; ++i) reinterpret_cast<typename vector::type*>(mine)[i] = all[i];
        return;
      }
    }
    Store(to, items, threads * Items);
  }
  template <class Iterator>
  void Store(Iterator to, T (&items)[Items], int valid) {
    constexpr bool striped = through_shared || Algorithm == BLOCK_STORE_STRIPED;
    const int thread = static_cast<int>(detail::groups::thread_in_block());
    if constexpr (through_shared) {
      for (int i = 0; i < Items; ++i) storage_.values[thread * Items + i] = items[i];
      __syncthreads();
      for (int i = 0; i < Items; ++i) items[i] = storage_.values[i * threads + thread];
    }
    for (int i = 0; i < Items; ++i)
      if (const int at = detail::place(thread, i, threads, Items, striped); at < valid) to[at] = items[i];
  }

 private:
  TempStorage& storage_;
};

// ---- the device. Without temporary storage, a call returns the size that it needs; here one byte suffices.

namespace detail {

template <class Out, class Compute>
cudaError_t call(const char* name, void* temporary, std::size_t& temporary_bytes, Out* out, std::size_t results,
                 double bytes, cudaStream_t stream, Compute compute) {
  if (!temporary) {
    temporary_bytes = 1;
    return cudaSuccess;
  }
  return sim::library_call(name, stream, 0, bytes, [=] {
    compute();
    sim::host_wrote(out, results * sizeof(Out));
  });
}
template <class Iterator>
using value_of = std::decay_t<decltype(*std::declval<Iterator>())>;
template <class Iterator, class Count>
value_of<Iterator> get(const Iterator& from, Count i) {
  if constexpr (std::is_pointer_v<Iterator>) {
    value_of<Iterator> item;
    sim::library_copy(&item, from + i, sizeof item);
    return item;
  } else {
    return from[i];
  }
}
template <class Out>
void put(Out* to, const Out& item) {
  sim::library_copy(to, &item, sizeof item);
}
template <class Iterator, class Count>
double moved(Iterator, Count n) {
  return static_cast<double>(n) * sizeof(value_of<Iterator>);
}

}  // namespace detail

struct DeviceReduce {
  template <class In, class Out, class Count, class Op, class T>
  static cudaError_t Reduce(void* temporary, std::size_t& bytes, In in, Out* out, Count n, Op op, T initial,
                            cudaStream_t stream = nullptr) {
    return detail::call("cub::DeviceReduce", temporary, bytes, out, 1, detail::moved(in, n), stream, [=] {
      T total = initial;
      for (Count i = 0; i < n; ++i) total = op(total, static_cast<T>(detail::get(in, i)));
      detail::put<Out>(out, total);
    });
  }
  template <class In, class Out, class Count>
  static cudaError_t Sum(void* temporary, std::size_t& bytes, In in, Out* out, Count n, cudaStream_t stream = nullptr) {
    return Reduce(temporary, bytes, in, out, n, cub::Sum(), Out{}, stream);
  }
  template <class In, class Out, class Count>
  static cudaError_t Max(void* temporary, std::size_t& bytes, In in, Out* out, Count n, cudaStream_t stream = nullptr) {
    return Reduce(temporary, bytes, in, out, n, cub::Max(), std::numeric_limits<Out>::lowest(), stream);
  }
  template <class In, class Out, class Count>
  static cudaError_t Min(void* temporary, std::size_t& bytes, In in, Out* out, Count n, cudaStream_t stream = nullptr) {
    return Reduce(temporary, bytes, in, out, n, cub::Min(), std::numeric_limits<Out>::max(), stream);
  }
};

struct DeviceScan {
  template <class In, class Out, class Op, class Count>
  static cudaError_t InclusiveScan(void* temporary, std::size_t& bytes, In in, Out* out, Op op, Count n,
                                   cudaStream_t stream = nullptr) {
    return detail::call("cub::DeviceScan", temporary, bytes, out, n, 2 * detail::moved(in, n), stream, [=] {
      Out until{};
      for (Count i = 0; i < n; ++i) {
        const auto item = static_cast<Out>(detail::get(in, i));
        until = i == 0 ? item : op(until, item);
        detail::put(out + i, until);
      }
    });
  }
  template <class In, class Out, class Op, class T, class Count>
  static cudaError_t ExclusiveScan(void* temporary, std::size_t& bytes, In in, Out* out, Op op, T initial, Count n,
                                   cudaStream_t stream = nullptr) {
    return detail::call("cub::DeviceScan", temporary, bytes, out, n, 2 * detail::moved(in, n), stream, [=] {
      T before = initial;
      for (Count i = 0; i < n; ++i) {
        const T item = detail::get(in, i);  // in and out may be the same
        detail::put<Out>(out + i, before);
        before = op(before, item);
      }
    });
  }
  template <class In, class Out, class Count>
  static cudaError_t InclusiveSum(void* temporary, std::size_t& bytes, In in, Out* out, Count n,
                                  cudaStream_t stream = nullptr) {
    return InclusiveScan(temporary, bytes, in, out, cub::Sum(), n, stream);
  }
  template <class In, class Out, class Count>
  static cudaError_t ExclusiveSum(void* temporary, std::size_t& bytes, In in, Out* out, Count n,
                                  cudaStream_t stream = nullptr) {
    return ExclusiveScan(temporary, bytes, in, out, cub::Sum(), Out{}, n, stream);
  }
  // A scan starts over at each element whose key differs from the previous one.
  template <class Keys, class In, class Out, class Op, class Count, class Equal = cub::Equality>
  static cudaError_t InclusiveScanByKey(void* temporary, std::size_t& bytes, Keys keys, In in, Out* out, Op op, Count n,
                                        Equal equal = {}, cudaStream_t stream = nullptr) {
    const double traffic = 2 * detail::moved(in, n) + detail::moved(keys, n);
    return detail::call("cub::DeviceScan", temporary, bytes, out, n, traffic, stream, [=] {
      Out until{};
      for (Count i = 0; i < n; ++i) {
        const bool first = i == 0 || !equal(detail::get(keys, i - 1), detail::get(keys, i));
        const auto item = static_cast<Out>(detail::get(in, i));
        until = first ? item : op(until, item);
        detail::put(out + i, until);
      }
    });
  }
  template <class Keys, class In, class Out, class Op, class T, class Count, class Equal = cub::Equality>
  static cudaError_t ExclusiveScanByKey(void* temporary, std::size_t& bytes, Keys keys, In in, Out* out, Op op,
                                        T initial, Count n, Equal equal = {}, cudaStream_t stream = nullptr) {
    const double traffic = 2 * detail::moved(in, n) + detail::moved(keys, n);
    return detail::call("cub::DeviceScan", temporary, bytes, out, n, traffic, stream, [=] {
      T before = initial;
      for (Count i = 0; i < n; ++i) {
        if (i > 0 && !equal(detail::get(keys, i - 1), detail::get(keys, i))) before = initial;
        const T item = detail::get(in, i);  // in and out may be the same
        detail::put<Out>(out + i, before);
        before = op(before, item);
      }
    });
  }
  template <class Keys, class In, class Out, class Count, class Equal = cub::Equality>
  static cudaError_t InclusiveSumByKey(void* temporary, std::size_t& bytes, Keys keys, In in, Out* out, Count n,
                                       Equal equal = {}, cudaStream_t stream = nullptr) {
    return InclusiveScanByKey(temporary, bytes, keys, in, out, cub::Sum(), n, equal, stream);
  }
  template <class Keys, class In, class Out, class Count, class Equal = cub::Equality>
  static cudaError_t ExclusiveSumByKey(void* temporary, std::size_t& bytes, Keys keys, In in, Out* out, Count n,
                                       Equal equal = {}, cudaStream_t stream = nullptr) {
    return ExclusiveScanByKey(temporary, bytes, keys, in, out, cub::Sum(), Out{}, n, equal, stream);
  }
};

struct DeviceRadixSort {
  template <class Key, class Count>
  static cudaError_t SortKeys(void* temporary, std::size_t& bytes, const Key* in, Key* out, Count n, int first_bit = 0,
                              int end_bit = sizeof(Key) * 8, cudaStream_t stream = nullptr) {
    return sort(temporary, bytes, in, out, static_cast<const NullType*>(nullptr), static_cast<NullType*>(nullptr), n,
                false, first_bit, end_bit, stream);
  }
  template <class Key, class Count>
  static cudaError_t SortKeysDescending(void* temporary, std::size_t& bytes, const Key* in, Key* out, Count n,
                                        int first_bit = 0, int end_bit = sizeof(Key) * 8,
                                        cudaStream_t stream = nullptr) {
    return sort(temporary, bytes, in, out, static_cast<const NullType*>(nullptr), static_cast<NullType*>(nullptr), n,
                true, first_bit, end_bit, stream);
  }
  template <class Key, class Value, class Count>
  static cudaError_t SortPairs(void* temporary, std::size_t& bytes, const Key* in, Key* out, const Value* values_in,
                               Value* values_out, Count n, int first_bit = 0, int end_bit = sizeof(Key) * 8,
                               cudaStream_t stream = nullptr) {
    return sort(temporary, bytes, in, out, values_in, values_out, n, false, first_bit, end_bit, stream);
  }
  template <class Key, class Value, class Count>
  static cudaError_t SortPairsDescending(void* temporary, std::size_t& bytes, const Key* in, Key* out,
                                         const Value* values_in, Value* values_out, Count n, int first_bit = 0,
                                         int end_bit = sizeof(Key) * 8, cudaStream_t stream = nullptr) {
    return sort(temporary, bytes, in, out, values_in, values_out, n, true, first_bit, end_bit, stream);
  }

 private:
  template <class Key, class Value, class Count>
  static cudaError_t sort(void* temporary, std::size_t& bytes, const Key* in, Key* out, const Value* values_in,
                          Value* values_out, Count n, bool descending, int first_bit, int end_bit,
                          cudaStream_t stream) {
    if (first_bit != 0 || end_bit != sizeof(Key) * 8) return cudaErrorNotSupported;  // keys are compared whole
    const double passes = sizeof(Key);  // one per byte, each reading and writing all keys
    return detail::call(
        "cub::DeviceRadixSort", temporary, bytes, out, n, 2 * passes * detail::moved(in, n), stream, [=] {
          std::vector<Count> order(n);
          for (Count i = 0; i < n; ++i) order[i] = i;
          std::vector<Key> keys(n);
          sim::library_copy(keys.data(), in, n * sizeof(Key));
          std::stable_sort(order.begin(), order.end(),
                           [&](Count a, Count b) { return descending ? keys[b] < keys[a] : keys[a] < keys[b]; });
          for (Count i = 0; i < n; ++i) detail::put(out + i, keys[order[i]]);
          if (!values_out) return;
          std::vector<Value> values(n);
          sim::library_copy(values.data(), values_in, n * sizeof(Value));
          for (Count i = 0; i < n; ++i) detail::put(values_out + i, values[order[i]]);
          sim::host_wrote(values_out, static_cast<std::size_t>(n) * sizeof(Value));
        });
  }
};

}  // namespace cub
