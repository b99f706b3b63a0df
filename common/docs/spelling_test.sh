#!/usr/bin/env bash
# Checks texts for people with codespell: guides, handouts, decks, hints, contracts, skeletons. Put names that it takes for
# misspelt words in --ignore-words-list. usage: spelling_test.sh CODESPELL SOURCE
set -euo pipefail
codespell=$1 source=$2
cd "$source"
mapfile -t files < <(find . \( -name 'build*' -o -name '.*' ! -name . -o -name tiny \) -prune -o -type f \( -name '*.md' -o -name '*.toml' -o -name '*.ipynb' -o \
  -name '*.hpp' -o -path './labs/*' -o -path './slides/*' -o -path './solutions/*.c*' -o -name course \) ! -name '*.csv' -print | sort)
"$codespell" --ignore-words-list=coo "${files[@]}"
if "$codespell" - <<<'Did you recieve it?' >/dev/null; then
  echo "a misspelling was not noticed"; exit 1
fi
echo "${#files[@]} files"
((${#files[@]} > 50)) || { echo "that is too few: are they found at all?"; exit 1; }
