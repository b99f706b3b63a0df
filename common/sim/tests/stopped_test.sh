#!/usr/bin/env bash
# A program that is stopped keeps its output and prints the counts so far: on SIGINT, as Ctrl-C sends it, and on SIGTERM, as
# `timeout` does; in a kernel and on the host.
#   stopped_test.sh SIMCC
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
fail() { echo "stopped_test: $*" >&2; exit 1; }

cat >program.cu <<'END_OF_PROGRAM'
#include <cstdio>
#include <cstring>
#include <unistd.h>
__global__ void quick(int* x) { *x = 1; }
__global__ void endless(volatile int* x) {
  x[blockIdx.x + 1] = 1;
  for (long i = 0; i < 1'000'000'000'000; ++i) *x = static_cast<int>(i);
}
int main(int, char** arguments) {
  int* x;
  cudaMalloc(&x, sizeof *x);
  quick<<<1, 1>>>(x);
  std::printf("begun\n");
  if (std::strcmp(arguments[1], "kernel") == 0) endless<<<16, 1>>>(x);
  for (;;) pause();
}
END_OF_PROGRAM
"$1" program.cu -o program

# stop SIGNAL WHERE: sends the signal once the program has printed its line, and waits until it ends.
stop() {
  # Background jobs of a script ignore SIGINT.
  env --default-signal=INT SIM_REPORT=1 ./program "$2" >out 2>err &
  local program=$! waited=0
  until grep -q begun out || ((++waited > 600)); do sleep 0.05; done
  sleep 0.2
  kill -s "$1" $program
  local status=0
  wait $program 2>/dev/null || status=$?
  [[ $status == $((128 + $(kill -l "$1"))) ]] || fail "$1 in the $2: the exit code is $status"
  [[ $(cat out) == begun ]] || fail "$1 in the $2: the output is lost: $(cat out)"
}
for signal in INT TERM; do
  for where in kernel host; do
    stop $signal $where
    grep -qE '^quick +1 +1 ' err || fail "SIG$signal in the $where: no summary: $(cat err)"
    grep -q "stopped by SIG$signal" err || fail "SIG$signal in the $where: nothing says why: $(cat err)"
    ! grep -q "never freed" err || fail "SIG$signal in the $where: a stopped program had no time to free its memory"
  done
  stop $signal kernel
  grep -q "stopped by SIG$signal while endless ran" err || fail "SIG$signal: the kernel is not named: $(cat err)"
  at='program\.cu:7: endless: block \([0-9]+,0,0\) thread \(0,0,0\): was here when the program was stopped'
  grep -qE "^stopped: .*$at, in a loop on this line; it has run at most [0-9]{3,} times" err ||
    fail "SIG$signal: the summary does not say where it was: $(cat err)"
  grep -q "program.cu:6: endless: .*out of bounds, 0 bytes past the end" err || fail "SIG$signal: no report: $(cat err)"
done
# A program that aborts itself, as assert does, after a kernel with a bug.
cat >aborts.cu <<'END_OF_PROGRAM'
#include <cassert>
__global__ void beyond(int* x) { x[1] = 1; }
int main() {
  int* x;
  cudaMalloc(&x, sizeof *x);
  beyond<<<1, 1>>>(x);
  cudaDeviceSynchronize();
  assert(x == nullptr);
}
END_OF_PROGRAM
"$1" aborts.cu -o aborts
status=0
SIM_REPORT=1 ./aborts 2>err || status=$?
[[ $status == $((128 + $(kill -l ABRT))) ]] || fail "an assert: the exit code is $status"
grep -q "aborts.cu:2: beyond: .*out of bounds" err && grep -q "stopped by SIGABRT" err || fail "an assert: $(cat err)"
# The allocation of a fault is named even if it is freed before the program ends.
cat >frees.cu <<'END_OF_PROGRAM'
__global__ void beyond(int* x) { x[1] = 1; }
int main() {
  int* x;
  cudaMalloc(&x, sizeof *x);
  beyond<<<1, 1>>>(x);
  cudaFree(x);
}
END_OF_PROGRAM
"$1" frees.cu -o frees
SIM_REPORT=1 ./frees 2>err || true
grep -q "out of bounds, 0 bytes past the end of allocation 1 of 4 bytes" err || fail "freed before the end: $(cat err)"
# A program that checks its launch and exits: the summary names the line and the limit, and says nothing about memory.
cat >exits.cu <<'END_OF_PROGRAM'
#include <cstdio>
#include <cstdlib>
#include <cstring>
__global__ void wants_much() {}
__global__ void wants_little() {}
int main(int, char** arguments) {
  int* x;
  cudaMalloc(&x, sizeof *x);
  wants_much<<<1, 32, 300000>>>();
  const cudaError_t error = cudaGetLastError();
  if (std::strcmp(arguments[1], "tries") == 0) wants_little<<<1, 32>>>();
  std::printf("CUDA: %s\n", cudaGetErrorString(error));
  return std::strcmp(arguments[1], "returns") == 0 ? 0 : 1;
}
END_OF_PROGRAM
"$1" exits.cu -o exits
refused="error: .*exits.cu:9: launch of wants_much failed with cudaErrorInvalidValue: 300000 bytes of dynamic shared memory"
leak="exits.cu:8: 4 bytes never freed"
status=0
SIM_REPORT=1 ./exits exits 2>err || status=$?
[[ $status == 1 ]] || fail "an exit after a refused launch: the exit code is $status"
grep -q "$refused" err && ! grep -q "never checked\|$leak" err || fail "an exit after a refused launch: $(cat err)"
SIM_REPORT=1 ./exits tries 2>err || true
! grep -q "$refused" err || fail "a launch that was tried, and another one: $(cat err)"
SIM_REPORT=1 ./exits returns 2>err
! grep -q "$refused" err && grep -q "$leak" err || fail "a launch that was tried, and no other: $(cat err)"
# A block's reports are in the order of the faults.
cat >order.cu <<'END_OF_PROGRAM'
__global__ void late(float* out, int n) {
  extern __shared__ float tile[];
  if (threadIdx.x < 26) tile[threadIdx.x] = 1;
  __syncthreads();
  float sum = 0;
  if (threadIdx.x == 0)
    for (int i = 0; i < n; ++i) sum += tile[i];
  *out = sum;
}
int main() {
  float* out;
  cudaMalloc(&out, sizeof *out);
  late<<<1, 32, 100>>>(out, 26);
  cudaDeviceSynchronize();
  cudaFree(out);
}
END_OF_PROGRAM
"$1" order.cu -o order
SIM_REPORT=1 ./order 2>err || true
[[ $(grep -o '^error: .*order.cu:[0-9]*' err | grep -o '[0-9]*$' | xargs) == "3 7"* ]] || fail "in another order: $(cat err)"
stop KILL host  # keeps the output, but prints no summary
echo "a stopped program keeps its output and gives its summary"
