#!/usr/bin/env bash
# SIM_BUDGET: programs that would take too long end in time and say what they omitted; quick programs are unchanged.
# SIM_SCHEDULE: other orders, the same for the same number.
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

# The order of blocks, warps and lanes. The block's index of the last to come is right in the usual order alone.
cat >order.cu <<'END_OF_PROGRAM'
#include <cstdio>
__global__ void take_turns(int* turns, int* taken) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  turns[i] = atomicAdd(taken, 1);
}
__global__ void append(int* list, int* end) {
  if (threadIdx.x == 0) list[atomicAdd(end, blockIdx.x + 1) - blockIdx.x * (blockIdx.x + 1) / 2] = 1;
}
int main() {
  constexpr int blocks = 50, threads = 70, n = blocks * threads;
  static int turns[n];
  int *on_device, *taken, *list;
  cudaMalloc(&on_device, sizeof turns);
  cudaMalloc(&taken, 2 * sizeof *taken);
  cudaMalloc(&list, sizeof *list);
  cudaMemset(taken, 0, 2 * sizeof *taken);
  take_turns<<<blocks, threads>>>(on_device, taken);
  cudaMemcpy(turns, on_device, sizeof turns, cudaMemcpyDeviceToHost);
  for (const int t : turns) std::printf("%d ", t);
  append<<<blocks, 32>>>(list, taken + 1);
  if (cudaDeviceSynchronize() == cudaSuccess) cudaFree(on_device), cudaFree(taken), cudaFree(list);
}
END_OF_PROGRAM
"$1" order.cu -o order
for n in "" 1 1 2; do
  SIM_THREADS=1 SIM_SCHEDULE=$n ./order >"turns$n" 2>"err$n" || [[ -n $n ]] || fail "the usual order fails"
  [[ $(tr ' ' '\n' <"turns$n" | sort -n | uniq | grep -c .) == 3500 ]] || fail "schedule '$n' does not run each thread once"
  [[ $n != 1 || ! -e again ]] || cmp -s turns1 again || fail "the same number gives another order"
  [[ $n != 1 ]] || cp turns1 again
done
[[ $(cat turns) == "$(seq -s ' ' 0 3499) " ]] || fail "the usual order is another one"
! cmp -s turns1 turns2 || fail "two numbers give the same order"
for n in 1 2; do grep -q 'out of bounds' "err$n" || fail "schedule $n does not show the bug"; done
of_block=$(tr ' ' '\n' <turns1 | head -n 70)
[[ $of_block != $(sort -n <<<"$of_block") ]] || fail "a block's threads run in order"
SIM_SCHEDULE=any ./order >out 2>err && fail "SIM_SCHEDULE=any is accepted"
grep -q 'SIM_SCHEDULE=any is not a positive number' err || fail "SIM_SCHEDULE=any: no clear error"
echo "programs end in time, say what they left out, and run in other orders"
