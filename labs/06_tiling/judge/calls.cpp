// Maps each case to a function of the contract. Inputs and expected values are in cases.cpp.
#include <lab/call.hpp>
#include <lab/device.hpp>
#include <lab/host_accesses.hpp>

#include <exception>
#include <string>

#include "blas.hpp"
#include "question.hpp"
#undef cublasSgemm
#define cublasSgemm cublasSgemm_v2  // in this file, the library's own function
#undef cublasSgemmStridedBatched

namespace lab06 {
namespace {

void expect(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cuBLAS: error " + std::to_string(status));
}

/// One handle for the process: creating it takes longer than most products.
cublasHandle_t handle() {
  static const cublasHandle_t instance = [] {
    cublasHandle_t made = nullptr;
    expect(cublasCreate(&made));
    return made;
  }();
  return instance;
}

int calls_of_cublas = 0;
bool may_call_cublas = false;

void count_call() {
  if (!may_call_cublas)
    throw std::runtime_error("only the functions of blas.hpp may call cuBLAS; this product must be your own");
  ++calls_of_cublas;
}

/// Runs a function of blas.cu, which must call cuBLAS once. Before the work runs, this records and counts what the
/// function enqueues in the call's stream. Kernels and copies in other streams would break the contract of any lab.
template <class Function>
void with_cublas(const lab::call& c, const Function& function) {
  expect(cublasSetStream(handle(), c.stream));
  calls_of_cublas = 0;
  LAB_CUDA_CHECK(cudaStreamBeginCapture(c.stream, cudaStreamCaptureModeRelaxed));
  may_call_cublas = true;
  std::exception_ptr thrown;
  try {
    function(handle());
  } catch (...) {
    thrown = std::current_exception();
  }
  may_call_cublas = false;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t program = nullptr;
  LAB_CUDA_CHECK(cudaStreamEndCapture(c.stream, &graph));
  std::size_t recorded = 0;
  LAB_CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &recorded));
  LAB_CUDA_CHECK(cudaGraphInstantiate(&program, graph, 0));
  LAB_CUDA_CHECK(cudaGraphDestroy(graph));
  LAB_CUDA_CHECK(cudaGraphLaunch(program, c.stream));
  LAB_CUDA_CHECK(cudaGraphExecDestroy(program));
  if (thrown) std::rethrow_exception(thrown);
  if (calls_of_cublas != 1)
    throw lab::broken_contract("made " + std::to_string(calls_of_cublas) +
                               " calls of cuBLAS; the contract says exactly one");
  const bool simulated = sim_count_from_here != nullptr;  // on a GPU a product may take several kernels
  if (simulated && recorded != 1)
    throw lab::broken_contract("launches or copies something besides its call of cuBLAS; remove that");
}

}  // namespace

cublasStatus_t counted_sgemm(cublasHandle_t blas, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
                             const float* alpha, const float* a, int lda, const float* b, int ldb, const float* beta,
                             float* c, int ldc) {
  count_call();
  return cublasSgemm(blas, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

cublasStatus_t counted_sgemm_batched(cublasHandle_t blas, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n,
                                     int k, const float* alpha, const float* a, int lda, long long stride_a,
                                     const float* b, int ldb, long long stride_b, const float* beta, float* c, int ldc,
                                     long long stride_c, int batches) {
  count_call();
  return cublasSgemmStridedBatched(blas, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc,
                                   stride_c, batches);
}

}  // namespace lab06

namespace {

using lab06::with_cublas;

/// `tune` takes a plain function, so measured() has its state here.
const lab::call* tuned = nullptr;

lab06::question answered(const lab06::question& asked) {
  auto* const mailbox = tuned->output<lab06::question>(1);
  *mailbox = asked;
  tuned->ask();
  return *mailbox;
}

double measured(const lab06::configuration& what) {
  return answered({.what = lab06::question::time, .tried = what}).seconds;
}

template <void (*multiply)(float*, const float*, const float*, int, int, int, cudaStream_t)>
void on_device(const lab::call& c) {
  multiply(c.output<float>(0), c.input<float>(0), c.input<float>(1), c.parameter(0), c.parameter(1), c.parameter(2),
           c.stream);
}

constexpr lab::entry table[] = {
    {"sgemm_naive", lab::part::device, on_device<lab06::sgemm_naive>},
    {"sgemm_coalesced", lab::part::device, on_device<lab06::sgemm_coalesced>},
    {"sgemm_tiled", lab::part::device, on_device<lab06::sgemm_tiled>},
    {"sgemm_1d", lab::part::device, on_device<lab06::sgemm_1d>},
    {"sgemm_2d", lab::part::device, on_device<lab06::sgemm_2d>},
    {"sgemm_vectorized", lab::part::device, on_device<lab06::sgemm_vectorized>},
    {"sgemm_pipelined", lab::part::device, on_device<lab06::sgemm_pipelined>},
    {"sgemm_warptiled", lab::part::device, on_device<lab06::sgemm_warptiled>},
    {"sgemm", lab::part::device, on_device<lab06::sgemm>},
    {"blas_product", lab::part::device,
     [](const lab::call& c) {
       with_cublas(c, [&](cublasHandle_t blas) {
         lab06::blas_product(blas, c.output<float>(0), c.input<float>(0), c.parameter(3) != 0, c.input<float>(1),
                             c.parameter(4) != 0, c.parameter(0), c.parameter(1), c.parameter(2));
       });
     }},
    // Parameters: m, n, k, 8 alpha, 8 beta, the positions of the blocks in A, B and C, and the number of elements of
    // C's matrix.
    {"blas_block", lab::part::device,
     [](const lab::call& c) {
       const auto block = [&]<class T>(T* whole, std::size_t at) {
         return lab06::block<T>{whole, c.parameter(at), c.parameter(at + 1), c.parameter(at + 2)};
       };
       LAB_CUDA_CHECK(cudaMemcpyAsync(c.output<float>(0), c.input<float>(2),
                                      static_cast<std::size_t>(c.parameters.at(14)) * sizeof(float),
                                      cudaMemcpyDeviceToDevice, c.stream));
       lab::count_from_here();
       with_cublas(c, [&](cublasHandle_t blas) {
         lab06::blas_block(blas, static_cast<float>(c.parameter(3)) / 8, block(c.input<float>(0), 5),
                           block(c.input<float>(1), 8), static_cast<float>(c.parameter(4)) / 8,
                           block(c.output<float>(0), 11), c.parameter(0), c.parameter(1), c.parameter(2));
       });
     }},
    {"blas_scores", lab::part::device,
     [](const lab::call& c) {
       with_cublas(c, [&](cublasHandle_t blas) {
         lab06::blas_scores(blas, c.output<float>(0), c.input<float>(0), c.parameter(0), c.parameter(1),
                            c.parameter(2));
       });
     }},
    {"blas_mix", lab::part::device,
     [](const lab::call& c) {
       with_cublas(c, [&](cublasHandle_t blas) {
         lab06::blas_mix(blas, c.output<float>(0), c.input<float>(0), c.input<float>(1), c.parameter(0), c.parameter(1),
                         c.parameter(2));
       });
     }},
    {"fits", lab::part::host,
     [](const lab::call& c) {
       auto* to = c.output<std::uint8_t>(0);
       for (const int bm : lab06::sides)
         for (const int bn : lab06::sides)
           for (const int bk : lab06::depths)
             for (const int tm : lab06::thread_sides)
               for (const int tn : lab06::thread_sides)
                 *to++ = lab06::fits({bm, bn, bk, tm, tn}, {c.parameter(0), c.parameter(1)});
     }},
    {"tune", lab::part::host,
     [](const lab::call& c) {
       tuned = &c;
       for (int i = 0; i < c.parameter(0); ++i) {
         const lab06::limits of = answered({.what = lab06::question::next}).of;
         const lab06::configuration best = lab06::tune(of, c.parameter(1), measured);
         *c.output<double>(0) = answered({.what = lab06::question::found, .tried = best}).seconds;
       }
     }},
    {"gemm", lab::part::host,
     [](const lab::call& c) {
       const auto size = [&](std::size_t i) { return static_cast<std::size_t>(c.parameters.at(i)); };
       lab06::gemm(c.output<float>(0), c.input<float>(0), c.input<float>(1), size(0), size(1), size(2));
     }},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
