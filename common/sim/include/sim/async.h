// Asynchronous copies into shared memory, and the functions that wait for them: the __pipeline functions,
// cuda::pipeline, cuda::barrier, cooperative groups' memcpy_async. The data moves when a thread waits for its copies,
// not before: a thread that reads too early sees the old values.
#pragma once

#include <cstddef>

#include "cooperative_groups.h"
#include "cuda/atomic"

namespace sim {

/// The load is counted now, the store when the copy happens; both at `pc`. The last `zeros` bytes become zero. For the
/// race check the copy may write at any moment from now until then. `barrier`: the cuda::barrier whose phase waits for
/// it; null: the thread waits itself.
void copy_async(void* to, const void* from, std::size_t bytes, std::size_t zeros, const void* barrier, const void* pc);
void commit_copies();
/// Performs the calling thread's copies, except those of the last `groups` commits.
void wait_for_copies(std::size_t groups);
/// Performs those of the calling thread's copies that this barrier waits for.
void make_barrier_copies(const void* barrier);

/// Thread `rank` of `size` copies its part, in the widest pieces that both addresses allow.
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

namespace detail {
struct barrier_words {
  unsigned expected, arrived, phase;
};
SIM_UNOBSERVED inline void begin(barrier_words* words, unsigned expected, const void* pc) {
  sim::observe_store(&words->phase, 4, pc);
  *words = {expected, 0, 0};
}
SIM_UNOBSERVED inline unsigned arrive(barrier_words* words, unsigned count, unsigned drop, const void* pc) {
  sim::make_barrier_copies(words);
  sim::observe_atomic(&words->phase, 4, pc);
  sim::release(&words->arrived);
  const unsigned phase = __atomic_load_n(&words->phase, __ATOMIC_SEQ_CST);
  // A thread that drops out counts as arrived now and is not expected again.
  const unsigned expected = drop ? __atomic_sub_fetch(&words->expected, drop, __ATOMIC_SEQ_CST)
                                 : __atomic_load_n(&words->expected, __ATOMIC_SEQ_CST);
  const unsigned arrived = __atomic_add_fetch(&words->arrived, count - drop, __ATOMIC_SEQ_CST);
  if (arrived == expected) {
    __atomic_store_n(&words->arrived, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&words->phase, phase + 1, __ATOMIC_SEQ_CST);
    sim::pass_on(&words->arrived, &words->phase);
  }
  return phase;
}
SIM_UNOBSERVED inline unsigned phase_of(const barrier_words* words, const void* pc) {
  sim::observe_atomic(&words->phase, 4, pc);
  const unsigned phase = __atomic_load_n(&words->phase, __ATOMIC_SEQ_CST);
  sim::acquire(&words->phase);
  return phase;
}
}  // namespace detail

template <thread_scope Scope = thread_scope_system>
class barrier {
 public:
  using arrival_token = unsigned;
  barrier() = default;  // trivial: in shared memory, init() starts a barrier
  SIM_CALLED_HERE explicit barrier(::std::ptrdiff_t expected) {
    detail::begin(&words_, static_cast<unsigned>(expected), SIM_CALLER);
  }
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;
  friend SIM_CALLED_HERE void init(barrier* self, ::std::ptrdiff_t expected) {
    detail::begin(&self->words_, static_cast<unsigned>(expected), SIM_CALLER);
  }

  [[nodiscard]] SIM_CALLED_HERE arrival_token arrive(::std::ptrdiff_t count = 1) {
    return detail::arrive(&words_, static_cast<unsigned>(count), 0, SIM_CALLER);
  }
  SIM_CALLED_HERE void wait(arrival_token token) const { wait_at(token, SIM_CALLER); }
  SIM_CALLED_HERE void arrive_and_wait() { wait_at(detail::arrive(&words_, 1, 0, SIM_CALLER), SIM_CALLER); }
  SIM_CALLED_HERE void arrive_and_drop() { detail::arrive(&words_, 1, 1, SIM_CALLER); }
  SIM_CALLED_HERE bool try_wait(arrival_token token) const {
    if (detail::phase_of(&words_, SIM_CALLER) != token) return true;
    sim::spin();
    return false;
  }
  SIM_CALLED_HERE void wait_parity(bool parity) const {
    while ((detail::phase_of(&words_, SIM_CALLER) & 1) == static_cast<unsigned>(parity)) sim::spin();
  }

 private:
  void wait_at(arrival_token token, const void* pc) const {
    while (detail::phase_of(&words_, pc) == token) sim::spin();
  }
  detail::barrier_words words_;
};
namespace std {
template <class Completion = void>
using barrier = ::cuda::barrier<thread_scope_system>;
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
  pipeline() = default;  ///< of one thread
  pipeline(const cooperative_groups::thread_group& group, ::std::size_t stages)
      : group_(group), alone_(false), stages_(stages) {}

  SIM_CALLED_HERE void producer_acquire() {
    if (acquired_++ >= stages_ && !alone_) group_.sync();  // the others must have finished with the stage
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
