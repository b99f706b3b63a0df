#!/usr/bin/env bash
# Checks that no text or comment contains a phrase of wording.txt, which also gives the better wording. Finds phrases across
# line breaks, comment marks and joined string literals. Does not check attacks and honest submissions, which are in other
# people's style. usage: wording_test.sh LIST SOURCE
set -euo pipefail
list=$1 source=$2

# offences FILE...: each phrase found, with its place and the better wording; fails if there is any.
offences() {
  awk '
    function flush(  i, at, from, line, text, before, after) {
      text = tolower(all)
      for (i = 1; i <= phrases; i++)
        for (from = 1; (at = index(substr(text, from), phrase[i])) > 0; from += at) {
          at += from - 1
          before = substr(text, at - 1, 1)
          after = substr(text, at + length(phrase[i]), 1)
          if ((at > 1 && before ~ /[a-z0-9_]/) || after ~ /[a-z0-9_]/) { at -= from - 1; continue }
          for (line = lines; line > 1 && start[line] > at; line--);
          printf "%s:%d: \"%s\": write: %s\n", file, line, phrase[i], better[i]
          found = 1
          at -= from - 1
        }
      all = ""
      lines = 0
    }
    FNR == 1 && NR > 1 { flush_needed = (file != "") }
    FILENAME == list {
      if ($0 ~ / => / && $0 !~ /^#/) {
        split($0, part, " => ")
        phrase[++phrases] = tolower(part[1])
        better[phrases] = part[2]
      }
      next
    }
    FNR == 1 { if (flush_needed) flush(); file = FILENAME }
    {
      text = $0
      gsub(/[ \t]+/, " ", text)
      sub(/^ ?(\/\/\/?<?|#|\*|>)* ?/, "", text)
      if (text ~ /^"/ && all ~ /" $/) { sub(/" $/, "", all); sub(/^"/, "", text) }
      start[++lines] = length(all) + 1
      all = all text " "
    }
    END { if (file != "") flush(); exit found }
  ' list="$list" "$list" "$@"
}

planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
printf 'a barrier\n// which whoever\n' >"$planted/one.hpp"
printf 'x\n"the kernel was broken "\n    "off: launch"\n' >"$planted/two.cpp"
printf 'It is noted at\nthe edge, and\n> LEFT\n> AWAY\n' >"$planted/three.md"
printf 'whoeverness and breaks offset are other words\n' >"$planted/four.md"
said=$(offences "$planted"/*) && { echo "planted phrases were not found"; exit 1; }
[[ $said == *'one.hpp:2: "whoever": write: '*'three.md:3: "left away": write: omitted'*'two.cpp:2: "broken off": write: aborted'* &&
  $said != *four.md* ]] || { echo "planted phrases were found in other places: $said"; exit 1; }

cd "$source"
mapfile -t files < <(find . \( -name 'build*' -o -name '.*' ! -name . -o -name attacks -o -name honest \
  -o -name results -o -name archives -o -name tiny \) -prune -o -type f \( -name '*.md' -o -name '*.toml' -o -name '*.[ch]pp' -o \
  -name '*.cu' -o -name '*.sh' -o -name '*.py' -o -name '*.ipynb' -o -name CMakeLists.txt -o -name course \) ! -name wording_test.sh -print | sort)
echo "${#files[@]} files"
((${#files[@]} > 100)) || { echo "that is too few: are they found at all?"; exit 1; }
offences "${files[@]}"
