#!/usr/bin/env bash
# Does the same submission get the same grade every time? Grades each one repeatedly, with different inputs each time, and
# counts each combination of points and verdicts. With --hog, a loop keeps a core busy on and off meanwhile, as other users do:
# a steady load is easily divided out. Exits with 1 if a submission got more than one grade.
# usage: repeat.sh [--hog] [--item ID]... LAB TIMES SUBMISSION...      (build/bin/grader and simcc must be built)
# A submission is a folder, graded officially (with --item only these items), or one of the course's: solution, student,
# wrong-...
set -euo pipefail
hog=
trap '[[ -z $hog ]] || kill "$hog"' EXIT
if [[ ${1:-} == --hog ]]; then
  shift
  (while :; do
    timeout "0.$((RANDOM % 9 + 1))" bash -c 'while :; do :; done' || true
    sleep "0.$((RANDOM % 9 + 1))"
  done) & hog=$!
fi
items=()
while [[ ${1:-} == --item ]]; do
  items+=(--item "$2")
  shift 2
done
(($# >= 3)) || { sed -n '2,8s/^# //p' "$0" >&2; exit 2; }
lab=$1 times=$2
shift 2
grader=$(cd "$(dirname "$0")/../.." && pwd)/build/bin/grader
same=0
for submission; do
  for ((i = 1; i <= times; ++i)); do
    if [[ -d $submission ]]; then
      printed=$("$grader" one "$lab" "$submission" "${items[@]}" 2>&1) || true
    else
      printed=$("$grader" --seed "$i" lab "$lab" --submission "$submission" 2>&1) || true
    fi
    # The points, and the verdict of each item that did not pass.
    points=$(sed -nE 's/^([0-9.]+ of [0-9.]+ points).*/\1/p' <<<"$printed")
    echo "${points:-$(tail -n 1 <<<"$printed")}: $(grep -E '^[A-Z][A-Z ]+  [a-z_0-9]+$' <<<"$printed" | grep -v '^NOT ASSESSED' | tr -s ' \n' ' ')"
  done | sort | uniq -c | { grades=$(cat); sed "s|^ *|$(basename "$submission"): |" <<<"$grades"; (($(wc -l <<<"$grades") == 1)); } || same=1
done
exit $same
