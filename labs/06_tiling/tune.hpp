// Lab 06, part 4: what tune.cpp must define. Runs on the host.
//
// A kernel like sgemm as a template: a block computes bm x bn elements from two buffers of tiles, bm x bk and bk x bn
// floats each, and a thread tm x tn of them. Which of these configurations is the fastest depends on the GPU and on m,
// n and k.
#pragma once

namespace lab06 {

struct configuration {
  int bm, bn, bk, tm, tn;
};

/// What the template is instantiated for: bm and bn are each one of `sides`, bk one of `depths`, tm and tn one of
/// `thread_sides`, 1024 configurations in all.
constexpr int sides[] = {32, 64, 128, 256}, depths[] = {8, 16, 32, 64}, thread_sides[] = {2, 4, 8, 16};

/// What a block may use of one multiprocessor.
struct limits {
  int shared_bytes;
  int registers;
};

/// Whether the kernel can be launched. It can if a block has whole warps and at most 1024 threads, if its shared memory
/// fits, and if a thread needs at most 255 registers, and all threads together no more than there are. A thread
/// needs tm * tn + 2 * (tm + tn) + 32 registers, rounded up to a multiple of 8.
bool fits(const configuration& what, const limits& of);

/// A configuration that fits, and is as fast as you can find in at most `most` calls to `time`: each of them launches
/// the kernel with one configuration, which must fit, and returns its time in seconds. `most` is at least 1.
configuration tune(const limits& of, int most, double (*time)(const configuration&));

}  // namespace lab06
