#!/usr/bin/env bash
# Does the same submission get the same grade every time? Grades each submission of a folder again and again and prints
# how its points spread; with --hog something else uses a core meanwhile.
# usage: repeat.sh [--hog] TIMES FOLDER...      (build/bin/grader must be built)
set -euo pipefail
hog=
[[ $1 == --hog ]] && { hog=1; shift; }
times=$1
shift
source=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"; [[ -z $hog ]] || kill $hog 2>/dev/null' EXIT
[[ -z $hog ]] || { (while :; do :; done) & hog=$!; }
for submission; do
  for ((i = 0; i < times; ++i)); do
    "$source/build/bin/grader" one 03 "$submission" --result "$work/r.json" || true
    sed -n 's/^ "score": \([0-9.]*\),$/\1/p' "$work/r.json"
  done | sort -n | uniq -c | sed "s|^|$(basename "$submission"): |"
done
