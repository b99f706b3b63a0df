#!/usr/bin/env bash
# Checks that the drawings' figures equal their formulas, and that the check finds each wrong one.
# usage: drawings_test.sh DRAWINGS SOURCE
set -euo pipefail
drawings=$1 source=$2
"$drawings" check "$source"
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
bad=0 steps=$(cd "$source" && ls -d slides/steps 2>/dev/null || :)  # a student's checkout has no decks
# Breaks every formula of one kind: the check must name each line with one.
for name in is x y width height pieces; do
  rm -rf "$place/copy" && mkdir "$place/copy"
  (cd "$source" && find README.md labs $steps \( -name '*.svg' -o -path 'slides/*.html' -o -name README.md -o -name SEEN.md \) \
    -exec cp --parents -t "$place/copy" {} +)
  find "$place/copy" \( -name '*.svg' -o -name '*.html' \) -exec sed -i "s/ data-$name=\"/&1 + /" {} +
  wanted=$(cat $(find "$place/copy" -name '*.svg' -o -name '*.html') | grep -c " data-$name=\"")
  "$drawings" check "$place/copy" >"$place/said" && bad=1
  grep -q " $wanted complaints" "$place/said" || { tail -1 "$place/said"; echo "$wanted lines have a wrong data-$name"; bad=1; }
done
# notices FILE CHANGE WORDS: changes a drawing with sed; the check must report it
notices() {
  rm -rf "$place/copy" && mkdir "$place/copy"
  (cd "$source" && cp --parents -t "$place/copy" "$1" labs/*/README.md labs/*/SEEN.md)
  sed -i "$2" "$place/copy/$1"
  cmp -s "$source/$1" "$place/copy/$1" && { echo "$1: nothing to change: $2"; bad=1; }
  "$drawings" check "$place/copy" >"$place/said" && bad=1
  grep -q -- "$3" "$place/said" || { cat "$place/said"; echo "was not noticed: $2"; bad=1; }
}
launches=labs/04_fusion/drawings/launches.svg walks=labs/00_first_kernel/drawings/two_walks.svg
notices $launches 's/7\.5 µs</7.6 µs</' 'launches.svg:[0-9]*: "7.6 µs" says 7.6, and 3 \* launch is 7.5$'
notices $launches 's/ data-is="3 \* launch"//' '7.5 has no source'
notices $launches '0,/ data-width="[^"]*"/s///' 'it has 6 formulas for figures, but data-figures is 7'
notices $launches 's/3 \* launch"/3 * lunch"/' 'unknown name "lunch"'
notices $launches 's/h200.launch_seconds/h200.lunch_seconds/' 'lunch_seconds'
notices $launches 's/data-is=/data-counted=/' 'unknown attribute data-counted'
notices $launches 's/ data-let="[^"]*"//' 'unknown name "launch"'
notices $launches 's/three kernels on 1024/three kernels on 1025/' '1025 has no source'
notices $launches 's/#0969da/#0969db/' 'its style is another'
notices $launches 's/three kernels/thirty-three kernels with very long names/' 'is cut off'
notices $launches 's/Three launches/Few launches/' 'must show this drawing once'
notices $walks 's/\(class="waste".* d="M\)[0-9.]* /\199 /' 'two_walks.svg:[0-9]*: x is 99 (piece 1)'
[[ -z $steps ]] || notices slides/steps/13_when_it_crashes.html 's/no report/never written/' 'read.1 is "no report"'
notices labs/drawings/course.svg 's/>3 h</>4 h</' 'lab.01.hours is "3"'
exit $bad
