#!/bin/sh
# Measures GPT-2 124M of lab 08 on this machine's GPU against PyTorch: gpt2.sh RESULTS_FOLDER
#
# Builds the passes, tests them against float64 on small models, the fused kernels also under compute-sanitizer, and compares
# them with transformers (logits and alternating times, in one process: solutions/08_gpt2/measure.py). Profiles LLM-Eigen and
# LLM-CUDA, and makes the study's table of both (study.py). Writes gpt2.json, gpt2.txt, gpt2.md and the profiles. BUILD names
# the build folder, CMAKE_ARGS is passed on to cmake, PYTHON names an interpreter with torch and transformers, LIMIT the seconds
# that the comparison may take (260). If LLMC names a clone of github.com/karpathy/llm.c, its passes are compared, too. Exits
# with 1 if a step failed. Leaves the GPU's settings unchanged.
set -u

[ $# -eq 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
mkdir -p "$1"
results=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$root/build-measure}
failed=0
: > "$results/gpt2.txt"

# step NAME COMMAND...: runs it with its output in the log; shows the end of the log if it failed.
step() {
  name=$1
  shift
  begin=$(date +%s)
  "$@" >> "$results/gpt2.txt" 2>&1
  status=$?
  echo "$name: $([ $status -eq 0 ] && echo ok || echo "FAILED ($status)"), $(($(date +%s) - begin)) s"
  [ $status -eq 0 ] || { failed=1; tail -n 20 "$results/gpt2.txt" | cut -c1-200 | sed 's/^/  /'; }
  return $status
}

# shellcheck disable=SC2086  # CMAKE_ARGS is a list
step configure cmake -S "$root" -B "$build" -G Ninja ${CMAKE_ARGS:-} || exit 1
step build cmake --build "$build" --target gpt2_module gpt2_test.solution.cuda gpt2.solution.cuda || exit 1
step test "$build/bin/gpt2_test.solution.cuda"
# Racecheck does not follow the counter by which SmallPass orders its blocks.
for tool in memcheck racecheck; do
  tests='Kernels.*'
  [ $tool = racecheck ] || tests="$tests:SmallPass.*"
  step $tool compute-sanitizer --tool $tool --error-exitcode 9 "$build/bin/gpt2_test.solution.cuda" --gtest_filter="$tests"
done
if [ -n "${LLMC:-}" ]; then
  nvcc=$(sed -n 's/^CMAKE_CUDA_COMPILER:[^=]*=//p' "$build/CMakeCache.txt")
  # llm.c reads the clock through NVML if its header is installed.
  nvml=$(echo '#include <nvml.h>' | "$nvcc" -E -x cu - > /dev/null 2>&1 && echo -lnvidia-ml)
  for kind in fp32 bf16; do
    # shellcheck disable=SC2046,SC2086  # a flag or none
    step "llm.c.$kind" "$nvcc" -O3 -t=0 --use_fast_math -std=c++17 -arch=native -shared -Xcompiler -fPIC \
      -I "$LLMC" $([ $kind = fp32 ] || echo -DENABLE_BF16) -o "$build/bin/libllmc_$kind.so" "$root/solutions/08_gpt2/llmc_module.cu" \
      -lcublas -lcublasLt $nvml || LLMC=
  done
fi
step measure "${PYTHON:-python3}" "$root/solutions/08_gpt2/measure.py" "$build/bin/libgpt2_module.so" "$results/gpt2.json" \
  ${LLMC:+"$build/bin"}
gpt2() { LAB_PROFILE=$1 "$build/bin/gpt2.solution.cuda" --batch 4 --time 64 --pass "$2" --dtype tf32 --two-blocks; }
step profile.eigen gpt2 "$results/gpt2-eigen" eigen-gpu
step profile.cuda gpt2 "$results/gpt2-cuda" cuda
step tables sh -c 'python3 "$1" "$2/profile.json" "$3/profile.json" "$4" > "$5"' tables "$root/solutions/08_gpt2/study.py" \
  "$results/gpt2-eigen" "$results/gpt2-cuda" "$results/gpt2.json" "$results/gpt2.md"
sed -n 's/^@ //p' "$results/gpt2.txt"
exit $failed
