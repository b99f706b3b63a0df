#!/usr/bin/env bash
# What NVIDIA's tools say about the twelve crashed programs on a real GPU: solutions/13_when_it_crashes/device.sh [FOLDER] [NAME]
#
# Run it from anywhere on a machine with a GPU, nvcc, compute-sanitizer and cuda-gdb; it takes a few minutes and
# writes FOLDER/PROGRAM.txt for each program, by default into device/ next to this script. Each file has the commands and
# what they print: the program alone, the four tools of compute-sanitizer, cuda-gdb, and a GPU core dump. NAME draws the
# sizes (default ann). FOLDER/summary.tsv has a line for each run: program, tool, exit code, first message.
set -uo pipefail
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
root=$(cd "$here/../.." && pwd)
folder=$(realpath -m "${1:-$here/device}")
name=${2:-ann}
mkdir -p "$folder"
cd "$root" || exit 1
lab=labs/13_when_it_crashes
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
most_lines=60

{
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  nvcc --version | tail -n 2
  compute-sanitizer --version | tail -n 1
  cuda-gdb --version | head -n 1
  date -u +%F
} >"$folder/machine.txt" 2>&1

printf 'program\ttool\texit\tfirst message\n' >"$folder/summary.tsv"

# record TOOL COMMAND...: runs the command for at most 20 s, and keeps its output
record() {
  local tool=$1 status first
  shift
  timeout --signal=INT --kill-after=10 20 "$@" >"$own/out" 2>&1 </dev/null
  status=$?
  sed -i "s#$root/##g; s#$own/##g" "$own/out"
  {
    echo "\$ ${*//"$own/"/}"
    head -n $most_lines "$own/out"
    (($(wc -l <"$own/out") <= most_lines)) || echo "[$(($(wc -l <"$own/out") - most_lines)) more lines]"
    ((status != 124 && status != 137)) || echo "[stopped after 20 s]"
    echo "[exit code $status]"
    echo
  } >>"$folder/$program.txt"
  first=$(grep -a -m 1 -E 'Invalid|Uninitialized|hazard|Barrier error|Program hit|CUDA Exception|Assertion|error|timeout' "$own/out" | tr '\t' ' ')
  printf '%s\t%s\t%s\t%s\n' "$program" "$tool" "$status" "$first" >>"$own/summary.tsv"
}

# examine SOURCE: runs all tools on one program
examine() {
  local program own core
  program=$(basename "$1" .cu)
  own=$work/$program
  mkdir "$own"
  : >"$folder/$program.txt"
  nvcc -std=c++20 -arch=native -O3 -lineinfo -I$lab -I$lab/given "$1" -o "$own/$program" 2>"$own/errors" || {
    cat "$own/errors" >>"$folder/$program.txt"
    return
  }
  nvcc -std=c++20 -arch=native -g -G -I$lab -I$lab/given "$1" -o "$own/$program.debug" 2>/dev/null
  record alone "$own/$program" "$name"
  for tool in memcheck initcheck racecheck synccheck; do
    record $tool compute-sanitizer --tool $tool "$own/$program" "$name"
  done
  # Interrupt a kernel that hangs, so that cuda-gdb shows where its threads are.
  printf '%s\n' 'set pagination off' 'run' 'info cuda kernels' 'info cuda threads' 'bt 3' 'info locals' 'kill' 'quit' >"$own/commands"
  exec 9>"$work/debugger"
  flock 9  # one debugger at a time
  record cuda-gdb timeout --signal=INT 15 cuda-gdb -nx -q -batch -x "$own/commands" --args "$own/$program.debug" "$name"
  flock -u 9
  record coredump env CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1 CUDA_ENABLE_LIGHTWEIGHT_COREDUMP=1 "CUDA_COREDUMP_FILE=$own/core.%p" \
    "$own/$program.debug" "$name"
  for core in "$own"/core*; do
    [[ -f $core ]] || continue
    record coredump-read cuda-gdb -nx -q -batch -ex "target cudacore $core" -ex 'info cuda kernels' -ex 'info cuda threads' -ex 'bt 3'
  done
}

# Examine programs in parallel.
for source in $lab/crashed/*.cu; do examine "$source" & done
wait
cat "$work"/*/summary.tsv >>"$folder/summary.tsv"
cat "$folder/summary.tsv"
