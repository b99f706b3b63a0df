#!/bin/sh
# waits.sh COMPILER FLAG SIMCC LIBSIM FOLDER SOURCE...: whether the simulated device detects waiting kernels if they and these
# sources of the device are built by this compiler with this flag, in full and in sampled launches.
set -e
compiler=$1 flag=$2 simcc=$3 library=$4 folder=$5
shift 5
sim=$(dirname "$0")/..
rm -rf "$folder"
mkdir -p "$folder"
CXX=$compiler $simcc "$sim/tests/waits_test.cu" -std=c++20 "$flag" -c -o "$folder/waits_test.o"
for source; do
  $compiler -std=gnu++20 "$flag" -c "$sim/$source" -o "$folder/$(basename "$source").o" "-I$sim/include" "-I$sim/interface"
done
# Before the library, so that the linker skips the library's own copies of these sources.
$compiler "$folder"/*.o "$library" -o "$folder/waits_test" -lgtest_main -lgtest -lboost_context -lfmt -ldw \
  -lpthread
for sample in 1 2; do
  SIM_SAMPLE=$sample "$folder/waits_test" --gtest_filter=-*CountTheirTurns  # these tests take too long without optimisation
done
