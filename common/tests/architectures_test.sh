#!/usr/bin/env bash
# All device code of the labs and their solutions compiles for each GPU from sm_75 (a T4) to sm_120 that this nvcc
# knows, or from sm_80 if it uses tensor cores for bf16. Needs no GPU. Exit code 77: no nvcc here. usage:
# architectures_test.sh SOURCE [NVCC]
set -euo pipefail
source=$1 nvcc=${2:-nvcc}
command -v "$nvcc" >/dev/null || { echo "SKIPPED: no nvcc here; developer.nvidia.com/cuda-downloads"; exit 77; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
known=$("$nvcc" --list-gpu-code)
architectures=()
for number in 75 80 86 89 90 100 120; do
  ! grep -qx "sm_$number" <<<"$known" || architectures+=("$number")
done
files=0 bad=0
for file in "$source"/{labs/*/given,solutions/*/handin}/*.cu; do
  [[ -f $file ]] || continue
  lab=$source/labs/$(basename "$(dirname "$(dirname "$file")")")
  options=()
  for number in "${architectures[@]}"; do
    ((number < 80)) && grep -qE 'wmma::|lab/tensor_core\.hpp' "$file" || options+=(-gencode "arch=compute_$number,code=sm_$number")
  done
  "$nvcc" -fatbin -std=c++20 --extended-lambda --expt-relaxed-constexpr "${options[@]}" "-I$lab" "-I$lab/given" "-I$source/common/include" \
    "$file" -o "$place/fatbin" >"$place/log" 2>&1 || { echo "${file#"$source"/}:"; head -n 20 "$place/log"; bad=$((bad + 1)); }
  files=$((files + 1))
done
echo "$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/nvcc \1/p'): $files files for sm_${architectures[*]}, $bad fail"
((bad == 0 && files > 0))
