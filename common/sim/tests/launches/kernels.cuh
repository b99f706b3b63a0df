// Kernels and launches in a header, as many programs have them.
#pragma once

#include <string>

#include "place.h"

#if __has_include("deeper/scale.h")
#include "deeper/scale.h"
#endif

template <int N, class T = int>
__global__ void add(T* x) {
  x[threadIdx.x] += N;
}

inline void add_five(int* x) { add<5><<<1, 1>>>(x); }

inline place in_header() { return add<0><<<1, 1>>>((int*)nullptr), place::here(); }
inline std::string header_file() { return __FILE__; }
