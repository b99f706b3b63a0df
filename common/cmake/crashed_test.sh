#!/usr/bin/env bash
# The programs in a lab's crashed/ report the same place in every build and on any number of cores, a different place
# for each name, and nothing once they are fixed. usage: crashed_test.sh SIMCC LAB SOLUTION FOLDER
set -euo pipefail
simcc=$1 lab=$2 solution=$3 folder=$4
rm -rf "$folder"
mkdir -p "$folder"
failed=0

export simcc lab
# compile SOURCE PROGRAM OPTIONS...
compile() { "$simcc" -std=c++20 -I"$lab" -I"$lab/given" "$1" -o "$2" "${@:3}"; }
export -f compile
# place PROGRAM NAME: line, kernel, block, thread and allocation of the first report
place() {
  { SIM_REPORT=1 timeout 60 "$1" "$2" 2>&1 || true; } | grep -a -m 1 '^error: ' |
    sed -E 's/^error: .*:([0-9]+: [^:]*: block \([^)]*\) thread \([^)]*\)): (.*allocation ([0-9]+))?.*/\1 \3/'
}

for source in "$lab"/crashed/*.cu; do
  name=$(basename "$source" .cu)
  printf '%s\0' "compile '$source' '$folder/$name.plain'" "compile '$source' '$folder/$name.debug' -g -G -O0" \
    "compile '$solution/$name.cu' '$folder/$name.fixed'"
  ! command -v clang++ >/dev/null || printf '%s\0' "CXX=clang++ compile '$source' '$folder/$name.clang'"
done | xargs -0 -n 1 -P 2 bash -c

for source in "$lab"/crashed/*.cu; do
  name=$(basename "$source" .cu)
  places=()
  for student in ann bob "Zoë O'Neil"; do
    expected=$(place "$folder/$name.plain" "$student")
    [[ -n $expected ]] || { echo "$name $student: no report"; failed=1; }
    places+=("$expected")
    for build in debug clang; do
      [[ -x $folder/$name.$build ]] || continue
      found=$(place "$folder/$name.$build" "$student")
      [[ $found == "$expected" ]] || { echo "$name $student, $build: $found, and not $expected"; failed=1; }
    done
    found=$(SIM_THREADS=1 place "$folder/$name.plain" "$student")
    [[ $found == "$expected" ]] || { echo "$name $student, one core: $found, and not $expected"; failed=1; }
    reports=$(SIM_REPORT=1 timeout 60 "$folder/$name.fixed" "$student" 2>&1 | grep -aE '^(error|warning): |^CUDA: ') || true
    [[ -z $reports ]] || { echo "$name $student, fixed: $reports"; failed=1; }
  done
  (($(printf '%s\n' "${places[@]}" | sort -u | wc -l) > 1)) || { echo "$name: the same for all names: ${places[0]}"; failed=1; }
done

# The programs that run on the CPU, compiled as in their handout.
for source in "$lab"/crashed/*.cpp; do
  name=$(basename "$source" .cpp)
  compile "$source" "$folder/$name.address" -g -O1 -Xcompiler -fsanitize=address
  compile "$solution/$name.cpp" "$folder/$name.fixed" -g -O1 -Xcompiler -fsanitize=address
  for student in ann bob "Zoë O'Neil"; do
    ! "$folder/$name.address" "$student" >"$folder/said" 2>&1 || { echo "$name $student: AddressSanitizer is content"; failed=1; }
    for words in "heap-use-after-free" "freed by" "allocated by" "$(basename "$source"):"; do
      grep -q -- "$words" "$folder/said" || { echo "$name $student: AddressSanitizer does not say '$words'"; failed=1; }
    done
    "$folder/$name.fixed" "$student" >"$folder/said" 2>&1 || { echo "$name $student, fixed:"; cat "$folder/said"; failed=1; }
  done
done
exit $failed
