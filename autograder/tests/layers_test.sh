#!/usr/bin/env bash
# Each folder of src/ includes only from itself and from those above it in README.md's table. The course includes only public
# headers of the simulated device, which includes nothing from the course. layers_test.sh AUTOGRADER
set -euo pipefail
cd "$1"

mapfile -t layers < <(grep -oP '^\| `\K[a-z_]+(?=` \| )' README.md)
[[ ${layers[*]} == support* && ${#layers[@]} -eq $(find src -mindepth 1 -type d | wc -l) ]] ||
  { echo "README.md lists ${layers[*]}; src/ has $(ls -d src/*/ | tr '\n' ' ')"; exit 1; }
wrong=0
for ((i = 0; i < ${#layers[@]}; ++i)); do
  for above in "${layers[@]:i+1}"; do
    if grep -n "#include \"$above/" -r "src/${layers[i]}"; then wrong=1; fi
  done
done
if grep -rnE '#include "[^"]*\.\./' src; then wrong=1; fi

cd ..
if grep -rnE --exclude-dir=sim '#include [<"]([^">]*/)?sim/(src|tools)/' autograder common labs solutions 2>/dev/null; then wrong=1; fi
if grep -rnE '#include [<"]((lab|profiler)/|[^">]*\.\./\.\./)' common/sim; then wrong=1; fi
exit $wrong
