// cuRAND's host interface. Every generator is C++'s std::mt19937_64, so a seed gives a different sequence from
// cuRAND's.
#pragma once

#define CURAND_H_  // cuda-samples' helper_cuda.h tests for it

#include <cmath>
#include <random>
#include <vector>

#include "cuda_runtime.h"

enum curandStatus_t {
  CURAND_STATUS_SUCCESS = 0,
  CURAND_STATUS_VERSION_MISMATCH = 100,
  CURAND_STATUS_NOT_INITIALIZED = 101,
  CURAND_STATUS_ALLOCATION_FAILED = 102,
  CURAND_STATUS_TYPE_ERROR = 103,
  CURAND_STATUS_OUT_OF_RANGE = 104,
  CURAND_STATUS_LENGTH_NOT_MULTIPLE = 105,
  CURAND_STATUS_DOUBLE_PRECISION_REQUIRED = 106,
  CURAND_STATUS_LAUNCH_FAILURE = 201,
  CURAND_STATUS_PREEXISTING_FAILURE = 202,
  CURAND_STATUS_INITIALIZATION_FAILED = 203,
  CURAND_STATUS_ARCH_MISMATCH = 204,
  CURAND_STATUS_INTERNAL_ERROR = 999,
};
enum curandRngType_t {
  CURAND_RNG_PSEUDO_DEFAULT = 100,
  CURAND_RNG_PSEUDO_XORWOW = 101,
  CURAND_RNG_PSEUDO_MRG32K3A = 121,
  CURAND_RNG_PSEUDO_MTGP32 = 141,
  CURAND_RNG_PSEUDO_MT19937 = 142,
  CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
};
using curandRngType = curandRngType_t;
enum curandOrdering_t { CURAND_ORDERING_PSEUDO_BEST = 100, CURAND_ORDERING_PSEUDO_DEFAULT = 101 };

struct sim_generator {
  bool on_host = false;
  cudaStream_t stream = nullptr;
  unsigned long long seed = 0, offset = 0;
  std::mt19937_64 engine{0};
  void restart() {
    engine.seed(seed);
    engine.discard(offset);
  }
};
using curandGenerator_t = sim_generator*;

namespace sim {
/// Generates n values on the host and copies them to the generator's destination.
template <class T, class Draw>
curandStatus_t generate(curandGenerator_t g, T* out, std::size_t n, Draw draw) {
  if (!g) return CURAND_STATUS_NOT_INITIALIZED;
  std::vector<T> values(n);
  for (T& value : values) value = draw(g->engine);
  const auto kind = g->on_host ? cudaMemcpyHostToHost : cudaMemcpyDefault;
  return cudaMemcpyAsync(out, values.data(), n * sizeof(T), kind, g->stream) == cudaSuccess
             ? CURAND_STATUS_SUCCESS
             : CURAND_STATUS_LAUNCH_FAILURE;
}
template <class T>
T uniform(std::mt19937_64& engine) {  // (0, 1], as cuRAND has it
  return static_cast<T>((static_cast<double>(engine() >> 11) + 1) * 0x1p-53);
}
}  // namespace sim

inline curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t type) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  if (type < CURAND_RNG_PSEUDO_DEFAULT || type > CURAND_RNG_PSEUDO_PHILOX4_32_10) return CURAND_STATUS_TYPE_ERROR;
  *generator = new sim_generator;
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandCreateGeneratorHost(curandGenerator_t* generator, curandRngType_t type) {
  const curandStatus_t status = curandCreateGenerator(generator, type);
  if (status == CURAND_STATUS_SUCCESS) (*generator)->on_host = true;
  return status;
}
inline curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  delete generator;
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  generator->seed = seed;
  generator->restart();
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  generator->offset = offset;
  generator->restart();
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t) {
  return generator ? CURAND_STATUS_SUCCESS : CURAND_STATUS_NOT_INITIALIZED;
}
inline curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  generator->stream = stream;
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandGetVersion(int* version) {
  *version = 10400;
  return CURAND_STATUS_SUCCESS;
}

inline curandStatus_t curandGenerate(curandGenerator_t generator, unsigned* out, std::size_t n) {
  return sim::generate(generator, out, n, [](auto& engine) { return static_cast<unsigned>(engine() >> 32); });
}
inline curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* out, std::size_t n) {
  return sim::generate(generator, out, n, sim::uniform<float>);
}
inline curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* out, std::size_t n) {
  return sim::generate(generator, out, n, sim::uniform<double>);
}
inline curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* out, std::size_t n, float mean,
                                           float deviation) {
  if (n % 2 != 0) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;  // they come in pairs
  return sim::generate(generator, out, n, std::normal_distribution<float>(mean, deviation));
}
inline curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* out, std::size_t n, double mean,
                                                 double deviation) {
  if (n % 2 != 0) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  return sim::generate(generator, out, n, std::normal_distribution<double>(mean, deviation));
}
inline curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float* out, std::size_t n, float mean,
                                              float deviation) {
  if (n % 2 != 0) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  return sim::generate(generator, out, n, std::lognormal_distribution<float>(mean, deviation));
}
inline curandStatus_t curandGeneratePoisson(curandGenerator_t generator, unsigned* out, std::size_t n, double lambda) {
  if (lambda <= 0) return CURAND_STATUS_OUT_OF_RANGE;
  return sim::generate(generator, out, n, std::poisson_distribution<unsigned>(lambda));
}
