// Asynchronous copies into shared memory, and the functions that wait for them: the __pipeline functions,
// cuda::pipeline, cuda::barrier, cooperative groups' memcpy_async. The data moves only when a thread waits for its
// copies: a thread that reads too early sees the old values.
#pragma once

#include <cstddef>

#include "cooperative_groups.h"
#include "cuda/atomic"
#include "sim/bulk.h"

namespace sim {

/// Counts the load now and the store when the copy happens, both at `pc`. The last `zeros` bytes become zero. For the
/// race check, the copy may write at any time until then. `barrier`: the cuda::barrier whose phase waits for the copy;
/// null: the thread itself waits.
void copy_async(void* to, const void* from, std::size_t bytes, std::size_t zeros, const void* barrier, const void* pc);
void commit_copies();
/// Performs the calling thread's copies, except those of the last `groups` commits.
void wait_for_copies(std::size_t groups);
/// Performs the calling thread's copies that this barrier waits for.
void make_barrier_copies(const void* barrier);

/// Copies the part of thread `rank` of `size`, in the widest pieces that both addresses allow.
inline void copy_part(unsigned rank, unsigned size, void* to, const void* from, std::size_t bytes, const void* barrier,
                      const void* pc) {
  const auto bits = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | bytes;
  const std::size_t width = bits % 16 == 0 ? 16 : bits % 8 == 0 ? 8 : bits % 4 == 0 ? 4 : bits % 2 == 0 ? 2 : 1;
  for (std::size_t at = rank * width; at < bytes; at += size * width)
    copy_async(static_cast<char*>(to) + at, static_cast<const char*>(from) + at, width, 0, barrier, pc);
}

}  // namespace sim

// ---- primitives

SIM_CALLED_HERE void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes, std::size_t zeros = 0) {
  sim::copy_async(to, from, bytes, zeros, nullptr, SIM_CALLER);
}
inline void __pipeline_commit() { sim::commit_copies(); }
inline void __pipeline_wait_prior(std::size_t groups) { sim::wait_for_copies(groups); }

namespace cuda {

template <::std::size_t Alignment>
struct aligned_size_t {
  static constexpr ::std::size_t align = Alignment;
  ::std::size_t value;
  explicit constexpr aligned_size_t(::std::size_t size) : value(size) {}
  constexpr operator ::std::size_t() const { return value; }
};

// ---- barrier

template <thread_scope Scope = thread_scope_system>
class barrier {
 public:
  using arrival_token = unsigned long long;
  barrier() = default;  // trivial: in shared memory, init() starts a barrier
  SIM_CALLED_HERE explicit barrier(::std::ptrdiff_t expected) {
    sim::init_mbarrier(&state_, static_cast<unsigned>(expected), SIM_CALLER);
  }
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;
  friend SIM_CALLED_HERE void init(barrier* self, ::std::ptrdiff_t expected) {
    sim::init_mbarrier(&self->state_, static_cast<unsigned>(expected), SIM_CALLER);
  }
  static constexpr ::std::ptrdiff_t max() noexcept { return (1 << 20) - 1; }

  [[nodiscard]] SIM_CALLED_HERE arrival_token arrive(::std::ptrdiff_t count = 1) {
    return arrive_at(count, 0, 0, SIM_CALLER);
  }
  SIM_CALLED_HERE void wait(arrival_token token) const { wait_for(phase_of(token), SIM_CALLER); }
  SIM_CALLED_HERE void arrive_and_wait() { wait_for(phase_of(arrive_at(1, 0, 0, SIM_CALLER)), SIM_CALLER); }
  SIM_CALLED_HERE void arrive_and_drop() { arrive_at(1, 1, 0, SIM_CALLER); }
  SIM_CALLED_HERE bool try_wait(arrival_token token) const {
    return sim::wait_for_phase(&state_, phase_of(token), SIM_CALLER);
  }
  SIM_CALLED_HERE bool try_wait_parity(bool parity) const { return sim::wait_for_phase(&state_, parity, SIM_CALLER); }
  SIM_CALLED_HERE void wait_parity(bool parity) const { wait_for(parity, SIM_CALLER); }

  // ---- ours, not CUDA's
  SIM_QUIET sim::mbarrier* state() const { return &state_; }
  SIM_QUIET arrival_token arrive_at(::std::ptrdiff_t count, unsigned dropped, int bytes, const void* pc) {
    sim::make_barrier_copies(this);
    return sim::arrive_at(&state_, static_cast<unsigned>(count), dropped, bytes, pc);
  }

 private:
  SIM_QUIET static unsigned phase_of(arrival_token token) { return sim::mbarrier{token}.phase(); }
  SIM_QUIET void wait_for(unsigned parity, const void* pc) const {
    while (!sim::wait_for_phase(&state_, parity, pc)) {
    }
  }
  mutable sim::mbarrier state_;
};
namespace std {
template <class Completion = void>
using barrier = ::cuda::barrier<thread_scope_system>;
}

// ---- Hopper's bulk copies, which arrive at a barrier of the block

namespace device {
SIM_QUIET inline ::std::uint64_t* barrier_native_handle(barrier<thread_scope_block>& b) {
  return reinterpret_cast<::std::uint64_t*>(b.state());
}
[[nodiscard]] SIM_CALLED_HERE barrier<thread_scope_block>::arrival_token barrier_arrive_tx(
    barrier<thread_scope_block>& b, ::std::ptrdiff_t count, ::std::ptrdiff_t bytes) {
  return b.arrive_at(count, 0, static_cast<int>(bytes), SIM_CALLER);
}
SIM_CALLED_HERE void barrier_expect_tx(barrier<thread_scope_block>& b, ::std::ptrdiff_t bytes) {
  sim::arrive_at(b.state(), 0, 0, static_cast<int>(bytes), SIM_CALLER);
}

namespace experimental {
SIM_CALLED_HERE void cp_async_bulk_global_to_shared(void* to, const void* from, unsigned bytes,
                                                    barrier<thread_scope_block>& b) {
  sim::copy_bulk_in(to, from, bytes, b.state(), sim::own_rank, SIM_CALLER);
}
SIM_CALLED_HERE void cp_async_bulk_shared_to_global(void* to, const void* from, unsigned bytes) {
  sim::copy_bulk_out(to, from, bytes, sim::bulk_reduction::none, sim::number::u8, SIM_CALLER);
}
#define SIM_TENSOR_COPIES(n, parameters, ...)                                                                      \
  template <class Map>                                                                                             \
  SIM_CALLED_HERE void cp_async_bulk_tensor_##n##d_global_to_shared(void* to, const Map* map, SIM_EACH parameters, \
                                                                    barrier<thread_scope_block>& b) {              \
    sim::copy_box_in(to, map, {{__VA_ARGS__}, n}, b.state(), sim::own_rank, SIM_CALLER);                           \
  }                                                                                                                \
  template <class Map>                                                                                             \
  SIM_CALLED_HERE void cp_async_bulk_tensor_##n##d_shared_to_global(const Map* map, SIM_EACH parameters,           \
                                                                    const void* from) {                            \
    sim::copy_box_out(map, {{__VA_ARGS__}, n}, from, sim::bulk_reduction::none, SIM_CALLER);                       \
  }
#define SIM_EACH(...) __VA_ARGS__
SIM_TENSOR_COPIES(1, (int c0), c0)
SIM_TENSOR_COPIES(2, (int c0, int c1), c0, c1)
SIM_TENSOR_COPIES(3, (int c0, int c1, int c2), c0, c1, c2)
SIM_TENSOR_COPIES(4, (int c0, int c1, int c2, int c3), c0, c1, c2, c3)
SIM_TENSOR_COPIES(5, (int c0, int c1, int c2, int c3, int c4), c0, c1, c2, c3, c4)
#undef SIM_EACH
#undef SIM_TENSOR_COPIES
SIM_CALLED_HERE void cp_async_bulk_commit_group() { sim::commit_bulk(); }
template <int Groups>
SIM_CALLED_HERE void cp_async_bulk_wait_group() {
  sim::wait_for_bulk(Groups);
}
template <int Groups>
SIM_CALLED_HERE void cp_async_bulk_wait_group_read() {
  sim::wait_for_bulk(Groups);
}
inline void fence_proxy_async_shared_cta() { sim::fence(); }
}  // namespace experimental
}  // namespace device

/// One thread's copy of a multiple of 16 bytes, which the barrier then expects.
template <class T, ::std::size_t Alignment>
SIM_CALLED_HERE void memcpy_async_tx(T* to, const T* from, aligned_size_t<Alignment> bytes,
                                     barrier<thread_scope_block>& b) {
  sim::copy_bulk_in(to, from, static_cast<unsigned>(bytes), b.state(), sim::own_rank, SIM_CALLER);
}

// ---- pipeline: all threads of a group produce and consume

template <thread_scope Scope, ::std::size_t Stages>
class pipeline_shared_state {
 public:
  pipeline_shared_state() = default;
};

template <thread_scope Scope>
class pipeline {
 public:
  pipeline() = default;  ///< for one thread
  pipeline(const cooperative_groups::thread_group& group, ::std::size_t stages)
      : group_(group), alone_(false), stages_(stages) {}

  SIM_CALLED_HERE void producer_acquire() {
    if (acquired_++ >= stages_ && !alone_) group_.sync();  // the other threads must be done with the stage
  }
  void producer_commit() {
    sim::commit_copies();
    ++committed_;
  }
  SIM_CALLED_HERE void consumer_wait() {
    sim::wait_for_copies(committed_ - ++consumed_);
    if (!alone_) group_.sync();
  }
  void consumer_release() {}
  void quit() {}

 private:
  cooperative_groups::thread_group group_ = cooperative_groups::this_thread_block();
  bool alone_ = true;
  ::std::size_t stages_ = 0, acquired_ = 0, committed_ = 0, consumed_ = 0;
};
inline pipeline<thread_scope_thread> make_pipeline() { return {}; }
template <class Group, thread_scope Scope, ::std::size_t Stages>
pipeline<Scope> make_pipeline(const Group& group, pipeline_shared_state<Scope, Stages>*) {
  return {group, Stages};
}
template <::std::size_t Prior, thread_scope Scope>
void pipeline_consumer_wait_prior(pipeline<Scope>&) {
  sim::wait_for_copies(Prior);
}

// ---- memcpy_async

template <class T, class Size, thread_scope Scope>
SIM_CALLED_HERE void memcpy_async(T* to, const T* from, Size bytes, pipeline<Scope>&) {
  sim::copy_part(0, 1, to, from, bytes, nullptr, SIM_CALLER);
}
template <class Group, class T, class Size, thread_scope Scope>
SIM_CALLED_HERE void memcpy_async(const Group& group, T* to, const T* from, Size bytes, pipeline<Scope>&) {
  sim::copy_part(group.thread_rank(), group.size(), to, from, bytes, nullptr, SIM_CALLER);
}
template <class T, class Size, thread_scope Scope>
SIM_CALLED_HERE void memcpy_async(T* to, const T* from, Size bytes, barrier<Scope>& barrier) {
  sim::copy_part(0, 1, to, from, bytes, &barrier, SIM_CALLER);
}
template <class Group, class T, class Size, thread_scope Scope>
SIM_CALLED_HERE void memcpy_async(const Group& group, T* to, const T* from, Size bytes, barrier<Scope>& barrier) {
  sim::copy_part(group.thread_rank(), group.size(), to, from, bytes, &barrier, SIM_CALLER);
}
// The two sides may have different types.
template <class Size, thread_scope Scope>
SIM_CALLED_HERE void memcpy_async(void* to, const void* from, Size bytes, pipeline<Scope>&) {
  sim::copy_part(0, 1, to, from, bytes, nullptr, SIM_CALLER);
}
template <class Group, class Size, thread_scope Scope>
SIM_CALLED_HERE void memcpy_async(const Group& group, void* to, const void* from, Size bytes, pipeline<Scope>&) {
  sim::copy_part(group.thread_rank(), group.size(), to, from, bytes, nullptr, SIM_CALLER);
}
template <class Size, thread_scope Scope>
SIM_CALLED_HERE void memcpy_async(void* to, const void* from, Size bytes, barrier<Scope>& barrier) {
  sim::copy_part(0, 1, to, from, bytes, &barrier, SIM_CALLER);
}
template <class Group, class Size, thread_scope Scope>
SIM_CALLED_HERE void memcpy_async(const Group& group, void* to, const void* from, Size bytes, barrier<Scope>& barrier) {
  sim::copy_part(group.thread_rank(), group.size(), to, from, bytes, &barrier, SIM_CALLER);
}

}  // namespace cuda

namespace nvcuda {
namespace experimental {
using pipeline = ::cuda::pipeline<::cuda::thread_scope_thread>;
}
}  // namespace nvcuda

namespace cooperative_groups {

template <class Group, class T, class Size>
SIM_CALLED_HERE void memcpy_async(const Group& group, T* to, const T* from, const Size& bytes) {
  sim::copy_part(group.thread_rank(), group.size(), to, from, bytes, nullptr, SIM_CALLER);
  sim::commit_copies();
}
/// The smaller of two counts of elements.
template <class Group, class T, class ToCount, class FromCount>
SIM_CALLED_HERE void memcpy_async(const Group& group, T* to, const ToCount& to_count, const T* from,
                                  const FromCount& from_count) {
  const std::size_t a = to_count, b = from_count;
  sim::copy_part(group.thread_rank(), group.size(), to, from, (a < b ? a : b) * sizeof(T), nullptr, SIM_CALLER);
  sim::commit_copies();
}
template <class Group>
__attribute__((always_inline)) inline void wait(const Group& group) {
  sim::wait_for_copies(0);
  group.sync();
}
template <unsigned Prior, class Group>
__attribute__((always_inline)) inline void wait_prior(const Group& group) {
  sim::wait_for_copies(Prior);
  group.sync();
}

}  // namespace cooperative_groups
