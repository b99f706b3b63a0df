#!/usr/bin/env bash
# Tests the autograder zip by Gradescope's rules: its scripts must be executable and at the root, and every run on a submission
# must end with a results.json. The unpacked tree uses the existing build, not a second one. usage: gradescope_test.sh GRADER
# SOURCE
set -euo pipefail
grader=$1 source=$2
command -v unzip >/dev/null || { echo "SKIPPED: no unzip here; apt-get install unzip"; exit 77; }
place=$(mktemp -d /tmp/gradescope-test-XXXXXX)
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"
"$grader" gradescope-zip 03 --output "$place" >/dev/null
mkdir "$place/source" "$place/submission"
unzip -q "$place/gradescope-lab03.zip" -d "$place/source"
for script in setup.sh run_autograder; do
  [[ -x $place/source/$script ]] || { echo "$script is not executable at the root of the zip"; exit 1; }
done
[[ ! -e $place/source/solutions ]] || { echo "the zip holds the solutions"; exit 1; }
ln -s "$(dirname "$(dirname "$grader")")" "$place/source/build"
export AUTOGRADER_SOURCE=$place/source AUTOGRADER_SUBMISSION=$place/submission AUTOGRADER_RESULTS=$place/results
score() { sed -n 's/^ *"score": \([0-9.]*\),*$/\1/p' "$place/results/results.json" | head -n 1; }

cp "$source"/solutions/03_coalescing/handin/* "$place/submission"
patch -s "$place/submission/column_sums.cpp" "$source"/solutions/03_coalescing/wrong/crashes.patch
"$place/source/run_autograder"
[[ $(score) == 66* ]] || { echo "the crashing submission got $(score), not 66"; cat "$place/results/results.json"; exit 1; }

rm "$place"/submission/*
"$place/source/run_autograder"
[[ $(score) == 0* ]] || { echo "an empty submission got $(score)"; exit 1; }
grep -q 'it contains none of the hand-in files' "$place/results/results.json" || { echo "no reason is given"; exit 1; }

# Even if nothing works, Gradescope must get a readable file.
rm "$place/source/build"
"$place/source/run_autograder" 2>/dev/null || true
grep -q 'did not finish' "$place/results/results.json" || { echo "no fallback"; exit 1; }

# GPU labs: the bridge grades on another machine.
ln -s "$(dirname "$(dirname "$grader")")" "$place/source/build"
cat >"$place/bridge" <<'BRIDGE'
#!/bin/sh
exec "$GRADER" one "$1" "$2" --unsafe --result "$3" >/dev/null
BRIDGE
chmod +x "$place/bridge"
echo "$place/bridge" >"$place/source/bridge"
GRADER=$grader "$place/source/run_autograder"
[[ $(score) == 0* ]] || { echo "the bridge's result did not arrive"; exit 1; }
echo "the zip works by Gradescope's rules"
