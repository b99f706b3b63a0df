#!/usr/bin/env bash
# Checks that every command in a Markdown file exists: each ./course command and its options, each target, label and program.
# usage: commands_test.sh SOURCE BUILD
set -euo pipefail
source=$1 build=$2
cd "$source"
bad=0 shown=0
complain() { echo "$*"; bad=1; }
mapfile -t pages < <(find . \( -name 'build*' -o -name '.*' ! -name . -o -path ./autograder/template \) -prune -o -name '*.md' -print | sort)

# The words after ./course, up to the end of the code or a comment.
declare -A help
while IFS=: read -r file words; do
  read -r _ command rest <<<"$words"
  command=${command%%[^a-z-]*}
  [[ -n $command ]] || continue
  shown=$((shown + 1))
  [[ -n ${help[$command]:-} ]] || help[$command]=$(./course "$command" --help </dev/null 2>&1) ||
    { complain "$file: ./course $command: there is no such command"; help[$command]=none; }
  [[ ${help[$command]} == *"usage: ./course $command"* || ${help[$command]} == none ]] ||
    complain "$file: ./course $command --help shows no usage"
  for word in $rest; do
    word=${word%%[^a-zA-Z0-9-]*}
    [[ $word != -- ]] || break  # the program's own arguments follow
    [[ $word == --?* ]] || continue
    [[ ${help[$command]} == *"$word"* ]] || complain "$file: ./course $command: its help does not know $word"
  done
done < <(grep -oE '\./course [a-z][^`|#]*' "${pages[@]}")

# A machine without nvcc has no GPU targets; one without clang-tidy has no tidy target.
targets=$(cmake --build "$build" --target help)
grep -q '\.cuda' <<<"$targets" && gpu=yes || gpu=no
command -v run-clang-tidy-14 run-clang-tidy >/dev/null && tidy=yes || tidy=no
while IFS=: read -r file words; do
  target=${words##* }
  shown=$((shown + 1))
  [[ $gpu == yes || $target != *.cuda ]] && [[ $tidy == yes || $target != tidy ]] || continue
  grep -qE "^(\.\.\. )?$target(:|$)" <<<"$targets" || complain "$file: there is no target $target"
done < <(grep -oE 'cmake --build build --target [a-z][A-Za-z0-9_.]*' "${pages[@]}"; grep -oE 'build/bin/[a-z][A-Za-z0-9_.]*' "${pages[@]}" | sed 's|build/bin/||')

labels=$(ctest --test-dir "$build" --print-labels)
while IFS=: read -r file words; do
  label=${words##* }
  shown=$((shown + 1))
  [[ $label == lab42 ]] || grep -qw -- "$label" <<<"$labels" || complain "$file: there is no label $label"
done < <(grep -oE 'ctest --(test-dir build|preset labs) -L [a-z0-9]+\b' "${pages[@]}")

echo "$shown commands shown in ${#pages[@]} files"
((shown > 50)) || complain "that is too few: does the search still work?"
exit $bad
