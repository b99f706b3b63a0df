// Lab 12, the host side: what your files must define.
//
// loader.cpp may call open, openat, close, read, readv, pread, preadv, lseek, fstat, mmap and munmap. The
// judge counts every system call that a function makes, by its name.
//
// pool.cpp may start threads: std::thread, std::mutex, std::condition_variable, std::atomic with wait and notify,
// std::latch, std::barrier and semaphores; in C pthread_create and pthread_join, mutexes and conditions.
//
// layout.cu is plain C++ for one core, without kernels and without the CUDA runtime. It is a .cu file because the
// simulated device's compiler reports each access to memory, and yours go through the cache that given/cache.hpp
// describes. So do not call library functions whose copies the compiler cannot see; memcpy and similar functions are
// fine.
//
// streaming.cu is CUDA: streams, events, graphs, pinned memory. The kernels are given, in given/layer.hpp. The
// simulated device runs the nodes of a graph one after another, even those that nothing orders.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lab12 {

// ---- loader.cpp ---------------------------------------------------------------------------------------------------

/// A tensor in a file of weights: `bytes` bytes from `offset` on, which belong at `to`.
struct tensor {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;  ///< may be 0
  std::byte* to = nullptr;
};

/// Fills in all tensors from the file. They are in the order of the file and do not overlap there. There are 1 to 500,
/// less than 1 GiB together, and gaps between them are shorter than 256 bytes. In memory they are in any order. A read
/// may return fewer bytes than requested, not only at the end of the file. Returns false if the file cannot be opened,
/// or ends before the last tensor does. Leaves nothing open or mapped, and takes no additional memory with each call.
bool load(const char* path, const tensor* tensors, std::size_t count);

/// The smallest of models. A state of `width` numbers begins as zeros. For each new token:
///   state[i] = state[i] / 2 + embedding[last token][i], where / rounds toward zero
///   the new token is the one with the largest sum over i of state[i] * head[token][i], the first if several are equal
/// `first` is the last token before the first new one. Sums fit in 64 bits.
/// Writes the new tokens to `tokens`, and to `text` as decimal numbers, each with a '\n' after it, and a '\0' at the
/// end. Never calls the kernel: all memory that it needs is given.
void generate(int* tokens,                    // (count)
              char* text,                     // (12 count + 1)
              std::int64_t* workspace,        // (width + vocabulary), for you
              const std::int32_t* embedding,  // (vocabulary, width)
              const std::int32_t* head,       // (vocabulary, width)
              int vocabulary, int width, int first, int count);

// ---- pool.cpp -----------------------------------------------------------------------------------------------------

/// Threads that sleep until there is work; its members are up to you.
struct pool;

/// Starts a pool of 1 to 8 threads, which may include the caller of run. Several pools may exist at a time, and
/// different threads may run them at the same time.
pool* start_pool(int threads);

/// Calls work(state, part) once for each part below `parts`, and returns when all of these calls have returned. As many
/// parts run at the same time as the pool has threads; the caller may take parts, too. While parts run, idle threads
/// sleep, and so does an idle caller. 0 to 1000 parts.
void run(pool& p, void (*work)(void* state, int part), void* state, int parts);

/// Ends the threads, waits for their end, and frees the pool.
void stop_pool(pool* p);

// ---- layout.cu ----------------------------------------------------------------------------------------------------

/// Attention of one head, as in lab 11 without a mask: out = softmax(q k^T / sqrt(size)) v. At most 4096 tokens; size
/// is a multiple of 16 up to 64. Scores are between -1000 and 1000. Your own arrays go through the cache, too, except
/// that the compiler sees only some accesses to arrays on the stack. So keep those below 64 KiB together; use
/// std::vector for more.
void attention(float* out,      // (tokens, size)
               const float* q,  // (tokens, size)
               const float* k,  // (tokens, size)
               const float* v,  // (tokens, size)
               int tokens, int size);

/// The bytes of `totals` that each worker may use.
constexpr std::size_t bytes_per_worker = 256;

/// Counts the elements above zero in a worker's share of x: elements n * worker / workers up to n * (worker + 1) /
/// workers. After each such element it stores its running total again, a 64-bit number somewhere in `totals`, so that
/// others can watch it grow. `totals` begins as zeros at a multiple of 4096. All workers run at the same time, each on
/// its own core.
void count_positive(volatile std::int64_t* totals,  // bytes_per_worker * workers bytes
                    const std::int32_t* x,          // (n)
                    std::size_t n, int worker, int workers);

/// The total of one worker.
std::int64_t total_of(const volatile std::int64_t* totals, int worker, int workers);

// ---- streaming.cu -------------------------------------------------------------------------------------------------

/// The weights of a model. read(state, layer, to) writes a layer's n * n weights to host memory, as reading a file
/// does. A call to forward may use at most 3 different addresses `to`: host memory has no more room, but for a MiB.
struct weights {
  void (*read)(void* state, int layer, float* to);
  void* state;
};

/// Takes a token through all layers of a model that does not fit in the GPU's memory. x begins as `token`; for each
/// layer, in order, apply_layer (given/layer.hpp) changes x. The layer's weights are copied to the device, which has
/// room for 3 layers and a MiB. When forward returns, the result is in `out`, and everything that it allocated or
/// created is freed. There are 1 to 100 layers; n is a multiple of 32 up to 1024.
void forward(float* out,          // (n), in device memory
             const float* token,  // (n), in device memory
             const weights& from, int layers, int n);

}  // namespace lab12
