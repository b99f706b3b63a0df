#!/bin/sh
# Measures the reference solutions on this machine's GPU: measure.sh RESULTS_FOLDER [BUILD_FOLDER]
#
# Writes ceilings.json, lab03.json, ncu.csv (the same counters by Nsight Compute, to compare), sanitizer.txt and
# log.txt. Runs every step, whatever the earlier ones said; exits with 1 where one failed. CMAKE_ARGS is passed on to
# cmake. The GPU's settings are left alone.
set -u

[ $# -ge 1 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 2; }
mkdir -p "$1"
results=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${2:-$root/build-measure}
failed=0
: > "$results/log.txt"

# step NAME LIMIT_SECONDS COMMAND...: runs it, with its output in the log; says how it ended and how long it took.
step() {
  name=$1
  limit=$2
  shift 2
  printf '\n== %s: %s\n' "$name" "$*" >> "$results/log.txt"
  begin=$(date +%s)
  timeout "$limit" "$@" > "$results/.output" 2>&1
  status=$?
  cat "$results/.output" >> "$results/log.txt"
  printf '%-12s %4d s  %s\n' "$name" $(($(date +%s) - begin)) "$([ $status -eq 0 ] && echo ok || echo "FAILED ($status)")"
  if [ $status -ne 0 ]; then
    failed=1
    tail -n 15 "$results/.output"
  fi
  return $status
}

program() { echo "$build/bin/lab03.solution.cuda.$1"; }

# shellcheck disable=SC2086  # CMAKE_ARGS is a list
step configure 120 cmake -S "$root" -B "$build" -G Ninja -DLABS_MEASURE=ON ${CMAKE_ARGS:-} || exit 1
step build 400 cmake --build "$build" --target \
  lab03.solution.cuda.measure lab03.solution.cuda.test device_ceilings metric_plan_test || exit 1

step ceilings 60 sh -c "'$build/bin/device_ceilings' > '$results/ceilings.json'"
step measure 300 "$(program measure)" --output "$results/lab03.json" && cat "$results/.output"
step names 30 "$build/bin/metric_plan_test"
step test 200 "$(program test)"

: > "$results/sanitizer.txt"
for tool in memcheck racecheck; do
  step $tool 200 compute-sanitizer --tool $tool --error-exitcode 9 "$(program measure)" --correctness-only \
    --output "$results/.correctness.json"
  { echo "== $tool"; grep '^=========' "$results/.output"; } >> "$results/sanitizer.txt"
done

# All kernels of the cases of size 1024 x 1024, with the metrics of the rubric.
metrics=$(
  for op in ld st; do
    printf '%s,' "l1tex__t_requests_pipe_lsu_mem_global_op_$op.sum" "l1tex__t_sectors_pipe_lsu_mem_global_op_$op.sum" \
      "smsp__sass_average_data_bytes_per_sector_mem_global_op_$op.pct" \
      "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_$op.sum" \
      "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_$op.sum" "smsp__inst_executed_op_shared_$op.sum" \
      "dram__bytes_$([ $op = ld ] && echo read || echo write).sum"
  done
  echo l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum,gpu__time_duration.sum
)
step ncu 200 ncu --clock-control none --csv --page raw --print-units base --metrics "$metrics" --log-file "$results/ncu.csv" \
  "$(program measure)" --correctness-only --only /1024x1024 --output "$results/.correctness.json"

sed -i '/^==/d' "$results/ncu.csv"  # ncu's own messages, which name this machine's folders

rm -f "$results/.output" "$results/.correctness.json"
exit $failed
