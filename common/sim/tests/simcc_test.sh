#!/usr/bin/env bash
# Typical nvcc command lines, passed to simcc: several files, libraries, options without effect, Makefiles.
#   simcc_test.sh SIMCC
set -euo pipefail
simcc=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
fail() { echo "simcc_test: $*" >&2; exit 1; }

mkdir -p src include data
cat >include/scale.h <<'END'
#pragma once
__device__ int scale();
int host_count();
extern "C" int c_count(void);
END
cat >src/main.cu <<'END'
#include <cstdio>
#include "scale.h"
__global__ void fill(int* p) { p[threadIdx.x] = threadIdx.x * scale() + OFFSET; }
int main() {
  int* d;
  int h[32];
  cudaMalloc(&d, sizeof h);
  fill<<<1, 32>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(d);
  std::printf("%d %d %d %ld\n", h[31], host_count(), c_count(), static_cast<long>(__cplusplus));
  return 0;
}
END
echo '__device__ int scale() { return 3; }' >src/scale.cu
printf '#include <cuda_runtime.h>\nint host_count() { int n = 0; cudaGetDeviceCount(&n); return n; }\n' >src/host.cpp
printf 'int c_count(void) { return FORTY + 2; }\n' >src/count.c
options=(-Iinclude -I /usr/local/cuda/include -DOFFSET=7 -D FORTY=40 -arch=sm_70 -gencode arch=compute_80,code=sm_80 -O3
  --use_fast_math -lineinfo -Xcompiler -Wall,-Wextra -Xptxas -v -rdc=true --expt-relaxed-constexpr -maxrregcount 64)

# One call builds everything and leaves no file except the program.
"$simcc" src/main.cu src/scale.cu src/host.cpp src/count.c "${options[@]}" -lcudart -lcublas -lcusparse -lm -o whole
[[ $(./whole) == "100 1 42 201703" ]] || fail "one call: $(./whole)"
[[ $(ls) == $'data\ninclude\nsrc\nwhole' ]] || fail "left behind: $(ls)"

# Objects first, as in Makefiles; C++14 counts as C++17, and C++20 stays C++20.
for file in main.cu scale.cu host.cpp count.c; do
  "$simcc" -std=c++14 "${options[@]}" -dc "src/$file" -o "${file%.*}.o"
done
"$simcc" -arch=sm_70 main.o scale.o host.o count.o -o parts -L/usr/local/cuda/lib64 -lcudart
[[ $(./parts) == "100 1 42 201703" ]] || fail "objects: $(./parts)"
"$simcc" -std=c++20 "${options[@]}" src/*.cu src/host.cpp src/count.c && [[ $(./a.out) == "100 1 42 202002" ]] || fail "a.out"

# A Makefile made for nvcc, with dependencies that make understands.
cat >Makefile <<'END'
NVCC = nvcc
FLAGS = -std=c++17 -Iinclude -DOFFSET=7 -DFORTY=40 -Xcompiler -fopenmp -arch=sm_60 -O3
objects = main.o scale.o host.o count.o
program: $(objects)
	$(NVCC) $(FLAGS) $^ -o $@ -lcuda
%.o: src/%.cu
	$(NVCC) $(FLAGS) -MD -c $< -o $@
%.o: src/%.cpp
	$(NVCC) $(FLAGS) -x cu -c $< -o $@
%.o: src/%.c
	$(NVCC) $(FLAGS) -c $< -o $@
-include *.d
END
skipped=""
if command -v make >/dev/null; then
  rm -f ./*.o
  make -s NVCC="$simcc" && [[ $(./program) == "100 1 42 201703" ]] || fail "make"
  [[ $(cat main.d) == *include/scale.h* && $(cat main.d) != *lowered* ]] || fail "dependencies: $(cat main.d)"
  make -q NVCC="$simcc" || fail "make would rebuild unchanged files"
  ln -s "$simcc" data/nvcc  # for Makefiles that call nvcc by its name
  PATH="$PWD/data:$PATH" make -s -B && [[ $(./program) == "100 1 42 201703" ]] || fail "make with a link"
else
  skipped="no make"
fi

# CMake with simcc as the compiler for CUDA and for C++. CMake takes simcc for nvcc; for an unknown compiler it would query an
# installed nvcc.
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.18)
project(parts LANGUAGES C CXX CUDA)
add_executable(by_cmake src/main.cu src/scale.cu src/host.cpp src/count.c)
target_include_directories(by_cmake PRIVATE include)
target_compile_definitions(by_cmake PRIVATE OFFSET=7 FORTY=40)
set_target_properties(by_cmake PROPERTIES CUDA_SEPARABLE_COMPILATION ON CUDA_STANDARD 17 CXX_STANDARD 17)
END
cmake -G Ninja -S . -B cmake -DCMAKE_CUDA_COMPILER="$simcc" -DCMAKE_CXX_COMPILER="$simcc" -DCMAKE_CUDA_ARCHITECTURES=80 >cmake.log 2>&1 &&
  cmake --build cmake >>cmake.log 2>&1 || fail "cmake: $(tail -n 20 cmake.log)"
grep -q "CUDA compiler identification is NVIDIA" cmake.log || fail "CMake does not take simcc for nvcc"
[[ $(cmake/by_cmake) == "100 1 42 201703" ]] || fail "cmake: $(cmake/by_cmake)"

# CMake with the usual C++ compiler, which links a library of kernels.
mkdir -p linked && cat >linked/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.18)
project(linked LANGUAGES CXX CUDA)
add_library(kernels STATIC kernels.cu)
add_executable(linked main.cpp)
target_link_libraries(linked kernels)
END
printf '#include <cstdio>\n__global__ void say() { std::printf("said\\n"); }\nvoid launch() { say<<<1, 1>>>(); cudaDeviceSynchronize(); }\n' \
  >linked/kernels.cu
printf 'void launch();\nint main() { launch(); }\n' >linked/main.cpp
cmake -G Ninja -S linked -B linked/made -DCMAKE_CUDA_COMPILER="$simcc" >cmake.log 2>&1 &&
  cmake --build linked/made >>cmake.log 2>&1 || fail "cmake with g++: $(tail -n 20 cmake.log)"
[[ $(linked/made/linked) == said ]] || fail "cmake with g++: $(linked/made/linked)"

# The library keeps its copies of C++'s templates to itself. The linker takes the first of several, which may have hooks; the device
# would then call itself endlessly.
shared=$(nm -g --defined-only "$(sed -n 's/^library //p' "$(dirname "$simcc")/simcc.profile")" | grep -E ' [WVT] _Z(NK?)?(S[tabsiod]|N3fmt|N4toml|N5boost)' || true)
[[ -z $shared ]] || fail "library symbols that a program could link with: $shared"

# -x applies to files of any name, as with nvcc.
cp src/scale.cu scale.txt
"$simcc" -x cu -Iinclude -c scale.txt -o txt.o && "$simcc" main.o txt.o host.o count.o -o parts_txt || fail "-x cu scale.txt"
[[ $(./parts_txt) == "$(./parts)" ]] || fail "-x cu scale.txt: $(./parts_txt)"

# Options in a file, with quotes, several in one word, and by their long names.
mkdir -p 'with a blank' && cp include/scale.h 'with a blank/'
printf -- '-I"with a blank" -DOFFSET=7\n--define-macro FORTY=40\n' >options.rsp
"$simcc" --options-file options.rsp -Xcompiler "-Wall -fopenmp" -x cu -dc src/main.cu -o by_file.o &&
  "$simcc" -isystem="with a blank" -c src/scale.cu --define-macro=FORTY=40 -o by_name.o || fail "options in a file"
"$simcc" by_file.o by_name.o host.o count.o --library m -o by_file && [[ $(./by_file) == "$(./parts)" ]] || fail "by_file"

# C that calls CUDA; alternative headers for the same functions; one-letter names set by -D.
cat >calls.c <<'END'
#include <stdlib.h>
#include <cuda_runtime.h>
int main(void) {
  int* h = malloc(sizeof *h);
  int* d;
  *h = 7;
  cudaMalloc((void**)&d, sizeof *h);
  cudaMemcpy(d, h, sizeof *h, cudaMemcpyHostToDevice);
  cudaFree(d);
  free(h);
  return cudaDeviceSynchronize();
}
END
"$simcc" calls.c -o calls && ./calls || fail "C that calls CUDA"
cat >headers.cu <<'END'
#include <cublas_api.h>
#include <cuda.h>
#include <cufft.h>
#include <curand_kernel.h>
#include <cusolverDn.h>
#include <cusparse.h>
#include <driver_functions.h>
#include <host_defines.h>
#include <nvml.h>
#if !defined CUBLAS_V2_H_ || !defined CUBLAS_API_H_ || !defined __cuda_cuda_h__ || !defined _CUFFT_H_ || !defined CURAND_H_ || \
    !defined CURAND_KERNEL_H_ || !defined CUSOLVERDN_H_ || !defined CUSOLVER_COMMON_H_ || !defined CUSPARSE_H_ ||            \
    !defined __CUDA_FP16_H__ || !defined __CUDA_RUNTIME_H__ || !defined __CUDA_RUNTIME_API_H__ || !defined __VECTOR_TYPES_H__
#error programs test these macros to see which headers are included
#endif
static_assert(CUDA_ERROR_ECC_UNCORRECTABLE == 214 && CUBLAS_GEMM_ALGO0_TENSOR_OP == 100 && sizeof(cusolver_int_t) == 4, "");
curandGenerator_t generator;
__global__ void k(int* p) { *p = A + B + F + I + P; }
int main() {
  nvmlDevice_t device;
  unsigned megahertz = 0;
  nvmlInit();
  if (nvmlDeviceGetHandleByIndex(0, &device) != NVML_SUCCESS || nvmlDeviceGetHandleByIndex(9, &device) == NVML_SUCCESS) return 1;
  nvmlDeviceGetHandleByIndex(0, &device);
  nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &megahertz);
  nvmlPciInfo_t pci;
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  if (nvmlDeviceGetPciInfo(device, &pci) != NVML_SUCCESS || pci.bus != (unsigned)properties.pciBusID || pci.busId[8] != ':') return 1;
  if (NVML_ERROR_UNKNOWN != 999 || nvmlErrorString(NVML_ERROR_GPU_IS_LOST)[4] != 'i') return 1;
  int* p;
  cudaMallocManaged(&p, sizeof *p);
  k << <1, 1>> >(p);
  cudaDeviceSynchronize();
  return megahertz < 500 || *p != 5 || make_cudaExtent(1, 2, 3).depth != 3;
}
END
"$simcc" headers.cu -DA=1 -DB=1 -DF=1 -DI=1 -DP=1 -DOp=1 -lnvidia-ml -o headers && ./headers || fail "headers.cu"

# Inline PTX assembled by macros in another file.
cat >instructions.cuh <<'END'
#define OF(name) #name ".s32"
#define COMPUTE(name, d, a, b) asm(OF(name) " %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b))
#define ADD(d, a, b) COMPUTE(add, d, a, b)
END
cat >instructions.cu <<'END'
#include "instructions.cuh"
__global__ void k(int* out) {
  int sum, difference, product, a = threadIdx.x;
  ADD(sum, a, 2);
  COMPUTE(sub, difference, a, 2);
  asm(OF(mul.lo) " %0, %1, %2;" : "=r"(product) : "r"(a), "r"(3));
  out[a] = 10000 * sum + 100 * difference + product;
}
int main() {
  int* out;
  cudaMallocManaged(&out, 32 * sizeof *out);
  k<<<1, 32>>>(out);
  cudaDeviceSynchronize();
  return out[31] != 332900 + 93;
}
END
"$simcc" instructions.cu -o instructions && ./instructions || fail "instructions.cu"

# Without its return, a function would run into the next one.
printf 'bool checked(int x) {\n  if (x != 1) __builtin_printf("wrong\\n");\n}\nint main() { checked(1); return 0; }\n' >no_return.cu
"$simcc" no_return.cu -o no_return 2>/dev/null
if said=$(./no_return 2>&1); then fail "no_return.cu should fail"; fi
[[ $said == *"no_return.cu:1: this function ends without a return"* ]] || fail "no_return.cu said: $said"

# A fault that recurs in every launch of a loop takes one line.
cat >again.cu <<'END'
__global__ void k(int* p) { atomicAdd(p, p[threadIdx.x]); }
int main() {
  int* p;
  cudaMalloc(&p, 128);
  cudaMemset(p, 0, 128);
  for (int i = 0; i < 4; ++i) k<<<1, 33>>>(p);
  cudaFree(p);
}
END
"$simcc" again.cu -o again
said=$(SIM_REPORT=1 ./again 2>&1) || true
[[ $(grep -c "past the end" <<<"$said") == 1 && $said == *"; so did 3 of its later launches"* ]] || fail "again.cu said: $said"

# A C++11 program may use names that C++17 added to namespace std.
printf '#include <iterator>\n#include <vector>\nusing namespace std;\nint *data, size, empty;\nint main() { data = &size; return *data + empty; }\n' |
  tee names.cu >names.cpp
for file in names.cu names.cpp; do
  "$simcc" -std=c++11 $file -o names && ./names || fail "-std=c++11 $file"
done

# Thrust over memory that it did not allocate itself.
if [[ -f /usr/include/thrust/version.h ]]; then
  cat >pointers.cu <<'END'
#include <thrust/device_ptr.h>
#include <thrust/functional.h>
#include <thrust/transform_reduce.h>
struct wide {
  int value;
  wide() : value(0) {}
  wide(const wide& o) : value(o.value) {}
};
struct value_of {
  __host__ __device__ int operator()(const wide& w) const { return w.value; }
};
int main() {
  wide h[100];
  for (int i = 0; i < 100; ++i) h[i].value = i;
  wide* d;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  thrust::device_ptr<wide> p(d);
  try {
    std::cout << thrust::transform_reduce(p, p + 100, value_of(), 0, thrust::plus<int>()) << "\n";
  } catch (const thrust::system_error&) {
  }
  cudaFree(d);
}
END
  "$simcc" pointers.cu -o pointers && [[ $(./pointers) == 4950 ]] || fail "Thrust's device_ptr: $(./pointers 2>&1)"
  cat >policies.cu <<'END'
#include <thrust/execution_policy.h>
#include <thrust/scan.h>
#include <cstdio>
int main() {
  int *x, h[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  cudaMalloc(&x, sizeof h);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  thrust::inclusive_scan(thrust::device, x, x + 10, x);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
  std::printf("%d\n", h[9]);
  cudaFree(x);
}
END
  "$simcc" policies.cu -o policies && [[ $(./policies 2>&1) == 55 ]] || fail "thrust::device: $(./policies 2>&1)"
fi

# PTX in a header that is included after short macros.
echo '__device__ inline unsigned lane() { unsigned l; asm("mov.u32 %0, %%laneid;" : "=r"(l)); return l; }' >include/lane.h
{
  printf '#define %s 4\n' A B C D F K L M N P R S T
  echo '#include "lane.h"'
  echo '__global__ void first(unsigned* p) { *p = lane() + N; }'
  echo 'int main() { unsigned* p; cudaMalloc(&p, 4); first<<<1, 1>>>(p); cudaFree(p); return cudaDeviceSynchronize(); }'
} >macros.cu
"$simcc" macros.cu -Iinclude -o macros && ./macros || fail "macros before PTX"

# For these processors, and since g++ 13 for all, the compiler splits sums of products; a GPU does not.
if [[ $(uname -m) == x86_64 ]] && grep -qw fma /proc/cpuinfo; then
  cat >dot.cu <<'END'
__global__ void dot(float* sum, const float* a, const float* b, int n) {
  float s = 0;
  for (int i = 0; i < n; ++i) s += a[i] * b[i];
  *sum = s;
}
int main() {
  float* p;
  cudaMalloc(&p, 201 * sizeof *p);
  cudaMemset(p, 0, 201 * sizeof *p);
  dot<<<1, 1>>>(p, p + 1, p + 101, 100);
  return cudaDeviceSynchronize();
}
END
  "$simcc" dot.cu -Xcompiler -mtune=znver3 -o dot
  SIM_CSV=dot.csv ./dot
  # The rows: the names, the units, the launch.
  fused=$(awk -F '","' '/^"/ { if (++row == 1) for (i = 1; i <= NF; ++i) if ($i == "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum") at = i
                               if (row == 3) print $at }' dot.csv)
  [[ $fused =~ ^100(\.0*)?$ ]] || fail "a sum of products is not FFMA: $fused of 100"
fi

# Each unsupported request gives an error of one sentence.
refused() {
  local wanted=$1 said
  shift
  if said=$("$simcc" "$@" 2>&1); then fail "simcc $* should fail"; fi
  [[ $said == *"$wanted"* ]] || fail "simcc $* said: $said"
}
refused "generates no GPU code" --ptx src/main.cu
refused "takes one file" -c src/main.cu src/scale.cu -o both.o
refused "there is no file nothing.cu" nothing.cu
refused "-o needs a value" src/scale.cu -o
refused "which file" -O3
printf '#include <cuda.h>\nint main() { CUmodule m; cuModuleLoad(&m, "k.ptx"); }\n' >module.cu
refused "module.cu:2" module.cu
refused "kernels loaded or compiled at run time are not simulated" module.cu
[[ -z $skipped ]] || { echo "SKIPPED in part: $skipped"; exit 77; }
echo "simcc takes nvcc's command lines"
