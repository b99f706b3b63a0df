#!/usr/bin/env bash
# Every deck finds the code and figures that it quotes, has 20 to 35 slides, and notes on each; one that is gone is an error.
# usage: decks_test.sh COURSEDOCS SOURCE
set -euo pipefail
coursedocs=$1 source=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
bad=0
for deck in "$source"/slides/[0-9][0-9]_*.md; do
  "$coursedocs" deck "$source" "$deck" >"$place/deck.md" || { bad=1; continue; }
  # The first two lines of --- are the front matter; a slide without a comment that is no directive has no notes.
  awk -v name="$(basename "$deck")" '
    /^```/ { code = !code }
    /^---$/ && !code { if (++rules > 2) { if (!notes) { print name ": slide " rules - 2 " has no notes"; bad = 1 }; notes = 0 } }
    /^<!--$/ { notes = 1 }
    END { slides = rules - 1
          if (!notes) { print name ": the last slide has no notes"; bad = 1 }
          if (slides < 20 || slides > 35) { print name ": " slides " slides, and should be 20 to 35"; bad = 1 }
          printf "%-24s %d slides\n", name, slides
          exit bad }' "$place/deck.md" || bad=1
done
# refuses LINE PATTERN: a deck with this line is none, and the error says so
refuses() {
  printf -- '---\n---\n%s\n' "$1" >"$place/broken.md"
  if "$coursedocs" deck "$source" "$place/broken.md" >/dev/null 2>"$place/error"; then
    echo "was not noticed: $1"; bad=1
  fi
  grep -q "broken.md:3: .*$2" "$place/error" || { cat "$place/error"; bad=1; }
}
refuses '<!-- code: solutions/03_coalescing/handin/transpose.cu no_such_marker -->' 'no_such_marker.*0 times'
{ echo '//! [long]'; seq 25; echo '//! [long]'; } >"$place/long.cpp"
refuses "<!-- code: $place/long.cpp long -->" '25 lines of code'
refuses '{{solutions/08_gpt2/WORKLOG.md > no such block > launches}}' '0 tables.*no such block'
refuses '{{solutions/results/nvidia-h200/gpt2.json > blocks > B4 T64 > no such pass : .1f}}' 'no "no such pass"'
refuses '{{solutions/results/nvidia-h200/gpt2.json > blocks > B4 T64 : .1f}}' 'is no number'
refuses '{{solutions/results/nvidia-h200/gpt2.json}}' 'wanted FILE.md'
exit $bad
