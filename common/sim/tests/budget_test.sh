#!/usr/bin/env bash
# SIM_BUDGET: programs that would take too long end in time and say what they omitted; quick programs are unchanged.
#   budget_test.sh SIMCC
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
fail() { echo "budget_test: $*" >&2; cat err >&2; exit 1; }

cat >program.cu <<'END_OF_PROGRAM'
#include <cstdio>
#include <cstring>
__global__ void copy(int* to, const int* from, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i];
}
/// The later the block, the longer it works.
__global__ void uneven(int* to, const int* from, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = 0;
  for (unsigned k = 0; k <= blockIdx.x >> 13; ++k) sum += from[(i + k) % n];
  to[i] = sum;
}
/// Each block waits for the one before.
__global__ void chained(volatile int* done) {
  if (blockIdx.x > 0)
    while (done[blockIdx.x - 1] == 0) {
    }
  __threadfence();
  done[blockIdx.x] = 1;
}
int main(int, char** arguments) {
  const int blocks = std::strcmp(arguments[1], "small") == 0 ? 64 : 1 << 19, n = blocks * 128 - 5;
  int *a, *b;
  cudaMalloc(&a, n * sizeof *a + 32);
  cudaMalloc(&b, n * sizeof *b + 32);
  cudaMemset(a, 1, n * sizeof *a + 32);
  cudaMemset(b, 0, n * sizeof *b + 32);
  copy<<<1, 1024>>>(b, a, 1000);
  if (std::strcmp(arguments[1], "repeated") == 0)
    for (int i = 0; i < 1 << 16; ++i) copy<<<64, 128>>>(b, a, 64 * 128);
  else if (std::strcmp(arguments[1], "chained") == 0)
    chained<<<blocks, 128>>>(b + 1024);
  else
    copy<<<blocks, 128>>>(b, a, n);
  if (std::strcmp(arguments[1], "uneven") == 0) uneven<<<blocks, 128>>>(b, a, n);
  int last = 0;
  cudaMemcpy(&last, b + 999, sizeof last, cudaMemcpyDeviceToHost);
  std::printf("%x %s\n", last, cudaGetErrorName(cudaGetLastError()));
  cudaFree(a);
  cudaFree(b);
}
END_OF_PROGRAM
"$1" program.cu -o program
export SIM_REPORT=1 SIM_THREADS=2

# A quick program prints the same with and without a budget.
./program small >whole 2>err
cp err whole.err
SIM_BUDGET=100 ./program small >out 2>err
cmp -s whole out && cmp -s whole.err err || fail "a quick program behaves differently with a budget"
grep -q 'Counts are exact' err || fail "a quick program's counts are not exact"

# run WHAT: takes a few seconds instead of minutes.
run() {
  local begun=$SECONDS
  SIM_BUDGET=2 timeout 120 ./program "$1" >out 2>err || fail "$1: exit code $?"
  ((SECONDS - begun <= 40)) || fail "$1: took $((SECONDS - begun)) s of a budget of 2 s"
  [[ $(cat out) == "1010101 cudaSuccess" ]] || fail "$1: $(cat out)"
  grep -q 'results in memory are incomplete' err || fail "$1: does not say that blocks are missing"
  ! grep -q '^error' err || fail "$1: reports that follow from the budget"
}
run copy
# 2^19 blocks of 4 warps, each with a load and a store; the last block has fewer lanes but as many warps.
grep -qE '^copy +524288 +128 +4194304 +4\.00 +4\.00' err || fail "copy: the counts are not exact"
grep -qE '^copy +524288 +1 +[0-9]+ of 524288  exact: global loads, global stores, instructions$' err ||
  fail "copy: does not say that all blocks are alike"
! grep -qE '^copy +1 +1 +[0-9]+ of' err || fail "the quick launch did not run completely"
run uneven
grep -qE '^uneven .*exact: global stores; extrapolated: global loads, instructions$' err ||
  fail "uneven: does not say that blocks differ"
# On average 4 warps with 32.5 loads and a store, within 10 %.
requests=$(sed -nE 's/^uneven +524288 +128 +([0-9]+) .*/\1/p' err)
((requests > 524288 * 4 * 30 && requests < 524288 * 4 * 37)) || fail "uneven: $requests requests"
run repeated
grep -qE '^copy +64 +[0-9]+ +[0-9]+ of [0-9]+  (as in the previous launch|extrapolated: .*)$' err || fail "repeated: does not say what did not run"
run chained
SIM_BUDGET=soon ./program small >out 2>err && fail "SIM_BUDGET=soon is accepted"
grep -q 'SIM_BUDGET=soon is not a number of seconds' err || fail "SIM_BUDGET=soon: no clear error"
echo "programs end in time, and say what they left out"
