#!/usr/bin/env bash
# Compiles the course for a GPU, and runs the parts that need no GPU: names of counters, CUPTI's plans. Without CUPTI 12.6 the
# course is configured for the simulated device alone. usage: cuda_test.sh SOURCE BUILD
set -euo pipefail
source=$1 build=$2
PATH+=:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo "SKIPPED: no nvcc here"; exit 77; }
configure() { cmake -S "$source" -B "$build" -G Ninja -DLABS_CUDA=ON "$@"; }
configure -DCUPTI_INCLUDE_DIR= | tee "$build.log"
grep -q "no CUPTI of 12.6" "$build.log"
configure -UCUPTI_INCLUDE_DIR | tee "$build.log"
cmake --build "$build" --target cuda_code
mkdir -p "$build/common/sim/sim"  # where nvcc puts its objects, as simcc would
ctest --test-dir "$build" -R '^cuda\.' --no-tests=error --output-on-failure
