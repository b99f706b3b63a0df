#!/usr/bin/env bash
# Every deck finds the code that it quotes, has 20 to 35 slides, and notes on each; a marker that is gone is an error.
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
printf -- '---\n---\n<!-- code: solutions/03_coalescing/transpose.cu no_such_marker -->\n' >"$place/broken.md"
if "$coursedocs" deck "$source" "$place/broken.md" >/dev/null 2>"$place/error"; then
  echo "a marker that is gone was not noticed"; bad=1
fi
grep -q 'no_such_marker.*0 times' "$place/error" || { cat "$place/error"; bad=1; }
exit $bad
