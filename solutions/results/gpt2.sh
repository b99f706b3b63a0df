#!/bin/sh
# Measures GPT-2 124M of lab 08 on this machine's GPU against PyTorch: gpt2.sh RESULTS_FOLDER
#
# Builds the passes, tests them against float64 on small models, and compares them with transformers (logits and times, in
# one process, in turn: solutions/08_gpt2/measure.py). Writes gpt2.json and gpt2.txt. BUILD names the build folder,
# CMAKE_ARGS is passed on to cmake, PYTHON is one that has torch and transformers, LIMIT the seconds that the comparison may
# take (260). Exits with 1 where something failed. The GPU's settings are left alone.
set -u

[ $# -eq 1 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2; }
mkdir -p "$1"
results=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$root/build-measure}
failed=0
: > "$results/gpt2.txt"

# step NAME COMMAND...: runs it with its output in the log; shows the end of it where it failed.
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
step build cmake --build "$build" --target gpt2_module gpt2_test.solution.cuda || exit 1
step test "$build/bin/gpt2_test.solution.cuda"
step measure "${PYTHON:-python3}" "$root/solutions/08_gpt2/measure.py" "$build/bin/libgpt2_module.so" "$results/gpt2.json"
sed -n 's/^@ //p' "$results/gpt2.txt"
exit $failed
