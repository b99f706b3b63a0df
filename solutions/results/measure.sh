#!/bin/sh
# Measures the reference solutions on this machine's GPU: measure.sh RESULTS_FOLDER [LAB...]
#
# For every lab, or for those named ("03 06"), writes labNN.json, and tablesNN.json where a program makes tables; for all of
# them together ceilings.json, ncu.csv (the same counters by Nsight Compute, to compare), sanitizer.txt and log.txt. Runs
# every step, even after failures, each within its own time limit; after LIMIT seconds in all (460), it skips the rest and says
# so. Exits with 1 if a step failed. BUILD names the build folder, CMAKE_ARGS is passed on to cmake. Leaves the GPU's settings
# unchanged.
set -u

[ $# -ge 1 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; }
mkdir -p "$1"
results=$(cd "$1" && pwd)
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$root/build-measure}
begin=$(date +%s)
end=$((begin + ${LIMIT:-460}))
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: > "$results/log.txt"

labs=
for lab in "${@:-[0-9][0-9]}"; do
  for folder in "$root"/solutions/${lab}_*; do
    [ -d "$folder" ] || { echo "measure.sh: no solution of lab $lab; a lab is two digits, 03" >&2; exit 2; }
    number=${folder##*/}
    labs="$labs ${number%%_*}"
  done
done

# step NAME LIMIT_SECONDS COMMAND...: runs it, with its output in the log and in $work/NAME; says how it ended and how
# long it took.
step() {
  name=$1
  limit=$2
  shift 2
  now=$(date +%s)
  [ $((end - now)) -ge "$limit" ] || limit=$((end - now))
  if [ $limit -gt 0 ]; then
    timeout -k 5 $limit "$@" > "$work/$name" 2>&1
    status=$?
    how="FAILED ($status)"
  else
    : > "$work/$name"
    status=124
    how="left out: LIMIT is over"
  fi
  [ $status -ne 0 ] || how=ok
  [ $status -eq 0 ] || touch "$work/failed"
  said=$([ $status -eq 0 ] || tail -n 5 "$work/$name" | cut -c1-200 | sed 's/^/  /')
  printf '%-18s %4d s  %s%s\n' "$name" $(($(date +%s) - now)) "$how" "${said:+
$said}"
  { printf '\n== %s: %s\n' "$name" "$*"; cat "$work/$name"; } >> "$results/log.txt"
  return $status
}

program() { echo "$build/bin/lab$1.solution.cuda.$2"; }

# shellcheck disable=SC2086  # CMAKE_ARGS and targets are lists
step configure 60 cmake -S "$root" -B "$build" -G Ninja -DLABS_MEASURE=ON ${CMAKE_ARGS:-}
targets="device_ceilings metric_plan_test"
for lab in $labs; do
  for kind in measure experiment tables; do  # ninja builds nothing if it does not know one of the names
    target=lab$lab.solution.cuda.$kind
    if grep -q "^build $target:" "$build/build.ninja"; then targets="$targets $target"; fi
  done
done
# shellcheck disable=SC2086
step build 240 cmake --build "$build" --target $targets -- -k 0

# Timed steps first: nothing else may run meanwhile.
step ceilings 30 sh -c "'$build/bin/device_ceilings' > '$work/ceilings.json'" &&
  mv "$work/ceilings.json" "$results/ceilings.json"
for lab in $labs; do
  # Keep a result with wrong answers: it says which are wrong.
  rm -f "$work/lab.json"
  step "measure.$lab" 100 "$(program "$lab" measure)" --output "$work/lab.json"
  grep 'GB/s' "$work/measure.$lab"
  [ ! -s "$work/lab.json" ] || mv "$work/lab.json" "$results/lab$lab.json"
done
for lab in $labs; do
  # The solution's own program, or the lab's experiment, if that knows --json.
  tables=$(program "$lab" tables)
  if grep -qs 'lab/experiment.hpp' "$root"/labs/"${lab}"_*/given/experiment.cpp; then tables=$(program "$lab" experiment); fi
  [ -x "$tables" ] || continue
  step "tables.$lab" 60 sh -c "'$tables' --json > '$work/tables.json'" &&
    mv "$work/tables.json" "$results/tables$lab.json"
done
step names 20 "$build/bin/metric_plan_test"

# All kernels of the counted cases, with the rubric's metrics.
rm -f "$results/ncu.csv"
for lab in $labs; do
  metrics=$("$(program "$lab" measure)" --list-metrics 2>> "$results/log.txt")
  step "ncu.$lab" 60 ncu --clock-control none --csv --page raw --print-units base --metrics "$metrics" \
    --log-file "$work/ncu.csv" "$(program "$lab" measure)" --counted-only --output "$work/counted.json"
  [ ! -f "$work/ncu.csv" ] || grep -v '^==' "$work/ncu.csv" >> "$results/ncu.csv"  # its messages name folders
  rm -f "$work/ncu.csv"
done

# Last and in parallel: steps that only pass or fail. If a call returns an error, the case that makes the call checks it.
for lab in $labs; do
  for tool in memcheck racecheck; do
    step "$tool.$lab" 240 compute-sanitizer --tool $tool --report-api-errors no --error-exitcode 9 "$(program "$lab" measure)" \
      --correctness-only --output "$work/correctness.$tool.$lab.json" &
  done
done
wait
for lab in $labs; do
  for tool in memcheck racecheck; do echo "== lab $lab, $tool"; grep '^=========' "$work/$tool.$lab"; done
done > "$results/sanitizer.txt"

[ ! -e "$work/failed" ]
