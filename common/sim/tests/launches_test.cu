// Launches as public programs write them: they compile, run the right kernel, and keep every line and column.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "device_test.hpp"
#include "launches/kernels.cuh"

namespace ns {
__global__ void set(int* x, int value) { *x = value; }
template <bool Large>
__global__ void choose(int* x) {
  *x = Large ? 1000 : 1;
}
template <class T>
struct wrapped {
  using type = T;
};
struct view {
  int *to, step;
};
__global__ void fill(view v, int value = 7) { *v.to = v.step * value; }
template <int Factor>
__global__ void fill_times(view v, int value) {
  *v.to = Factor * v.step * value;
}
template <class T>
constexpr int size_of() {
  return static_cast<int>(sizeof(T));
}
__global__ void set_if(int* p, int v) {
  if (p) *p = v;
}
template <int N>
__launch_bounds__(2 * N, 1) __global__ void at_most(int* x) {
  *x = static_cast<int>(blockDim.x);
}
}  // namespace ns

// Two kernels, of which the first is only declared.
__global__ void overloaded();
__global__ void overloaded(int* x, int value = 5) { *x = value; }

struct sum_to {
  __device__ void operator()(int* x, int a, int b) const { *x = a + b; }
};
/// The launch deduces the rest of the template's arguments.
template <class F, class... Arguments>
__global__ void apply(F f, Arguments... arguments) {
  f(arguments...);
}

__global__ void nested(int* x, int depth) {
  if (depth == 0) return;
  cudaStream_t stream;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) return;
  if (depth == 2 || threadIdx.x < 4) atomicAdd(x, 1);
  if (depth == 2) nested<<<1, 4, 0, stream>>>(x, depth - 1);
  if (cudaGetLastError() != cudaSuccess) *x = -100;
  cudaStreamDestroy(stream);
}
/// Appends digits: a child's own launches run before the child's next sibling.
__global__ void in_order(int* x, int digit) {
  *x = *x * 10 + digit;
  if (digit == 0) in_order<<<1, 1>>>(x, 1), in_order<<<1, 1>>>(x, 2), in_order<<<1, 1>>>(x, 4);
  if (digit == 1) in_order<<<1, 1>>>(x, 2), in_order<<<1, 1>>>(x, 3);
}

struct many_bytes {
  int numbers[8190];
};
__global__ void last_of(many_bytes all, int* x) { *x = all.numbers[8189]; }

/// CUDA copies its bytes to the device: no thread copies or destroys it.
struct counted {
  static int copies, destroyed;
  int *data, more[5];
  explicit counted(int* d) : data(d), more() {}
  counted(const counted& other) : data(other.data), more() {
    ++copies;
    *data = 0;
  }
  ~counted() { ++destroyed; }
};
int counted::copies = 0, counted::destroyed = 0;
__global__ void add_counted(int n, counted c, float) { atomicAdd(c.data, n); }
__global__ void add_counted(double, counted c) { atomicAdd(c.data, 8); }
template <class Pointer>
__global__ void add_to_any(Pointer p, int n) {
  atomicAdd(&*p, n);
}
__global__ void add_to_reference(counted& c, int& total) {
  atomicAdd(&c.more[1], 1);
  atomicAdd(&total, 2);
}
__global__ void change_own(counted c, std::shared_ptr<int> shared) {
  c.more[0] += threadIdx.x;
  atomicAdd(shared.get(), c.more[0]);
}

__global__ void overloaded(int* x, const float* unless, int digit) { *x = unless ? 0 : digit; }
__global__ void overloaded(int* x, long first, long, int second) { *x = static_cast<int>(first) + second; }
template <class T>
__global__ void set_to(int* x, T value, const int* unless) {
  if (!unless) *x = static_cast<int>(10 * (value + sizeof(T)));
}
template <int A, int B, int C>
constexpr int second_of(int = 0) {
  return B;
}

// clang-format off
namespace {

struct Launches : testing::Test {
  void SetUp() override {
    ASSERT_EQ(cudaMalloc(&x, sizeof *x), cudaSuccess);
    ASSERT_EQ(cudaMemset(x, 0, sizeof *x), cudaSuccess);
  }
  void TearDown() override { cudaFree(x); }
  int value() const {
    int v = -1;
    EXPECT_EQ(cudaMemcpy(&v, x, sizeof v, cudaMemcpyDeviceToHost), cudaSuccess);
    return v;
  }
  int* x = nullptr;
};

#define LAUNCH(kernel, ...) kernel<<<1, 1>>>(__VA_ARGS__)
#define LAUNCH_LONG(kernel, grid, ...)   \
  do {                                   \
    kernel<<<(grid), /* why not */ 1     \
      >>>(__VA_ARGS__);                  \
  } while (0)
#define CALL(...) do { __VA_ARGS__; EXPECT_EQ(cudaGetLastError(), cudaSuccess); } while (0)
#define SET ns::set
#define SET_UNLESS(x, value) overloaded<<<1, 1>>>(x, 0, value)
int one() { return 1; }

TEST_F(Launches, OfOverloads) {
  overloaded<<<1, 1>>>(x, 6);
  EXPECT_EQ(value(), 6);
  overloaded<<<1, 1>>>(x);
  EXPECT_EQ(value(), 5);
}

template <class T>
__global__ void set_if_not(T* p, const int* unless) {
  if (!unless) *p = 8;
}
TEST_F(Launches, WithNull) {
  set_if_not<<<1, 1>>>(x, NULL);
  EXPECT_EQ(value(), 8);
  ns::set_if<<<1, 1>>>(NULL, 4), ns::set<<<1, 1>>>(x, NULL);
  EXPECT_EQ(value(), 0);
}

TEST_F(Launches, WithZeros) {
  overloaded<<<1, 1>>>(x, 0, 7);
  EXPECT_EQ(value(), 7);
  overloaded<<<1, 1>>>(x, 0, 0, 3), set_to<<<1, 1>>>(x, 0.5, 0);
  EXPECT_EQ(value(), 85);
  set_to<<<1, 1>>>(x, 0, nullptr);
  EXPECT_EQ(value(), 10 * sizeof(int));
  SET_UNLESS(x, 6);
  EXPECT_EQ(value(), 6);
  ns::set<<<1, 1>>>(x, second_of<1, 0, 2>());
  EXPECT_EQ(value(), 0);
  void (*pointer)(int*, const float*, int) = overloaded;
  pointer<<<1, 1>>>(x, 0, 4);
  EXPECT_EQ(value(), 4);
}

TEST_F(Launches, OfTemplatesThatDeduceTheirLastArguments) {
  apply<sum_to><<<1, 1>>>(sum_to(), x, 3, 4);
  EXPECT_EQ(value(), 7);
}

TEST_F(Launches, WithClassesThatAreCopiedOnTheHost) {
  int* m = nullptr;
  ASSERT_EQ(cudaMallocManaged(&m, sizeof *m), cudaSuccess);
  *m = 0;
  counted c(m);
  const std::shared_ptr<int> shared(m, [](int*) {});
  void (*known)(counted, std::shared_ptr<int>) = change_own;
  void* arguments[] = {&c, const_cast<std::shared_ptr<int>*>(&shared)};
  const auto expect = [&](int value, int copies, auto launch) {
    counted::copies = counted::destroyed = *m = 0;
    const counts found = observe(launch);
    EXPECT_EQ(found.reports, std::vector<std::string>{});
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(*m, value);
    EXPECT_EQ(counted::copies, copies);
    EXPECT_EQ(counted::destroyed, copies);
    EXPECT_EQ(shared.use_count(), 1);
  };
  expect(64 * 3, 1, [&] { add_counted<<<1, 64>>>(3, c, 1.0f); });
  expect(64 * 8, 1, [&] { add_counted<<<1, 64>>>(1.0, c); });
  expect(31 * 16, 1, [&] { change_own<<<1, 32>>>(c, shared); });
  expect(31 * 16, 1, [&] { known<<<1, 32>>>(c, shared); });
  expect(31 * 16, 0, [&] { cudaLaunchKernel(change_own, 1, 32, arguments); });
  expect(64 * 2, 0, [&] { add_to_any<<<2, 32>>>(shared, 2); });
  counted* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, sizeof *managed), cudaSuccess);
  managed->more[1] = 0;
  expect(64, 0, [&] { add_to_reference<<<1, 32>>>(*managed, *m); });
  EXPECT_EQ(managed->more[1], 32);
  cudaFree(managed);
  cudaFree(m);
}

TEST_F(Launches, InMacros) {
  LAUNCH(ns::set, x, 1);
  EXPECT_EQ(value(), 1);
  LAUNCH_LONG(SET, 1, x, 2);
  EXPECT_EQ(value(), 2);
  CALL((ns::set<<<1, 1>>>(x, 3)));
  CALL(SET<<<one(), one()>>>(x, 4));
  EXPECT_EQ(value(), 4);
}

TEST_F(Launches, OfTemplates) {
  add<3><<<1, 1>>>(x);
  add<(3 > 2)><<<1, 1>>>(x);
  ::add<2, ns::wrapped<ns::wrapped<int>::type>::type><<<1, 1>>>(x);
  EXPECT_EQ(value(), 6);
  ns::choose<(1 > 2)><<<1, 1>>>(x);
  EXPECT_EQ(value(), 1);
  ::ns::choose<true>
      <<<ns::size_of<ns::wrapped<ns::wrapped<int>>>(), 1 << 2 >> 2>>>  // shifts and templates
      (x);
  EXPECT_EQ(value(), 1000);
}

TEST_F(Launches, WithBracedArguments) {
  ns::fill<<<1, 1>>>({x, 2}, 3);
  EXPECT_EQ(value(), 6);
  ns::fill_times<5><<<1, 1>>>({x, 2}, 4);
  EXPECT_EQ(value(), 40);
  void (*pointer)(ns::view, int) = ns::fill;
  pointer<<<1, 1>>>({x, 3}, 3);
  EXPECT_EQ(value(), 9);
  (*pointer)<<<1, 1>>>({x, 4}, 3);
  EXPECT_EQ(value(), 12);
  ns::fill<<<1, 1>>>(ns::view{x, 2});
  EXPECT_EQ(value(), 14);
}

TEST_F(Launches, ByKernels) {
  // 4 threads launch 4 each, which launch nothing: 20 additions, each after its parent has ended.
  nested<<<1, 4>>>(x, 2);
  EXPECT_EQ(value(), 4 + 16);
  EXPECT_EQ(cudaMemset(x, 0, sizeof *x), cudaSuccess);
  in_order<<<1, 1>>>(x, 0);
  EXPECT_EQ(value(), 12324);
}

TEST_F(Launches, WithinTheirBounds) {
  cudaFuncAttributes attributes{};
  for (const auto& [kernel, most] : {std::pair{&ns::at_most<32>, 64}, std::pair{&ns::at_most<64>, 128}}) {
    ASSERT_EQ(cudaFuncGetAttributes(&attributes, kernel), cudaSuccess);
    EXPECT_EQ(attributes.maxThreadsPerBlock, most);
    int blocks = 0;
    ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, most + 1, 0), cudaSuccess);
    EXPECT_GT(blocks, 0) << "an H200 does not ask for the bounds here";
  }
  ns::at_most<32><<<1, 64>>>(x);
  EXPECT_EQ(value(), 64);
  ns::at_most<32><<<1, 65>>>(x);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(value(), 64) << "no block ran";
  ASSERT_EQ(cudaFuncGetAttributes(&attributes, ns::set), cudaSuccess);
  EXPECT_EQ(attributes.maxThreadsPerBlock, 1024);
}

TEST_F(Launches, WithAsManyBytesAsCudaAllows) {
  many_bytes all{};
  all.numbers[8189] = 5;
  last_of<<<1, 32>>>(all, x);
  EXPECT_EQ(value(), 5);
}

TEST_F(Launches, WithNullPointers) {
  ns::set_if<<<1, 1>>>(x, 1);
  ns::set_if<<<1, 1>>>(0, 2);
  ns::set_if<<<1, 1>>>(NULL, 3);
  ns::set_if<<<1, 1>>>(nullptr, 4);
  EXPECT_EQ(value(), 1);
}

TEST_F(Launches, OfPointersAndMembers) {
  void (*pointer)(int*, int) = ns::set;
  void (*table[])(int*, int) = {ns::set, nullptr};
  struct { void (*member)(int*, int); } object{ns::set}, *to = &object;
  pointer<<<1, 1>>>(x, 1); EXPECT_EQ(value(), 1);
  (*pointer)<<<1, 1>>>(x, 2); EXPECT_EQ(value(), 2);
  table[1 - 1]<<<1, 1>>>(x, 3); EXPECT_EQ(value(), 3);
  object.member<<<1, 1>>>(x, 4); EXPECT_EQ(value(), 4);
  to->member<<<1, 1>>>(x, 5); EXPECT_EQ(value(), 5);
  (x ? pointer : nullptr)<<<1, 1>>>(x, 6); EXPECT_EQ(value(), 6);
  [&] { pointer<<<1, [] { return ">>>"[0] == '>' ? 1 : 0; }()>>>(x, 7); }(); EXPECT_EQ(value(), 7);
}

TEST_F(Launches, BetweenConditionals) {
  ns::set<<<1,
#if 1
            1
#else
            0
#endif
            >>>(x, 8);
  EXPECT_EQ(value(), 8);
#ifdef NOT_DEFINED
  this is <<< not a launch
#endif
}

TEST_F(Launches, InHeaders) {
  add_five(x);
  twice(x);
  EXPECT_EQ(value(), 10);
  const place at = in_header();
  EXPECT_EQ(at.line, 19u);
  EXPECT_EQ(std::string(at.file), header_file());
  EXPECT_TRUE(header_file().ends_with("tests/launches/kernels.cuh")) << header_file();
  EXPECT_EQ(scale_line, 4);
}

TEST_F(Launches, KeepLinesAndColumns) {
  const int line = __LINE__;
  ns::set<<<1, 1>>>(x, place::here().column); const unsigned after = place::here().column;
  const int line_after = __LINE__;
  EXPECT_EQ(line_after - line, 2);
#ifdef __clang__
  const int open = 0;  // clang reports the call's start
#else
  const int open = 11;  // g++ reports its parenthesis
#endif
  EXPECT_EQ(value(), 24 + open);
  EXPECT_EQ(after, 70u + open);
  EXPECT_TRUE(std::string(__FILE__).ends_with("tests/launches_test.cu")) << __FILE__;
}

}  // namespace
